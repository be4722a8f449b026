"""What is said to a conversation while its person sits at the prompt appears there."""

from __future__ import annotations

import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from functions.channels.replies.unread_replies import UnreadReplies, UnreadReply
from sigil.errors import SigilError

LOOK_SECONDS = 1.0
ANSWER_SECONDS = 5.0
"""So long an answer to what was asked at a terminal is left to that terminal."""
PAGE = 20
Unread = Sequence[tuple[str, UnreadReply]]
Show = Callable[[Unread, bool], None]


class UnreadWatch:
    """A thread looks into the store while a line is typed, and the main thread shows what it found.

    The main thread alone may touch the line; a signal tells it that there is something, which
    `input` lets in. What was shown is dropped afterwards. `show` also gets whether that came before
    the line was asked for.
    """

    def __init__(self, unread: UnreadReplies, session: str, show: Show) -> None:
        self._unread = unread
        self._session = session
        self._show = show
        self._found: deque[tuple[str, UnreadReply]] = deque()
        self._shown: set[str] = set()
        self._is_asking = threading.Event()
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="unread", daemon=True)

    def show_all(self) -> None:
        """Show all that there is, in the caller's thread."""
        self._find_new(patient=False)
        while self._found:
            self._show_found(away=True)
            self._drop_shown()
            self._find_new(patient=False)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """Look while the block asks for a line."""
        if self._thread.ident is None:
            signal.signal(signal.SIGUSR1, lambda *_: self._show_found())
            self._thread.start()
        self._is_asking.set()
        try:
            yield
        finally:
            self._is_asking.clear()

    def close(self) -> None:
        """Drop what was shown, and look no more."""
        self._over.set()
        self._is_asking.set()
        self._drop_shown()

    def _run(self) -> None:
        while self._is_asking.wait() and not self._over.wait(LOOK_SECONDS):
            if not self._is_asking.is_set():
                continue
            self._drop_shown()
            self._find_new(patient=True)
            if self._found:
                # again at the next look, if it comes while the line is not read from the terminal
                signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGUSR1)

    def _find_new(self, *, patient: bool) -> None:
        """Find what was not shown yet; `patient` leaves answers to those who wait for them."""
        known = self._shown | {name for name, _ in tuple(self._found)}
        young = time.time() - ANSWER_SECONDS if patient else float("inf")
        with suppress(SigilError):
            for name, unread in self._unread.list_from(self._session, limit=PAGE):
                is_awaited = unread.event.startswith("terminal:") and unread.at > young
                if name not in known and not is_awaited:
                    self._found.append((name, unread))

    def _show_found(self, *, away: bool = False) -> None:
        found = []
        while self._found:
            found.append(self._found.popleft())
        if found:
            self._show(found, away)
            self._shown.update(name for name, _ in found)

    def _drop_shown(self) -> None:
        names = tuple(self._shown)
        with suppress(SigilError):
            self._unread.drop(self._session, names)
            self._shown.difference_update(names)
