"""`sigil types`: write the files that tell an editor about a capability."""

from __future__ import annotations

import typer

from sigil.cli.shell import get_shell
from sigil.cli.source_folder import CURRENT_FOLDER, Folder, read_package


def types(context: typer.Context, folder: Folder = CURRENT_FOLDER) -> None:
    """Write anew what editors know of the input.

    For JavaScript and TypeScript input.d.ts, with the types of the schema, and sigil.d.ts; for C
    sigil.h, for Rust sigil.rs, for AssemblyScript sigil.ts. Nothing of it is deployed.
    """
    from sigil.cli.templates import make_editor_files
    from sigil.compile import input_types
    from sigil.errors import Refused, UsageError
    from sigil.storage.files import write_whole

    shell = get_shell(context)
    package = read_package(folder)
    files = make_editor_files(package.manifest, is_new=False)
    if not files:
        raise UsageError(
            "EINVAL",
            f"there is nothing to write for {package.manifest.lang}",
            source=package.manifest.name,
            suggestion="docs/abi.md describes what a module finds",
        )
    changed = []
    for name, body in files.items():
        path = folder / name
        before = path.read_bytes() if path.is_file() else None
        if before == body:
            continue
        if name == input_types.FILE and before and not input_types.is_written_by_us(before):
            raise Refused(
                "EEXIST",
                f"{path} is a file of your own",
                source=package.manifest.name,
                suggestion="give it another name, or remove its declarations of Input and Output",
            )
        write_whole(path, body)
        changed.append(name)
    if shell.printer.json:
        shell.printer.document({"files": [*files], "changed": changed})
        return
    for name in changed:
        shell.printer.line(str(folder / name))
    if not changed:
        shell.printer.note("they fit the schema already")
