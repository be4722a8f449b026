"""What every back-end does alike with keys, versions and lifetimes."""

from __future__ import annotations

import math
import secrets

from sigil.errors import UsageError
from sigil.storage.kv.base import Key

PARTITION_LIMIT = 2048
SORT_LIMIT = 1024
"""Bytes of a key's parts, neither empty: DynamoDB's own limits, so that a key fits every back-end
or none.
"""


def encoded(key: Key) -> tuple[bytes, bytes]:
    """The key as UTF-8; `UsageError` when a part is empty, too long or not Unicode."""
    return _part(key.partition, PARTITION_LIMIT), _part(key.sort, SORT_LIMIT)


def text_bytes(text: str) -> bytes:
    """`text` as UTF-8, any length; `UsageError` for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UsageError("EKEY", "a key holds a lone surrogate, which is no Unicode text") from None


def _part(text: str, limit: int) -> bytes:
    data = text_bytes(text)
    if not 0 < len(data) <= limit:
        raise UsageError(
            "EKEY", f"a key's part has {len(data)} bytes, between 1 and {limit} are allowed"
        )
    return data


def new_version() -> str:
    """A token that no other write has; from the kernel, so that a forked process does not repeat
    its parent's.
    """
    return secrets.token_hex(16)


def expiry(ttl: float | None, now: float) -> float | None:
    """When an item written `now` ends (seconds since the epoch); None for one without a `ttl`. A
    `ttl` of 0 or less has ended already.
    """
    if ttl is None:
        return None
    if not math.isfinite(ttl):
        raise UsageError("ETTL", "a ttl must be a finite number of seconds")
    return now + ttl
