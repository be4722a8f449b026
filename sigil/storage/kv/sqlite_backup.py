"""Copy a SQLite store while others use it, and tell what is in its file and who has it open."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from sigil.errors import BackendError, Refused
from sigil.storage.kv.sqlite_file import APPLICATION, SCHEMA
from sigil.storage.stored import FORMAT, OF_CAPABILITIES, read_format

_WAIT_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class StoreFormats:
    """What a store is written in: its schema, its items, and those of them in a newer format.

    `kinds` are the newest formats of the kinds of items (the first parts of their partitions) that
    have a newer one than the first.
    """

    schema: int
    items: int
    newer: int
    kinds: Mapping[str, int] = field(default_factory=dict)

    @property
    def is_readable(self) -> bool:
        """Return whether this program can open the store at all."""
        return self.schema <= SCHEMA


def read_schema(path: Path) -> int:
    """Return the version of a store's schema; `BackendError` when the file is no store of ours."""
    with _open_to_read(path) as connection:
        return _read_schema(path, connection)


def read_formats(path: Path) -> StoreFormats:
    """Return what a store is written in; it reads every item that names a format."""
    with _open_to_read(path) as connection:
        schema = _read_schema(path, connection)
        if schema > SCHEMA:
            return StoreFormats(schema, 0, 0)
        (items,) = connection.execute("SELECT count(*) FROM item").fetchone()
        newer = 0
        kinds: dict[str, int] = {}
        marked = (
            "SELECT partition, value FROM item WHERE instr(value, CAST('\"format\"' AS BLOB)) > 0"
        )
        for partition, value in connection.execute(marked):
            kind = partition.partition(b"#")[0].decode(errors="replace")
            number = FORMAT if kind == OF_CAPABILITIES else read_format(value)
            if number > FORMAT:
                newer += 1
                kinds[kind] = max(number, kinds.get(kind, 0))
        return StoreFormats(schema, items, newer, kinds)


def copy_store(source: Path, target: Path) -> None:
    """Copy a store into a new file (0600) as it is at one moment, and check the copy.

    `BackendError` when that fails.
    """
    os.close(os.open(target, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    _copy_pages(source, target)
    with _open_to_read(target) as connection:
        # one file, without a log beside it
        connection.execute("PRAGMA journal_mode = DELETE")
        _read_schema(target, connection)
        (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise BackendError(
            "EDAMAGED",
            f"the store {source} is damaged: {found}",
            suggestion="restore a backup, or move it away to start empty",
        )


def restore_store(backup: Path, path: Path) -> None:
    """Put a copy back in the place of a store, in one transaction."""
    _copy_pages(backup, path)


def count_items(path: Path, prefix: str, sort: str) -> int:
    """Return how many partitions that begin with `prefix` have an item `sort`."""
    with _open_to_read(path) as connection:
        (count,) = connection.execute(
            "SELECT count(*) FROM item WHERE sort = ?1 AND substr(partition, 1, length(?2)) = ?2",
            (sort.encode(), prefix.encode()),
        ).fetchone()
    return int(count)


def require_unused(path: Path) -> None:
    """Raise `Refused` while another process has the store open."""
    try:
        with closing(sqlite3.connect(path, timeout=0.0)) as connection:
            # only the last connection may give up the log
            connection.execute("PRAGMA journal_mode = DELETE")
    except sqlite3.OperationalError as problem:
        if problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY:
            raise BackendError("EUNAVAILABLE", f"the store {path}: {problem}") from None
        raise Refused(
            "EEXIST",
            f"another process uses the store {path}",
            suggestion="end the server or the chat that runs, and try again",
        ) from None


def _copy_pages(source: Path, target: Path) -> None:
    with (
        _explain_failures(source),
        _open_to_read(source) as readable,
        closing(sqlite3.connect(target, timeout=_WAIT_SECONDS)) as writable,
    ):
        readable.backup(writable)


@contextmanager
def _open_to_read(path: Path) -> Iterator[sqlite3.Connection]:
    with _explain_failures(path):
        # no `mode=ro`: a store whose last writer was killed has a log that reading plays back
        address = f"file:{quote(str(path.absolute()))}?mode=rw"
        with closing(sqlite3.connect(address, timeout=_WAIT_SECONDS, uri=True)) as connection:
            yield connection


def _read_schema(path: Path, connection: sqlite3.Connection) -> int:
    schema, application = connection.execute(
        "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM"
        " pragma_application_id)"
    ).fetchone()
    if application != APPLICATION:
        raise BackendError(
            "EUNAVAILABLE",
            f"the store {path}: it is another program's database",
            suggestion="point UNCAGED_STORE elsewhere",
        )
    return int(schema)


@contextmanager
def _explain_failures(path: Path) -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as problem:
        raise BackendError(
            "EUNAVAILABLE",
            f"the store {path}: {problem}",
            suggestion="check that its folder and its disk can be read and written",
        ) from None
