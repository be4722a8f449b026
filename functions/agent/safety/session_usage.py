"""The usage of a session is what it spent in a period of the budget and when it was last at work:
one row, written by the session alone, beside what its turns write anyway.

All rows of a root together are the list of its sessions. Version 0.1.0 wrote bare numbers, and
takes anything else for a budget that is used up; so the rows stand beside its own, where it does
not look, and count with them: a session's sum is the larger of the two.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Final

from msgspec import DecodeError, Meta, Struct
from msgspec.json import Decoder

from functions.agent.conversation.messages import Count, Number, Usage
from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import NewerFormat, Shape, Stored

DIGITS: Final = 15
"""The most digits of a sum: nobody spends more, and a larger one would not fit into a document."""
TITLE_CHARACTERS: Final = 60
Sum = Annotated[int, Meta(ge=0, lt=10**DIGITS)]


@dataclass(frozen=True, slots=True)
class SessionActivity:
    """What the session did beside its requests to the model: its `turns`, their `calls` of tools
    and how many of these `failed`.

    `by` is the person whose private chat it is, empty for groups and for the agent's own work.
    `title` are the chat's first words, only where it is an owner's private chat.
    """

    turns: int = 0
    calls: int = 0
    failed: int = 0
    by: str = ""
    title: str = ""


NO_ACTIVITY: Final = SessionActivity()


@dataclass(frozen=True, slots=True)
class SessionUsage(Stored):
    """What a session spent in a period: `tokens`, as they count for the budget.

    The rest is for people. It is counted as it happens: a crash may lose the last of it, and the
    tokens never. `at` is when the session last wrote, in seconds since 1970; all others are as in
    `SessionActivity` and `Usage`.
    """

    tokens: Sum
    usage: Usage = Usage()
    requests: Count = 0
    turns: Count = 0
    calls: Count = 0
    failed: Count = 0
    at: Number = 0.0
    by: str = ""
    title: str = ""

    def add(
        self, tokens: int, usage: Usage, requests: int, activity: SessionActivity, now: float
    ) -> SessionUsage:
        """Return the usage with more requests and what they used; `tokens` is the new sum."""
        return evolve(
            self,
            tokens=tokens,
            usage=self.usage + usage,
            requests=self.requests + requests,
            turns=self.turns + activity.turns,
            calls=self.calls + activity.calls,
            failed=self.failed + activity.failed,
            at=now,
            by=activity.by or self.by,
            title=self.title or activity.title,
        )


_USAGE: Final = Shape[SessionUsage](SessionUsage, required=("tokens",))


class _Tokens(Struct):
    """What the budget reads of all sessions: the rest of a row would take five times as long."""

    tokens: Sum


_TOKENS: Final = Decoder(_Tokens)


def read_tokens(item: Item, unreadable: int) -> int:
    """Return the tokens in an item, or `unreadable` for bytes that are no sum."""
    value = item.value
    if value.isdigit():
        return int(value) if len(value) <= DIGITS else unreadable
    try:
        return _TOKENS.decode(value).tokens
    except DecodeError:
        return unreadable


def list_spenders(kv: KV, root: str) -> set[str]:
    """Return the sessions (S of the keys) of a root and of all agents below it that have asked the
    model in the last 400 days.
    """
    partition = keys.session_usage(root, "", "").partition
    found = (keys.split_usage(sort)[1] for sort, _ in scan_all(kv, partition))
    return {keys.session_of_group(group) for group in found if group}


def read_usage(item: Item | None) -> SessionUsage | None:
    """Return the usage in an item, a bare number of 0.1.0 included; None where there is none, or
    none that can be read.
    """
    if item is None:
        return None
    if item.value.isdigit():
        tokens = read_tokens(item, -1)
        return SessionUsage(tokens) if tokens >= 0 else None
    try:
        return _USAGE.read(item.value)
    except (ValueError, NewerFormat):
        return None
