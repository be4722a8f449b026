"""The history: messages, tool calls and usage, as they are stored and as a model reads them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeVar

from sigil.protocol import Offer

Role = Literal["system", "user", "assistant", "tool"]
MOST: Final = 10**12
"""More than is ever counted, and later than any time that a clock shows."""
Stored = TypeVar("Stored")


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model wants: `arguments` is its JSON text, unparsed."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens of one or more requests; `estimated` when the provider did not say."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    estimated: bool = False

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt + other.prompt,
            self.completion + other.completion,
            self.cached + other.cached,
            self.estimated or other.estimated,
        )

    def __sub__(self, before: Usage) -> Usage:
        """What came since `before`."""
        return Usage(self.prompt - before.prompt, self.completion - before.completion, self.cached - before.cached, self.estimated)

    @property
    def total(self) -> int:
        return self.prompt + self.completion


@dataclass(frozen=True, slots=True)
class Message:
    """One message of the history.

    `seq` numbers a session's messages from 1 and never repeats; `at` is seconds since the epoch. `calls` belong to the
    assistant, `call_id` and `loads` to tools: `loads` is written by `sigil_query` and `sigil_deploy` alone and is the only thing
    that makes a tool. `origin` says where a user message came from (platform, name); `cut` counts characters that were left out.
    `tokens` is the estimate of its size, made when it joins a history.
    """

    role: Role
    content: str
    seq: int = 0
    at: float = 0.0
    calls: tuple[ToolCall, ...] = ()
    call_id: str = ""
    loads: tuple[Offer, ...] = ()
    origin: str = ""
    reasoning: str = ""
    cut: int = 0
    tokens: float = 0.0


def revive(fields: Mapping[str, Any]) -> Message:
    """The message whose fields were stored; see `sound`."""
    calls = tuple(sound(ToolCall(**call), texts=("id", "name", "arguments")) for call in fields.get("calls", ()))
    loads = tuple(Offer(**load) for load in fields.get("loads", ()))
    message = Message(**{**fields, "calls": calls, "loads": loads})
    return sound(message, texts=("content", "call_id", "origin", "reasoning"), counts=("seq", "cut"), numbers=("at", "tokens"))


def revive_usage(fields: Mapping[str, Any]) -> Usage:
    """The usage whose fields were stored; see `sound`."""
    return sound(Usage(**fields), counts=("prompt", "completion", "cached"))


def sound(stored: Stored, *, texts: Sequence[str] = (), counts: Sequence[str] = (), numbers: Sequence[str] = ()) -> Stored:
    """`stored`, when these fields of it are what they have to be; `TypeError` otherwise."""
    values = {name: getattr(stored, name) for name in (*texts, *counts, *numbers)}
    whole = all(isinstance(values[name], str) for name in texts) and all(type(values[name]) is int for name in counts)
    if not whole or not all(type(values[name]) in (int, float) and 0 <= values[name] < MOST for name in (*counts, *numbers)):
        raise TypeError("a stored field is not what it was")
    return stored


def unanswered(messages: Sequence[Message]) -> tuple[ToolCall, ...]:
    """The calls of the last assistant message that no tool message answers yet, in order."""
    for position in range(len(messages) - 1, -1, -1):
        if messages[position].role == "assistant":
            answered = {message.call_id for message in messages[position + 1 :]}
            return tuple(call for call in messages[position].calls if call.id not in answered)
        if messages[position].role == "user":
            break
    return ()
