"""`sigil whoami`: whose token is in use, and what it may do."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from sigil.cli.shell import Shell, get_shell
from sigil.cli.times import format_time

if TYPE_CHECKING:
    from sigil.rows import TokenRow


def whoami(context: typer.Context) -> None:
    """Show whose token is used, and what it may do."""
    from sigil.access.tokens import TokenHolder
    from sigil.client.credentials import Credentials

    shell = get_shell(context)
    settings = shell.read_settings()
    if settings.registry_url:
        with shell.open_registry() as opened:
            row = opened.registry.keys.whoami(opened.caller)
        destination = shell.find_destination()
        place = destination.url
        if destination.profile:
            place += f" (profile {destination.profile})"
        show_holder(shell, row, place)
        return
    # a person who may open the store of this process is its owner; nothing is opened to say so
    holder = TokenHolder("", "admin", settings.agent)
    show_holder(shell, holder.row(), "in this process, as its owner")
    if shell.printer.json:
        return
    known = ", ".join(Credentials(settings.credentials).addresses())
    if known:
        shell.printer.note(f"a token is kept for {known}: add --url, or set SIGIL_URL, to go there")


def show_holder(shell: Shell, row: TokenRow, place: str) -> None:
    """Print whose token is used at a place, and what it may do."""
    if shell.printer.json:
        shell.printer.document({**row, "at": place})
        return
    shell.printer.note(place)
    shell.printer.line(describe_holder(row))


def describe_holder(row: TokenRow) -> str:
    """Return one line, such as `deploy token 1f2e3d4c5b6a (ci), namespace alice: deploy:alice/*
    run:*; ends 2026-…`.
    """
    if row["kind"] == "admin":
        holder = "admin token" if row["id"] else "owner"
        return f"{holder}, namespace {row['namespace']}: everything; never ends"
    name = f" ({row['name']})" if row["name"] else ""
    ends = "never ends" if row["expires"] is None else f"ends {format_time(row['expires'])}"
    scopes = " ".join(row["scopes"])
    return f"{row['kind']} token {row['id']}{name}, namespace {row['namespace']}: {scopes}; {ends}"
