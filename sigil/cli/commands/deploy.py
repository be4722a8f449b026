"""`deploy`: a folder, a folder of folders, or a capability in one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.deploy_report import report, row_of, whether
from sigil.cli.commands.inline_deploy import NOTHING, Inline
from sigil.cli.option_groups import spread
from sigil.cli.shell import Interrupted, Shell, shell_of
from sigil.cli.source_folder import MANIFEST, deployed, read
from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    from sigil.manifest.package import Package
    from sigil.protocol import Deployed, Json

EXAMPLES = """\
sigil deploy greet
sigil deploy greet --dry-run
sigil deploy --name shout --execute 'return input.text.toUpperCase()' --test '{"text": "a"}=A'"""
FOLDERS_MOST = 500


@spread
def deploy(
    context: typer.Context,
    folder: Annotated[
        Path | None,
        typer.Argument(
            metavar="FOLDER",
            help="A folder with a sigil.toml, or of such folders (default: the current one).",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Check and test it here, and say what would change.")
    ] = False,
    inline: Inline = NOTHING,
) -> None:
    """Check, test and activate a capability.

    It comes from a folder with a sigil.toml, or in one line with --execute. Of a folder of such
    folders each is deployed, what others call first.
    """
    shell = shell_of(context)
    if inline == NOTHING and (places := _inner(folder or Path())):
        _each(shell, places, dry_run=dry_run)
        return
    spec, place = _spec(folder, inline), folder or Path() if inline == NOTHING else None
    if dry_run:
        _rehearse(shell, spec, place)
        return
    done = _deployed(shell, spec, place)
    if shell.printer.json:
        shell.printer.document(row_of(done))


def _deployed(shell: Shell, spec: dict[str, Json], place: Path | None) -> Deployed:
    name = str(spec.get("name") or "it")
    try:
        with shell.registry() as opened:
            with shell.printer.working(f"deploying {name}"):
                done = deployed(
                    shell, lambda: opened.registry.deploy(spec, opened.caller), spec, place
                )
            if not shell.printer.json:
                report(shell, opened, done)
    except KeyboardInterrupt:
        raise Interrupted(whether(shell, spec)) from None
    return done


def _rehearse(shell: Shell, spec: dict[str, Json], place: Path | None) -> None:
    from sigil.cli.commands.dry_run import rehearse, show
    from sigil.manifest.package import parse_flat

    show(shell, rehearse(shell, parse_flat(spec), place))


def _each(shell: Shell, places: list[Path], *, dry_run: bool) -> None:
    """Deploy every folder; the first failure ends it, and what stands by then is told."""
    from sigil.cli.commands.dry_run import rehearse, show
    from sigil.manifest.package import flat_spec

    rows: list[dict[str, Json]] = []
    try:
        for package, place in _ordered(places):
            if dry_run:
                rows.append(rehearse(shell, package, place))
                if not shell.printer.json:
                    show(shell, rows[-1])
            else:
                rows.append(row_of(_deployed(shell, flat_spec(package), place)))
    except SigilError as problem:
        problem.source = problem.source or place.name
        raise
    finally:
        if shell.printer.json:
            shell.printer.document({"items": rows})
        elif len(rows) < len(places):
            shell.printer.note(
                f"{len(rows)} of {len(places)} {'were looked at' if dry_run else 'stand'}; the rest"
                " was not tried"
            )


def _inner(folder: Path) -> list[Path]:
    """The folders in `folder` that hold a capability each; none when it is one itself."""
    if (folder / MANIFEST).exists():
        return []
    found = sorted(path.parent for path in folder.glob(f"*/{MANIFEST}"))
    if len(found) > FOLDERS_MOST:
        raise UsageError(
            "ETOOBIG",
            f"{folder} holds {len(found):,} capabilities; at most {FOLDERS_MOST} are deployed at"
            " once",
        )
    return found


def _ordered(places: list[Path]) -> Iterator[tuple[Package, Path]]:
    """Every package is read before the first is deployed; those that others call come first."""
    from sigil.run.dependencies import callees_first

    packages = {
        package.manifest.name: (package, place) for place in places for package in (read(place),)
    }
    order = callees_first({name: package.manifest for name, (package, _) in packages.items()})
    return (packages[name] for name in order)


def _spec(folder: Path | None, inline: Inline) -> dict[str, Json]:
    if inline == NOTHING:
        from sigil.manifest.package import flat_spec

        spec = flat_spec(read(folder or Path()))
    elif folder:
        raise UsageError("EUSAGE", "give a folder or options, not both")
    elif inline.execute is None:
        raise UsageError(
            "EUSAGE",
            "--execute is missing",
            suggestion="add --execute, or mend the folder's sigil.toml and deploy that",
        )
    else:
        spec = inline.spec()
    if spec.get("ttl") is not None and spec.get("type") != "ephemeral":
        given = (
            ("--ttl", "--type ephemeral")
            if inline != NOTHING
            else ("ttl", 'lifetime = "ephemeral"')
        )
        raise UsageError(
            "EUSAGE",
            f"{given[0]} does nothing without {given[1]}",
            suggestion=f"add {given[1]}, or leave out {given[0]}",
        )
    return spec
