"""The code store keeps native code on disk, authenticated with a key that only this user can read.

Shipped code comes with the package, compiled when that was built: a first start in a read-only
place compiles nothing. Its HMAC uses a key that everybody knows. That detects damage, and code for
another runtime, other settings or another processor, which is then compiled anew; it does not prove
who made the code. It need not: the code lies among this package's own modules, so a user who can
change it can change those, and a secret key beside it would prove no more.
"""

from __future__ import annotations

import hmac
import os
import stat
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256
from itertools import chain
from pathlib import Path

from sigil.sandbox.compile_job import CompileJobs, fingerprint
from sigil.sandbox.sealed_memory import CHUNK, CodeDraft, SealedCode

_KEY_BYTES = 32
_FILES = 128
_FILE_BYTES = 64 << 20
_FOLDER_BYTES = 512 << 20
_ABANDONED_SECONDS = 3600
_SUFFIX = ".code"
_PART = ".part"


class CodeStore:
    """A folder of stored code. A failure of the disk means "not stored": it never stops a run.

    `context`: what the code depends on beside the module; the HMAC covers it, so that code is never
    used in another context. `key`: the HMAC's key (default: the folder's own).
    """

    def __init__(self, folder: Path, context: bytes, key: bytes | None = None) -> None:
        self._folder = folder
        self._context = context
        self._shipped = key is not None
        self._key = key
        if key is None:
            # A new key when there is none that can be trusted; None when nothing can be stored.
            path = folder / "key"
            with suppress(OSError):
                folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                self._key = _read_private_key(path)
                if self._key is None:
                    _replace_file(path, [os.urandom(_KEY_BYTES)])
                    self._key = _read_private_key(path)

    def read(self, digest: str) -> SealedCode | None:
        """Return the code of the module `digest` (hex), copied into a sealed file; None when there
        is none or it was changed.
        """
        if self._key is None:
            return None
        try:
            with (
                CodeDraft() as draft,
                open(self._path(digest), "rb", buffering=0, opener=_open_plain) as file,
            ):
                facts = os.fstat(file.fileno())
                if not stat.S_ISREG(facts.st_mode) or facts.st_size > _FILE_BYTES:
                    return None
                mac = self._mac(digest)
                stored = file.read(mac.digest_size)
                while piece := file.read(CHUNK):
                    mac.update(piece)
                    draft.write(piece)
                if not hmac.compare_digest(stored, mac.digest()):
                    return None
                if not self._shipped:
                    os.utime(file.fileno())  # `_prune` deletes the files first that were not used
                return draft.seal()
        except OSError:
            return None

    def write(self, digest: str, code: SealedCode) -> None:
        """Store `code` for the module `digest`, whole or not at all."""
        if self._key is None:
            return
        mac = self._mac(digest)
        for piece in code.chunks():
            mac.update(piece)
        with suppress(OSError):
            _replace_file(self._path(digest), chain([mac.digest()], code.chunks()))
            self._prune()

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}{_SUFFIX}"

    def _mac(self, digest: str) -> hmac.HMAC:
        return hmac.new(self._key or b"", self._context + bytes.fromhex(digest), "sha256")

    def _prune(self) -> None:
        """Delete the files that were not used for the longest time, and abandoned drafts."""
        files = sorted(
            ((path.stat(), path) for path in self._folder.glob(f"*{_SUFFIX}")),
            key=lambda each: -each[0].st_mtime,
        )
        total = 0
        for number, (facts, path) in enumerate(files):
            total += facts.st_size
            if number >= _FILES or (total > _FOLDER_BYTES and number):
                path.unlink(missing_ok=True)
        for path in self._folder.glob(f".*{_PART}"):
            if time.time() - path.stat().st_mtime > _ABANDONED_SECONDS:
                path.unlink(missing_ok=True)


def _open_plain(path: str, flags: int) -> int:
    """Open a file without following a link, and without waiting at a pipe."""
    return os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK)


def _read_private_key(path: Path) -> bytes | None:
    """Return the key in `path` if it is whole, ours, and no other user can read it."""
    try:
        descriptor = _open_plain(str(path), os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        facts = os.fstat(descriptor)
        key = file.read(_KEY_BYTES + 1)
    ours = (
        stat.S_ISREG(facts.st_mode) and facts.st_uid == os.geteuid() and not facts.st_mode & 0o077
    )
    return key if ours and len(key) == _KEY_BYTES else None


def _replace_file(path: Path, pieces: Iterable[bytes]) -> None:
    """Write `path` (mode 0600) in one step, so that a reader never sees a half of it."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=_PART)
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
        os.replace(name, path)
    except OSError:
        os.unlink(name)
        raise


FOLDER = Path(__file__).parent / "shipped"
_PUBLIC_KEY = b"shipped with the package"


def open_shipped(folder: Path = FOLDER) -> CodeStore | None:
    """Return the store of the code that came with the package; None when it came without."""
    return CodeStore(folder, fingerprint(), _PUBLIC_KEY) if folder.is_dir() else None


def compile_shipped(wasm: bytes, folder: Path = FOLDER) -> None:
    """Compile `wasm` into the package. `UnfitModule` or `BackendError` when that fails."""
    folder.mkdir(exist_ok=True)
    code = CompileJobs().run("compile", wasm)
    CodeStore(folder, fingerprint(), _PUBLIC_KEY).write(sha256(wasm).hexdigest(), code)
