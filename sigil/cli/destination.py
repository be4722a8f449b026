"""Which registry a command talks to, and with whose token: option, environment, profile, default,
in this order.
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
    """An address and its token; without an address the registry in this process. `how`: who said
    so, `profile`: under which name.
    """

    url: str = ""
    token: str = ""
    how: str = ""
    profile: str = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """What the options of a command say."""

    url: str = ""
    token: str = ""
    profile: str = ""


def address(asked: Asked, settings: Settings) -> Destination:
    """Where a command goes, without its token: reads no credentials."""
    if asked.url and asked.profile:
        raise UsageError(
            "EUSAGE", "--url and --profile name two registries", suggestion="leave one of them out"
        )
    if asked.url:
        return Destination(asked.url, how="--url")
    if not asked.profile and settings.registry_url:
        return Destination(settings.registry_url, how="SIGIL_URL")
    profile, how = _profile(asked, settings)
    return Destination(profile.url, how=how, profile=profile.name) if profile else Destination()


def destination(asked: Asked, settings: Settings) -> Destination:
    """Where a command goes, and the token for there.

    A profile that an option names brings its own token; with any other address the environment's
    goes before what is kept for it.
    """
    place = address(asked, settings)
    if not place.url:
        return place
    given = asked.token or ("" if asked.profile else settings.registry_token)
    token = given or (_token(place, settings) if place.profile else _kept(place.url, settings))
    return Destination(place.url, token, place.how, place.profile)


def _profile(asked: Asked, settings: Settings) -> tuple[Profile | None, str]:
    from sigil.client.profiles import Profiles

    profiles = Profiles(settings.profiles)
    for name, how in ((asked.profile, "--profile"), (settings.profile, "SIGIL_PROFILE")):
        if name:
            return profiles.find(name), how
    return profiles.usual(), "sigil profiles use"


def _token(place: Destination, settings: Settings) -> str:
    from sigil.client.profiles import KEPT, Profiles

    profile = Profiles(settings.profiles).find(place.profile)
    token = _kept(place.url, settings, profile.name) if profile.token == KEPT else revealed(profile)
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


def revealed(profile: Profile) -> str:
    """The token that a profile's reference leads to; empty when there is none."""
    from sigil.settings import variable
    from sigil.storage.setting_secrets import reveal

    kind, _, name = profile.token.partition(":")
    return variable(name) if kind == "env" else reveal(profile.token)


def _kept(url: str, settings: Settings, profile: str = "") -> str:
    from sigil.client.credentials import Credentials

    return Credentials(settings.credentials).token(url, profile)
