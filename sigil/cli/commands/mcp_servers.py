"""`mcp add`, `list`, `grant`, `refresh` and `remove`: the tools of MCP servers as capabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli import completions
from sigil.cli.commands.inspect import confirm, demand_somebody
from sigil.cli.commands.mcp import mcp
from sigil.cli.help import examples
from sigil.cli.option_groups import spread
from sigil.cli.shell import Opened, Shell, perhaps, shell_of
from sigil.cli.times import counted
from sigil.errors import Refused, UsageError

if TYPE_CHECKING:
    from sigil.cli.commands.mcp_tools import Brought, Line
    from sigil.protocol import Json

group = mcp
"""`sigil mcp` with all its commands."""
CALL_SECONDS = 30

ServerName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="The server, as `sigil mcp list` shows it.",
        autocompletion=completions.servers,
    ),
]
_UNSURE = perhaps("sigil mcp list")


@dataclass(frozen=True, slots=True)
class Wanted:
    """How a server is brought in."""

    name: Annotated[
        str,
        typer.Option(
            "--name", metavar="NAME", help="What it is called here (default: made of the address)."
        ),
    ] = ""
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            metavar="'NAME: VALUE'",
            help="Sent to it; secret:NAME in the value stands for a secret. May be repeated.",
        ),
    ] = None
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env",
            metavar="KEY=VALUE",
            help="A variable of the command; secret:NAME as value is a secret's. May be repeated.",
        ),
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="TOOL", help="This tool alone; may be repeated."),
    ] = None
    seconds: Annotated[
        int, typer.Option("--seconds", min=1, max=30, help="How long a call of its tools may take.")
    ] = CALL_SECONDS
    grant: Annotated[
        bool, typer.Option("--grant", help="Grant them what they ask for: to reach this server.")
    ] = False


USUAL = Wanted()


@mcp.command(
    "add",
    epilog=examples(
        "sigil",
        "sigil mcp add https://mcp.example.com/mcp --header 'Authorization: Bearer"
        " secret:TOKEN'\nsigil mcp add --name files --grant -- npx -y"
        " @modelcontextprotocol/server-filesystem /srv/files",
    ),
)
@spread
def add(
    context: typer.Context,
    place: Annotated[
        list[str],
        typer.Argument(
            metavar="URL|-- COMMAND…", help="Where it is: an address, or a program of this machine."
        ),
    ],
    wanted: Wanted = USUAL,
) -> None:
    """Bring in the tools of an MCP server as capabilities.

    Each waits for a grant (--grant, `sigil mcp grant NAME`) before it may reach the server.
    """
    from sigil.cli.commands.mcp_address import placed, reached
    from sigil.cli.commands.mcp_tools import Brought, server_row

    shell = shell_of(context)
    row = server_row(place, wanted.name, wanted.header or (), wanted.env or ())
    _demand_here(shell, row)
    row = placed(row, shell.printer.note)
    with reached(row), shell.registry(_UNSURE) as opened:
        brought = Brought(opened, row, wanted.seconds)
        lines = brought.add(tuple(wanted.only or ()))
        if wanted.grant:
            lines = brought.grant(lines)
    _report(shell, row, lines)


@mcp.command("list", epilog=examples("sigil", "sigil mcp list\nsigil mcp list --json"))
def listed(context: typer.Context) -> None:
    """List the servers whose tools stand here."""
    from sigil.cli.commands.mcp_tools import servers

    shell = shell_of(context)
    with shell.registry() as opened:
        rows = servers(opened)
    if shell.printer.json:
        shell.printer.document({"items": rows})
    elif rows:
        places = [
            ", ".join((row["where"], *(f"another: {name}" for name in row["others"])))
            for row in rows
        ]
        cells = [
            (row["name"], len(row["tools"]), len(row["waiting"]), place)
            for row, place in zip(rows, places, strict=True)
        ]
        shell.printer.table(("server", "tools", "waiting", "where"), cells)
    else:
        shell.printer.note("there are no servers; `sigil mcp add URL` brings one in")


@mcp.command("grant", epilog=examples("sigil", "sigil mcp grant tracker"))
def grant(context: typer.Context, name: ServerName) -> None:
    """Grant all tools of a server what they ask for, as they stand now.

    Shows what that is first.
    """
    shell = shell_of(context)
    with shell.registry(_UNSURE) as opened:
        brought = _of(opened, name, alone=True)
        lines = brought.standing()
        waiting = sorted({text for line in lines for text in line.waits})
        for text in waiting:
            shell.printer.note(f"+ {text}")
        if waiting:
            demand_somebody(shell, name)
            confirm(shell, f"Grant this to {counted(len(lines), 'tool')} of {name}?", "granted")
        lines = brought.grant(lines)
    _report(shell, brought.server, lines)


@mcp.command(
    "refresh",
    epilog=examples("sigil", "sigil mcp refresh tracker --dry-run\nsigil mcp refresh tracker"),
)
def refresh(
    context: typer.Context,
    name: ServerName,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what differs, and change nothing.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Bring in tools that were not there before.")
    ] = False,
) -> None:
    """Ask a server again for its tools, and show what differs.

    What changed is a new version that waits for a grant; what the server no longer has is removed.
    """
    from sigil.cli.commands.mcp_address import reached

    shell = shell_of(context)
    with shell.registry(_UNSURE) as opened:
        brought = _of(opened, name, alone=True)
        with reached(brought.server):
            lines = brought.refresh(new=new, dry_run=dry_run)
    _report(shell, brought.server, lines)
    if dry_run:
        shell.printer.note("nothing was changed")


@mcp.command("remove", epilog=examples("sigil", "sigil mcp remove tracker"))
def remove(context: typer.Context, name: ServerName) -> None:
    """Take all tools of a server away, with their grants."""
    shell = shell_of(context)
    with shell.registry(_UNSURE) as opened:
        brought = _of(opened, name)
        demand_somebody(shell, name)
        lines = brought.standing()
        confirm(shell, f"Remove {counted(len(lines), 'tool')} of {name}?", "removed")
        for line in lines:
            opened.registry.remove(line.capability, opened.caller)
    if shell.printer.json:
        shell.printer.document({"removed": [line.capability for line in lines]})
    else:
        shell.printer.note(f"removed {counted(len(lines), 'tool')} of {name}")


def _of(opened: Opened, name: str, *, alone: bool = False) -> Brought:
    """`alone`: `Refused` when another server goes by this name too, as what was imported may."""
    from sigil.cli.commands.mcp_tools import Brought, servers

    row = next((row for row in servers(opened) if row["name"] == name), None)
    if row is None:
        raise UsageError(
            "ENOENT",
            "there is no such server",
            source=name,
            suggestion="`sigil mcp list` shows which there are",
        )
    if alone and row["others"]:
        message = (
            f"{', '.join(row['others'])} and {row['tools'][0]} are of different servers with this"
            " name"
        )
        raise Refused(
            "EPERM",
            message,
            source=name,
            suggestion="`sigil inspect` shows whose they are; `sigil remove` those you do not mean",
        )
    return Brought(opened, row["server"], row["seconds"])


def _demand_here(shell: Shell, row: dict[str, Json]) -> None:
    """A registry elsewhere is never told to run a command."""
    if "command" in row and shell.address():
        message = "a command runs where the registry is, and that is elsewhere"
        raise UsageError(
            "EUSAGE",
            message,
            source=row["name"],
            suggestion="run this there, or give the server's address",
        )


def _report(shell: Shell, server: dict[str, Json], lines: list[Line]) -> None:
    good, waiting = (
        [line for line in lines if not line.problem],
        [line for line in lines if line.waits],
    )
    if shell.printer.json:
        shell.printer.document({"server": server["name"], "items": [line.row for line in lines]})
    else:
        shell.printer.table(
            ("tool", "capability", "state"),
            [(line.tool, line.capability, line.said) for line in lines],
        )
        for line in lines:
            for text in line.changes:
                shell.printer.note(f"{line.capability}: {text}")
        if waiting:
            shell.printer.note(
                f"{counted(len(waiting), 'tool')} may not reach it yet: sigil mcp grant"
                f" {server['name']}"
            )
    if lines and not good:
        raise UsageError(
            "EMANIFEST",
            "none of its tools can be a capability",
            source=server["name"],
            suggestion="the table says why",
        )
