"""Bodies too large for the store, named by their own SHA-256 and checked when read; one file a place to keep them."""

from sigil.artifacts.base import Artifacts, name_of
from sigil.artifacts.folder import FolderArtifacts
from sigil.artifacts.memory import MemoryArtifacts

__all__ = ["Artifacts", "FolderArtifacts", "MemoryArtifacts", "name_of"]
