"""What a process knows of the chats that its pages have shown of late: it is read and drawn once
for all who look.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

from functions.agent.app import App
from functions.agent.conversation.messages import is_from_person, read_own_words
from functions.agent.management.sessions import ListedSession, scan_sessions
from functions.page.read_marks import ReadMarks, note_look, read_marks
from functions.queues.queued_sessions import list_queued_sessions
from functions.shared_words import RENEW_SECONDS, mark_watched
from sigil.errors import BackendError
from sigil.storage.kv import KV, keys

STATES_KEPT = 64
ROWS_KEPT = 2_000
TITLES_KEPT = 2_000
COMMANDS_KEPT = 500
DAYS = 90
SCAN_SECONDS = 5.0
"""The list of all chats is as old as that at most."""
WORKING_SECONDS = 1.0
MARKS_SECONDS = 5.0
"""A look in another process takes a mark away here after this time at the latest."""
REACH_SECONDS = 60.0
"""That a chat is listed for somebody is as old as that at most."""
TITLE_CHARACTERS = 60

T = TypeVar("T")


class Kept(Generic[T]):
    """The values of late under their keys, at most so many; threads share it."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._values: OrderedDict[Hashable, T] = OrderedDict()

    def find(self, key: Hashable) -> T | None:
        """Return the value under a key, None where it is not known."""
        with self._lock:
            value = self._values.get(key)
            if value is not None:
                self._values.move_to_end(key)
            return value

    def keep(self, key: Hashable, value: T) -> None:
        """Keep a value; the one that was not wanted for the longest time may go."""
        with self._lock:
            self._values[key] = value
            self._values.move_to_end(key)
            while len(self._values) > self._most:
                self._values.popitem(last=False)

    def forget(self, key: Hashable) -> None:
        """Keep nothing under a key."""
        with self._lock:
            self._values.pop(key, None)


class ChatCache:
    """The states, rows and lists of chats that the pages of a process have shown of late."""

    def __init__(self) -> None:
        self._reading: Kept[threading.Lock] = Kept(STATES_KEPT)
        self._states: Kept[tuple[int, object]] = Kept(STATES_KEPT)
        self._rows: Kept[tuple[object, str]] = Kept(ROWS_KEPT)
        self._titles: Kept[str] = Kept(TITLES_KEPT)
        self._reaches: Kept[tuple[float, bool]] = Kept(TITLES_KEPT)
        self._commands: Kept[str] = Kept(COMMANDS_KEPT)
        self._lists: Kept[tuple[float, frozenset[str], list[ListedSession]]] = Kept(1)
        self._marks: Kept[tuple[float, ReadMarks | None]] = Kept(STATES_KEPT)
        self._working: Kept[tuple[float, frozenset[str]]] = Kept(1)
        self._watched: Kept[float] = Kept(STATES_KEPT)

    def find_state(self, key: Hashable, version: int, read: Callable[[], T]) -> T:
        """Return the state under a key that is of this version or a later one; `read` it where
        there is none. Of several threads that want it one reads it.
        """
        lock = self._reading.find(key)
        if lock is None:
            lock = threading.Lock()
            self._reading.keep(key, lock)
        with lock:
            known = self._states.find(key)
            if known and known[0] >= version:
                return known[1]  # type: ignore[return-value]  # a key has states of one type
            state = read()
            self._states.keep(key, (version, state))
            return state

    def draw_row(self, key: Hashable, item: object, draw: Callable[[], str]) -> str:
        """Return the HTML of an item, which is drawn where it was another one before."""
        known = self._rows.find(key)
        if known and known[0] == item:
            return known[1]
        html = draw()
        self._rows.keep(key, (item, html))
        return html

    def find_reach(self, who: str, session: str, read: Callable[[], bool]) -> bool:
        """Return whether somebody reads a chat, so that it is in their list."""
        now = time.monotonic()
        known = self._reaches.find((who, session))
        if known and now - known[0] < REACH_SECONDS:
            return known[1]
        is_read = read()
        self._reaches.keep((who, session), (now, is_read))
        return is_read

    def keep_command(self, event: str, text: str) -> None:
        """Keep a command that was sent: it is no part of a history, and stands above its answer."""
        self._commands.keep(event, text)

    def find_command(self, event: str) -> str:
        """Return the command of an event, empty where nobody knows it any more."""
        return self._commands.find(event) or ""

    def mark_watched(self, kv: KV, session: str, watcher: str) -> None:
        """Note in the store, once in a while, that a page of the process `watcher` asks again and
        again for the state of a chat (S of the keys). `BackendError` when the store fails.
        """
        now = time.monotonic()
        marked = self._watched.find(session)
        if marked is None or now - marked >= RENEW_SECONDS:
            mark_watched(kv, session, watcher)
            self._watched.keep(session, now)

    def list_sessions(self, app: App, working: frozenset[str]) -> list[ListedSession]:
        """Return all chats of a root, the one that was at work last first. They are scanned again
        when other chats are `working` than before: one that no longer is has answered.
        """
        now = time.monotonic()
        known = self._lists.find(app.root)
        if known:
            at, others, listed = known
            if now - at < SCAN_SECONDS and others == working:
                return listed
        found = scan_sessions(app, "", DAYS)
        self._lists.keep(app.root, (now, working, found))
        return found

    def find_marks(self, app: App, who: str) -> ReadMarks | None:
        """Return when somebody last looked at each chat; None where they never did."""
        now = time.monotonic()
        known = self._marks.find((app.root, who))
        if known and now - known[0] < MARKS_SECONDS:
            return known[1]
        marks = read_marks(app.kv, app.root, who)
        self._marks.keep((app.root, who), (now, marks))
        return marks

    def note_look(self, app: App, who: str, session: str, last: float) -> None:
        """Note that somebody looks at a chat whose last message is of the time `last` (seconds
        since 1970): nothing is written where they have seen that.
        """
        known = self.find_marks(app, who)
        if known and last <= known.find(session):
            return
        marks = note_look(app.kv, app.root, who, session, app.clock.now())
        self._marks.keep((app.root, who), (time.monotonic(), marks))

    def forget_list(self, app: App) -> None:
        """Look anew the next time: something has come to a chat."""
        self._lists.forget(app.root)

    def list_working(self, app: App) -> frozenset[str]:
        """Return the chats that some worker has now."""
        now = time.monotonic()
        known = self._working.find(app.root)
        if known and now - known[0] < WORKING_SECONDS:
            return known[1]
        queued = list_queued_sessions(app.kv, app.root, app.clock.now())
        held = [each.session.partition("#")[2] for each in queued if each.held]
        working = frozenset(map(keys.unescape, held))
        self._working.keep(app.root, (now, working))
        return working

    def find_title(self, app: App, agent: str, session: str) -> str:
        """Return the first words of a chat with an agent, empty where none are there any more."""
        key = keys.session_of(agent, session)
        known = self._titles.find(key)
        if known:
            return known
        try:
            messages = app.sessions.open(key).document.messages
        except BackendError:
            return ""
        first = next(filter(is_from_person, messages), None)
        words = " ".join(read_own_words(first.content).split()) if first else ""
        if words:
            self._titles.keep(key, words[:TITLE_CHARACTERS])
        return words[:TITLE_CHARACTERS]
