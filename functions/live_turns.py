"""Turns of this process as events for clients over HTTP that look on while a turn goes on.

A client that comes in the middle of a turn gets what it has missed. What a slow client has not read
yet is joined, so that it costs no more than the answer itself.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import orjson

from sigil.errors import UsageError, one_line
from sigil.protocol import Json

if TYPE_CHECKING:
    from functions.agent.app import TurnStep
    from functions.events import Event

ENTRIES_MOST: Final = 500
"""A client gets at most so many steps of a turn at once: the last ones."""
TEXT_CHARACTERS: Final = 2_000
"""So much of the text of a step is shown: a call's arguments, a note."""
KEPT_SECONDS: Final = 60.0
"""What a turn showed is kept for so long for a client that comes again."""
COMMENT_SECONDS: Final = 15.0
"""A stream in which nothing happens has a comment so often, by which proxies see that it lives."""
JOIN_SECONDS: Final = 0.02
"""The words of so many seconds come together: one at a time, each would cost as much as all."""
LOOK_SECONDS: Final = 1.0
"""Another process may answer: so often it is looked whether the answer is there."""
COMMENT: Final = b":\n\n"
LOST: Final = UsageError("ENOENT", "no such message, or its answer is too old", source="chat")
_SHOWN: Final = frozenset({"request", "call", "answer", "progress", "load", "evict", "note"})
_TEXTS: Final = frozenset({"call", "progress", "evict", "note"})
"""The steps that are shown, and those whose texts are: the others' are an answer or a result."""


@dataclass(slots=True)
class _Entry:
    """Something that a turn showed: the step that it took, or words that may still grow."""

    event: str
    kind: str
    data: dict[str, Json]

    def format(self, id: str) -> bytes:
        """Return it as an event of a stream for the client that waits for the answer to `id`."""
        return format_event(self.kind, id, self.data)


def format_event(kind: str, id: str, data: object) -> bytes:
    """Return an event of a stream; the id is that of the message that is answered."""
    return b"event: %s\nid: %s\ndata: %s\n\n" % (kind.encode(), id.encode(), orjson.dumps(data))


@dataclass(eq=False, slots=True)
class Watcher:
    """A client that waits for the answer to an event. `wake` is called in any thread."""

    event: str
    wake: Callable[[], None]
    unread: list[_Entry] = field(default_factory=list)

    def add(self, entry: _Entry) -> None:
        """Add an entry to what the client has not read; words go on where they ended."""
        last = self.unread[-1] if self.unread else None
        if last and entry.kind == last.kind == "words" and "anew" not in entry.data:
            last.data["text"] = f"{last.data.get('text', '')}{entry.data['text']}"
        else:
            self.unread.append(_Entry(entry.event, entry.kind, {**entry.data}))
            del self.unread[:-ENTRIES_MOST]
        self.wake()


@dataclass(slots=True)
class _Chat:
    """A chat at which somebody looks, or has looked until the monotonic time `left`.

    `shown` is what its turn has shown so far. A turn that `answers_more` has taken up later
    messages as well.
    """

    watchers: list[Watcher] = field(default_factory=list)
    shown: list[_Entry] = field(default_factory=list)
    turn: str = ""
    answers_more: bool = False
    left: float = 0.0


class LiveTurns:
    """Shows the turns of this process to the clients that look on."""

    def __init__(self) -> None:
        # the signal that ends the streams is handled between two steps of the loop's own thread,
        # which may hold it
        self._lock = threading.RLock()
        self._chats: dict[str, _Chat] = {}
        self.is_closed = False

    def hears_words(self, event: Event) -> bool:
        """Return whether a client looks on at the event's chat, or has done so just now."""
        chat = self._chats.get(event.session)
        return chat is not None and not _is_over(chat, time.monotonic())

    def note_step(self, event: Event, step: TurnStep) -> None:
        """Show a step to the clients that wait for the answer of this turn."""
        if event.session not in self._chats:
            return
        with self._lock:
            chat = self._chats.get(event.session)
            if chat is None:
                return
            if event.kind != "continue" and chat.turn != event.id:
                chat.turn, chat.answers_more = event.id, False
                chat.shown.clear()
            if step.kind == "note" and step.name == "gather":
                chat.answers_more = True
            entry = _make_entry(chat.turn, step)
            if entry is None:
                return
            _keep(chat.shown, entry)
            for watcher in chat.watchers:
                if chat.answers_more or watcher.event == chat.turn:
                    watcher.add(entry)

    def watch(self, session: str, event: str, wake: Callable[[], None]) -> Watcher:
        """Return what a client reads that waits for the answer to an event of a chat, until
        `leave`.
        """
        with self._lock:
            now = time.monotonic()
            for name in [name for name, chat in self._chats.items() if _is_over(chat, now)]:
                del self._chats[name]
            chat = self._chats.setdefault(session, _Chat())
            watcher = Watcher(event, wake)
            for entry in chat.shown:
                if chat.answers_more or event == chat.turn:
                    watcher.add(entry)
            chat.watchers.append(watcher)
            return watcher

    def take_unread(self, watcher: Watcher) -> list[_Entry]:
        """Return what the client has not read yet; it has now."""
        with self._lock:
            unread, watcher.unread = watcher.unread, []
            return unread

    def leave(self, session: str, watcher: Watcher) -> None:
        """Note that a client has gone."""
        with self._lock:
            chat = self._chats[session]
            chat.watchers.remove(watcher)
            chat.left = time.monotonic()

    def count_watchers(self) -> int:
        """Return how many clients look on."""
        with self._lock:
            return sum(len(chat.watchers) for chat in self._chats.values())

    def note_reply(self, event: str) -> None:
        """Wake the clients that wait for the answer to an event: it is there."""
        with self._lock:
            found = [each for chat in self._chats.values() for each in chat.watchers]
        for watcher in found:
            if watcher.event == event:
                watcher.wake()

    def close(self) -> None:
        """End every stream: the server stops, and waits for its connections."""
        with self._lock:
            self.is_closed = True
            watchers = [watcher for chat in self._chats.values() for watcher in chat.watchers]
        for watcher in watchers:
            watcher.wake()


def _is_over(chat: _Chat, now: float) -> bool:
    return not chat.watchers and now - chat.left > KEPT_SECONDS


def _keep(shown: list[_Entry], entry: _Entry) -> None:
    """Keep an entry for clients that come later; of words that do not count nothing is kept."""
    if entry.kind == "words" and "anew" in entry.data:
        while shown and shown[-1].kind == "words":
            shown.pop()
    elif entry.kind == "words" and shown and shown[-1].kind == "words":
        shown[-1].data["text"] = f"{shown[-1].data['text']}{entry.data['text']}"
    else:
        shown.append(_Entry(entry.event, entry.kind, {**entry.data}))
        del shown[:-ENTRIES_MOST]


def _make_entry(turn: str, step: TurnStep) -> _Entry | None:
    """Return what clients see of a step, None for one that they do not."""
    if step.kind == "words":
        data: dict[str, Json] = {"anew": True} if step.facts.get("anew") else {"text": step.text}
        return _Entry(turn, "words", data)
    if step.kind not in _SHOWN:
        return None
    data = {"kind": step.kind, "name": step.name}
    if step.text and step.kind in _TEXTS:
        data["text"] = one_line(step.text, TEXT_CHARACTERS)
    if step.ms:
        data["ms"] = round(step.ms, 1)
    if step.error:
        data["error"] = step.error
    return _Entry(turn, "step", data)


async def stream_turn(
    live: LiveTurns,
    session: str,
    event: str,
    begin: Callable[[], None],
    find_reply: Callable[[], dict[str, Json] | None],
) -> AsyncGenerator[bytes]:
    """Yield the turn that answers an event, as the events of a stream: `step`, `words`, and at last
    `reply`; `error` when the reply is lost, and `waiting` when the server stops before it is there.

    A comment comes first, once the stream listens and `begin` was called. `find_reply` returns the
    reply or, while there is none, one that says `waiting`. Both run in threads, and may raise
    `BackendError`. Whoever gets the `reply` may go on only after it was sent.
    """
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(changed.set)

    watcher = live.watch(session, event, wake)
    try:
        await asyncio.to_thread(begin)
        yield COMMENT
        spoke = looked = loop.time()
        while True:
            changed.clear()
            unread = live.take_unread(watcher)
            for entry in unread:
                yield entry.format(event)
            now = loop.time()
            if not unread or now - looked >= LOOK_SECONDS:
                looked = now
                reply = await asyncio.to_thread(find_reply)
                if reply is None:
                    yield format_event("error", event, {"error": LOST.as_dict()})
                    return
                if not reply.get("waiting"):
                    for entry in live.take_unread(watcher):
                        yield entry.format(event)
                    yield format_event("reply", event, reply)
                    return
                if live.is_closed:
                    yield format_event("waiting", event, reply)
                    return
            if unread:
                spoke = now
                await asyncio.sleep(JOIN_SECONDS)
            elif now - spoke >= COMMENT_SECONDS:
                yield COMMENT
                spoke = now
            with suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), LOOK_SECONDS)
    finally:
        live.leave(session, watcher)
