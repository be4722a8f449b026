"""`kv.*`: a small store for each capability, with a quota that is counted before anything is written."""

from __future__ import annotations

import base64
import binascii
from typing import NoReturn

import orjson

from sigil.errors import Conflict, Refused, ToolError
from sigil.kv import ABSENT, KV, Item, Key, keys
from sigil.protocol import Json

KEY_BYTES, VALUE_BYTES = 512, 64 * 1024
KEYS_MOST, BYTES_MOST = 1_000, 1024 * 1024
LIST_MOST = 1_000
TTL_MOST = 366 * 86_400
RACES = 20
PAGE = 200


class Store:
    """The store named `owner`. `life`: seconds after which all that is written goes, None for never."""

    def __init__(self, kv: KV, owner: tuple[str, str, str], life: float | None = None) -> None:
        self._kv = kv
        self._owner = owner
        self._life = life

    def answer(self, operation: str, argument: Json) -> Json:
        """The answer to `get`, `put`, `list` or `delete`; `ToolError` EINVAL, `Refused` EQUOTA."""
        if not isinstance(argument, dict):
            _wrong("the argument is an object")
        if operation == "kv.get":
            item = self._kv.get(self._key(argument))
            return {"value": item.value.decode() if item else None}
        if operation == "kv.put":
            return self._put(self._key(argument), _value(argument), self._ttl(argument))
        if operation == "kv.delete":
            return self._delete(self._key(argument))
        return self._list(argument) if operation == "kv.list" else _wrong("kv does get, put, list and delete")

    def clear(self) -> None:
        """Forget everything."""
        while page := self._kv.scan(self._partition, limit=PAGE):
            for sort, _ in page:
                self._kv.delete(Key(self._partition, sort))
        self._kv.delete(self._usage_key)

    @property
    def _partition(self) -> str:
        return keys.stored(*self._owner, "").partition

    @property
    def _usage_key(self) -> Key:
        return keys.stored_usage(*self._owner)

    def _key(self, argument: dict[str, Json]) -> Key:
        name = argument.get("key")
        if not isinstance(name, str) or not 0 < len(name.encode("utf-8", "replace")) <= KEY_BYTES:
            _wrong(f"a key is a string of 1 to {KEY_BYTES} bytes")
        return keys.stored(*self._owner, name)

    def _ttl(self, argument: dict[str, Json]) -> float | None:
        ttl = argument.get("ttl")
        if ttl is not None and (isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 1 <= ttl <= TTL_MOST):
            _wrong(f"a ttl is a number of seconds from 1 to {TTL_MOST}")
        given = [float(seconds) for seconds in (ttl, self._life) if seconds is not None]
        return min(given, default=None)

    def _put(self, key: Key, value: bytes, ttl: float | None) -> None:
        """The last write wins; room is taken before it and given back after it, so a crash between counts too much, never too little."""
        for _ in range(RACES):
            old = self._kv.get(key)
            more = len(value) - len(old.value) if old else len(key.sort.encode()) + len(value)
            added = int(old is None)
            if more > 0 or added:
                self._take(added, max(more, 0))
            try:
                self._kv.put(key, value, expect=old.version if old else ABSENT, ttl=ttl)
            except Conflict:
                self._give(added, max(more, 0))
                continue
            self._give(0, max(-more, 0))
            return
        raise Conflict(f"{key.sort} is being written by too many at this moment")

    def _delete(self, key: Key) -> None:
        for _ in range(RACES):
            old = self._kv.get(key)
            if old is None:
                return
            try:
                self._kv.delete(key, expect=old.version)
            except Conflict:
                continue
            self._give(1, len(key.sort.encode()) + len(old.value))
            return
        raise Conflict(f"{key.sort} is being written by too many at this moment")

    def _list(self, argument: dict[str, Json]) -> Json:
        prefix, limit = argument.get("prefix") or "", argument.get("limit")
        limit = LIST_MOST if limit is None else limit
        if not isinstance(prefix, str) or len(prefix.encode("utf-8", "replace")) > KEY_BYTES:
            _wrong(f"a prefix is a string of at most {KEY_BYTES} bytes")
        if type(limit) is not int or not 1 <= limit <= LIST_MOST:
            _wrong(f"a limit is a whole number from 1 to {LIST_MOST}")
        found = self._kv.scan(self._partition, prefix, _after(argument.get("cursor")), limit + 1)
        names = [sort for sort, _ in found[:limit]]
        cursor = base64.urlsafe_b64encode(names[-1].encode()).decode("ascii") if len(found) > limit else None
        return {"keys": [{"name": name} for name in names], "cursor": cursor}

    def _take(self, count: int, size: int) -> None:
        """Count `count` keys and `size` bytes more; `Refused` EQUOTA when there is no room, also after counting anew."""
        counted = False
        for _ in range(RACES):
            item = self._kv.get(self._usage_key)
            used = _usage(item) if item and not counted else self._counted()
            total = used[0] + count, used[1] + size
            if total[0] > KEYS_MOST or total[1] > BYTES_MOST:
                if not counted and item:
                    counted = True  # what has expired since is counted still
                    continue
                raise Refused("EQUOTA", f"a capability keeps at most {KEYS_MOST:,} keys and {BYTES_MOST:,} bytes", source="kv")
            if self._use(total, item):
                return
        raise Conflict("the store is being written by too many at this moment")

    def _give(self, count: int, size: int) -> None:
        for _ in range(RACES if count or size else 0):
            item = self._kv.get(self._usage_key)
            used = _usage(item) if item else (0, 0)
            if self._use((max(used[0] - count, 0), max(used[1] - size, 0)), item):
                return

    def _use(self, total: tuple[int, int], item: Item | None) -> bool:
        try:
            self._kv.put(self._usage_key, orjson.dumps(total), expect=item.version if item else ABSENT, ttl=self._life)
        except Conflict:
            return False
        return True

    def _counted(self) -> tuple[int, int]:
        count = size = 0
        after = ""
        while page := self._kv.scan(self._partition, after=after, limit=PAGE):
            count += len(page)
            size += sum(len(sort.encode()) + len(item.value) for sort, item in page)
            after = page[-1][0]
        return count, size


def _usage(item: Item) -> tuple[int, int]:
    count, size = orjson.loads(item.value)
    return int(count), int(size)


def _value(argument: dict[str, Json]) -> bytes:
    value = argument.get("value")
    if not isinstance(value, str) or len(value.encode("utf-8", "replace")) > VALUE_BYTES:
        _wrong(f"a value is a string of at most {VALUE_BYTES:,} bytes")
    return value.encode("utf-8", "replace")


def _after(cursor: Json) -> str:
    if cursor is None:
        return ""
    try:
        return base64.urlsafe_b64decode(cursor.encode("ascii")).decode() if isinstance(cursor, str) else _wrong("a cursor is a string")
    except (binascii.Error, ValueError):
        _wrong("not a cursor of this list")


def _wrong(why: str) -> NoReturn:
    raise ToolError("EINVAL", why, source="kv")
