"""A git repository, written object by object: git need not be installed where it is made.

The same writes make the same commits, whose ids are the same wherever that happens.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from hashlib import sha1
from pathlib import Path
from typing import Final

from sigil.errors import one_line

BRANCH: Final = "main"
_CONFIG: Final = b"""\
[core]
\trepositoryformatversion = 0
\tfilemode = false
\tbare = false
\tautocrlf = false
"""
_FILE_MODE: Final = 0o100644
_PATH_LENGTH_MOST: Final = 0xFFF


@dataclass(frozen=True, slots=True)
class Commit:
    """What one person wrote at one time: the files with their new content, None for those that
    went. `at` is seconds since 1970.
    """

    at: float
    by: str
    message: str
    files: Mapping[str, bytes | None]


@dataclass(slots=True)
class _Folder:
    """A folder while commits are made: `id` is that of its tree, empty after a change."""

    files: dict[str, bytes] = field(default_factory=dict)
    folders: dict[str, _Folder] = field(default_factory=dict)
    id: bytes = b""


def write_repository(folder: Path, commits: Iterable[Commit]) -> int:
    """Write commits and the files of the last one into an empty folder; return how many commits
    there are. Those that change nothing are left out. `OSError` when it cannot be written.
    """
    repository = _Repository(folder / ".git")
    root = _Folder()
    contents: dict[str, bytes] = {}
    parent = b""
    count = 0
    before = b""
    for commit in commits:
        for path, body in commit.files.items():
            if body is None:
                contents.pop(path, None)
                _remove(root, path.split("/"))
            else:
                contents[path] = body
                _place(root, path.split("/"), repository.write_object(b"blob", body))
        tree = repository.write_tree(root)
        if tree != before and (before or contents):
            parent = repository.write_object(b"commit", _format_commit(commit, tree, parent))
            count += 1
        before = tree
    repository.write_head(parent)
    repository.write_index(contents)
    for path, body in contents.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("xb") as stream:
            stream.write(body)
    return count


class _Repository:
    """The folder `.git` of a repository that is made."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._objects = str(folder / "objects")
        self._written: set[bytes] = set()
        self._folders: set[str] = set()
        for name in ("objects", "refs/heads", "refs/tags"):
            (folder / name).mkdir(parents=True)

    def write_object(self, kind: bytes, body: bytes) -> bytes:
        """Write an object unless it is there, and return its id."""
        data = kind + b" %d\0" % len(body) + body
        digest = sha1(data, usedforsecurity=False)
        name = digest.hexdigest()
        if digest.digest() not in self._written:
            self._written.add(digest.digest())
            # an agent with 2,000 files has 12,000 objects: paths as texts take half of the time
            folder = f"{self._objects}/{name[:2]}"
            if name[:2] not in self._folders:
                self._folders.add(name[:2])
                os.mkdir(folder)
            with open(f"{folder}/{name[2:]}", "xb", buffering=0) as file:
                file.write(zlib.compress(data, 1))
        return digest.digest()

    def write_tree(self, folder: _Folder) -> bytes:
        """Write what changed of a folder, and return the id of its tree."""
        if not folder.id:
            entries = [(name.encode(), b"100644", id) for name, id in folder.files.items()]
            for name, inner in folder.folders.items():
                entries.append((name.encode() + b"/", b"40000", self.write_tree(inner)))
            entries.sort()  # git sorts a folder as if its name ended with a slash
            body = b"".join(
                mode + b" " + name.removesuffix(b"/") + b"\0" + id for name, mode, id in entries
            )
            folder.id = self.write_object(b"tree", body)
        return folder.id

    def write_head(self, commit: bytes) -> None:
        (self._folder / "config").write_bytes(_CONFIG)
        (self._folder / "HEAD").write_text(f"ref: refs/heads/{BRANCH}\n")
        if commit:
            (self._folder / "refs" / "heads" / BRANCH).write_text(f"{commit.hex()}\n")

    def write_index(self, contents: Mapping[str, bytes]) -> None:
        """Write the index, so that git takes the files as committed and not as removed."""
        encoded = sorted((path.encode(), body) for path, body in contents.items())
        parts = [b"DIRC" + struct.pack(">II", 2, len(encoded))]
        for path, body in encoded:
            id = self.write_object(b"blob", body)
            # without the times of the files git compares their contents once
            entry = struct.pack(">10I", *[0] * 6, _FILE_MODE, 0, 0, len(body)) + id
            entry += struct.pack(">H", min(len(path), _PATH_LENGTH_MOST)) + path
            parts.append(entry + b"\0" * (8 - len(entry) % 8))
        index = b"".join(parts)
        digest = sha1(index, usedforsecurity=False).digest()
        (self._folder / "index").write_bytes(index + digest)


def _place(folder: _Folder, steps: list[str], id: bytes) -> None:
    folder.id = b""
    name, *rest = steps
    if rest:
        _place(folder.folders.setdefault(name, _Folder()), rest, id)
    else:
        folder.files[name] = id


def _remove(folder: _Folder, steps: list[str]) -> None:
    """Remove a file, and the folders that are empty without it: git has none."""
    folder.id = b""
    name, *rest = steps
    if not rest:
        folder.files.pop(name, None)
    elif name in folder.folders:
        inner = folder.folders[name]
        _remove(inner, rest)
        if not inner.files and not inner.folders:
            del folder.folders[name]


def _format_commit(commit: Commit, tree: bytes, parent: bytes) -> bytes:
    name = one_line(commit.by, 80).translate({ord("<"): None, ord(">"): None}).strip(" .,:;'\"")
    mail = "".join(letter if letter.isalnum() else "-" for letter in name)
    who = f"{name or 'unknown'} <{mail or 'unknown'}@uncaged.invalid> {int(commit.at)} +0000"
    lines = [f"tree {tree.hex()}"]
    if parent:
        lines.append(f"parent {parent.hex()}")
    lines += [f"author {who}", f"committer {who}", "", commit.message, ""]
    return "\n".join(lines).encode("utf-8", "replace")
