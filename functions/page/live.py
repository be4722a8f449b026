"""The chats that pages look at: what their turns show in this process, and that something has
changed in them, whoever changed it.

A stream sends the whole state of a chat at its beginning and whenever the chat was saved, without
what its page has already: each state is enough, so that a lost one, a phone that slept or a second
tab heals with the next. Between two states the words of an answer come while they are written. For
each chat there is what its turn shows, and for each stream only what it has sent: a page that is
slow costs nothing, and gets the newest.
"""

from __future__ import annotations

import asyncio
import threading
import time
import uuid
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Final, Protocol
from zlib import crc32

from functions import log
from functions.live_turns import COMMENT, COMMENT_SECONDS, LiveTurns, format_event
from functions.shared_words import RENEW_SECONDS, SharedWords, mark_watched, read_words
from sigil.errors import SigilError
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.base import KEYS_MOST, get_many

if TYPE_CHECKING:
    from functions.agent.app import TurnStep
    from functions.events import Event
    from functions.page.markdown import GrowingText

STREAMS_MOST: Final = 64
"""So many pages look on over a stream at once; others ask again and again."""
STREAMS_EACH: Final = 16
"""So many of them are one person's, whoever opens more: the others' pages go on."""
HEARD_SECONDS: Final = 60.0
"""The words of a chat are kept for so long for a page that comes, or comes again."""
LOOK_SECONDS: Final = 1.0
"""So often it is looked whether another process, or another channel, has changed a chat."""
JOIN_SECONDS: Final = 0.06
"""What changes within so many seconds comes at once."""
ADMIT_SECONDS: Final = 1.0
"""A stream sends nothing to a sign-in that was not looked up within so many seconds."""
LARGE_CHARACTERS: Final = 8_192
LARGE_SECONDS: Final = 0.25
"""An open block that is so large comes anew so often only."""
THREAD_CHARACTERS: Final = 2_000
"""An open block that is so large is drawn in a thread."""
RESTS: Final = 9.0
"""A block that took a second to draw is drawn again after so many: that is a tenth of a core."""
CHARACTERS_A_SECOND: Final = 100_000
"""An open block is sent anew at most as often as gives so many characters a second."""
CHATS_SECONDS: Final = 2.0
"""The list of chats comes anew so often at most."""
ASKED_SECONDS: Final = 900.0
"""A message that waits is shown for so long, unless its turn begins before."""
ASKED_MOST: Final = 20
STOPPED: Final = "stopped"
"""The note of a turn whose request was given up."""
_CHANGES: Final = frozenset({"open", "save", "note", "progress"})
"""The steps after which the state of a chat is another one."""


@dataclass(frozen=True, slots=True)
class AskedMessage:
    """A message that a page has sent and whose turn has not begun: the id of its event, its words,
    when it came (seconds since 1970), and the names of its files.
    """

    event: str
    text: str
    at: float
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LiveView:
    """What a chat's turn shows at one moment: `version` grows with each change of its state, and
    `number` with each answer that is begun. `asks` are the seconds since the model was asked, None
    while it is not. `blocks` have the words so far as HTML. `stopped` are those of an answer that
    was given up. `worked` grows with each change of which chats are at work. `lags`: there are
    words that are drawn at a later look. `is_fed`: what turns of other processes show is in it.
    """

    version: int = 0
    number: int = 0
    asks: float | None = None
    blocks: tuple[str, ...] = ()
    stopped: tuple[str, ...] = ()
    asked: tuple[AskedMessage, ...] = ()
    progress: Mapping[str, str] = field(default_factory=dict)
    worked: int = 0
    lags: bool = False
    is_fed: bool = False


@dataclass(eq=False, slots=True)
class Watcher:
    """A stream of a page of `who`. `wake` is called in any thread."""

    wake: Callable[[], None]
    who: str = ""


@dataclass(slots=True)
class _Chat:
    """A chat at which pages look, or have looked until the monotonic time `heard`.

    `key` is the session in the store (S of the keys) and `head` its version as a state had it.
    `own_asked` is when a turn of this process has asked the model (seconds since 1970), 0 while
    none waits for its answer. `shared` is what is shown of a turn of another process, and `marked`
    the monotonic time when these were told last that somebody looks on here.
    """

    watchers: list[Watcher] = field(default_factory=list)
    heard: float = 0.0
    key: str = ""
    head: str | None = None
    version: int = 1
    number: int = 0
    words: GrowingText | None = None
    asked_at: float | None = None
    progress: dict[str, str] = field(default_factory=dict)
    asked: dict[str, AskedMessage] = field(default_factory=dict)
    stopped: GrowingText | None = None
    rests_until: float = 0.0
    own_asked: float = 0.0
    shared: SharedWords | None = None
    marked: float | None = None


class LiveChats:
    """Shows the turns of this process to the pages that look on, and to `beside`, which has the
    clients over HTTP; and those of other processes to the pages. These know it as the `watcher`.
    """

    def __init__(self, beside: LiveTurns, kv: KV, root: str) -> None:
        self._beside = beside
        self._kv = kv
        self._root = root
        # the signal that ends the streams is handled between two steps of the loop's own thread,
        # which may hold it
        self._lock = threading.RLock()
        self._chats: dict[str, _Chat] = {}
        self._looking: asyncio.Task[None] | None = None
        self._working: frozenset[str] = frozenset()
        self._worked = 0
        self._looked = -LOOK_SECONDS
        self._version = 1
        self.watcher = uuid.uuid4().hex
        self.streams = 0
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        """Return whether the streams end, because the server stops."""
        return self._is_closed

    def hears_words(self, event: Event) -> bool:
        """Return whether somebody looks on at the event's chat, or has done so just now."""
        if self._beside.hears_words(event):
            return True
        chat = self._chats.get(event.session)
        return chat is not None and not _is_over(chat, time.monotonic())

    def note_step(self, event: Event, step: TurnStep) -> None:
        """Show a step of the turn of an event."""
        self._beside.note_step(event, step)
        if event.session not in self._chats:
            return
        with self._lock:
            chat = self._chats.get(event.session)
            if chat is not None:
                self._take_step(chat, event, step)

    def _take_step(self, chat: _Chat, event: Event, step: TurnStep) -> None:
        match step.kind:
            case "words":
                if step.facts.get("anew"):
                    _begin_words(chat)
                elif chat.words is not None:
                    chat.words.add(step.text)
                    chat.asked_at = None
            case "ask":
                _begin_words(chat)
                chat.asked_at = time.monotonic()
                chat.own_asked = time.time()
                chat.shared = None
            case "request":
                chat.asked_at = None
            case "open":
                chat.asked.pop(event.id, None)
                chat.stopped = None
                chat.progress.clear()
            case "progress":
                chat.progress[step.name] = step.text
            case "note" if step.name == STOPPED and chat.words is not None:
                chat.stopped = chat.words
            case "save":
                # what was written is in the history by now
                chat.words = None
                chat.number += 1
                chat.progress.clear()
                chat.own_asked = 0.0
            case _:
                return
        if step.kind in _CHANGES:
            chat.version += 1
        _wake(chat)

    def note_reply(self, event: str) -> None:
        """Show that the reply to an event was kept."""
        self._beside.note_reply(event)
        with self._lock:
            for chat in self._chats.values():
                if chat.asked.pop(event, None) or chat.watchers:
                    chat.version += 1
                    _wake(chat)

    def expect(self, session: str, message: AskedMessage) -> None:
        """Show a message that was just put into the queue."""
        with self._lock:
            chat = self._open(session)
            chat.heard = time.monotonic()
            chat.asked[message.event] = message
            while len(chat.asked) > ASKED_MOST:
                del chat.asked[next(iter(chat.asked))]
            chat.version += 1
            _wake(chat)

    def forget_asked(self, session: str, event: str) -> None:
        """Show a message no more: it could not be put into the queue, or its turn has begun."""
        with self._lock:
            chat = self._chats.get(session)
            if chat and chat.asked.pop(event, None):
                chat.version += 1
                _wake(chat)

    def note_head(self, session: str, key: str, head: str | None) -> None:
        """Note in which session of the store a chat is, and the version that a state has shown."""
        with self._lock:
            chat = self._chats.get(session)
            if chat:
                chat.key, chat.head = key, head

    def look(self, session: str, *, draws: bool = True) -> LiveView:
        """Return what a chat's turn shows now; `draws` draws the words that came since, unless
        their drawing has been too dear for that so soon.
        """
        with self._lock:
            chat = self._chats.get(session)
            if chat is None:
                return LiveView()
            now = chat.heard = time.monotonic()  # a page that asks again and again looks on, too
            old = time.time() - ASKED_SECONDS
            words = chat.words
            stopped = chat.stopped
            view = LiveView(
                chat.version,
                chat.number,
                None if chat.asked_at is None else now - chat.asked_at,
                asked=tuple(each for each in chat.asked.values() if each.at > old),
                progress=dict(chat.progress),
                worked=self._worked,
                is_fed=bool(chat.watchers or chat.own_asked),
            )
        # others do not wait while a long answer is drawn: neither the turns nor the pages
        blocks: Sequence[str] = ()
        if words is not None:
            if draws and now >= chat.rests_until:
                blocks = words.draw()
                took = time.monotonic() - now
                size = words.open_size
                if size > LARGE_CHARACTERS:
                    rest = max(took * RESTS, size / CHARACTERS_A_SECOND)
                    chat.rests_until = now + took + rest
            else:
                blocks = words.blocks
        return replace(
            view,
            blocks=tuple(blocks),
            stopped=tuple(stopped.draw(waits=True)) if stopped else (),
            lags=words is not None and words.lags,
        )

    def count_open(self, session: str) -> int:
        """Return how many characters the open block of a chat's words has."""
        chat = self._chats.get(session)
        return chat.words.open_size if chat and chat.words else 0

    def list_working(self) -> frozenset[str]:
        """Return the chats that some worker has now, as they were seen a moment ago."""
        if time.monotonic() - self._looked > 2 * LOOK_SECONDS:
            self._note_working(self._read_working())
        return self._working

    def watch(self, session: str, wake: Callable[[], None], who: str = "") -> Watcher:
        """Return what a page of `who` waits with for changes of a chat, until `leave`."""
        with self._lock:
            watcher = Watcher(wake, who)
            chat = self._open(session)
            if not chat.watchers:
                chat.version += 1  # nobody has looked whether another process has changed it
            chat.watchers.append(watcher)
            return watcher

    def leave(self, session: str, watcher: Watcher) -> None:
        """Note that a page has gone."""
        with self._lock:
            chat = self._chats[session]
            chat.watchers.remove(watcher)
            chat.heard = time.monotonic()

    def count_watchers(self) -> int:
        """Return how many pages and clients over HTTP look on at turns."""
        with self._lock:
            pages = sum(len(chat.watchers) for chat in self._chats.values())
        return pages + self._beside.count_watchers()

    def is_full(self, who: str) -> bool:
        """Return whether a person can open no more streams now."""
        with self._lock:
            watchers = (each for chat in self._chats.values() for each in chat.watchers)
            own = sum(watcher.who == who for watcher in watchers)
        return self.streams >= STREAMS_MOST or own >= STREAMS_EACH

    def close(self) -> None:
        """End every stream: the server stops, and waits for its connections."""
        self._beside.close()
        with self._lock:
            self._is_closed = True
            for chat in self._chats.values():
                _wake(chat)

    def keep_looking(self) -> None:
        """Look from now on whether watched chats have changed, in the loop that is running."""
        if self._looking is None or self._looking.done():
            self._looking = asyncio.get_running_loop().create_task(self._look_for_changes())

    async def _look_for_changes(self) -> None:
        """Look once a second at the versions of the chats at which somebody looks."""
        while not self.is_closed and any(chat.watchers for chat in self._chats.values()):
            await asyncio.sleep(LOOK_SECONDS)
            watched = {
                chat.key: name
                for name, chat in list(self._chats.items())
                if chat.watchers and chat.key
            }
            if watched and not self.is_closed:
                try:
                    found = await asyncio.to_thread(self._read_chats, list(watched))
                    await asyncio.to_thread(self._mark_chats, watched)
                    working = await asyncio.to_thread(self._read_working)
                except SigilError as problem:  # the next look may go well
                    log.note("unseen", code=problem.code)
                    continue
                self._compare(watched, found)
                self._note_working(working)

    def _read_working(self) -> frozenset[str]:
        from functions.queues.queued_sessions import list_queued_sessions

        queued = list_queued_sessions(self._kv, self._root, time.time())
        held = [each.session.partition("#")[2] for each in queued if each.held]
        return frozenset(map(keys.unescape, held))

    def _note_working(self, working: frozenset[str]) -> None:
        with self._lock:
            self._looked = time.monotonic()
            if working == self._working:
                return
            self._working = working
            self._worked += 1
            for chat in self._chats.values():
                _wake(chat)

    def _read_chats(self, wanted: list[str]) -> dict[str, tuple[str | None, SharedWords | None]]:
        """Return the version of each session and the words that another process shows of it."""
        found: dict[str, tuple[str | None, SharedWords | None]] = {}
        for first in range(0, len(wanted), KEYS_MOST // 2):
            part = wanted[first : first + KEYS_MOST // 2]
            places = [
                place(key) for key in part for place in (keys.session_head, keys.shared_words)
            ]
            items = get_many(self._kv, places)
            for key, head, shared in zip(part, items[::2], items[1::2], strict=True):
                version = head.version if head else None
                found[key] = version, _choose_current(shared, version)
        return found

    def _mark_chats(self, watched: Mapping[str, str]) -> None:
        """Tell the turns of other processes at which chats somebody looks here."""
        now = time.monotonic()
        for key, name in watched.items():
            chat = self._chats.get(name)
            if chat is None or chat.own_asked:
                continue
            if chat.marked is None or now - chat.marked >= RENEW_SECONDS:
                mark_watched(self._kv, key, self.watcher)
                chat.marked = now

    def _compare(
        self,
        watched: Mapping[str, str],
        found: Mapping[str, tuple[str | None, SharedWords | None]],
    ) -> None:
        with self._lock:
            for key, name in watched.items():
                chat = self._chats.get(name)
                if chat is None or chat.key != key:
                    continue
                version, shared = found[key]
                if chat.head != version:
                    chat.head = version
                    chat.version += 1
                    _wake(chat)
                _take_shared(chat, shared)

    def _open(self, session: str) -> _Chat:
        now = time.monotonic()
        for name in [name for name, chat in self._chats.items() if _is_over(chat, now)]:
            # a state of a version of before must not be taken for one of a chat that comes again
            self._version = max(self._version, self._chats.pop(name).version)
        return self._chats.setdefault(session, _Chat(heard=now, version=self._version))


def _begin_words(chat: _Chat) -> None:
    """Begin with another answer: that before it was taken back, or is over."""
    from functions.page.markdown import GrowingText

    chat.words = GrowingText()
    chat.rests_until = 0.0
    chat.number += 1


def _choose_current(item: Item | None, head: str | None) -> SharedWords | None:
    """Return the words in an item; None where the session has gone on from where they began."""
    shared = read_words(item)
    return shared if shared and shared.head == head else None


def _take_shared(chat: _Chat, shared: SharedWords | None) -> None:
    """Show what a turn of another process shows, unless one of this process has asked later; None
    where there is nothing, or not any more.
    """
    asked = shared.asked if shared else 0.0
    if shared == chat.shared or 0.0 < chat.own_asked >= asked:
        return
    was, chat.shared = chat.shared, shared
    chat.own_asked = 0.0
    if shared is None:
        chat.words = chat.asked_at = None
        chat.number += 1
        chat.progress.clear()
        chat.version += 1
        _wake(chat)
        return
    shown = was.text if was and (was.head, was.asked) == (shared.head, shared.asked) else None
    if shown is None or not shared.text.startswith(shown):
        _begin_words(chat)
        shown = ""
    if chat.words is not None:
        chat.words.add(shared.text[len(shown) :])
    waits = not shared.text and shared.asked
    chat.asked_at = time.monotonic() - _count_seconds(shared) if waits else None
    if chat.progress != shared.entries:
        chat.progress = dict(shared.entries)
        chat.version += 1
    _wake(chat)


def _count_seconds(shared: SharedWords) -> float:
    """Return the seconds since the model was asked; the clock of another machine may be ahead."""
    return max(time.time() - shared.asked, 0.0)


def show_shared(kv: KV, key: str, head: str | None, view: LiveView) -> LiveView:
    """Return a view with what a turn of another process shows of a session (S of the keys) at this
    version of its document, for a page that asks again and again. `BackendError` when the store
    fails.
    """
    shared = _choose_current(kv.get(keys.shared_words(key)), head)
    if shared is None:
        return view
    chat = _Chat()
    _take_shared(chat, shared)
    blocks = chat.words.draw() if chat.words else ()
    number = crc32(f"{shared.head} {shared.asked}".encode())
    asks = None if chat.asked_at is None else time.monotonic() - chat.asked_at
    return replace(
        view, number=number, asks=asks, blocks=tuple(blocks), progress=dict(shared.entries)
    )


def _wake(chat: _Chat) -> None:
    for watcher in chat.watchers:
        watcher.wake()


def _is_over(chat: _Chat, now: float) -> bool:
    return not chat.watchers and now - chat.heard > HEARD_SECONDS


class ChatReader(Protocol):
    """Reads what a page shows of a chat, in a thread. `SigilError` when the store fails."""

    @property
    def who(self) -> str:
        """Return the id of the person who looks."""

    def is_admitted(self) -> bool:
        """Return whether the sign-in is still what it was, and may read the chat."""

    def read_state(self, view: LiveView) -> ReadState:
        """Return the state of the chat, with what a turn of this process shows."""

    def read_chats(self) -> str:
        """Return the HTML of the list of chats."""


class ReadState(Protocol):
    """The state of a chat as its page gets it."""

    @property
    def busy(self) -> bool:
        """Return whether a turn is in progress, or a message waits."""

    @property
    def seq(self) -> int:
        """Return the number of the last message of a turn that is over."""

    def describe(self, known: Mapping[str, str]) -> dict[str, object]:
        """Return the state without those parts whose digests are `known` by their names."""

    def digest(self) -> dict[str, str]:
        """Return the digests of the parts, by their names."""

    def find_known(self, after: int) -> dict[str, str]:
        """Return the digests of those parts that a page has which saw all messages to a number."""


async def stream_chat(
    live: LiveChats, session: str, reader: ChatReader, after: int = 0
) -> AsyncGenerator[bytes]:
    """Yield what a page shows of a chat from now on, as the events of a stream: `state`, `words`,
    `asks` and `chats`; at last `end` when the server stops or the sign-in is over, or `full` at
    once where too many look on.

    `after`: the page has all messages to this number.
    """
    if live.is_full(reader.who):
        yield format_event("full", "", {})
        return
    loop = asyncio.get_running_loop()
    changed = asyncio.Event()

    def wake() -> None:
        with suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(changed.set)

    live.streams += 1
    watcher = live.watch(session, wake, reader.who)
    live.keep_looking()
    sent = _Sent()
    looked = time.monotonic()
    try:
        yield COMMENT
        while not live.is_closed:
            if time.monotonic() - looked >= ADMIT_SECONDS:
                if not await _is_admitted(reader):
                    break
                looked = time.monotonic()
            changed.clear()
            size = live.count_open(session)
            if size > THREAD_CHARACTERS:
                view = await asyncio.to_thread(live.look, session)
            else:
                view = live.look(session)
            try:
                parts = await _list_parts(view, sent, reader, after)
            except SigilError as problem:
                log.note("unseen", code=problem.code)
                yield format_event("problem", str(sent.seq), {"error": problem.as_dict()})
                await asyncio.sleep(LOOK_SECONDS)  # the next look may go well
                continue
            for part in parts:
                yield part
            await asyncio.sleep(LARGE_SECONDS if size > LARGE_CHARACTERS else JOIN_SECONDS)
            if not (view.lags or changed.is_set()):
                try:
                    await asyncio.wait_for(changed.wait(), COMMENT_SECONDS)
                except TimeoutError:
                    yield COMMENT
        yield format_event("end", str(sent.seq), {})
    finally:
        live.streams -= 1
        live.leave(session, watcher)


async def _is_admitted(reader: ChatReader) -> bool:
    """Return whether a stream goes on: not where the store cannot say so."""
    try:
        return await asyncio.to_thread(reader.is_admitted)
    except SigilError as problem:
        log.note("unseen", code=problem.code)
        return False


@dataclass(slots=True)
class _Sent:
    """What a stream has sent: the version of the state, the digests of its parts, and the blocks of
    the answer with this number. An answer that is over is not shown any more.
    """

    version: int = 0
    parts: dict[str, str] | None = None
    seq: int = 0
    number: int = 0
    blocks: tuple[str, ...] = ()
    asks: bool = False
    over: int = -1
    worked: int = 0
    listed: float = 0.0


async def _list_parts(view: LiveView, sent: _Sent, reader: ChatReader, after: int) -> list[bytes]:
    """Return the events that bring a page to what is shown now. `SigilError` when the store
    fails.
    """
    parts: list[bytes] = []
    if view.version != sent.version or sent.parts is None:
        state = await asyncio.to_thread(reader.read_state, view)
        known = sent.parts if sent.parts is not None else state.find_known(after)
        row = state.describe(known)
        sent.version, sent.parts, sent.seq = view.version, state.digest(), state.seq
        sent.worked, sent.listed = view.worked, time.monotonic()
        sent.over = -1 if state.busy else view.number
        sent.number, sent.asks = view.number, view.asks is not None and state.busy
        sent.blocks = view.blocks if state.busy else ()
        row["words"] = {"n": view.number, "put": list(enumerate(sent.blocks))}
        row["asks"] = view.asks if sent.asks else None
        return [format_event("state", str(state.seq), row)]
    if view.worked != sent.worked and time.monotonic() - sent.listed >= CHATS_SECONDS:
        sent.worked, sent.listed = view.worked, time.monotonic()
        with suppress(SigilError):
            chats = await asyncio.to_thread(reader.read_chats)
            parts.append(format_event("chats", str(sent.seq), {"html": chats}))
    if view.number == sent.over:
        return parts
    asks = view.asks is not None
    if asks != sent.asks:
        sent.asks = asks
        parts.append(format_event("asks", str(sent.seq), {"asks": view.asks}))
    if view.number != sent.number:
        sent.number, sent.blocks = view.number, ()
        if not view.blocks:
            parts.append(format_event("words", str(sent.seq), {"n": view.number, "put": []}))
    if view.blocks != sent.blocks:
        put = [
            [place, block]
            for place, block in enumerate(view.blocks)
            if place >= len(sent.blocks) or sent.blocks[place] != block
        ]
        row = {"n": view.number, "count": len(view.blocks), "put": put}
        sent.blocks = view.blocks
        parts.append(format_event("words", str(sent.seq), row))
    return parts
