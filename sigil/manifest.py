"""What a capability says of itself: `sigil.toml` for people, a flat JSON object for programs, one `Manifest` inside."""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError, ValidationInfo, model_validator

from sigil import schema
from sigil.errors import UsageError, one_line
from sigil.protocol import Json, is_name
from sigil.strict import canonical, depth
from sigil.wording import first, meant, shown, wrong

SOURCE_BYTES = 256 * 1024
WASM_BYTES = 2 * 1024 * 1024
STORED = "stored"
"""The context in which a manifest is read back that was checked when it was deployed: its schema is not checked again."""
NESTED_MOST = 64
MANIFEST_BYTES = 128 * 1024
TTL_DEFAULT, TTL_MOST = 3_600, 86_400
LANGS = ("js", "wat", "wasm", "wasi", "c")
BINARY = ("wasm", "wasi")
"""Languages whose code is a finished module."""
_CODE_WORD = re.compile(r"E[A-Z0-9]{2,15}", re.ASCII)
SOURCES = {"js": "main.js", "wat": "main.wat", "wasm": "main.wasm", "wasi": "main.wasm", "c": "main.c"}


def _clean(text: str) -> str:
    line = one_line(text, 100_000)
    if not line:
        raise ValueError("empty")
    return line


def _name(text: str) -> str:
    if not is_name(text):
        raise ValueError("a name is lower-case words joined by hyphens, at most 60 characters")
    return text


def _schema(value: dict[str, Any], info: ValidationInfo) -> dict[str, Any]:
    if info.context == STORED:
        return value
    try:
        return schema.check(value)
    except UsageError as problem:
        raise ValueError(problem.message) from None


def _ttl(value: int | None, info: ValidationInfo) -> int | None:
    if value is not None and info.context != STORED and info.data.get("lifetime", "ephemeral") != "ephemeral":
        raise ValueError("it does nothing here: an ephemeral capability alone has an end")
    return value


Name = Annotated[str, AfterValidator(_name)]
Word = Annotated[str, Field(max_length=80), AfterValidator(_clean)]
Sentence = Annotated[str, Field(max_length=500), AfterValidator(_clean)]
Words = Annotated[tuple[Word, ...], Field(max_length=40, strict=False)]
Grantables = Annotated[tuple[Annotated[str, Field(max_length=200), AfterValidator(_clean)], ...], Field(max_length=20, strict=False)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Permissions(_Part):
    """What a capability asks for; nothing by default."""

    http: Grantables = ()
    secrets: Grantables = ()
    call: Grantables = ()
    log: bool = False
    kv: bool = False
    clock: bool = False
    random: bool = False

    @property
    def none(self) -> bool:
        return self == Permissions()


class Limits(_Part):
    """At or below the published limits."""

    timeout_ms: int = Field(default=5_000, ge=1, le=30_000)


class Reply(_Part):
    """What the web answers in a test: `body` is a text as it is, or anything else as JSON."""

    url: str = Field(max_length=2_000)
    method: str = Field(default="GET", max_length=20)
    status: int = Field(default=200, ge=200, le=599)
    headers: dict[str, str] = Field(default_factory=dict)
    body: Any = ""


class Test(_Part):
    """A golden test: an input and either the output or the code of the error; `http`: what the web answers in it."""

    input: dict[str, Any]
    output: Any = None
    error: Word | None = None
    http: Annotated[tuple[Reply, ...], Field(max_length=20, strict=False)] = Field(default=(), exclude_if=lambda value: not value)

    @model_validator(mode="after")
    def _one_expectation(self, info: ValidationInfo) -> Test:
        if self.error is not None and "output" in self.model_fields_set:
            raise ValueError("a test expects an output or an error, not both")
        if self.error is None and "output" not in self.model_fields_set:
            raise ValueError("a test expects an output or an error")
        if self.error is not None and info.context != STORED and not _CODE_WORD.fullmatch(self.error):
            raise ValueError("error is a code, E and 2 to 15 capital letters or digits: no call ever fails with anything else")
        return self


class Manifest(_Part):
    """Everything about a capability but its code."""

    name: Name
    description: Sentence
    lang: Literal["js", "wat", "wasm", "wasi", "c"] = "js"  # LANGS
    lifetime: Literal["persistent", "normal", "ephemeral"] = "normal"
    ttl: Annotated[int | None, Field(ge=1, le=TTL_MOST), AfterValidator(_ttl)] = None
    tags: Words = ()
    aliases: Words = ()
    examples: Annotated[tuple[Sentence, ...], Field(max_length=20, strict=False)] = ()
    public: bool = False
    idempotent: bool = False
    on_degraded: Literal["wait", "rollback"] = Field(default="wait", exclude_if=lambda value: value == "wait")
    requires: Annotated[tuple[Name, ...], Field(max_length=20, strict=False)] = ()
    input: Annotated[dict[str, Any], AfterValidator(_schema)] = Field(default_factory=lambda: {"type": "object", "properties": {}})
    output: dict[str, Any] | None = None
    permissions: Permissions = Permissions()
    limits: Limits = Limits()
    tests: Annotated[tuple[Test, ...], Field(max_length=100, strict=False)] = ()

    @model_validator(mode="after")
    def _small(self, info: ValidationInfo) -> Manifest:
        if info.context != STORED and len(canonical(self.model_dump(mode="json"))) > MANIFEST_BYTES:
            raise ValueError(f"a manifest has at most {MANIFEST_BYTES // 1024} KiB, tests included")
        return self

    @property
    def pure(self) -> bool:
        """Whether a call whose answer was lost may simply run again."""
        return self.idempotent or (self.permissions.none and not self.requires)

    @property
    def seconds_to_live(self) -> int | None:
        return (self.ttl or TTL_DEFAULT) if self.lifetime == "ephemeral" else None


@dataclass(frozen=True, slots=True)
class Package:
    """A manifest with its code: `code` is the source, or the module itself when `lang` is wasm or wasi."""

    manifest: Manifest
    code: bytes

    @property
    def digest(self) -> str:
        """`sha256:` over the canonical manifest and the code: what was offered is what runs.

        A field that came after the first release is excluded at its default, so that the digests from before hold.
        """
        manifest = canonical(self.manifest.model_dump(mode="json"))
        return "sha256:" + hashlib.sha256(manifest + b"\0" + self.code).hexdigest()


def read_folder(folder: Path) -> Package:
    """The package in a folder with a `sigil.toml`; `UsageError` names the line and the field that are wrong."""
    path = folder / "sigil.toml"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as problem:
        raise UsageError(
            "ENOENT", f"cannot read {path}: {problem.strerror}", suggestion="`sigil init NAME` makes a working folder"
        ) from None
    except UnicodeDecodeError:
        raise UsageError("EMANIFEST", f"{path}: not UTF-8") from None
    manifest, source = parse_toml(text, place=str(path))
    if not (folder / source).resolve().is_relative_to(folder.resolve()):
        raise wrong(str(path), text, ("build", "source"), "it leaves the folder", "put the source into the folder")
    return Package(manifest, _read_source(folder / source, manifest.lang))


def _read_source(path: Path, lang: str) -> bytes:
    try:
        if not path.is_file():
            raise UsageError("ENOENT", f"{path} is no file", suggestion="build.source names the file with the code")
        if path.stat().st_size > WASM_BYTES:
            raise UsageError("ETOOBIG", f"{path} has {path.stat().st_size:,} bytes, at most {WASM_BYTES:,} are allowed")
        return _sized(path.read_bytes(), lang)
    except OSError as problem:
        raise UsageError(
            "ENOENT", f"cannot read {path}: {problem.strerror}", suggestion="build.source names the file with the code"
        ) from None


def parse_toml(text: str, *, place: str = "sigil.toml") -> tuple[Manifest, str]:
    """The manifest and the name of its source file."""
    try:
        table = tomllib.loads(text.removeprefix("\ufeff"))
    except (tomllib.TOMLDecodeError, RecursionError, ValueError) as problem:
        raise UsageError("EMANIFEST", f"{place}: {one_line(str(problem))}") from None
    unknown = sorted(set(table) - {section.strip("[]") for section in _SECTIONS})
    if unknown:
        raise wrong(place, text, (unknown[0],), "not a section of a manifest", meant(f"[{unknown[0]}]", _SECTIONS))
    for section in ("capability", "build"):
        if not isinstance(table.get(section, {}), dict):
            raise wrong(place, text, (section,), "has to be a section")
    build = dict(table.get("build", {}))
    lang = build.pop("lang", "js")
    source = build.pop("source", SOURCES.get(str(lang), "main.js"))
    if build or not isinstance(source, str):
        raise wrong(place, text, ("build", next(iter(build), "source")), "build has lang and source, both strings")
    sections = {name: table[name] for name in ("input", "output", "permissions", "limits") if name in table}
    fields = {**table.get("capability", {}), **sections, "lang": lang, "tests": table.get("test", [])}
    if not depth(fields, NESTED_MOST):
        raise UsageError("EMANIFEST", f"{place}: nested deeper than {NESTED_MOST}")
    try:
        return Manifest.model_validate(fields), source
    except ValidationError as problem:
        raise wrong(place, text, *first(problem, "a section", {**_PARTS, "": _CAPABILITY})) from None


_SECTIONS = ("[capability]", "[build]", "[input]", "[output]", "[permissions]", "[limits]", "[[test]]")
_CAPABILITY = Manifest.model_fields.keys() - {"lang", "input", "output", "permissions", "limits", "tests"}
_PARTS: dict[str | int, Collection[str]] = {
    "permissions": Permissions.model_fields,
    "limits": Limits.model_fields,
    "test": Test.model_fields,
}
_FLAT = {"type": "lifetime", "schema": "input", "output_schema": "output"}
_CODE = ("execute", "code", "wasm")


def parse_flat(spec: Mapping[str, Json]) -> Package:
    """The package that a program sent: a manifest's fields flat, with `execute` | `code` + `lang` | `wasm` (base64).

    `name` null or missing becomes `t-` and six hex digits of the code.
    """
    given = {name: value for name, value in spec.items() if value is not None}
    code, lang = _code_of(given)
    fields = {_FLAT.get(name, name): value for name, value in given.items() if name not in _CODE}
    fields["lang"] = lang
    if not depth(fields, NESTED_MOST):
        raise UsageError("EMANIFEST", f"nested deeper than {NESTED_MOST}")
    fields.setdefault("name", "t-" + hashlib.sha256(code).hexdigest()[:6])
    fields.setdefault("description", f"The capability {fields['name']}.")
    return of_fields(fields, code)


def of_fields(fields: Mapping[str, Json], code: bytes) -> Package:
    """The package of a manifest's own fields (`name`, `lang`, …) and its code; `UsageError` with EMANIFEST."""
    try:
        manifest = Manifest.model_validate(dict(fields))
    except ValidationError as problem:
        names = {"test": "tests", **{inner: outer for outer, inner in _FLAT.items()}}
        outer = {names.get(name, name) for name in Manifest.model_fields}
        where, what, hint = first(problem, "an object", {**_PARTS, "": outer})
        field = shown((names.get(str(where[0]), where[0]), *where[1:])) if where else "spec"
        source = str(fields.get("name", ""))[:60]
        raise UsageError("EMANIFEST", f"{field}: {what}", source=source, suggestion=hint or "mend the field") from None
    return Package(manifest, _sized(code, manifest.lang))


def _code_of(given: Mapping[str, Json]) -> tuple[bytes, str]:
    forms = [form for form in _CODE if form in given]
    if len(forms) != 1 or not isinstance(given[forms[0]], str):
        raise UsageError("EMANIFEST", "give the code once, as a string: execute (JavaScript body), code with lang, or wasm (base64)")
    text = given[forms[0]]
    if forms[0] == "wasm":
        try:
            return base64.b64decode(text, validate=True), "wasi" if given.get("lang") == "wasi" else "wasm"
        except (binascii.Error, ValueError):
            raise UsageError("EMANIFEST", "wasm: not base64") from None
    lang = given.get("lang", "js")
    if forms[0] == "execute" and lang != "js":
        raise UsageError("EMANIFEST", "execute is JavaScript; other languages go into code with lang")
    return text.encode("utf-8", "replace"), str(lang)


def _sized(code: bytes, lang: str) -> bytes:
    most = WASM_BYTES if lang in BINARY else SOURCE_BYTES
    if len(code) > most:
        raise UsageError("ETOOBIG", f"the code has {len(code):,} bytes, at most {most:,} are allowed")
    return code
