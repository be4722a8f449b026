"""The report of a deployed version, as `deploy`, `publish` and `import` print it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sigil.cli.shell import OpenRegistry, Shell
from sigil.cli.times import count_of, format_time
from sigil.errors import SigilError

if TYPE_CHECKING:
    from sigil.protocol import Deployed, Json


def report_deploy(
    shell: Shell, opened: OpenRegistry, deployed: Deployed, *, tested: bool = True
) -> None:
    """Print what a deploy made. `tested`: its tests ran for this deploy."""
    offer = deployed.offer
    if shell.printer.json:
        shell.printer.document(deploy_row(deployed))
        return
    shell.printer.line(f"{offer.name}@{offer.version} {offer.digest}")
    if not deployed.created:
        shell.printer.note("this very digest stood already")
    elif tested:
        shell.printer.note(
            f"{count_of(deployed.passed, 'test')} passed"
            if deployed.passed
            else "there are no tests"
        )
    if deployed.expires_at is not None:
        shell.printer.note(f"ephemeral: this version is gone at {format_time(deployed.expires_at)}")
    _report_pending(shell, opened, deployed)


def deploy_row(deployed: Deployed) -> dict[str, Json]:
    """Return a deploy as the JSON row for programs."""
    from sigil.protocol import deployed_row

    row = {name: value for name, value in deployed_row(deployed, "").items() if name != "url"}
    return {**row, "created": deployed.created}


def _report_pending(shell: Shell, opened: OpenRegistry, deployed: Deployed) -> None:
    """Say what waits for an owner's grant, and how it is granted. Only an admin token is an
    owner's; another token has a namespace of its own.
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
