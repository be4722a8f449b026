"""A chat shows an answer while the model writes it, where its platform has a form for that.

What is shown is a draft that may be lost. The answer is in the outbox and leaves as any other, so
nothing here may fail a turn or hold its answer up: a thread of its own shows the newest words, and
is told to end before the answer leaves.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from types import TracebackType
from typing import Final, Self

from functions import log
from functions.agent.app import TurnStep
from functions.agent.session.document import Outgoing
from functions.channels.base import Busy, Draft
from functions.channels.drafts import NoDrafts, cut_draft
from functions.events import Event
from functions.time.clock import Clock
from functions.wiring import Live
from sigil.errors import SigilError

FIRST_SECONDS: Final = 1.0
FIRST_CHARACTERS: Final = 40
"""An answer that is shorter, or there sooner, has no draft."""
BUSY_SECONDS: Final = 5.0
"""Where the platform wants a longer pause, the rest of the turn has no draft."""
CLOSE_SECONDS: Final = 0.5
"""The answer waits at most so long for a request about its draft that is under way."""
IDLE_SECONDS: Final = 60.0
READ_CHARACTERS: Final = 20_000
"""What comes later in an answer is in no draft, which shows less than this."""


class DraftedTurn:
    """Shows the words of a turn's answer in a draft, and its steps to whoever looks on as well. The
    block in which it is entered is that of the turn; afterwards it shows nothing.

    The words are those since the model was asked last. A turn that was interrupted has none: they
    may be the answer to another message.
    """

    def __init__(self, draft: Draft, event: Event, live: Live, clock: Clock) -> None:
        self._draft = draft
        self._event = event
        self._live = live
        self._clock = clock
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._changed = threading.Event()
        self._ended = threading.Event()
        self._is_idle = False
        self._is_closing = False
        self._takes_away = False
        self._is_resumed = False
        self._is_own = False
        self._words: list[str] = []
        self._began = 0.0
        self._shown = ""
        self._shows = 0
        self._next = 0.0
        self._gave_up = False

    @property
    def watcher(self) -> str:
        """The name by which the pages of this process mark the chats at which they look."""
        return self._live.watcher

    def hears_words(self, event: Event) -> bool:
        """Return whether the words of the answer are wanted, here or by whoever looks on."""
        return (self._is_own and self._may_show) or self._live.hears_words(event)

    @property
    def _may_show(self) -> bool:
        """Return whether a draft may still be shown in this turn."""
        is_used_up = self._shows >= self._draft.form.shows_most
        return not (self._gave_up or self._draft.health.is_off or is_used_up)

    def note_step(self, event: Event, step: TurnStep) -> None:
        """Take the words of a step, and show it to whoever looks on."""
        self._live.note_step(event, step)
        match step.kind:
            case "note" if step.name == "resume":
                self._is_resumed = True
            case "open":
                self._is_own = not self._is_resumed
                self._is_resumed = False
            case "ask":
                with self._lock:
                    self._words = []
            case "words":
                self._take_words("" if step.facts.get("anew") else step.text)

    def _take_words(self, words: str) -> None:
        """Add words to those so far; none take them back."""
        with self._lock:
            if not self._is_own or self._is_closing:
                return
            if not words:
                self._words = []
                return
            if not self._words:
                self._began = self._clock.monotonic()
            self._words.append(words)
            if self._thread is None and not self._gave_up:
                self._thread = self._start()
            elif self._is_idle:
                self._changed.set()

    def _start(self) -> threading.Thread | None:
        """Start the thread that shows the words, and return it; None where none can be started."""
        thread = threading.Thread(target=self._keep_showing, name="draft", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the process has too many
            self._gave_up = True
            return None
        return thread

    def end(self, outbox: Sequence[Outgoing]) -> None:
        """Let the draft be, before the replies of an outbox leave; where none of them answers the
        event, take it away.
        """
        place = (self._event.session, self._event.reply_to)
        is_answered = any((reply.session, reply.reply_to) == place for reply in outbox)
        self._close(takes_away=not (is_answered and self._draft.form.is_replaced))

    def _close(self, *, takes_away: bool) -> None:
        with self._lock:
            if self._is_closing:
                return
            self._takes_away = takes_away
            self._is_closing = True
        if self._thread is not None:
            self._changed.set()
            self._clock.wait(self._ended, CLOSE_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Take the draft away where the turn came to no end."""
        self._close(takes_away=True)

    def _keep_showing(self) -> None:
        while not self._is_closing:
            wait = IDLE_SECONDS
            with self._giving_up():
                wait = self._show_what_is_due()
            self._clock.wait(self._changed, wait)
            self._changed.clear()
        if self._takes_away and self._shows:
            with self._giving_up(), suppress(SigilError):
                self._draft.take_away()
        self._ended.set()

    @contextmanager
    def _giving_up(self) -> Iterator[None]:
        """Go on without a draft when it fails in a way that nobody thought of; what it says may
        have words of the draft.
        """
        try:
            yield
        except Exception as problem:  # noqa: BLE001  entry point of a thread: no draft fails a turn
            log.trouble("draft failed", self._event, error=type(problem).__name__)
            self._gave_up = True

    def _show_what_is_due(self) -> float:
        """Show the newest words if it is time, and return after how many seconds to look again."""
        form = self._draft.form
        if not self._may_show:
            self._is_idle = False
            return IDLE_SECONDS
        with self._lock:
            written = "".join(self._words)
            due = max(self._next, self._began + FIRST_SECONDS)
            self._is_idle = True
        written = written[:READ_CHARACTERS]
        text = cut_draft(written, form.characters, only_grows=form.only_grows)
        if len(text) < FIRST_CHARACTERS:
            return IDLE_SECONDS
        if text != self._shown:
            self._is_idle = False
        elif form.renewal:
            due = self._next - form.pace + form.renewal
        else:
            return IDLE_SECONDS
        wait = due - self._clock.monotonic()
        if wait > 0.0:
            return wait
        self._show(text)
        return form.pace

    def _show(self, text: str) -> None:
        """Show a text; one that fails is not tried again."""
        draft = self._draft
        pause = draft.form.pace
        with self._lock:
            is_late = self._is_closing
            self._shows += not is_late
        if is_late:
            return
        try:
            draft.show(text)
        except Busy as problem:
            pause = max(pause, problem.retry_after)
            self._gave_up = not 0.0 < problem.retry_after <= BUSY_SECONDS
        except SigilError as problem:
            if self._is_closing:  # it is no failure that the answer was faster
                return
            if draft.health.note_failure(is_final=isinstance(problem, NoDrafts)):
                log.trouble("no more drafts", self._event, code=problem.code)
        else:
            draft.health.note_success()
        self._shown = text
        self._next = self._clock.monotonic() + pause
