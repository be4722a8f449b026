"""`sigil login` and `logout`: keep or forget a token for a registry elsewhere, or for a profile."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.keys import show_holder
from sigil.cli.shell import Shell, shell_of
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.client.profiles import Profile
    from sigil.protocol import Json
    from sigil.settings import Settings

TOKEN_CHARACTERS = 4_096
_HERE = re.compile(r"http://(localhost|127\.|\[::1\])", re.IGNORECASE)

Where = Annotated[
    str,
    typer.Option(
        "--token-from",
        metavar="REF",
        help="Keep only where the profile's token is: env:NAME, ssm:NAME or secretsmanager:NAME.",
    ),
]


def login(context: typer.Context, source: Where = "") -> None:
    """Keep a token for a registry elsewhere.

    The token comes from a prompt or from stdin; it is tried first, and kept for the address of
    --url (or SIGIL_URL) alone. With --profile the address gets a name too: `sigil profiles use
    NAME` lets commands go there.
    """
    shell = shell_of(context)
    if shell.asked.profile:
        _login_to_profile(shell, source)
        return
    if source:
        raise UsageError("EUSAGE", "--token-from is for a profile", suggestion="add --profile NAME")
    from sigil.client.credentials import Credentials

    settings = _read_settings()
    place = shell.place()
    url = _require_address(place.url)
    token = _require_well_typed(shell.asked.token or _ask_for_token(url))
    row = _try_token(url, token, settings)
    credentials = Credentials(settings.credentials)
    before = settings.registry_token
    credentials.keep(url, token)
    _warn_of_plain_http(shell, url)
    if before not in ("", token):
        shell.printer.note("SIGIL_TOKEN is another one: while it is set it wins")
    show_holder(shell, row, f"logged in to {url}")
    if shell.asked.url:
        shell.printer.note(f"commands go there with --url {url}, or once SIGIL_URL is set to it")


def _login_to_profile(shell: Shell, source: str) -> None:
    from sigil.cli.destination import reveal_token
    from sigil.client.credentials import Credentials
    from sigil.client.profiles import KEPT, Profiles, demand_token

    settings = _read_settings()
    profile = _make_profile(shell, settings, demand_token(source) if source else KEPT)
    token = (
        reveal_token(profile)
        if source
        else _require_well_typed(shell.asked.token or _ask_for_token(profile.url))
    )
    if not token:
        raise UsageError(
            "EUSAGE",
            f"{source} holds no token",
            suggestion="set it, or log in without --token-from",
        )
    row = _try_token(profile.url, token, settings)
    if not source:
        Credentials(settings.credentials).keep(profile.url, token, profile.name)
    profiles = Profiles(settings.profiles)
    profiles.keep(profile)
    _warn_of_plain_http(shell, profile.url)
    show_holder(shell, row, f"logged in to {profile.url} as profile {profile.name}")
    if profiles.book().usual != profile.name:
        shell.printer.note(
            f"commands go there with --profile {profile.name}, or always: sigil profiles use"
            f" {profile.name}"
        )


def _make_profile(shell: Shell, settings: Settings, token: str) -> Profile:
    """Return the profile to keep: its address is --url, else the one that it has already."""
    from sigil.client.profiles import HERE, Profile, Profiles, demand_name
    from sigil.client.transport import base_of

    name = demand_name(shell.asked.profile)
    if name == HERE:
        raise UsageError(
            "EUSAGE",
            f"{HERE} is the registry in this process: nothing to log in to",
            suggestion="choose another name",
        )
    known = Profiles(settings.profiles).book().profiles.get(name)
    url = shell.asked.url or (known.url if known else "")
    return Profile(name, base_of(_require_address(url)), token)


def logout(context: typer.Context) -> None:
    """Forget the token kept for a registry elsewhere.

    The token itself goes on working until it ends or is revoked. A profile keeps its address.
    """
    from sigil.client.credentials import Credentials

    shell = shell_of(context)
    place = shell.place()
    credentials, url = Credentials(_read_settings().credentials), _require_address(place.url)
    damaged = credentials.damaged
    gone = credentials.forget(url, place.profile)
    if shell.printer.json:
        shell.printer.document({"url": url, "forgotten": gone})
        return
    if damaged:
        shell.printer.note(
            f"{credentials.path} was damaged: it is gone, with whatever it kept for other addresses"
        )
    whose = f"{url} (profile {place.profile})" if place.profile else url
    shell.printer.note(f"logged out of {whose}" if gone else f"no token was kept for {whose}")


def _read_settings() -> Settings:
    from sigil.settings import Settings

    return Settings.read()


def _try_token(url: str, token: str, settings: Settings) -> Mapping[str, Json]:
    """Ask the registry whose token it is; `UsageError` for an empty one."""
    from sigil.client.registry import RemoteRegistry
    from sigil.protocol import Caller

    if not token:
        raise UsageError(
            "EUSAGE",
            "no token was given",
            suggestion=f"sigil login --url {url} < token.txt, or type it at the prompt",
        )
    with closing(RemoteRegistry(url, token)) as registry:
        return registry.keys.whoami(Caller(settings.agent, owner=True))


def _warn_of_plain_http(shell: Shell, url: str) -> None:
    if url.lower().startswith("http:") and not _HERE.match(url):
        shell.printer.note("the address is not https: the token travels where others can read it")


def _require_address(url: str) -> str:
    if not url:
        raise UsageError(
            "EUSAGE", "which registry?", suggestion="add --url https://…, or set SIGIL_URL"
        )
    return url


def _ask_for_token(url: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Token for {url}", hide_input=True, err=True)).strip()
    return sys.stdin.read(TOKEN_CHARACTERS + 1).strip()


def _require_well_typed(token: str) -> str:
    from sigil.access.tokens import PREFIX, is_well_typed, mistyped_token

    if token.startswith(PREFIX) and not is_well_typed(token):
        raise mistyped_token()
    return token
