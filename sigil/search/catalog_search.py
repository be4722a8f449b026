"""Search over the catalog: an index in this process that follows the store, namespace by
namespace.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeVar

from sigil.catalog.catalog import Catalog
from sigil.catalog.public import EVERYWHERE, Publics, foreign, full_name
from sigil.catalog.records import Record
from sigil.protocol import Caller, Found, Glimpse, Hit
from sigil.search import Among, DamagedIndexError, Encoder, Index, diverse
from sigil.search.index_sync import Follower
from sigil.search.snapshots import Snapshots
from sigil.search.sources import Commons, Namespace, Source
from sigil.storage.artifacts import Artifacts
from sigil.storage.kv import KV

WIDE = 50
NAMESPACES = 256
"""Of so many namespaces, those that asked last, the index is kept; another one is read again when
it asks.
"""

FAIR = 2
OF_ONE = 10
"""At most so many of what another namespace has made public are an answer to one query."""
RACES = 20
"""An answer is looked for anew so often when its index is given up meanwhile."""

Scored = tuple[Record, float]
Answer = TypeVar("Answer")


class Finder:
    """`find` and `explore` first bring the index up to date with what changed for the caller."""

    def __init__(
        self,
        kv: KV,
        artifacts: Artifacts,
        clock: Callable[[], float] = time.time,
        *,
        encoder: Encoder | None = None,
    ) -> None:
        self._kv = kv
        self._clock = clock
        self._catalog = Catalog(kv, clock)
        self._index = Index(encoder)
        self._snapshots = Snapshots(kv, artifacts, clock, self._index.made)
        self._commons = self._follower(Commons(Publics(kv, clock)))
        self._followers: OrderedDict[str, Follower] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, text: str, caller: Caller, limit: int) -> Found:
        """The capabilities that `text` asks for among those that the caller sees; of one name only
        the nearest.

        What others have made public comes behind all that, however well it fits: no stranger's
        words push one's own down.
        """
        return self._mended(lambda: self._find(text, caller, limit), caller)

    def explore(self, text: str, caller: Caller, limit: int) -> tuple[Glimpse, ...]:
        """What there is, or what there is for `text`, so that what stands below does not repeat
        what stands above.
        """
        return self._mended(lambda: self._explore(text, caller, limit), caller)

    def close(self) -> None:
        """Wait for what is being written."""
        for follower in (*self._followers.values(), self._commons):
            follower.close()

    def _find(self, text: str, caller: Caller, limit: int) -> Found:
        hits = self._index.search(text, WIDE, within=caller.sees, among=_reached(caller))
        ours = [(hit.ref, hit.score) for hit in hits if self._nearest(hit.ref, caller.sees)]
        theirs = self._theirs(text, caller)
        mine = tuple(
            Hit(record.offer, score, record.manifest.description)
            for record, score in self._records(ours, limit)
        )
        others = tuple(
            Hit(foreign(record), score, record.manifest.description)
            for record, score in self._public(theirs, limit - len(mine))
        )
        return Found((*mine, *others), len(ours) + len(theirs))

    def _explore(self, text: str, caller: Caller, limit: int) -> tuple[Glimpse, ...]:
        found = self._index.candidates(text, WIDE, within=caller.sees, among=_reached(caller))
        chosen = diverse([each for each in found if self._nearest(each.ref, caller.sees)], limit)
        mine = [
            Glimpse(record.name, record.manifest.description, score)
            for record, score in self._records([(hit.ref, hit.score) for hit in chosen], limit)
        ]
        others = self._public(self._theirs(text, caller) if text.strip() else [], limit - len(mine))
        return (
            *mine,
            *(
                Glimpse(full_name(record), record.manifest.description, score)
                for record, score in others
            ),
        )

    def _theirs(self, text: str, caller: Caller) -> list[tuple[str, float]]:
        """Of each other namespace the best FAIR come before all further ones: nobody fills the
        answers alone.
        """
        if not self._index.size(EVERYWHERE):
            return []
        strangers = Strangers(caller)
        hits = self._index.search(text, WIDE, within=(EVERYWHERE,), among=strangers)
        return [
            (hit.ref, hit.score)
            for hit in sorted(hits, key=lambda hit: strangers.place(hit.ref) >= FAIR)
        ]

    def _records(self, found: Iterable[tuple[str, float]], limit: int) -> Iterator[Scored]:
        """The first `limit` that still stand."""
        places = ((*_parts(ref), score) for ref, score in found)
        records = ((self._follower_of(home).record(name), score) for home, name, score in places)
        return islice(((record, score) for record, score in records if record), limit)

    def _public(self, found: Iterable[tuple[str, float]], limit: int) -> Iterator[Scored]:
        records = ((self._commons.record(ref), score) for ref, score in found)
        return islice(((record, score) for record, score in records if record), max(limit, 0))

    def _nearest(self, ref: str, sees: tuple[str, ...]) -> bool:
        home, name = _parts(ref)
        if home not in sees:
            raise DamagedIndexError("it speaks of another namespace")
        return not any(
            self._index.has(f"{nearer}/{name}", nearer) for nearer in sees[: sees.index(home)]
        )

    def _mended(self, ask: Callable[[], Answer], caller: Caller) -> Answer:
        """The answer; once more, from the store itself, when an index file turns out to be
        damaged.
        """
        followers = (*map(self._follower_of, caller.sees), self._commons)
        try:
            answer = self._settled(ask, caller)
        except DamagedIndexError:
            for follower in followers:
                follower.distrust()
            answer = self._settled(ask, caller)
        for follower in followers:
            follower.save()
        return answer

    def _settled(self, ask: Callable[[], Answer], caller: Caller) -> Answer:
        """The answer of groups that are up to date; once more when one of them was given up or
        begun anew meanwhile.
        """
        for _ in range(RACES):
            followed = self._follow(caller)
            answer = ask()
            if all(follower.stands(begun) for follower, begun in followed):
                break
        return answer

    def _follow(self, caller: Caller) -> list[tuple[Follower, int]]:
        now = self._clock()
        followed: list[tuple[Follower, int]] = []
        for follower in (*map(self._follower_of, caller.sees), self._commons):
            begun = follower.follow(now)
            if begun is not None:
                followed.append((follower, begun))
            elif follower is not self._commons:
                self._forget(follower)  # nothing was ever deployed there: nothing to keep
        return followed

    def _follower_of(self, namespace: str) -> Follower:
        with self._lock:
            follower = self._followers.get(namespace)
            if follower is None or follower.over:
                follower = self._followers[namespace] = self._follower(
                    Namespace(self._catalog, namespace)
                )
            self._followers.move_to_end(namespace)
            oldest = (
                next(iter(self._followers.values())) if len(self._followers) > NAMESPACES else None
            )
        if oldest:
            self._forget(oldest)
        return follower

    def _forget(self, follower: Follower) -> None:
        """First it lets its group go, and only then another one may take its place."""
        follower.retire()
        with self._lock:
            if self._followers.get(follower.group) is follower:
                del self._followers[follower.group]

    def _follower(self, source: Source) -> Follower:
        return Follower(self._kv, self._index, source, self._snapshots)


class Strangers:
    """Which public capabilities a caller is given: those of other namespaces that its token
    reaches, and of one namespace not too many.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._of: dict[str, list[str]] = {}

    def __call__(self, ref: str) -> bool:
        home, name = _parts(ref)
        if home in self._caller.sees or not self._caller.reaches(home, name):
            return False
        given = self._of.setdefault(home, [])
        if ref not in given and len(given) < OF_ONE:
            given.append(ref)
        return ref in given

    def place(self, ref: str) -> int:
        """How many of its namespace come before it."""
        return self._of[_parts(ref)[0]].index(ref)


def _reached(caller: Caller) -> Among | None:
    return None if caller.only is None else lambda ref: caller.reaches(*_parts(ref))


def _parts(ref: str) -> tuple[str, str]:
    """Namespace and name."""
    namespace, _, name = ref.rpartition("/")
    return namespace, name
