"""Pictures are a working set, too: a model sees one in the turn of the message that brought it, and
again only when it asks for it. The history has a line that says where it stands.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import orjson

from functions.agent.conversation.messages import RUNTIME_MARK, Message
from functions.agent.conversation.prompt import ContentPart, PromptMessage
from sigil.errors import SigilError
from sigil.json_fields import as_mapping, as_string

MOST: Final = 6
"""A request shows at most so many pictures: the last ones."""
TOKENS: Final = 1_300.0
"""A picture of 1,568 pixels takes about so many tokens: 85 and 170 for each tile of 512 pixels at
OpenAI, width times height by 750 at Anthropic.
"""
LOOK: Final = "look"
"""The field of a result of `read-file` with the path of the picture that the model asked for."""
GONE: Final = "[a picture stood here that is gone by now]"
BEHIND: Final = "What read-file shows:"
_LOOK: Final = f'"{LOOK}"'
Read = Callable[[str], bytes]
"""Returns the bytes of a picture at a path; `SigilError` when it cannot."""


@dataclass(frozen=True, slots=True)
class Shown:
    """The pictures of a request: `beside` are those of users' messages by the places of these in
    the history, `behind` those that tools showed.
    """

    beside: Mapping[int, Sequence[ContentPart]]
    behind: Sequence[ContentPart]

    @property
    def count(self) -> int:
        """Return how many they are."""
        every = (*self.beside.values(), self.behind)
        return sum(part["type"] != "text" for parts in every for part in parts)

    @property
    def tokens(self) -> float:
        """Return about how many tokens they take."""
        return TOKENS * self.count

    def add_to(self, prompt: list[PromptMessage]) -> None:
        """Add them to the messages of a request: the system message, and those of the history.

        What tools showed stands behind all results, in a message of the runtime's: not every
        endpoint takes a picture within a result.
        """
        for place, parts in self.beside.items():
            message = prompt[place + 1]
            text: ContentPart = {"type": "text", "text": str(message["content"])}
            prompt[place + 1] = {**message, "content": [text, *parts]}
        if self.behind:
            head: ContentPart = {"type": "text", "text": f"{RUNTIME_MARK}\n{BEHIND}"}
            prompt.append({"role": "user", "content": [head, *self.behind]})


def load_pictures(messages: Sequence[Message], turn: int, read: Read) -> Shown:
    """Return the pictures that the next request shows: those of the turn that begins at the place
    `turn`, and those that the calls of the last round asked for. Of many, the last ones.
    """
    room = MOST
    behind: list[ContentPart] = []
    place = len(messages) - 1
    while place >= turn and messages[place].role == "tool":
        path = _read_look(messages[place].content)
        if path and room:
            room -= 1
            behind.insert(0, _make_part(path, read))
        place -= 1
    beside: dict[int, Sequence[ContentPart]] = {}
    for place in range(len(messages) - 1, turn - 1, -1):
        message = messages[place]
        if message.role == "user" and message.files and room:
            paths = [file.id for file in message.files][-room:]
            room -= len(paths)
            beside[place] = [_make_part(path, read) for path in paths]
    return Shown(beside, behind)


def _read_look(content: str) -> str:
    """Return the path of the picture that a result shows; empty for any other result."""
    if _LOOK not in content:
        return ""
    try:
        result = as_mapping(orjson.loads(content.partition("\n")[0])).get("ok")
    except orjson.JSONDecodeError:
        return ""
    return as_string(as_mapping(result).get(LOOK))


def _make_part(path: str, read: Read) -> ContentPart:
    try:
        body = base64.b64encode(read(path)).decode()
    except SigilError:
        return {"type": "text", "text": GONE}
    return {"type": "image_url", "image_url": {"url": f"data:image/jpeg;base64,{body}"}}
