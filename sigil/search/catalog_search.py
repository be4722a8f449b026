"""Search over the catalog works on an index in this process.

The index follows the store namespace by namespace.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from sigil.catalog.catalog import Catalog
from sigil.catalog.public import EVERYWHERE, PublicCapabilities, foreign_offer, full_name
from sigil.catalog.records import Record
from sigil.manifest.languages import BUNDLE, HOST
from sigil.protocol import Caller, Found, Glimpse, Hit, WeakHit
from sigil.search import DamagedIndexError, Encoder, Filter, Index, IndexHit, diversify
from sigil.search.index_sync import Follower
from sigil.search.snapshots import SnapshotStore
from sigil.search.sources import NamespaceSource, PublicSource, Source
from sigil.storage.artifacts import Artifacts
from sigil.storage.kv import KV
from sigil.storage.kv.base import get_many

WIDE = 50
NAMESPACES = 256
"""Namespaces in the index, those that asked last; another one is read again when it asks."""

WEAK_MOST = 2
"""Capabilities that fit too little, at most, which are named beside what was found."""

FAIR = 2
"""Answers of one other namespace that come before the further ones of all."""
OF_ONE = 10
"""Answers to one query, at most, that are another namespace's public capabilities."""
RACES = 20
"""An answer is looked for anew so often when its index is given up meanwhile."""

Scored = tuple[Record, float]
Answer = TypeVar("Answer")


class CatalogSearch:
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
        self._snapshots = SnapshotStore(kv, artifacts, clock, self._index.rules)
        self._public_follower = self._make_follower(PublicSource(PublicCapabilities(kv, clock)))
        self._followers: OrderedDict[str, Follower] = OrderedDict()
        self._lock = threading.Lock()

    def find(self, text: str, caller: Caller, limit: int) -> Found:
        """Return the capabilities that `text` asks for, among those that the caller sees.

        Of one name only the nearest is found.

        What others have made public comes behind all that, however well it fits: no stranger's
        words push one's own down.
        """
        return self._retry_damaged(lambda: self._find(text, caller, limit), caller)

    def find_each(self, texts: Sequence[str], caller: Caller, limit: int) -> list[Found]:
        """Return what `find` does for each of the texts; the index is brought up to date once."""

        def find_all() -> list[Found]:
            return [self._find(text, caller, limit) for text in texts]

        return self._retry_damaged(find_all, caller)

    def _find(self, text: str, caller: Caller, limit: int) -> Found:
        """Return the answer of the index as it is."""
        answer = self._index.find(text, WIDE, within=caller.sees, among=_reach_filter(caller))
        ours = self._list_nearest(answer.hits, caller)
        theirs = self._foreign_hits(text, caller)
        mine, left_out = self._make_hits(ours, caller, limit)
        others = tuple(
            Hit(foreign_offer(record), score, record.manifest.description)
            for record, score in self._load_public(theirs, limit - len(mine))
        )
        found = (*mine, *others)
        weak: list[WeakHit] = []
        if len(found) < limit:
            nearest = self._list_nearest(answer.weak, caller)
            nearest = [each for each in nearest if each[0] not in left_out]
            weak = self._make_weak_hits(nearest, caller)
        repeated = sum(ref in left_out for ref, _ in ours)
        return Found(found, len(ours) + len(theirs) - repeated, tuple(weak))

    def explore(self, text: str, caller: Caller, limit: int) -> tuple[Glimpse, ...]:
        """Return a choice of what there is, or of what there is for `text`.

        Those below repeat little of those above.
        """

        def explore_once() -> tuple[Glimpse, ...]:
            candidates = self._index.find_candidates(
                text, WIDE, within=caller.sees, among=_reach_filter(caller)
            )
            nearest = [each for each in candidates if self._is_nearest(each.ref, caller)]
            chosen = [(hit.ref, hit.score) for hit in diversify(nearest, limit)]
            glimpses = [
                Glimpse(record.name, record.manifest.description, score)
                for record, score in self._load_records(chosen, limit)
            ]
            foreign = self._foreign_hits(text, caller) if text.strip() else []
            for record, score in self._load_public(foreign, limit - len(glimpses)):
                description = record.manifest.description
                glimpses.append(Glimpse(full_name(record), description, score))
            return tuple(glimpses)

        return self._retry_damaged(explore_once, caller)

    def close(self) -> None:
        """Wait for what is being written."""
        for follower in (*self._followers.values(), self._public_follower):
            follower.close()

    def _foreign_hits(self, text: str, caller: Caller) -> list[tuple[str, float]]:
        """Return the hits among what others have made public.

        Of each namespace the best FAIR come before all further ones: nobody fills the answers
        alone.
        """
        if not self._index.count_documents(EVERYWHERE):
            return []
        foreign_filter = ForeignFilter(caller)
        hits = self._index.search(text, WIDE, within=(EVERYWHERE,), among=foreign_filter)
        hits.sort(key=lambda hit: foreign_filter.rank_in_namespace(hit.ref) >= FAIR)
        return [(hit.ref, hit.score) for hit in hits]

    def _list_nearest(self, hits: Iterable[IndexHit], caller: Caller) -> list[tuple[str, float]]:
        return [(hit.ref, hit.score) for hit in hits if self._is_nearest(hit.ref, caller)]

    def _make_hits(
        self, found: Sequence[tuple[str, float]], caller: Caller, limit: int
    ) -> tuple[tuple[Hit, ...], set[str]]:
        """Return the first `limit` hits, and what is in one of them beside what was found.

        A bundle, or a member of one, is one hit with all members that are there.
        """
        hits: list[Hit] = []
        left_out: set[str] = set()
        ranks = {ref: rank for rank, (ref, _) in enumerate(found)}
        for ref, score in found:
            if len(hits) >= limit:
                break
            if ref in left_out:
                continue
            home, name = _split_ref(ref)
            record = self._follower_of(home).load_record(name)
            if record is None:
                continue
            bundle = self._find_bundle(record, caller)
            members = self._load_members(bundle, caller) if bundle else []
            if bundle and members:
                left_out |= {_make_ref(each) for each in (bundle, *members)} - {ref}
                # what fits best comes first, for the window may have no room for all of them
                members.sort(key=lambda each: ranks.get(_make_ref(each), len(ranks)))
                offers = tuple(each.offer for each in members)
                hits.append(Hit(bundle.offer, score, bundle.manifest.description, offers))
            elif record.manifest.lang != BUNDLE:
                hits.append(Hit(record.offer, score, record.manifest.description))
        return tuple(hits), left_out

    def _make_weak_hits(
        self, nearest: Iterable[tuple[str, float]], caller: Caller
    ) -> list[WeakHit]:
        """Return the first that fit too little; a bundle stands for its members."""
        weak: dict[str, WeakHit] = {}
        for found, _ in self._load_records(nearest, WIDE):
            record = self._find_bundle(found, caller) or found
            kind = record.offer.kind
            members = self._load_members(record, caller)
            if members and all(each.manifest.lang == HOST for each in members):
                kind = "host"  # what runs of it runs inside an agent alone
            weak.setdefault(record.name, WeakHit(record.name, record.manifest.description, kind))
            if len(weak) == WEAK_MOST:
                break
        return [*weak.values()]

    def _find_bundle(self, record: Record, caller: Caller) -> Record | None:
        """Return the bundle that a record is, or the first one of its namespace that it is in."""
        if record.manifest.lang == BUNDLE:
            return record
        home = record.namespace
        for ref in sorted(self._index.list_called(record.name, home)):
            name = _split_ref(ref)[1]
            if name == record.name or not self._is_nearest(ref, caller):
                continue
            other = self._follower_of(home).load_record(name)
            if other and record.name in other.manifest.members and caller.reaches(home, name):
                return other
        return None

    def _load_members(self, bundle: Record, caller: Caller) -> list[Record]:
        """Return the members of a bundle that are there and that the caller reaches.

        They are what its own namespace has under their names, or else the library.
        """
        members: list[Record] = []
        for name in bundle.manifest.members:
            for home in caller.sees[caller.sees.index(bundle.namespace) :]:
                record = self._follower_of(home).load_record(name)
                if record is None or not caller.reaches(home, name):
                    continue
                if record.manifest.lang != BUNDLE:
                    members.append(record)
                break
        return members

    def _load_records(self, found: Iterable[tuple[str, float]], limit: int) -> Iterator[Scored]:
        """Yield the first `limit` records that are still there."""
        places = ((*_split_ref(ref), score) for ref, score in found)
        records = (
            (self._follower_of(home).load_record(name), score) for home, name, score in places
        )
        return islice(((record, score) for record, score in records if record), limit)

    def _load_public(self, found: Iterable[tuple[str, float]], limit: int) -> Iterator[Scored]:
        records = ((self._public_follower.load_record(ref), score) for ref, score in found)
        return islice(((record, score) for record, score in records if record), max(limit, 0))

    def _is_nearest(self, ref: str, caller: Caller) -> bool:
        """Return whether a plain name means this capability to the caller, as in `Catalog.find`."""
        home, name = _split_ref(ref)
        if home not in caller.sees:
            raise DamagedIndexError("it names a capability of another namespace")
        return not any(
            self._index.has(f"{nearer}/{name}", nearer) and caller.reaches(nearer, name)
            for nearer in caller.sees[: caller.sees.index(home)]
        )

    def _retry_damaged(self, ask: Callable[[], Answer], caller: Caller) -> Answer:
        """Return the answer; ask again, from the store itself, when an index file is damaged."""
        followers = (*map(self._follower_of, caller.sees), self._public_follower)
        try:
            answer = self._ask_current(ask, caller)
        except DamagedIndexError:
            for follower in followers:
                follower.reject_snapshot()
            answer = self._ask_current(ask, caller)
        for follower in followers:
            follower.save_snapshot()
        return answer

    def _ask_current(self, ask: Callable[[], Answer], caller: Caller) -> Answer:
        """Return the answer of groups that are up to date.

        It is asked for once more when one of them was given up or begun anew meanwhile.
        """
        for _ in range(RACES):
            now = self._clock()
            followed: list[tuple[Follower, int]] = []
            followers = (*map(self._follower_of, caller.sees), self._public_follower)
            logs = get_many(self._kv, [follower.log_key for follower in followers])
            for follower, log in zip(followers, logs, strict=True):
                begun = follower.follow(now, log)
                if begun is not None:
                    followed.append((follower, begun))
                elif follower is not self._public_follower:
                    self._retire(follower)  # nothing was ever deployed there: nothing to keep
            answer = ask()
            if all(follower.is_current(begun) for follower, begun in followed):
                break
        return answer

    def _follower_of(self, namespace: str) -> Follower:
        with self._lock:
            follower = self._followers.get(namespace)
            if follower is None or follower.retired:
                follower = self._followers[namespace] = self._make_follower(
                    NamespaceSource(self._catalog, namespace)
                )
            self._followers.move_to_end(namespace)
            oldest = (
                next(iter(self._followers.values())) if len(self._followers) > NAMESPACES else None
            )
        if oldest:
            self._retire(oldest)
        return follower

    def _retire(self, follower: Follower) -> None:
        """Retire a follower: it lets its group go before another one may take its place."""
        follower.retire()
        with self._lock:
            if self._followers.get(follower.group) is follower:
                del self._followers[follower.group]

    def _make_follower(self, source: Source) -> Follower:
        return Follower(self._kv, self._index, source, self._snapshots)


class ForeignFilter:
    """Passes the public capabilities of other namespaces that a caller's token reaches.

    Of one namespace it passes not too many.
    """

    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._of: dict[str, list[str]] = {}

    def __call__(self, ref: str) -> bool:
        home, name = _split_ref(ref)
        if home in self._caller.sees or not self._caller.reaches(home, name):
            return False
        passed = self._of.setdefault(home, [])
        if ref not in passed and len(passed) < OF_ONE:
            passed.append(ref)
        return ref in passed

    def rank_in_namespace(self, ref: str) -> int:
        """Return how many of its namespace come before it."""
        return self._of[_split_ref(ref)[0]].index(ref)


def _reach_filter(caller: Caller) -> Filter | None:
    return None if caller.only is None else lambda ref: caller.reaches(*_split_ref(ref))


def _make_ref(record: Record) -> str:
    return f"{record.namespace}/{record.name}"


def _split_ref(ref: str) -> tuple[str, str]:
    """Return namespace and name."""
    namespace, _, name = ref.rpartition("/")
    return namespace, name
