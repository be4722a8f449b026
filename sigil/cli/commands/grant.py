"""`grant`, `grants`, `revoke` and `secret`: what capabilities may do outside of the sandbox."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli import completions
from sigil.cli.commands.inspect import confirm, demand_somebody
from sigil.cli.help import examples
from sigil.cli.names import names
from sigil.cli.namespaces import Namespace, flag, meant, within
from sigil.cli.shell import Shell, perhaps, shell_of
from sigil.cli.times import moment
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.protocol import Json

SECRET_BYTES = 64 << 10

secret = typer.Typer(
    name="secret",
    help="Keep secrets that capabilities use and never see.",
    epilog=examples("sigil", "sigil secret set API_KEY < key.txt\nsigil secret list"),
    no_args_is_help=True,
    rich_markup_mode=None,
)

SecretName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="The secret: capital letters, digits and _.",
        autocompletion=completions.secrets,
    ),
]


def grant(
    context: typer.Context,
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="NAME, NAME@VERSION or NAME@sha256:DIGEST.", autocompletion=names
        ),
    ],
    namespace: Namespace = "",
) -> None:
    """Grant a capability what it asks for.

    Shows first what is new in it, and asks; --yes answers. The grant is for this one version, by
    its digest.
    """
    shell = shell_of(context)
    with shell.registry(perhaps("sigil grants")) as opened:
        ref, caller = meant(opened.caller, name, namespace)
        row = opened.registry.granting.asked(ref, caller)
        if not row["new"]:
            _say(
                shell,
                row,
                (
                    "there is nothing to grant: all that it asks for stands"
                    if row["asked"]
                    else "it asks for nothing"
                ),
            )
            return
        _show(shell, row)
        demand_somebody(shell, name)
        confirm(shell, f"Grant this to {row['capability']}@{row['version']}?", "granted")
        granted = opened.registry.granting.grant(ref, caller, row["digest"])
    _say(
        shell,
        granted,
        f"granted to {granted['capability']}@{granted['version']} {granted['digest']}",
    )
    for missing in granted["secrets_missing"]:
        shell.printer.note(
            f"the secret {missing} is not set: sigil secret set"
            f" {missing}{flag(caller, opened.caller.namespace)}"
        )


def grants(context: typer.Context, namespace: Namespace = "") -> None:
    """List what waits for a grant and what stands."""
    shell = shell_of(context)
    with shell.registry() as opened:
        found = opened.registry.granting.rows(within(opened.caller, namespace))
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
    else:
        shell.printer.note("nothing waits, and nothing is granted")


def revoke(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The capability.", autocompletion=names)
    ],
    permission: Annotated[
        str,
        typer.Argument(
            metavar="PERMISSION",
            help="As `sigil grants` shows it (default: all).",
            autocompletion=completions.permissions,
        ),
    ] = "",
    namespace: Namespace = "",
) -> None:
    """Take granted permissions back.

    It holds at once, for every version and for whoever has the capability already.
    """
    shell = shell_of(context)
    with shell.registry(perhaps("sigil grants")) as opened:
        plain, caller = meant(opened.caller, name, namespace)
        row = opened.registry.granting.revoke(plain, caller, permission)
    _say(shell, row, f"revoked from {row['capability']}: {', '.join(row['revoked'])}")


@secret.command("set", epilog=examples("sigil", "sigil secret set API_KEY < key.txt"))
def set_secret(context: typer.Context, name: SecretName, namespace: Namespace = "") -> None:
    """Keep a secret.

    The value comes from a prompt or from stdin, never from the command line. `ssm:NAME` and
    `secretsmanager:NAME` name one that AWS keeps.
    """
    shell, value = shell_of(context), _value(name)
    with shell.registry(perhaps("sigil secret list")) as opened:
        row = opened.registry.secrets.set(name, value, within(opened.caller, namespace))
    _say(shell, row, f"{name} is set")


@secret.command("list", epilog=examples("sigil", "sigil secret list --json"))
def list_secrets(context: typer.Context, namespace: Namespace = "") -> None:
    """List the names of secrets and when they were set."""
    shell = shell_of(context)
    with shell.registry() as opened:
        rows = [*opened.registry.secrets.rows(within(opened.caller, namespace))]
    if shell.printer.json:
        shell.printer.document({"items": rows})
    elif rows:
        cells = [(row["secret"], moment(row["at"]), row["by"]) for row in rows]
        shell.printer.table(("secret", "set", "by"), cells)
    else:
        shell.printer.note("there are no secrets")


@secret.command("remove", epilog=examples("sigil", "sigil secret remove API_KEY"))
def remove_secret(context: typer.Context, name: SecretName, namespace: Namespace = "") -> None:
    """Forget a secret."""
    shell = shell_of(context)
    with shell.registry(perhaps("sigil secret list")) as opened:
        opened.registry.secrets.remove(name, within(opened.caller, namespace))
    _say(shell, {"removed": name}, f"removed {name}")


def _show(shell: Shell, row: Mapping[str, Json]) -> None:
    """What is asked for, against what stands: = stands, + is to be granted, ! is so too and more
    than the version before had.
    """
    shell.printer.note(
        f"{row['capability']}@{row['version']} {row['digest']} ({row['namespace']}) asks for:"
    )
    for text in row["asked"]:
        mark = (
            "="
            if text in row["granted"]
            else "!"
            if row["before"] and text in row["widened"]
            else "+"
        )
        shell.printer.note(f"{mark} {text}")
    if row["before"]:
        shell.printer.note(f"granted before: {row['before']}; lines with ! are more than it had")


def _say(shell: Shell, row: Mapping[str, Json], line: str) -> None:
    if shell.printer.json:
        shell.printer.document(row)
    else:
        shell.printer.note(line)


def _value(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"The value of {name}", hide_input=True, err=True))
    body = sys.stdin.buffer.read(SECRET_BYTES)
    try:
        return body.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise UsageError("EUSAGE", "stdin is not UTF-8", source=name) from None
