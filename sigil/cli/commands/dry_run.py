"""`deploy --dry-run`: what a deploy would do, found out here and against what stands there; nothing
is changed.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from sigil.cli.shell import Shell
from sigil.cli.times import counted
from sigil.errors import Refused, UsageError

if TYPE_CHECKING:
    from sigil.deploy.golden_tests import TestResult
    from sigil.manifest.model import Manifest
    from sigil.manifest.package import Package
    from sigil.protocol import Json

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


def rehearse(shell: Shell, package: Package, place: Path | None) -> dict[str, Json]:
    """What would become of a package; `Refused` as the deploy itself would be, so far as that can
    be told here.
    """
    from sigil.cli.commands.init import verdicts_of
    from sigil.cli.source_folder import placed
    from sigil.manifest import permissions

    manifest = package.manifest
    permissions.require_valid_permissions(manifest)
    with placed(place):
        verdicts = verdicts_of(shell, package, place or Path(manifest.name))
    _demand(manifest, verdicts)
    stands = _standing(shell, manifest.name)
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
        "changes": _changes(stands, manifest) if stands else [],
        "tests": {"passed": len(verdicts), "failed": 0},
        "asks": list(permissions.requested_permissions(manifest)),
        "dry_run": True,
    }


def show(shell: Shell, row: dict[str, Json]) -> None:
    """Tell it."""
    from sigil.cli.manifest_diff import changes

    if shell.printer.json:
        shell.printer.document(row)
        return
    shell.printer.line(f"{row['capability']} {row['digest']}")
    for line in changes(row["changes"]):
        shell.printer.line(line)
    passed = row["tests"]["passed"]
    shell.printer.note(f"{counted(passed, 'test')} passed" if passed else "there are no tests")
    for text in row["asks"]:
        shell.printer.note(f"asks an owner for: {text}")
    shell.printer.note(f"{_would(row)}; nothing was deployed")


def _would(row: dict[str, Json]) -> str:
    stands = row["stands"]
    if not stands:
        return "it would be new"
    there = f"{row['capability']}@{stands['version']}"
    if stands["namespace"] == "library":
        return f"it would stand before the library's own {there}"
    return f"{there} is the very same" if row["same"] else f"it would take the place of {there}"


def deployed_digest(shell: Shell, package: Package) -> str:
    """What it would be deployed under, as far as what it calls is there by now."""
    from sigil.catalog.deployments import pinned_digest
    from sigil.manifest import permissions
    from sigil.manifest.permission_rules import parse_call_rule

    pins: dict[str, str] = {}
    for call in permissions.declared_calls(package.manifest):
        stands = None if parse_call_rule(call).digest else _standing(shell, call)
        pins[call] = parse_call_rule(call).digest or (str(stands["digest"]) if stands else "")
    return pinned_digest(package.digest, pins)


def _demand(manifest: Manifest, verdicts: list[TestResult]) -> None:
    failed = next((verdict for verdict in verdicts if verdict.problem), None)
    if failed:
        message = f"test {failed.number} failed: {failed.problem}"
        raise Refused(
            "ETESTS", message, source=manifest.name, suggestion="`sigil test` runs them all"
        )


def _standing(shell: Shell, name: str) -> Mapping[str, Json] | None:
    with shell.registry() as opened:
        try:
            return opened.registry.inspect(name, opened.caller)
        except UsageError as problem:
            if problem.code != "ENOENT":
                raise
            return None


def _changes(stands: Mapping[str, Json], manifest: Manifest) -> list[dict[str, Json]]:
    """The fields that a registry shows and that would be others."""
    new = manifest.model_dump(mode="json")
    rows = [
        {"field": name, "old": stands[name], "new": new[name]}
        for name in _FIELDS
        if name in stands and stands[name] != new.get(name)
    ]
    if stands.get("schema") not in (None, new["input"]):
        rows.append({"field": "schema", "old": stands["schema"], "new": new["input"]})
    return rows
