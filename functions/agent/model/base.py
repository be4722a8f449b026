"""The contract between the agent and a language model, whichever model it is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol, runtime_checkable

from functions.agent.conversation.messages import Beside, ToolCall, Usage
from functions.agent.conversation.prompt import PromptMessage, ToolDefinition
from sigil.protocol import Json

Finish = Literal["stop", "tool_calls", "length", "filtered", "refused", "error", "stopped"]
FailureKind = Literal[
    "key",
    "money",
    "rate",
    "window",
    "refused",
    "unreachable",
    "late",
    "empty",
    "down",
    "model",
    "other",
    "adapted",
]
"""Why there is no answer. "model" is a model that the endpoint does not have, and "adapted" is an
answer that came after something was left out.
"""
REDUCED_MOST: Final = 2
"""A refused request of a turn is sent again at most so often, each time with less in it."""
UNNAMED: Final = "unnamed_tool"
"""Replaces an empty name of a call in the history, since endpoints refuse empty ones.

No capability's tool has this name.
"""

IMAGES_LEFT_OUT: Final = "images are left out"
"""The lesson that a model takes no images."""
WRITTEN_ID: Final = "written_"
"""The ids of calls written as text begin like this, so that a history tells them from native ones.
"""
SAVE_MEMORY: Final = "save_memory"
"""The tool by which a model writes a chat's memory; the offline model knows it by its name."""
NO_MEMORY: Final = "(nothing yet)"
"""Stands for an empty memory."""


Tell = Callable[[str | None], None]
"""Is told the words of an answer while they come; None takes back all that were told so far, since
the answer begins anew or turned out not to be one.
"""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request, with messages and tools in the chat-completions form.

    `tool_choice` None lets the model choose. `deadline` is a time of the monotonic clock. `stopped`
    is asked about once a second whether to give up. `may_write` is asked when a reply has a call
    written into its text, whether that counts here. At most `tries` may fail, with pauses of at
    most `pause_most` seconds between them. `model` names another model of the same endpoint, empty
    for the one of the settings. A refused request is sent again with less in it, at most `reduced`
    times. `chat` tells the chats of one endpoint apart, for what it keeps of their prompts; empty
    for none. With `tell` the answer comes as a stream where the endpoint has one; what is told is
    never more than shown, and the reply is the same without it.
    """

    messages: Sequence[PromptMessage]
    tools: Sequence[ToolDefinition] = ()
    tool_choice: Json = None
    deadline: float = float("inf")
    stopped: Callable[[], bool] = lambda: False
    may_write: Callable[[], bool] = lambda: False
    tries: int = 3
    pause_most: float = float("inf")
    model: str = ""
    reduced: int = REDUCED_MOST
    chat: str = ""
    tell: Tell | None = None


@dataclass(frozen=True, slots=True)
class Failure:
    """A reason why a model gave no answer.

    `detail` is in its endpoint's words, which only owners may read; `limit` is its window in
    tokens, when the words tell it.
    """

    kind: FailureKind
    detail: str
    limit: int = 0


@dataclass(frozen=True, slots=True)
class ModelReply:
    """The reply to a request.

    `finish` is "stopped" when the request gave up because it was told to; "length", "filtered" or
    "refused" when the model's limit, the provider's filter or the model itself ended the reply
    early.

    With "error", `text` says in our words what went wrong, `transient` whether trying later may
    help, and `retry_after` in how many seconds, if the endpoint said so. `failure` is the last one,
    also of a model that another one replaced, or of a request that then took less; `tries` counts
    the failed ones. `model` is the one that was asked last, empty where there is only one.
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
    model: str = ""
    beside: Beside | None = None
    reduced: int = 0


def is_native_call(call_id: str) -> bool:
    """Return whether a call of the history was made as a call, and not written as text."""
    return not call_id.startswith(WRITTEN_ID)


class Model(Protocol):
    """A language model, or something that is used in place of one."""

    @property
    def name(self) -> str:
        """The name that `/status` and the terminal show."""

    @property
    def window(self) -> int:
        """The number of tokens that fit into one request."""

    def chat(self, request: ModelRequest) -> ModelReply:
        """Return the model's reply. Failures are replies, too; only cancellation raises."""


@runtime_checkable
class Learner(Protocol):
    """A model of which more is known than its settings say: what its endpoint's refusals taught.

    `model` names another one of the same endpoint, empty for its own.
    """

    def list_lessons(self, model: str = "") -> Sequence[str]:
        """Return what was learnt, a short English phrase each, for owners."""

    def forget_lessons(self, model: str = "") -> None:
        """Forget it, so that the settings and what is generally known count again."""
