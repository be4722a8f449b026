"""Checks of a remote registry: its answer, its version and clock against ours, and the token."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import closing
from email.utils import parsedate_to_datetime
from functools import partial

from sigil.cli.destination import is_readable_by_others
from sigil.cli.doctor.findings import Check, DoctorWarning
from sigil.errors import one_line
from sigil.protocol import Caller
from sigil.settings import Settings, installed_version

SKEW_SECONDS = 60.0
EXPIRY_WARNING_SECONDS = 7 * 86_400.0


def registry_checks(settings: Settings) -> Mapping[str, Check]:
    """Return the checks of the registry at `SIGIL_URL`."""
    checks = {"registry": check_answer, "clock": check_clock, "token": check_token}
    return {name: partial(check, settings) for name, check in checks.items()}


def check_answer(settings: Settings) -> str:
    """Check that it answers as Sigil does, in our own version."""
    health, _ = _fetch_health(settings)
    url = settings.registry_url
    theirs = one_line(str(health.get("version", "unknown")), 40)
    if theirs != installed_version():
        raise DoctorWarning(
            f"{url} answers, version {theirs}; here it is {installed_version()}",
            suggestion="bring both to the same version",
        )
    if is_readable_by_others(url):
        raise DoctorWarning(
            f"{url} answers, without TLS: others on the network can read the token",
            suggestion="use its https address",
        )
    return f"{url} answers, version {theirs}"


def check_clock(settings: Settings) -> str:
    """Check that its clock and ours agree: tokens and lifetimes end by them."""
    _, date = _fetch_health(settings)
    try:
        skew = time.time() - parsedate_to_datetime(date).timestamp()
    except ValueError:
        return "it does not say what time it is"
    if abs(skew) > SKEW_SECONDS:
        direction = "ahead of" if skew > 0 else "behind"
        raise DoctorWarning(
            f"this machine is {abs(skew):,.0f} s {direction} it",
            suggestion="set the clock of the one that is wrong, such as with NTP",
        )
    return f"within {max(abs(skew), 1):.0f} s of it"


def _fetch_health(settings: Settings) -> tuple[Mapping[str, object], str]:
    """Return what the registry says of itself, and the date of its answer. No token is sent."""
    import httpx

    from sigil.client.registry import RemoteRegistry

    dates: list[str] = []

    def note_date(response: httpx.Response) -> None:
        dates.append(response.headers.get("date", ""))

    client = httpx.Client(event_hooks={"response": [note_date]})
    token = settings.registry_token or "none"
    with closing(RemoteRegistry(settings.registry_url, token, client=client)) as opened:
        health = opened.health()
    return health, dates[-1]


def check_token(settings: Settings) -> str:
    """Check that the token is accepted, and warn a week before it ends."""
    from sigil.client.registry import RemoteRegistry

    with closing(RemoteRegistry(settings.registry_url, settings.registry_token)) as opened:
        row = opened.keys.whoami(Caller(settings.agent, owner=True))
    kind = one_line(str(row.get("kind", "")), 20)
    namespace = one_line(str(row.get("namespace", "")), 80)
    found = f"accepted: {kind}, namespace {namespace}"
    ends = row.get("expires")
    if isinstance(ends, int | float) and ends - time.time() < EXPIRY_WARNING_SECONDS:
        hours = max(ends - time.time(), 0) / 3_600
        raise DoctorWarning(
            f"{found}; it ends in {hours:,.0f} hours",
            suggestion="ask its owner for another one, then: sigil login",
        )
    return found
