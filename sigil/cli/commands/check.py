"""`sigil check`: tell whether a folder could be deployed, and what could be better in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.exit_codes import FAILED
from sigil.cli.shell import Shell, shell_of
from sigil.cli.source_folder import HERE, Folder, locate_errors, read_package
from sigil.cli.times import count_of

if TYPE_CHECKING:
    from sigil.manifest.model import Manifest
    from sigil.manifest.package import Package
    from sigil.protocol import Json


def check(
    context: typer.Context,
    folder: Folder = HERE,
    strict: Annotated[
        bool, typer.Option("--strict", help="Exit code 1 when something could be better.")
    ] = False,
) -> None:
    """Read the manifest, compile, and say what could be better.

    The manifest and its schema, whether the code compiles and loads, what it imports against what
    it asks for. No test is run and nothing is asked of a registry.
    """
    from sigil.cli.commands.test import compile_package
    from sigil.deploy import golden_tests

    shell, package = shell_of(context), read_package(folder)
    with locate_errors(folder), compile_package(shell, package) as (sandbox, program):
        golden_tests.require_loadable(
            sandbox, package.manifest.model_copy(update={"tests": ()}), program
        )
        module = program.load()
    advice = find_advice(package, module)
    _show_result(shell, package, len(module), advice)
    if strict and advice:
        raise typer.Exit(FAILED)


def _show_result(shell: Shell, package: Package, size: int, advice: list[Advice]) -> None:
    manifest = package.manifest
    if shell.printer.json:
        row = {
            "capability": manifest.name,
            "lang": manifest.lang,
            "digest": package.digest,
            "bytes": size,
        }
        shell.printer.document({**row, "advice": [asdict(one) for one in advice]})
        return
    shell.printer.line(f"{manifest.name} {package.digest}")
    for one in advice:
        shell.printer.line(f"{one.field}: {one.says}")
    tests = count_of(len(manifest.tests), "test")
    shell.printer.note(f"{manifest.lang}, {size:,} bytes of wasm, {tests}")


WORDS_LEAST = 3
_APART = re.compile(r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL)
"""Comments and strings: what stands in them is not used. Template literals stay, since they hold
code.
"""
_USES = {
    "http": re.compile(r"\bfetch\s*\("),
    "kv": re.compile(r"\bKV\b"),
    "clock": re.compile(
        r"\bDate\s*\.\s*now\b|\bnew\s+Date\s*(?:\(\s*\)|[;,)\n])|\bperformance\s*\.\s*now\b"
    ),
    "random": re.compile(r"\bMath\s*\.\s*random\b|\brandomUUID\b|\bgetRandomValues\b"),
    "log": re.compile(r"\bconsole\s*\."),
    "call": re.compile(r"\benv\s*(?:\?\.|\.)\s*call\b|\{[^}]*\bcall\b[^}]*\}\s*=\s*env\b"),
}
_SCRIPTS = ("js", "ts")
_WASI = {"clock": b"clock_time_get", "random": b"random_get"}
_SERVICES = ("http", "kv", "call", "log", "clock", "random")


@dataclass(frozen=True, slots=True)
class Advice:
    """`field`: where in the manifest; `says`: what could be better there."""

    field: str
    says: str


def find_advice(package: Package, module: bytes) -> list[Advice]:
    """Return what could be better in a package; `module` is its compiled code."""
    manifest = package.manifest
    return [
        *_words(manifest),
        *_schema(manifest.input),
        *_tests(manifest),
        *_permissions(package, module),
    ]


def _words(manifest: Manifest) -> Iterator[Advice]:
    if len(manifest.description.split()) < WORDS_LEAST:
        yield Advice("description", "says little: it is what a query finds, and what a model reads")
    if not manifest.examples and not manifest.aliases:
        yield Advice(
            "examples",
            "there are none, nor aliases: write what a user would say, so that it is found in other"
            " words too",
        )


def _schema(schema: Mapping[str, Json]) -> Iterator[Advice]:
    properties = schema.get("properties") or {}
    for name, part in properties.items():
        if (
            isinstance(part, dict)
            and not part.get("description")
            and not {"enum", "const", "$ref"} & part.keys()
        ):
            yield Advice(f"input.{name}", "has no description: a model has to guess what it means")
        if (
            isinstance(part, dict)
            and not {"type", "enum", "const", "$ref", "anyOf", "oneOf"} & part.keys()
        ):
            yield Advice(f"input.{name}", "has no type: anything is let in, and nothing is coerced")
    for name in schema.get("required") or ():
        if name not in properties:
            yield Advice("input.required", f"names {name}, which is no property")
        elif isinstance(properties[name], dict) and "default" in properties[name]:
            yield Advice(
                f"input.{name}",
                "is required and has a default: the default is always there, so it need not be"
                " required",
            )


def _tests(manifest: Manifest) -> Iterator[Advice]:
    if not manifest.tests:
        yield Advice("test", "there are none: nothing tells when a change breaks it")
    elif all(test.error for test in manifest.tests):
        yield Advice("test", "every one wants an error: none shows that it works")


def _permissions(package: Package, module: bytes) -> Iterator[Advice]:
    manifest, asked = package.manifest, package.manifest.permissions
    declared = {name for name in _SERVICES if getattr(asked, name)} | (
        {"call"} if manifest.requires else set()
    )
    used, possible = _used(package, module)
    for name in possible:
        if name in declared and name not in used:
            yield Advice(
                f"permissions.{name}",
                "is asked for, and the code does not seem to use it: ask for nothing more than it"
                " needs",
            )
        if name in used and name not in declared:
            yield Advice(
                f"permissions.{name}",
                "is not asked for, and the code seems to use it: it will fail with EPERM there",
            )
    if asked.secrets and not asked.http:
        yield Advice(
            "permissions.secrets", "are put into requests alone, and there is no permissions.http"
        )
    if manifest.idempotent and asked.none and not manifest.requires:
        yield Advice(
            "idempotent",
            "goes without saying: it has no permission, so a repeated call changes nothing",
        )


def _used(package: Package, module: bytes) -> tuple[set[str], Sequence[str]]:
    """Return the services that the code uses, and those whose use can be seen statically."""
    lang = package.manifest.lang
    if lang in _SCRIPTS:
        code = _APART.sub(" ", package.code.decode("utf-8", "replace"))
        return {name for name, pattern in _USES.items() if pattern.search(code)}, _SERVICES
    if b"wasi_snapshot_preview1" in module:
        return {name for name, function in _WASI.items() if function in module}, tuple(_WASI)
    if not _imports_services(module):
        return set(), _SERVICES  # a module that imports nothing can ask for nothing
    return set(), ()


def _imports_services(module: bytes) -> bool:
    return b"\x05sigil\x04call" in module
