"""The runs of wakeups that somebody at a terminal waits for.

Their events are in the queue by then. This process works on them, and on what they post, while no
other does; those that a worker of `uncaged serve` has taken are waited for.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from functions import worker
from functions.agent.app import Watch
from functions.agent.behaviours import chain
from functions.agent.runs import run as turns
from functions.agent.runs.result import describe
from functions.agent.safety.stop_mark import BY_OWNER, StopMark, write_mark
from functions.agent.schedules.schedule import Run, Schedules
from functions.cli.chat.screen import Screen
from functions.cli.chat.terminal_turn import Shown
from functions.events import Event
from functions.queues.store_queue import StoreQueue
from functions.queues.waiting_events import group_of
from functions.wiring import HOLD_SECONDS, AgentRuntime
from sigil.errors import SigilError, one_line
from sigil.storage.kv import keys

LOOK_SECONDS = 0.2
"""Seconds between two looks whether another process is done."""
RENEWALS = 4
"""A lease is renewed so many times before it would end."""
TEXT_CHARACTERS = 200
RUNS_MOST = 100


class _NotingQueue(StoreQueue):
    """A queue that notes what this process puts into it."""

    posted: list[Event]

    def put(self, event: Event) -> None:
        """Store the event, and note it."""
        super().put(event)
        self.posted.append(event)


@dataclass(frozen=True, slots=True)
class WakeupRun:
    """A run that is over: its event, what became of it, its trace, and what was said because of it,
    as far as this process knows. `after` are the traces of the behaviours that followed in it.
    """

    event: Event
    outcome: str
    run: Run | None
    trace: turns.Run | None
    said: str
    after: Sequence[turns.Run] = ()

    def make_row(self) -> dict[str, object]:
        """Return the run as a row for programs."""
        return {
            "event": self.event.id,
            "wakeup": self.event.data.get("wakeup", ""),
            "agent": self.event.data.get("owner") or self.event.agent,
            "session": self.event.session,
            "outcome": self.outcome,
            "reason": self.run.reason if self.run else "",
            "tokens": self.run.tokens if self.run else 0,
            "said": self.said,
            "trace": describe(self.trace) if self.trace else None,
            "after": [describe(each) for each in self.after],
        }

    def list_lines(self) -> list[str]:
        """Return the run as lines for people: its steps, and what became of it."""
        lines = turns.format_run(self.trace) if self.trace else [self.event.id]
        for each in self.after:
            lines += turns.format_run(each)
        parts = [self.outcome]
        if self.run and self.run.reason:
            parts[0] += f" ({one_line(self.run.reason, TEXT_CHARACTERS)})"
        if self.run and self.run.tokens:
            parts.append(f"{self.run.tokens:,} tokens")
        if self.said:
            parts.append(one_line(self.said, TEXT_CHARACTERS))
        return [*lines, f"  └ {', '.join(parts)}"]


class WakeupRuns:
    """Works on the events of wakeups in a thread, while a person waits."""

    def __init__(self, runtime: AgentRuntime, watch: Watch, screen: Screen) -> None:
        settings = runtime.settings
        self._kv = runtime.stores.kv
        self._screen = screen
        self._lease_seconds = settings.lease
        self._queue = _NotingQueue(
            self._kv,
            settings.agent,
            lease=settings.lease,
            hold=settings.turn_seconds + HOLD_SECONDS,
        )
        self._queue.posted = []
        # whoever waits at a terminal can ask again, and reads why at once
        self._runtime = replace(runtime, queue=self._queue, live=Shown(watch), patient=False)
        self._pending: list[Event] = []
        self._at_work: Event | None = None
        self._posted: list[Event] = []
        self._problem: BaseException | None = None
        self._over = threading.Event()
        self._stop = threading.Event()

    def follow(self, events: Sequence[Event]) -> bool:
        """Take the events, which are in the queue, to their end; False when Ctrl-C ended it.

        What is at work then stops, and what was not begun waits in the queue.
        """
        self._pending = list(events)
        thread = threading.Thread(target=self._work, name="wakeups", daemon=True)
        is_started = is_stopped = False
        while not self._over.is_set():
            try:
                if not is_started:
                    is_started = True
                    thread.start()  # which waits for the thread, and that may be at work by then
                while not self._over.wait(self._lease_seconds / RENEWALS):
                    with suppress(SigilError):
                        self._queue.renew()
            except KeyboardInterrupt:
                if is_stopped:
                    raise
                is_stopped = True
                self._screen.hint("stopping; Ctrl-C again leaves at once")
                self._end()
        if self._problem:
            raise self._problem
        return not is_stopped

    def describe(self, event: Event) -> WakeupRun:
        """Return what became of the run of an event."""
        owner = str(event.data.get("owner") or event.agent)
        runs: Sequence[Run] = ()
        if event.data.get("wakeup"):  # not all work is that of a schedule
            runs = Schedules(self._kv, owner).list_runs(str(event.data["wakeup"]), most=RUNS_MOST)
        run = next((each for each in runs if each.event == event.id), None)
        agents = dict.fromkeys((owner, event.agent))
        found = (turns.load_run(self._kv, agent, event.id) for agent in agents)
        trace = next(filter(None, found), None)
        said = ""
        after = []
        for each in self._posted:
            if each.kind == "say" and event.id in (each.cause, each.root):
                said = said or each.text
            elif each.data.get(chain.RUN) == event.id:
                after.append(turns.load_run(self._kv, each.agent, each.id))
        if event.kind == "say":
            said = event.text
        outcome = run.outcome if run else "waits"
        if run is None and not self._queue.is_waiting(event):
            outcome = "said" if said else "done"
        return WakeupRun(event, outcome, run, trace, said, list(filter(None, after)))

    def _work(self) -> None:
        try:
            is_told = False
            while self._pending and not self._stop.is_set():
                if not self._work_once() and self._pending:
                    if not is_told:
                        self._screen.hint("another process works on it; waiting for it")
                    is_told = True
                    self._stop.wait(LOOK_SECONDS)
        except BaseException as problem:  # noqa: BLE001  entry point: the thread that waits raises it
            self._problem = problem
        self._over.set()

    def _work_once(self) -> bool:
        """Work on one event of each group that something is pending in; False when others do."""
        is_busy = False
        for group in dict.fromkeys(map(group_of, self._pending)):
            delivery = None if self._stop.is_set() else self._queue.take_from(group)
            if delivery:
                is_busy = True
                self._at_work = delivery.event
                worker.process(delivery, self._runtime)
                self._at_work = None
        posted, self._queue.posted = self._queue.posted, []
        self._posted += posted
        self._pending = [each for each in self._pending + posted if self._queue.is_waiting(each)]
        return is_busy

    def _end(self) -> None:
        """Tell what is at work here to stop; what runs in another process goes on."""
        self._stop.set()
        event = self._at_work
        if event:
            session = keys.session_of(event.agent, event.session)
            with suppress(SigilError):
                write_mark(self._runtime.stores.kv, session, StopMark(event.id, BY_OWNER))
