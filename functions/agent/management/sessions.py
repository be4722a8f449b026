"""What people and programs ask about sessions: which there are, who writes there, what they cost.

The list is made from what sessions write down for the budget, so no turn writes anything for it. A
session stands in it that has asked the model since a time.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Final

from functions.agent.app import App
from functions.agent.conversation.messages import Usage
from functions.agent.safety.budget import PAGE as SCANNED
from functions.agent.safety.budget import name_period
from functions.agent.safety.session_usage import SessionUsage, read_usage
from functions.time.time_zone import DAY_SECONDS, find_midnight
from sigil.errors import UsageError
from sigil.storage.kv import keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import row

PAGE: Final = 50
DAYS: Final = 30
DAYS_MOST: Final = 400
"""What sessions wrote down is kept for so long."""
_LIMIT: Final = re.compile(r"[1-9][0-9]?", re.ASCII)
_DAYS: Final = re.compile(r"[1-9][0-9]{0,2}", re.ASCII)
_PLACE: Final = re.compile(r"([0-9]{1,12}\.[0-9]{3})~(.{1,1000})", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ListedSession:
    """A session and what it spent since a time: `tokens` as they count for the budget, and `usage`
    as the model's endpoint told of them, both with those that its memory asked for.

    `platform` is `own` for work of the agent's own. `at` is when it was last at work, and
    `answered` when its last turn ended, in seconds since 1970. `person` and `title` are empty where
    `SessionActivity` has none.
    """

    session: str
    agent: str
    platform: str
    person: str = ""
    title: str = ""
    at: float = 0.0
    answered: float = 0.0
    tokens: int = 0
    usage: Usage = Usage()
    requests: int = 0
    turns: int = 0
    calls: int = 0
    failed: int = 0

    def add(self, period: SessionUsage) -> ListedSession:
        """Return the session with what it spent in one more period, a later one than before."""
        return replace(
            self,
            person=period.by or self.person,
            title=self.title or period.title,
            at=max(period.at, self.at),
            answered=max(period.at if period.turns else 0.0, self.answered),
            tokens=self.tokens + period.tokens,
            usage=self.usage + period.usage,
            requests=self.requests + period.requests,
            turns=self.turns + period.turns,
            calls=self.calls + period.calls,
            failed=self.failed + period.failed,
        )

    @property
    def place(self) -> tuple[float, str]:
        """Return where it stands in the list, which begins with the last that was at work."""
        return -round(self.at, 3), f"{self.agent}#{self.session}"


def scan_sessions(app: App, agent: str = "", days: int = DAYS) -> list[ListedSession]:
    """Return the sessions that asked the model in the last days, whoever was at work last first:
    those of an agent, or of the root and all agents below it.
    """
    found: dict[str, ListedSession] = {}
    for key, period in _scan_usage(app, days):
        owner, _, session = key.partition("#")
        name = keys.unescape(owner)
        if agent and name != agent:
            continue
        chat = keys.unescape(session)
        known = found.get(key) or ListedSession(chat, name, chat.partition(":")[0])
        found[key] = known.add(period)
    return sorted(found.values(), key=lambda each: each.place)


def list_sessions(app: App, agent: str, query: Mapping[str, str]) -> dict[str, object]:
    """Return a page of sessions: those that the parameters of a request ask for. `next` is where
    the following page begins.

    `UsageError` EINVAL for parameters that name no page.
    """
    known = {"platform", "days", "after", "limit"}
    if not set(query) <= known:
        raise _refuse(f"ask by agent, {', '.join(sorted(known))}")
    limit = query.get("limit", str(PAGE))
    days = query.get("days", str(DAYS))
    after = _PLACE.fullmatch(query["after"]) if query.get("after") else None
    if not _LIMIT.fullmatch(limit) or int(limit) > PAGE:
        raise _refuse(f"limit is a number from 1 to {PAGE}")
    if not _DAYS.fullmatch(days) or int(days) > DAYS_MOST:
        raise _refuse(f"days is a number from 1 to {DAYS_MOST}")
    if query.get("after") and not after:
        raise _refuse("after is `next` of the page before")
    found = scan_sessions(app, agent, int(days))
    platform = query.get("platform")
    if platform:
        found = [each for each in found if each.platform == platform]
    if after:
        place = (-float(after[1]), after[2])
        found = [each for each in found if each.place > place]
    shown = found[: int(limit)]
    answer: dict[str, object] = {"items": [row(each) for each in shown]}
    if len(found) > len(shown):
        at, name = shown[-1].place
        answer["next"] = f"{-at:.3f}~{name}"
    return answer


def _scan_usage(app: App, days: int) -> Iterator[tuple[str, SessionUsage]]:
    """Yield what each session (S of the keys) and its memory wrote down, period by period. Where
    another version wrote as well, the larger sum counts.
    """
    begin = name_period(app.clock.now() - days * DAY_SECONDS, app.limits)
    partition = keys.session_usage(app.root, "", "").partition
    periods: dict[tuple[str, str], SessionUsage] = {}
    for sort, item in scan_all(app.kv, partition, after=begin, page=SCANNED):
        period, group = keys.split_usage(sort)
        usage = read_usage(item)
        if not group or usage is None:
            continue
        if not usage.at:
            usage = replace(usage, at=_find_beginning(period, app.zone))
        known = periods.get((period, group))
        if known is None or usage.tokens > known.tokens:
            periods[period, group] = usage
    for (_, group), usage in sorted(periods.items(), key=lambda each: each[0]):
        yield keys.session_of_group(group), usage


def _find_beginning(period: str, zone: str) -> float:
    """Return about when a period began, 0 for a name that is none: a bare sum tells no time."""
    try:
        began = datetime.fromisoformat(period)
    except ValueError:
        return 0.0
    if "T" in period:
        return began.replace(tzinfo=UTC).timestamp()
    return find_midnight(began.date(), zone)


def _refuse(message: str) -> UsageError:
    return UsageError("EINVAL", message, source="http")
