"""Verify a backup, and put it into a store of any kind.

The items are written in an order in which nothing names what is not there yet. A store in one file
is made beside the old one and takes its place at one moment. Any other store has a mark while it is
filled: with it no server starts, and the same command begins again.
"""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final, TypeVar

import orjson

from functions.backup import contents
from functions.backup.archive import ArchiveReader
from functions.backup.encryption import decrypt
from functions.backup.format import (
    HEADS,
    PARTS,
    POSTED,
    REST,
    WAITING,
    decode_item,
    make_damage_error,
)
from functions.backup.saving import LastBackup, note_backup
from functions.queues.waiting_events import encode_due
from functions.settings import Settings
from sigil.errors import BackendError, Refused
from sigil.json_fields import as_mapping, as_sequence
from sigil.settings import without_userinfo
from sigil.storage.files import lock_folder, make_write_error
from sigil.storage.kv import KV, keys
from sigil.storage.kv.base import BoundsItems, ScannedItem, scan_everything
from sigil.storage.kv.restoration import (
    Restoration,
    begin_restoration,
    end_restoration,
    find_restoration,
)
from sigil.storage.kv.sqlite import SqliteKV
from sigil.storage.kv.sqlite_backup import require_unused, restore_store
from sigil.storage.stored import FORMAT, NewerFormat
from sigil.wiring import Stores, artifacts_folder, open_stores, sqlite_path

EVERY: Final = 1_000
WORKERS: Final = 8
"""Writes at the same time to a store over a network."""
BATCH_BYTES: Final = 4 << 20
BATCH_ITEMS: Final = 64
PASSES: Final = 10
"""So often a store is looked through until nothing is in it."""
UNFINISHED: Final = ".restoring-"
_T = TypeVar("_T")
Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class BackupSecrets:
    """The secrets of a backup: items of the store, and settings by name."""

    items: tuple[ScannedItem, ...]
    settings: Mapping[str, str]


NO_SECRETS: Final = BackupSecrets((), {})


@dataclass(frozen=True, slots=True)
class Restored:
    """What was restored. `ended`: items whose time had run out since the backup."""

    items: int
    ended: int
    artifacts: int
    secrets: int
    replaced: bool


def verify_backup(reader: ArchiveReader, watch: Watch) -> None:
    """Read a backup from end to end, without a store; `BackendError` when it is not whole, or when
    an item has a format that only a newer version reads.
    """
    known = {*reader.artifacts, *reader.manifest.missing}
    for part in PARTS:
        for number, item in enumerate(reader.read_part(part)):
            if number % EVERY == 0:
                watch(f"checking {part}: {number:,} items")
            if contents.part_of(item.key) != (WAITING if contents.is_waiting(part) else part):
                raise make_damage_error("an item is where no backup has it")
            if contents.format_of(item) > FORMAT:
                raise NewerFormat(contents.format_of(item))
            if not known.issuperset(contents.find_artifacts(item, is_trusted=False)):
                raise make_damage_error("an item names an artifact that is not in it")
    for number, name in enumerate(reader.artifacts):
        if number % 100 == 0:
            watch(f"checking artifacts: {number:,} of {len(reader.artifacts):,}")
        reader.read_artifact(name)


def open_secrets(reader: ArchiveReader, passphrase: str) -> BackupSecrets:
    """Return the secrets of a backup that has some; `Refused` EAUTH for a wrong passphrase."""
    body = decrypt(reader.read_secrets(), passphrase, reader.binding)
    try:
        fields = as_mapping(orjson.loads(body))
    except ValueError:
        raise make_damage_error("its secrets cannot be read") from None
    items = [decode_item(orjson.dumps(row)) for row in as_sequence(fields.get("items"))]
    if any(contents.kind_of(item.key) != contents.SECRET for item in items):
        raise make_damage_error("something else is among its secrets")
    values = as_mapping(fields.get("settings"))
    return BackupSecrets(tuple(items), {name: str(value) for name, value in values.items()})


def restore_backup(
    settings: Settings,
    reader: ArchiveReader,
    secrets: BackupSecrets,
    watch: Watch,
    *,
    replaces: bool = False,
    clock: Callable[[], float] = time.time,
) -> Restored:
    """Put a backup that was verified into the store of the settings.

    `Refused` EEXIST when something is in it, unless it `replaces` that, and for a file that another
    process has open.
    """

    def fill(stores: Stores) -> _Filling:
        return _Filling(stores, reader, secrets, watch, clock)

    path = sqlite_path(settings)
    if path is None:
        name = without_userinfo(settings.store)
        return fill(open_stores(settings)).fill_shared(replaces=replaces, name=name)
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = path.parent
        others = f"another restoration fills {folder}"
        with lock_folder(folder, others, "wait until it has ended"):
            _require_space(path.parent, reader)
            return _restore_file(settings, path, fill, replaces=replaces)
    except OSError as problem:
        raise make_write_error(path, problem) from None


def _restore_file(
    settings: Settings, path: Path, fill: Callable[[Stores], _Filling], *, replaces: bool
) -> Restored:
    """Fill a new file beside the store, and copy it over the store in one transaction."""
    for left in path.parent.glob(f"{UNFINISHED}*"):
        shutil.rmtree(left, ignore_errors=True)  # of one that was killed
    is_filled = path.exists() and path.stat().st_size > 0
    if is_filled:
        kv = SqliteKV(path)
        with _closing(kv):
            is_filled = _has_items(kv)
        if is_filled and not replaces:
            raise _make_filled_error(str(path))
        require_unused(path)
    folder = tempfile.mkdtemp(prefix=UNFINISHED, dir=path.parent)
    try:
        draft = Path(folder) / path.name
        artifacts = settings.artifacts or str(artifacts_folder(settings))
        stores = open_stores(replace(settings, store=f"sqlite:///{draft}", artifacts=artifacts))
        with _closing(stores.kv):
            restored = fill(stores).write_all(workers=1)
        if not path.exists():
            SqliteKV(path).close()  # so that nobody else can read it
        restore_store(draft, path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return replace(restored, replaced=is_filled)


@dataclass(frozen=True, slots=True)
class _Filling:
    """The filling of one store with one backup."""

    stores: Stores
    reader: ArchiveReader
    secrets: BackupSecrets
    watch: Watch
    clock: Callable[[], float]

    def fill_shared(self, *, replaces: bool, name: str) -> Restored:
        """Fill a store that other machines may use; a mark stands in it until all is there."""
        kv = self.stores.kv
        begun = find_restoration(kv)
        is_again = begun is not None and begun.digest == self.reader.digest
        is_filled = begun is not None or _has_items(kv)
        if is_filled and not (is_again or replaces):
            raise _make_filled_error(name)
        self._require_fitting(kv)
        file = self.reader.path.name
        begin_restoration(kv, Restoration(digest=self.reader.digest, file=file, at=self.clock()))
        if is_filled:
            self._remove_all()
        restored = self.write_all(workers=WORKERS)
        end_restoration(kv)
        return replace(restored, replaced=is_filled)

    def write_all(self, *, workers: int) -> Restored:
        """Write the artifacts, then what names them, then what names that."""
        kv = self.stores.kv
        now = self.clock()
        items = 0
        ended = 0
        with ThreadPoolExecutor(workers) as pool:
            bodies = map(self.reader.read_artifact, self.reader.artifacts)
            for number, batch in enumerate(_batch(bodies, len)):
                self.watch(f"restoring artifacts: batch {number + 1:,}")
                _run_all(pool, self.stores.artifacts.put, batch)
            for part in (REST, HEADS, WAITING, POSTED):
                for rows in _batch(self.reader.read_part(part), _count_bytes):
                    live = [row for row in rows if row.expires is None or row.expires > now]
                    _run_all(pool, partial(_put_item, kv, now), live)
                    if contents.is_waiting(part):
                        sessions = sorted({contents.session_of_inbox(row.key) for row in live})
                        _run_all(pool, partial(_mark_ready, kv), sessions)
                    if items // EVERY != (items + len(live)) // EVERY:
                        self.watch(f"restoring {part}: {items + len(live):,} items")
                    items += len(live)
                    ended += len(rows) - len(live)
            _run_all(pool, partial(_put_item, kv, now), self.secrets.items)
        manifest = self.reader.manifest
        file = self.reader.path.name
        note_backup(kv, LastBackup(at=manifest.ended, file=file, items=manifest.items))
        return Restored(
            items, ended, len(self.reader.artifacts), len(self.secrets.items), replaced=False
        )

    def _require_fitting(self, kv: KV) -> None:
        """Raise `UsageError` ETOOBIG for an item that the store cannot take, before it is changed.

        Another kind of store may have taken it.
        """
        if isinstance(kv, BoundsItems):
            for part in PARTS:
                for item in self.reader.read_part(part):
                    kv.require_fitting(item.key, item.value)

    def _remove_all(self) -> None:
        """Remove everything but the mark."""
        kv = self.stores.kv
        with ThreadPoolExecutor(WORKERS) as pool:
            for _ in range(PASSES):
                removed = 0
                for rows in _batch(scan_everything(kv), _count_bytes):
                    others = [row.key for row in rows if row.key != keys.restoring()]
                    _run_all(pool, kv.delete, others)
                    removed += len(others)
                    self.watch(f"removing what is in the store: {removed:,} items")
                if not removed:
                    return
        raise Refused(
            "EEXIST",
            "somebody writes to the store all the time",
            suggestion="stop its servers, and give the command again",
        )


def _put_item(kv: KV, now: float, item: ScannedItem) -> None:
    kv.put(item.key, item.value, ttl=None if item.expires is None else item.expires - now)


def _mark_ready(kv: KV, session: str) -> None:
    kv.put(keys.ready_session(session), encode_due(0.0))


def _run_all(pool: Executor, work: Callable[[_T], object], values: Iterable[_T]) -> None:
    """Do the work for each of the values; what one of them raises is raised here."""
    for _ in pool.map(work, values):
        pass


def _batch(values: Iterable[_T], size_of: Callable[[_T], int]) -> Iterator[list[_T]]:
    """Yield the values in lists that are bounded in number and in bytes."""
    batch: list[_T] = []
    size = 0
    for value in values:
        batch.append(value)
        size += size_of(value)
        if len(batch) >= BATCH_ITEMS or size >= BATCH_BYTES:
            yield batch
            batch = []
            size = 0
    if batch:
        yield batch


def _count_bytes(item: ScannedItem) -> int:
    return len(item.value)


def _has_items(kv: KV) -> bool:
    """Return whether something is in a store that a restoration would mix with a backup."""
    return any(
        contents.part_of(item.key) or contents.kind_of(item.key) == contents.SECRET
        for item in scan_everything(kv)
    )


def _make_filled_error(name: str) -> Refused:
    return Refused(
        "EEXIST",
        f"the store is not empty: {name}",
        suggestion="name an empty one; --replace removes what is in it (make a backup first)",
    )


def _require_space(folder: Path, reader: ArchiveReader) -> None:
    """Raise `BackendError` when the disk has too little room for the store and its copy."""
    manifest = reader.manifest
    needed = 2 * sum(part.bytes for part in manifest.parts.values()) + manifest.artifact_bytes
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise BackendError(
            "EUNAVAILABLE",
            f"the backup may need {needed >> 20:,} MiB at {folder}, {free >> 20:,} MiB are free",
            suggestion="free some space there, or restore into another store",
        )


@contextmanager
def _closing(kv: KV) -> Iterator[None]:
    try:
        yield
    finally:
        if isinstance(kv, SqliteKV):
            kv.close()
