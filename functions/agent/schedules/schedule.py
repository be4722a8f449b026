"""A schedule says when an agent is woken, and for what; its record also says how that went.

The times at which something is due stand in an index, one item for each schedule, which is only
ever made from the records. A schedule that is changed gets its new item first, then the record is
written, then the item once more: so a scheduler that meets the item in between, and takes it for an
old one, deletes none that counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Final

import orjson
from msgspec import Meta

from functions.agent.agents.bindings import note_agent, parse_binding
from functions.agent.agents.record import join_name
from functions.agent.behaviours.chain import MODEL, NAME
from functions.agent.schedules.when import When, find_next, list_next
from functions.events import OWN, Event, Sender, order_of
from functions.time.time_zone import is_known
from sigil.errors import Refused, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.kv import ABSENT, KV, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import DELETE, Change, retry_conflicts, scan_all, update_item
from sigil.storage.stored import NewerFormat, Shape, Stored, damaged, dumps, later

if TYPE_CHECKING:
    from functions.agent.shares import Holder

SCHEDULES_MOST: Final = 64
"""An agent has so many schedules that are not over."""
FREED: Final = (
    "`cancel-wakeup` or `/wakeups drop N` ends one, in its chat; owners end everybody's, which"
    " `/wakeups all` and `uncaged wake list` show"
)
"""Who makes room for a schedule, and how."""
TEXT_CHARACTERS: Final = 4_000
NAME_CHARACTERS: Final = 60
PERIOD_LEAST: Final = 60.0
"""Seconds between two times of a schedule at least."""
FAILURES_MOST: Final = 5
"""After so many failures in a row a schedule is paused."""
RUN_SECONDS_MOST: Final = 6 * 3_600.0
"""A run that nobody has heard of for so long is over, whatever became of it."""
KEPT_SECONDS: Final = 30 * 86_400.0
"""Seconds for which the outcome of a run is kept, and a reminder that is over."""
SETTLED_SECONDS: Final = 120.0
"""What is due so much later is not looked at by anybody yet, whose clock is about right."""
HEARTBEAT: Final = sha256(b"heartbeat").hexdigest()[:12]
"""The id of an agent's heartbeat: it has one at most."""
OWN_SESSION: Final = f"{OWN}:main"
"""The session in which an agent does what its heartbeat finds."""
DELAY_MOST: Final = 86_400.0
"""Seconds between two looks of a heartbeat that finds nothing at most."""
ASLEEP_MOST: Final = 7 * 86_400.0
"""A heartbeat sleeps for so many seconds at most."""
SENDER: Final = "runtime:scheduler"
BY_HAND: Final = "paused"
NOBODY: Final = "nobody may"
FAILED: Final = "failures"
WELL: Final = "nothing failed"
"""Why a run was left out that looks for what to do better."""
_ID: Final = re.compile(r"[0-9a-f]{12}", re.ASCII)
Count = Annotated[int, Meta(ge=0, lt=10**15)]
Time = Annotated[float, Meta(ge=0, lt=1e12)]


@dataclass(frozen=True, slots=True)
class Run(Stored):
    """What became of a run: its event, when it was due and when it ended (seconds since 1970).

    `outcome` is `said`, `silent`, `failed` or `skipped`. The `reason` is why it failed or was
    skipped, or what holds back what it had to say. `tokens` are those that it used.
    """

    event: str
    due: Time
    ended: Time
    outcome: str
    reason: str = ""
    tokens: Count = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Words(Stored):
    """What a schedule says: when it is, what for and how; its fields are those of `Schedule`."""

    when: When
    text: str
    say: str
    name: str
    behaviour: str
    model: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Schedule(Stored):
    """A schedule of an agent.

    `text` is what the agent is told to do, or `say` what is said without a model. `session` is the
    chat in which it was wanted and where its outcome is said, `by` the person on whose behalf it
    is, `language` that of their app. `number` is its name in that chat. `since` is when it was made
    and `due` when it is due next, in seconds since 1970; `due` is 0 when it is over. `paused` says
    why nothing happens at its times, empty when something does.

    `collects` says that it ends quiet hours, and belongs to no list. `behaviour` is the one that
    goes about `text`, empty for `on_wakeup`, and `model` the model that does, empty for that of the
    behaviour.

    A `heartbeat` runs only when a look finds something new. `delay` are the seconds to its next
    look, and it does not look before `asleep` (seconds since 1970). `known` has the versions of
    what it has seen (see `functions/agent/schedules/heartbeat.py`).

    `snoozed` is the id of the reminder that it says once more. `done` is when somebody said that
    what it reminds of is done (seconds since 1970).

    `edits` counts how often what it says was changed, and `earlier` is what it said before the
    agent changed it last.

    `runs` counts how often it came about, `skipped` how often a run was still on, `missed` how
    often nobody was there; `failures` counts the runs that failed in a row. `running` is the event
    of the run that is on, which began at `started`, and `last` what became of the last one.
    """

    id: str
    when: When
    session: str
    by: str
    since: Time
    due: Time = 0.0
    text: str = ""
    say: str = ""
    name: str = ""
    model: str = ""
    language: str = ""
    number: Count = 0
    paused: str = ""
    runs: Count = 0
    skipped: Count = 0
    missed: Count = 0
    failures: Count = 0
    running: str = ""
    started: Time = 0.0
    last: Run | None = None
    collects: bool = False
    heartbeat: bool = later(False)
    snoozed: str = later("")
    delay: Time = later(0.0)
    asleep: Time = later(0.0)
    known: Mapping[str, str] = later(default_factory=dict, hash=False)
    behaviour: str = later("")
    done: Time = later(0.0)
    edits: Count = later(0)
    earlier: Words | None = later(None)

    @property
    def version(self) -> int:
        """Return the number of what it says now: 1 as it was made, one more with each change."""
        return self.edits + 1

    @property
    def words(self) -> Words:
        """Return what it says."""
        return Words(
            when=self.when,
            text=self.text,
            say=self.say,
            name=self.name,
            behaviour=self.behaviour,
            model=self.model,
        )

    @property
    def is_over(self) -> bool:
        """Return whether it has no more times."""
        return not self.due

    @property
    def is_extra(self) -> bool:
        """Return whether it does not count among those that an agent may have."""
        return self.collects or self.heartbeat

    @property
    def own_session(self) -> str:
        """Return the session in which the agent does what it is told to do."""
        return OWN_SESSION if self.heartbeat else f"{OWN}:w-{self.id}"

    @property
    def title(self) -> str:
        """Return what it is called, or what it says."""
        return self.name or one_line(self.say or self.text, NAME_CHARACTERS)

    def is_running(self, now: float) -> bool:
        """Return whether a run is on."""
        # a beginning in the future is that of a clock that was wrong
        return bool(self.running) and abs(now - self.started) < RUN_SECONDS_MOST

    def find_sleep(self, now: float) -> float:
        """Return until when a heartbeat does not look, 0.0 where nothing keeps it from looking.

        A time that is too far away is that of a clock that was wrong.
        """
        return self.asleep if self.asleep - now <= ASLEEP_MOST else 0.0

    def begin_run(self, event: str, now: float) -> Schedule:
        """Return it with a run that is on, unless that has ended already.

        A tick that crashed between the event and the record is repeated, and by then the run may
        have come to its end: nobody would say so again.
        """
        if self.last and self.last.event == event:
            return self
        return replace(self, running=event, started=now)

    def list_coming(self, count: int = 3) -> tuple[float, ...]:
        """Return its next times, the first of which is when it is due."""
        if self.is_over or self.paused:
            return ()
        if self.heartbeat:  # its later looks depend on what this one finds
            return (self.due,)
        left = self.when.times - self.runs if self.when.times else count
        rest = list_next(self.when, self.due, began=self.since, count=count - 1)
        return (self.due, *rest)[: max(min(left, count), 1)]

    def find_next(self, after: float) -> float:
        """Return its next time after another one, 0.0 when there is none any more."""
        if self.heartbeat:
            return max(after + max(self.delay, self.when.every), self.find_sleep(after))
        if self.when.times and self.runs >= self.when.times:
            return 0.0
        return find_next(self.when, after, began=self.since) or 0.0


SCHEDULE: Final = Shape[Schedule](Schedule)
RUN: Final = Shape[Run](Run)


def make_id(when: When, text: str, say: str, session: str) -> str:
    """Return the id of a schedule: the same one is made once, however often it is asked for."""
    parts = [orjson.loads(dumps(when)), text, say, session]
    return sha256(orjson.dumps(parts)).hexdigest()[:12]


def is_schedule_id(text: str) -> bool:
    """Return whether a schedule can have this id."""
    return _ID.fullmatch(text) is not None


def make_event(schedule: Schedule, agent: str, name: str, now: float, note: str = "") -> Event:
    """Return the event of a run, `wakeup:AGENT:ID:NAME`: what there is to do, or to say at once.

    `name` is the time at which it was due, in milliseconds, or another name of a run that was asked
    for. `note` is said below the schedule's own words. Its data says whose schedule it is of, since
    what is said goes to the root.
    """
    data: dict[str, Json] = {
        "wakeup": schedule.id,
        "owner": agent,
        "due": int(name) / 1000 if name.isdecimal() else now,
        "from": f"wakeup {schedule.title}",
    }
    text = "\n\n".join(filter(None, (schedule.say or schedule.text, note)))
    root = keys.root_of(agent)
    if schedule.collects:
        data["collects"] = True
    if not schedule.say:
        data["home"] = schedule.session
        given = {NAME: schedule.behaviour, MODEL: schedule.model}
        data.update({field: value for field, value in given.items() if value})
    return Event(
        id=f"wakeup:{agent}:{schedule.id}:{name}",
        kind="say" if schedule.say else "wakeup",
        # what is said goes to whoever answers in the chat by then
        agent=root if schedule.say else agent,
        session=schedule.session if schedule.say else schedule.own_session,
        sender=Sender(SENDER),
        text=text,
        at=now,
        order=order_of(min(schedule.due or now, now), int(schedule.id, 16)),
        private=True,
        language=schedule.language,
        by=schedule.by,
        data=data,
    )


def make_notice(schedule: Schedule, agent: str, name: str, now: float, text: str) -> Event:
    """Return the event that tells the chat of a schedule what became of it."""
    event = make_event(replace(schedule, say=text, text=""), agent, name, now)
    return replace(event, data={"from": f"wakeup {schedule.title}"})


def tell_nobody() -> None:
    """Do nothing: no scheduler waits."""


def list_agents_of_chat(
    kv: KV, agent: str, session: str, known: Sequence[str] | None = None
) -> tuple[str, ...]:
    """Return the full names of the agents that may have something scheduled in a chat, `agent`
    first. `known` are the short names of those that the chat's binding names, where it was read.
    """
    root = keys.root_of(agent)
    if known is None:
        known = parse_binding(kv.get(keys.chat_binding(root, session))).known_agents
    return tuple(dict.fromkeys((agent, root, *(join_name(root, name) for name in known))))


class Schedules:
    """The schedules of one agent, `agent` by its full name; `moved` is called when something is due
    at another time than before.
    """

    def __init__(self, kv: KV, agent: str, moved: Callable[[], None] = tell_nobody) -> None:
        self._kv = kv
        self.agent = agent
        self._moved = moved

    def scan(self) -> Iterator[Schedule]:
        """Yield all schedules that this version can read, those that are over as well."""
        for _, item in scan_all(self._kv, keys.wakeup(self.agent, "").partition):
            with suppress(ValueError, NewerFormat):
                yield SCHEDULE.read(item.value)

    def list_of_chat(self, session: str = "") -> list[Schedule]:
        """Return those that are not over, of a chat or of all of them, by number."""
        found = [each for each in self.scan() if not each.is_over and not each.collects]
        chosen = [each for each in found if session in ("", each.session)]
        return sorted(chosen, key=lambda each: (each.session, each.number, each.since))

    def find(self, id: str) -> Schedule | None:
        """Return the schedule of an id, None when there is none."""
        item = self._kv.get(keys.wakeup(self.agent, id))
        return SCHEDULE.read(item.value) if item else None

    def plan(self, schedule: Schedule) -> Schedule:
        """Return a new schedule with its id and its first time; `UsageError` EINVAL for one that
        cannot be.
        """
        _require_sensible(schedule)
        planned = replace(
            schedule,
            id=make_id(schedule.when, schedule.text, schedule.say, schedule.session),
            due=schedule.find_next(schedule.since),
        )
        if planned.is_over:
            raise UsageError("EINVAL", "that time is over", source="schedule")
        return planned

    def add(self, schedule: Schedule, holder: Holder | None = None) -> tuple[Schedule, bool]:
        """Store a new schedule and return it, or the one that is there already for the same text,
        time and chat; the second value says whether it is new.

        The `holder` wants it, without one an owner on the machine. `UsageError` EINVAL for one
        that cannot be; `PlacesTaken` when there is no place for it.
        """
        wanted = self.plan(schedule)

        def store() -> tuple[Schedule, bool]:
            schedule = wanted
            item, binding = get_many(
                self._kv,
                [
                    keys.wakeup(self.agent, schedule.id),
                    keys.chat_binding(keys.root_of(self.agent), schedule.session),
                ],
            )
            found = _read(item) if item else None
            while found and found.edits and not _is_same(found, schedule):
                # it was changed since, and does not say this any more
                id = sha256(schedule.id.encode()).hexdigest()[: len(schedule.id)]
                schedule = replace(schedule, id=id)
                item = self._kv.get(keys.wakeup(self.agent, id))
                found = _read(item) if item else None
            if found and (not found.is_over or (found.runs and found.when.kind == "at")):
                # the turn that made it may have crashed, and what was said is not said again
                return found, False
            known = list(self.scan())
            if not schedule.is_extra:
                _require_place(known, holder)
            agents = parse_binding(binding).known_agents
            number = self._find_number(schedule.session, known, agents)
            made = replace(schedule, number=number)
            self.write(item, made, moved=True)
            if holder and not schedule.is_extra:
                self._require_own_place(made, holder)
            return made, True

        return retry_conflicts(store)

    def _require_own_place(self, made: Schedule, holder: Holder) -> None:
        """Take a new schedule back and raise `PlacesTaken` where others have taken its place at the
        same moment: of several that are added at once each sees all that came before it.
        """
        try:
            _require_place([each for each in self.scan() if each.id != made.id], holder)
        except Refused:
            self.drop(made.id)
            raise

    def set_heartbeat(self, schedule: Schedule) -> Schedule:
        """Store a heartbeat of the agent, in place of the one that it had, and return it.

        `UsageError` EINVAL for one that cannot be.
        """
        _require_sensible(schedule)
        schedule = replace(schedule, due=schedule.find_next(schedule.since))

        def store() -> Schedule:
            item = self._kv.get(keys.wakeup(self.agent, HEARTBEAT))
            found = _read(item) if item else None
            if found and found.session == schedule.session:
                made = replace(schedule, number=found.number)
            else:
                number = self._find_number(schedule.session, list(self.scan()))
                made = replace(schedule, number=number)
            if found:
                made = replace(made, running=found.running, started=found.started, last=found.last)
                made = replace(made, edits=found.edits + (made.words != found.words))
            settled = made.due > schedule.since + SETTLED_SECONDS
            self.write(item, made, moved=True, settled=settled)
            if found and found.due not in (0.0, made.due):
                self._kv.delete(self.key_of_due(found))
            return made

        return retry_conflicts(store)

    def _find_number(
        self, session: str, known: Sequence[Schedule], agents: Sequence[str] | None = None
    ) -> int:
        """Return the number of a new schedule in a chat, where the agent has those `known`; another
        agent's has another one. The chat then knows that the agent has to do with it.
        """
        root = keys.root_of(self.agent)
        there = list(known)
        for name in list_agents_of_chat(self._kv, self.agent, session, agents)[1:]:
            there += Schedules(self._kv, name).scan()
        if self.agent != root:
            short = self.agent.rpartition(".")[2]
            if agents is None or short not in agents:
                note_agent(self._kv, root, session, short)
        return max((each.number for each in there if each.session == session), default=0) + 1

    def find_heartbeat(self) -> Schedule | None:
        """Return the heartbeat of the agent, None when it is off."""
        found = self.find(HEARTBEAT)
        return None if found is None or found.is_over else found

    def note_input(self, now: float) -> None:
        """Let the heartbeat look as often as it was told to again: somebody has written."""

        def wake(known: Schedule) -> Schedule:
            every = known.when.every
            if known.is_over or known.paused:
                return known
            due = max(min(known.due, now + every), known.find_sleep(now))
            return replace(known, delay=min(known.delay, every), due=due)

        self._change(HEARTBEAT, wake)

    def sleep_until(self, until: float, now: float) -> Schedule | None:
        """Let the heartbeat look at this time, and neither earlier nor because somebody writes.

        Mail goes on to wake the agent. Returns the heartbeat, None when it is off.
        """

        def sleep(known: Schedule) -> Schedule:
            if known.is_over:
                return known
            asleep = max(until, now + PERIOD_LEAST)
            return replace(known, asleep=asleep, due=asleep, delay=known.when.every)

        found = self._change(HEARTBEAT, sleep)
        return None if found is None or found.is_over else found

    def pause(self, id: str, why: str = BY_HAND) -> Schedule | None:
        """Let nothing happen at its times until it is resumed; None when there is none."""
        if self._is_gone(id):
            return None
        return self._change(id, lambda known: replace(known, paused=why))

    def resume(self, id: str, now: float) -> Schedule | None:
        """Go on with a schedule from now on; what was missed meanwhile is not made up for."""

        def go_on(known: Schedule) -> Schedule:
            if not known.paused:
                return known
            return replace(known, paused="", failures=0, due=known.find_next(now))

        if self._is_gone(id):
            return None
        return self._change(id, go_on)

    def rename(self, id: str, name: str) -> Schedule | None:
        """Call a schedule by another name, or by its text if that is empty."""
        return self._change(id, lambda known: replace(known, name=name))

    def drop(self, id: str) -> Schedule | None:
        """Delete a schedule and return it; None when there is none."""

        def decide(item: Item | None) -> tuple[Change, Schedule | None]:
            known = _read(item) if item else None
            if not known or known.is_over:
                return None, None
            # the record tells whose the session is in which the work was done
            ended = replace(known, due=0.0, last=None)
            return (dumps(ended) if known.text else DELETE), known

        dropped = update_item(self._kv, keys.wakeup(self.agent, id), decide).answer
        if dropped:
            self._kv.delete(self.key_of_due(dropped))
        return dropped

    def note_run(self, id: str, run: Run, seen: Mapping[str, str] | None = None) -> Schedule | None:
        """Write down what became of a run, and return the schedule; None when it is not there.

        `seen` are the versions that are no news to a heartbeat from now on.

        It pauses when the run was one failure too many. Writing the same down again changes
        nothing.
        """
        self.keep_run(id, run)

        def end(known: Schedule) -> Schedule:
            if known.last and replace(known.last, ended=run.ended) == run:
                return known
            failures = known.failures
            paused = known.paused
            if run.outcome == "failed":
                failures += 1
            elif run.outcome != "skipped":
                failures = 0
            if run.reason == NOBODY:
                paused = NOBODY
            elif failures >= FAILURES_MOST:
                paused = paused or FAILED
            running = "" if known.running == run.event else known.running
            ended = replace(known, failures=failures, paused=paused, running=running, last=run)
            return ended if seen is None else replace(ended, known=seen)

        return self._change(id, end)

    def keep_run(self, id: str, run: Run) -> None:
        """Keep what became of a run for a month."""
        self._kv.put(keys.wakeup_run(self.agent, id, run.due), dumps(run), ttl=KEPT_SECONDS)

    def set_how(
        self, id: str, *, behaviour: str | None = None, model: str | None = None
    ) -> Schedule | None:
        """Let a schedule that works be gone about with another behaviour or model; empty names
        stand for those that it would have by itself.

        Returns None when there is none, and raises `UsageError` EINVAL for one that only says
        something.
        """

        def change(known: Schedule) -> Schedule:
            if known.say:
                raise UsageError(
                    "EINVAL",
                    "a reminder is said as it is, without a model",
                    suggestion="choose a schedule that works",
                    source="schedule",
                )
            chosen = known.behaviour if behaviour is None else behaviour
            return replace(known, behaviour=chosen, model=known.model if model is None else model)

        return None if self._is_gone(id) else self._change(id, change)

    def edit(self, id: str, words: Words, base: int, now: float) -> Schedule:
        """Let a schedule say something else, whose version was `base`; what became of it so far
        stays.

        `UsageError` for words that cannot be, and when it was changed since.
        """

        def change(known: Schedule) -> Schedule:
            if known.version != base:
                raise UsageError("EINVAL", f"it is at version {known.version}", source="schedule")
            edited = _say(known, words, now)
            _require_sensible(edited)
            if edited.is_over:
                raise UsageError("EINVAL", "that time is over", source="schedule")
            return replace(edited, earlier=known.words)

        return self._edit(id, change)

    def undo_edit(self, id: str, version: int, now: float) -> Schedule:
        """Let a schedule of this version say what it said before its last `edit`.

        `UsageError` when it was changed since.
        """

        def change(known: Schedule) -> Schedule:
            if known.version != version or known.earlier is None:
                raise UsageError("EINVAL", f"it is at version {known.version}", source="schedule")
            return replace(_say(known, known.earlier, now), earlier=None)

        return self._edit(id, change)

    def _edit(self, id: str, change: Callable[[Schedule], Schedule]) -> Schedule:
        before = self.find(id)
        changed = None if before is None or before.is_over else self._change(id, change)
        if before is None or changed is None:
            raise UsageError("ENOENT", "there is no such schedule", source="schedule")
        if before.due != changed.due:
            self._kv.delete(self.key_of_due(before))
        return changed

    def note_done(self, id: str, now: float) -> None:
        """Write down that what a reminder says is done."""
        self._change(id, lambda known: replace(known, done=now))

    def set_right(self, schedule: Schedule, now: float) -> bool:
        """Let a schedule be due next as the clock shows it `now`, which was ahead before; False
        where it is due then already.

        A time that was said early is not said again. What ended only by the wrong clock goes on.
        """
        due = self._find_due(_begin_again(schedule, now), now)
        last = schedule.last
        has_ended = schedule.is_over and not (last and last.ended > now)
        if not due or has_ended or (not schedule.is_over and due >= schedule.due):
            return False

        def change(known: Schedule) -> Schedule:
            if known.due != schedule.due or known.last != last:
                return known
            return replace(_begin_again(known, now), due=due)

        changed = self._change(schedule.id, change)
        return changed is not None and changed.due == due

    def _find_due(self, schedule: Schedule, now: float) -> float:
        """Return the first time of a schedule after `now` that has not come about already."""
        due = schedule.find_next(now)
        while due and not schedule.heartbeat:
            item = self._kv.get(keys.wakeup_run(self.agent, schedule.id, due))
            run = RUN.read(item.value) if item else None
            is_running = schedule.running.endswith(f":{round(due * 1000)}")
            if not is_running and (run is None or run.outcome == "skipped"):
                break
            due = schedule.find_next(due)
        return due

    def list_runs(self, id: str, most: int = 20) -> list[Run]:
        """Return what became of the last runs of a schedule, the newest first."""
        key = keys.wakeup_run(self.agent, id, 0.0)
        rows = scan_all(self._kv, key.partition, f"{keys.escape(id)}#")
        return [RUN.read(item.value) for _, item in rows][: -most - 1 : -1]

    def key_of_due(self, schedule: Schedule) -> Key:
        """Return the key of the index's item for the next time of a schedule."""
        root = keys.root_of(self.agent)
        return keys.due_wakeup(root, schedule.due, self.agent, schedule.id)

    def _is_gone(self, id: str) -> bool:
        known = self.find(id)
        return known is None or known.is_over

    def _change(self, id: str, change: Callable[[Schedule], Schedule]) -> Schedule | None:
        """Change a record, together with its item in the index where its next time moves."""

        def attempt() -> Schedule | None:
            item = self._kv.get(keys.wakeup(self.agent, id))
            if item is None:
                return None
            known = _read(item)
            changed = change(known)
            if changed.words != known.words:
                changed = replace(changed, edits=known.edits + 1)
            if changed != known:
                resumed = bool(known.paused) and not changed.paused
                self.write(item, changed, moved=resumed or changed.due != known.due)
            return changed

        return retry_conflicts(attempt)

    def write(
        self, item: Item | None, changed: Schedule, *, moved: bool, settled: bool = False
    ) -> None:
        """Write a record over the `item` that was read; `Conflict` when somebody else was faster.

        `moved` says that its next time is another one, whose mark has to be in the index. It is
        written before the record, and again behind it, for a tick that looks in between finds it
        wrong and deletes it; not when it is `settled` that none looks at it so early.
        """
        is_due = moved and bool(changed.due) and not changed.paused
        if is_due:
            self._kv.put(self.key_of_due(changed), b"")
        key = keys.wakeup(self.agent, changed.id)
        expect = item.version if item else ABSENT
        # that of work tells whose the session is in which it was done
        ends = changed.is_over and not changed.text
        self._kv.put(key, dumps(changed), expect=expect, ttl=KEPT_SECONDS if ends else None)
        if is_due:
            if not settled:
                self._kv.put(self.key_of_due(changed), b"")
            self._moved()


def _require_place(known: Sequence[Schedule], holder: Holder | None) -> None:
    """Raise `PlacesTaken` where there is no place for one more schedule."""
    from functions.agent.shares import Places, require_place

    taken = Counter(each.by for each in known if not each.is_over and not each.is_extra)
    require_place(Places("schedules", SCHEDULES_MOST, FREED), taken, holder)


def _read(item: Item) -> Schedule:
    try:
        return SCHEDULE.read(item.value)
    except ValueError:
        raise damaged("the record of a schedule cannot be read", source="schedule") from None


def _say(schedule: Schedule, words: Words, now: float) -> Schedule:
    """Return a schedule that says something else from now on."""
    said = replace(
        schedule,
        when=words.when,
        text=words.text,
        say=words.say,
        name=words.name,
        behaviour=words.behaviour,
        model=words.model,
    )
    return said if words.when == schedule.when else replace(said, due=said.find_next(now))


def _begin_again(schedule: Schedule, now: float) -> Schedule:
    """Return a schedule that was made by a clock that was ahead as if it was made now.

    The end of quiet hours is then: what they hold back has waited long enough.
    """
    if schedule.since <= now + PERIOD_LEAST:
        return schedule
    when = replace(schedule.when, at=now + 1.0) if schedule.collects else schedule.when
    return replace(schedule, since=now, when=when)


def _is_same(schedule: Schedule, other: Schedule) -> bool:
    """Return whether two schedules are one that somebody asks for twice."""
    first, second = (
        make_id(each.when, each.text, each.say, each.session) for each in (schedule, other)
    )
    return first == second


def _require_sensible(schedule: Schedule) -> None:
    """Raise `UsageError` EINVAL for a schedule that cannot be."""
    when = schedule.when
    length = len(schedule.text) + len(schedule.say)
    problem = ""
    if bool(schedule.text) == bool(schedule.say):
        problem = "a schedule needs either a text to work on, or one to say"
    elif length > TEXT_CHARACTERS:
        problem = f"a text of a schedule has at most {TEXT_CHARACTERS:,} characters, not {length:,}"
    elif when.kind == "every" and when.every < PERIOD_LEAST:
        problem = "a schedule comes about at most once a minute"
    elif not is_known(when.zone):
        problem = f"no time zone is called {one_line(when.zone, NAME_CHARACTERS)!r}"
    if problem:
        raise UsageError("EINVAL", problem, source="schedule")
