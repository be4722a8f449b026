"""Bodies too large for the store, named by their own SHA-256 and checked when read; one file a
place to keep them.
"""

from sigil.storage.artifacts.base import Artifacts, artifact_name
from sigil.storage.artifacts.folder import FolderArtifacts
from sigil.storage.artifacts.memory import MemoryArtifacts

__all__ = ["Artifacts", "FolderArtifacts", "MemoryArtifacts", "artifact_name"]
