"""Store artifacts in memory, for tests and for trying things out."""

from __future__ import annotations

from sigil.storage.artifacts.base import artifact_name, require_name, verify_body


class MemoryArtifacts:
    """Artifacts that live as long as the process."""

    def __init__(self) -> None:
        self._bodies: dict[str, bytes] = {}

    def put(self, body: bytes) -> str:
        """Store the body and return its name."""
        name = artifact_name(body)
        self._bodies[name] = bytes(body)
        return name

    def get(self, name: str) -> bytes:
        """Return the body."""
        return verify_body(name, self._bodies.get(require_name(name)))

    def delete(self, name: str) -> None:
        """Remove the body."""
        self._bodies.pop(require_name(name), None)
