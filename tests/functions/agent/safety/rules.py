"""The rules of failures, halts and budgets, written a second time and plainly: no clock, no store,
nothing of the product's.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace
from hashlib import sha256

SAME, ROW, WINDOW, CASCADE, CALLS, OF_A_ROUND = 3, 5, 10, 8, 16, 3
NO_OPERATION = ("ENOTRESIDENT", "EINTERRUPTED", "ESTOPPED")
"""A page fault, a call that a crash cut off, one that never began."""
FATAL = ("EHOSTMEM",)
STATES = {
    "": "WAITING_FOR_EVENT",
    "frustration": "PAUSED",
    "loop": "PAUSED",
    "budget": "STOPPED",
    "session-budget": "STOPPED",
    "cascade": "ERROR_PAUSED",
    "fatal": "ERROR_PAUSED",
    "halted": "SAFETY_LOCKOUT",
    "damaged": "SAFETY_LOCKOUT",
}


def fingerprint(tool: str, arguments: str) -> str:
    """Tool and arguments, in whatever order and spelling they came; what is no JSON stands for
    itself.
    """
    with suppress(ValueError):
        arguments = json.dumps(
            json.loads(arguments), sort_keys=True, separators=(",", ":"), ensure_ascii=False
        )
    return sha256(f"{tool}:{arguments}".encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Call:
    """A call that was answered: `place` is where it stood in its round, `code` what it failed with,
    `result` what came back.

    `extra`: a failure of a round that has its three in the window already.
    """

    fingerprint: str
    place: int
    code: str
    result: str
    extra: bool = False

    @property
    def counts(self) -> bool:
        return self.place < CALLS and self.code not in NO_OPERATION


@dataclass(frozen=True)
class Said:
    """The lines that a result must end with."""

    pain: bool = False
    alert: bool = False
    again: int = 0


@dataclass(frozen=True)
class Chat:
    """The state of a chat. `since`: the moment at which it was closed; None while nobody has noticed
    that it is damaged.
    """

    row: int = 0
    calls: tuple[Call, ...] = ()
    failures: tuple[Call, ...] = ()
    closed: str = ""
    since: int | None = 0
    day: str = ""
    spent: int = 0
    free: int = 0
    task: str = ""
    ticks: int = 0

    def today(self, day: str) -> Chat:
        return self if self.day == day else replace(self, day=day, spent=0, free=0)

    @property
    def window(self) -> tuple[Call, ...]:
        return tuple(call for call in self.calls if not call.extra)

    def after(self, calls: Iterable[Call]) -> tuple[Chat, str, list[Said]]:
        """The chat after a round, why it must not go on, and what is said below each result."""
        chat, failures, reasons, said = self, list(self.failures), [], []
        read, before, failed = self.row, len(self.window), 0
        for answered in calls:
            if not answered.counts:
                said.append(Said())
                continue
            failed += bool(answered.code)
            call = replace(answered, extra=bool(answered.code) and failed > OF_A_ROUND)
            read = read if call.code else 0
            chat = replace(
                chat, row=chat.row + 1 if call.code else 0, calls=_kept((*chat.calls, call))
            )
            mine = [other for other in chat.calls if other.fingerprint == call.fingerprint]
            if not call.code:
                same = sum(not other.code and other.result == call.result for other in mine)
                said.append(Said(again=same if same >= SAME else 0))
                before += 1
                continue
            before += not call.extra
            failures = [*failures, call][-WINDOW:]
            since = next(
                (number for number, other in enumerate(reversed(mine)) if not other.code), len(mine)
            )
            said.append(Said(pain=True, alert=since >= SAME))
            known = chat.window[: max(len(self.window) - max(before - WINDOW, 0), 0)]
            reasons += ["fatal"] * (call.code in FATAL)
            reasons += ["cascade"] * (sum(bool(other.code) for other in known) + 1 >= CASCADE)
            reasons += ["frustration"] * (read + 1 >= ROW)
        halts = [reason for reason in reasons if reason != "frustration"]
        return replace(chat, failures=tuple(failures)), (halts or reasons or [""])[0], said


def _kept(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    """The last ten calls that have a place, and the others that came after the first of these."""
    places = [number for number, call in enumerate(calls) if not call.extra]
    return calls[places[-WINDOW] :] if len(places) > WINDOW else calls


@dataclass
class Agent:
    """One agent: what its owner said, what it spent, and how each of its chats stands in the store.
    Moments are counted, not measured.
    """

    tokens: int = 0
    chat_tokens: int = 0
    ticks: int = 0
    day: str = ""
    moment: int = 0
    halted: set[str] = field(default_factory=set)
    unlocked: dict[str, int] = field(default_factory=dict)
    spent: dict[str, dict[str, int]] = field(default_factory=dict)
    forgiven: dict[str, int] = field(default_factory=dict)
    chats: dict[str, Chat] = field(default_factory=dict)

    def chat(self, name: str) -> Chat:
        return self.chats.get(name, Chat())

    def halt(self, name: str) -> None:
        """An owner halts a chat, or all of them when it has no name."""
        self.halted.add(name)

    def unlock(self, name: str) -> None:
        """An owner unlocks a chat, or all of them; a halt of all ends with either.

        What else locked a chat ends with its own unlock or with that of all. A budget that is used
        up (or has no limit) begins anew.
        """
        self.moment += 1
        if self.counted() >= self.tokens:
            self.forgiven[self.day] = sum(self.spent.get(self.day, {}).values())
        self.halted -= {name, ""} if name else self.halted
        self.unlocked[name] = self.moment

    def stops(self, name: str) -> bool:
        return bool(self.halted & {name, ""})

    def bars(self, name: str, chat: Chat) -> str:
        """Why no request may be sent now."""
        if chat.closed or self.stops(name):
            return chat.closed or "halted"
        if 0 < self.ticks <= chat.ticks:
            return "loop"
        if 0 < self.chat_tokens <= self.own(name) - chat.today(self.day).free:
            return "session-budget"
        return "budget" if 0 < self.tokens <= self.counted() else ""

    def asked(self, name: str, chat: Chat, task: str, tokens: int) -> Chat:
        """A request was answered and cost so many tokens."""
        day = self.spent.setdefault(self.day, {})
        day[name] = day.get(name, 0) + tokens
        begun = self.begun(chat.today(self.day), task)
        return replace(begun, spent=day[name], ticks=begun.ticks + 1)

    def begun(self, chat: Chat, task: str) -> Chat:
        """With a piece of work before it: another one than before has cost nothing so far."""
        return replace(chat, task=task, ticks=0) if task and task != chat.task else chat

    def shut(self, chat: Chat, reason: str) -> Chat:
        """Closed for a reason; one that is closed already stays as it is."""
        if chat.closed and chat.since is not None:
            return chat
        self.moment += 1
        return replace(chat, closed=chat.closed or reason, since=self.moment)

    def heard(self, name: str, chat: Chat, person: bool) -> Chat:
        """Return the chat when something happens in it. `person`: an owner or a member wrote."""
        if chat.closed and chat.since is None:
            return self.shut(chat, "")
        if chat.closed and max(self.unlocked.get(whom, 0) for whom in (name, "")) > (
            chat.since or 0
        ):
            chat = replace(
                chat,
                closed="",
                row=0,
                calls=(),
                ticks=0,
                day=self.day,
                spent=self.own(name),
                free=self.own(name),
            )
        if chat.closed in ("budget", "session-budget", "halted") and not self.bars(
            name, replace(chat, closed="", ticks=0)
        ):
            chat = replace(chat, closed="")
        if chat.closed in ("frustration", "loop") and person:
            chat = replace(chat, closed="", row=0, ticks=0)
        return chat

    def own(self, name: str) -> int:
        """Return what a chat has spent today, whatever became of its turns."""
        return self.spent.get(self.day, {}).get(name, 0)

    def counted(self) -> int:
        """Return how many of today's tokens count, of all chats."""
        return sum(self.spent.get(self.day, {}).values()) - self.forgiven.get(self.day, 0)
