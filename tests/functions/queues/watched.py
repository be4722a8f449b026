"""A store that is watched, and that fails when a test wants it to."""

from __future__ import annotations

from collections.abc import Callable

from sigil.errors import BackendError
from sigil.storage.kv import KV, Expect, Item, Key


class WatchedKV:
    """A store that notes what is asked of it; after `allowed` verbs it answers no more. `hook` sees
    each verb first.
    """

    def __init__(self, kv: KV) -> None:
        self.kv = kv
        self.asked: list[str] = []
        self.allowed = 10**9
        self.hook: Callable[[str], None] = lambda verb: None

    def _ask(self, verb: str, key: str) -> None:
        if len(self.asked) >= self.allowed:
            raise BackendError("EUNAVAILABLE", "the store is away")
        self.asked.append(f"{verb} {key.partition('#')[0]}")
        self.hook(self.asked[-1])

    def get(self, key: Key) -> Item | None:
        self._ask("get", key.partition)
        return self.kv.get(key)

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        self._ask("put", key.partition)
        return self.kv.put(key, value, expect=expect, ttl=ttl)

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        self._ask("delete", key.partition)
        self.kv.delete(key, expect=expect)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        self._ask("scan", partition)
        return self.kv.scan(partition, prefix, after, limit)
