"""`sigil mcp add`, `list`, `grant`, `refresh` and `remove`: the tools of MCP servers as
capabilities.
"""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli import completions
from sigil.cli.commands.mcp import mcp
from sigil.cli.help import format_examples
from sigil.cli.options import spread_options
from sigil.cli.shell import OpenRegistry, Shell, confirm, require_answerer, shell_of, unsure_message
from sigil.cli.times import count_of
from sigil.errors import Refused, SigilError, UsageError

if TYPE_CHECKING:
    from sigil.cli.commands.mcp_tools import ServerTools, ToolState
    from sigil.protocol import Json

group = mcp
"""`sigil mcp` with all its commands."""
CALL_SECONDS = 30

ServerName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="The server, as `sigil mcp list` shows it.",
        autocompletion=completions.server_names,
    ),
]
_UNSURE = unsure_message("sigil mcp list")


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """The options of `sigil mcp add`."""

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


USUAL = ServerOptions()


@mcp.command(
    "add",
    epilog=format_examples(
        "sigil",
        "sigil mcp add https://mcp.example.com/mcp --header 'Authorization: Bearer"
        " secret:TOKEN'\nsigil mcp add --name files --grant -- npx -y"
        " @modelcontextprotocol/server-filesystem /srv/files",
    ),
)
@spread_options
def add(
    context: typer.Context,
    place: Annotated[
        list[str],
        typer.Argument(
            metavar="URL|-- COMMAND…", help="Where it is: an address, or a program of this machine."
        ),
    ],
    wanted: ServerOptions = USUAL,
) -> None:
    """Bring in the tools of an MCP server as capabilities.

    Each waits for a grant (--grant, `sigil mcp grant NAME`) before it may reach the server.
    """
    from sigil.cli.commands.mcp_tools import ServerTools, parse_server

    shell = shell_of(context)
    row = parse_server(place, wanted.name, wanted.header or (), wanted.env or ())
    _require_local(shell, row)
    row = absolute_paths(row, shell.printer.note)
    with suggest_next_step(row), shell.registry(_UNSURE) as opened:
        brought = ServerTools(opened, row, wanted.seconds)
        lines = brought.add(tuple(wanted.only or ()))
        if wanted.grant:
            lines = brought.grant(lines)
    _report_tools(shell, row, lines)


@mcp.command("list", epilog=format_examples("sigil", "sigil mcp list\nsigil mcp list --json"))
def list_servers(context: typer.Context) -> None:
    """List the servers whose tools stand here."""
    from sigil.cli.commands.mcp_tools import find_servers

    shell = shell_of(context)
    with shell.registry() as opened:
        rows = find_servers(opened)
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


@mcp.command("grant", epilog=format_examples("sigil", "sigil mcp grant tracker"))
def grant(context: typer.Context, name: ServerName) -> None:
    """Grant all tools of a server what they ask for, as they stand now.

    Shows what that is first.
    """
    shell = shell_of(context)
    with shell.registry(_UNSURE) as opened:
        brought = _find_server_tools(opened, name, alone=True)
        lines = brought.standing()
        waiting = sorted({text for line in lines for text in line.waits})
        for text in waiting:
            shell.printer.note(f"+ {text}")
        if waiting:
            require_answerer(shell, name)
            confirm(shell, f"Grant this to {count_of(len(lines), 'tool')} of {name}?", "granted")
        lines = brought.grant(lines)
    _report_tools(shell, brought.server, lines)


@mcp.command(
    "refresh",
    epilog=format_examples(
        "sigil", "sigil mcp refresh tracker --dry-run\nsigil mcp refresh tracker"
    ),
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

    shell = shell_of(context)
    with shell.registry(_UNSURE) as opened:
        brought = _find_server_tools(opened, name, alone=True)
        with suggest_next_step(brought.server):
            lines = brought.refresh(new=new, dry_run=dry_run)
    _report_tools(shell, brought.server, lines)
    if dry_run:
        shell.printer.note("nothing was changed")


@mcp.command("remove", epilog=format_examples("sigil", "sigil mcp remove tracker"))
def remove(context: typer.Context, name: ServerName) -> None:
    """Take all tools of a server away, with their grants."""
    shell = shell_of(context)
    with shell.registry(_UNSURE) as opened:
        brought = _find_server_tools(opened, name)
        require_answerer(shell, name)
        lines = brought.standing()
        confirm(shell, f"Remove {count_of(len(lines), 'tool')} of {name}?", "removed")
        for line in lines:
            opened.registry.remove(line.capability, opened.caller)
    if shell.printer.json:
        shell.printer.document({"removed": [line.capability for line in lines]})
    else:
        shell.printer.note(f"removed {count_of(len(lines), 'tool')} of {name}")


def _find_server_tools(opened: OpenRegistry, name: str, *, alone: bool = False) -> ServerTools:
    """Return the tools of a named server; `alone`: `Refused` when an import brought another server
    of this name.
    """
    from sigil.cli.commands.mcp_tools import ServerTools, find_servers

    row = next((row for row in find_servers(opened) if row["name"] == name), None)
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
    return ServerTools(opened, row["server"], row["seconds"])


def _require_local(shell: Shell, row: dict[str, Json]) -> None:
    """Refuse a command for a registry elsewhere: it would run on that machine."""
    if "command" in row and shell.address():
        message = "a command runs where the registry is, and that is elsewhere"
        raise UsageError(
            "EUSAGE",
            message,
            source=row["name"],
            suggestion="run this there, or give the server's address",
        )


def _report_tools(shell: Shell, server: dict[str, Json], lines: list[ToolState]) -> None:
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
                f"{count_of(len(waiting), 'tool')} may not reach it yet: sigil mcp grant"
                f" {server['name']}"
            )
    if lines and not good:
        raise UsageError(
            "EMANIFEST",
            "none of its tools can be a capability",
            source=server["name"],
            suggestion="the table says why",
        )


_COMMAND = re.compile(r"`(sigil [^`]+)`")


def absolute_paths(row: dict[str, Json], say: Callable[[str], None]) -> dict[str, Json]:
    """Return the server with absolute paths for files of the current folder: programs start in the
    home folder.

    `UsageError` when there is no such program.
    """
    if "command" not in row:
        return row
    program, *rest = row["command"]
    if shutil.which(program) is None:
        suggestion = (
            "a program stands on the PATH, or is given with its path; an address begins with"
            " https://"
        )
        raise UsageError(
            "ENOENT",
            f"there is no program {program} here",
            source=row["name"],
            suggestion=suggestion,
        )
    words = [
        str(Path(program).absolute()) if "/" in program else program,
        *map(_absolute_word, rest),
    ]
    for word, whole in zip(row["command"], words, strict=True):
        if word != whole:
            say(f"{word} is {whole}: programs start in the home folder")
    return {**row, "command": words}


@contextmanager
def suggest_next_step(row: dict[str, Json]) -> Iterator[None]:
    """Add the next step to the error of a server that cannot be reached."""
    try:
        yield
    except SigilError as problem:
        problem.suggestion = problem.suggestion or _next_step(problem, row)
        raise


def _absolute_word(word: str) -> str:
    """Return the absolute path when `word` names a file here, or with a slash a folder. Bare words
    stay: they name packages too.
    """
    path, named = Path(word), "/" in word or word in (".", "..")
    try:
        there = not word.startswith(("-", "@")) and (
            path.is_file() if "." in word and not named else named and path.exists()
        )
    except (OSError, ValueError):
        there = False
    return str(path.absolute()) if there else word


def _next_step(problem: SigilError, row: dict[str, Json]) -> str:
    told = _COMMAND.search(problem.message)
    if told:
        return f"{told[1]}, then this again"
    if "command" in row:
        by_hand = (
            f"run it by hand: {shlex.join(row['command'])}; it has to speak MCP on its standard"
            " input and output"
        )
        return by_hand if problem.code in ("EREMOTE", "ETIMEDOUT") else ""
    if problem.code == "EPERM":
        return (
            "run it as a program (`sigil mcp add -- COMMAND`), or put it behind https;"
            " SIGIL_LOOPBACK=1 lets you try one of this machine"
        )
    return (
        "check the address; it has to speak MCP over streamable HTTP"
        if problem.code in ("EREMOTE", "ETIMEDOUT", "ENET")
        else ""
    )
