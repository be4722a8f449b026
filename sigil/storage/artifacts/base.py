"""The contract of the artifacts: write once, read by name."""

from __future__ import annotations

import hashlib
import re
from typing import Protocol

from sigil.errors import BackendError

_NAME = re.compile(r"[0-9a-f]{64}")


def artifact_name(body: bytes) -> str:
    """The name of a body: 64 hex digits."""
    return hashlib.sha256(body).hexdigest()


class Artifacts(Protocol):
    """Write once, read by name. What cannot be reached raises `BackendError`."""

    def put(self, body: bytes) -> str:
        """Store the body and return its name; storing it again changes nothing."""

    def get(self, name: str) -> bytes:
        """The body; `BackendError` with EDAMAGED when it is missing or not what its name says."""


def require_name(name: str) -> str:
    """`name`, when it can be the name of a body: nothing else becomes part of a path or a key."""
    if not _NAME.fullmatch(name):
        raise _lost(name, "missing")
    return name


def verify_body(name: str, body: bytes | None) -> bytes:
    """What was found under `name`, when it is what `name` says."""
    if body is None:
        raise _lost(name, "missing")
    if artifact_name(body) != name:
        raise _lost(name, "damaged")
    return body


def _lost(name: str, how: str) -> BackendError:
    return BackendError(
        "EDAMAGED",
        f"artifact {name[:12]} is {how}",
        suggestion="restore the artifacts, or deploy again",
    )
