"""A follower keeps one group of a search index as the store has it.

It reads again what changed, and nothing else.
"""

from __future__ import annotations

import threading
from typing import Final

from sigil.catalog import changes
from sigil.catalog.records import Record
from sigil.errors import BackendError
from sigil.search import DamagedIndexError, Index
from sigil.search.library_index import digest_document
from sigil.search.snapshots import SnapshotStore
from sigil.search.sources import Found, Source
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.encoding import new_version

RECORDS: Final = 1_024
"""Records of a group that are remembered, of those that were found last."""
FEWEST: Final = 8
SHARE: Final = 8
"""A snapshot is due when FEWEST documents, and one of SHARE, are new since the last one."""
AT_ONCE: Final = 500
"""Documents that are written to a snapshot before the query returns; more of them in the
background.
"""
GONE: Final = 4
"""When one of so many documents of an opened file is outdated, the next snapshot is opened instead.
"""


class Follower:
    """Keeps a group of the index as the store has it. Thread-safe."""

    def __init__(self, kv: KV, index: Index, source: Source, snapshots: SnapshotStore) -> None:
        self._kv = kv
        self._index = index
        self._source = source
        self._snapshots = snapshots
        self.group = self._group = source.group
        self.log_key = keys.generation(source.group)
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
        self.retired = False
        """True once it has given its group up: another one may follow it from then on."""

    def follow(self, now: float, item: Item | None) -> int | None:
        """Bring the group up to date with its log, the `item` that was just read.

        Return the number of its beginning for `is_current`; None when nothing was ever there.
        """
        with self._lock:
            if not self.retired:
                if item and item.version != self._version:
                    self._catch_up(item)
                else:
                    self._recheck_open_changes(now)
                self._read_expired(now)
            return self._begun if item else None

    def is_current(self, begun: int) -> bool:
        """Return whether the group was not emptied since that beginning."""
        return not self.retired and self._begun == begun

    def load_record(self, name: str) -> Record | None:
        """Return the record that the group's document of this name was made from, or a newer one.

        It is None when it has gone since.
        """
        with self._lock:
            record = self._records.get(name)
            if record is None:
                found = self._source.find(name)
                if found:
                    record = self._remember_record(name, found)
            return record

    def save_snapshot(self) -> None:
        """Write a snapshot when one is due."""
        with self._lock:
            place = self._place
            if (
                place is None
                or self._new < max(FEWEST, self._index.count_documents(self._group) // SHARE)
                or self._writing
            ):
                return
            self._new = 0  # even if it fails, the next one is due after as many again
            self._writing = True
            at_once = self._index.count_documents(self._group) <= AT_ONCE
        if at_once:
            self._write_snapshot(place)
        else:
            self._writer = threading.Thread(
                target=self._write_snapshot, args=(place,), name="sigil-snapshot", daemon=True
            )
            self._writer.start()

    def retire(self) -> None:
        """Forget everything, and never touch the group again."""
        with self._lock:
            self._reset()
            self.retired = True

    def reject_snapshot(self) -> None:
        """Begin anew without the snapshot that this began with, and write another in its place."""
        with self._lock:
            self._bad = self._opened or self._bad
            self._reset()

    def close(self) -> None:
        """Wait for a snapshot that is being written."""
        if self._writer:
            self._writer.join()

    def _catch_up(self, item: Item) -> None:
        if not self._version:
            self._open_snapshot()
        log = changes.log_of(item)
        if self._place and not _is_ahead(log, self._place):
            item = (
                self._source.read_log() or item
            )  # another thread may have read a newer one meanwhile
            log = changes.log_of(item)
        names = None
        if log and self._place and _is_ahead(log, self._place):
            names = changes.names_since(self._kv, self._group, log, self._place[1])
        if names is None or len(names) > FEWEST + self._index.count_documents(self._group) // 2:
            self._read_changed()
        else:
            for name in names:
                self._update_document(name, self._source.find(name))
        self._version = item.version
        self._place = (log.epoch, log.number) if log else None
        self._unsure = dict(log.open) if log else {}

    def _recheck_open_changes(self, now: float) -> None:
        """Read the names again whose changes were open.

        A process may have made the change after they were read, and ended before it could log that.
        """
        for name, since in list(self._unsure.items()):
            found = self._source.find(name)
            if self._index.get_stamp(self._ref_of(name), self._group) != (
                found[0] if found else None
            ):
                self._update_document(name, found)
            if now - since > changes.OPEN_SECONDS:
                del self._unsure[name]

    def _read_expired(self, now: float) -> None:
        """Read the documents that have expired, and those that had while the clock was ahead."""
        back = [name for name, at in self._lapsed.items() if at > now]
        for name in back:
            del self._lapsed[name]
        expired = self._index.list_expired(self._group, now)
        ended = [ref.removeprefix(f"{self._group}/") for ref in expired]
        self._lapsed |= dict.fromkeys(ended, now)
        for name in (*back, *ended):
            self._update_document(name, self._source.find(name))

    def _open_snapshot(self) -> None:
        """Begin with the newest snapshot, when there is a good one."""
        snapshot = self._snapshots.load_newest(self._group)
        if snapshot is None or snapshot.artifact == self._bad:
            return
        body = self._snapshots.load_body(snapshot)
        try:
            match self._index.open_file(self._group, body or b""):
                case {"group": str(of), "log": [str(epoch), int(number)]} if of == self._group:
                    self._place = epoch, number
                case _:
                    raise DamagedIndexError("an index of something else")
            if self._index.count_documents(self._group) != snapshot.documents:
                raise DamagedIndexError("an index of another number of documents")
            self._opened = snapshot.artifact
        except DamagedIndexError:
            self._reset()
            self._bad = snapshot.artifact

    def _open_shipped(self) -> dict[str, int]:
        """Begin with the index that the package brings, when it is of what the source has.

        Return the digests of its documents. Whether it fits is seen by the first of them.
        """
        body = None if self._bad else self._source.load_shipped()
        if body is None:
            return {}
        try:
            self._index.open_file(self._group, body)
            digests = self._index.list_stamps(self._group)
        except DamagedIndexError:
            digests = {}
        for ref, digest in list(digests.items())[:1]:
            name = ref.removeprefix(f"{self._group}/")
            found = self._source.find(name)
            if found and self._digest(name, found) == digest:
                return digests
        self._index.forget(self._group)
        return {}

    def _digest(self, name: str, found: Found) -> int:
        return digest_document(self._source.make_document(name, found))

    def _read_changed(self) -> None:
        """Read everything whose stamp is not the one that is known."""
        known = self._index.list_stamps(self._group)
        shipped = {} if known else self._open_shipped()
        self._records.clear()
        left = {*known, *shipped}
        for name, stamp, read in self._source.list_all():
            ref = self._ref_of(name)
            left.discard(ref)
            if known.get(ref) == stamp:
                continue
            found = read()
            if found and shipped.get(ref) == self._digest(name, found):
                self._index.set_stamp(ref, self._group, stamp)
                self._remember_record(name, found)
                self._new += 1
            else:
                self._update_document(name, found)
        for ref in left:
            self._index.remove(ref, self._group)

    def _update_document(self, name: str, found: Found | None) -> None:
        self._records.pop(name, None)
        if found:
            self._index.add(self._source.make_document(name, found))
            self._remember_record(name, found)
        else:
            self._index.remove(self._ref_of(name), self._group)
        self._new += 1

    def _remember_record(self, name: str, found: Found) -> Record:
        if len(self._records) >= RECORDS:
            self._records.clear()  # those that are found again are read again
        self._records[name] = found[1]
        return found[1]

    def _write_snapshot(self, place: tuple[str, int]) -> None:
        try:
            if not self._snapshots.is_due(self._group, place, self._bad):
                return
            with self._lock:
                if not self._place:
                    return  # the group was forgotten meanwhile
                group = self._index.copy_group(self._group)
                epoch, number = self._place
            header = {"group": self._group, "log": [epoch, number], "salt": new_version()}
            body = self._index.write_file(group, header)
            self._snapshots.put(self._group, body, (epoch, number), len(group))
            with self._lock:
                outdated = self._index.count_outdated(self._group)
                if outdated * GONE > self._index.count_documents(self._group):
                    self._reset()  # and begin anew with this snapshot
        except (BackendError, ValueError):
            return  # nothing depends on it; somebody else makes one, or this process later
        finally:
            self._writing = False

    def _reset(self) -> None:
        if not self.retired:
            self._index.forget(self._group)
        self._begun += 1
        self._records.clear()
        self._unsure = {}
        self._lapsed = {}
        self._version = ""
        self._opened = ""
        self._place = None
        self._new = 0

    def _ref_of(self, name: str) -> str:
        return name if "/" in name else f"{self._group}/{name}"


def _is_ahead(log: changes.ChangeLog | None, place: tuple[str, int]) -> bool:
    """Return whether the log is the one that the place is in, and as far at least."""
    return log is not None and log.epoch == place[0] and log.number >= place[1]
