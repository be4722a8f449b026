"""`sigil build`: compile a folder's source, and write the module for a deploy elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.shell import Shell, shell_of
from sigil.cli.source_folder import HERE, Folder, locate_errors, read_package, warn_of_slow_compile
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.compile.compiler import BuiltModule
    from sigil.manifest.package import Package
    from sigil.protocol import Json

_KINDS = {
    "js": "linked to the JavaScript engine",
    "sigil": "a module of the ABI sigil/1",
    "wasi": "a WASI command",
}


def build(
    context: typer.Context,
    folder: Folder = HERE,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write the module there.")
    ] = None,
) -> None:
    """Compile a folder's source, and say what came of it.

    Where no compiler is, deploy what `-o` wrote: lang = "wasm" (or "wasi") and source = "FILE" in
    its sigil.toml.
    """
    from sigil.storage.files import write_whole

    shell, package = shell_of(context), read_package(folder)
    built, seconds = _compile(shell, package, folder)
    if output is not None:
        _require_standalone(built)
        write_whole(output, built.wasm)
    row = describe_module(package, built, seconds)
    if shell.printer.json:
        shell.printer.document({**row, "file": str(output) if output else None})
    else:
        _show(shell, row, built)
        if output:
            shell.printer.note(f"wrote {output}")


def describe_module(package: Package, built: BuiltModule, seconds: float) -> dict[str, Json]:
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


def _compile(shell: Shell, package: Package, folder: Path) -> tuple[BuiltModule, float]:
    from sigil.compile.compiler import build as compiled

    warn_of_slow_compile(shell, package.manifest.lang, package.code)
    with (
        locate_errors(folder),
        shell.sandbox() as sandbox,
        shell.printer.working(f"compiling {package.manifest.name}"),
    ):
        begin = time.perf_counter()
        return compiled(package, sandbox), time.perf_counter() - begin


def _require_standalone(built: BuiltModule) -> None:
    if built.kind == "js":
        message = (
            "what becomes of JavaScript and TypeScript is linked to the engine, and stands nowhere"
            " alone"
        )
        raise UsageError(
            "EINVAL", message, suggestion="deploy the folder itself: no compiler is needed for it"
        )


def _show(shell: Shell, row: Mapping[str, Json], built: BuiltModule) -> None:
    shell.printer.line(f"{row['capability']} {row['digest']}")
    shell.printer.line(
        f"{row['lang']}: {_KINDS[built.kind]}, {row['bytes']:,} bytes of wasm, {row['ms']:,.0f} ms"
    )
    shell.printer.line(f"imports: {', '.join(row['imports']) or 'nothing'}")
    shell.printer.line(f"exports: {', '.join(row['exports'])}")
