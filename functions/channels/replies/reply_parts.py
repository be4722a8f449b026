"""A reply is divided in the same way on every platform: messages of text, or a few of them and the
whole as a file; then its pictures.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from functions.channels.base import AttachedFile, Reply, draw_nothing
from functions.channels.render.pictures import take_pictures
from functions.channels.visible_text import clean_text
from functions.events import Button
from functions.texts.languages import find_texts

Message = TypeVar("Message")
Part = TypeVar("Part")
ANSWER_NAME: Final = "answer.md"
PICTURE_NAME: Final = "picture"
PNG: Final = "image/png"


@dataclass(frozen=True, slots=True)
class TextFile:
    """A file that a reply's own text makes. `caption` stands beside it, and `instead` is what a
    chat reads that takes no files.
    """

    name: str
    type: str
    content: bytes
    caption: str
    instead: str


@dataclass(frozen=True, slots=True)
class ReplyParts(Generic[Message]):
    """What a reply's text is sent as, in this order."""

    messages: list[Message]
    files: list[TextFile]


def divide_reply(
    text: str,
    most: int,
    render: Callable[[str, int], Sequence[Message]],
    count_characters: Callable[[Message], int],
    *,
    noted: Sequence[AttachedFile] | None = None,
    file_name: str = "",
    draw: Callable[[str], bytes | None] = draw_nothing,
) -> ReplyParts[Message]:
    """Return the parts of a reply of `text`, with at most `most` messages of it: of more, the last
    is the whole of it as a file.

    `render` makes at most so many messages of markdown. `noted` are the files of the reply where a
    platform takes none: one message in place of all files is then among the `most`. With a
    `file_name` the whole is a file of that name alone. Pictures are PNG where `draw` makes them.
    """
    if file_name:
        return ReplyParts([], [_make_whole(text, file_name, len(text))])
    visible, pictures = take_pictures(text)
    messages = list(render(visible, most + 1))
    texts = find_texts(text)
    files: list[TextFile] = []
    has_note = noted is not None and bool(noted or pictures)
    if len(messages) > most - has_note:
        messages = messages[: most - 1]
        rest = max(len(visible) - sum(map(count_characters, messages)), 0)
        files.append(_make_whole(text, ANSWER_NAME, rest))
    for number, picture in enumerate(pictures, 1):
        name = PICTURE_NAME if number == 1 else f"{number}-{PICTURE_NAME}"
        png = draw(picture)
        type = "image/svg+xml" if png is None else PNG
        name += ".svg" if png is None else ".png"
        files.append(TextFile(name, type, png or picture.encode(), "", texts.no_picture))
    return ReplyParts(messages, files)


def _make_whole(text: str, name: str, rest: int) -> TextFile:
    """Return the whole of a reply as a file; the `rest` is what nobody reads without it."""
    texts = find_texts(text)
    whole = clean_text(text)
    caption = texts.whole_answer.format(count=len(whole))
    instead = texts.no_file.format(rest=rest)
    return TextFile(name, "text/markdown", whole.encode(), caption, instead)


def write_buttons(
    text: str, buttons: Sequence[Button], sign: str = "/", *, is_plain: bool = False
) -> str:
    """Return a text with the commands of buttons below it, in place of buttons that a platform does
    not show. People type them there behind the `sign`. The text is markdown, unless it `is_plain`.
    """
    mark = "" if is_plain else "`"
    lines = [f"- {each.label}: {mark}{sign}{each.command[1:]}{mark}" for each in buttons]
    return "\n\n".join(filter(None, (text, "\n".join(lines))))


def take_buttons(reply: Reply, most: int, sign: str = "/") -> tuple[str, tuple[Button, ...]]:
    """Return a reply's text and as many of its buttons as a platform shows; those that are left
    stand in words below the text.
    """
    return write_buttons(reply.text, reply.buttons[most:], sign), reply.buttons[:most]


def list_unsent(
    parts: Sequence[Part], start: int, sent: Callable[[int], None]
) -> Iterator[tuple[int, Part]]:
    """Yield the parts of a reply from `start` on, with their numbers. One has left when the next is
    asked for: `sent` hears how many have.
    """
    for number in range(start, len(parts)):
        yield number, parts[number]
        if number + 1 < len(parts):
            sent(number + 1)


def write_file_notes(parts: ReplyParts[Message], reply: Reply) -> list[str]:
    """Return what a chat reads in place of a reply's files, where a platform takes none from us.
    The text has those with a public address.
    """
    texts = find_texts(reply.text)
    notes = []
    for made in parts.files:
        is_picture = made.type.startswith("image/")
        notes.append(texts.no_file_here.format(name=made.name) if is_picture else made.instead)
    closed = [file for file in reply.files if not file.link]
    return notes + [texts.no_file_here.format(name=file.name) for file in closed]
