"""`uncaged web`: a code with which a browser signs in to the page."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from functions.agent.access.web_codes import SECONDS, WebCodes, WebRole
from functions.cli.local_agent import BY, open_agent
from sigil.errors import UsageError, one_line

if TYPE_CHECKING:
    from functions.agent.app import App
    from functions.settings import Settings
    from sigil.cli.printing import Printer

PORT: Final = 8000
"""The port that `uncaged serve` listens on unless told otherwise."""
MINUTES: Final = round(SECONDS / 60)


def print_code(person: str, printer: Printer, *, reader: bool = False) -> None:
    """Print a new code for a person, for whoever is at this machine without one, and where to type
    it. `reader`: it shows numbers alone.
    """
    who = person or BY
    with open_agent(switch=True) as (app, settings):
        known = _find_role(app, who)
        role: WebRole = "reader" if reader else known
        code = make_code(app, who, role)
        addresses = list_addresses(settings)
    if printer.json:
        row = {"code": code, "person": who, "role": role, "seconds": SECONDS}
        printer.document({**row, "addresses": addresses})
        return
    printer.line(code)
    printer.note(f"type it at {' or '.join(addresses)} within {MINUTES} minutes, once")
    if not settings.web_names:
        printer.note("`uncaged serve` shows the page, and prints its address")


def make_code(app: App, person: str, role: WebRole) -> str:
    """Return a new code for a person."""
    return WebCodes(app.kv, app.root, app.clock.now).make(person, role)


def list_addresses(settings: Settings, port: int = PORT) -> list[str]:
    """Return where the page is: behind a proxy under its names, and else on this machine."""
    return [f"https://{name}/ui" for name in settings.web_names] or [f"http://localhost:{port}/ui"]


def _find_role(app: App, person: str) -> WebRole:
    """Return the role of a person; `UsageError` for one who may not talk to the agent."""
    if app.people.is_owner(person):
        return "owner"
    member = app.people.find_member(person)
    if member is None or member.role != "member":
        raise UsageError(
            "ENOENT",
            f"{one_line(person, 60)!r} is nobody who was let in",
            suggestion="`uncaged channel pair --list` shows who may talk to it",
        )
    return "member"
