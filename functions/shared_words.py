"""The words of a turn for pages in other processes.

A page marks the chats at which it looks. A turn reads the mark with those that tell it to stop, and
only then keeps the words of its answer in the store while they come, once a second at most. Mark
and words are over by themselves: whoever is killed takes nothing back.

Words belong to a version of the session's document. With the next version what they say is in the
history, so that words of any other version are never shown.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

import orjson
from msgspec import Meta

from functions import log
from functions.agent.app import TurnStep
from functions.time.clock import Clock
from sigil.errors import SigilError
from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, Item, keys
from sigil.storage.stored import NewerFormat, Shape, Stored

SHARED_SECONDS: Final = 30.0
"""A mark, and the words of an answer, are kept for so long."""
RENEW_SECONDS: Final = 15.0
"""Words that do not grow are written again so often, and so is the mark of a page."""
PACE_SECONDS: Final = 1.0
"""Words are written so often at most."""
CHARACTERS_A_SECOND: Final = 8_000
"""An answer that is longer than this is written less often, as each write has all of it."""
CHARACTERS_MOST: Final = 100_000
"""What comes later in an answer is seen when the answer is over."""
Time = Annotated[float, Meta(ge=0, lt=1e12)]


@dataclass(frozen=True, slots=True)
class SharedWords(Stored):
    """What a turn shows: the event that it answers, the version of the session's document that it
    goes on from, when the model was asked (seconds since 1970), the words so far, and what the
    calls that run tell by their names.
    """

    event: str
    head: str
    asked: Time = 0.0
    text: str = ""
    entries: Mapping[str, str] = field(default_factory=dict)


_WORDS: Final = Shape[SharedWords](SharedWords, required=("event", "head"))


def read_words(item: Item | None) -> SharedWords | None:
    """Return the words in an item; None without one, and for one that nobody can read."""
    if item is None:
        return None
    try:
        found = _WORDS.read(item.value)
    except (ValueError, NewerFormat):  # another version wrote it, or it is damaged
        return None
    return evolve(found, text=found.text[:CHARACTERS_MOST])


def mark_watched(kv: KV, session: str, watcher: str) -> None:
    """Note that a page of the process `watcher` looks at a chat (S of the keys)."""
    kv.put(keys.watched_chat(session), watcher.encode(), ttl=SHARED_SECONDS)


class WordSharer:
    """Keeps the words of one turn for the pages of other processes, as long as one looks on.

    A thread writes, so that the turn does not wait for the store; it is there while there is
    something to write. `own` is the name of this process, whose pages need no such words, and
    `redact` takes secrets out of a text.
    """

    def __init__(
        self, kv: KV, session: str, own: str, redact: Callable[[str], str], clock: Clock
    ) -> None:
        self._kv = kv
        self._key = keys.shared_words(session)
        self._own = own
        self._redact = redact
        self._clock = clock
        self._lock = threading.Lock()
        self._changed = threading.Event()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None
        self._find_watcher: Callable[[], str] = str
        self._shown = SharedWords("", "")
        self._words: list[str] = []
        self._is_written = False
        self._is_due = False

    def begin(self, find_watcher: Callable[[], str], event: str, head: str) -> None:
        """Share the next answer, to an event. `find_watcher` returns the name of a process whose
        page looks on, empty for none, without asking the store.
        """
        with self._lock:
            self._find_watcher = find_watcher
            self._shown = SharedWords(event, head)
            self._words = []

    @property
    def is_wanted(self) -> bool:
        """Return whether a page of another process looks on."""
        return self._find_watcher() not in ("", self._own)

    def note_step(self, step: TurnStep) -> None:
        """Take a step of the turn."""
        with self._lock:
            if self._take_step(step):
                self._is_due = True
                if self._thread is None and self.is_wanted and not self._closed.is_set():
                    self._thread = self._start()
        self._changed.set()

    def _take_step(self, step: TurnStep) -> bool:
        """Take a step; return whether it changes what is shown."""
        match step.kind:
            case "ask":
                self._shown = replace(self._shown, asked=self._clock.now(), entries={})
                self._words = []
                self._is_written = True
            case "words" if step.facts.get("anew"):
                self._words = []
            case "words":
                self._words.append(step.text)
            case "progress":
                self._shown = replace(
                    self._shown, entries={**self._shown.entries, step.name: step.text}
                )
            case "request" | "save":
                # what was written is in the history, or about to be
                self._is_written = self._is_due = False
                if step.kind == "save":
                    self._shown = SharedWords(self._shown.event, step.text)
                    self._words = []
                return False
            case _:
                return False
        return True

    def close(self) -> None:
        """Write nothing more: the turn is over."""
        self._closed.set()
        self._changed.set()

    def _start(self) -> threading.Thread | None:
        """Start the thread that writes, and return it; None where none can be started."""
        thread = threading.Thread(target=self._keep_writing, name="shared-words", daemon=True)
        try:
            thread.start()
        except RuntimeError:  # the process has too many
            return None
        return thread

    def _keep_writing(self) -> None:
        while shown := self._take_due():
            pause = PACE_SECONDS
            if self.is_wanted:
                self._write(shown)
                pause = max(pause, len(shown.text) / CHARACTERS_A_SECOND)
            self._clock.wait(self._closed, pause)
            if not self._is_due:
                self._clock.wait(self._changed, RENEW_SECONDS - pause)

    def _take_due(self) -> SharedWords | None:
        """Return what is to be written; None where nothing is left, and the thread ends."""
        with self._lock:
            self._changed.clear()
            if self._closed.is_set() or not (self._is_due or self._is_written):
                self._thread = None
                return None
            self._is_due = False
            return replace(self._shown, text="".join(self._words)[:CHARACTERS_MOST])

    def _redact_lines(self, text: str) -> str:
        """Return a text without secrets: its words were told one by one, and a secret may be
        several of them.
        """
        if self._redact(text) == text:
            return text
        # where a secret is found, marks of Markdown may go as well: in its line alone
        lines = "".join(map(self._redact, text.splitlines(keepends=True)))
        return self._redact(lines)

    def _write(self, shown: SharedWords) -> None:
        entries = {name: self._redact(text) for name, text in shown.entries.items()}
        row = {
            "event": shown.event,
            "head": shown.head,
            "asked": shown.asked,
            "text": self._redact_lines(shown.text),
            "entries": entries,
        }
        try:
            self._kv.put(self._key, orjson.dumps(row), ttl=SHARED_SECONDS)
        except SigilError as problem:  # the next write may go well
            log.note("unshared", code=problem.code)
