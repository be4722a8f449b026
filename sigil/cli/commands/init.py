"""`sigil init`: make a folder with a capability that works."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from sigil.cli.shell import get_shell
from sigil.errors import Refused, UsageError


class Lang(StrEnum):
    """A language that `init` has a starter for."""

    js = "js"
    ts = "ts"
    c = "c"
    assemblyscript = "assemblyscript"
    rust = "rust"
    wat = "wat"
    wasm = "wasm"
    wasi = "wasi"


def init(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The capability's name, and the folder's.")
    ],
    lang: Annotated[Lang, typer.Option("--lang", help="The language of its source.")] = Lang.js,
    folder: Annotated[
        Path | None,
        typer.Option("--folder", metavar="PATH", help="Where to write (default: ./NAME)."),
    ] = None,
) -> None:
    """Make a folder with a capability that works."""
    from sigil.cli.templates import make_files
    from sigil.protocol import Ref, is_name
    from sigil.storage.files import make_write_error, write_folder

    if not is_name(name):
        Ref.parse(name)
        raise UsageError(
            "ENAME",
            f"{name!r} is not a capability's name",
            suggestion="lower-case words joined by hyphens",
        )
    shell = get_shell(context)
    place = folder or Path(name)
    try:
        taken = place.exists() and (not place.is_dir() or any(place.iterdir()))
    except OSError as problem:
        raise make_write_error(place, problem) from None
    if taken:
        raise Refused(
            "EEXIST",
            f"{place} exists already",
            suggestion="choose another name, or --folder PATH",
        )

    def assemble(text: bytes) -> bytes:
        with shell.open_sandbox() as sandbox:
            return sandbox.assemble(text)

    files = make_files(name, lang.value, assemble)
    write_folder(place, files)
    if shell.printer.json:
        shell.printer.document({"folder": str(place), "files": [*files]})
    else:
        shell.printer.line(str(place))
        shell.printer.note(f"try: sigil test {place}, then: sigil deploy {place}")
