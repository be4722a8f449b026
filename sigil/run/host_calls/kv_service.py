"""`kv.*`: a small store for each capability, with a quota that is counted before anything is
written.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable
from typing import NoReturn

from sigil.errors import Conflict, ToolError
from sigil.protocol import Json
from sigil.run.host_calls.kv_quota import QuotaChange, StorageUsage, pause
from sigil.storage.kv import ABSENT, KV, Expect, Item, Key, keys

KEY_BYTES, VALUE_BYTES = 512, 64 * 1024
KEYS_MOST, BYTES_MOST = 1_000, 1024 * 1024
LIST_MOST = 1_000
TTL_MOST = 366 * 86_400
RACES = 50
PAGE = 200


class KvService:
    """The store named `owner`. `life`: seconds after which all that is written goes, None for
    never.
    """

    def __init__(
        self,
        kv: KV,
        owner: tuple[str, str, str],
        life: float | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._kv = kv
        self._owner = owner
        self._life = life
        self._usage = StorageUsage(kv, (keys.stored_usage(*owner), self._partition), life, clock)

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
        return (
            self._list(argument)
            if operation == "kv.list"
            else _wrong("kv does get, put, list and delete")
        )

    def clear(self) -> None:
        """Forget everything."""
        while page := self._kv.scan(self._partition, limit=PAGE):
            for sort, _ in page:
                self._kv.delete(Key(self._partition, sort))
        self._usage.clear()

    @property
    def _partition(self) -> str:
        return keys.stored_value(*self._owner, "").partition

    def _key(self, argument: dict[str, Json]) -> Key:
        name = argument.get("key")
        if not isinstance(name, str) or not 0 < len(name.encode("utf-8", "replace")) <= KEY_BYTES:
            _wrong(f"a key is a string of 1 to {KEY_BYTES} bytes")
        return keys.stored_value(*self._owner, name)

    def _ttl(self, argument: dict[str, Json]) -> float | None:
        ttl = argument.get("ttl")
        if ttl is not None and (
            isinstance(ttl, bool) or not isinstance(ttl, int | float) or not 1 <= ttl <= TTL_MOST
        ):
            _wrong(f"a ttl is a number of seconds from 1 to {TTL_MOST}")
        given = [float(seconds) for seconds in (ttl, self._life) if seconds is not None]
        return min(given, default=None)

    def _put(self, key: Key, value: bytes, ttl: float | None) -> None:
        """The last write wins. Room is taken before it, so a crash in between counts too much,
        never too little.
        """
        for attempt in range(RACES):
            old = self._kv.get(key)
            more = len(value) - len(old.value) if old else len(key.sort.encode()) + len(value)
            if self._replaced(key, old, (value, ttl), QuotaChange(int(old is None), more)):
                return
            pause(attempt)
        raise Conflict(f"{key.sort} is being written by too many at this moment")

    def _replaced(
        self, key: Key, old: Item | None, new: tuple[bytes, float | None], change: QuotaChange
    ) -> bool:
        """Write over `old`; False when somebody else did."""
        expect: Expect = old.version if old else ABSENT
        if change == (0, 0):
            return self._written(key, new, expect)
        grows = change.keys > 0 or change.size > 0
        held = (
            self._usage.take(change, QuotaChange(KEYS_MOST, BYTES_MOST))
            if grows
            else self._usage.watch()
        )
        done = self._written(key, new, expect)
        if grows:
            self._usage.settle(held, QuotaChange() if done else change.undone)
        elif done:
            self._usage.settle(held, change)
        return done

    def _written(self, key: Key, new: tuple[bytes, float | None], expect: Expect) -> bool:
        try:
            self._kv.put(key, new[0], expect=expect, ttl=new[1])
        except Conflict:
            return False
        return True

    def _delete(self, key: Key) -> None:
        for attempt in range(RACES):
            old = self._kv.get(key)
            if old is None:
                return
            held = self._usage.watch()
            try:
                self._kv.delete(key, expect=old.version)
            except Conflict:
                pause(attempt)
                continue
            self._usage.settle(held, QuotaChange(-1, -len(key.sort.encode()) - len(old.value)))
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
        cursor = (
            base64.urlsafe_b64encode(names[-1].encode()).decode("ascii")
            if len(found) > limit
            else None
        )
        return {"keys": [{"name": name} for name in names], "cursor": cursor}


def _value(argument: dict[str, Json]) -> bytes:
    value = argument.get("value")
    if not isinstance(value, str) or len(value.encode("utf-8", "replace")) > VALUE_BYTES:
        _wrong(f"a value is a string of at most {VALUE_BYTES:,} bytes")
    return value.encode("utf-8", "replace")


def _after(cursor: Json) -> str:
    if cursor is None:
        return ""
    try:
        return (
            base64.urlsafe_b64decode(cursor.encode("ascii")).decode()
            if isinstance(cursor, str)
            else _wrong("a cursor is a string")
        )
    except (binascii.Error, ValueError):
        _wrong("not a cursor of this list")


def _wrong(why: str) -> NoReturn:
    raise ToolError("EINVAL", why, source="kv")
