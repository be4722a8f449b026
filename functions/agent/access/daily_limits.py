"""What each person may use in a day (UTC): turns, asked before one begins, and tokens, noted when
it ends.

They stand beside the agent's own budget, which holds for all together.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.access.roles import Allowance, Role, Rules
from functions.events import Event
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

DAY_SECONDS: Final = 86_400
KEPT_SECONDS = 2.0 * DAY_SECONDS
RECENT = 8
"""Events whose tokens are known, so that one which comes again after a crash counts once."""


Amount = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class Used(Stored):
    """What somebody used in a day. `recent`: the tokens of their last events; `told`: the role and
    the event that were told it is all.
    """

    turns: Amount = 0
    tokens: Amount = 0
    recent: Mapping[str, Amount] = field(default_factory=dict)
    told: str = ""

    def taken(self, event: str) -> Used:
        """With one more turn."""
        return replace(self, turns=self.turns + 1, recent=_last({**self.recent, event: 0}))

    def with_tokens(self, event: str, tokens: int) -> Used:
        """With all the tokens that an event's turn has cost: never fewer than were known, for what
        a crash lost was spent as well.
        """
        known = self.recent.get(event, 0)
        cost = max(tokens, known)
        return replace(
            self, tokens=self.tokens + cost - known, recent=_last({**self.recent, event: cost})
        )

    def over(self, most: Allowance) -> str:
        """What is used up, for people; empty while there is some left."""
        if 0 < most.turns <= self.turns:
            return f"{most.turns:,} turns"
        return f"{most.tokens:,} tokens" if 0 < most.tokens <= self.tokens else ""


_USED: Final = Shape[Used](Used)
ALL: Final = Used(turns=1 << 60, tokens=1 << 60)


class Allowances:
    """What the people of one agent used. `now`: seconds since 1970."""

    def __init__(self, kv: KV, agent: str, rules: Rules, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._rules = rules
        self._now = now

    def begins(self, event: Event, role: Role) -> str | None:
        """Count the event's turn, and None; or why it may not begin: told once a day, and after
        that empty.
        """
        most, now = self._rules.allowance(role), self._now()
        if not (most.turns or most.tokens):
            return None
        telling = f"{role} {event.id}"

        def decide(value: bytes | None) -> tuple[bytes | None, str | None]:
            used = _revived(value)
            if event.id in used.recent:
                return None, None
            over = used.over(most)
            if not over:
                return _bytes(used.taken(event.id)), None
            if used.told != telling and used.told.partition(" ")[0] == role:
                return None, ""
            return _bytes(
                replace(used, told=telling)
            ), f"You have used your {over} of today. {_anew(now)}"

        return update(self._kv, self._key(event.sender.id, now), decide, KEPT_SECONDS)

    def ends(self, event: Event, role: Role, tokens: int, began: float) -> str:
        """Note what the event's turn has cost so far, on the day on which it began; why it may not
        go on, empty when it may.
        """
        most = self._rules.allowance(role)
        if not (tokens and most.tokens):
            return ""

        def decide(value: bytes | None) -> tuple[bytes, bool]:
            used = _revived(value).with_tokens(event.id, tokens)
            return _bytes(used), used.tokens >= most.tokens

        over = update(self._kv, self._key(event.sender.id, began), decide, KEPT_SECONDS)
        return (
            f"You have used your {most.tokens:,} tokens of today. {_anew(self._now())}"
            if over
            else ""
        )

    def told(self, who: str, role: Role) -> str:
        """What somebody has used and may use today, for people; empty where nothing is counted."""
        most, now = self._rules.allowance(role), self._now()
        item = self._kv.get(self._key(who, now)) if most.turns or most.tokens else None
        used = _revived(item.value if item else None)
        rows = [(used.turns, most.turns, "turns"), (used.tokens, most.tokens, "tokens")]
        shown = ", ".join(
            f"{min(some, limit):,} of {limit:,} {what}" for some, limit, what in rows if limit
        )
        return f"Used today: {shown}. {_anew(now)}" if shown else ""

    def _key(self, who: str, at: float) -> Key:
        return keys.allowance(self._agent, time.strftime("%Y-%m-%d", time.gmtime(at)), who)


def _anew(now: float) -> str:
    minutes = int(DAY_SECONDS - now % DAY_SECONDS) // 60
    return f"It begins anew at 00:00 UTC, in {minutes // 60} h {minutes % 60} min."


def _last(recent: Mapping[str, int]) -> Mapping[str, int]:
    return dict(list(recent.items())[-RECENT:])


def _revived(value: bytes | None) -> Used:
    """What was stored; what cannot be believed counts as all used up."""
    if value is None:
        return Used()
    try:
        return _USED.read(value)
    except ValueError:
        return ALL


def _bytes(used: Used) -> bytes:
    return dumps(used)
