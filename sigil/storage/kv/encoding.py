"""Encode keys, make versions and count lifetimes in the same way for every back-end."""

from __future__ import annotations

import math
import secrets

from sigil.errors import UsageError
from sigil.storage.kv.base import Key

PARTITION_LIMIT = 2048
SORT_LIMIT = 1024
"""The most bytes of a key's parts, of which none is empty.

They are DynamoDB's own limits, so that a key fits every back-end or none.
"""


def encode_key(key: Key) -> tuple[bytes, bytes]:
    """Return the key as UTF-8; `UsageError` EKEY when a part is empty, too long or not Unicode."""
    return _encode_part(key.partition, PARTITION_LIMIT), _encode_part(key.sort, SORT_LIMIT)


def encode_text(text: str) -> bytes:
    """Return `text` of any length as UTF-8; `UsageError` EKEY for a lone surrogate."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise UsageError("EKEY", "a key holds a lone surrogate, which is no Unicode text") from None


def _encode_part(text: str, limit: int) -> bytes:
    data = encode_text(text)
    if not 0 < len(data) <= limit:
        raise UsageError(
            "EKEY", f"a key's part has {len(data)} bytes, between 1 and {limit} are allowed"
        )
    return data


def new_version() -> str:
    """Return a token that no other write has; it is the kernel's, so that a forked process does not
    repeat its parent's.
    """
    return secrets.token_hex(16)


def expiry_time(ttl: float | None, now: float) -> float | None:
    """Return when an item written `now` expires (seconds since the epoch); None without a `ttl`.

    An item with a `ttl` of 0 or less has expired already.
    """
    if ttl is None:
        return None
    if not math.isfinite(ttl):
        raise UsageError("ETTL", "a ttl must be a finite number of seconds")
    return now + ttl
