"""A bundle holds capabilities in one file, which is read without trust.

It is a zip archive without compression: the same capabilities are the same bytes. `sigil.json`
lists them ({"format": 1, "capabilities": [{"name", "version", "digest", "author",
"at"}, …]}); `NAME/sigil.json` is a manifest, `NAME/code` its source, or the module itself.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass

from sigil.catalog.records import Record
from sigil.errors import UsageError
from sigil.manifest.languages import BINARY
from sigil.manifest.model import MANIFEST_BYTES
from sigil.manifest.package import NESTED_MOST, SOURCE_BYTES, WASM_BYTES, Package, parse_fields
from sigil.protocol import Json, is_name
from sigil.strict_json import canonical, is_within_depth, loads

FORMAT = 1
INDEX = "sigil.json"
CAPABILITIES_MOST = 100
BUNDLE_BYTES = 32 << 20
ENTRY_BYTES = 200
"""Bytes of the archive that a file takes beside its content, at most."""
_DATE = (1980, 1, 1, 0, 0, 0)
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}", re.ASCII)


@dataclass(frozen=True, slots=True)
class BundleEntry:
    """A capability with its code."""

    record: Record
    code: bytes


def pack(entries: Sequence[BundleEntry]) -> bytes:
    """Return the archive of these capabilities.

    Raises `UsageError` EINVAL for two of one name or too many, ETOOBIG when they are too large.
    """
    entries = sorted(entries, key=lambda entry: entry.record.name)
    if len({entry.record.name for entry in entries}) < len(entries):
        raise UsageError("EINVAL", "a bundle holds one version of each name", source="bundle")
    if not 0 < len(entries) <= CAPABILITIES_MOST:
        message = f"a bundle holds 1 to {CAPABILITIES_MOST} capabilities"
        raise UsageError("EINVAL", message, source="bundle")
    rows = []
    files = {}
    for entry in entries:
        record = entry.record
        rows.append(
            {
                "name": record.name,
                "version": record.version,
                # of manifest and code alone: what it calls is recorded where it is imported
                "digest": Package(record.manifest, entry.code).digest,
                "author": record.author,
                "at": record.at,
            }
        )
        manifest = record.manifest.model_dump(mode="json", exclude_unset=True)
        files[f"{record.name}/{INDEX}"] = canonical(manifest)
        files[f"{record.name}/code"] = entry.code
    files = {INDEX: canonical({"format": FORMAT, "capabilities": rows}), **files}
    if sum(map(len, files.values())) > BUNDLE_BYTES - ENTRY_BYTES * len(files):
        raise UsageError(
            "ETOOBIG",
            f"the bundle is over {BUNDLE_BYTES >> 20} MiB",
            source="bundle",
            suggestion="export in several files",
        )
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            info = zipfile.ZipInfo(name, _DATE)
            info.create_system = 3
            info.external_attr = 0o644 << 16
            archive.writestr(info, content)
    return target.getvalue()


def unpack(body: bytes) -> list[Package]:
    """Return the packages in an archive, once their digests are checked.

    Raises `UsageError` EBUNDLE, which says what is wrong, or ETOOBIG.
    """
    if len(body) > BUNDLE_BYTES:
        raise UsageError("ETOOBIG", f"the bundle is over {BUNDLE_BYTES >> 20} MiB", source="bundle")
    files = _read_files(body)
    index = _read_object(files, INDEX)
    rows = index.get("capabilities")
    if (
        index.get("format") != FORMAT
        or not isinstance(rows, list)
        or not 0 < len(rows) <= CAPABILITIES_MOST
    ):
        raise _not_a_bundle(
            f"{INDEX} is not a list of 1 to {CAPABILITIES_MOST} capabilities in format {FORMAT}"
        )
    packages = [_read_package(files, row) for row in rows]
    listed = {INDEX}
    for package in packages:
        listed.add(f"{package.manifest.name}/{INDEX}")
        listed.add(f"{package.manifest.name}/code")
    if set(files) != listed or len(listed) != 1 + 2 * len(rows):
        raise _not_a_bundle("its index lists other files than it holds")
    return packages


def _read_files(body: bytes) -> dict[str, bytes]:
    """Return the files of an archive by name; all of them are stored plainly and small enough."""
    files: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(io.BytesIO(body)) as archive:
            infos = archive.infolist()
            if len(infos) > 1 + 2 * CAPABILITIES_MOST:
                raise _not_a_bundle("it holds too many files, or a file twice")
            if len({info.filename for info in infos}) < len(infos):
                raise _not_a_bundle("it holds too many files, or a file twice")
            # stored files that do not overlap are together no larger than the archive
            if sum(info.file_size for info in infos) > len(body):
                raise _not_a_bundle("it is larger unpacked than packed, or its files overlap")
            for info in infos:
                path = info.filename
                name, _, part = path.partition("/")
                if path != INDEX and not (is_name(name) and part in (INDEX, "code")):
                    raise _not_a_bundle("a file in it has a name that bundles do not use")
                most = max(WASM_BYTES, SOURCE_BYTES) if part == "code" else MANIFEST_BYTES
                is_plain = (
                    info.compress_type == zipfile.ZIP_STORED
                    and info.file_size == info.compress_size
                    and not info.flag_bits & 1
                )
                if not is_plain or info.file_size > most:
                    raise _not_a_bundle("a file in it is compressed, encrypted or too large")
                files[path] = archive.read(info)
    except (zipfile.BadZipFile, NotImplementedError, EOFError, ValueError, RuntimeError, OSError):
        raise _not_a_bundle("it is damaged, or `sigil export` did not make it") from None
    return files


def _read_package(files: dict[str, bytes], row: Json) -> Package:
    """Return the package of a row of the list, whose digest is the one that the row says."""
    name = row.get("name") if isinstance(row, dict) else None
    digest = row.get("digest") if isinstance(row, dict) else None
    if not isinstance(name, str) or not is_name(name):
        raise _not_a_bundle("a row of its list has no name or no digest")
    if not isinstance(digest, str) or not _DIGEST.fullmatch(digest):
        raise _not_a_bundle("a row of its list has no name or no digest")
    manifest = _read_object(files, f"{name}/{INDEX}")
    code = files.get(f"{name}/code")
    if code is None or manifest.get("name") != name:
        raise _not_a_bundle(f"the files of {name} are missing or belong to another capability")
    if manifest.get("lang", "js") not in BINARY:
        try:
            code.decode()
        except UnicodeDecodeError:
            raise _not_a_bundle("a source in it is not UTF-8") from None
    if not is_within_depth(manifest, NESTED_MOST):
        raise _not_a_bundle("a manifest in it is nested too deep")
    package = parse_fields(manifest, code)
    if package.digest != digest:
        raise _not_a_bundle(f"the digest of {name} is not that of its manifest and code")
    return package


def _read_object(files: dict[str, bytes], path: str) -> dict[str, Json]:
    value = loads(files.get(path, b""), source="bundle")
    if not isinstance(value, dict):
        raise _not_a_bundle(f"{path} is not a JSON object")
    return value


def _not_a_bundle(reason: str) -> UsageError:
    return UsageError(
        "EBUNDLE",
        f"not a bundle: {reason}",
        source="bundle",
        suggestion="`sigil export NAME -o FILE` makes one",
    )
