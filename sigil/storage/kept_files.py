"""Files that tools returned, such as pictures: each is kept for its owner, for a week at most.

A file is three things, written in this order: a mark of when it is due, which names the body; the
body, among the artifacts; and its entry, which expires by itself. What has no entry cannot be read.
So whatever a crash leaves behind has a mark, and the sweep removes it. A body begins with the id of
its file, so no two files share one, and none is the body of anything else.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from sigil.errors import BackendError, Refused, UsageError
from sigil.protocol import Caller, KeptFile
from sigil.storage.artifacts import Artifacts, artifact_name
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps

KEPT_SECONDS: Final = 7 * 86_400.0
OWNER_BYTES: Final = 32 << 20
OWNER_FILES: Final = 100
"""The most of one owner; the oldest go."""
DAY_BYTES: Final = 1 << 30
"""The most that is kept in a day for all owners of a namespace, which may be many chats."""
_DAY_SECONDS: Final = 86_400.0
SWEPT_MOST: Final = 500
FILE_ID: Final = re.compile(r"[0-9a-f]{32}", re.ASCII)
FILE_NAME: Final = re.compile(r"[^\W_][\w.-]{0,79}")
"""A name that stays in the folder that it is put into."""
_ID_BYTES: Final = 16
_HEAD: Final = re.compile(rb"sigil file [0-9a-f]{32}\n")


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file that is to be kept, or that was read."""

    name: str
    type: str
    body: bytes


@dataclass(frozen=True, slots=True)
class FileEntry(Stored):
    """The entry of a file. `artifact` is its body, `due` the sort key of its mark."""

    name: str
    type: str
    size: int
    artifact: str
    due: str
    at: float
    until: float


@dataclass(frozen=True, slots=True)
class _Mark(Stored):
    """The mark of a body: the place of its file's entry."""

    artifact: str
    partition: str
    id: str


_ENTRY: Final = Shape[FileEntry](FileEntry)
_MARK: Final = Shape[_Mark](_Mark)


def partition_of(caller: Caller) -> str:
    """Return the partition of a caller's files: those of its chat, or else of its token.

    Who asks with the admin token, or in this process, is the same owner at a shell.
    """
    if caller.session:
        return keys.chat_file(
            keys.session_of_caller(caller.namespace, caller.session), ""
        ).partition
    token = "" if caller.token == "admin" else caller.token
    return keys.token_file(caller.namespace, token, "").partition


class KeptFiles:
    """The files of a store."""

    def __init__(
        self, kv: KV, artifacts: Artifacts, clock: Callable[[], float] = time.time
    ) -> None:
        self._kv = kv
        self._artifacts = artifacts
        self._clock = clock

    def keep(self, file: FileContent, caller: Caller, id: str = "") -> KeptFile:
        """Keep a file for its owner; older ones go when there are too many of them. It gets a new
        `id`, unless whoever keeps it has one that no other file of the owner has.

        Raises `Refused` ERATE when too much was kept today for the namespace.
        """
        self._count(caller.namespace, len(file.body))
        partition = partition_of(caller)
        id = id or secrets.token_hex(_ID_BYTES)
        now = self._clock()
        until = now + KEPT_SECONDS
        body = _head_of(id) + file.body
        artifact = artifact_name(body)
        due = self._mark(_Mark(artifact, partition, id), until)
        self._artifacts.put(body)
        size = len(file.body)
        entry = FileEntry(file.name, file.type, size, artifact, due.sort, now, until)
        self._kv.put(Key(partition, id), dumps(entry), ttl=KEPT_SECONDS)
        if self._evict(partition, id):
            with suppress(BackendError):  # the next sweep goes on
                self.sweep()
        return KeptFile(id, file.name, file.type, size, until)

    def read(self, id: str, caller: Caller) -> FileContent:
        """Return a file of the caller's; `UsageError` ENOENT when it has none of this id."""
        entry = self.locate(id, caller)
        return FileContent(entry.name, entry.type, self._read_body(id, entry))

    def find(self, id: str, caller: Caller) -> KeptFile | None:
        """Return what is known of a file of the caller's; None when it has none of this id."""
        try:
            entry = self.locate(id, caller)
        except UsageError:
            return None
        return KeptFile(id, entry.name, entry.type, entry.size, entry.until)

    def locate(self, id: str, caller: Caller) -> FileEntry:
        """Return the entry of a file of the caller's; `UsageError` ENOENT when it has none of this
        id.
        """
        item = None
        if FILE_ID.fullmatch(id):
            item = self._kv.get(Key(partition_of(caller), id))
        if item is None:
            raise UsageError("ENOENT", "there is no such file, or not any more", source="files")
        return _read_entry(item.value)

    def read_stored(self, id: str, value: bytes) -> FileContent:
        """Return the file of an entry as the store has it."""
        entry = _read_entry(value)
        return FileContent(entry.name, entry.type, self._read_body(id, entry))

    def remove(self, key: Key, value: bytes) -> None:
        """Remove the file whose entry has this key and value; the mark of a damaged one stays."""
        due = ""
        with suppress(BackendError):
            entry = _read_entry(value)
            due = entry.due
        if due:
            self._artifacts.delete(entry.artifact)
        self._kv.delete(key)
        if due:
            self._kv.delete(Key(keys.file_mark(0, "").partition, due))

    def sweep(self) -> int:
        """Remove the files whose time is over, and what crashes left of others."""
        gone = 0
        now = self._clock()
        partition = keys.file_mark(0, "").partition
        for sort, item in self._kv.scan(partition, limit=SWEPT_MOST):
            if int(sort.partition("#")[0]) > now:
                break
            try:
                mark = _MARK.read(item.value)
            except NewerFormat:
                continue
            except ValueError:  # a damaged mark names nothing
                self._kv.delete(Key(partition, sort))
                continue
            self._kv.delete(Key(mark.partition, mark.id))
            self._artifacts.delete(mark.artifact)
            self._kv.delete(Key(partition, sort))
            gone += 1
        return gone

    def _count(self, namespace: str, size: int) -> None:
        """Count what is kept in a day; raise `Refused` ERATE when that would be too much."""

        def add(value: bytes | None) -> tuple[bytes | None, bool]:
            text = (value or b"0").decode("ascii", "replace")
            kept = int(text) if text.isdigit() and len(text) < 16 else 0
            if kept + size > DAY_BYTES:
                return None, False
            return b"%d" % (kept + size), True

        day = time.strftime("%Y-%m-%d", time.gmtime(self._clock()))
        if not update(self._kv, keys.file_bytes(namespace, day), add, 2 * _DAY_SECONDS):
            message = f"files of {DAY_BYTES >> 20:,} MiB were kept here today, and no more are"
            raise Refused("ERATE", message, source="files", suggestion="try again tomorrow")

    def _mark(self, mark: _Mark, due: float) -> Key:
        key = keys.file_mark(due, mark.id)
        self._kv.put(key, dumps(mark))
        return key

    def _evict(self, partition: str, newest: str) -> int:
        """Take the entries of the oldest files away until the rest is not too much; their bodies
        are due now. The `newest` stays.
        """
        entries = dict(self._list_entries(partition))
        newest_first = sorted(entries, key=lambda id: (id != newest, -entries[id].at))
        room = OWNER_BYTES
        gone = 0
        for number, id in enumerate(newest_first):
            entry = entries[id]
            room -= entry.size
            if number == 0 or (room >= 0 and number < OWNER_FILES):
                continue
            # the new mark stands before the old one goes
            self._mark(_Mark(entry.artifact, partition, id), self._clock())
            self._kv.delete(Key(partition, id))
            self._kv.delete(Key(keys.file_mark(0, "").partition, entry.due))
            gone += 1
        return gone

    def _list_entries(self, partition: str) -> Iterator[tuple[str, FileEntry]]:
        for id, item in scan_all(self._kv, partition):
            with suppress(BackendError):
                yield id, _read_entry(item.value)

    def _read_body(self, id: str, entry: FileEntry) -> bytes:
        return self._artifacts.get(entry.artifact).removeprefix(_head_of(id))


def strip_head(body: bytes) -> bytes:
    """Return a file's own bytes of a stored body; `BackendError` EDAMAGED for any other one."""
    head = _HEAD.match(body)
    if head is None:
        raise BackendError("EDAMAGED", "the body of a file is damaged", source="files")
    return body[head.end() :]


def _head_of(id: str) -> bytes:
    """Return how the body of a file begins."""
    return f"sigil file {id}\n".encode()


def _read_entry(value: bytes) -> FileEntry:
    try:
        return _ENTRY.read(value)
    except ValueError:
        raise BackendError("EDAMAGED", "the entry of a file is damaged", source="files") from None
