"""`sigil deploy`: deploy a folder, a folder of folders, or a capability given in one line; with
--dry-run only tell what would change.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.deploy_report import deploy_row, report_deploy
from sigil.cli.commands.inline_deploy import NO_INLINE, InlineCapability
from sigil.cli.options import spread_options
from sigil.cli.shell import Interrupted, Shell, shell_of
from sigil.cli.source_folder import MANIFEST, deploy_package, read_package
from sigil.cli.times import count_of
from sigil.errors import Refused, SigilError, UsageError

if TYPE_CHECKING:
    from sigil.deploy.golden_tests import TestResult
    from sigil.manifest.model import Manifest
    from sigil.manifest.package import Package
    from sigil.protocol import Deployed, Json

EXAMPLES = """\
sigil deploy greet
sigil deploy greet --dry-run
sigil deploy --name shout --execute 'return input.text.toUpperCase()' --test '{"text": "a"}=A'"""
FOLDERS_MOST = 500


@spread_options
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
    inline: InlineCapability = NO_INLINE,
) -> None:
    """Check, test and activate a capability.

    It comes from a folder with a sigil.toml, or in one line with --execute. Of a folder of such
    folders each is deployed, what others call first.
    """
    shell = shell_of(context)
    if inline == NO_INLINE and (places := _find_folders(folder or Path())):
        _deploy_all(shell, places, dry_run=dry_run)
        return
    spec, place = _read_spec(folder, inline), folder or Path() if inline == NO_INLINE else None
    if dry_run:
        _rehearse_one(shell, spec, place)
        return
    done = _deploy_one(shell, spec, place)
    if shell.printer.json:
        shell.printer.document(deploy_row(done))


def _deploy_one(shell: Shell, spec: dict[str, Json], place: Path | None) -> Deployed:
    name = str(spec.get("name") or "it")
    try:
        with shell.registry() as opened:
            with shell.printer.working(f"deploying {name}"):
                done = deploy_package(
                    shell, lambda: opened.registry.deploy(spec, opened.caller), spec, place
                )
            if not shell.printer.json:
                report_deploy(shell, opened, done)
    except KeyboardInterrupt:
        raise Interrupted(describe_interrupted(shell, spec)) from None
    return done


def _rehearse_one(shell: Shell, spec: dict[str, Json], place: Path | None) -> None:
    from sigil.manifest.package import parse_flat

    show_rehearsal(shell, rehearse_deploy(shell, parse_flat(spec), place))


def _deploy_all(shell: Shell, places: list[Path], *, dry_run: bool) -> None:
    """Deploy every folder in turn. The first failure ends it, and what was deployed by then is
    reported.
    """
    from sigil.manifest.package import flat_spec

    rows: list[dict[str, Json]] = []
    try:
        for package, place in _read_in_order(places):
            if dry_run:
                rows.append(rehearse_deploy(shell, package, place))
                if not shell.printer.json:
                    show_rehearsal(shell, rows[-1])
            else:
                rows.append(deploy_row(_deploy_one(shell, flat_spec(package), place)))
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


def _find_folders(folder: Path) -> list[Path]:
    """Return the folders in `folder` that hold a capability each; none when it is one itself."""
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


def _read_in_order(places: list[Path]) -> Iterator[tuple[Package, Path]]:
    """Read every package before the first is deployed; those that others call come first."""
    from sigil.run.dependencies import callees_first

    packages = {
        package.manifest.name: (package, place)
        for place in places
        for package in (read_package(place),)
    }
    order = callees_first({name: package.manifest for name, (package, _) in packages.items()})
    return (packages[name] for name in order)


def _read_spec(folder: Path | None, inline: InlineCapability) -> dict[str, Json]:
    if inline == NO_INLINE:
        from sigil.manifest.package import flat_spec

        spec = flat_spec(read_package(folder or Path()))
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
            if inline != NO_INLINE
            else ("ttl", 'lifetime = "ephemeral"')
        )
        raise UsageError(
            "EUSAGE",
            f"{given[0]} does nothing without {given[1]}",
            suggestion=f"add {given[1]}, or leave out {given[0]}",
        )
    return spec


def describe_interrupted(shell: Shell, spec: dict[str, Json]) -> str:
    """Return a line that says what became of a deploy that Ctrl-C interrupted."""
    from sigil.manifest.package import parse_flat

    try:
        package = parse_flat(spec)
        ref = f"{package.manifest.name}@{deployed_digest(shell, package)}"
        with shell.registry() as opened:
            row = opened.registry.inspect(ref, opened.caller)
    except (SigilError, KeyboardInterrupt) as problem:
        if isinstance(problem, SigilError) and problem.code == "ENOENT":
            later = (
                f" yet; it may still be at work there, `sigil versions {package.manifest.name}`"
                " tells"
                if shell.address()
                else ""
            )
            return f"interrupted; nothing was deployed{later}"
        return "interrupted; whether it was deployed, `sigil list` tells"
    return (
        f"interrupted; {row['capability']}@{row['version']}"
        f" {'runs' if row.get('active', True) else 'is there, and does not run'}"
    )


_FIELDS = (
    "description",
    "lifetime",
    "ttl",
    "tags",
    "aliases",
    "examples",
    "public",
    "idempotent",
    "requires",
    "limits",
    "permissions",
)


def rehearse_deploy(shell: Shell, package: Package, place: Path | None) -> dict[str, Json]:
    """Test a package here and compare it with what is deployed.

    `Refused` where a deploy would be.
    """
    from sigil.cli.commands.test import test_package
    from sigil.cli.source_folder import locate_errors
    from sigil.manifest import permissions

    manifest = package.manifest
    permissions.require_valid_permissions(manifest)
    with locate_errors(place):
        verdicts = test_package(shell, package, place or Path(manifest.name))
    _require_passed(manifest, verdicts)
    stands = _inspect_active(shell, manifest.name)
    digest = deployed_digest(shell, package)
    return {
        "capability": manifest.name,
        "digest": digest,
        "stands": {
            "version": stands["version"],
            "digest": stands["digest"],
            "namespace": stands["namespace"],
        }
        if stands
        else None,
        "same": stands is not None and stands["digest"] == digest,
        "changes": _changed_fields(stands, manifest) if stands else [],
        "tests": {"passed": len(verdicts), "failed": 0},
        "asks": list(permissions.requested_permissions(manifest)),
        "dry_run": True,
    }


def show_rehearsal(shell: Shell, row: Mapping[str, Json]) -> None:
    """Print what a deploy would do."""
    from sigil.cli.details import describe_changes

    if shell.printer.json:
        shell.printer.document(row)
        return
    shell.printer.line(f"{row['capability']} {row['digest']}")
    for line in describe_changes(row["changes"]):
        shell.printer.line(line)
    passed = row["tests"]["passed"]
    shell.printer.note(f"{count_of(passed, 'test')} passed" if passed else "there are no tests")
    for text in row["asks"]:
        shell.printer.note(f"asks an owner for: {text}")
    shell.printer.note(f"{_describe_outcome(row)}; nothing was deployed")


def _describe_outcome(row: Mapping[str, Json]) -> str:
    stands = row["stands"]
    if not stands:
        return "it would be new"
    there = f"{row['capability']}@{stands['version']}"
    if stands["namespace"] == "library":
        return f"it would stand before the library's own {there}"
    return f"{there} is the very same" if row["same"] else f"it would take the place of {there}"


def deployed_digest(shell: Shell, package: Package) -> str:
    """Return the digest that a deploy would give, with the versions of its callees that are there
    now.
    """
    from sigil.catalog.deployments import pinned_digest
    from sigil.manifest import permissions
    from sigil.manifest.permission_rules import parse_call_rule

    pins: dict[str, str] = {}
    for call in permissions.declared_calls(package.manifest):
        stands = None if parse_call_rule(call).digest else _inspect_active(shell, call)
        pins[call] = parse_call_rule(call).digest or (str(stands["digest"]) if stands else "")
    return pinned_digest(package.digest, pins)


def _require_passed(manifest: Manifest, verdicts: list[TestResult]) -> None:
    failed = next((verdict for verdict in verdicts if verdict.problem), None)
    if failed:
        message = f"test {failed.number} failed: {failed.problem}"
        raise Refused(
            "ETESTS", message, source=manifest.name, suggestion="`sigil test` runs them all"
        )


def _inspect_active(shell: Shell, name: str) -> Mapping[str, Json] | None:
    with shell.registry() as opened:
        try:
            return opened.registry.inspect(name, opened.caller)
        except UsageError as problem:
            if problem.code != "ENOENT":
                raise
            return None


def _changed_fields(stands: Mapping[str, Json], manifest: Manifest) -> list[dict[str, Json]]:
    """Return the manifest fields, of those that a registry shows, that a deploy would change."""
    new = manifest.model_dump(mode="json")
    rows = [
        {"field": name, "old": stands[name], "new": new[name]}
        for name in _FIELDS
        if name in stands and stands[name] != new.get(name)
    ]
    if stands.get("schema") not in (None, new["input"]):
        rows.append({"field": "schema", "old": stands["schema"], "new": new["input"]})
    return rows
