"""Open a SQLite file of ours: created safely, a connection for each thread, failures in words."""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from sigil.errors import BackendError

SqlValue = str | bytes | int | float | None
"""A value that SQLite stores."""

_T = TypeVar("_T")
APPLICATION = 0x5349474C
"""`SIGL` in the file's header tells that the file is ours."""
_MIGRATIONS = (
    (
        # the value is last, so that a look at versions and lifetimes reads none of its pages
        """CREATE TABLE item (
            partition BLOB NOT NULL, sort BLOB NOT NULL, version TEXT NOT NULL, expires REAL, value BLOB NOT NULL,
            PRIMARY KEY (partition, sort)
        ) WITHOUT ROWID""",
        "CREATE INDEX item_expires ON item (expires) WHERE expires IS NOT NULL",
    ),
)
"""The statements that lead from one schema version to the next; `user_version` counts those that
have run.
"""

SCHEMA = len(_MIGRATIONS)
"""The version of the schema that this program writes, and the newest that it reads."""

_WRITABLE = "check that its folder exists and that you may write to both"
_FAILURES = {
    sqlite3.SQLITE_FULL: ("the disk is full", "free some space and try again"),
    sqlite3.SQLITE_BUSY: (
        "another process keeps it locked",
        "end the process that holds it, or try again",
    ),
    sqlite3.SQLITE_READONLY: ("it cannot be written", _WRITABLE),
    sqlite3.SQLITE_PERM: ("it cannot be opened", _WRITABLE),
    sqlite3.SQLITE_CANTOPEN: ("it cannot be opened", _WRITABLE),
    sqlite3.SQLITE_IOERR: (
        "it cannot be read or written",
        "check the disk (its space, its quota, its health)",
    ),
    sqlite3.SQLITE_NOTADB: (
        "it is not a SQLite database",
        "point UNCAGED_STORE elsewhere, or move the file away",
    ),
    sqlite3.SQLITE_CORRUPT: (
        "it is damaged",
        "restore a backup, or move it away with its -wal and -shm files to start empty",
    ),
}


class SqliteFile:
    """Connections to one file, each used by one thread at a time and kept for the next.

    Failures are `BackendError`.
    """

    def __init__(self, path: Path | str, timeout: float) -> None:
        self._path = os.path.abspath(path)
        self._timeout = timeout
        self._idle: deque[sqlite3.Connection] = deque()
        self._process = os.getpid()
        self._closed = False
        self._create_if_missing()
        self._with_connection(self._prepare)

    def query_rows(self, statement: str, values: Sequence[SqlValue]) -> list[tuple[Any, ...]]:
        """Return the rows that a query finds."""
        return self._with_connection(
            lambda connection: connection.execute(statement, values).fetchall()
        )

    def stream_rows(self, statement: str, values: Sequence[SqlValue]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows that a query finds, as they are when the first is read.

        Only some of them are in memory. Others may write meanwhile; what they write stays in the
        log until the last row was read.
        """
        try:
            connection = self._take_connection()
            try:
                yield from connection.execute(statement, values)
            finally:
                connection.close()
        except sqlite3.Error as problem:
            raise self._explain_failure(problem) from None

    def change_rows(self, statement: str, values: Sequence[SqlValue]) -> int:
        """Run a statement as a transaction of its own, and return how many rows it changed."""
        return self._with_connection(
            lambda connection: connection.execute(statement, values).rowcount
        )

    def close(self) -> None:
        """Close the idle connections; the others are closed when their work is done."""
        self._closed = True
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                self._idle.pop().close()

    def _with_connection(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """Return the result of `work` on a connection that no other thread has meanwhile."""
        try:
            connection = self._take_connection()
            try:
                result = work(connection)
            except BaseException:
                connection.close()
                raise
            self._idle.append(connection)
            if self._closed:
                self.close()
        except sqlite3.Error as problem:
            raise self._explain_failure(problem) from None
        return result

    def _explain_failure(self, problem: sqlite3.Error) -> BackendError:
        # The code is absent when Python itself refused; its low byte is the primary code.
        code = getattr(problem, "sqlite_errorcode", 0) & 0xFF
        name = getattr(problem, "sqlite_errorname", type(problem).__name__)
        what, suggestion = _FAILURES.get(code, (f"SQLite failed ({name})", ""))
        return self._make_unusable(what, suggestion)

    def _take_connection(self) -> sqlite3.Connection:
        if self._closed:
            raise BackendError("EUNAVAILABLE", f"the store {self._path} is closed")
        if os.getpid() != self._process:  # SQLite's locks do not survive a fork
            raise BackendError(
                "EUNAVAILABLE",
                f"the store {self._path} was opened before a fork",
                suggestion="open it in the new process",
            )
        try:
            return self._idle.pop()
        except IndexError:
            connection = sqlite3.connect(
                self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False
            )
            connection.execute("PRAGMA synchronous = NORMAL")
            # the bytes of what is deleted are overwritten; some builds of SQLite leave them there
            connection.execute("PRAGMA secure_delete = ON")
            return connection

    def _create_if_missing(self) -> None:
        """Create the file and its folders.

        An existing file is never opened here: closing it would drop SQLite's locks of this process.
        """
        try:
            _make_folders(os.path.dirname(self._path))
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return
        except OSError as problem:
            raise self._make_unusable(
                f"it cannot be created ({problem.strerror})", _WRITABLE
            ) from None

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Switch to write-ahead logging (readers beside one writer), and bring the schema to the
        newest version, once, whichever process comes first.
        """
        deadline = time.monotonic() + self._timeout
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
                break
            except sqlite3.OperationalError as problem:
                is_busy = problem.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
                if not is_busy or time.monotonic() > deadline:
                    raise
                time.sleep(0.005)  # SQLite does not wait by itself here
        if self._read_version(connection) == SCHEMA:
            return
        connection.execute("BEGIN IMMEDIATE")
        for statements in _MIGRATIONS[self._read_version(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {SCHEMA}")
        connection.execute("COMMIT")

    def _read_version(self, connection: sqlite3.Connection) -> int:
        """Return the schema's version; `BackendError` when the file is not ours, or too new."""
        version, application, tables, odd = connection.execute(
            "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM"
            " pragma_application_id), (SELECT count(*) FROM sqlite_master), (SELECT count(*) FROM"
            " sqlite_master WHERE type IN ('view', 'trigger'))"
        ).fetchone()
        # a view and a trigger are programs
        if odd or (application, bool(tables)) not in {(APPLICATION, True), (0, False)}:
            raise self._make_unusable(
                "it is another program's database", "point UNCAGED_STORE elsewhere"
            )
        if version > SCHEMA:
            raise self._make_unusable(
                "a newer version of this program made it", "update the program"
            )
        return int(version)

    def make_damage_error(self) -> BackendError:
        """Return the error for a row that this program cannot have written."""
        return self._make_unusable(*_FAILURES[sqlite3.SQLITE_CORRUPT])

    def _make_unusable(self, what: str, suggestion: str) -> BackendError:
        return BackendError(
            "EUNAVAILABLE", f"the store {self._path}: {what}", suggestion=suggestion
        )


def _make_folders(folder: str) -> None:
    if not os.path.isdir(folder):
        _make_folders(os.path.dirname(folder))
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)
