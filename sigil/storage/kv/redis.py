"""The shared store: a Redis or Valkey server, or a cluster of them, for any number of machines."""

from __future__ import annotations

import math
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from sigil.errors import Conflict, UsageError
from sigil.storage.kv.base import ABSENT, Expect, Item, Key
from sigil.storage.kv.encoding import encoded, expiry, new_version, text_bytes
from sigil.storage.kv.redis_client import RedisLink
from sigil.storage.kv.redis_scripts import DELETE, PRUNE, PUT, SCAN, Script
from sigil.storage.kv.redis_url import parse_redis_url

PREFIX: Final = b"uncaged:"
VALUE_LIMIT: Final = 8 << 20
"""Bytes of a value: a server that serves one after the other must not be kept by one for long."""

_HEAD = struct.Struct(">32sd")
_SIZES = struct.Struct(">II")
_ENDS: Final = b":ends"


class RedisKV:
    """A `KV` at `redis://`, `rediss://` (TLS) or `unix://`; `?cluster=1` for a cluster. `redis_url`
    knows the options.

    Every verb is one round trip. A write carries a token of its own and the server remembers it for
    a minute, so that a write whose answer got lost is repeated without being done twice: it ends as
    what it was, stored or `Conflict`. Only when the server stays away (`BackendError` within 13 s)
    it is open whether the last write was stored. What was answered is as durable as the server is
    configured; `warnings` tells what is unwise. `clock` gives seconds since the epoch. Nothing is
    asked before the first verb.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.time) -> None:
        self._link = RedisLink(parse_redis_url(url))
        self._clock = clock

    def get(self, key: Key) -> Item | None:
        """The item, or None."""
        partition, sort = encoded(key)
        body = self._link.ask(b"HGET", _name(partition) + b":items", sort)
        return _item(body, self._clock()) if body else None

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        """Return the item of each key, or None."""
        commands = []
        for key in keys:
            partition, sort = encoded(key)
            commands.append((b"HGET", _name(partition) + b":items", sort))
        bodies = self._link.ask_all(commands)
        now = self._clock()
        return [_item(body, now) if body else None for body in bodies]

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        """Write the whole item and return its new version; `Conflict` when `expect` does not
        hold.
        """
        partition, sort = encoded(key)
        if len(value) > VALUE_LIMIT:
            raise UsageError(
                "ETOOBIG", f"a value has {len(value)} bytes, at most {VALUE_LIMIT} are allowed"
            )
        now, version = self._clock(), new_version().encode()
        over = expiry(ttl, now)
        body = _HEAD.pack(version, math.inf if over is None else over) + value
        written = b"" if over is None else repr(over).encode()
        self._write(
            PUT, partition, version, sort, _expected(expect), repr(now).encode(), written, body
        )
        return version.decode()

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        """Remove the item; `Conflict` when `expect` does not hold."""
        partition, sort = encoded(key)
        self._write(
            DELETE,
            partition,
            new_version().encode(),
            sort,
            _expected(expect),
            repr(self._clock()).encode(),
        )

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        """At most `limit` live items in the order of their sort keys."""
        name, lowest, last = _name(text_bytes(partition)), text_bytes(prefix), text_bytes(after)
        if not partition:  # no item stands there, and a cluster takes empty braces for none
            return []
        start = b"(" + last if last >= lowest and last else b"[" + lowest
        above = b"(" + lowest + b"\xff"  # no UTF-8 text holds this byte
        now = self._clock()
        found: list[tuple[str, Item]] = []
        while start and len(found) < limit:
            left, at = b"%d" % (limit - len(found)), repr(now).encode()
            start, sizes, data = self._link.run(
                SCAN, (name + b":items", name + b":order"), start, above, left, at
            )
            found += _listed(sizes, data)
        return found

    def sweep(self) -> int:
        """Drop what has expired, a batch at a time; how many items that were. What is written in a
        partition sweeps it too.
        """
        swept = 0
        for ends in self._link.keys(PREFIX + b"{*}" + _ENDS):
            keys = _keys(ends.removesuffix(_ENDS))
            while dropped := self._link.run(PRUNE, keys, repr(self._clock()).encode()):
                swept += dropped
        return swept

    def warnings(self) -> list[str]:
        """What in the server's configuration may lose data, a sentence each."""
        facts = self._link.facts()
        policy = facts.get("maxmemory_policy", "noeviction")
        found = []
        if policy != "noeviction" and facts.get("maxmemory", "0") != "0":
            found.append(
                f"the server throws data away when its memory is full (maxmemory-policy {policy}):"
                " set it to noeviction"
            )
        if facts.get("aof_enabled") == "0":
            found.append(
                "the server keeps no append-only file: a crash may lose the last minutes or all:"
                " set appendonly to yes"
            )
        return found

    def close(self) -> None:
        """Close every connection; the store answers no more."""
        self._link.close()

    def _write(self, script: Script, partition: bytes, token: bytes, *arguments: bytes) -> None:
        name = _name(partition)
        if not self._link.run(script, (*_keys(name), name + b":write:" + token), *arguments):
            raise Conflict


def _name(partition: bytes) -> bytes:
    """What the keys of a partition begin with; the braces make a cluster keep them together, so
    none may stand inside.
    """
    return PREFIX + b"{" + partition.replace(b"%", b"%25").replace(b"}", b"%7D") + b"}"


def _keys(name: bytes) -> tuple[bytes, bytes, bytes]:
    return name + b":items", name + b":order", name + _ENDS


def _expected(expect: Expect) -> bytes:
    if expect is None:
        return b"*"
    return b"-" if expect is ABSENT else b"=" + expect.encode(errors="replace")


def _item(body: bytes, now: float) -> Item | None:
    return _whole(body) if _HEAD.unpack_from(body)[1] > now else None


def _whole(body: bytes) -> Item:
    return Item(body[_HEAD.size :], body[:32].decode())


def _listed(sizes: bytes, data: bytes) -> Iterator[tuple[str, Item]]:
    place = 0
    for sort, body in _SIZES.iter_unpack(sizes):
        start, end = place + sort, place + sort + body
        yield data[place:start].decode(), _whole(data[start:end])
        place = end
