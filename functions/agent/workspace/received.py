"""Texts that people send, or that they answer, become files of their chat, under `received/`.

They are fetched when their message has its turn, once it is known that its sender may read files.
What is no text, is too large or cannot be fetched stays what it was: a file that the agent cannot
open, of which its sender is told.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import replace
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Final

from functions.agent.sanitize import clean_text
from functions.agent.workspace.files import FILE_BYTES, Workspace, Writer
from functions.agent.workspace.path import RECEIVED, parse_path
from functions.events import Event
from sigil.errors import SigilError, UsageError
from sigil.json_fields import as_integer, as_string
from sigil.storage.artifacts import artifact_name

if TYPE_CHECKING:
    from functions.agent.shares import Holder

Fetch = Callable[[Mapping[str, object], int], bytes]
"""Returns the bytes of an attachment, at most so many; `SigilError` when it cannot."""
FILES_MOST: Final = 6
"""So many files of one message are fetched."""
NAME_CHARACTERS: Final = 80
_ENDING: Final = re.compile(
    r".*\.(?:md|markdown|txt|text|csv|tsv|json|jsonl|log|ya?ml|toml|ini|cfg|html?|xml|py|js|ts|sql"
    r"|rst|tex|sh|css|srt|vtt|ics)",
    re.IGNORECASE | re.DOTALL,
)
_TYPES: Final = frozenset(
    ("application/json", "application/xml", "application/x-yaml", "application/yaml")
)
_UNSAFE: Final = re.compile(r"[^\w. ()+,@&-]")


def is_text_file(attachment: Mapping[str, object]) -> bool:
    """Return whether an attachment says that it is a text of a size that a file may have."""
    if attachment.get("kind") != "document" or not attachment.get("file_id"):
        return False
    size = as_integer(attachment.get("size"), 0) or 0
    type = as_string(attachment.get("mime"))
    is_text = type.startswith("text/") or type in _TYPES
    named = _ENDING.fullmatch(as_string(attachment.get("name")))
    return size <= FILE_BYTES and bool(is_text or named)


def has_text_file(event: Event) -> bool:
    """Return whether a message brings, or answers, a text that can be kept."""
    return any(map(is_text_file, (*event.attachments, *event.quoted_files)))


def keep_received(
    event: Event, files: Workspace, fetch: Fetch, holder: Holder | None = None
) -> Event:
    """Return a message's event with the paths of the texts that it brings or answers, which are
    files then.

    The `holder` takes room that others use as well. Doing it again writes nothing anew.
    """
    own = len(event.attachments)
    every: list[Mapping[str, object]] = [*event.attachments, *event.quoted_files]
    fetched = 0
    for number, attachment in enumerate(every):
        if is_text_file(attachment) and fetched < FILES_MOST:
            fetched += 1
            writer = Writer(event.sender.id, event.id, f"{event.id}:{number}", holder)
            kept = _keep(attachment, files, writer, fetch, quoted=number >= own)
            every[number] = {**attachment, **kept}
    left = iter(every)
    attachments = tuple(islice(left, own))
    quotes = [
        replace(quote, files=tuple(islice(left, len(quote.files)))) if quote.files else quote
        for quote in event.quotes
    ]
    return replace(event, attachments=attachments, quotes=tuple(quotes))


def _keep(
    attachment: Mapping[str, object],
    files: Workspace,
    writer: Writer,
    fetch: Fetch,
    *,
    quoted: bool,
) -> Mapping[str, object]:
    """Return the path under which a text stands now, and its version where that is not the newest;
    nothing when it could not be kept.

    A text that is answered was mostly kept when it came, and may have been replaced since.
    """
    try:
        body = fetch(attachment, FILE_BYTES)
        text = body.decode("utf-8-sig")
        if "\0" in text:
            return {}
        path = f"{RECEIVED}/{make_name(as_string(attachment.get('name')), body)}"
        if quoted and (older := _find_older(path, body, files)):
            return {"path": path, "version": older}
        return {"path": files.write(path, body, writer).path}
    except (SigilError, UnicodeDecodeError):
        return {}  # the message is worth more than its file


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
    plain = f"{stem}.{ending[:10]}" if dot else stem
    try:
        return parse_path(f"{RECEIVED}/{plain}").removeprefix(f"{RECEIVED}/")
    except UsageError:
        return f"{artifact_name(body)[:12]}.txt"
