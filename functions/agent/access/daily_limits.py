"""Daily limits bound the turns and tokens that each person may use in a day.

A turn is counted before it begins, its tokens when it ends. The limits apply beside the agent's own
budget, which holds for everybody together. A day is a date in the time zone of the chat. The usage
of each date is counted once, so whoever changes the zone uses up tomorrow's allowance today.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.access.members import People
from functions.agent.access.roles import LOCAL_OWNERS, NO_LIMIT, Allowance, Role, Rules
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from functions.time.time_zone import DAY_SECONDS, DEFAULT, find_tomorrow, format_clock, to_local
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

KEPT_SECONDS = 3.0 * DAY_SECONDS
"""A date is over everywhere two days and two hours after it began somewhere."""
RECENT = 8
"""The tokens of so many events are known: one that comes again after a crash counts once."""


Amount = Annotated[int, Meta(ge=0)]


@dataclass(frozen=True, slots=True)
class DailyUsage(Stored):
    """The turns and tokens that somebody used in a day.

    `recent` has the tokens of their last events; `told` is the role and the event that were told
    that nothing is left.
    """

    turns: Amount = 0
    tokens: Amount = 0
    recent: Mapping[str, Amount] = field(default_factory=dict)
    told: str = ""

    def add_turn(self, event: str) -> DailyUsage:
        """Return the usage with one more turn."""
        return replace(self, turns=self.turns + 1, recent=_keep_last({**self.recent, event: 0}))

    def add_tokens(self, event: str, tokens: int, *, more: bool = False) -> DailyUsage:
        """Return the usage with all the tokens that an event's turn has cost.

        An event's tokens never become fewer, since what a crash lost was spent as well. With `more`
        they are what another try has cost.
        """
        known = self.recent.get(event, 0)
        cost = known + tokens if more else max(tokens, known)
        recent = _keep_last({**self.recent, event: cost})
        return replace(self, tokens=self.tokens + cost - known, recent=recent)

    def describe_exceeded(self, most: Allowance, texts: Texts = ENGLISH) -> str:
        """Return what is used up, for people; empty while there is some left."""
        if 0 < most.turns <= self.turns:
            return texts.count_turns(most.turns)
        if 0 < most.tokens <= self.tokens:
            return texts.count_tokens(most.tokens)
        return ""


_USAGE: Final = Shape[DailyUsage](DailyUsage)
ALL_USED: Final = DailyUsage(turns=1 << 60, tokens=1 << 60)


class Allowances:
    """The daily usage of one agent's people, by the dates of a time zone. `now` returns seconds
    since 1970.
    """

    def __init__(
        self, kv: KV, agent: str, rules: Rules, now: Callable[[], float], zone: str = DEFAULT
    ) -> None:
        self._kv = kv
        self._agent = agent
        self._rules = rules
        self._now = now
        self._zone = zone

    def begin_turn(
        self, event: Event, role: Role, texts: Texts = ENGLISH, *, payer: str = ""
    ) -> str | None:
        """Count the event's turn and return None, or return why it may not begin.

        The reason is told once a day; after that it is empty. `payer` as in `Standing`: the ids of
        one person use one allowance.
        """
        most = self._find_allowance(event, role)
        now = self._now()
        if not (most.turns or most.tokens):
            return None
        telling = f"{role} {event.id}"

        def decide(value: bytes | None) -> tuple[bytes | None, str | None]:
            usage = _read_usage(value)
            if event.id in usage.recent:
                return None, None
            exceeded = usage.describe_exceeded(most, texts)
            if not exceeded:
                return dumps(usage.add_turn(event.id)), None
            if usage.told != telling and usage.told.partition(" ")[0] == role:
                return None, ""
            reset = self._describe_reset(now, texts)
            notice = texts.used_up.format(allowed=exceeded, reset=reset)
            return dumps(replace(usage, told=telling)), notice

        return update(self._kv, self._usage_key(payer or event.behalf, now), decide, KEPT_SECONDS)

    def record_tokens(
        self,
        event: Event,
        role: Role,
        tokens: int,
        began: float,
        texts: Texts = ENGLISH,
        *,
        payer: str = "",
        more: bool = False,
    ) -> str:
        """Note what the event's turn has cost so far, on the day on which it began; `payer` as in
        `begin_turn`.

        With `more`, it is what another try has cost beside those before. Returns why it may not go
        on, empty when it may.
        """
        most = self._find_allowance(event, role) if tokens else NO_LIMIT
        if not most.tokens:
            return ""

        def decide(value: bytes | None) -> tuple[bytes, bool]:
            usage = _read_usage(value).add_tokens(event.id, tokens, more=more)
            return dumps(usage), usage.tokens >= most.tokens

        key = self._usage_key(payer or event.behalf, began)
        exceeded = update(self._kv, key, decide, KEPT_SECONDS)
        if not exceeded:
            return ""
        reset = self._describe_reset(self._now(), texts)
        return texts.used_up.format(allowed=texts.count_tokens(most.tokens), reset=reset)

    def describe_usage(self, who: str, role: Role, texts: Texts = ENGLISH) -> str:
        """Return what somebody has used and may use today, for people; empty without a limit."""
        most = self._rules.get_allowance(role)
        if not (most.turns or most.tokens):
            return ""
        now = self._now()
        item = self._kv.get(self._usage_key(who, now))
        usage = _read_usage(item.value if item else None)
        parts = []
        if most.turns:
            used = min(usage.turns, most.turns)
            parts.append(texts.used_part.format(used=used, most=texts.count_turns(most.turns)))
        if most.tokens:
            used = min(usage.tokens, most.tokens)
            parts.append(texts.used_part.format(used=used, most=texts.count_tokens(most.tokens)))
        reset = self._describe_reset(now, texts)
        return texts.used_today.format(parts=", ".join(parts), reset=reset)

    def _find_allowance(self, event: Event, role: Role) -> Allowance:
        """Return what may be used in a day on behalf of an event's person.

        Owners have no limit, and neither has the work that they want done, though it has no more
        rights than a member: the agent's budget bounds it. What others post to a hook of theirs has
        a member's limit.
        """
        most = self._rules.get_allowance(role)
        has_limit = bool(most.turns or most.tokens)
        if has_limit and event.has_principal and not event.hook and self._is_owner(event.behalf):
            return NO_LIMIT
        return most

    def _is_owner(self, who: str) -> bool:
        if who in LOCAL_OWNERS or who in self._rules.owners:
            return True
        person = People(self._kv, self._agent, self._rules, self._now).find_member(who)
        return person is not None and person.role == "owner"

    def _usage_key(self, who: str, at: float) -> Key:
        day = to_local(at, self._zone).date().isoformat()
        return keys.daily_allowance(self._agent, day, who)

    def _describe_reset(self, now: float, texts: Texts) -> str:
        end = find_tomorrow(now, self._zone)
        minutes = int(end - now) // 60
        time = format_clock(end, self._zone, now)
        return texts.resets.format(time=time, hours=minutes // 60, minutes=minutes % 60)


def _keep_last(recent: Mapping[str, int]) -> Mapping[str, int]:
    return dict(list(recent.items())[-RECENT:])


def _read_usage(value: bytes | None) -> DailyUsage:
    """Return the stored usage; one that is damaged counts as all used up."""
    if value is None:
        return DailyUsage()
    try:
        return _USAGE.read(value)
    except ValueError:
        return ALL_USED
