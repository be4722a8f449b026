"""`build`: what a folder's source becomes, and the module itself for whoever deploys it
elsewhere.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.init import HERE, Folder
from sigil.cli.shell import Shell, shell_of
from sigil.cli.source_folder import placed, read, warn
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.compile.compiler import Built
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

    shell, package = shell_of(context), read(folder)
    built, seconds = _built(shell, package, folder)
    if output is not None:
        _demand_whole(built)
        write_whole(output, built.wasm)
    row = described(package, built, seconds)
    if shell.printer.json:
        shell.printer.document({**row, "file": str(output) if output else None})
    else:
        _show(shell, row, built)
        if output:
            shell.printer.note(f"wrote {output}")


def described(package: Package, built: Built, seconds: float) -> dict[str, Json]:
    """What there is to say of a module. `digest` is the capability's, `sha256` the module's own."""
    from hashlib import sha256

    from sigil.compile import module_summary

    return {
        "capability": package.manifest.name,
        "lang": package.manifest.lang,
        "kind": built.kind,
        "digest": package.digest,
        "sha256": sha256(built.wasm).hexdigest(),
        "bytes": len(built.wasm),
        "imports": list(module_summary.imports(built.wasm)),
        "exports": list(module_summary.exports(built.wasm)),
        "ms": round(seconds * 1000, 1),
    }


def _built(shell: Shell, package: Package, folder: Path) -> tuple[Built, float]:
    from sigil.compile.compiler import build as compiled

    warn(shell, package.manifest.lang, package.code)
    with (
        placed(folder),
        shell.sandbox() as sandbox,
        shell.printer.working(f"compiling {package.manifest.name}"),
    ):
        begin = time.perf_counter()
        return compiled(package, sandbox), time.perf_counter() - begin


def _demand_whole(built: Built) -> None:
    if built.kind == "js":
        message = (
            "what becomes of JavaScript and TypeScript is linked to the engine, and stands nowhere"
            " alone"
        )
        raise UsageError(
            "EINVAL", message, suggestion="deploy the folder itself: no compiler is needed for it"
        )


def _show(shell: Shell, row: dict[str, Json], built: Built) -> None:
    shell.printer.line(f"{row['capability']} {row['digest']}")
    shell.printer.line(
        f"{row['lang']}: {_KINDS[built.kind]}, {row['bytes']:,} bytes of wasm, {row['ms']:,.0f} ms"
    )
    shell.printer.line(f"imports: {', '.join(row['imports']) or 'nothing'}")
    shell.printer.line(f"exports: {', '.join(row['exports'])}")
