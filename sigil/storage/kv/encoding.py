"""Encode keys, make versions and count lifetimes in the same way for every back-end."""

from __future__ import annotations

import math
import os

from sigil.errors import UsageError
from sigil.storage.kv.base import Key

PARTITION_LIMIT = 2048
SORT_LIMIT = 1024
"""The most bytes of a key's parts, of which none is empty.

They are DynamoDB's own limits, so that a key fits every back-end or none.
"""


def encode_key(key: Key) -> tuple[bytes, bytes]:
    """Return the key as UTF-8; `UsageError` EKEY when a part is empty, too long or not Unicode."""
    try:
        partition = key.partition.encode()
        sort = key.sort.encode()
    except UnicodeEncodeError:
        raise _refuse_text() from None
    if not partition or len(partition) > PARTITION_LIMIT:
        raise _refuse_length(partition, PARTITION_LIMIT)
    if not sort or len(sort) > SORT_LIMIT:
        raise _refuse_length(sort, SORT_LIMIT)
    return partition, sort


def encode_text(text: str) -> bytes:
    """Return `text` of any length as UTF-8; `UsageError` EKEY for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise _refuse_text() from None


def _refuse_text() -> UsageError:
    return UsageError("EKEY", "a key holds a lone surrogate, which is no Unicode text")


def _refuse_length(part: bytes, limit: int) -> UsageError:
    return UsageError(
        "EKEY", f"a key's part has {len(part)} bytes, between 1 and {limit} are allowed"
    )


def new_version() -> str:
    """Return a token that no other write has; it is the kernel's, so that a forked process does not
    repeat its parent's.
    """
    return os.urandom(16).hex()


def expiry_time(ttl: float | None, now: float) -> float | None:
    """Return when an item written `now` expires (seconds since the epoch); None without a `ttl`.

    An item with a `ttl` of 0 or less has expired already.
    """
    if ttl is None:
        return None
    if not math.isfinite(ttl):
        raise UsageError("ETTL", "a ttl must be a finite number of seconds")
    return now + ttl
