"""What the agent and a language model say to each other, whichever model it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from functions.agent.messages import ToolCall, Usage
from sigil.protocol import Json

Finish = Literal["stop", "tool_calls", "length", "filtered", "refused", "error", "stopped"]
FailureKind = Literal[
    "key", "money", "rate", "window", "refused", "unreachable", "late", "empty", "down", "other"
]
UNNAMED: Final = "unnamed_tool"
"""What stands in the history for a call whose name is empty: endpoints take back no empty one. No
capability's tool is called so.
"""

SAVE_MEMORY: Final = "save_memory"
"""The tool that a model writes a chat's memory with; the offline model knows it by its name."""
NO_MEMORY: Final = "(nothing yet)"
"""The text that stands for a memory in which nothing is."""


@dataclass(frozen=True, slots=True)
class Request:
    """One request: messages and tools in the chat-completions form. `tool_choice` None means that
    the model chooses.

    `deadline` is a time of the monotonic clock. `stopped` is asked about once a second whether to
    give up, and `may_write`, when a reply without calls has one written into its text, whether that
    counts here. At most `tries` may fail, with pauses of at most `pause_most` seconds between them.
    """

    messages: Sequence[Json]
    tools: Sequence[Json] = ()
    tool_choice: Json = None
    deadline: float = float("inf")
    stopped: Callable[[], bool] = lambda: False
    may_write: Callable[[], bool] = lambda: False
    tries: int = 3
    pause_most: float = float("inf")


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a model gave no answer. `detail`: in its endpoint's words, which only owners may read;
    `limit`: its window, when they say so.
    """

    kind: FailureKind
    detail: str
    limit: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back. `finish` "stopped": the request gave up because it was told to. "length",
    "filtered" and "refused": the model's limit, the provider's filter or the model itself ended it
    before it was whole.

    With "error", `text` says in words of ours what went wrong, and `transient` whether trying later
    may help; `retry_after`: in how many seconds, if the endpoint said so. `failure`: the last one,
    also of a model that another one stood in for. `tries`: how many failed.
    """

    text: str = ""
    calls: tuple[ToolCall, ...] = ()
    usage: Usage = Usage()
    finish: Finish = "stop"
    reasoning: str = ""
    transient: bool = False
    retry_after: float | None = None
    failure: Failure | None = None
    tries: int = 0


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
