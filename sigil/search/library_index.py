"""The library's index is made when the package is built, so that the first search over a new store
need not read all words of the library.

    python -m sigil.search.library_index

The stamp of a document is its digest: it counts where the store has exactly this document. The
whole counts only for the program that it was made by, and only undamaged.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from sigil.protocol import LIBRARY, Json
from sigil.search.capability import make_document
from sigil.search.document import IndexDocument
from sigil.search.file_documents import hash_text
from sigil.search.index import Index

FILE: Final = Path(__file__).with_name("library.index")
CAPABILITIES: Final = Path(__file__).parents[2] / "capabilities"
DIGEST_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class _Capability:
    """A capability as it is written in its folder, unchecked."""

    name: str
    description: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    examples: tuple[str, ...]
    input: Mapping[str, Json]


def build(capabilities: Path = CAPABILITIES, file: Path = FILE) -> int:
    """Write the index of the capabilities in a folder's subfolders; return how many they are."""
    index = Index()
    paths = sorted(capabilities.glob("*/sigil.toml"))
    for path in paths:
        capability = _read_capability(path)
        document = make_document(capability, f"{LIBRARY}/{capability.name}", LIBRARY)
        index.add(replace(document, stamp=digest_document(document)))
    body = index.write_file(index.copy_group(LIBRARY), {"group": LIBRARY})
    draft = file.with_suffix(f".{os.getpid()}")
    draft.write_bytes(_seal(body) + body)
    draft.replace(file)
    return len(paths)


def load(file: Path = FILE) -> bytes | None:
    """Return the index; None when there is none, or it is damaged or of another program."""
    try:
        sealed = file.read_bytes()
    except OSError:
        return None
    body = sealed[DIGEST_BYTES:]
    return body if sealed[:DIGEST_BYTES] == _seal(body) else None


def digest_document(document: IndexDocument) -> int:
    """Return 64 bits of all that an index reads of a document."""
    read = [
        (field.name, getattr(document, field.name))
        for field in fields(document)
        if field.name != "stamp"
    ]
    return hash_text(repr(read))


def _read_capability(path: Path) -> _Capability:
    manifest = tomllib.loads(path.read_text("utf-8"))
    about = manifest["capability"]
    return _Capability(
        about["name"],
        about["description"],
        tuple(about.get("tags", ())),
        (*about.get("aliases", ()), *manifest.get("bundle", {}).get("members", ())),
        tuple(about.get("examples", ())),
        manifest.get("input", {}),
    )


def _seal(body: bytes) -> bytes:
    """Return the digest of an index and of the program that makes it."""
    return sha256(_digest_program() + body).digest()


@lru_cache(maxsize=1)
def _digest_program() -> bytes:
    """Return a digest of the sources that decide what an index of a document is."""
    program = sha256()
    for path in sorted(Path(__file__).parent.glob("*.py")):
        program.update(path.read_bytes() + b"\0")
    return program.digest()


if __name__ == "__main__":
    build()
