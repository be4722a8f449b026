"""Keep the store in a Redis or Valkey server, or a cluster of them, for any number of machines."""

from __future__ import annotations

import math
import re
import struct
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from sigil.errors import Conflict, UsageError
from sigil.storage.kv.base import ABSENT, Expect, Item, Key, ScannedItem
from sigil.storage.kv.encoding import encode_key, encode_text, expiry_time, new_version
from sigil.storage.kv.redis_client import RedisClient
from sigil.storage.kv.redis_scripts import DELETE, PRUNE, PUT, SCAN, Script
from sigil.storage.kv.redis_url import parse_redis_url

PREFIX: Final = b"uncaged:"
PAGE: Final = 100
"""Items that a request of a scan of everything asks for."""
VALUE_LIMIT: Final = 8 << 20
"""The most bytes of a value: the server serves one request after the other, so none may be long."""

_HEAD = struct.Struct(">32sd")
_SIZES = struct.Struct(">II")
_ENDS: Final = b":ends"
_ORDER: Final = b":order"
_GLOB: Final = re.compile(rb"[*?\[\]\\^-]")
"""The characters of a pattern that match others than themselves."""


class RedisKV:
    """A `KV` at `redis://`, `rediss://` (TLS) or `unix://`; `?cluster=1` for a cluster. The
    options are in `redis_url`.

    Every verb is one round trip. A write carries a token of its own and the server remembers it for
    a minute, so that a write whose answer got lost is repeated without being done twice: it ends as
    what it was, stored or `Conflict`. Only when the server stays away (`BackendError` within 13 s)
    it is open whether the last write was stored. What was answered is as durable as the server is
    configured; `warnings` tells what is unwise. `clock` gives seconds since the epoch. Nothing is
    asked before the first verb.
    """

    def __init__(self, url: str, clock: Callable[[], float] = time.time) -> None:
        self._client = RedisClient(parse_redis_url(url))
        self._clock = clock

    def get(self, key: Key) -> Item | None:
        """Return the item, None when there is none."""
        partition, sort = encode_key(key)
        body = self._client.send(b"HGET", _partition_name(partition) + b":items", sort)
        return _decode_live(body, self._clock())

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        """Return the item of each key, or None."""
        commands = []
        for key in keys:
            partition, sort = encode_key(key)
            commands.append((b"HGET", _partition_name(partition) + b":items", sort))
        bodies = self._client.send_all(commands)
        now = self._clock()
        return [_decode_live(body, now) for body in bodies]

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        """Write the whole item and return its new version; `Conflict` when `expect` does not
        hold.
        """
        partition, sort = encode_key(key)
        self.require_fitting(key, value)
        now = self._clock()
        version = new_version().encode()
        until = expiry_time(ttl, now)
        body = _HEAD.pack(version, math.inf if until is None else until) + value
        expires = b"" if until is None else repr(until).encode()
        at = repr(now).encode()
        self._write(PUT, partition, version, sort, _encode_expect(expect), at, expires, body)
        return version.decode()

    def require_fitting(self, key: Key, value: bytes) -> None:
        """Raise `UsageError` ETOOBIG for a value that is too large."""
        if len(value) > VALUE_LIMIT:
            raise UsageError(
                "ETOOBIG", f"a value has {len(value)} bytes, at most {VALUE_LIMIT} are allowed"
            )

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        """Remove the item; `Conflict` when `expect` does not hold."""
        partition, sort = encode_key(key)
        token = new_version().encode()
        at = repr(self._clock()).encode()
        self._write(DELETE, partition, token, sort, _encode_expect(expect), at)

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        """Return at most `limit` live items in the order of their sort keys."""
        bodies = self._scan_bodies(partition, prefix, after, limit)
        return [(sort, _decode_item(body)) for sort, body in bodies]

    def _scan_bodies(
        self, partition: str, prefix: str, after: str, limit: int
    ) -> list[tuple[str, bytes]]:
        name = _partition_name(encode_text(partition))
        lowest = encode_text(prefix)
        last = encode_text(after)
        if not partition:  # it has no items, and a cluster takes empty braces for none
            return []
        start = b"(" + last if last >= lowest and last else b"[" + lowest
        above = b"(" + lowest + b"\xff"  # no UTF-8 text holds this byte
        now = self._clock()
        found: list[tuple[str, bytes]] = []
        while start and len(found) < limit:
            left = b"%d" % (limit - len(found))
            at = repr(now).encode()
            start, sizes, data = self._client.run(
                SCAN, (name + b":items", name + b":order"), start, above, left, at
            )
            place = 0
            for sort_size, body_size in _SIZES.iter_unpack(sizes):
                body = place + sort_size
                end = body + body_size
                found.append((data[place:body].decode(), data[body:end]))
                place = end
        return found

    def list_partitions(self, prefix: str = "") -> Iterator[str]:
        """Yield the names of the partitions that begin with `prefix`."""
        begin = PREFIX + b"{" + _escape_braces(encode_text(prefix))
        pattern = _GLOB.sub(rb"\\\g<0>", begin) + b"*" + _ORDER
        for name in dict.fromkeys(self._client.find_keys(pattern)):
            partition = name.removeprefix(PREFIX + b"{").removesuffix(b"}" + _ORDER)
            yield partition.replace(b"%7D", b"}").replace(b"%25", b"%").decode()

    def scan_everything(self) -> Iterator[ScannedItem]:
        """Yield every live item, partition by partition."""
        for partition in self.list_partitions():
            after = ""
            while rows := self._scan_bodies(partition, "", after, PAGE):
                for sort, body in rows:
                    until = _HEAD.unpack_from(body)[1]
                    yield ScannedItem(
                        Key(partition, sort),
                        body[_HEAD.size :],
                        None if until == math.inf else until,
                    )
                if len(rows) < PAGE:
                    break
                after = rows[-1][0]

    def sweep(self) -> int:
        """Drop the expired items, a batch at a time, and return their number.

        A write sweeps its own partition too.
        """
        swept = 0
        for ends in self._client.find_keys(PREFIX + b"{*}" + _ENDS):
            keys = _partition_keys(ends.removesuffix(_ENDS))
            while dropped := self._client.run(PRUNE, keys, repr(self._clock()).encode()):
                swept += dropped
        return swept

    def warnings(self) -> list[str]:
        """Return what may lose data in the server's configuration, a sentence each."""
        facts = self._client.read_info()
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
        """Close every connection; each further verb raises `BackendError`."""
        self._client.close()

    def _write(self, script: Script, partition: bytes, token: bytes, *arguments: bytes) -> None:
        name = _partition_name(partition)
        if not self._client.run(
            script, (*_partition_keys(name), name + b":write:" + token), *arguments
        ):
            raise Conflict


def _partition_name(partition: bytes) -> bytes:
    """Return the beginning of a partition's keys.

    The braces make a cluster keep them together, so no brace may be within them.
    """
    return PREFIX + b"{" + _escape_braces(partition) + b"}"


def _escape_braces(partition: bytes) -> bytes:
    return partition.replace(b"%", b"%25").replace(b"}", b"%7D")


def _partition_keys(name: bytes) -> tuple[bytes, bytes, bytes]:
    return name + b":items", name + b":order", name + _ENDS


def _encode_expect(expect: Expect) -> bytes:
    if expect is None:
        return b"*"
    return b"-" if expect is ABSENT else b"=" + expect.encode(errors="replace")


def _decode_live(body: bytes | None, now: float) -> Item | None:
    """Return the item, None when there is none or it has expired."""
    if not body or _HEAD.unpack_from(body)[1] <= now:
        return None
    return _decode_item(body)


def _decode_item(body: bytes) -> Item:
    return Item(body[_HEAD.size :], body[:32].decode())
