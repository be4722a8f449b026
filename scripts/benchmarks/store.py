"""Measures the embedded store and its queue, each number beside what the bare SQLite statements
cost in the same run.
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
    """Microseconds of wall time a call, each beside the bare statements."""
    with tempfile.TemporaryDirectory() as folder:
        yield from verbs(Path(folder))
        yield from queue(Path(folder))


def verbs(folder: Path) -> Iterator[Row]:
    """The store's verbs: SQLite beside bare statements, then memory."""
    with closing(SqliteKV(folder / "verbs.db")) as kv, closing(bare(folder / "bare.db")) as floor:
        for (name, work), statements in zip(_works(kv).items(), _floors(floor), strict=True):
            value, least = beside(work, statements)
            yield Row(f"store sqlite {name}", value, "µs", floor=least)
    for name, work in _works(MemoryKV()).items():
        yield Row(f"store memory {name}", beside(work, work)[0], "µs")


def queue(folder: Path) -> Iterator[Row]:
    """The inbox on SQLite: one event's way, many workers, and how soon a waiting worker starts."""
    with closing(SqliteKV(folder / "queue.db")) as kv, closing(bare(folder / "floor.db")) as floor:
        inbox = StoreQueue(kv)

        def put(number: int) -> None:
            inbox.put(event(number))

        def take(_: int) -> None:
            handle(inbox)

        value, least = beside(put, lambda n: bare_puts(floor, n), after=take)
        yield Row("inbox put", value, "µs", floor=least)
        value, least = beside(take, lambda n: bare_handle(floor, n), before=put)
        yield Row("inbox take + done", value, "µs", floor=least)
        yield Row("inbox put → take by a waiting worker, p50", wake(inbox), "µs")
        yield Row("inbox 4 workers, 50 sessions", throughput(inbox), "/s")


def beside(
    work: Work, floor: Work, before: Work | None = None, after: Work | None = None
) -> tuple[float, float]:
    """µs a call of `work` and of `floor`, in turns, the best round of each. `before` and `after`
    are done for `work`, untimed.
    """
    ours, least = [], []
    for turn in range(ROUNDS):
        numbers = range(turn * REPEATS, (turn + 1) * REPEATS)
        spend(before, numbers)
        ours.append(spend(work, numbers))
        spend(after, numbers)
        least.append(spend(floor, numbers))
    return min(ours), min(least)


def spend(work: Work | None, numbers: range) -> float:
    """µs a call."""
    started = time.perf_counter()
    if work:
        for number in numbers:
            work(number)
    return (time.perf_counter() - started) / len(numbers) * 1e6


def bare(path: Path) -> sqlite3.Connection:
    """The same file without us."""
    connection = sqlite3.connect(path, isolation_level=None)
    for statement in ("PRAGMA journal_mode = WAL", "PRAGMA synchronous = NORMAL", _SCHEMA):
        connection.execute(statement)
    return connection


def _works(kv: KV) -> dict[str, Work]:
    key, versions = Key("cas", "s"), [kv.put(Key("cas", "s"), VALUE)]

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


def _floors(connection: sqlite3.Connection) -> list[Work]:
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


def event(number: int) -> Event:
    """An event of one of 50 chats."""
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


def handle(inbox: StoreQueue) -> None:
    """Take one event and say that it is done."""
    delivery = inbox.take(0)
    if delivery:
        inbox.done(delivery)


def bare_puts(connection: sqlite3.Connection, number: int) -> None:
    """The two statements of a put."""
    connection.execute(_PUT, (b"inbox%d" % (number % 50), b"%06d" % number, VALUE))
    connection.execute(_PUT, (b"ready", b"%d" % (number % 50), b"{}"))


def bare_handle(connection: sqlite3.Connection, number: int) -> None:
    """The six statements of a take and a done."""
    chat, sort = b"%d" % (number % 50), b"%06d" % number
    connection.execute(_SCAN, (b"ready", b"", 8)).fetchall()
    connection.execute(_PUT, (b"claim", chat, b""))
    connection.execute(_SCAN, (b"inbox" + chat, b"", 2)).fetchall()
    connection.execute(_DELETE, (b"inbox" + chat, sort))
    connection.execute(_DELETE, (b"ready", chat))
    connection.execute(_DELETE, (b"claim", chat))


def wake(inbox: StoreQueue) -> float:
    """µs from the start of a put until a worker that slept has the event."""
    taken = threading.Semaphore(0)
    times: list[float] = []

    def work() -> None:
        for _ in range(REPEATS):
            delivery = inbox.take(10.0)
            times.append(time.perf_counter() - started)
            if delivery:
                inbox.done(delivery)
            taken.release()

    worker = threading.Thread(target=work)
    worker.start()
    for number in range(REPEATS):
        time.sleep(0.0005)
        started = time.perf_counter()
        inbox.put(event(number))
        taken.acquire()
    worker.join()
    return statistics.median(times) * 1e6


def throughput(inbox: StoreQueue, workers: int = 4) -> float:
    """Events a second from put to done."""
    total = REPEATS * ROUNDS
    for number in range(total):
        inbox.put(event(number))
    left = iter(range(total))

    def work() -> None:
        for _ in left:
            handle(inbox)

    threads = [threading.Thread(target=work) for _ in range(workers)]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return total / (time.perf_counter() - started)
