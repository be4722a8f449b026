"""Measures the store in Redis, each number beside a bare PING of redis-py to the same server in the
same run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final

import redis

from functions.agent.session.document import Document, encode_document
from functions.agent.session.store import Sessions
from scripts.benchmarks.chats import make_document
from scripts.benchmarks.measuring import Work, compare_calls
from scripts.benchmarks.rows import Row
from sigil.storage.kv import ABSENT, KV, Key, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.kv.redis import RedisKV
from tests.servers.valkey import Valkey

ROUNDS: Final = 8
REPEATS: Final = 300
MESSAGES: Final = 40
VALUE: Final = b"x" * 400


def run(data: Path | None) -> Iterator[Row]:
    """Measure medians in microseconds of wall time: a session's document, by the store alone and then
    with encoding and decoding, which cost the most; and the store's operations.

    The server is Valkey on this machine, over TCP, with an append-only file.
    """
    with (
        Valkey() as server,
        closing(redis.Redis.from_url(server.url)) as client,
        closing(RedisKV(server.url)) as kv,
    ):
        document = make_document(MESSAGES)
        head = keys.session_head(keys.session_of("main", "bench:1"))
        kv.put(head, encode_document(document))

        def load_and_save() -> None:
            item = kv.get(head)
            kv.put(head, item.value if item else b"", expect=item.version if item else ABSENT)

        value, ping = compare_calls(load_and_save, client.ping, ROUNDS, REPEATS)
        yield Row(
            f"redis load + save of {MESSAGES} messages, beside a PING",
            value,
            "µs",
            floor=ping,
            ratio_target=3,
        )
        in_memory = _open_and_close(MemoryKV(), document)
        in_redis = _open_and_close(kv, document)
        value, floor = compare_calls(in_redis, in_memory, ROUNDS, REPEATS)
        yield Row("redis session open + close, beside memory", value, "µs", floor=floor)
        key = Key("one", "s")
        claim = Key("claim", "s")
        for number in range(50):
            kv.put(Key("many", f"{number:06d}"), VALUE)
        kv.put(key, VALUE)
        operations: Mapping[str, Work] = {
            "get": lambda: kv.get(key),
            "put, 400 bytes": lambda: kv.put(key, VALUE),
            "scan of 10": lambda: kv.scan("many", limit=10),
            "scan of 50": lambda: kv.scan("many", limit=50),
            "claim + release": lambda: kv.delete(
                claim, expect=kv.put(claim, b"", expect=ABSENT, ttl=180.0)
            ),
        }
        for name, work in operations.items():
            value, ping = compare_calls(work, client.ping, ROUNDS, REPEATS)
            yield Row(f"redis {name}, beside a PING", value, "µs", floor=ping)


def _open_and_close(kv: KV, document: Document) -> Work:
    """Return work that opens a session with this document and saves it again."""
    sessions = Sessions(kv)
    key = keys.session_of("main", "bench:2")
    sessions.save(sessions.open(key), document)

    def open_and_close() -> None:
        opened = sessions.open(key)
        sessions.save(opened, opened.document)

    return open_and_close
