"""Checks of a registry elsewhere: whether it answers, its clock and version against ours, and the
token.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from contextlib import closing
from email.utils import parsedate_to_datetime

from sigil.cli.doctor.findings import Check, DoctorWarning
from sigil.errors import one_line
from sigil.protocol import Caller
from sigil.settings import Settings, installed_version

SKEW_SECONDS = 60.0
SOON_SECONDS = 7 * 86_400.0
_LOCAL = re.compile(r"http://(localhost|127\.|\[::1\])", re.IGNORECASE)


def registry_checks(settings: Settings) -> Mapping[str, Check]:
    """Return the checks of the registry at `SIGIL_URL`."""
    return {
        "registry": lambda: _check_registry(settings),
        "clock": lambda: _check_clock(settings),
        "token": lambda: _check_token(settings),
    }


def _check_registry(settings: Settings) -> str:
    """Check that it answers as Sigil does, in our own version."""
    said, _ = _ask_health(settings)
    theirs, url = one_line(str(said.get("version", "unknown")), 40), settings.registry_url
    if theirs != installed_version():
        raise DoctorWarning(
            f"{url} answers, version {theirs}; here it is {installed_version()}",
            suggestion="bring both to the same version",
        )
    if url.lower().startswith("http:") and not _LOCAL.match(url):
        raise DoctorWarning(
            f"{url} answers, without TLS: the token travels where others can read it",
            suggestion="use its https address",
        )
    return f"{url} answers, version {theirs}"


def _check_clock(settings: Settings) -> str:
    """Check that its clock and ours agree: tokens and lifetimes end by them."""
    _, date = _ask_health(settings)
    try:
        skew = time.time() - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return "it does not say what time it is"
    if abs(skew) > SKEW_SECONDS:
        which = "ahead of" if skew > 0 else "behind"
        raise DoctorWarning(
            f"this machine is {abs(skew):,.0f} s {which} it",
            suggestion="set the clock of the one that is wrong, such as with NTP",
        )
    return f"within {max(abs(skew), 1):.0f} s of it"


def _check_token(settings: Settings) -> str:
    """Check that the token is accepted, and warn a week before it ends."""
    from sigil.client.registry import RemoteRegistry

    with closing(RemoteRegistry(settings.registry_url, settings.registry_token)) as opened:
        row = opened.keys.whoami(Caller(settings.agent, owner=True))
    said = (
        f"accepted: {one_line(str(row.get('kind', '')), 20)}, namespace"
        f" {one_line(str(row.get('namespace', '')), 80)}"
    )
    ends = row.get("expires")
    if isinstance(ends, int | float) and ends - time.time() < SOON_SECONDS:
        raise DoctorWarning(
            f"{said}; it ends in {max(ends - time.time(), 0) / 3_600:,.0f} hours",
            suggestion="ask for another one",
        )
    return said


def _ask_health(settings: Settings) -> tuple[Mapping[str, object], str]:
    """Return what the registry says of itself, and the date of its answer. No token is sent."""
    import httpx

    from sigil.client.registry import RemoteRegistry

    dates: list[str] = []
    client = httpx.Client(
        event_hooks={"response": [lambda response: dates.append(response.headers.get("date", ""))]}
    )
    with closing(
        RemoteRegistry(settings.registry_url, settings.registry_token or "none", client=client)
    ) as opened:
        said = opened.health()
    return said, dates[-1]
