"""`sigil check`: tell whether a folder could be deployed, and what could be better in it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.exit_codes import FAILED
from sigil.cli.shell import get_shell
from sigil.cli.source_folder import CURRENT_FOLDER, Folder, locate_errors, read_package
from sigil.cli.times import format_count

if TYPE_CHECKING:
    from sigil.manifest.package import Package
    from sigil.protocol import Json

DESCRIPTION_WORDS_LEAST = 3
_SCRIPTS = ("js", "ts")
_COMMENTS_AND_STRINGS = re.compile(
    r"""/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'""", re.DOTALL
)
"""A service named in these is not used. Template literals stay, since they hold code."""
_SCRIPT_USES = {
    "http": re.compile(r"\bfetch\s*\("),
    "kv": re.compile(r"\bKV\b"),
    "clock": re.compile(
        r"\bDate\s*\.\s*now\b|\bnew\s+Date\s*(?:\(\s*\)|[;,)\n])|\bperformance\s*\.\s*now\b"
    ),
    "random": re.compile(r"\bMath\s*\.\s*random\b|\brandomUUID\b|\bgetRandomValues\b"),
    "log": re.compile(r"\bconsole\s*\."),
    "call": re.compile(r"\benv\s*(?:\?\.|\.)\s*call\b|\{[^}]*\bcall\b[^}]*\}\s*=\s*env\b"),
}
_WASI_USES = {"clock": b"clock_time_get", "random": b"random_get"}
_SERVICES = ("http", "kv", "call", "log", "clock", "random")
_CALL_IMPORT = b"\x05sigil\x04call"


@dataclass(frozen=True, slots=True)
class Advice:
    """Something that could be better. `field`: where in the manifest; `says`: what and why."""

    field: str
    says: str


def check(
    context: typer.Context,
    folder: Folder = CURRENT_FOLDER,
    strict: Annotated[
        bool, typer.Option("--strict", help="End with exit code 1 when there is any advice.")
    ] = False,
) -> None:
    """Check that a folder could be deployed, and advise on it.

    Reads the manifest and its schema, compiles and loads the code, and compares what the code uses
    with the permissions that it asks for. Runs no test, and sends nothing to a registry.
    """
    from sigil.cli.commands.test import compile_package
    from sigil.cli.templates import find_stale_types
    from sigil.deploy import golden_tests

    shell = get_shell(context)
    package = read_package(folder)
    manifest = package.manifest
    with locate_errors(folder), compile_package(shell, package) as (sandbox, program):
        without_tests = manifest.model_copy(update={"tests": ()})
        golden_tests.require_loadable(sandbox, without_tests, program)
        module = program.load()
    advice = find_advice(package, module)
    if find_stale_types(folder, manifest):
        advice.append(
            Advice("input.d.ts", "is older than the schema: `sigil types` writes it anew")
        )
    if shell.printer.json:
        shell.printer.document(
            {
                "capability": manifest.name,
                "lang": manifest.lang,
                "digest": package.digest,
                "bytes": len(module),
                "advice": [asdict(one) for one in advice],
            }
        )
    else:
        shell.printer.line(f"{manifest.name} {package.digest}")
        for one in advice:
            shell.printer.line(f"{one.field}: {one.says}")
        tests = format_count(len(manifest.tests), "test")
        shell.printer.note(f"{manifest.lang}, {len(module):,} bytes of wasm, {tests}")
    if strict and advice:
        raise typer.Exit(FAILED)


def find_advice(package: Package, module: bytes) -> list[Advice]:
    """Return what could be better in a package; `module` is its compiled code."""
    manifest = package.manifest
    advice = []
    if len(manifest.description.split()) < DESCRIPTION_WORDS_LEAST:
        advice.append(
            Advice("description", "says little: a query searches it, and a model reads it")
        )
    if not manifest.examples and not manifest.aliases:
        advice.append(
            Advice(
                "examples",
                "there are none, and no aliases: write what a user would say, so that a query in"
                " other words finds it too",
            )
        )
    advice += _advise_on_schema(manifest.input)
    if not manifest.tests:
        advice.append(Advice("test", "there are none: nothing tells when a change breaks it"))
    elif all(test.error for test in manifest.tests):
        advice.append(Advice("test", "every one expects an error: none shows that it works"))
    advice += _advise_on_permissions(package, module)
    return advice


def _advise_on_schema(schema: Mapping[str, Json]) -> Iterator[Advice]:
    properties = schema.get("properties")
    if not isinstance(properties, dict):
        properties = {}
    for name, part in properties.items():
        if not isinstance(part, dict):
            continue
        if not part.keys() & {"enum", "const", "$ref"} and not part.get("description"):
            yield Advice(f"input.{name}", "has no description: a model has to guess what it means")
        if not part.keys() & {"type", "enum", "const", "$ref", "anyOf", "oneOf"}:
            yield Advice(
                f"input.{name}", "has no type: every value is accepted, and none is converted"
            )
    required = schema.get("required")
    for name in required if isinstance(required, list) else ():
        if name not in properties:
            yield Advice("input.required", f"names {name}, which is not among the properties")
        elif isinstance(properties[name], dict) and "default" in properties[name]:
            yield Advice(
                f"input.{name}",
                "is required and has a default: the default makes the requirement pointless",
            )


def _advise_on_permissions(package: Package, module: bytes) -> Iterator[Advice]:
    manifest = package.manifest
    asked = manifest.permissions
    declared = {name for name in _SERVICES if getattr(asked, name)}
    if manifest.requires:
        declared.add("call")
    if asked.web:
        declared.add("http")
    used, visible = _find_used_services(package, module)
    for name in visible:
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
    if asked.secrets and not asked.http:  # no secret goes out by permissions.web
        yield Advice(
            "permissions.secrets",
            "can only be put into HTTP requests, and there is no permissions.http",
        )
    if manifest.idempotent and asked.none and not manifest.requires:
        yield Advice(
            "idempotent",
            "is not needed: without permissions a repeated call changes nothing anyway",
        )


def _find_used_services(package: Package, module: bytes) -> tuple[set[str], Sequence[str]]:
    """Return the services that the code uses, and those whose use can be seen statically."""
    if package.manifest.lang in _SCRIPTS:
        code = _COMMENTS_AND_STRINGS.sub(" ", package.code.decode("utf-8", "replace"))
        used = {name for name, pattern in _SCRIPT_USES.items() if pattern.search(code)}
        return used, _SERVICES
    if b"wasi_snapshot_preview1" in module:
        used = {name for name, function in _WASI_USES.items() if function in module}
        return used, tuple(_WASI_USES)
    if _CALL_IMPORT in module:
        return set(), ()  # any service may be behind it
    return set(), _SERVICES  # a module that imports nothing can use nothing
