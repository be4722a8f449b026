"""`sigil secret`: secrets that capabilities use and never see."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sigil.cli import completions
from sigil.cli.help import format_examples
from sigil.cli.names import Namespace, in_namespace
from sigil.cli.shell import get_shell, unsure_message
from sigil.cli.times import format_time
from sigil.errors import UsageError

SECRET_BYTES = 64 << 10

secret = typer.Typer(
    name="secret",
    help="Store secrets that capabilities use and never see.",
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


@secret.command("set", epilog=format_examples("sigil", "sigil secret set API_KEY < key.txt"))
def set_secret(context: typer.Context, name: SecretName, namespace: Namespace = "") -> None:
    """Store a secret.

    The value is read from a prompt or from stdin, never from the command line. A value `ssm:NAME`
    or `secretsmanager:NAME` refers to a secret that AWS stores.
    """
    shell = get_shell(context)
    if sys.stdin.isatty():
        value = str(typer.prompt(f"The value of {name}", hide_input=True, err=True))
    else:
        body = sys.stdin.buffer.read(SECRET_BYTES)
        try:
            value = body.decode().removesuffix("\n").removesuffix("\r")
        except UnicodeDecodeError:
            raise UsageError("EUSAGE", "stdin is not UTF-8", source=name) from None
    with shell.open_registry(unsure_message("sigil secret list")) as opened:
        row = opened.registry.secrets.set(name, value, in_namespace(opened.caller, namespace))
    shell.printer.result(row, f"{name} is set")


@secret.command("list", epilog=format_examples("sigil", "sigil secret list --json"))
def list_secrets(context: typer.Context, namespace: Namespace = "") -> None:
    """List the names of secrets and when they were set."""
    shell = get_shell(context)
    with shell.open_registry() as opened:
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
    """Delete a secret."""
    shell = get_shell(context)
    with shell.open_registry(unsure_message("sigil secret list")) as opened:
        opened.registry.secrets.remove(name, in_namespace(opened.caller, namespace))
    shell.printer.result({"removed": name}, f"removed {name}")
