"""`login`, `logout`, `whoami` and `keys`: who may talk to a registry."""

from __future__ import annotations

import re
import sys
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.moments import moment
from sigil.cli.shell import Shell, perhaps, shell_of
from sigil.cli.spread import spread
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.protocol import Json
    from sigil.settings import Settings

TOKEN_CHARACTERS = 4_096
_SPAN = re.compile(r"([1-9][0-9]{0,5})([smhdwy])", re.ASCII)
_SECONDS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 7 * 86_400, "y": 365 * 86_400}

keys = typer.Typer(help="Make, list and revoke access tokens.", no_args_is_help=True, rich_markup_mode=None)


class Kind(StrEnum):
    """What an access token is for."""

    invoke = "invoke"
    deploy = "deploy"


@dataclass(frozen=True, slots=True)
class Wanted:
    """An access token that somebody asks for."""

    kind: Annotated[Kind, typer.Option("--kind", help="invoke: run and query. deploy: deploy and inspect as well.")] = Kind.invoke
    name: Annotated[str, typer.Option("--name", metavar="TEXT", help="A word for people: whose it is, what for.")] = ""
    scope: Annotated[
        list[str] | None,
        typer.Option("--scope", metavar="SCOPE", help="run:*, run:NS/*, run:NS/NAME, deploy:NS/* or deploy:NS/NAME; may be repeated."),
    ] = None
    expires: Annotated[str, typer.Option("--expires", metavar="SPAN", help="When it ends: 12h, 30d, 1y … (default: never).")] = ""
    namespace: Annotated[
        str, typer.Option("--namespace", metavar="NS", help="Its namespace (default: the one its scopes name, else the agent's).")
    ] = ""


NOTHING = Wanted()


def login(context: typer.Context) -> None:
    """Keep a token for a registry elsewhere.

    The token comes from a prompt or from stdin; it is tried first, and kept for the address of --url (or SIGIL_URL) alone.
    """
    from sigil.client import RemoteRegistry
    from sigil.credentials import Credentials
    from sigil.protocol import Caller

    shell = shell_of(context)
    settings = shell.settings()
    url = _address(settings.registry_url)
    token = _well_typed(shell.token or _asked(url))
    if not token:
        raise UsageError("EUSAGE", "no token was given", suggestion=f"sigil login --url {url} < token.txt, or type it at the prompt")
    with closing(RemoteRegistry(url, token)) as registry:
        row = registry.keys.whoami(Caller(settings.agent, owner=True))
    Credentials(settings.credentials).keep(url, token)
    if url.lower().startswith("http:") and not re.match(r"http://(localhost|127\.|\[::1\])", url, re.IGNORECASE):
        shell.printer.note("the address is not https: the token travels where others can read it")
    if settings.registry_token not in ("", token):
        shell.printer.note("SIGIL_TOKEN, or a token kept before, was another one; while SIGIL_TOKEN is set it wins")
    _say_who(shell, row, f"logged in to {url}")
    if shell.url:
        shell.printer.note(f"commands go there with --url {url}, or once SIGIL_URL is set to it")


def logout(context: typer.Context) -> None:
    """Forget the token kept for a registry elsewhere.

    The token itself goes on working until it ends or is revoked.
    """
    from sigil.credentials import Credentials
    from sigil.settings import Settings

    shell = shell_of(context)
    credentials, url = Credentials(Settings.read().credentials), _address(shell.address())
    damaged = credentials.damaged
    gone = credentials.forget(url)
    if shell.printer.json:
        shell.printer.document({"url": url, "forgotten": gone})
        return
    if damaged:
        shell.printer.note(f"{credentials.path} was damaged: it is gone, with whatever it kept for other addresses")
    shell.printer.note(f"logged out of {url}" if gone else f"no token was kept for {url}")


def whoami(context: typer.Context) -> None:
    """Show whose token is used, and what it may do."""
    shell = shell_of(context)
    settings = shell.settings()
    if not settings.registry_url:
        _say_own(shell, settings)
        return
    with shell.registry() as opened:
        row = opened.registry.keys.whoami(opened.caller)
    _say_who(shell, row, settings.registry_url)


def _say_own(shell: Shell, settings: Settings) -> None:
    """Of the registry in this process: whoever may open its store is its owner, so nothing is opened to say so."""
    from sigil.credentials import Credentials
    from sigil.tokens import Holder

    _say_who(shell, Holder("", "admin", settings.agent).row(), "in this process, as its owner")
    kept = "" if shell.printer.json else ", ".join(Credentials(settings.credentials).addresses())
    if kept:
        shell.printer.note(f"a token is kept for {kept}: add --url, or set SIGIL_URL, to go there")


@keys.command("create", epilog="Example: sigil keys create --kind invoke --scope 'run:alice/*' --expires 30d")
@spread
def create(context: typer.Context, wanted: Wanted = NOTHING) -> None:
    """Make an access token.

    It is printed this once, and kept as a hash.
    """
    from sigil.tokens import Wish

    shell = shell_of(context)
    wish = Wish(wanted.kind.value, wanted.name, tuple(wanted.scope or ()), wanted.namespace, _seconds(wanted.expires))
    with shell.registry(perhaps("sigil keys list")) as opened:
        row = opened.registry.keys.create(wish, opened.caller)
    if shell.printer.json:
        shell.printer.document(row)
        return
    shell.printer.line(str(row["token"]))
    shell.printer.note(_who(row))
    shell.printer.note("this is the only time that it is shown")


@keys.command("list", epilog="Example: sigil keys list --json")
def listed(context: typer.Context) -> None:
    """List the access tokens, without their values."""
    shell = shell_of(context)
    with shell.registry() as opened:
        rows = [*opened.registry.keys.rows(opened.caller)]
    if shell.printer.json:
        shell.printer.document({"items": rows})
    elif rows:
        shell.printer.table(("id", "kind", "namespace", "name", "scopes", "ends", "last use"), [_cells(row) for row in rows])
    else:
        shell.printer.note("there are no keys but the admin token")


@keys.command("revoke", epilog="Example: sigil keys revoke 1f2e3d4c5b6a")
def revoke(
    context: typer.Context,
    id: Annotated[str, typer.Argument(metavar="ID", help="The id that `sigil keys list` shows, or the name if no other token has it.")],
) -> None:
    """End an access token at once."""
    shell = shell_of(context)
    with shell.registry(perhaps("sigil keys list")) as opened:
        row = opened.registry.keys.revoke(id, opened.caller)
    if shell.printer.json:
        shell.printer.document({"revoked": row["id"]})
    else:
        shell.printer.note(f"revoked {row['id']} {row['name']}".rstrip())


def _address(url: str) -> str:
    if not url:
        raise UsageError("EUSAGE", "which registry?", suggestion="add --url https://…, or set SIGIL_URL")
    return url


def _asked(url: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Token for {url}", hide_input=True, err=True)).strip()
    return sys.stdin.read(TOKEN_CHARACTERS + 1).strip()


def _well_typed(token: str) -> str:
    from sigil.tokens import PREFIX, is_well_typed, mistyped

    if token.startswith(PREFIX) and not is_well_typed(token):
        raise mistyped()
    return token


def _seconds(span: str) -> float | None:
    if not span:
        return None
    found = _SPAN.fullmatch(span)
    if not found:
        raise UsageError("EUSAGE", f"--expires {span!r} is no span of time", suggestion="such as 12h, 30d, 6w or 1y")
    return float(int(found[1]) * _SECONDS[found[2]])


def _say_who(shell: Shell, row: dict[str, Json], place: str) -> None:
    if shell.printer.json:
        shell.printer.document({**row, "at": place})
        return
    shell.printer.note(place)
    shell.printer.line(_who(row))


def _who(row: dict[str, Json]) -> str:
    """`deploy token 1f2e3d4c5b6a (ci), namespace alice: deploy:alice/* run:*; ends 2026-…`."""
    if row["kind"] == "admin":
        return f"{'admin token' if row['id'] else 'owner'}, namespace {row['namespace']}: everything; never ends"
    name = f" ({row['name']})" if row["name"] else ""
    ends = "never ends" if row["expires"] is None else f"ends {moment(row['expires'])}"
    return f"{row['kind']} token {row['id']}{name}, namespace {row['namespace']}: {' '.join(row['scopes'])}; {ends}"


def _cells(row: dict[str, Json]) -> tuple[object, ...]:
    ends = "ended" if row["expired"] else moment(row["expires"])
    used = moment(row["last_use"]) if row["last_use"] else "never"
    return (row["id"], row["kind"], row["namespace"], row["name"], " ".join(row["scopes"]), ends, used)
