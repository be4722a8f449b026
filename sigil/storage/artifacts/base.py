"""Define the contract of the artifacts: write once, read by name."""

from __future__ import annotations

import hashlib
import re
from typing import Protocol

from sigil.errors import BackendError

_NAME = re.compile(r"[0-9a-f]{64}")


def artifact_name(body: bytes) -> str:
    """Return the name of a body: 64 hex digits."""
    return hashlib.sha256(body).hexdigest()


class Artifacts(Protocol):
    """A store of bodies that are written once, read by name, and hardly ever removed.

    Every verb raises `BackendError` when the store cannot be reached.
    """

    def put(self, body: bytes) -> str:
        """Store the body and return its name; storing it again changes nothing."""

    def get(self, name: str) -> bytes:
        """Return the body; `BackendError` EDAMAGED when it is missing or has another hash."""

    def delete(self, name: str) -> None:
        """Remove the body; a missing one is fine. Whoever stored the same one loses it as well."""


def require_name(name: str) -> str:
    """Return `name`; `BackendError` EDAMAGED unless it can be the name of a body.

    Nothing else becomes part of a path or a key.
    """
    if not _NAME.fullmatch(name):
        raise _make_damage_error(name, "missing")
    return name


def verify_body(name: str, body: bytes | None) -> bytes:
    """Return the body that was found under `name`; `BackendError` EDAMAGED when it is None or has
    another hash.
    """
    if body is None:
        raise _make_damage_error(name, "missing")
    if artifact_name(body) != name:
        raise _make_damage_error(name, "damaged")
    return body


def _make_damage_error(name: str, what: str) -> BackendError:
    return BackendError(
        "EDAMAGED",
        f"artifact {name[:12]} is {what}",
        suggestion="restore the artifacts, or deploy again",
    )
