"""`whoami` and `keys`: who may talk to a registry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli import completions
from sigil.cli.help import examples
from sigil.cli.option_groups import spread
from sigil.cli.shell import Shell, perhaps, shell_of
from sigil.cli.times import moment
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.protocol import Json
    from sigil.settings import Settings

_SPAN = re.compile(r"([1-9][0-9]{0,5})([smhdwy])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}

keys = typer.Typer(
    name="keys",
    help="Make, list and revoke access tokens.",
    epilog=examples("sigil", "sigil keys create --kind deploy --namespace ada\nsigil keys list"),
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Kind(StrEnum):
    """What an access token is for."""

    invoke = "invoke"
    deploy = "deploy"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An access token that somebody asks for."""

    kind: Annotated[
        Kind,
        typer.Option("--kind", help="invoke: run and query. deploy: deploy and inspect as well."),
    ] = Kind.invoke
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


NOTHING = Wanted()


def whoami(context: typer.Context) -> None:
    """Show whose token is used, and what it may do."""
    shell = shell_of(context)
    settings = shell.settings()
    if not settings.registry_url:
        _say_own(shell, settings)
        return
    with shell.registry() as opened:
        row = opened.registry.keys.whoami(opened.caller)
    place = shell.place()
    say_who(shell, row, f"{place.url} (profile {place.profile})" if place.profile else place.url)


def _say_own(shell: Shell, settings: Settings) -> None:
    """Of the registry in this process: whoever may open its store is its owner, so nothing is
    opened to say so.
    """
    from sigil.access.tokens import TokenHolder
    from sigil.client.credentials import Credentials

    say_who(shell, TokenHolder("", "admin", settings.agent).row(), "in this process, as its owner")
    kept = "" if shell.printer.json else ", ".join(Credentials(settings.credentials).addresses())
    if kept:
        shell.printer.note(f"a token is kept for {kept}: add --url, or set SIGIL_URL, to go there")


@keys.command(
    "create",
    epilog=examples("sigil", "sigil keys create --kind invoke --scope 'run:alice/*' --expires 30d"),
)
@spread
def create(context: typer.Context, wanted: Wanted = NOTHING) -> None:
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
        _seconds(wanted.expires),
    )
    with shell.registry(perhaps("sigil keys list")) as opened:
        row = opened.registry.keys.create(wish, opened.caller)
    if shell.printer.json:
        shell.printer.document(row)
        return
    shell.printer.line(str(row["token"]))
    shell.printer.note(_who(row))
    shell.printer.note("this is the only time that it is shown")


@keys.command("list", epilog=examples("sigil", "sigil keys list --json"))
def listed(context: typer.Context) -> None:
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


@keys.command("revoke", epilog=examples("sigil", "sigil keys revoke 1f2e3d4c5b6a"))
def revoke(
    context: typer.Context,
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID",
            help="The id that `sigil keys list` shows, or the name if no other token has it.",
            autocompletion=completions.tokens,
        ),
    ],
) -> None:
    """End an access token at once."""
    shell = shell_of(context)
    with shell.registry(perhaps("sigil keys list")) as opened:
        row = opened.registry.keys.revoke(id, opened.caller)
    if shell.printer.json:
        shell.printer.document({"revoked": row["id"]})
    else:
        shell.printer.note(f"revoked {row['id']} {row['name']}".rstrip())


def _seconds(span: str) -> float | None:
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


def say_who(shell: Shell, row: Mapping[str, Json], place: str) -> None:
    """Whose token it is at a place, and what it may do."""
    if shell.printer.json:
        shell.printer.document({**row, "at": place})
        return
    shell.printer.note(place)
    shell.printer.line(_who(row))


def _who(row: Mapping[str, Json]) -> str:
    """`deploy token 1f2e3d4c5b6a (ci), namespace alice: deploy:alice/* run:*; ends 2026-…`."""
    if row["kind"] == "admin":
        return (
            f"{'admin token' if row['id'] else 'owner'}, namespace {row['namespace']}: everything;"
            " never ends"
        )
    name = f" ({row['name']})" if row["name"] else ""
    ends = "never ends" if row["expires"] is None else f"ends {moment(row['expires'])}"
    return (
        f"{row['kind']} token {row['id']}{name}, namespace {row['namespace']}:"
        f" {' '.join(row['scopes'])}; {ends}"
    )


def _cells(row: Mapping[str, Json]) -> tuple[object, ...]:
    ends = "ended" if row["expired"] else moment(row["expires"])
    used = moment(row["last_use"]) if row["last_use"] else "never"
    return (
        row["id"],
        row["kind"],
        row["namespace"],
        row["name"],
        " ".join(row["scopes"]),
        ends,
        used,
    )
