"""A message of the terminal goes through the queue, and a worker of this process handles it.

The worker has the conversation's lease meanwhile, as any worker of a queue. While another one has
it, such as one of `uncaged serve`, the message waits, and that one may answer it as well.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace

from functions import worker
from functions.agent.app import App, TurnStep, Watch, hears_words
from functions.agent.safety.stop_mark import BY_SENDER, StopMark, write_mark
from functions.channels.replies.http_replies import HttpReplies
from functions.cli.chat.session_lock import SessionLock
from functions.events import Event
from functions.queues.base import Delivery
from functions.queues.store_queue import StoreQueue
from functions.wiring import HOLD_SECONDS, AgentRuntime
from sigil.errors import Conflict, SigilError
from sigil.protocol import Json
from sigil.storage.kv import keys

LOOK_SECONDS = 0.2
"""Seconds between two looks whether the conversation is free, or somebody has answered."""
Show = Callable[[Mapping[str, Json]], None]


class Shown:
    """Shows the steps of all turns of this process to one watch, as their person sits here."""

    watcher = ""

    def __init__(self, watch: Watch) -> None:
        self._watch = watch

    def hears_words(self, event: Event) -> bool:
        """Return whether the watch wants the words of the event's answer: of none."""
        return False

    def note_step(self, event: Event, step: TurnStep) -> None:
        """Show a step."""
        self._watch(step)


class TerminalReplies(HttpReplies):
    """The replies of this process: the one that the terminal waits for is shown at once.

    It leaves the outbox only after it was shown. All others are kept for those who asked.
    """

    def __init__(self, runtime: AgentRuntime, show: Show) -> None:
        super().__init__(runtime.stores.kv)
        self._show = show
        self.awaited = ("", "")
        self.others = 0

    def keep(self, session: str, event: str, reply: Mapping[str, Json]) -> None:
        """Show the reply that is awaited, and keep any other one."""
        if (session, event) == self.awaited:
            self._show(reply)
        else:
            super().keep(session, event, reply)
            self.others += 1


class ShownWithWords(Shown):
    """Shows the words of the answer that the terminal waits for as well. Any other answer is shown
    with what came meanwhile, as a whole.
    """

    def __init__(self, watch: Watch, replies: TerminalReplies) -> None:
        super().__init__(watch)
        self._replies = replies

    def hears_words(self, event: Event) -> bool:
        """Return whether the event is the one, and the watch wants words now."""
        return event.id == self._replies.awaited[1] and hears_words(self._watch)


class TerminalWorker:
    """Handles the events of one conversation in threads of this process, while a person waits.

    Its queue is the store's own, also where platforms have another one: no other queue hands out
    the events of a single conversation.
    """

    def __init__(
        self, runtime: AgentRuntime, session: str, lock: SessionLock, watch: Watch, show: Show
    ) -> None:
        settings = runtime.settings
        self._chat = session
        self._session = keys.session_of(runtime.app.name, session)
        self._lock = lock
        self._show = show
        self.lease_seconds = settings.lease
        self.queue = StoreQueue(
            runtime.stores.kv,
            settings.agent,
            lease=settings.lease,
            hold=settings.turn_seconds + HOLD_SECONDS,
            owner=lock.name,
            is_gone=lock.is_gone,
        )
        self.replies = TerminalReplies(runtime, show)
        # whoever waits at a terminal can ask again, and reads why at once
        self._runtime = replace(
            runtime,
            queue=self.queue,
            replies=self.replies,
            live=ShownWithWords(watch, self.replies),
            patient=False,
        )

    def find_app(self) -> App:
        """Return the agent that has answered here last, or the root."""
        return self._runtime.agents.guess_route(self._chat, self._runtime.app).app

    def find_session(self) -> str:
        """Return the session of that agent (S of the keys)."""
        return keys.session_of(self.find_app().name, self._chat)

    def open_turn(self, event: Event, say_waiting: Callable[[], None]) -> TerminalTurn:
        """Return what takes an event to its end; `say_waiting` is called if it has to wait."""
        self.replies.awaited = (self._session, event.id)
        return TerminalTurn(self, event, say_waiting)

    def open_rest(self) -> TerminalTurn | None:
        """Return what takes to its end whatever waits in the conversation, such as a turn that was
        interrupted; None when there is nothing.
        """
        if self._runtime.stores.kv.get(keys.ready_session(self._session)) is None:
            return None
        self.replies.awaited = ("", "")
        return TerminalTurn(self, None, lambda: None)

    def open_consolidation(self) -> Consolidation | None:
        """Return what lets memory hear of what left the conversation; None when nothing is due."""
        delivery = self.queue.take_from(keys.memory_of(self.find_session()))
        return Consolidation(delivery, self._runtime) if delivery else None

    def take_to_end(self, turn: TerminalTurn) -> None:
        """Handle the events of the conversation up to the one of this turn."""
        try:
            self._lock.acquire()
            self._handle_events(turn)
        finally:
            self.queue.forget(self._session)
            self._lock.release()

    def _handle_events(self, turn: TerminalTurn) -> None:
        event = turn.event
        if event is None:
            delivery = self.queue.take_from(self._session)
        else:
            delivery = self.queue.put_and_take(event)
        while True:
            if delivery is None:
                if event is None or self._show_answer_of_another(event):
                    return
                turn.note_waiting()
                turn.pause(LOOK_SECONDS)
                self._lock.acquire()
            else:
                turn.handles = True
                if event is None or delivery.event.id != event.id:
                    worker.process(delivery, self._runtime)
                elif self._handle(delivery, turn):
                    return
                turn.handles = False
            if turn.stopping and (event is None or self._withdraw(turn, event)):
                return
            delivery = self.queue.take_from(self._session)

    def _handle(self, delivery: Delivery, turn: TerminalTurn) -> bool:
        """Handle the terminal's own event; False when another worker has it by now.

        What fails is told here, and waits in the queue: nothing that was begun is lost.
        """
        try:
            worker.handle_event(
                delivery.event, self._runtime, spent=delivery.tries >= worker.TRIES_MOST
            )
        except Conflict:
            self.queue.retry(delivery, 0.0)
            return False
        except BaseException:
            turn.is_kept = True
            with suppress(SigilError):
                self.queue.retry(replace(delivery, tries=delivery.tries + 1), 0.0)
            raise
        self.queue.done(delivery)
        return True

    def _show_answer_of_another(self, event: Event) -> bool:
        """Show what another worker has answered; False while it is not done with the event."""
        waits = self.queue.is_waiting(event)
        reply = self.replies.get(self._session, event.id)
        if reply is None:
            return not waits
        self._show(reply)
        self.replies.mark_read(self._session, event.id)
        return True

    def _withdraw(self, turn: TerminalTurn, event: Event) -> bool:
        """Take back an event that nobody has begun with; False while another worker is at it."""
        if self._find_running() == event.id:
            return False
        self.queue.withdraw(event)
        turn.is_withdrawn = True
        return True

    def _find_running(self) -> str:
        """Return the event whose turn is in progress, or an empty id."""
        running = self._runtime.app.sessions.open(self.find_session()).document.turn
        return running.event.id if running else ""

    def stop(self, turn: TerminalTurn) -> None:
        """Tell the turn that runs here to stop, or the one of this event, wherever it runs."""
        name = turn.event.id if turn.event else ""
        if turn.handles:
            name = self._find_running() or name
        if name:
            write_mark(self._runtime.stores.kv, self.find_session(), StopMark(name, BY_SENDER))


class TerminalTurn:
    """What a thread does for a person who waits: `event` is theirs, None for what waited before.

    `over` is set at the end. `problem` is the failure that it ended with; `is_kept` says that the
    event waits in the queue nevertheless.
    """

    def __init__(
        self, owner: TerminalWorker, event: Event | None, say_waiting: Callable[[], None]
    ) -> None:
        self.event = event
        self.over = threading.Event()
        self.problem: BaseException | None = None
        self.handles = False
        self.is_withdrawn = False
        self.is_kept = False
        self._owner = owner
        self._say_waiting = say_waiting
        self._is_waiting = False
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="turn", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    @property
    def stopping(self) -> bool:
        """Return whether it was told to stop."""
        return self._stop.is_set()

    def stop(self) -> None:
        """Stop the turn that runs here, or take back the event if none of its own runs."""
        self._stop.set()
        self._owner.stop(self)

    def renew(self) -> None:
        """Keep the conversation."""
        with suppress(SigilError):
            self._owner.queue.renew()

    def pause(self, seconds: float) -> None:
        """Wait, unless it was told to stop."""
        if self.stopping:
            self.over.wait(seconds)
        else:
            self._stop.wait(seconds)

    def note_waiting(self) -> None:
        """Tell the person, once, that the conversation is not free."""
        if not self._is_waiting:
            self._is_waiting = True
            self._say_waiting()

    def _run(self) -> None:
        try:
            self._owner.take_to_end(self)
        except BaseException as problem:  # noqa: BLE001  entry point: the thread that waits raises it
            self.problem = problem
        self.over.set()


class Consolidation:
    """A thread that lets memory hear of what left the conversation; it can be put off."""

    def __init__(self, delivery: Delivery, runtime: AgentRuntime) -> None:
        self._over = threading.Event()
        self._delivery = delivery
        self._runtime = runtime
        self._thread = threading.Thread(target=self._run, name="consolidation", daemon=True)

    def run(self) -> None:
        """Run it to its end; `KeyboardInterrupt` ends the wait alone."""
        self._thread.start()
        self._over.wait()

    def put_off(self) -> None:
        """Let any worker have it again, at once."""
        with suppress(SigilError):
            self._runtime.queue.retry(self._delivery, 0.0)

    def _run(self) -> None:
        with suppress(SigilError):
            worker.process(self._delivery, self._runtime)
        self._over.set()
