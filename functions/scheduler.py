"""The scheduled function: each tick removes what has expired, and enqueues what is due."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from typing import Final

from functions import log
from functions.agent.agents.lifecycle import list_unsettled
from functions.agent.ledger.entry import Entry
from functions.agent.schedules.tick import LATE_MOST, restore_marks, wake_agents
from functions.queues import dead_letters
from functions.queues.base import Queue
from functions.settings import Settings
from functions.time.clock import SYSTEM
from functions.time.time_zone import DEFAULT
from functions.wiring import open_ingress_queue
from sigil.catalog.expiry import sweep
from sigil.errors import SigilError
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.update import update
from sigil.wiring import Stores, open_stores

TICK_SECONDS: Final = 60.0
"""Seconds between two ticks at most."""
WAKE_SECONDS: Final = 10.0
"""Seconds between two looks of a server at what is due: another process may have made it so."""
HANDS: Final = 16
"""So many requests at once a tick on AWS makes, where each takes milliseconds."""
CLOCK_SECONDS: Final = 60.0
"""The time is noted so many seconds after it was noted last."""
DAY_SECONDS: Final = 86_400.0
_AGAIN = re.compile(r"~\d{5,}$")
"""What an earlier day put behind the id of a consolidation."""


@dataclass(frozen=True, slots=True)
class Tick:
    """What a tick did: it removed `swept` items, files and capabilities, and put `queued` events.

    `due`: when the next tick has something to do, in seconds since the epoch, at the latest
    `TICK_SECONDS` from now.
    """

    swept: int
    queued: int
    due: float


def tick(
    stores: Stores,
    queue: Queue,
    agent: str,
    clock: Callable[[], float] = time.time,
    *,
    late_most: float = LATE_MOST,
    zone: str = DEFAULT,
    hands: int = 1,
    team_idle: float = 60.0,
    look: Callable[[float], object] | None = None,
) -> Tick:
    """Remove expired items, files and capabilities, and enqueue what is due of `agent`, a root, and
    its children, unless it was due more than `late_most` seconds ago.

    Roots may share a store, but not always a queue. `zone` is the time zone of what was spent in a
    day. So many `hands` enqueue at once. A teammate that was idle for `team_idle` seconds has shut
    down. `look` is called once a day with the time, after everything else.
    """
    woken = wake(stores, queue, agent, clock, late_most=late_most, hands=hands)
    gone = sweep(stores.kv, clock, stores.artifacts)
    if gone:
        log.note("swept", **gone)
    looks = look_after_team(stores, queue, agent, clock(), team_idle)
    again = settle_proposals(stores.kv, queue, agent, clock())
    if again:
        log.note("proposals settled", count=again)
    again += looks
    if _begin_day(stores.kv, f"consolidations:{agent}", clock()):
        found = restore_wakeups(stores.kv, agent, clock())
        if found:
            log.note("wakeups found again", count=found)
        fold_spending(stores.kv, agent, clock(), zone)
        ended = end_agents(stores, agent, clock)
        if ended:
            log.note("agents ended", count=ended)
        versions = sweep_files(stores, agent, clock)
        if versions:
            log.note("old versions of files removed", count=versions)
        versions = sweep_documents(stores, agent, clock)
        if versions:
            log.note("old versions of documents removed", count=versions)
        retried = retry_consolidations(stores.kv, queue, agent, clock())
        again += retried
        if retried:
            log.note("consolidations queued again", count=retried)
        if look:
            look(clock())
    swept = sum(gone.get(kind, 0) for kind in ("items", "files", "expired"))
    return Tick(swept, woken.queued + again, min(woken.due, clock() + TICK_SECONDS))


def wake(
    stores: Stores,
    queue: Queue,
    agent: str,
    clock: Callable[[], float] = time.time,
    *,
    late_most: float = LATE_MOST,
    hands: int = 1,
) -> Tick:
    """Enqueue the wakeups that are due, and nothing else.

    After the clock was ahead, what is due next is first set right by the clock as it is now.
    """
    now = clock()
    if _is_clock_behind(stores.kv, agent, now):
        found = restore_wakeups(stores.kv, agent, now)
        log.note("the clock was set back", wakeups=found)
        stores.kv.put(_clock_key(agent), b"%.3f" % now)
    woken = wake_agents(stores.kv, queue.put, agent, now, late_most=late_most, hands=hands)
    if woken.queued:
        log.note("wakeups queued", count=woken.queued)
    return Tick(0, woken.queued, min(woken.due, now + TICK_SECONDS))


def _is_clock_behind(kv: KV, agent: str, now: float) -> bool:
    """Return whether wakeups were looked at by a clock that was ahead; note the time else.

    It is noted before anything is woken, so that no wrong time gets into a record without it, and
    seldom: what a clock is ahead less than that is over as soon.
    """
    key = _clock_key(agent)
    item = kv.get(key)
    last = _read_seconds(item.value) if item else None
    if last is not None and last > now + CLOCK_SECONDS:
        return True
    if last is None or now - last >= CLOCK_SECONDS:
        kv.put(key, b"%.3f" % now)
    return False


def _clock_key(agent: str) -> Key:
    return keys.daily_task(f"clock:{agent}")


def _read_seconds(value: bytes) -> float | None:
    try:
        return float(value)
    except ValueError:  # a damaged time is no reason to wait
        return None


def restore_wakeups(kv: KV, agent: str, now: float) -> int:
    """Put back into the index of what is due what it lacks, and return the count."""
    return restore_marks(kv, [agent, *list_unsettled(kv, agent, now)], now)


def fold_spending(kv: KV, agent: str, now: float, zone: str) -> int:
    """Sum up what was spent on the days that are over, and return how many days that were."""
    # once a day; the tick of every other minute needs nothing of it
    from functions.agent.runs.spending import Spending

    names = (agent, *list_unsettled(kv, agent, now))
    return sum(Spending(kv, each, zone).fold(now) for each in names)


def settle_proposals(kv: KV, queue: Queue, agent: str, now: float) -> int:
    """Put the events again of what owners have decided on and nobody has done, and return their
    count.
    """
    if not kv.scan(keys.unsettled_proposal(agent, "").partition, limit=1):
        return 0
    # mostly nothing waits, and the tick then needs nothing of it
    from functions.agent.policy import settlement

    return settlement.settle_proposals(kv, queue.put, agent, now)


def look_after_team(stores: Stores, queue: Queue, agent: str, now: float, team_idle: float) -> int:
    """Release the tasks on which nobody works any more, wake teammates for what a crash has told
    nobody of, and return how many were woken.
    """
    if not stores.kv.scan(keys.team_member(agent, "").partition, limit=1):
        return 0
    # mostly there is no team, and the tick then needs nothing of it
    from functions.agent.management.ledger import note_entries
    from functions.agent.session.store import Sessions
    from functions.agent.team.tick import tick_team

    sessions = Sessions(stores.kv, stores.artifacts)

    def note(name: str, entries: Sequence[Entry], event: str) -> None:
        by = "runtime:team"
        note_entries(stores.kv, sessions, name, entries, now=now, by=by, event=event)

    return tick_team(stores.kv, queue.put, agent, now, idle=team_idle, note=note)


def sweep_files(stores: Stores, agent: str, clock: Callable[[], float]) -> int:
    """Remove what the workspaces of an agent keep no longer, and return how many versions went."""
    # once a day, as above
    from functions.agent.workspace.sweep import sweep_workspaces

    return sweep_workspaces(stores.kv, stores.artifacts, agent, clock)


def sweep_documents(stores: Stores, agent: str, clock: Callable[[], float]) -> int:
    """Remove the earlier versions that the knowledge bases of an agent and of those below it keep
    no longer, and return how many these were.
    """
    # once a day, as above
    from functions.agent.knowledge.sweep import sweep_knowledge
    from functions.agent.runs.tree import list_agents

    return sweep_knowledge(stores.kv, agent, list_agents(stores.kv, agent), clock)


def end_agents(stores: Stores, agent: str, clock: Callable[[], float]) -> int:
    """Archive the temporary agents below a root that were idle for long, go on with what was
    interrupted of purging others, and return how many these were.
    """
    # once a day, as above
    from functions.agent.agents.lifecycle import archive_idle
    from functions.agent.runs.run import find_last_end
    from functions.agent_data import finish_purges

    archived = archive_idle(stores.kv, agent, clock(), partial(find_last_end, stores.kv))
    purged = finish_purges(stores.kv, stores.artifacts, agent, replace(SYSTEM, now=clock))
    return len(archived) + len(purged)


def look_at_models(settings: Settings, kv: KV, now: float) -> int:
    """Send an alert for each of the agent's models that ended or ends soon, and return their count.

    Nothing of it may end a tick.
    """
    # once a day, as above
    from functions.model_ends import tell_model_ends
    from functions.wiring import open_notifier

    try:
        return tell_model_ends(settings, kv, open_notifier(settings), now)
    except SigilError as problem:
        log.note("models not looked at", code=problem.code)
        return 0


def retry_consolidations(kv: KV, queue: Queue, agent: str, now: float) -> int:
    """Enqueue the consolidations again that were given up a day ago or earlier, and return their
    count.

    Otherwise the memory of a chat in which nobody writes any more would lack what it said last,
    because its model was away for two hours. The id names the day, so that a crash in between
    enqueues none twice.
    """
    queued = 0
    for letter in list(dead_letters.scan_dead_letters(kv)):
        event = letter.event
        if event is None or not event.is_consolidation or 0 <= now - letter.at < DAY_SECONDS:
            continue
        if event.agent.partition(".")[0] != agent:
            continue
        identity = f"{_AGAIN.sub('', event.id)}~{int(now // DAY_SECONDS):05d}"
        queue.put(replace(event, id=identity, at=now))
        dead_letters.drop(kv, letter)
        queued += 1
    return queued


def _begin_day(kv: KV, task: str, now: float) -> bool:
    """Return whether a task of once a day is due, as after a clock was set back, and note that it
    was begun.
    """

    def decide(value: bytes | None) -> tuple[bytes | None, bool]:
        last = _read_seconds(value) if value else None
        if last is not None and 0 <= now - last < DAY_SECONDS:
            return None, False
        return b"%.3f" % now, True

    return update(kv, keys.daily_task(task), decide)


@lru_cache(maxsize=1)
def _open_parts() -> tuple[Stores, Queue, Settings]:
    log.start()
    settings = Settings.read()
    return open_stores(settings), open_ingress_queue(settings), settings


def handler(event: object, context: object) -> dict[str, int]:
    """Run one tick; AWS invokes this on a schedule."""
    stores, queue, settings = _open_parts()
    done = tick(
        stores,
        queue,
        settings.agent,
        late_most=settings.catch_up_seconds,
        zone=settings.timezone,
        hands=HANDS,
        team_idle=settings.team_idle,
        look=partial(look_at_models, settings, stores.kv),
    )
    return {"swept": done.swept, "queued": done.queued}
