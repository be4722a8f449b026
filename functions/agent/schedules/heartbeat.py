"""A heartbeat looks from time to time whether something is new for its agent, without a model.

The scheduler's tick looks. When nothing is new, no event is put and no request is made: the time to
the next look doubles, up to a day. When something is, the agent runs, and the next look comes after
the time that its owner gave, which is the shortest. Whatever anybody writes to the agent has the
same effect (`InputNotes`).
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import inf
from typing import Final

from functions.agent.access.private_chats import PrivateChats
from functions.agent.behaviours.built_in import ON_SELF_IMPROVE
from functions.agent.conversation.messages import HEARTBEAT_TEXT
from functions.agent.memory.documents import CAPS
from functions.agent.runs.failures import has_failed_since
from functions.agent.schedules.schedule import (
    DELAY_MOST,
    HEARTBEAT,
    PERIOD_LEAST,
    SCHEDULE,
    Schedule,
    Schedules,
    make_event,
)
from functions.agent.schedules.when import When
from functions.agent.workspace.edits import list_edits
from functions.events import Event
from functions.texts.en import Texts
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import retry_conflicts

MEMORY_OF_THINGS: Final = "things"
FILES: Final = "files"
"""What people change in the agent's own workspace. What the agent writes there itself is not it."""
NOTED_SECONDS: Final = PERIOD_LEAST
"""That somebody writes to an agent is told to its heartbeat at most once in so many seconds."""
_UNITS: Final[Mapping[str, float]] = {
    **dict.fromkeys(("s", "sec", "second", "seconds", "sekunden", "秒"), 1.0),
    **dict.fromkeys(("m", "min", "mins", "minute", "minutes", "minuten", "分", "分钟"), 60.0),
    **dict.fromkeys(("h", "hr", "hrs", "hour", "hours", "std", "stunde", "stunden"), 3_600.0),
    **dict.fromkeys(("小时", "个小时"), 3_600.0),
    **dict.fromkeys(("d", "day", "days", "tag", "tage", "天"), 86_400.0),
}
_PART: Final = re.compile(r"(\d{1,5})\s*([^\W\d_]+)\.?\s*")
_BEFORE: Final = re.compile(r"(?:every|alle|每隔|每)\s*", re.IGNORECASE)


def parse_interval(words: str) -> float:
    """Return the seconds that somebody writes as `30m`, `2 hours`, `1h 30m` or `每30分钟`; 0.0 for
    what is none, or no whole minutes from one to a day.
    """
    words = _BEFORE.sub("", words.strip(), count=1).lower()
    seconds = 0.0
    place = 0
    while place < len(words):
        part = _PART.match(words, place)
        if not part or part[2] not in _UNITS:
            return 0.0
        seconds += int(part[1]) * _UNITS[part[2]]
        place = part.end()
    fits = PERIOD_LEAST <= seconds <= DELAY_MOST and not seconds % 60.0
    return seconds if fits else 0.0


def make_heartbeat(
    every: float,
    *,
    session: str,
    by: str,
    now: float,
    zone: str,
    known: Mapping[str, str],
    texts: Texts,
    text: str = HEARTBEAT_TEXT,
) -> Schedule:
    """Return a heartbeat that looks every so many seconds, and tells a chat what comes of it.

    It is on behalf of `by`. What is `known` by now is not new to it.
    """
    return Schedule(
        id=HEARTBEAT,
        heartbeat=True,
        delay=every,
        when=When(kind="every", every=every, zone=zone),
        session=session,
        by=by,
        since=now,
        text=text,
        name=texts.heartbeat_name,
        language=texts.code,
        known=known,
    )


def look(
    kv: KV,
    schedule: Schedule,
    agent: str,
    now: float,
    *,
    name: str = "",
    versions: Mapping[str, str] | None = None,
) -> tuple[Schedule, list[Event]]:
    """Return what becomes of a heartbeat that looks now, and the events to put.

    `name` is that of a run by hand: its look moves no time unless it finds something. What was
    found stays news until a run of it has ended well. `versions` are those of what it watches,
    where they were just read.
    """
    if schedule.is_running(now):
        skipped = replace(schedule, skipped=schedule.skipped + 1, due=schedule.find_next(now))
        return (schedule if name else skipped), []
    every = schedule.when.every
    # what is said in another chat is about the files of that chat
    chats = PrivateChats(kv, keys.root_of(agent), lambda: now)
    uses_files = not schedule.session or chats.owns(schedule.by, schedule.session)
    if schedule.behaviour == ON_SELF_IMPROVE:
        # whatever else is new is no reason to look for what to do better
        has_failed = has_failed_since(kv, agent, schedule.started or schedule.since)
        news: Sequence[str] = ["runs of yours have failed"] if has_failed else []
    else:
        news = find_news(kv, agent, schedule.known, versions, uses_files=uses_files)
    if not news:
        delay = min(2 * max(schedule.delay, every), DELAY_MOST)
        later = replace(schedule, delay=delay, asleep=0.0, due=now + delay)
        return (schedule if name else later), []
    note = f"New since your last look: {'; '.join(news)}."
    event = make_event(schedule, agent, name or f"{round(schedule.due * 1000)}", now, note)
    changed = replace(
        schedule,
        runs=schedule.runs + 1,
        delay=every,
        asleep=0.0,
        due=now + every,
    )
    return changed.begin_run(event.id, now), [event]


def look_by_hand(
    kv: KV, put: Callable[[Event], None], wanted: Schedule, agent: str, now: float
) -> None:
    """Look now whether something is new, and put the event of a run when it is. That no time is
    moved else is what tells it from a look of the tick.

    `wanted` is what looks where the heartbeat is off.
    """
    schedules = Schedules(kv, agent)

    def attempt() -> None:
        item = kv.get(keys.wakeup(agent, HEARTBEAT))
        known = SCHEDULE.read(item.value) if item else wanted
        is_on = not known.is_over and not known.paused
        changed, events = look(
            kv, known if is_on else wanted, agent, now, name=f"now-{now * 1000:.0f}"
        )
        for event in events:
            put(event)
        if events and is_on and item:
            schedules.write(item, changed, moved=True)

    retry_conflicts(attempt)


def find_news(
    kv: KV,
    agent: str,
    known: Mapping[str, str],
    versions: Mapping[str, str] | None = None,
    *,
    uses_files: bool = True,
) -> Sequence[str]:
    """Return in words what is new for an agent beside what it has seen. `uses_files` says that its
    runs use its own workspace.

    It takes two requests to the store: one for its mailbox, where hooks leave what they get as
    well, and one for all versions, unless they were just read.
    """
    scope = keys.escape(agent)
    found = []
    if kv.scan(keys.mail(scope, 0.0, "").partition, limit=1):
        found.append("mail that you have not read")
    if versions is None:
        versions = read_versions(kv, agent)
    names = sorted({*versions, *known})
    changed = [name for name in names if versions.get(name) != known.get(name)]
    documents = [name for name in changed if name not in (MEMORY_OF_THINGS, FILES)]
    if documents:
        found.append(f"documents of yours have changed ({', '.join(documents)})")
    if MEMORY_OF_THINGS in changed:
        found.append("you remember something else than before")
    if FILES in changed and uses_files:
        found.append("people have changed files of your workspace")
    return found


def read_versions(kv: KV, agent: str, until: float = inf) -> Mapping[str, str]:
    """Return the versions of what a heartbeat watches, by name, without what is not there.

    Of files, what people changed after `until` (seconds since 1970) does not count.
    """
    watched = list_watched(agent)
    return find_versions(watched, get_many(kv, list(watched.values())), until)


def find_versions(
    watched: Mapping[str, Key], items: Sequence[Item | None], until: float = inf
) -> Mapping[str, str]:
    """Return the versions of the items that were read of what is watched, by name."""
    found = {}
    for name, item in zip(watched, items, strict=True):
        if name == FILES:
            version = _find_version_of_files(item, until)
        else:
            version = item.version if item else ""
        if version:
            found[name] = version
    return found


def _find_version_of_files(item: Item | None, until: float) -> str:
    """Return what tells the last change of people from those before, empty where there is none."""
    times = [edit.at for edit in list_edits(item, 0.0) if edit.at <= until]
    return repr(max(times)) if times else ""


def list_watched(agent: str) -> Mapping[str, Key]:
    """Return the items whose change is news to an agent, by name.

    Whatever else it is to look after, such as tasks, needs an item here that changes with it: all
    of them are one request to the store.
    """
    scope = keys.escape(agent)
    documents = {name: keys.document(scope, name) for name in CAPS}
    return {
        **documents,
        MEMORY_OF_THINGS: keys.thing_totals(scope),
        FILES: keys.workspace_record(scope),
    }


@dataclass(slots=True)
class InputNotes:
    """The agents that somebody has written to, as this process knows.

    A turn only notes it here. Between turns the heartbeats of these agents are told, each at most
    once a minute, so that no message waits for the store.
    """

    monotonic: Callable[[], float] = time.monotonic
    _noted: set[str] = field(default_factory=set)
    _told: dict[str, float] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, agent: str) -> None:
        """Note that somebody wrote to an agent."""
        with self._lock:
            self._noted.add(agent)

    def tell_heartbeats(self, kv: KV, now: float) -> None:
        """Let the heartbeats of all that were noted look as often as they were told to again."""
        at = self.monotonic()
        with self._lock:
            told = [name for name in self._noted if at >= self._told.get(name, at)]
            self._noted.difference_update(told)
            self._told.update(dict.fromkeys(told, at + NOTED_SECONDS))
        for agent in told:
            Schedules(kv, agent).note_input(now)
