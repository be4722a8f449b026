"""Measures the embedded store and its queue, each number beside the bare SQLite statements in the same
run.
"""

from __future__ import annotations

import os
import sqlite3
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Final

from functions.events import Event, Sender, order_of
from functions.queues.store_queue import StoreQueue
from scripts.benchmarks.rows import Row
from sigil.storage.kv import ABSENT, KV, Key
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.sqlite import SqliteKV

ROUNDS: Final = 8
REPEATS: Final = 400
VALUE: Final = b"x" * 400
DOCUMENT: Final = os.urandom(50_000)

_SCHEMA = (
    "CREATE TABLE item (p BLOB, s BLOB, version TEXT, expires REAL, value BLOB, PRIMARY KEY (p, s))"
    " WITHOUT ROWID"
)
_PUT = (
    "INSERT INTO item VALUES (?, ?, 'version', NULL, ?) ON CONFLICT DO UPDATE SET version = 'new',"
    " value = excluded.value"
)
_GET = "SELECT value, version FROM item WHERE p = ? AND s = ?"
_SCAN = "SELECT s, value, version FROM item WHERE p = ? AND s >= ? ORDER BY s LIMIT ?"
_DELETE = "DELETE FROM item WHERE p = ? AND s = ?"

Work = Callable[[int], object]


def run(data: Path | None) -> Iterator[Row]:
    """Measure in microseconds of wall time a call, each beside the bare statements."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        with (
            closing(SqliteKV(folder / "verbs.db")) as kv,
            closing(_open_bare(folder / "bare.db")) as floor,
        ):
            operations = _list_operations(kv).items()
            for (name, work), statements in zip(operations, _list_floors(floor), strict=True):
                value, least = _compare(work, statements)
                yield Row(f"store sqlite {name}", value, "µs", floor=least)
        for name, work in _list_operations(MemoryKV()).items():
            yield Row(f"store memory {name}", _compare(work, work)[0], "µs")
        yield from _measure_queue(folder)


def _measure_queue(folder: Path) -> Iterator[Row]:
    """Measure the inbox on SQLite: one event, many workers, and how soon a waiting worker starts."""
    with (
        closing(SqliteKV(folder / "queue.db")) as kv,
        closing(_open_bare(folder / "floor.db")) as floor,
    ):
        inbox = StoreQueue(kv)

        def put(number: int) -> None:
            inbox.put(_make_event(number))

        def take(_: int) -> None:
            _handle_one(inbox)

        def put_bare(number: int) -> None:
            floor.execute(_PUT, (b"inbox%d" % (number % 50), b"%06d" % number, VALUE))
            floor.execute(_PUT, (b"ready", b"%d" % (number % 50), b"{}"))

        def take_bare(number: int) -> None:
            chat = b"%d" % (number % 50)
            sort = b"%06d" % number
            floor.execute(_SCAN, (b"ready", b"", 8)).fetchall()
            floor.execute(_PUT, (b"claim", chat, b""))
            floor.execute(_SCAN, (b"inbox" + chat, b"", 2)).fetchall()
            floor.execute(_DELETE, (b"inbox" + chat, sort))
            floor.execute(_DELETE, (b"ready", chat))
            floor.execute(_DELETE, (b"claim", chat))

        value, least = _compare(put, put_bare, after=take)
        yield Row("inbox put", value, "µs", floor=least)
        value, least = _compare(take, take_bare, before=put)
        yield Row("inbox take + done", value, "µs", floor=least)
        yield Row("inbox put → take by a waiting worker, p50", _measure_wakeup(inbox), "µs")
        yield Row("inbox 4 workers, 50 sessions", _measure_throughput(inbox), "/s")


def _compare(
    work: Work, floor: Work, before: Work | None = None, after: Work | None = None
) -> tuple[float, float]:
    """Return the microseconds of a call of `work` and of `floor`, which take turns: the best round of
    each. `before` and `after` are done for `work`, untimed.
    """
    ours, least = [], []
    for turn in range(ROUNDS):
        numbers = range(turn * REPEATS, (turn + 1) * REPEATS)
        _time_calls(before, numbers)
        ours.append(_time_calls(work, numbers))
        _time_calls(after, numbers)
        least.append(_time_calls(floor, numbers))
    return min(ours), min(least)


def _time_calls(work: Work | None, numbers: range) -> float:
    """Call `work` with each number; return the microseconds of a call."""
    started = time.perf_counter()
    if work:
        for number in numbers:
            work(number)
    return (time.perf_counter() - started) / len(numbers) * 1e6


def _open_bare(path: Path) -> sqlite3.Connection:
    """Open a database with the store's table, without the store."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", _SCHEMA):
        connection.execute(statement)
    return connection


def _list_operations(kv: KV) -> dict[str, Work]:
    """Return the operations of the store by name, ready to run."""
    key = Key("cas", "s")
    versions = [kv.put(key, VALUE)]

    def compare_and_set(_: int) -> None:
        versions[0] = kv.put(key, VALUE, expect=versions[0])

    def lease(_: int) -> None:
        kv.delete(
            Key("claim", "s"), expect=kv.put(Key("claim", "s"), b"", expect=ABSENT, ttl=180.0)
        )

    return {
        "put, 400 bytes": lambda n: kv.put(Key(f"p{n % 50}", f"{n:06d}"), VALUE),
        "get": lambda n: kv.get(Key(f"p{n % 50}", f"{n:06d}")),
        "scan of 10": lambda n: kv.scan(f"p{n % 50}", limit=10),
        "compare and set": compare_and_set,
        "claim + release": lease,
        "put, 50 KB": lambda n: kv.put(Key("document", f"{n % 50}"), DOCUMENT),
    }


def _list_floors(connection: sqlite3.Connection) -> list[Work]:
    """Return the bare statements of the same operations, in the same order."""

    def put(number: int, value: bytes = VALUE) -> None:
        connection.execute(_PUT, (b"p%d" % (number % 50), b"%06d" % number, value))

    def lease(_: int) -> None:
        put(0, b"")
        connection.execute(_DELETE, (b"p0", b"000000"))

    return [
        put,
        lambda n: connection.execute(_GET, (b"p%d" % (n % 50), b"%06d" % n)).fetchall(),
        lambda n: connection.execute(_SCAN, (b"p%d" % (n % 50), b"", 10)).fetchall(),
        lambda _: put(0),
        lease,
        lambda n: put(n % 50, DOCUMENT),
    ]


def _make_event(number: int) -> Event:
    """Return an event of one of 50 chats."""
    at = 1_700_000_000.0 + number
    session = f"telegram:{number % 50}"
    return Event(
        f"telegram:1:{number}",
        "message",
        "agent",
        session,
        Sender("telegram:42", "Ann"),
        "hello " * 10,
        at,
        order_of(at, number),
    )


def _handle_one(inbox: StoreQueue) -> None:
    """Take one event and mark it as done."""
    delivery = inbox.take(0)
    if delivery:
        inbox.done(delivery)


def _measure_wakeup(inbox: StoreQueue) -> float:
    """Return the microseconds from the start of a put until a worker that slept has the event."""
    taken = threading.Semaphore(0)
    times: list[float] = []

    def take_all() -> None:
        for _ in range(REPEATS):
            delivery = inbox.take(10.0)
            times.append(time.perf_counter() - started)
            if delivery:
                inbox.done(delivery)
            taken.release()

    worker = threading.Thread(target=take_all)
    worker.start()
    for number in range(REPEATS):
        time.sleep(0.0005)
        started = time.perf_counter()
        inbox.put(_make_event(number))
        taken.acquire()
    worker.join()
    return statistics.median(times) * 1e6


def _measure_throughput(inbox: StoreQueue, workers: int = 4) -> float:
    """Return the events a second that are taken and done."""
    total = REPEATS * ROUNDS
    for number in range(total):
        inbox.put(_make_event(number))
    left = iter(range(total))

    def handle_all() -> None:
        for _ in left:
            _handle_one(inbox)

    threads = [threading.Thread(target=handle_all) for _ in range(workers)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return total / (time.perf_counter() - started)
