"""One group of a search index that follows the store: what changed is read again, and nothing
else.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from typing import Any, Final

from sigil.catalog import changes
from sigil.catalog.records import Record
from sigil.errors import BackendError
from sigil.search import DamagedIndexError, Index
from sigil.search.group import Group
from sigil.search.snapshots import Snapshots
from sigil.search.sources import Found, Source
from sigil.storage.kv import KV, Item
from sigil.storage.kv.encoding import new_version

RECORDS: Final = 1_024
"""So many records of a group are kept, of those that were found last."""
FEWEST: Final = 8
SHARE: Final = 8
"""A snapshot is made when so many documents are new since the last one: FEWEST, and one of SHARE.
"""
AT_ONCE: Final = 500
"""Documents that are written to a snapshot before the query returns; more of them in the
background.
"""
GONE: Final = 4
"""When one of so many documents of an opened file is outdated, the next snapshot is opened instead.
"""


class Follower:
    """Keeps a group of the index as the store has it. Thread-safe."""

    def __init__(self, kv: KV, index: Index, source: Source, snapshots: Snapshots) -> None:
        self._kv = kv
        self._index = index
        self._source = source
        self._snapshots = snapshots
        self.group = self._group = source.group
        self._lock = threading.Lock()
        self._records: dict[str, Record] = {}
        self._version = ""
        self._place: tuple[str, int] | None = None
        self._new = 0
        self._opened = self._bad = ""
        self._unsure: dict[str, float] = {}
        self._lapsed: dict[str, float] = {}
        self._begun = 0
        self._writing = False
        self._writer: threading.Thread | None = None
        self.over = False
        """Whether it has given its group up: another one may follow it from then on."""

    def follow(self, now: float) -> int | None:
        """Bring the group up to date; None when nothing was ever there. For `stands`: which
        beginning this is.
        """
        item = self._source.log()
        with self._lock:
            if not self.over:
                if item and item.version != self._version:
                    self._catch_up(item)
                else:
                    self._look_again(now)
                self._end(now)
            return self._begun if item else None

    def stands(self, begun: int) -> bool:
        """Whether the group was not emptied since that beginning."""
        return not self.over and self._begun == begun

    def record(self, name: str) -> Record | None:
        """The record that the group's document of this name was made from, or a newer one; None
        when it has gone since.
        """
        with self._lock:
            record = self._records.get(name)
            if record is None:
                found = self._source.find(name)
                if found:
                    record = self._keep(name, found)
            return record

    def save(self) -> None:
        """Make a snapshot when one is due."""
        with self._lock:
            place = self._place
            if (
                place is None
                or self._new < max(FEWEST, self._index.size(self._group) // SHARE)
                or self._writing
            ):
                return
            self._new = 0  # whatever comes of it: the next one is due after as many again
            self._writing = True
            at_once = self._index.size(self._group) <= AT_ONCE
        if at_once:
            self._write(place)
        else:
            self._writer = threading.Thread(
                target=self._write, args=(place,), name="sigil-snapshot", daemon=True
            )
            self._writer.start()

    def retire(self) -> None:
        """Forget everything, and never touch the group again."""
        with self._lock:
            self._forget()
            self.over = True

    def distrust(self) -> None:
        """Begin anew without the snapshot that this one began with, and put another in its
        place.
        """
        with self._lock:
            self._bad = self._opened or self._bad
            self._forget()

    def close(self) -> None:
        """Wait for a snapshot that is being written."""
        if self._writer:
            self._writer.join()

    def _catch_up(self, item: Item) -> None:
        if not self._version:
            self._open()
        log = changes.log_of(item)
        if self._place and not _goes_on(log, self._place):
            item = self._source.log() or item  # another thread may have read a newer one meanwhile
            log = changes.log_of(item)
        on = log if self._place and _goes_on(log, self._place) else None
        names = (
            changes.since(self._kv, self._group, on, self._place[1]) if on and self._place else None
        )
        if names is None or len(names) > FEWEST + self._index.size(self._group) // 2:
            self._walk()
        else:
            for name in names:
                self._read(name, self._source.find(name))
        self._version, self._place = item.version, (log.epoch, log.number) if log else None
        self._unsure = dict(log.open) if log else {}

    def _look_again(self, now: float) -> None:
        """Whoever was changing these names may have made the change after they were read, and ended
        before saying so.
        """
        for name, since in list(self._unsure.items()):
            found = self._source.find(name)
            if self._index.stamp(self._ref(name), self._group) != (found[0] if found else None):
                self._read(name, found)
            if now - since > changes.OPEN_SECONDS:
                del self._unsure[name]

    def _end(self, now: float) -> None:
        """Read what has ended, and what had when the clock was ahead of now."""
        back = [name for name, at in self._lapsed.items() if at > now]
        for name in back:
            del self._lapsed[name]
        ended = self._names(self._index.ended(self._group, now))
        self._lapsed |= dict.fromkeys(ended, now)
        for name in (*back, *ended):
            self._read(name, self._source.find(name))

    def _open(self) -> None:
        """Begin with the newest snapshot, when there is a good one."""
        snapshot = self._snapshots.newest(self._group)
        if snapshot is None or snapshot.artifact == self._bad:
            return
        body = self._snapshots.body(snapshot)
        try:
            self._place = _place(self._index.open(self._group, body or b""), self._group)
            if self._index.size(self._group) != snapshot.documents:
                raise DamagedIndexError("an index of another number of documents")
            self._opened = snapshot.artifact
        except DamagedIndexError:
            self._forget()
            self._bad = snapshot.artifact

    def _walk(self) -> None:
        """Read everything that is not known as it stands."""
        known = self._index.stamps(self._group)
        self._records.clear()
        left = set(known)
        for name, stamp, read in self._source.all():
            ref = self._ref(name)
            left.discard(ref)
            if known.get(ref) != stamp:
                self._read(name, read())
        for ref in left:
            self._index.remove(ref, self._group)

    def _read(self, name: str, found: Found | None) -> None:
        self._records.pop(name, None)
        if found:
            self._index.add(self._source.document(name, found))
            self._keep(name, found)
        else:
            self._index.remove(self._ref(name), self._group)
        self._new += 1

    def _keep(self, name: str, found: Found) -> Record:
        if len(self._records) >= RECORDS:
            self._records.clear()  # those that are found again are read again
        self._records[name] = found[1]
        return found[1]

    def _write(self, place: tuple[str, int]) -> None:
        try:
            taken = self._taken() if self._snapshots.due(self._group, place, self._bad) else None
            if taken:
                still, (epoch, number) = taken
                body = self._index.seal(
                    still, {"group": self._group, "log": [epoch, number], "salt": new_version()}
                )
                self._snapshots.put(self._group, body, (epoch, number), len(still))
                self._renew()
        except (
            BackendError,
            ValueError,
        ):  # nothing depends on it; somebody else makes one, or this process later
            return
        finally:
            self._writing = False

    def _taken(self) -> tuple[Group, tuple[str, int]] | None:
        """The group and the place that it is at; None when it was forgotten meanwhile."""
        with self._lock:
            return (self._index.still(self._group), self._place) if self._place else None

    def _renew(self) -> None:
        """When much of the opened file is outdated, begin anew, with what was just written."""
        with self._lock:
            if self._index.gone(self._group) * GONE > self._index.size(self._group):
                self._forget()

    def _forget(self) -> None:
        if not self.over:
            self._index.forget(self._group)
        self._begun += 1
        self._records.clear()
        self._unsure, self._lapsed = {}, {}
        self._version, self._opened, self._place, self._new = "", "", None, 0

    def _ref(self, name: str) -> str:
        return name if "/" in name else f"{self._group}/{name}"

    def _names(self, refs: Iterable[str]) -> list[str]:
        return [ref.removeprefix(f"{self._group}/") for ref in refs]


def _place(header: dict[str, Any], group: str) -> tuple[str, int]:
    match header:
        case {"group": str(of), "log": [str(epoch), int(number)]} if of == group:
            return epoch, number
    raise DamagedIndexError("an index of something else")


def _goes_on(log: changes.Log | None, place: tuple[str, int]) -> bool:
    """Whether the log is the one that the place is in, and as far at least."""
    return log is not None and log.epoch == place[0] and log.number >= place[1]
