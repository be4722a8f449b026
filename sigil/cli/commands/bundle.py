"""`sigil export` and `sigil import`: capabilities in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.deploy_report import report_deploy
from sigil.cli.completions import capability_names
from sigil.cli.shell import OpenRegistry, shell_of, unsure_message
from sigil.cli.times import count_of
from sigil.errors import SigilError, UsageError
from sigil.storage.files import write_whole

if TYPE_CHECKING:
    from sigil.protocol import Deployed, Json


def export_bundle(
    context: typer.Context,
    refs: Annotated[
        list[str],
        typer.Argument(
            metavar="NAME…",
            help="NAME, NAME@VERSION or NAME@sha256:DIGEST.",
            autocompletion=capability_names,
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Where to write it.")
    ],
) -> None:
    """Write capabilities into one file.

    The same capabilities give the same bytes.
    """
    shell = shell_of(context)
    with (
        shell.registry() as opened,
        shell.printer.working(f"exporting {count_of(len(refs), 'capability')}"),
    ):
        body = opened.registry.export(refs, opened.caller)
    write_whole(output, body)
    if shell.printer.json:
        shell.printer.document({"file": str(output), "bytes": len(body)})
    else:
        shell.printer.note(
            f"{output}: {count_of(len(refs), 'capability')}, {count_of(len(body), 'byte')}"
        )


def import_bundle(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `sigil export` wrote.")],
    public: Annotated[
        bool, typer.Option("--public", help="What was public stays so; else it is your own alone.")
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="Also where a name of yours has kept data, which it takes over."
        ),
    ] = False,
) -> None:
    """Deploy what such a file holds.

    Digests are checked, and nothing of it runs, not even its tests.
    """
    shell = shell_of(context)
    body = _read_bundle(file)
    with shell.registry(unsure_message("sigil list")) as opened:
        with shell.printer.working(f"importing {file.name}"):
            done = opened.registry.import_bundle(
                body, opened.caller, public=public, replace=replace
            )
        if shell.printer.json:
            shell.printer.document({"items": [_import_row(one) for one in done]})
            return
        for one in done:
            report_deploy(shell, opened, one, tested=False)
            if one.created:
                shell.printer.note(describe_import(opened, one))


def _import_row(one: Deployed) -> dict[str, Json]:
    return {
        "capability": one.offer.name,
        "version": one.offer.version,
        "digest": one.offer.digest,
        "created": one.created,
    }


def _read_bundle(file: Path) -> bytes:
    from sigil.catalog.bundle import BUNDLE_BYTES

    try:
        with file.open("rb") as stream:
            body = stream.read(BUNDLE_BYTES + 1)
    except OSError as problem:
        suggestion = (
            "check the name: it is looked for from here; `sigil export NAME -o FILE` writes one"
        )
        raise UsageError(
            "ENOENT", f"cannot read {file}: {problem.strerror}", suggestion=suggestion
        ) from None
    if len(body) > BUNDLE_BYTES:
        raise UsageError("ETOOBIG", f"{file} is over {BUNDLE_BYTES >> 20} MiB")
    return body


def describe_import(opened: OpenRegistry, deployed: Deployed) -> str:
    """Return how many tests an imported version has, and whether it hides one of the library's."""
    from sigil.protocol import LIBRARY

    offer = deployed.offer
    try:
        tests = len(
            opened.registry.inspect(f"{offer.name}@{offer.digest}", opened.caller).get("tests")
            or ()
        )
    except SigilError:
        return ""  # it is gone again
    ran = f"{count_of(tests, 'test')}, not run" if tests else "there are no tests"
    try:
        opened.registry.inspect(f"{LIBRARY}/{offer.name}", opened.caller)
    except SigilError:
        return ran
    return (
        f"{ran}; it stands before the library's own {offer.name} now (`sigil remove {offer.name}`"
        " brings that back)"
    )
