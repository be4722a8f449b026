"""`sigil grant`, `grants` and `revoke`: what capabilities may do outside the sandbox."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli import completions
from sigil.cli.completions import capability_names
from sigil.cli.names import Namespace, in_namespace, namespace_flag, resolve_name
from sigil.cli.shell import Shell, confirm, get_shell, require_answerer, unsure_message

if TYPE_CHECKING:
    from sigil.rows import PermissionRequestRow


def grant(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="NAME, NAME@VERSION or NAME@sha256:DIGEST.",
            autocompletion=capability_names,
        ),
    ],
    namespace: Namespace = "",
) -> None:
    """Grant a capability what it asks for.

    First shows what is new in it, and asks; --yes answers. The grant is for this one version, by
    its digest. With a deploy token: only calls, and only of what was deployed with it.
    """
    shell = get_shell(context)
    with shell.open_registry(unsure_message("sigil grants")) as opened:
        ref, caller = resolve_name(opened.caller, name, namespace)
        row = opened.registry.granting.find_request(ref, caller)
        if not row["new"]:
            note = "it asks for nothing"
            if row["asked"]:
                note = "there is nothing to grant: it has all that it asks for"
            shell.printer.result(row, note)
            return
        _print_request(shell, row)
        if not set(row["new"]) <= set(row.get("owners_only", ())):  # else the registry refuses it
            require_answerer(shell, name)
            confirm(shell, f"Grant this to {row['capability']}@{row['version']}?", "granted")
        granted = opened.registry.granting.grant(ref, caller, row["digest"])
    shell.printer.result(
        granted, f"granted to {granted['capability']}@{granted['version']} {granted['digest']}"
    )
    for permission in granted.get("owners_only", ()):
        shell.printer.note(f"waits for an owner: {permission}")
    flag = namespace_flag(caller, opened.caller.namespace)
    for missing in granted["secrets_missing"]:
        shell.printer.note(f"the secret {missing} is not set: sigil secret set {missing}{flag}")


def _print_request(shell: Shell, row: PermissionRequestRow) -> None:
    """Print each permission that a capability asks for: `=` is granted already, `+` is to be
    granted, `!` is to be granted and more than the version before had.
    """
    shell.printer.note(
        f"{row['capability']}@{row['version']} {row['digest']} ({row['namespace']}) asks for:"
    )
    for permission in row["asked"]:
        if permission in row["granted"]:
            mark = "="
        elif row["before"] and permission in row["widened"]:
            mark = "!"
        else:
            mark = "+"
        shell.printer.note(f"{mark} {permission}")
    hints = row.get("hints")
    if hints:
        from sigil.mcp.hints import describe_hints

        shell.printer.note(f"its server says that it {describe_hints(hints)}")
    if row["before"]:
        shell.printer.note(f"granted before: {row['before']}; lines with ! are more than it had")


def grants(context: typer.Context, namespace: Namespace = "") -> None:
    """List what waits for a grant, and what is granted."""
    from sigil.mcp.hints import describe_hints

    shell = get_shell(context)
    with shell.open_registry() as opened:
        found = opened.registry.granting.rows(in_namespace(opened.caller, namespace))
        rows = sorted(found, key=lambda row: (row["state"] == "stands", -row.get("at", 0)))
    if shell.printer.json:
        shell.printer.document({"items": rows})
    elif rows:
        cells = [
            (row["state"], row["capability"], row["version"] or "gone", row["namespace"], text)
            for row in rows
            for text in row["permissions"]
        ]
        shell.printer.table(("state", "capability", "version", "namespace", "permission"), cells)
        for row in rows:
            if row.get("hints"):
                says = describe_hints(row["hints"])
                shell.printer.note(f"{row['capability']}: its server says that it {says}")
    else:
        shell.printer.note("nothing waits, and nothing is granted")


def revoke(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The capability.", autocompletion=capability_names)
    ],
    permission: Annotated[
        str,
        typer.Argument(
            metavar="PERMISSION",
            help="As `sigil grants` shows it (default: all).",
            autocompletion=completions.granted_permissions,
        ),
    ] = "",
    namespace: Namespace = "",
) -> None:
    """Revoke granted permissions.

    Takes effect at once, for every version and for everyone who uses the capability already.
    """
    shell = get_shell(context)
    with shell.open_registry(unsure_message("sigil grants")) as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        row = opened.registry.granting.revoke(plain, caller, permission)
    shell.printer.result(row, f"revoked from {row['capability']}: {', '.join(row['revoked'])}")
