"""Artifacts: bodies too large for the store, named by their SHA-256 and checked when read.

Each back-end has a file of its own.
"""

from sigil.storage.artifacts.base import Artifacts, artifact_name
from sigil.storage.artifacts.folder import FolderArtifacts
from sigil.storage.artifacts.memory import MemoryArtifacts

__all__ = ["Artifacts", "FolderArtifacts", "MemoryArtifacts", "artifact_name"]
