"""The registry that a command talks to, and the token for it: from the options, the environment,
the profile or the default, in this order.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sigil.errors import Refused, UsageError

if TYPE_CHECKING:
    from sigil.client.profiles import Profile
    from sigil.settings import Settings


_LOCAL_HTTP = re.compile(r"http://(localhost|127\.|\[::1\])", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Destination:
    """An address and its token; an empty address is the registry in this process. `how`: the option
    or setting that chose it; `profile`: the profile that did.
    """

    url: str = ""
    token: str = ""
    how: str = ""
    profile: str = ""


@dataclass(frozen=True, slots=True)
class RegistryChoice:
    """The registry that a command's options name."""

    url: str = ""
    token: str = ""
    profile: str = ""


def resolve_address(choice: RegistryChoice, settings: Settings) -> Destination:
    """Return where a command goes, without the token; no credentials are read."""
    if choice.url and choice.profile:
        raise UsageError(
            "EUSAGE", "--url and --profile name two registries", suggestion="leave one of them out"
        )
    if choice.url:
        return Destination(choice.url, how="--url")
    if not choice.profile and settings.registry_url:
        return Destination(settings.registry_url, how="SIGIL_URL")
    from sigil.client.profiles import Profiles

    profiles = Profiles(settings.profiles)
    profile: Profile | None
    if choice.profile:
        profile = profiles.find(choice.profile)
        how = "--profile"
    elif settings.profile:
        profile = profiles.find(settings.profile)
        how = "SIGIL_PROFILE"
    else:
        profile = profiles.find_default()
        how = "sigil profiles use"
    if profile is None:
        return Destination()
    return Destination(profile.url, how=how, profile=profile.name)


def resolve_destination(choice: RegistryChoice, settings: Settings) -> Destination:
    """Return where a command goes, with the token for it.

    A profile that an option names brings its own token; with any other address the environment's
    goes before the one that `sigil login` stored for it.
    """
    destination = resolve_address(choice, settings)
    if not destination.url:
        return destination
    token = choice.token
    if not token and not choice.profile:
        token = settings.registry_token
    if not token and destination.profile:
        token = _require_profile_token(destination, settings)
    if not token and not destination.profile:
        token = _read_stored_token(destination.url, settings)
    return replace(destination, token=token)


def _require_profile_token(destination: Destination, settings: Settings) -> str:
    from sigil.client.profiles import KEPT, Profiles

    profile = Profiles(settings.profiles).find(destination.profile)
    message = f"the profile {profile.name} has no token"
    if profile.token == KEPT:
        token = _read_stored_token(destination.url, settings, profile.name)
    else:
        token = reveal_token(profile)
        message += f": {profile.token} is empty"
    if not token:
        raise Refused(
            "EAUTH",
            message,
            suggestion=f"sigil login --profile {profile.name} asks for one, or give --token",
        )
    return token


def reveal_token(profile: Profile) -> str:
    """Return the token that a profile's reference leads to; empty when there is none."""
    from sigil.settings import read_variable
    from sigil.storage.setting_secrets import reveal

    kind, _, name = profile.token.partition(":")
    return read_variable(name) if kind == "env" else reveal(profile.token)


def is_readable_by_others(url: str) -> bool:
    """Return whether a token that is sent to this address can be read on the network: plain HTTP to
    another machine.
    """
    return url.lower().startswith("http:") and not _LOCAL_HTTP.match(url)


def _read_stored_token(url: str, settings: Settings, profile: str = "") -> str:
    from sigil.client.credentials import Credentials

    return Credentials(settings.credentials).find_token(url, profile)
