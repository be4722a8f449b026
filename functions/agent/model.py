"""What the agent and a language model say to each other, whichever model it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from functions.agent.messages import ToolCall, Usage
from sigil.protocol import Json

Finish = Literal["stop", "tool_calls", "length", "error"]


@dataclass(frozen=True, slots=True)
class Request:
    """One request: messages and tools in the chat-completions form. `tool_choice` None means that the model chooses.

    `deadline` is a time of the monotonic clock. `abandoned`: whether nobody waits for the reply any more.
    """

    messages: Sequence[Json]
    tools: Sequence[Json] = ()
    tool_choice: Json = None
    deadline: float = float("inf")
    abandoned: Callable[[], bool] = lambda: False


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. With `finish` "error", `text` says what went wrong and `transient` whether trying later may help."""

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish: Finish = "stop"
    reasoning: str = ""
    transient: bool = False


class Model(Protocol):
    """A language model, or something that stands in for one."""

    @property
    def name(self) -> str:
        """What `/status` and the terminal show."""

    @property
    def window(self) -> int:
        """Tokens that fit into one request."""

    def chat(self, request: Request) -> Reply:
        """The model's reply; never an exception but for cancellation."""
