"""`sigil login` and `logout`: keep or forget a token for a remote registry, or for a profile."""

from __future__ import annotations

import sys
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.commands.whoami import show_holder
from sigil.cli.destination import is_readable_by_others, reveal_token
from sigil.cli.shell import Shell, get_shell
from sigil.errors import UsageError

if TYPE_CHECKING:
    from sigil.rows import TokenRow
    from sigil.settings import Settings

TOKEN_CHARACTERS = 4_096

TokenSource = Annotated[
    str,
    typer.Option(
        "--token-from",
        metavar="REF",
        help=(
            "Store where to read the token, instead of the token: env:NAME, ssm:NAME or"
            " secretsmanager:NAME."
        ),
    ),
]


def login(context: typer.Context, source: TokenSource = "") -> None:
    """Store a token for a remote registry.

    The token is read from a prompt or from stdin and tried first. It is stored for the address of
    --url (or SIGIL_URL) and sent nowhere else. With --profile the address gets a name too, and
    `sigil profiles use NAME` makes it the default.
    """
    from sigil.settings import Settings

    shell = get_shell(context)
    settings = Settings.read()
    if shell.choice.profile:
        _login_to_profile(shell, settings, source)
        return
    if source:
        raise UsageError("EUSAGE", "--token-from is for a profile", suggestion="add --profile NAME")
    from sigil.client.credentials import Credentials

    url = _require_address(shell.find_destination().url)
    token = _require_well_typed(shell.choice.token or _ask_for_token(url))
    row = _try_token(url, token, settings)
    Credentials(settings.credentials).save(url, token)
    _warn_of_plain_http(shell, url)
    if settings.registry_token not in ("", token):
        shell.printer.note("SIGIL_TOKEN is set to another token, and is used instead of this one")
    show_holder(shell, row, f"logged in to {url}")
    if shell.choice.url:
        shell.printer.note(f"commands go there with --url {url}, or once SIGIL_URL is set to it")


def _login_to_profile(shell: Shell, settings: Settings, source: str) -> None:
    """Log in to the address of --url, or to the one that the profile has already."""
    from sigil.client.credentials import Credentials
    from sigil.client.profiles import (
        HERE,
        KEPT,
        Profile,
        Profiles,
        require_name,
        require_token_reference,
    )
    from sigil.client.transport import base_of

    token_reference = require_token_reference(source) if source else KEPT
    name = require_name(shell.choice.profile)
    if name == HERE:
        raise UsageError(
            "EUSAGE",
            f"{HERE} is the registry in this process, which needs no login",
            suggestion="choose another name",
        )
    profiles = Profiles(settings.profiles)
    url = shell.choice.url
    known = profiles.load().profiles.get(name)
    if known and not url:
        url = known.url
    profile = Profile(name, base_of(_require_address(url)), token_reference)
    if source:
        token = reveal_token(profile)
        if not token:
            raise UsageError(
                "EUSAGE",
                f"{source} holds no token",
                suggestion="set it, or log in without --token-from",
            )
    else:
        token = _require_well_typed(shell.choice.token or _ask_for_token(profile.url))
    row = _try_token(profile.url, token, settings)
    if not source:
        Credentials(settings.credentials).save(profile.url, token, name)
    profiles.save(profile)
    _warn_of_plain_http(shell, profile.url)
    show_holder(shell, row, f"logged in to {profile.url} as profile {name}")
    if profiles.load().default != name:
        shell.printer.note(
            f"commands go there with --profile {name}, or always: sigil profiles use {name}"
        )


def logout(context: typer.Context) -> None:
    """Delete the stored token of a remote registry.

    The token itself stays valid until it expires or is revoked. A profile keeps its address.
    """
    from sigil.client.credentials import Credentials
    from sigil.settings import Settings

    shell = get_shell(context)
    destination = shell.find_destination()
    url = _require_address(destination.url)
    credentials = Credentials(Settings.read().credentials)
    damaged = credentials.is_damaged
    forgotten = credentials.forget(url, destination.profile)
    if shell.printer.json:
        shell.printer.document({"url": url, "forgotten": forgotten})
        return
    if damaged:
        shell.printer.note(
            f"{credentials.path} was damaged; it was removed, and the tokens that it kept for other"
            " addresses with it"
        )
    name = f"{url} (profile {destination.profile})" if destination.profile else url
    shell.printer.note(f"logged out of {name}" if forgotten else f"no token was kept for {name}")


def _try_token(url: str, token: str, settings: Settings) -> TokenRow:
    """Ask the registry whose token it is; `UsageError` for an empty one."""
    from sigil.client.registry import RemoteRegistry
    from sigil.protocol import Caller

    if not token:
        raise UsageError(
            "EUSAGE",
            "the token is empty",
            suggestion=f"sigil login --url {url} < token.txt, or type it at the prompt",
        )
    with closing(RemoteRegistry(url, token)) as registry:
        return registry.keys.whoami(Caller(settings.agent, owner=True))


def _warn_of_plain_http(shell: Shell, url: str) -> None:
    if is_readable_by_others(url):
        shell.printer.note("the address is not https: others on the network can read the token")


def _require_address(url: str) -> str:
    if not url:
        raise UsageError(
            "EUSAGE",
            "no registry is named",
            suggestion="add --url https://…, or set SIGIL_URL",
        )
    return url


def _ask_for_token(url: str) -> str:
    if sys.stdin.isatty():
        return str(typer.prompt(f"Token for {url}", hide_input=True, err=True)).strip()
    return sys.stdin.read(TOKEN_CHARACTERS + 1).strip()


def _require_well_typed(token: str) -> str:
    """Return a token whose checksum is right; `UsageError` for one of ours that was mistyped."""
    from sigil.access.tokens import PREFIX, is_well_typed, mistyped_token

    if token.startswith(PREFIX) and not is_well_typed(token):
        raise mistyped_token()
    return token
