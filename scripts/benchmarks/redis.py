"""Measures the store in Redis, each number beside a bare PING of redis-py to the same server in the
same run.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import redis

from functions.agent.messages import Message
from functions.agent.session.document import Document, encode_document
from functions.agent.session.store import Sessions
from scripts.benchmarks.rows import Row
from sigil.storage.kv import ABSENT, KV, Key, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.redis import RedisKV
from tests.servers.valkey import Valkey

ROUNDS: Final = 8
REPEATS: Final = 300
SAID: Final = "A sentence or two of plain talk, as people write it. " * 3
MESSAGES: Final = 40
VALUE: Final = b"x" * 400

Work = Callable[[], object]


def run(data: Path | None) -> Iterator[Row]:
    """Microseconds of wall time, medians. The server is Valkey on this machine, by TCP, with an
    append-only file.
    """
    with (
        Valkey() as server,
        closing(redis.Redis.from_url(server.url)) as client,
        closing(RedisKV(server.url)) as kv,
    ):
        yield from _session(kv, client.ping)
        for name, work in _verbs(kv).items():
            value, ping = _beside(work, client.ping)
            yield Row(f"redis {name}, beside a PING", value, "µs", floor=ping)


def _session(kv: RedisKV, ping: Work) -> Iterator[Row]:
    """A session's document there and back: what the store costs, then all of it, of which the most
    is JSON ↔ messages.
    """
    messages = [
        Message("user" if number % 2 == 0 else "assistant", SAID, at=1.0)
        for number in range(MESSAGES)
    ]
    document = Document().add(*messages)
    head, body = keys.session_head(keys.session_of("main", "bench:1")), encode_document(document)
    kv.put(head, body)

    def load_and_save() -> None:
        item = kv.get(head)
        kv.put(head, item.value if item else b"", expect=item.version if item else ABSENT)

    value, floor = _beside(load_and_save, ping)
    yield Row(
        f"redis load + save of {MESSAGES} messages, beside a PING",
        value,
        "µs",
        floor=floor,
        ratio_target=3,
    )
    here, there = _whole(MemoryKV(), document), _whole(kv, document)
    value, floor = _beside(there, here)
    yield Row("redis session open + close, beside memory", value, "µs", floor=floor)


def _whole(kv: KV, document: Document) -> Work:
    sessions, key = Sessions(kv), keys.session_of("main", "bench:2")
    sessions.save(sessions.open(key), document)

    def open_and_close() -> None:
        opened = sessions.open(key)
        sessions.save(opened, opened.document)

    return open_and_close


def _verbs(kv: RedisKV) -> Mapping[str, Work]:
    key, claim = Key("one", "s"), Key("claim", "s")
    for number in range(50):
        kv.put(Key("many", f"{number:06d}"), VALUE)
    kv.put(key, VALUE)
    return {
        "get": lambda: kv.get(key),
        "put, 400 bytes": lambda: kv.put(key, VALUE),
        "scan of 10": lambda: kv.scan("many", limit=10),
        "scan of 50": lambda: kv.scan("many", limit=50),
        "claim + release": lambda: kv.delete(
            claim, expect=kv.put(claim, b"", expect=ABSENT, ttl=180.0)
        ),
    }


def _beside(work: Work, floor: Work) -> tuple[float, float]:
    """µs a call of `work` and of `floor`, in turns, the median of the best round of each."""
    ours, least = [], []
    for _ in range(ROUNDS):
        ours.append(_median(work))
        least.append(_median(floor))
    return min(ours), min(least)


def _median(work: Work) -> float:
    spent = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        work()
        spent.append(time.perf_counter() - started)
    return statistics.median(spent) * 1e6
