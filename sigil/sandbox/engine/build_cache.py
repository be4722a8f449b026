"""Keeps what a build made, in the user's cache folder under the digest of all that it was made of,
so that one machine builds it once: the next checkout, or wheel, takes it from there.

Nothing is trusted because it is there. A file counts only when it belongs to this user, nobody
else can write to it, and its content has the sha256 that stands in its first line beside the digest
of its inputs. Any other file is as good as none, and is replaced.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sigil.settings import build_cache_folder

_LARGEST = 64 << 20
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class BuildCache:
    """The folder of what was built, which need not exist yet; None: nothing is kept."""

    folder: Path | None

    def take(self, kind: str, inputs: str) -> bytes | None:
        """Return what was made of the inputs with this digest; None when it is not there, damaged
        or not this user's.
        """
        if self.folder is None:
            return None
        path = self.folder / kind / inputs
        try:
            if not all(_is_ours(each.lstat()) for each in (self.folder, path.parent)):
                return None
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | os.O_NOFOLLOW)
            with os.fdopen(handle, "rb") as file:
                facts = os.fstat(handle)
                is_file = stat.S_ISREG(facts.st_mode) and facts.st_size <= _LARGEST
                if not is_file or not _is_ours(facts):
                    return None
                head, _, content = file.read(_LARGEST).partition(b"\n")
            said = json.loads(head)
        except (OSError, ValueError, RecursionError):
            return None
        return content if said == _describe(kind, inputs, content) else None

    def keep(self, kind: str, inputs: str, content: bytes) -> None:
        """Keep what was made of the inputs with this digest, where that is possible."""
        if self.folder is None:
            return
        folder = self.folder / kind
        with suppress(OSError):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self.folder.chmod(0o700)
            handle, draft = tempfile.mkstemp(dir=folder)
            try:
                with os.fdopen(handle, "wb") as file:
                    file.write(json.dumps(_describe(kind, inputs, content)).encode() + b"\n")
                    file.write(content)
                Path(draft).replace(folder / inputs)
            except OSError:
                Path(draft).unlink()
                raise


def open_build_cache() -> BuildCache:
    """Return the cache that the environment names: `UNCAGED_BUILD_CACHE`, a folder or `off`, or
    `uncaged/build` in the user's cache folder.
    """
    return BuildCache(build_cache_folder())


def _describe(kind: str, inputs: str, content: bytes) -> dict[str, str]:
    return {"kind": kind, "inputs": inputs, "sha256": sha256(content).hexdigest()}


def _is_ours(facts: os.stat_result) -> bool:
    """Return whether a folder or file is this user's, and nobody else can write to it."""
    return facts.st_uid == os.geteuid() and not facts.st_mode & _OTHERS_WRITE
