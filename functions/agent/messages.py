"""The history: messages, tool calls and usage, as they are stored and as a model reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Final, Literal

from msgspec import Meta

from sigil.protocol import Json, Offer
from sigil.storage.stored import Shape, Stored

Role = Literal["system", "user", "assistant", "tool"]
MOST: Final = 10**12
"""More than is ever counted, and later than any time that a clock shows."""
Count = Annotated[int, Meta(ge=0, lt=MOST)]
Number = Annotated[float, Meta(ge=0, lt=MOST)]
"""A stored count, and a stored amount or time in seconds since the epoch."""
RUNTIME_MARK: Final = "[runtime]"
"""How a message of the runtime's own begins; a person's always begins with its stamp."""
RUNTIME_ORIGIN: Final = "runtime"
"""The origin of a kept message that the runtime wrote; a person's names a platform."""


@dataclass(frozen=True, slots=True)
class ToolCall(Stored):
    """A call that the model wants: `arguments` is its JSON text, unparsed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage(Stored):
    """Tokens of one or more requests; `estimated` when the provider did not say."""

    prompt: Count = 0
    completion: Count = 0
    cached: Count = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return replace(
            self,
            prompt=self.prompt + other.prompt,
            completion=self.completion + other.completion,
            cached=self.cached + other.cached,
            estimated=self.estimated or other.estimated,
        )

    def __sub__(self, before: Usage) -> Usage:
        """What came since `before`."""
        return Usage(
            self.prompt - before.prompt,
            self.completion - before.completion,
            self.cached - before.cached,
            self.estimated,
        )

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Message(Stored):
    """One message of the history.

    `seq` numbers a session's messages from 1 and never repeats; `at` is seconds since the epoch.
    `calls` belong to the assistant, `call_id` and `loads` to tools: `loads` is written by
    `sigil_query` and `sigil_deploy` alone and is the only thing that makes a tool. `origin` says
    where a user message came from (platform, name); `cut` counts characters that were left out.
    `tokens` is the estimate of its size, made when it joins a history.
    """

    role: Role
    content: str
    seq: Count = 0
    at: Number = 0.0
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    loads: tuple[Offer, ...] = ()
    origin: str = ""
    reasoning: str = ""
    cut: Count = 0
    tokens: Number = 0.0


MESSAGES: Final = Shape[tuple[Message, ...]](tuple[Message, ...])
"""Reads the messages of an archive."""


def unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the last assistant message that no tool message answers yet, in order."""
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role == "assistant":
            answered = {message.call_id for message in messages[position + 1 :]}
            return tuple(call for call in messages[position].calls if call.id not in answered)
        if messages[position].role == "user":
            break
    return ()


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call came to: `content` for the model, `loads` what it paged in, `error` and `why` the
    code and message of its failure.

    `listed`: the result that names what it paged in, a row each, of which `content` is the text.
    `ran`: whether it began at all.
    """

    call: ToolCall
    content: str
    loads: tuple[Offer, ...] = ()
    error: str = ""
    ms: float = 0.0
    cut: int = 0
    why: str = ""
    ran: bool = True
    listed: Mapping[str, Json] | None = None
