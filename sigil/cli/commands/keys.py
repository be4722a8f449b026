"""`sigil keys`: make, list and revoke access tokens."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from sigil.cli import completions
from sigil.cli.commands.whoami import describe_holder
from sigil.cli.help import format_examples
from sigil.cli.options import spread_options
from sigil.cli.shell import get_shell, unsure_message
from sigil.cli.times import format_time
from sigil.errors import UsageError

_DURATION = re.compile(r"([1-9][0-9]{0,5})([smhdwy])", re.ASCII)
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}

keys = typer.Typer(
    name="keys",
    help="Make, list and revoke access tokens.",
    epilog=format_examples(
        "sigil", "sigil keys create --kind deploy --namespace ada\nsigil keys list"
    ),
    no_args_is_help=True,
    rich_markup_mode=None,
)


class KeyKind(StrEnum):
    """The kinds of access tokens."""

    invoke = "invoke"
    deploy = "deploy"


@dataclass(frozen=True, slots=True)
class KeyOptions:
    """The options of a new access token."""

    kind: Annotated[
        KeyKind,
        typer.Option("--kind", help="invoke: run and query; deploy: also deploy and inspect."),
    ] = KeyKind.invoke
    name: Annotated[
        str,
        typer.Option(
            "--name", metavar="TEXT", help="A note for people: whose it is, and for what."
        ),
    ] = ""
    scope: Annotated[
        list[str] | None,
        typer.Option(
            "--scope",
            metavar="SCOPE",
            help="run:*, run:NS/*, run:NS/NAME, deploy:NS/* or deploy:NS/NAME; may be repeated.",
        ),
    ] = None
    expires: Annotated[
        str,
        typer.Option(
            "--expires", metavar="SPAN", help="When it ends: 12h, 30d, 1y … (default: never)."
        ),
    ] = ""
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            metavar="NS",
            help="Its namespace (default: the one its scopes name, else the agent's).",
        ),
    ] = ""


NO_OPTIONS = KeyOptions()


@keys.command(
    "create",
    epilog=format_examples(
        "sigil", "sigil keys create --kind invoke --scope 'run:alice/*' --expires 30d"
    ),
)
@spread_options
def create_key(context: typer.Context, options: KeyOptions = NO_OPTIONS) -> None:
    """Make an access token.

    The token is printed here once, and stored only as a hash.
    """
    from sigil.access.tokens import TokenRequest

    shell = get_shell(context)
    request = TokenRequest(
        options.kind.value,
        options.name,
        tuple(options.scope or ()),
        options.namespace,
        parse_duration(options.expires),
    )
    with shell.open_registry(unsure_message("sigil keys list")) as opened:
        row = opened.registry.keys.create(request, opened.caller)
    if shell.printer.json:
        shell.printer.document(row)
        return
    shell.printer.line(str(row["token"]))
    shell.printer.note(describe_holder(row))
    shell.printer.note("this is the only time that it is shown")


def parse_duration(text: str) -> float | None:
    """Return the seconds in a duration such as `12h`, `30d`, `6w` or `1y`; None for an empty
    text.
    """
    if not text:
        return None
    duration = _DURATION.fullmatch(text)
    if not duration:
        raise UsageError(
            "EUSAGE",
            f"--expires {text!r} is not a duration",
            suggestion="such as 12h, 30d, 6w or 1y",
        )
    number, unit = duration.groups()
    return float(int(number) * _UNIT_SECONDS[unit])


@keys.command("list", epilog=format_examples("sigil", "sigil keys list --json"))
def list_keys(context: typer.Context) -> None:
    """List the access tokens, without their values."""
    shell = get_shell(context)
    with shell.open_registry() as opened:
        rows = [*opened.registry.keys.rows(opened.caller)]
    if shell.printer.json:
        shell.printer.document({"items": rows})
        return
    if not rows:
        shell.printer.note("there are no keys but the admin token")
        return
    cells = []
    for row in rows:
        end = "ended" if row["expired"] else format_time(row["expires"])
        last_use = format_time(row["last_use"] or None)
        scopes = " ".join(row["scopes"])
        cells.append((row["id"], row["kind"], row["namespace"], row["name"], scopes, end, last_use))
    shell.printer.table(("id", "kind", "namespace", "name", "scopes", "ends", "last use"), cells)


@keys.command("revoke", epilog=format_examples("sigil", "sigil keys revoke 1f2e3d4c5b6a"))
def revoke_key(
    context: typer.Context,
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="The id that `sigil keys list` shows, or the name if no other token has it.",
            autocompletion=completions.token_ids,
        ),
    ],
) -> None:
    """End an access token at once."""
    shell = get_shell(context)
    with shell.open_registry(unsure_message("sigil keys list")) as opened:
        row = opened.registry.keys.revoke(id, opened.caller)
    shell.printer.result({"revoked": row["id"]}, f"revoked {row['id']} {row['name']}".rstrip())
