"""Capabilities as one file: a zip archive without compression, the same bytes for the same
capabilities, read without trust.

`sigil.json` lists them ({"format": 1, "capabilities": [{"name", "version", "digest", "author",
"at"}, …]}); `NAME/sigil.json` is a manifest, `NAME/code` its source, or the module itself.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sigil.catalog.records import Record
from sigil.errors import UsageError
from sigil.manifest.languages import BINARY
from sigil.manifest.model import MANIFEST_BYTES
from sigil.manifest.package import NESTED_MOST, SOURCE_BYTES, WASM_BYTES, Package, parse_fields
from sigil.protocol import Json, is_name
from sigil.strict_json import canonical, depth, loads

FORMAT = 1
INDEX = "sigil.json"
CAPABILITIES_MOST = 100
BUNDLE_BYTES = 32 << 20
_DATE = (1980, 1, 1, 0, 0, 0)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """A capability with its code."""

    record: Record
    code: bytes


def pack(entries: Sequence[BundleEntry]) -> bytes:
    """The archive of these capabilities, each name once; `UsageError` when they are too many or too
    large.
    """
    rows = sorted(entries, key=lambda entry: entry.record.name)
    if len({entry.record.name for entry in rows}) < len(rows):
        raise UsageError("EINVAL", "a bundle holds one version of each name", source="bundle")
    if not 0 < len(rows) <= CAPABILITIES_MOST:
        raise UsageError(
            "EINVAL", f"a bundle holds 1 to {CAPABILITIES_MOST} capabilities", source="bundle"
        )
    files = {INDEX: canonical({"format": FORMAT, "capabilities": [_told(entry) for entry in rows]})}
    for entry in rows:
        files[f"{entry.record.name}/{INDEX}"] = canonical(
            entry.record.manifest.model_dump(mode="json", exclude_unset=True)
        )
        files[f"{entry.record.name}/code"] = entry.code
    if sum(map(len, files.values())) > BUNDLE_BYTES - 200 * len(files):
        raise UsageError(
            "ETOOBIG",
            f"the bundle is over {BUNDLE_BYTES >> 20} MiB",
            source="bundle",
            suggestion="export in several files",
        )
    return _zip(files)


def unpack(body: bytes) -> list[Package]:
    """The packages in an archive, their digests checked; `UsageError` EBUNDLE says what is wrong.
    Nothing is written anywhere.
    """
    if len(body) > BUNDLE_BYTES:
        raise UsageError("ETOOBIG", f"the bundle is over {BUNDLE_BYTES >> 20} MiB", source="bundle")
    files = _files(body)
    index = _object(files, INDEX)
    rows = index.get("capabilities")
    if (
        index.get("format") != FORMAT
        or not isinstance(rows, list)
        or not 0 < len(rows) <= CAPABILITIES_MOST
    ):
        raise _wrong(
            f"{INDEX} is no list of 1 to {CAPABILITIES_MOST} capabilities in format {FORMAT}"
        )
    packages = [_package(files, row) for row in rows]
    wanted = {
        INDEX,
        *(f"{package.manifest.name}/{part}" for package in packages for part in (INDEX, "code")),
    }
    if set(files) != wanted or len(wanted) != 1 + 2 * len(rows):
        raise _wrong("its list and its files differ")
    return packages


def _told(entry: BundleEntry) -> dict[str, Json]:
    """A row of the list. Its digest is that of manifest and code alone: what is called is recorded
    where the bundle is imported.
    """
    record, digest = entry.record, Package(entry.record.manifest, entry.code).digest
    return {
        "name": record.name,
        "version": record.version,
        "digest": digest,
        "author": record.author,
        "at": record.at,
    }


def _zip(files: dict[str, bytes]) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system, info.external_attr = 3, 0o644 << 16
            archive.writestr(info, content)
    return target.getvalue()


def _files(body: bytes) -> dict[str, bytes]:
    """The files of an archive: stored, named as we name them, each once, none larger than what it
    can be.
    """
    files: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            for info in _listed(archive, len(body)):
                files[info.filename] = archive.read(info)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, RuntimeError, OSError):
        raise _wrong("it is no archive of ours, or damaged") from None
    return files


def _listed(archive: zipfile.ZipFile, most: int) -> Iterator[zipfile.ZipInfo]:
    """Its entries; stored ones that lie beside each other are together no larger than the archive,
    which has `most` bytes.
    """
    infos = archive.infolist()
    if len(infos) > 1 + 2 * CAPABILITIES_MOST or len({info.filename for info in infos}) < len(
        infos
    ):
        raise _wrong("it holds too many files, or one twice")
    if sum(info.file_size for info in infos) > most:
        raise _wrong("it is larger unpacked than packed, or its files overlap")
    for info in infos:
        plain = (
            info.compress_type == zipfile.ZIP_STORED
            and info.file_size == info.compress_size
            and not info.flag_bits & 1
        )
        if not plain or info.file_size > _most(info.filename):
            raise _wrong("a file in it is compressed, encrypted or too large")
        yield info


def _most(path: str) -> int:
    """Return how large a file of this name may be; `UsageError` for a name that no file of ours
    has.
    """
    if path == INDEX:
        return MANIFEST_BYTES
    name, _, part = path.partition("/")
    if not is_name(name) or part not in (INDEX, "code"):
        raise _wrong("a file in it has a name of another kind")
    return MANIFEST_BYTES if part == INDEX else max(WASM_BYTES, SOURCE_BYTES)


def _package(files: dict[str, bytes], row: Any) -> Package:
    name, digest = (row.get("name"), row.get("digest")) if isinstance(row, dict) else (None, None)
    if (
        not isinstance(name, str)
        or not is_name(name)
        or not isinstance(digest, str)
        or not _DIGEST.fullmatch(digest)
    ):
        raise _wrong("a row of its list has no name or no digest")
    manifest, code = _object(files, f"{name}/{INDEX}"), files.get(f"{name}/code")
    if code is None or manifest.get("name") != name:
        raise _wrong(f"the files of {name} are missing or another's")
    package = _parsed(manifest, code)
    if package.digest != digest:
        raise _wrong(f"the digest of {name} is not that of its manifest and code")
    return package


def _parsed(manifest: dict[str, Json], code: bytes) -> Package:
    lang = manifest.get("lang", "js")
    if lang not in BINARY:
        try:
            code.decode()
        except UnicodeDecodeError:
            raise _wrong("a source in it is not UTF-8") from None
    if not depth(manifest, NESTED_MOST):
        raise _wrong("a manifest in it is nested too deep")
    return parse_fields(manifest, code)


def _object(files: dict[str, bytes], path: str) -> dict[str, Json]:
    value = loads(files.get(path, b""), source="bundle")
    if not isinstance(value, dict):
        raise _wrong(f"{path} is no object")
    return value


def _wrong(what: str) -> UsageError:
    return UsageError(
        "EBUNDLE",
        f"this is no bundle: {what}",
        source="bundle",
        suggestion="`sigil export NAME -o FILE` makes one",
    )
