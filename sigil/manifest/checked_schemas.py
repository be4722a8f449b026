"""The schemas of the library were checked against JSON Schema's own when the package was built, so
that the first start over a new store need not do it again.

A schema counts as checked by the digest of its canonical JSON. The whole counts only for the
program that checked it, and only undamaged.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("checked.schemas")
PROGRAM: Final = Path(__file__).with_name("schema.py")
DIGEST_BYTES: Final = 32


def is_checked(schema: bytes, file: Path = FILE) -> bool:
    """Return whether the build has checked the schema with this canonical JSON."""
    return sha256(schema).digest() in _load(file)


def seal(schemas: Iterable[bytes]) -> bytes:
    """Return the contents of the file for schemas that were checked, by their canonical JSON."""
    body = b"".join(sorted(sha256(schema).digest() for schema in schemas))
    return _digest(body) + body


@lru_cache(maxsize=4)
def _load(file: Path) -> frozenset[bytes]:
    """Return the digests; none when there is no file, or it is damaged or of another program."""
    try:
        sealed = file.read_bytes()
        body = sealed[DIGEST_BYTES:]
        if sealed[:DIGEST_BYTES] != _digest(body):
            return frozenset()
    except OSError:
        return frozenset()
    return frozenset(
        body[start : start + DIGEST_BYTES] for start in range(0, len(body), DIGEST_BYTES)
    )


def _digest(body: bytes) -> bytes:
    return sha256(sha256(PROGRAM.read_bytes()).digest() + body).digest()
