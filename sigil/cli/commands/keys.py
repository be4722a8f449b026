"""`sigil whoami` and `sigil keys`: access tokens, and whose token is in use."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli import completions
from sigil.cli.help import format_examples
from sigil.cli.options import spread_options
from sigil.cli.shell import Shell, shell_of, unsure_message
from sigil.cli.times import format_time
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.protocol import Json
    from sigil.settings import Settings

_SPAN = re.compile(r"([1-9][0-9]{0,5})([smhdwy])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}

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
class KeyRequest:
    """The options of a new access token."""

    kind: Annotated[
        KeyKind,
        typer.Option("--kind", help="invoke: run and query. deploy: deploy and inspect as well."),
    ] = KeyKind.invoke
    name: Annotated[
        str,
        typer.Option("--name", metavar="TEXT", help="A word for people: whose it is, what for."),
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


NOTHING = KeyRequest()


def whoami(context: typer.Context) -> None:
    """Show whose token is used, and what it may do."""
    shell = shell_of(context)
    settings = shell.settings()
    if not settings.registry_url:
        _show_local_owner(shell, settings)
        return
    with shell.registry() as opened:
        row = opened.registry.keys.whoami(opened.caller)
    place = shell.place()
    show_holder(
        shell, row, f"{place.url} (profile {place.profile})" if place.profile else place.url
    )


def _show_local_owner(shell: Shell, settings: Settings) -> None:
    """Report the owner of the registry in this process, who is whoever may open its store; nothing
    is opened for it.
    """
    from sigil.access.tokens import TokenHolder
    from sigil.client.credentials import Credentials

    show_holder(
        shell, TokenHolder("", "admin", settings.agent).row(), "in this process, as its owner"
    )
    kept = "" if shell.printer.json else ", ".join(Credentials(settings.credentials).addresses())
    if kept:
        shell.printer.note(f"a token is kept for {kept}: add --url, or set SIGIL_URL, to go there")


@keys.command(
    "create",
    epilog=format_examples(
        "sigil", "sigil keys create --kind invoke --scope 'run:alice/*' --expires 30d"
    ),
)
@spread_options
def create_key(context: typer.Context, wanted: KeyRequest = NOTHING) -> None:
    """Make an access token.

    It is printed this once, and kept as a hash.
    """
    from sigil.access.tokens import TokenRequest

    shell = shell_of(context)
    wish = TokenRequest(
        wanted.kind.value,
        wanted.name,
        tuple(wanted.scope or ()),
        wanted.namespace,
        _parse_span(wanted.expires),
    )
    with shell.registry(unsure_message("sigil keys list")) as opened:
        row = opened.registry.keys.create(wish, opened.caller)
    if shell.printer.json:
        shell.printer.document(row)
        return
    shell.printer.line(str(row["token"]))
    shell.printer.note(_describe_holder(row))
    shell.printer.note("this is the only time that it is shown")


@keys.command("list", epilog=format_examples("sigil", "sigil keys list --json"))
def list_keys(context: typer.Context) -> None:
    """List the access tokens, without their values."""
    shell = shell_of(context)
    with shell.registry() as opened:
        rows = [*opened.registry.keys.rows(opened.caller)]
    if shell.printer.json:
        shell.printer.document({"items": rows})
    elif rows:
        shell.printer.table(
            ("id", "kind", "namespace", "name", "scopes", "ends", "last use"),
            [_cells(row) for row in rows],
        )
    else:
        shell.printer.note("there are no keys but the admin token")


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
    shell = shell_of(context)
    with shell.registry(unsure_message("sigil keys list")) as opened:
        row = opened.registry.keys.revoke(id, opened.caller)
    if shell.printer.json:
        shell.printer.document({"revoked": row["id"]})
    else:
        shell.printer.note(f"revoked {row['id']} {row['name']}".rstrip())


def _parse_span(span: str) -> float | None:
    if not span:
        return None
    found = _SPAN.fullmatch(span)
    if not found:
        raise UsageError(
            "EUSAGE",
            f"--expires {span!r} is no span of time",
            suggestion="such as 12h, 30d, 6w or 1y",
        )
    return float(int(found[1]) * _SECONDS[found[2]])


def show_holder(shell: Shell, row: Mapping[str, Json], place: str) -> None:
    """Print whose token is used at a place, and what it may do."""
    if shell.printer.json:
        shell.printer.document({**row, "at": place})
        return
    shell.printer.note(place)
    shell.printer.line(_describe_holder(row))


def _describe_holder(row: Mapping[str, Json]) -> str:
    """Return one line, such as `deploy token 1f2e3d4c5b6a (ci), namespace alice: deploy:alice/*
    run:*; ends 2026-…`.
    """
    if row["kind"] == "admin":
        return (
            f"{'admin token' if row['id'] else 'owner'}, namespace {row['namespace']}: everything;"
            " never ends"
        )
    name = f" ({row['name']})" if row["name"] else ""
    ends = "never ends" if row["expires"] is None else f"ends {format_time(row['expires'])}"
    return (
        f"{row['kind']} token {row['id']}{name}, namespace {row['namespace']}:"
        f" {' '.join(row['scopes'])}; {ends}"
    )


def _cells(row: Mapping[str, Json]) -> tuple[object, ...]:
    ends = "ended" if row["expired"] else format_time(row["expires"])
    used = format_time(row["last_use"]) if row["last_use"] else "never"
    return (
        row["id"],
        row["kind"],
        row["namespace"],
        row["name"],
        " ".join(row["scopes"]),
        ends,
        used,
    )
