"""A SQLite file of ours: made safely, opened by as many connections as work at once, its failures
put in words.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from sigil.errors import BackendError

_T = TypeVar("_T")
_APPLICATION = 0x5349474C  # "SIGL", in the file's header: whose file it is
_MIGRATIONS = (
    (
        # The value stands last: what only looks at versions and lifetimes reads none of its pages.
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
    """Connections to one file, each used by one thread at a time and kept for the next. Failures
    are `BackendError`.
    """

    def __init__(self, path: Path | str, timeout: float) -> None:
        self._path = os.path.abspath(path)
        self._timeout = timeout
        self._idle: deque[sqlite3.Connection] = deque()
        self._process = os.getpid()
        self._closed = False
        self._make()
        self._done(self._set_up)

    def rows(self, statement: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        """What a query finds."""
        return self._done(lambda connection: connection.execute(statement, values).fetchall())

    def change(self, statement: str, values: Sequence[Any]) -> int:
        """How many rows a statement, a transaction of its own, changes."""
        return self._done(lambda connection: connection.execute(statement, values).rowcount)

    def close(self) -> None:
        """Close the idle connections; those at work close when they are done."""
        self._closed = True
        while self._idle:
            with suppress(IndexError):  # another thread took the last one
                self._idle.pop().close()

    def _set_up(self, connection: sqlite3.Connection) -> None:
        _use_wal(connection, self._timeout)
        self._migrate(connection)

    def _done(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        """What `work` makes of a connection that nobody else has meanwhile."""
        try:
            connection = self._borrow()
            try:
                made = work(connection)
            except BaseException:
                connection.close()
                raise
            self._give_back(connection)
        except sqlite3.Error as problem:
            raise self._failure(problem) from None
        return made

    def _borrow(self) -> sqlite3.Connection:
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
            return self._open()

    def _give_back(self, connection: sqlite3.Connection) -> None:
        self._idle.append(connection)
        if self._closed:
            self.close()

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            self._path, timeout=self._timeout, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA synchronous = NORMAL")
        return connection

    def _make(self) -> None:
        """Make what is missing. An existing file is never opened here: closing it would drop
        SQLite's locks of this process.
        """
        try:
            _make_folders(os.path.dirname(self._path))
            os.close(os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            return
        except OSError as problem:
            raise self._unusable(f"it cannot be made ({problem.strerror})", _WRITABLE) from None

    def _migrate(self, connection: sqlite3.Connection) -> None:
        """Bring the schema to the newest version, once, whichever process comes first."""
        if self._version(connection) == len(_MIGRATIONS):
            return
        connection.execute("BEGIN IMMEDIATE")
        for statements in _MIGRATIONS[self._version(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {_APPLICATION}")
        connection.execute(f"PRAGMA user_version = {len(_MIGRATIONS)}")
        connection.execute("COMMIT")

    def _version(self, connection: sqlite3.Connection) -> int:
        version, application, tables, odd = connection.execute(
            "SELECT (SELECT user_version FROM pragma_user_version), (SELECT application_id FROM"
            " pragma_application_id), (SELECT count(*) FROM sqlite_master), (SELECT count(*) FROM"
            " sqlite_master WHERE type IN ('view', 'trigger'))"
        ).fetchone()
        if odd or (application, bool(tables)) not in {
            (_APPLICATION, True),
            (0, False),
        }:  # a view and a trigger are programs
            raise self._unusable(
                "it is another program's database", "point UNCAGED_STORE elsewhere"
            )
        if version > len(_MIGRATIONS):
            raise self._unusable("a newer version of this program made it", "update the program")
        return int(version)

    def damaged(self) -> BackendError:
        """For a row that was not written by us so."""
        return self._unusable(*_FAILURES[sqlite3.SQLITE_CORRUPT])

    def _failure(self, problem: sqlite3.Error) -> BackendError:
        code = (
            getattr(problem, "sqlite_errorcode", 0) & 0xFF
        )  # absent when Python itself refused; the low byte is the primary code
        what, help_ = _FAILURES.get(
            code,
            (f"SQLite failed ({getattr(problem, 'sqlite_errorname', type(problem).__name__)})", ""),
        )
        return self._unusable(what, help_)

    def _unusable(self, what: str, suggestion: str) -> BackendError:
        return BackendError(
            "EUNAVAILABLE", f"the store {self._path}: {what}", suggestion=suggestion
        )


def _make_folders(folder: str) -> None:
    if not os.path.isdir(folder):
        _make_folders(os.path.dirname(folder))
        with suppress(FileExistsError):
            os.mkdir(folder, 0o700)


def _use_wal(connection: sqlite3.Connection, timeout: float) -> None:
    """Switch to write-ahead logging: readers and one writer side by side."""
    deadline = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as problem:
            if (
                problem.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY
                or time.monotonic() > deadline
            ):
                raise
            time.sleep(0.005)  # SQLite does not wait by itself here
