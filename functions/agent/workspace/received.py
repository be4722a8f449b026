"""What people send, or answer, becomes a file of their chat, under `received/`: texts, pictures and
documents. Sounds become words.

They are fetched when their message has its turn, once it is known that its sender may read files.
A picture is kept as a model takes it. What is of no type that can be opened, is too large or cannot
be fetched stays what it was: a file that the agent cannot open, of which its sender is told why.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Final

from functions.agent.sanitize import clean_text
from functions.agent.workspace.files import FILE_BYTES, TRANSCRIPT, Workspace, Writer
from functions.agent.workspace.path import RECEIVED, fold_path, parse_path
from functions.events import Event
from sigil.errors import Refused, SigilError, ToolError, UsageError
from sigil.json_fields import as_integer, as_string
from sigil.storage.artifacts import artifact_name

if TYPE_CHECKING:
    from functions.agent.memory.helpers import FileReader, OpenedDocument
    from functions.agent.shares import Holder
    from functions.agent.workspace.daily_bytes import DailyBytes
    from functions.agent.workspace.voice_notes import VoiceNotes

Fetch = Callable[[Mapping[str, object], int], bytes]
"""Returns the bytes of an attachment, at most so many; `SigilError` when it cannot."""
FILES_MOST: Final = 6
PAGES_MOST: Final = 500
"""Pages of a document that are asked for at once; where they are long or slow, fewer come."""
BYTES_MOST: Final = 40_000_000
"""So many files of one message, with so many bytes together, are fetched."""
OPENED_BYTES: Final = 20_000_000
"""A file that is opened has at most so many bytes."""
SOUND_BYTES: Final = 25_000_000
"""A sound that is heard has at most so many bytes."""
SPOKEN: Final = frozenset(("voice", "audio"))
"""The kinds of files that are sounds."""
PICTURE: Final = "image/jpeg"
"""The type of the pictures that are kept."""
TOO_LARGE: Final = "too_large"
TOO_MANY: Final = "too_many"
USED_UP: Final = "used_up"
MEMBERS_ALONE: Final = "members_alone"
NOT_FETCHED: Final = "not_fetched"
CAUSE: Final = "cause"
"""The field of a file that is not fetched with the failure, which people are not told."""
NOT_SUPPORTED: Final = "not_supported"
_ONE_PAGE: Final = frozenset(("too_slow", TOO_LARGE, "broken"))
"""Why all pages may not be read where the first one can be: one of them is to blame."""
_TEXTS: Final = frozenset(("text", "html", ""))
"""The types of files that may be texts; a reader that opens nothing knows none."""
NAME_CHARACTERS: Final = 80
ENDING_CHARACTERS: Final = 10
STEM_CHARACTERS: Final = 60
"""So much of a picture's name is kept, before what tells it from others."""
_CLOSED: Final = "video/"
"""The type of documents that nobody opens begins so."""
_UNSAFE: Final = re.compile(r"[^\w. ()+,@&-]")


def may_open(attachment: Mapping[str, object]) -> bool:
    """Return whether an attachment may be a text, a picture, a document or a sound that was not
    fetched yet; what is in it decides then.
    """
    if not attachment.get("file_id") or attachment.get("path") or attachment.get("problem"):
        return False
    kind, type = attachment.get("kind"), as_string(attachment.get("mime"))
    if kind == "photo" or is_spoken(attachment):
        return True
    return kind == "document" and not type.startswith(_CLOSED)


def is_spoken(attachment: Mapping[str, object]) -> bool:
    """Return whether an attachment came as a sound."""
    kind, type = attachment.get("kind"), as_string(attachment.get("mime"))
    return kind in SPOKEN or (kind == "document" and type.startswith("audio/"))


def has_file(event: Event) -> bool:
    """Return whether a message brings, or answers, a file that may be opened."""
    return any(map(may_open, (*event.attachments, *event.quoted_files)))


def refuse_received(event: Event) -> Event:
    """Return the event of somebody whose files are not fetched, with that reason beside each."""
    files = tuple(map(_refuse, event.attachments))
    quotes = (replace(quote, files=tuple(map(_refuse, quote.files))) for quote in event.quotes)
    return replace(event, attachments=files, quotes=tuple(quotes))


def _refuse(attachment: Mapping[str, object]) -> Mapping[str, object]:
    return {**attachment, "problem": MEMBERS_ALONE} if may_open(attachment) else attachment


def keep_received(
    event: Event,
    files: Workspace,
    fetch: Fetch,
    reader: FileReader,
    *,
    voice_notes: VoiceNotes,
    holder: Holder | None = None,
    daily: DailyBytes | None = None,
) -> Event:
    """Return a message's event with the paths of the files that it brings or answers and that can
    be opened, what the `voice_notes` know of its sounds, and the `problem` of those that cannot.

    A sound beside a command stays closed. The `holder` takes room that others use as
    well. `daily` counts the bytes that come, None where they have no limit. Doing it again writes
    nothing anew.
    """
    own = len(event.attachments)
    every: list[Mapping[str, object]] = [*event.attachments, *event.quoted_files]
    fetched = 0
    intake = _Intake(event.id, fetch, daily)
    taken: dict[str, str] = {}
    for number, attachment in enumerate(every):
        if not may_open(attachment):
            continue
        spoken = is_spoken(attachment)
        if spoken and event.looks_like_command:
            continue
        fetched += 1
        if fetched > FILES_MOST:
            every[number] = {**attachment, "problem": TOO_MANY}
            continue
        writer = Writer(event.sender.id, event.id, f"{event.id}:{number}", holder)
        try:
            intake.require_room(attachment)
            if spoken:
                voice_notes.require_open()
            body = intake.fetch(attachment, writer.call)
            if voice_notes.hears(body, spoken=spoken) and not event.looks_like_command:
                kept = voice_notes.hear(body, files, writer)
            else:
                opened = _open(attachment, body, reader)
                if number < own:
                    opened = _set_apart(opened, taken)
                kept = _keep(opened, files, writer, quoted=number >= own)
        except ToolError as problem:
            kept = {"problem": problem.reason, "help": problem.suggestion}
            if problem.reason == NOT_FETCHED:
                kept[CAUSE] = problem.message
        except SigilError as problem:  # the message is worth more than its file
            kept = {"problem": NOT_FETCHED, CAUSE: _describe(problem)}
        every[number] = {**attachment, **kept}
    left = iter(every)
    attachments = tuple(islice(left, own))
    quotes = [
        replace(quote, files=tuple(islice(left, len(quote.files)))) if quote.files else quote
        for quote in event.quotes
    ]
    return replace(event, attachments=attachments, quotes=tuple(quotes))


class _Intake:
    """Fetches the files of one message, as many bytes as may come with it and on this day.

    `ToolError` says why one is not fetched.
    """

    def __init__(self, event: str, fetch: Fetch, daily: DailyBytes | None) -> None:
        self._event = event
        self._fetch = fetch
        self._daily = daily
        self._room = BYTES_MOST
        self._left: int | None = None

    def require_room(self, attachment: Mapping[str, object]) -> None:
        """Raise `ToolError` for a file that says that it is larger than may come."""
        stated = as_integer(attachment.get("size"), 0) or 0
        if stated > self._bound(attachment):
            raise _make_problem(TOO_LARGE)
        if max(stated, 1) > self._read_left():
            raise _make_problem(USED_UP)

    def fetch(self, attachment: Mapping[str, object], call: str) -> bytes:
        """Return a file, and count it; `call` tells it from all others of its chat."""
        bound = self._bound(attachment)
        most = min(bound, self._read_left())
        try:
            body = self._fetch(attachment, most)
        except SigilError as problem:
            if problem.code != "ETOOBIG":
                raise _make_problem(NOT_FETCHED, _describe(problem)) from None
            self._count(call, most)  # it is cut off, and came until then
            raise _make_problem(TOO_LARGE if most == bound else USED_UP) from None
        self._count(call, len(body))
        self._room -= len(body)
        return body

    def _bound(self, attachment: Mapping[str, object]) -> int:
        return min(SOUND_BYTES if is_spoken(attachment) else OPENED_BYTES, self._room)

    def _read_left(self) -> int:
        if self._left is None:
            self._left = self._daily.read_left(self._event) if self._daily else BYTES_MOST
        return self._left

    def _count(self, call: str, size: int) -> None:
        if self._daily:
            self._left = max(self._read_left() - size, 0)
            self._daily.count(call, size)


def _make_problem(reason: str, message: str = "the file is not fetched") -> ToolError:
    return ToolError("EFILE", message, reason=reason)


def _describe(problem: SigilError) -> str:
    """Return a failure in one line for whoever reads the log."""
    return f"{problem.source or 'files'}: {problem.message} ({problem.code})"


@dataclass(frozen=True, slots=True)
class _Opened:
    """What is kept of a file: its name and bytes, `about`, what is known of it, and the text of the
    `pages` of a document.
    """

    name: str
    body: bytes
    about: Mapping[str, object] = field(default_factory=dict)
    pages: bytes = b""


def _open(attachment: Mapping[str, object], body: bytes, reader: FileReader) -> _Opened:
    """Return what is kept of a file; `ToolError` says why nothing is."""
    name = as_string(attachment.get("name"))
    if reader.find_type(body) in _TEXTS and len(body) <= FILE_BYTES and _is_text(body):
        return _Opened(make_name(name, body), body)
    try:
        picture = reader.scale(body)
    except ToolError as problem:
        if problem.reason != NOT_SUPPORTED:
            raise
    else:
        # many pictures have the same name, and each is to be seen
        stem = (name.rpartition(".")[0] or name or as_string(attachment["kind"]))[:STEM_CHARACTERS]
        stem = f"{stem}-{artifact_name(body)[:8]}"
        about = {"type": picture.type, "width": picture.width, "height": picture.height}
        return _Opened(make_name(f"{stem}.jpg", body), picture.data, about)
    from functions.agent.workspace.document_text import pack_text  # most turns have no document

    document = _read_document(body, reader)
    about = {"type": document.type, "pages": document.page_count}
    ending = f".{document.type}"
    if document.type not in _TEXTS and not name.lower().endswith(ending):
        name = f"{name.rpartition('.')[0] or name or artifact_name(body)[:12]}{ending}"
    return _Opened(make_name(name, body), body, about, pack_text(document))


def _set_apart(opened: _Opened, taken: dict[str, str]) -> _Opened:
    """Return a file under a name that no other file of its message has; `taken` has the digests of
    those before, by name.
    """
    digest = artifact_name(opened.body)
    if taken.setdefault(fold_path(opened.name), digest) == digest:
        return opened
    stem, dot, ending = opened.name.rpartition(".")
    name = f"{(stem if dot else ending)[:STEM_CHARACTERS]}-{digest[:8]}"
    return replace(opened, name=f"{name}.{ending}" if dot else name)


def _read_document(body: bytes, reader: FileReader) -> OpenedDocument:
    """Return all pages of a document, or as many as can be read at once, at least the first one."""
    try:
        return reader.read(body, 1, PAGES_MOST)
    except ToolError as problem:
        if problem.reason not in _ONE_PAGE:
            raise
        return reader.read(body)


def _is_text(body: bytes) -> bool:
    """Return whether a file is a text in UTF-8, as all files of the agent's are."""
    if not body or b"\0" in body:
        return False
    try:
        body.decode("utf-8-sig")
    except UnicodeDecodeError:
        return False
    return True


def _keep(
    opened: _Opened, files: Workspace, writer: Writer, *, quoted: bool
) -> Mapping[str, object]:
    """Return the path under which a file stands now, its version where that is not the newest, and
    what is known of it.

    A file that is answered was mostly kept when it came, and may have been replaced since.
    """
    path = f"{RECEIVED}/{opened.name}"
    if quoted and (older := _find_older(path, opened.body, files)):
        return {"path": path, "version": older, **opened.about}
    try:
        written = files.write(path, opened.body, writer, most=OPENED_BYTES, pages=opened.pages)
    except Refused:  # the files are full, and what was sent long ago goes
        if not files.make_room(writer.by, len(opened.body)):
            raise
        written = files.write(path, opened.body, writer, most=OPENED_BYTES, pages=opened.pages)
    return {"path": written.path, **opened.about}


def _find_older(path: str, body: bytes, files: Workspace) -> int:
    """Return the number of the version of a file that has this content, 0 where the newest one has
    it, or none.
    """
    digest = sha256(body).hexdigest()
    head = files.find(path)
    if head is None or head.sha == digest:
        return 0
    versions = files.list_versions(path)
    return next((int(each.version) for each in versions if each.sha == digest), 0)


def make_name(name: str, body: bytes) -> str:
    """Return a name that a file may have, as near as can be to the one that it came with."""
    plain = unicodedata.normalize("NFC", clean_text(name))
    plain = _UNSAFE.sub("_", plain).strip(" .-_")
    stem, dot, ending = plain.rpartition(".")
    stem = (stem if dot else plain)[:NAME_CHARACTERS].rstrip()
    ending = ending[:ENDING_CHARACTERS]
    if fold_path(ending) == TRANSCRIPT:  # nobody writes what somebody else has said
        ending = "txt"
    plain = f"{stem}.{ending}" if dot else stem
    try:
        return parse_path(f"{RECEIVED}/{plain}").removeprefix(f"{RECEIVED}/")
    except UsageError:
        return f"{artifact_name(body)[:12]}.txt"
