"""The registry that a command talks to, and the token for it: from the options, the environment,
the profile or the default, in this order.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sigil.errors import Refused, UsageError

if TYPE_CHECKING:
    from sigil.client.profiles import Profile
    from sigil.settings import Settings


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


def resolve_address(asked: RegistryChoice, settings: Settings) -> Destination:
    """Return where a command goes, without the token; no credentials are read."""
    if asked.url and asked.profile:
        raise UsageError(
            "EUSAGE", "--url and --profile name two registries", suggestion="leave one of them out"
        )
    if asked.url:
        return Destination(asked.url, how="--url")
    if not asked.profile and settings.registry_url:
        return Destination(settings.registry_url, how="SIGIL_URL")
    profile, how = _find_profile(asked, settings)
    return Destination(profile.url, how=how, profile=profile.name) if profile else Destination()


def resolve_destination(asked: RegistryChoice, settings: Settings) -> Destination:
    """Return where a command goes, with the token for it.

    A profile that an option names brings its own token; with any other address the environment's
    goes before what is kept for it.
    """
    place = resolve_address(asked, settings)
    if not place.url:
        return place
    given = asked.token or ("" if asked.profile else settings.registry_token)
    token = given or (
        _require_profile_token(place, settings)
        if place.profile
        else _read_stored_token(place.url, settings)
    )
    return Destination(place.url, token, place.how, place.profile)


def _find_profile(asked: RegistryChoice, settings: Settings) -> tuple[Profile | None, str]:
    from sigil.client.profiles import Profiles

    profiles = Profiles(settings.profiles)
    for name, how in ((asked.profile, "--profile"), (settings.profile, "SIGIL_PROFILE")):
        if name:
            return profiles.find(name), how
    return profiles.usual(), "sigil profiles use"


def _require_profile_token(place: Destination, settings: Settings) -> str:
    from sigil.client.profiles import KEPT, Profiles

    profile = Profiles(settings.profiles).find(place.profile)
    token = (
        _read_stored_token(place.url, settings, profile.name)
        if profile.token == KEPT
        else reveal_token(profile)
    )
    if not token:
        message = f"the profile {profile.name} has no token" + (
            "" if profile.token == KEPT else f": {profile.token} is empty"
        )
        raise Refused(
            "EAUTH",
            message,
            suggestion=f"sigil login --profile {profile.name} asks for one, or give --token",
        )
    return token


def reveal_token(profile: Profile) -> str:
    """Return the token that a profile's reference leads to; empty when there is none."""
    from sigil.settings import variable
    from sigil.storage.setting_secrets import reveal

    kind, _, name = profile.token.partition(":")
    return variable(name) if kind == "env" else reveal(profile.token)


def _read_stored_token(url: str, settings: Settings, profile: str = "") -> str:
    from sigil.client.credentials import Credentials

    return Credentials(settings.credentials).token(url, profile)
