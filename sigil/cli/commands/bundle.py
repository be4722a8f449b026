"""`sigil export` and `sigil import`: capabilities in one file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.deploy import describe_hidden, report_deploy
from sigil.cli.completions import capability_names
from sigil.cli.shell import OpenRegistry, get_shell, unsure_message
from sigil.cli.times import format_count
from sigil.errors import SigilError, UsageError
from sigil.storage.files import write_whole

if TYPE_CHECKING:
    from sigil.protocol import Deployed


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

    Exporting the same capabilities again gives the same bytes.
    """
    shell = get_shell(context)
    count = format_count(len(refs), "capability")
    with shell.open_registry() as opened, shell.printer.progress(f"exporting {count}"):
        body = opened.registry.export(refs, opened.caller)
    write_whole(output, body)
    shell.printer.result(
        {"file": str(output), "bytes": len(body)},
        f"{output}: {count}, {format_count(len(body), 'byte')}",
    )


def import_bundle(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `sigil export` wrote.")],
    public: Annotated[
        bool,
        typer.Option(
            "--public",
            help="Keep public capabilities public; without this, all of them become private.",
        ),
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace",
            help="Import also under a name of yours that has stored data, and take the data over,"
            " and under a name of the library, and hide that one.",
        ),
    ] = False,
) -> None:
    """Deploy the capabilities in such a file.

    Checks their digests, and runs nothing in it, not even its tests.
    """
    shell = get_shell(context)
    body = _read_bundle(file)
    with shell.open_registry(unsure_message("sigil list")) as opened:
        with shell.printer.progress(f"importing {file.name}"):
            imported = opened.registry.import_bundle(
                body, opened.caller, public=public, replace=replace
            )
        if shell.printer.json:
            rows = [
                {
                    "capability": deployed.offer.name,
                    "version": deployed.offer.version,
                    "digest": deployed.offer.digest,
                    "created": deployed.created,
                }
                for deployed in imported
            ]
            shell.printer.document({"items": rows})
            return
        for deployed in imported:
            report_deploy(shell, opened, deployed, tested=False)
            if deployed.created:
                shell.printer.note(describe_import(opened, deployed))


def _read_bundle(file: Path) -> bytes:
    from sigil.catalog.bundle import BUNDLE_BYTES

    try:
        with file.open("rb") as stream:
            body = stream.read(BUNDLE_BYTES + 1)
    except OSError as problem:
        raise UsageError(
            "ENOENT",
            f"cannot read {file}: {problem.strerror}",
            suggestion="check the name; `sigil export NAME -o FILE` writes such a file",
        ) from None
    if len(body) > BUNDLE_BYTES:
        raise UsageError("ETOOBIG", f"{file} is over {BUNDLE_BYTES >> 20} MiB")
    return body


def describe_import(opened: OpenRegistry, deployed: Deployed) -> str:
    """Return how many tests an imported version has, and whether it hides one of the library's."""
    offer = deployed.offer
    try:
        row = opened.registry.inspect(f"{offer.name}@{offer.digest}", opened.caller)
    except SigilError:
        return ""  # it is gone again
    count = len(row.get("tests") or ())
    tests = f"{format_count(count, 'test')}, not run" if count else "there are no tests"
    hidden = describe_hidden(opened, offer.name)
    return f"{tests}; {hidden}" if hidden else tests
