"""`kv.*` is a small store for each capability.

Its quota is checked before anything is written.
"""

from __future__ import annotations

import base64
import binascii
import time
from collections.abc import Callable

from sigil.errors import Conflict, ToolError
from sigil.protocol import Json
from sigil.run.host_calls.kv_quota import NO_CHANGE, QuotaChange, StorageUsage
from sigil.storage.kv import ABSENT, KV, Key, keys
from sigil.storage.kv.update import pause_after_race, scan_all

KEY_BYTES, VALUE_BYTES = 512, 64 * 1024
KEYS_MOST, BYTES_MOST = 1_000, 1024 * 1024
LIST_MOST = 1_000
TTL_MOST = 366 * 86_400
RACES = 50


class KvService:
    """The store named `owner`.

    All that is written goes after `life` seconds, None for never.
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
        self._partition = keys.stored_value(*owner, "").partition
        self._usage = StorageUsage(kv, keys.stored_usage(*owner), self._partition, life, clock)

    def answer(self, operation: str, argument: Json) -> Json:
        """Do `kv.get`, `kv.put`, `kv.list` or `kv.delete`, and return its answer.

        Raises `ToolError` EINVAL for an argument that does not fit, `Refused` EQUOTA when the store
        is full.
        """
        if not isinstance(argument, dict):
            raise _invalid("the argument is an object")
        if operation == "kv.get":
            item = self._kv.get(self._parse_key(argument))
            return {"value": item.value.decode() if item else None}
        if operation == "kv.put":
            self._put_value(argument)
            return None
        if operation == "kv.delete":
            self._delete_value(self._parse_key(argument))
            return None
        if operation == "kv.list":
            return self._list_keys(argument)
        raise _invalid("kv does get, put, list and delete")

    def clear(self) -> None:
        """Delete everything."""
        for sort, _ in scan_all(self._kv, self._partition):
            self._kv.delete(Key(self._partition, sort))
        self._usage.clear()

    def _parse_key(self, argument: dict[str, Json]) -> Key:
        name = argument.get("key")
        if not isinstance(name, str) or not 0 < len(name.encode("utf-8", "replace")) <= KEY_BYTES:
            raise _invalid(f"a key is a string of 1 to {KEY_BYTES} bytes")
        return keys.stored_value(*self._owner, name)

    def _put_value(self, argument: dict[str, Json]) -> None:
        """Write a value; the last write wins.

        The space is reserved before, so a crash in between counts too much, never too little.
        """
        key = self._parse_key(argument)
        text = argument.get("value")
        if not isinstance(text, str) or len(text.encode("utf-8", "replace")) > VALUE_BYTES:
            raise _invalid(f"a value is a string of at most {VALUE_BYTES:,} bytes")
        value = text.encode("utf-8", "replace")
        ttl = argument.get("ttl")
        if ttl is not None and (
            not isinstance(ttl, int | float) or isinstance(ttl, bool) or not 1 <= ttl <= TTL_MOST
        ):
            raise _invalid(f"a ttl is a number of seconds from 1 to {TTL_MOST}")
        lives = [float(seconds) for seconds in (ttl, self._life) if seconds is not None]
        life = min(lives, default=None)
        for attempt in range(RACES):
            old = self._kv.get(key)
            change = QuotaChange(1, len(key.sort.encode()) + len(value))
            if old:
                change = QuotaChange(0, len(value) - len(old.value))
            grows = change.keys > 0 or change.size > 0
            held = None
            if grows:
                held = self._usage.reserve(change, QuotaChange(KEYS_MOST, BYTES_MOST))
            elif change != NO_CHANGE:
                held = self._usage.observe()
            try:
                self._kv.put(key, value, expect=old.version if old else ABSENT, ttl=life)
            except Conflict:
                if held and grows:
                    self._usage.settle(held, change.reverse())
                pause_after_race(attempt)
                continue
            if held:
                self._usage.settle(held, NO_CHANGE if grows else change)
            return
        raise Conflict(f"{key.sort} is being written by too many at this moment")

    def _delete_value(self, key: Key) -> None:
        for attempt in range(RACES):
            old = self._kv.get(key)
            if old is None:
                return
            held = self._usage.observe()
            try:
                self._kv.delete(key, expect=old.version)
            except Conflict:
                pause_after_race(attempt)
                continue
            self._usage.settle(held, QuotaChange(-1, -len(key.sort.encode()) - len(old.value)))
            return
        raise Conflict(f"{key.sort} is being written by too many at this moment")

    def _list_keys(self, argument: dict[str, Json]) -> Json:
        prefix = argument.get("prefix") or ""
        if not isinstance(prefix, str) or len(prefix.encode("utf-8", "replace")) > KEY_BYTES:
            raise _invalid(f"a prefix is a string of at most {KEY_BYTES} bytes")
        limit = argument.get("limit")
        if limit is None:
            limit = LIST_MOST
        if type(limit) is not int or not 1 <= limit <= LIST_MOST:
            raise _invalid(f"a limit is a whole number from 1 to {LIST_MOST}")
        cursor = argument.get("cursor")
        after = ""
        if cursor is not None:
            if not isinstance(cursor, str):
                raise _invalid("a cursor is a string")
            try:
                after = base64.urlsafe_b64decode(cursor.encode("ascii")).decode()
            except (binascii.Error, ValueError):
                raise _invalid("not a cursor of this list") from None
        found = self._kv.scan(self._partition, prefix, after, limit + 1)
        names = [sort for sort, _ in found[:limit]]
        following = None
        if len(found) > limit:
            following = base64.urlsafe_b64encode(names[-1].encode()).decode("ascii")
        return {"keys": [{"name": name} for name in names], "cursor": following}


def _invalid(why: str) -> ToolError:
    return ToolError("EINVAL", why, source="kv")
