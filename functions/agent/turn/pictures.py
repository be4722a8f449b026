"""Pictures that a turn's capabilities drew go out with its answer, and files that they returned.

A model that would copy a picture of some thousand characters makes mistakes, and pays for each of
them: it need not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import orjson

from functions.agent.conversation.messages import MAIL_ORIGIN, Message
from functions.agent.conversation.toolset import is_capability
from sigil.json_fields import as_mapping
from sigil.protocol import KeptFile

_BEGIN: Final = "<svg"
_FENCE: Final = "```"
FILES_MOST: Final = 8
"""The last files of a turn that go out with its answer."""


def add_picture(text: str, messages: Sequence[Message]) -> str:
    """Return an answer with the last picture that its turn's capabilities drew, as a code block.

    `messages` are those of the turn. An answer that has a picture stays as it is.
    """
    if not text or _BEGIN in text:
        return text
    calls = {call.id: call.name for message in messages for call in message.calls}
    for message in reversed(messages):
        if message.role == "tool" and is_capability(calls.get(message.call_id, "")):
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
        # the result of a task comes as mail
        if message.role == "tool" or message.origin == MAIL_ORIGIN:
            files += message.files
    return tuple(files[-FILES_MOST:])


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
