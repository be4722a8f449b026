"""Write a backup's file whole or not at all, and read one of which no byte is trusted."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import stat
import struct
import tempfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import IO, BinaryIO, Final, Self
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

from functions.backup.format import (
    ARTIFACT,
    ARTIFACT_BYTES,
    KIND,
    LINE_BYTES,
    MANIFEST,
    MANIFEST_BYTES,
    PARTS,
    SECRETS,
    SECRETS_BYTES,
    VERSION,
    Manifest,
    PartFacts,
    bind_to,
    decode_item,
    decode_manifest,
    encode_item,
    encode_manifest,
    make_damage_error,
    require_version,
)
from sigil.errors import Refused, UsageError
from sigil.storage.artifacts import artifact_name
from sigil.storage.files import make_write_error
from sigil.storage.kv.base import ScannedItem

DIGEST_CHARACTERS: Final = 64
SEAL: Final = f"{KIND} {VERSION} sha256 ".encode()
_ANY_SEAL: Final = re.compile(rb"uncaged-backup (\d{1,9}) sha256 [0-9a-f]{64}")
_COMMENT: Final = len(SEAL) + DIGEST_CHARACTERS
_END: Final = struct.Struct("<4s4H2LH")
"""The end of a ZIP archive, before its comment:
https://pkware.cachefly.net/webdocs/casestudies/APPNOTE.TXT 4.3.16.
"""
_LOCATOR: Final = struct.Struct("<4sLQL")
_LONG_END: Final = struct.Struct("<4sQ2H2L4Q")
_LOCAL_HEADER: Final = 30
ARTIFACTS_MOST: Final = 300_000
DIRECTORY_BYTES: Final = 48 << 20
"""The most of the list of files, which is in memory as a whole: that of as many artifacts."""
CHUNK: Final = 1 << 20
LEVEL: Final = 3
"""zlib's: a higher one takes twice the time."""
SAMPLE: Final = 16_384
"""Bytes at the beginning of a body that tell whether it is packed already."""


class ArchiveWriter:
    """A backup's file while it is written: under a hidden name until `finish`."""

    def __init__(self, path: Path) -> None:
        """`Refused` EEXIST when there is such a file, `UsageError` EWRITE when none can be made."""
        self.path = path
        if os.path.lexists(path):
            raise _make_exists_error(path)
        self._prefix = f".{path.name[:100]}.unfinished-"
        try:
            self._forget_unfinished()
            handle, name = tempfile.mkstemp(prefix=self._prefix, dir=path.parent)  # 0600
        except OSError as problem:
            raise make_write_error(path, problem) from None
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._temporary = Path(name)
        self._file: BinaryIO = os.fdopen(handle, "w+b")
        self._zip = ZipFile(self._file, "w", ZIP_DEFLATED, compresslevel=LEVEL)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with suppress(OSError, ValueError):
            self._zip.close()
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)
        if isinstance(problem, OSError):
            raise make_write_error(self.path, problem) from None

    @contextmanager
    def write_part(self, part: str) -> Iterator[PartWriter]:
        """Write one part of the items within the block."""
        with self._zip.open(f"items/{part}.jsonl", "w", force_zip64=True) as stream:
            yield PartWriter(stream)

    def write_artifact(self, name: str, body: bytes) -> None:
        """Write a body under its name, packed if that makes it smaller: most are packed already."""
        begin = body[:SAMPLE]
        is_packed = len(zlib.compress(begin, 1)) > 0.9 * len(begin)
        self._zip.writestr(f"artifacts/{name}", body, ZIP_STORED if is_packed else ZIP_DEFLATED)

    def write_secrets(self, document: bytes) -> None:
        """Write the encrypted secrets."""
        self._zip.writestr(SECRETS, document)

    def finish(self, manifest: Manifest) -> str:
        """Write the manifest and the seal, give the file its name, and return its digest."""
        self._zip.writestr(MANIFEST, encode_manifest(manifest))
        self._zip.comment = SEAL + b"0" * DIGEST_CHARACTERS
        self._zip.close()
        self._file.flush()
        size = self._file.seek(0, os.SEEK_END) - DIGEST_CHARACTERS
        digest = _hash_file(self._file, size)
        self._file.seek(size)
        self._file.write(digest.encode())
        self._file.flush()
        os.fsync(self._file.fileno())
        try:
            os.link(self._temporary, self.path)
        except FileExistsError:
            raise _make_exists_error(self.path) from None
        except OSError:  # a file system without links
            if os.path.lexists(self.path):
                raise _make_exists_error(self.path) from None
            self._temporary.rename(self.path)
        folder = os.open(self.path.parent, os.O_RDONLY)
        try:
            with suppress(OSError):  # not every file system can sync a folder
                os.fsync(folder)
        finally:
            os.close(folder)
        return digest

    def _forget_unfinished(self) -> None:
        """Remove what a backup that was killed left; one that runs holds its lock."""
        for left in self.path.parent.glob(f"{_escape_glob(self._prefix)}*"):
            with suppress(OSError):
                handle = os.open(left, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    left.unlink()
                finally:
                    os.close(handle)


class PartWriter:
    """Writes the items of a part, and counts them."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self._items = 0
        self._bytes = 0

    def write(self, item: ScannedItem) -> None:
        """Write an item."""
        line = encode_item(item)
        self._stream.write(line)
        self._hash.update(line)
        self._items += 1
        self._bytes += len(line)

    @property
    def facts(self) -> PartFacts:
        """Return what was written."""
        return PartFacts(items=self._items, bytes=self._bytes, sha256=self._hash.hexdigest())


class ArchiveReader:
    """A backup's file, of which the seal, the list of files and the manifest are checked when it is
    opened, and each part when it is read.

    `BackendError` EDAMAGED for a file that was cut short or changed, EFORMAT for a newer one.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError as problem:
            code = "ENOENT" if isinstance(problem, FileNotFoundError) else "EREAD"
            raise UsageError(code, f"cannot read {path}: {problem.strerror}") from None
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise UsageError("EREAD", f"cannot read {path}: it is no file")
        self._file: BinaryIO = os.fdopen(handle, "rb")
        try:
            with _explain_damage():
                self.size = os.fstat(handle).st_size
                self.digest = _require_seal(self._file, self.size)
                _require_short_directory(self._file, self.size)
                self._zip = ZipFile(self._file)
                self._entries = _list_entries(self._zip)
                manifest = self._read(MANIFEST, MANIFEST_BYTES)
                self.manifest = decode_manifest(manifest)
                self.binding = bind_to(manifest)
                self.artifacts = sorted(
                    found[1] for name in self._entries if (found := ARTIFACT.fullmatch(name))
                )
                self._require_totals()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()
        self._file.close()

    def read_part(self, part: str) -> Iterator[ScannedItem]:
        """Yield the items of a part; that they are all is only known at the end."""
        facts = self.manifest.parts[part]
        found = hashlib.sha256()
        items = 0
        name = f"items/{part}.jsonl"
        with _explain_damage(), self._zip.open(self._entries[name]) as stream:
            while line := stream.readline(LINE_BYTES + 1):
                if not line.endswith(b"\n"):
                    raise make_damage_error("a line of it has no end")
                found.update(line)
                items += 1
                yield decode_item(line)
        if (items, found.hexdigest()) != (facts.items, facts.sha256):
            raise make_damage_error("its items are not those of its manifest")

    def read_artifact(self, name: str) -> bytes:
        """Return a body that has this name."""
        body = self._read(f"artifacts/{name}", ARTIFACT_BYTES)
        if artifact_name(body) != name:
            raise make_damage_error("a body has another digest than its name")
        return body

    def read_secrets(self) -> bytes:
        """Return the encrypted secrets; empty when there are none."""
        return self._read(SECRETS, SECRETS_BYTES) if SECRETS in self._entries else b""

    def _require_totals(self) -> None:
        """Raise `BackendError` unless the list of files is that of the manifest."""
        manifest = self.manifest
        sizes = {part: self._entries[f"items/{part}.jsonl"].file_size for part in PARTS}
        bodies = [self._entries[f"artifacts/{name}"].file_size for name in self.artifacts]
        if (
            sizes != {part: manifest.parts[part].bytes for part in PARTS}
            or (len(bodies), sum(bodies)) != (manifest.artifacts, manifest.artifact_bytes)
            or hash_names(self.artifacts) != manifest.names
            or manifest.secrets != (SECRETS in self._entries)
        ):
            raise make_damage_error("its files are not those of its manifest")

    def _read(self, name: str, most: int) -> bytes:
        with _explain_damage():
            entry = self._entries[name]
            if entry.file_size > most:
                raise make_damage_error("a file in it is too large")
            with self._zip.open(entry) as stream:
                body = stream.read(most + 1)
            if len(body) != entry.file_size:
                raise make_damage_error("a file in it has another length")
        return body


def hash_names(names: list[str]) -> str:
    """Return the SHA-256 of the names of artifacts, which are sorted."""
    return hashlib.sha256("".join(f"{name}\n" for name in names).encode()).hexdigest()


def _hash_file(file: BinaryIO, size: int) -> str:
    found = hashlib.sha256()
    file.seek(0)
    left = size
    while left and (chunk := file.read(min(CHUNK, left))):
        found.update(chunk)
        left -= len(chunk)
    return found.hexdigest()


def _require_seal(file: BinaryIO, size: int) -> str:
    """Return the digest that a backup ends with, which is that of all bytes before it."""
    file.seek(max(0, size - _COMMENT - _END.size - 16))
    seal = _ANY_SEAL.search(file.read())
    if seal is None:
        raise make_damage_error("it is no backup, or it was cut short")
    require_version(int(seal[1]))
    file.seek(size - _COMMENT)
    comment = file.read()
    if not comment.startswith(SEAL) or len(comment) != _COMMENT:
        raise make_damage_error("something follows its end")
    digest = comment[len(SEAL) :].decode("ascii", "replace")
    if _hash_file(file, size - DIGEST_CHARACTERS) != digest:
        raise make_damage_error("it was changed, or damaged, since it was made")
    return digest


def _require_short_directory(file: BinaryIO, size: int) -> None:
    """Raise `BackendError` for a list of files that would fill the memory."""
    end = size - _COMMENT - _END.size
    if end < 0:
        raise make_damage_error("it is no archive")
    file.seek(end)
    mark, *_, length, _, comment = _END.unpack(file.read(_END.size))
    if mark != b"PK\5\6" or comment != _COMMENT:
        raise make_damage_error("it is no archive")
    if end >= _LOCATOR.size + _LONG_END.size:
        file.seek(end - _LOCATOR.size)
        if _LOCATOR.unpack(file.read(_LOCATOR.size))[0] == b"PK\6\7":
            file.seek(end - _LOCATOR.size - _LONG_END.size)
            mark, *_, length, _ = _LONG_END.unpack(file.read(_LONG_END.size))
            if mark != b"PK\6\6":
                raise make_damage_error("it is no archive")
    if length <= DIRECTORY_BYTES:
        # its true beginning: the end's own word for it is not to be believed
        file.seek(max(0, end - length - _LOCATOR.size - _LONG_END.size))
        listed = file.read(end - file.tell()).count(b"PK\1\2")
    if length > DIRECTORY_BYTES or listed > ARTIFACTS_MOST + len(PARTS) + 2:
        raise make_damage_error("it lists too many files")


def _list_entries(opened: ZipFile) -> dict[str, ZipInfo]:
    """Return the files by name: those of a backup, each once and in bytes of its own."""
    entries = {entry.filename: entry for entry in opened.infolist()}
    parts = {f"items/{part}.jsonl" for part in PARTS}
    others = {name for name in entries if not ARTIFACT.fullmatch(name)}
    if not parts | {MANIFEST} <= others <= parts | {MANIFEST, SECRETS}:
        raise make_damage_error("it has other files than a backup")
    if len(entries) != len(opened.infolist()):
        raise make_damage_error("it has a file twice")
    free = 0
    for entry in sorted(entries.values(), key=lambda entry: entry.header_offset):
        if entry.header_offset < free or entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED):
            raise make_damage_error("its files overlap, or are packed in another way")
        free = entry.header_offset + _LOCAL_HEADER + entry.compress_size
    return entries


@contextmanager
def _explain_damage() -> Iterator[None]:
    """Turn what the readers of an archive raise for damage into `BackendError`."""
    try:
        yield
    except (
        BadZipFile,
        zlib.error,
        EOFError,
        struct.error,
        NotImplementedError,
        RuntimeError,
        UnicodeError,
        ValueError,
        KeyError,
        OverflowError,
    ) as problem:
        raise make_damage_error(f"it cannot be unpacked ({type(problem).__name__})") from None
    except OSError as problem:
        raise UsageError("EREAD", f"cannot read the backup: {problem.strerror}") from None


def _make_exists_error(path: Path) -> Refused:
    return Refused(
        "EEXIST",
        f"{path} exists already, and a backup replaces nothing",
        suggestion="choose another name, or remove it first",
    )


def _escape_glob(text: str) -> str:
    return re.sub(r"([*?\[])", r"[\1]", text)
