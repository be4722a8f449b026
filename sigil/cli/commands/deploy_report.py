"""What a change says of itself: what a deploy made, whether one that was interrupted took place,
and who needs what goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from sigil.cli.shell import Opened, Shell
from sigil.cli.times import counted, moment
from sigil.errors import SigilError

if TYPE_CHECKING:
    from sigil.admin_protocol import AdminRegistry
    from sigil.protocol import Caller, Deployed, Json

LOOKED_AT = 100
"""A namespace with more capabilities than this is not searched for those that call one: each is a
question of its own.
"""


def report(shell: Shell, opened: Opened, deployed: Deployed, *, tested: bool = True) -> None:
    """Say what a deploy made. `tested`: whether its tests ran for it."""
    offer = deployed.offer
    if shell.printer.json:
        shell.printer.document(row_of(deployed))
        return
    shell.printer.line(f"{offer.name}@{offer.version} {offer.digest}")
    if not deployed.created:
        shell.printer.note("this very digest stood already")
    elif tested:
        shell.printer.note(
            f"{counted(deployed.passed, 'test')} passed"
            if deployed.passed
            else "there are no tests"
        )
    if deployed.expires_at is not None:
        shell.printer.note(f"ephemeral: this version is gone at {moment(deployed.expires_at)}")
    _tell_pending(shell, opened, deployed)


def row_of(deployed: Deployed) -> dict[str, Json]:
    """A deploy as programs read it."""
    from sigil.protocol import deployed_row

    row = {name: value for name, value in deployed_row(deployed, "").items() if name != "url"}
    return {**row, "created": deployed.created}


def came(opened: Opened, deployed: Deployed) -> str:
    """Of what came without a run of its tests: how many those are, and whether it hides one of the
    library's.
    """
    from sigil.protocol import LIBRARY

    offer = deployed.offer
    try:
        tests = len(
            opened.registry.inspect(f"{offer.name}@{offer.digest}", opened.caller).get("tests")
            or ()
        )
    except SigilError:
        return ""  # it is gone again
    ran = f"{counted(tests, 'test')}, not run" if tests else "there are no tests"
    try:
        opened.registry.inspect(f"{LIBRARY}/{offer.name}", opened.caller)
    except SigilError:
        return ran
    return (
        f"{ran}; it stands before the library's own {offer.name} now (`sigil remove {offer.name}`"
        " brings that back)"
    )


def whether(shell: Shell, spec: dict[str, Json]) -> str:
    """What became of a deploy that Ctrl-C interrupted."""
    from sigil.cli.commands.dry_run import deployed_digest
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


def needing(registry: AdminRegistry, name: str, caller: Caller) -> list[str]:
    """The capabilities of the caller's namespace that say that they call this one."""
    names = [
        row["capability"] for row in registry.list(caller) if row["namespace"] == caller.namespace
    ]
    if name not in names or len(names) > LOOKED_AT:
        return []
    return sorted(
        other for other in names if other != name and name in _calls(registry, other, caller)
    )


def _calls(registry: AdminRegistry, name: str, caller: Caller) -> list[str]:
    try:
        row = registry.inspect(name, caller)
    except SigilError:
        return []  # it is gone, or about to go
    return [*row.get("requires", ()), *(row.get("permissions") or {}).get("call", ())]


def _tell_pending(shell: Shell, opened: Opened, deployed: Deployed) -> None:
    """What waits for an owner, and how an owner grants it: the holder of another token is none, and
    has a namespace of its own.
    """
    if not deployed.pending:
        return
    for permission in deployed.pending:
        shell.printer.note(f"waits for an owner: {permission}")
    try:
        who = opened.registry.keys.whoami(opened.caller)
    except SigilError:
        return
    owner = who.get("kind") == "admin"
    namespace = "" if owner else f" --namespace {who.get('namespace')}"
    shell.printer.note(
        f"{'grant it' if owner else 'an owner grants it'}: sigil grant"
        f" {deployed.offer.name}{namespace}"
    )
