"""`sigil grant`, `grants`, `revoke` and `secret`: what capabilities may do outside the sandbox."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli import completions
from sigil.cli.completions import capability_names
from sigil.cli.help import format_examples
from sigil.cli.names import Namespace, in_namespace, namespace_flag, resolve_name
from sigil.cli.shell import Shell, confirm, require_answerer, shell_of, unsure_message
from sigil.cli.times import format_time
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.protocol import Json

SECRET_BYTES = 64 << 10

secret = typer.Typer(
    name="secret",
    help="Keep secrets that capabilities use and never see.",
    epilog=format_examples("sigil", "sigil secret set API_KEY < key.txt\nsigil secret list"),
    no_args_is_help=True,
    rich_markup_mode=None,
)

SecretName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="The secret: capital letters, digits and _.",
        autocompletion=completions.secret_names,
    ),
]


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

    Shows first what is new in it, and asks; --yes answers. The grant is for this one version, by
    its digest.
    """
    shell = shell_of(context)
    with shell.registry(unsure_message("sigil grants")) as opened:
        ref, caller = resolve_name(opened.caller, name, namespace)
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
        _show_request(shell, row)
        require_answerer(shell, name)
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
            f" {missing}{namespace_flag(caller, opened.caller.namespace)}"
        )


def grants(context: typer.Context, namespace: Namespace = "") -> None:
    """List what waits for a grant and what stands."""
    shell = shell_of(context)
    with shell.registry() as opened:
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
    """Take granted permissions back.

    It holds at once, for every version and for whoever has the capability already.
    """
    shell = shell_of(context)
    with shell.registry(unsure_message("sigil grants")) as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        row = opened.registry.granting.revoke(plain, caller, permission)
    _say(shell, row, f"revoked from {row['capability']}: {', '.join(row['revoked'])}")


@secret.command("set", epilog=format_examples("sigil", "sigil secret set API_KEY < key.txt"))
def set_secret(context: typer.Context, name: SecretName, namespace: Namespace = "") -> None:
    """Keep a secret.

    The value comes from a prompt or from stdin, never from the command line. `ssm:NAME` and
    `secretsmanager:NAME` name one that AWS keeps.
    """
    shell, value = shell_of(context), _read_secret(name)
    with shell.registry(unsure_message("sigil secret list")) as opened:
        row = opened.registry.secrets.set(name, value, in_namespace(opened.caller, namespace))
    _say(shell, row, f"{name} is set")


@secret.command("list", epilog=format_examples("sigil", "sigil secret list --json"))
def list_secrets(context: typer.Context, namespace: Namespace = "") -> None:
    """List the names of secrets and when they were set."""
    shell = shell_of(context)
    with shell.registry() as opened:
        rows = [*opened.registry.secrets.rows(in_namespace(opened.caller, namespace))]
    if shell.printer.json:
        shell.printer.document({"items": rows})
    elif rows:
        cells = [(row["secret"], format_time(row["at"]), row["by"]) for row in rows]
        shell.printer.table(("secret", "set", "by"), cells)
    else:
        shell.printer.note("there are no secrets")


@secret.command("remove", epilog=format_examples("sigil", "sigil secret remove API_KEY"))
def remove_secret(context: typer.Context, name: SecretName, namespace: Namespace = "") -> None:
    """Forget a secret."""
    shell = shell_of(context)
    with shell.registry(unsure_message("sigil secret list")) as opened:
        opened.registry.secrets.remove(name, in_namespace(opened.caller, namespace))
    _say(shell, {"removed": name}, f"removed {name}")


def _show_request(shell: Shell, row: Mapping[str, Json]) -> None:
    """Print each permission it asks for: `=` is granted already, `+` is to be granted, `!` is to be
    granted and more than the version before had.
    """
    shell.printer.note(
        f"{row['capability']}@{row['version']} {row['digest']} ({row['namespace']}) asks for:"
    )
    for text in row["asked"]:
        if text in row["granted"]:
            mark = "="
        elif row["before"] and text in row["widened"]:
            mark = "!"
        else:
            mark = "+"
        shell.printer.note(f"{mark} {text}")
    if row["before"]:
        shell.printer.note(f"granted before: {row['before']}; lines with ! are more than it had")


def _say(shell: Shell, row: Mapping[str, Json], line: str) -> None:
    if shell.printer.json:
        shell.printer.document(row)
    else:
        shell.printer.note(line)


def _read_secret(name: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"The value of {name}", hide_input=True, err=True))
    body = sys.stdin.buffer.read(SECRET_BYTES)
    try:
        return body.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise UsageError("EUSAGE", "stdin is not UTF-8", source=name) from None
