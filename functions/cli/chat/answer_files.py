"""The files of answers in a terminal: each is saved, and its path stands where the answer names it,
or below.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path

from functions.agent.conversation import named_files
from sigil.cli.saved_files import save_files
from sigil.errors import UsageError
from sigil.protocol import Json, KeptFile
from sigil.storage.stored import REST

_NOT_OF_A_NAME = re.compile(r"[^\w. -]+")
_ADDRESS = re.compile(r"\]\(/chat/[A-Za-z0-9._-]{1,64}/files/([0-9a-f]{32})\)")


@dataclass(frozen=True, slots=True)
class SavedFile:
    """A file of an answer, its bytes, and where they were saved."""

    file: KeptFile
    body: bytes
    path: Path


def read_files(row: Mapping[str, Json]) -> list[KeptFile]:
    """Return the files of a reply. Their names stay in the folder that they are put into."""
    files = row.get("files")
    if not isinstance(files, list):
        return []
    names = [each.name for each in fields(KeptFile) if each.init and each.name != REST]
    read = [
        KeptFile(**{name: file[name] for name in names}) for file in files if isinstance(file, dict)
    ]
    return [replace(file, name=_choose_name(file.name)) for file in read]


def _choose_name(name: str) -> str:
    last = re.split(r"[/\\]", name)[-1]
    return _NOT_OF_A_NAME.sub("-", last).strip(" -")[:120].lstrip(".") or "file"


def save(files: Sequence[KeptFile], bodies: Sequence[bytes], folder: str) -> list[SavedFile]:
    """Save files in a folder, which is made, or in a new temporary one where none is named.

    No file is written over. `UsageError` says why that cannot be.
    """
    place = Path(folder).expanduser() if folder else None
    if place and files:
        try:
            place.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UsageError(
                "EINVAL",
                f"cannot make the folder {place}: {problem.strerror}",
                suggestion="name another one with --files, or in UNCAGED_DOWNLOADS",
            ) from None
    paths = save_files(files, bodies, place)
    return [SavedFile(*each) for each in zip(files, bodies, paths, strict=True)]


def point_at_paths(text: str, saved: Sequence[SavedFile]) -> str:
    """Return an answer in which the files that it names have the paths of this machine."""
    addresses = {each.file.id: _write_path(each.path) for each in saved}
    return named_files.point_at(_restore_marks(text, addresses), addresses)


def write_words(text: str, files: Sequence[KeptFile]) -> str:
    """Return an answer with the words for the files that it names: they follow below it."""
    ids = {file.id for file in files}
    return named_files.write_words_of(_restore_marks(text, ids), files)


def _restore_marks(text: str, ids: Collection[str]) -> str:
    """Return a reply's text as it was before its files got addresses for clients over HTTP."""

    def write(address: re.Match[str]) -> str:
        return f"]({named_files.SIGN}{address[1]})" if address[1] in ids else address[0]

    return _ADDRESS.sub(write, text)


def _write_path(path: Path) -> str:
    written = path.absolute().as_posix()
    return f"<{written}>" if re.search(r"[ ()]", written) else written
