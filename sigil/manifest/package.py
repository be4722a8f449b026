"""Reads a package, a manifest with its code, as people and programs write it: `sigil.toml` in a
folder, or a flat JSON object.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from sigil.errors import UsageError, one_line
from sigil.json_fields import as_mapping
from sigil.manifest.corrections import suggest_schema, suggest_test
from sigil.manifest.languages import BINARY, BUNDLE, CODELESS, SOURCES
from sigil.manifest.messages import (
    first_problem,
    format_field,
    manifest_error,
    suggest_name,
)
from sigil.manifest.model import Limits, Manifest, Permissions, Test
from sigil.protocol import Json
from sigil.storage import toml_files
from sigil.strict_json import canonical, is_within_depth

SOURCE_BYTES = 256 * 1024
WASM_BYTES = 2 * 1024 * 1024
NESTED_MOST = 64


@dataclass(frozen=True, slots=True)
class Package:
    """A manifest with its code: `code` is the source, or the module itself when `lang` is wasm or
    wasi.
    """

    manifest: Manifest
    code: bytes

    @property
    def digest(self) -> str:
        """Return `sha256:` over the canonical manifest and the code: what was offered is what runs.

        A field that came after the first release is left out at its default, so that the digests
        from before still hold.
        """
        manifest = canonical(self.manifest.model_dump(mode="json"))
        return "sha256:" + hashlib.sha256(manifest + b"\0" + self.code).hexdigest()


def read_folder(folder: Path) -> Package:
    """Read the package in a folder with a `sigil.toml`.

    `UsageError` names the line and the field that are wrong.
    """
    path = folder / "sigil.toml"
    try:
        text = toml_files.read_text(path)
    except OSError as problem:
        raise UsageError(
            "ENOENT",
            f"cannot read {path}: {problem.strerror}",
            suggestion="`sigil init NAME` makes a working folder",
        ) from None
    except UnicodeDecodeError:
        raise UsageError("EMANIFEST", f"{path}: not UTF-8", suggestion="save it as UTF-8") from None
    manifest, source = parse_toml(text, place=str(path))
    if not (folder / source).resolve().is_relative_to(folder.resolve()):
        raise manifest_error(
            str(path),
            text,
            ("build", "source"),
            "it leaves the folder",
            "put the source into the folder",
        )
    if manifest.lang in CODELESS:
        return Package(manifest, b"")
    code_path = folder / source
    try:
        if not code_path.is_file():
            raise UsageError(
                "ENOENT",
                f"{code_path} is not a file",
                suggestion="build.source names the file with the code",
            )
        size = code_path.stat().st_size
        if size > WASM_BYTES:
            raise UsageError(
                "ETOOBIG",
                f"{code_path} has {size:,} bytes, at most {WASM_BYTES:,} are allowed",
            )
        code = _require_size(code_path.read_bytes(), manifest.lang)
    except OSError as problem:
        raise UsageError(
            "ENOENT",
            f"cannot read {code_path}: {problem.strerror}",
            suggestion="build.source names the file with the code",
        ) from None
    return Package(manifest, code)


def parse_toml(text: str, *, place: str = "sigil.toml") -> tuple[Manifest, str]:
    """Return the manifest and the name of its source file; `UsageError` EMANIFEST."""
    try:
        table = toml_files.parse_table(text.removeprefix("\ufeff"))
    except ValueError as problem:
        raise UsageError(
            "EMANIFEST",
            f"{place}: {one_line(str(problem))}",
            suggestion="correct it: it has to be TOML (toml.io)",
        ) from None
    unknown = sorted(set(table) - {section.strip("[]") for section in SECTIONS})
    if unknown:
        raise manifest_error(
            place,
            text,
            (unknown[0],),
            "not a section of a manifest",
            suggest_name(f"[{unknown[0]}]", SECTIONS),
        )
    for section in ("capability", "build"):
        if not isinstance(table.get(section, {}), dict):
            raise manifest_error(place, text, (section,), "has to be a section")
    build = dict(table.get("build", {}))
    lang = build.pop("lang", "js")
    source = build.pop("source", SOURCES.get(str(lang), "main.js"))
    if build or not isinstance(source, str):
        raise manifest_error(
            place,
            text,
            ("build", next(iter(build), "source")),
            "build has lang and source, both strings",
        )
    bundle = table.get("bundle", {})
    if not isinstance(bundle, dict) or bundle.keys() - {"members"}:
        raise manifest_error(place, text, ("bundle",), "bundle has members, a list of names")
    sections = {
        name: table[name] for name in ("input", "output", "permissions", "limits") if name in table
    }
    fields = {
        **table.get("capability", {}),
        **sections,
        **bundle,
        "lang": lang,
        "tests": table.get("test", []),
    }
    if not is_within_depth(fields, NESTED_MOST):
        raise UsageError(
            "EMANIFEST",
            f"{place}: nested deeper than {NESTED_MOST}",
            suggestion="nest its tables and lists less deep",
        )
    try:
        return Manifest.model_validate(fields), source
    except ValidationError as problem:
        raise manifest_error(
            place, text, *first_problem(problem, "a section", {**_PARTS, "": _CAPABILITY})
        ) from None


SECTIONS = (
    "[capability]",
    "[build]",
    "[bundle]",
    "[input]",
    "[output]",
    "[permissions]",
    "[limits]",
    "[[test]]",
)
_CAPABILITY = Manifest.model_fields.keys() - {
    "lang",
    "members",
    "input",
    "output",
    "permissions",
    "limits",
    "tests",
}
_PARTS: dict[str | int, Collection[str]] = {
    "permissions": Permissions.model_fields,
    "limits": Limits.model_fields,
    "test": Test.model_fields,
}
_FLAT = {"type": "lifetime", "schema": "input", "output_schema": "output"}
_CODE = ("execute", "code", "wasm")


def parse_flat(spec: Mapping[str, Json]) -> Package:
    """Return the package that a program sent: a manifest's fields flat, and its code as `execute`,
    as `code` with `lang`, or as `wasm` (base64).

    `name` null or missing becomes `t-` and six hex digits of the code.
    """
    present = {name: value for name, value in spec.items() if value is not None}
    code, lang = _extract_code(present)
    fields = {_FLAT.get(name, name): value for name, value in present.items() if name not in _CODE}
    fields["lang"] = lang
    if not is_within_depth(fields, NESTED_MOST):
        raise UsageError("EMANIFEST", f"nested deeper than {NESTED_MOST}")
    fields.setdefault("name", "t-" + hashlib.sha256(code).hexdigest()[:6])
    fields.setdefault("description", f"The capability {fields['name']}.")
    return parse_fields(fields, code)


def flat_spec(package: Package) -> dict[str, Json]:
    """Return a package as `deploy` takes it: the flat form that `parse_flat` reads back to the same
    digest.
    """
    names = {inner: outer for outer, inner in _FLAT.items()}
    fields = package.manifest.model_dump(mode="json", exclude_unset=True)
    spec = {names.get(name, name): value for name, value in fields.items() if name != "lang"}
    spec["lang"] = package.manifest.lang
    if package.manifest.lang in BINARY:
        spec["wasm"] = base64.b64encode(package.code).decode()
        return spec
    try:
        spec["code"] = package.code.decode()
    except UnicodeDecodeError:
        raise UsageError(
            "EMANIFEST", "the source is not UTF-8", source=package.manifest.name
        ) from None
    return spec


def parse_fields(fields: Mapping[str, Json], code: bytes) -> Package:
    """Return the package of a manifest's own fields (`name`, `lang`, …) and its code; `UsageError`
    EMANIFEST.
    """
    try:
        manifest = Manifest.model_validate(dict(fields))
    except ValidationError as problem:
        names = {"test": "tests", **{inner: outer for outer, inner in _FLAT.items()}}
        outer = {names.get(name, name) for name in Manifest.model_fields}
        where, message, hint = first_problem(problem, "an object", {**_PARTS, "": outer})
        field = format_field((names.get(str(where[0]), where[0]), *where[1:])) if where else "spec"
        tests = fields.get("tests")
        number = where[1] if len(where) > 1 else None
        correction = ""
        if where[:1] == ("input",):
            correction = suggest_schema(fields.get("input"))
        elif where[:1] == ("test",) and isinstance(tests, list) and isinstance(number, int):
            properties = as_mapping(as_mapping(fields.get("input")).get("properties"))
            correction = suggest_test(tests[number], properties)
        source = str(fields.get("name", ""))[:60]
        raise UsageError(
            "EMANIFEST",
            f"{field}: {message}",
            source=source,
            suggestion=correction or hint or "correct the field",
        ) from None
    return Package(manifest, _require_size(code, manifest.lang))


def _extract_code(spec: Mapping[str, Json]) -> tuple[bytes, str]:
    """Return the code of a flat package and its language."""
    if spec.get("lang") == BUNDLE and not any(spec.get(form) for form in _CODE):
        return b"", BUNDLE
    forms = [form for form in _CODE if form in spec]
    text = spec[forms[0]] if len(forms) == 1 else None
    if not isinstance(text, str):
        raise UsageError(
            "EMANIFEST",
            "give the code once, as a string: execute (JavaScript body), code with lang, or wasm"
            " (base64)",
        )
    if forms[0] == "wasm":
        try:
            module = base64.b64decode(text, validate=True)
        except (binascii.Error, ValueError):
            raise UsageError("EMANIFEST", "wasm: not base64") from None
        return module, "wasi" if spec.get("lang") == "wasi" else "wasm"
    lang = spec.get("lang", "js")
    if forms[0] == "execute" and lang != "js":
        raise UsageError(
            "EMANIFEST", "execute is JavaScript; other languages go into code with lang"
        )
    return text.encode("utf-8", "replace"), str(lang)


def _require_size(code: bytes, lang: str) -> bytes:
    most = WASM_BYTES if lang in BINARY else SOURCE_BYTES
    if len(code) > most:
        raise UsageError(
            "ETOOBIG", f"the code has {len(code):,} bytes, at most {most:,} are allowed"
        )
    if lang in BINARY:
        is_empty = not code
        hint = "give the module's bytes"
    else:
        is_empty = lang not in CODELESS and not code.removeprefix(b"\xef\xbb\xbf").strip()
        hint = "write what it does, such as `return input.text`"
    if is_empty:
        raise UsageError("EMANIFEST", "the code is empty", suggestion=hint)
    return code
