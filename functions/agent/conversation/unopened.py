"""Files that the agent cannot open: their sender is told so in one sentence, and why.

Each file is told of, whatever came before it, and an album once. So is a file that somebody
answers, once a message; what the agent has sent itself is no news to it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from functions.events import ALBUM, Event
from functions.texts.en import Texts
from sigil.errors import one_line

_READABLE: Final = ("sticker",)
"""Kinds whose meaning is given beside the file."""
_OPENED: Final = ("photo", "document")
"""Kinds that are opened where they can be."""
_NOT_FETCHED: Final = "not_fetched"
NOTE: Final = ", which you cannot open"
"""What the model reads of a file that nobody opens; its sender is told by the runtime."""
KEPT: Final = ", kept as {path}: read-file reads it"
"""What the model reads of a text that is a file of the chat by now."""
KEPT_PICTURE: Final = ", kept as {path}: read-file shows it again with look"
"""The same of a picture, which it sees in the turn of its message alone."""
SAME_SECONDS: Final = 5.0
"""Where a platform tells of no albums, files of one kind that came within so many seconds of the
one that was answered are one.
"""
PROBLEMS_MOST: Final = 6
NAME_CHARACTERS: Final = 80
_CLOSED_LINE: Final = re.compile(rf"^\[([^\[\]:]+): [^\n]*{re.escape(NOTE)}\]$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ToldFiles:
    """The files of the last message that was answered: their kinds, and when they came."""

    kinds: frozenset[str]
    at: float


def is_closed(attachment: Mapping[str, object]) -> bool:
    """Return whether nothing of the file can be read."""
    return attachment.get("kind") not in _READABLE and not attachment.get("path")


def is_all(event: Event) -> bool:
    """Return whether a message has nothing but files that cannot be opened.

    What it answers does not count: the request itself is in the file.
    """
    told = [quote for quote in event.quotes if quote.relation not in ("reply", "passage")]
    if event.text.strip() or any(quote.text for quote in told):
        return False
    return any(map(is_closed, event.attachments))


def is_told(event: Event, told: ToldFiles | None, seen: Collection[str]) -> bool:
    """Return whether the sender of a message was told already that such a file cannot be opened:
    as it belongs to the album of another one.

    `told` are the files of the same sender that were answered last, `seen` the ids that were
    handled.
    """
    album = name_album(event)
    if album:
        return album in seen
    if told is None or abs(event.at - told.at) > SAME_SECONDS:
        return False
    kinds = {str(file.get("kind")) for file in event.attachments if is_closed(file)}
    return kinds <= told.kinds


def read_told(content: str, at: float) -> ToldFiles | None:
    """Return the files of a message of the history that could not be opened, None without any."""
    kinds = frozenset(_CLOSED_LINE.findall(content))
    return ToldFiles(kinds, at) if kinds else None


def name_album(event: Event) -> str:
    """Return the id of the album that a message is a part of, as it stands among the handled ones;
    empty for none.
    """
    album = event.data.get(ALBUM)
    return f"{event.platform}:album:{album}" if isinstance(album, str) and album else ""


def list_albums(events: Sequence[Event]) -> list[str]:
    """Return the albums of messages with a file that cannot be opened."""
    return [
        album
        for event in events
        if (album := name_album(event)) and any(map(is_closed, event.attachments))
    ]


def write_answer(event: Event, texts: Texts) -> str:
    """Return the answer to a message that has nothing but files that cannot be opened."""
    kinds = _describe_kinds(event.attachments, texts)
    said = [texts.cannot_open.format(kinds=kinds)] if kinds else []
    return "\n".join((*said, *_explain_problems(event.attachments, texts)))


def mention(events: Sequence[Event], text: str, texts: Texts, seen: Collection[str] = ()) -> str:
    """Return an answer below the sentence about what could not be opened of its messages, or of
    what they answer; `seen` has the albums that were told of already.
    """
    files: list[Mapping[str, object]] = []
    for event in events:
        if event.kind == "message":
            if event.attachments and name_album(event) not in seen:
                files += event.attachments
            for quote in event.quotes:
                files += () if quote.ours else quote.files
    if not (files and text):
        return text
    kinds = _describe_kinds(files, texts)
    said = [texts.cannot_open_beside.format(kinds=kinds)] if kinds else []
    said += _explain_problems(files, texts)
    return "\n\n".join(("\n".join(said), text)) if said else text


def _describe_kinds(files: Sequence[Mapping[str, object]], texts: Texts) -> str:
    """Return what cannot be opened of files, such as `photos and files`; empty for nothing."""
    kinds = [
        texts.file_kinds.get(str(file.get("kind"))) or texts.file_kinds[""]
        for file in files
        if is_closed(file) and not _find_problem(file)
    ]
    return texts.join_words(list(dict.fromkeys(kinds)))


def _find_problem(file: Mapping[str, object]) -> str:
    """Return why a file is not opened, a key of the texts' `file_problems`; empty where it is of a
    kind that nobody opens. One that came without an id that we know cannot be fetched.
    """
    is_unknown = file.get("kind") in _OPENED and not file.get("file_id")
    return str(file.get("problem") or (_NOT_FETCHED if is_unknown else ""))


def _explain_problems(files: Sequence[Mapping[str, object]], texts: Texts) -> list[str]:
    """Return a sentence for each file of which it is known why it is not opened."""
    said = []
    for file in files:
        sentence = texts.file_problems.get(_find_problem(file))
        if sentence and is_closed(file):
            name = one_line(str(file.get("name") or ""), NAME_CHARACTERS)
            shown = texts.file_named.format(name=name) if name else texts.file_unnamed
            sentence = sentence.format(name=shown, command=str(file.get("help") or ""))
            said.append(f"{sentence[:1].upper()}{sentence[1:]}")
    return list(dict.fromkeys(said))[:PROBLEMS_MOST]
