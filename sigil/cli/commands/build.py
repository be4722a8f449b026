"""`sigil build`: compile a folder's source, and write the module."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypedDict

import typer

from sigil.cli.shell import get_shell
from sigil.cli.source_folder import (
    CURRENT_FOLDER,
    Folder,
    locate_errors,
    read_package,
    warn_of_slow_compile,
)
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.compile.compiler import BuiltModule
    from sigil.manifest.package import Package

_KIND_WORDS = {
    "js": "linked to the JavaScript engine",
    "sigil": "a module of the ABI sigil/1",
    "wasi": "a WASI command",
}


def build(
    context: typer.Context,
    folder: Folder = CURRENT_FOLDER,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the module there.")
    ] = None,
) -> None:
    """Compile a folder's source, and describe the module.

    To deploy where there is no compiler, write the module with `-o` and put lang = "wasm" (or
    "wasi") and source = "FILE" into its sigil.toml.
    """
    from sigil.compile.compiler import build as compile_package
    from sigil.storage.files import write_whole

    shell = get_shell(context)
    package = read_package(folder)
    warn_of_slow_compile(shell, package.manifest.lang, package.code)
    with (
        locate_errors(folder),
        shell.open_sandbox() as sandbox,
        shell.printer.progress(f"compiling {package.manifest.name}"),
    ):
        start = time.perf_counter()
        built = compile_package(package, sandbox)
        seconds = time.perf_counter() - start
    if output is not None:
        if built.kind == "js":
            raise UsageError(
                "EINVAL",
                "JavaScript and TypeScript are linked to the engine, so there is no module to"
                " write",
                suggestion="deploy the folder itself: it needs no compiler",
            )
        write_whole(output, built.wasm)
    row = describe_module(package, built, seconds)
    if shell.printer.json:
        shell.printer.document({**row, "file": str(output) if output else None})
        return
    shell.printer.line(f"{row['capability']} {row['digest']}")
    shell.printer.line(
        f"{row['lang']}: {_KIND_WORDS[built.kind]}, {row['bytes']:,} bytes of wasm,"
        f" {row['ms']:,.0f} ms"
    )
    shell.printer.words(f"imports: {', '.join(row['imports']) or 'nothing'}")
    shell.printer.words(f"exports: {', '.join(row['exports'])}")
    if output:
        shell.printer.note(f"wrote {output}")


class BuiltModuleRow(TypedDict):
    """The facts about a module; `ms`: how long its build took, in milliseconds."""

    capability: str
    lang: str
    kind: str
    digest: str
    sha256: str
    bytes: int
    imports: list[str]
    exports: list[str]
    ms: float


def describe_module(package: Package, built: BuiltModule, seconds: float) -> BuiltModuleRow:
    """Return the facts about a module. `digest` is the capability's, `sha256` the module's own."""
    from hashlib import sha256

    from sigil.compile import module_summary

    return {
        "capability": package.manifest.name,
        "lang": package.manifest.lang,
        "kind": built.kind,
        "digest": package.digest,
        "sha256": sha256(built.wasm).hexdigest(),
        "bytes": len(built.wasm),
        "imports": list(module_summary.list_imports(built.wasm)),
        "exports": list(module_summary.list_exports(built.wasm)),
        "ms": round(seconds * 1000, 1),
    }
