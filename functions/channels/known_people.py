"""What a platform tells of people only when it is asked: their names, and the languages of their
apps.

It is remembered for a day, by this process and in the store: a process that has just started asks
the store before the platform. What is older serves while the platform does not answer.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from functions.channels.visible_text import clean_text
from sigil.errors import BackendError, one_line
from sigil.storage.kv import KV, keys
from sigil.storage.kv.base import get_many
from sigil.storage.stored import Shape, Stored, dumps

FRESH_SECONDS: Final = 86_400.0
KEPT_SECONDS: Final = 30 * 86_400.0
"""The store forgets whoever was not asked for again for so long."""
RETRY_SECONDS: Final = 60.0
"""So long a process uses what is older without another try to ask."""
PEOPLE_MOST: Final = 10_000
NAME_CHARACTERS: Final = 100


@dataclass(frozen=True, slots=True)
class Profile:
    """What is known of a person; empty where a platform tells none of it.

    `is_theirs`: the id that was asked for is the one that they write with. Otherwise nothing is
    kept in the store, where it could not be found and erased by that id.
    """

    name: str = ""
    language: str = ""
    is_theirs: bool = True


@dataclass(frozen=True, slots=True)
class StoredProfile(Stored):
    """A profile as it was told at a time, in seconds since 1970."""

    name: str
    language: str
    asked: float


_PROFILE: Final = Shape[StoredProfile](StoredProfile)
_UNKNOWN: Final = StoredProfile("", "", 0.0)


class KnownPeople:
    """The people of an agent's bot, by their ids with the channel before them. Safe to share
    between threads.
    """

    def __init__(self, agent: str, now: Callable[[], float] = time.time) -> None:
        self._agent = agent
        self._now = now
        self._kv: KV | None = None
        self._lock = threading.Lock()
        self._known: dict[str, tuple[StoredProfile, float]] = {}

    def use_store(self, kv: KV) -> None:
        """Remember people in a store as well from now on."""
        self._kv = kv

    def find(self, who: str, fetch: Callable[[], Profile]) -> Profile:
        """Return what is known of one person; see `find_all`."""
        return self.find_all((who,), lambda _: fetch())[who]

    def find_all(
        self, people: Iterable[str], fetch: Callable[[str], Profile]
    ) -> dict[str, Profile]:
        """Return what is known of people, by their ids.

        `fetch` asks the platform for one of them. Nobody has to wait for a name: after a call
        without an answer there is no other, and whoever is unknown has none until the next time.
        """
        now = self._now()
        found: dict[str, Profile] = {}
        unknown: list[str] = []
        for who in dict.fromkeys(people):
            profile = self.recall(who)
            if profile is None:
                unknown.append(who)
            else:
                found[who] = profile
        may_answer = True
        for who, older in self._load(unknown).items():
            known = older
            if may_answer and not _is_fresh(older.asked, now):
                try:
                    known = self._keep(who, fetch(who), older, now)
                except BackendError:
                    may_answer = False
            if known.asked:
                fresh_for = known.asked + FRESH_SECONDS - now
                self._remember(who, known, now + max(fresh_for, RETRY_SECONDS))
            found[who] = Profile(known.name, known.language)
        return found

    def recall(self, who: str) -> Profile | None:
        """Return what this process knows of a person, without asking anybody."""
        with self._lock:
            known, end = self._known.get(who, (_UNKNOWN, 0.0))
        # a clock that was set back makes no day longer
        if 0.0 < end - self._now() <= FRESH_SECONDS:
            return Profile(known.name, known.language)
        return None

    def _load(self, people: list[str]) -> dict[str, StoredProfile]:
        """Return what the store knows of people, or else what this process knew."""
        with self._lock:
            found = {who: self._known.get(who, (_UNKNOWN, 0.0))[0] for who in people}
        if self._kv is None or not people:
            return found
        wanted = [keys.known_person(self._agent, who) for who in people]
        with suppress(BackendError):  # whatever needs the store itself says so
            for who, item in zip(people, get_many(self._kv, wanted), strict=True):
                if item:
                    # damage, or another version's form, is asked for anew
                    with suppress(ValueError, BackendError):
                        found[who] = _PROFILE.read(item.value)
        return found

    def _keep(self, who: str, told: Profile, older: StoredProfile, now: float) -> StoredProfile:
        """Return what a platform told of a person as it is kept, also in the store.

        A language stays where the platform tells it in some chats alone.
        """
        name = " ".join(one_line(clean_text(told.name), NAME_CHARACTERS).split())
        known = StoredProfile(name, told.language or older.language, now)
        if self._kv is not None and told.is_theirs:
            key = keys.known_person(self._agent, who)
            with suppress(BackendError):
                self._kv.put(key, dumps(known), ttl=KEPT_SECONDS if name else FRESH_SECONDS)
        return known

    def _remember(self, who: str, known: StoredProfile, end: float) -> None:
        with self._lock:
            if len(self._known) >= PEOPLE_MOST:
                self._known.clear()
            self._known[who] = (known, end)


def _is_fresh(asked: float, now: float) -> bool:
    return 0.0 <= now - asked < FRESH_SECONDS
