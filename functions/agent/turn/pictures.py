"""Pictures that a turn's capabilities drew go out with its answer, and files that they returned or
that the answer names.

A model that would copy a picture of some thousand characters makes mistakes, and pays for each of
them: it need not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import orjson

from functions.agent.conversation.messages import MAIL_ORIGIN, Message
from functions.agent.conversation.toolset import is_capability
from functions.agent.posts import ServiceAnswer
from sigil.errors import SigilError
from sigil.json_fields import as_mapping
from sigil.protocol import Json, KeptFile, Offer

_BEGIN: Final = "<svg"
_FENCE: Final = "```"
FILES_MOST: Final = 8
"""The last files of a turn that go out with its answer, and the first ones that it names."""
TRIED_MOST: Final = 32
"""So many names of an answer are looked up among the files of the workspace, in the store."""
NAMES: Final = "](file:", "](<file:", "]( file:", "]( <file:"
"""Stands in an answer that names files."""
KEEP_FILE: Final = Offer("keep-file", 0, "", "", {}, kind="host")
"""The service that keeps what an answer names; nobody else calls it."""
Serve = Callable[[Offer, str, dict[str, Json]], ServiceAnswer]


def add_picture(text: str, messages: Sequence[Message]) -> str:
    """Return an answer with the last picture that its turn's capabilities drew, as a code block.

    `messages` are those of the turn. An answer that has a picture stays as it is.
    """
    if not text or _BEGIN in text:
        return text
    names: dict[str, str] = {}
    for message in reversed(messages):
        if message.role != "tool":
            continue
        # most turns make no call
        names = names or {call.id: call.name for each in messages for call in each.calls}
        if is_capability(names.get(message.call_id, "")):
            picture = _read_picture(message)
            if picture:
                return f"{text}\n\n{_FENCE}svg\n{picture}\n{_FENCE}"
    return text


def collect_files(messages: Sequence[Message]) -> tuple[KeptFile, ...]:
    """Return the last files that a turn's capabilities returned.

    `messages` are those of the turn.
    """
    files: list[KeptFile] = []
    for message in messages:
        if message.role == "tool" or message.origin == MAIL_ORIGIN:
            files += message.files
    return tuple(files[-FILES_MOST:])


def name_files(
    text: str, history: Sequence[Message], files: Sequence[KeptFile], serve: Serve
) -> tuple[str, tuple[KeptFile, ...]]:
    """Return an answer whose marks have the whole ids of the files that they name, and these before
    the `files` that go out in any case.

    They name what stands in the `history`, or what is kept for the answer: a file of the workspace,
    or the last drawing. Any other mark stays text; one without words becomes its target, because a
    reader would see nothing of it.
    """
    from functions.agent.conversation import named_files

    text = named_files.part_nested(text)
    known = [file for message in history if is_result(message) for file in message.files]
    found: dict[str, KeptFile] = {}
    tried = 0
    for target in named_files.list_targets(text):
        if len({file.id for file in found.values()}) >= FILES_MOST:
            break
        file = named_files.find_file(known, target)
        if file is None and target == named_files.DRAWING:
            drawing = _find_drawing(history)
            file = _keep(serve, {"drawing": drawing}) if drawing else None
        if file is None and tried < TRIED_MOST:
            tried += 1
            file = _keep(serve, {"path": target})
        if file:
            found[target] = file

    def write(mark: named_files.FileMark) -> str | None:
        file = found.get(mark.target)
        has_words = bool(mark.words.strip())
        if file is None:
            return None if has_words else mark.target
        words = mark.words if has_words or mark.is_picture else file.name
        sign = "!" if mark.is_picture else ""
        return f"{sign}[{words}]({named_files.SIGN}{file.id})"

    every = {file.id: file for file in (*found.values(), *files)}
    return named_files.rewrite_marks(text, write), tuple(every.values())


def names_file(text: str) -> bool:
    """Return whether a text may name files."""
    return any(name in text for name in NAMES)


def write_words(text: str) -> str:
    """Return a text that leaves its chat, where its files are nobody's: with the words of its marks
    alone.
    """
    from functions.agent.conversation import named_files

    return named_files.write_words(text)


def is_result(message: Message) -> bool:
    """Return whether a message has the result of a call; that of a task comes as mail."""
    return message.role == "tool" or message.origin == MAIL_ORIGIN


def _keep(serve: Serve, what: dict[str, Json]) -> KeptFile | None:
    """Return what an answer names, kept for its chat as it is now; None for one that is not there,
    or may not leave.
    """
    try:
        row = as_mapping(serve(KEEP_FILE, "answer", what).result)
    except SigilError:
        return None
    return KeptFile(**row)  # type: ignore[arg-type]


def _find_drawing(history: Sequence[Message]) -> str:
    """Return the last drawing of a chat's capabilities, as far as the history has it."""
    for message in reversed(history):
        drawing = _read_picture(message) if message.role == "tool" else ""
        if drawing:
            return drawing
    return ""


def _read_picture(message: Message) -> str:
    """Return the SVG document in a capability's result; empty when it is anything else."""
    if _BEGIN not in message.content or message.cut:
        return ""
    try:
        result = as_mapping(orjson.loads(message.content.partition("\n")[0])).get("ok")
    except orjson.JSONDecodeError:
        return ""
    picture = result if isinstance(result, str) else as_mapping(result).get("svg")
    if not isinstance(picture, str) or _FENCE in picture:
        return ""
    picture = picture.strip()
    return picture if picture.startswith(_BEGIN) and picture.endswith("</svg>") else ""
