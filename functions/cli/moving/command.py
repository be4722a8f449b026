"""`uncaged import`: takes over an agent of another program, and says what it left out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from functions.cli.local_agent import make_opener, open_agent
from functions.cli.moving.changes import Adoption, Change, plan_team, write_changes
from functions.cli.moving.foreign_agent import LeftOut
from functions.cli.moving.letta import read_letta
from functions.cli.moving.nanobot import read_nanobot
from functions.cli.moving.openclaw import read_openclaw
from functions.cli.moving.source_folder import SourceFolder
from sigil.cli.printing import Printer
from sigil.errors import SigilError, UsageError

if TYPE_CHECKING:
    from functions.cli.moving.foreign_agent import ForeignAgent
    from functions.cli.moving.mcp_entries import McpServer
    from sigil.cli.shell import OpenRegistry

_WORDS = {
    "new": ("would be written", "written"),
    "replaced": ("would be replaced", "replaced"),
    "same": ("is here already", "is here already"),
    "kept": ("stays as it is here; --replace replaces it", "stays as it is here"),
    "refused": ("would be left out", "left out"),
    "failed": ("", "not written, or not all of it"),
}


@dataclass(frozen=True, slots=True)
class ImportOptions:
    """`agent`: the agent here; `session`: the chat that alone gets what is personal; `name`: the
    agent of a file that has several; `mcp`: also start and ask the MCP servers.
    """

    agent: str | None = None
    session: str | None = None
    name: str = ""
    dry_run: bool = False
    replace: bool = False
    mcp: bool = False


def run_import(printer: Printer, program: str, path: Path, options: ImportOptions) -> None:
    """Take an agent over, or say what would happen. All of it is read and checked first."""
    foreign = _read_foreign(program, path, options.name)
    problem = None
    with open_agent(name=options.agent, session=options.session) as (app, settings):
        planned = Adoption(app, foreign, options.session, replace=options.replace).plan()
        left = [*foreign.left]
        if app.is_root and not options.session:
            opener = make_opener(app, settings)
            planned += plan_team(app, foreign, opener, replaces=options.replace)
        else:
            left += _leave_team(foreign)
        changes = [change for change, _ in planned]
        if not options.dry_run:
            changes, problem = write_changes(planned)
        agent = app.name
    servers = [_describe_server(server) for server in foreign.servers]
    if servers and options.mcp and not options.dry_run and not problem:
        for row, outcome in zip(servers, _add_servers(printer, foreign.servers), strict=True):
            row["state"] = outcome
    if printer.json:
        printer.document(
            {
                "agent": agent,
                "program": program,
                "dry_run": options.dry_run,
                "changes": [asdict(change) for change in changes],
                "mcp": servers,
                "left": [asdict(each) for each in left],
            }
        )
    else:
        _print_changes(printer, changes, dry_run=options.dry_run)
        _print_servers(printer, servers, options)
        for each in left:
            hint = f" ({each.hint})" if each.hint else ""
            printer.note(f"left out: {each.what} {each.why}{hint}")
        if any(change.kind == "schedule" and change.is_made for change in changes):
            printer.note(
                "schedules are paused: `uncaged wake list` shows them, resume ID starts one"
            )
        is_personal = bool(foreign.notes) or not {"user", "memory"}.isdisjoint(foreign.documents)
        if is_personal and not options.session:
            printer.note("all chats of the agent know the user and the memory; --session CHAT: one")
        if problem:
            printer.note("the same import again writes what is missing")
    if problem:
        raise problem


def _leave_team(foreign: ForeignAgent) -> list[LeftOut]:
    """Return the agents that do not come along with one that is not the root, or into one chat."""
    left = []
    for name, (_, place) in foreign.below.items():
        hint = f"`uncaged agent create {name}`, then import {place} with `--agent {name}`"
        left.append(LeftOut(place, "is the workspace of another agent", hint))
    return left


def _read_foreign(program: str, path: Path, name: str) -> ForeignAgent:
    if program == "letta":
        return read_letta(path, name)
    if name:
        raise UsageError("EUSAGE", "--name chooses an agent of a Letta file")
    folder = SourceFolder(path)
    return read_nanobot(folder) if program == "nanobot" else read_openclaw(folder)


def _describe_server(server: McpServer) -> dict[str, object]:
    return {
        "name": server.name,
        "from": server.place,
        "command": server.to_command(),
        "secrets": server.secrets,
        "state": "not added",
    }


def _add_servers(printer: Printer, servers: Sequence[McpServer]) -> list[str]:
    """Add the tools of servers as capabilities, which wait for a grant, and return how that went
    for each.
    """
    from sigil.cli.shell import Shell

    outcomes = []
    shell = Shell(printer)
    with shell.open_registry() as opened:
        for server in servers:
            if server.command and shell.is_remote():
                outcomes.append("not added: its program has to run on the registry's machine")
                continue
            try:
                outcomes.append(_add_server(printer, server, opened))
            except SigilError as problem:
                outcomes.append(f"not added: {problem.message}")
    return outcomes


def _add_server(printer: Printer, server: McpServer, opened: OpenRegistry) -> str:
    from sigil.cli.commands.mcp import CALL_SECONDS
    from sigil.cli.commands.mcp_address import absolute_paths, parse_server_address
    from sigil.cli.commands.mcp_tools import ServerTools

    headers = [f"{key}: {value}" for key, value in server.headers.items()]
    env = [f"{key}={value}" for key, value in server.env.items()]
    place = [server.url] if server.url else list(server.command)
    row = parse_server_address(place, server.name, headers, env)
    row = absolute_paths(row, printer.detail)
    states = ServerTools(opened, row, CALL_SECONDS).add(tuple(server.only))
    if all(state.state == "unchanged" for state in states):
        return "is here already"
    return f"added; its tools wait for `sigil mcp grant {server.name}`"


def _print_changes(printer: Printer, changes: list[Change], *, dry_run: bool) -> None:
    for change in changes:
        words = _WORDS[change.state][0 if dry_run else 1]
        detail = f" ({change.detail})" if change.detail else ""
        what = f"notes of {change.name}" if change.kind == "notes" else ""
        what = what or f"{change.kind} {change.name} from {change.place}"
        if change.agent and change.kind != "agent":
            what = f"{change.agent}: {what}"
        printer.line(f"{what}: {words}{detail}")


def _print_servers(
    printer: Printer, servers: list[dict[str, object]], options: ImportOptions
) -> None:
    for row in servers:
        printer.line(f"MCP server {row['name']}: {row['state']}: {row['command']}")
    if servers and not options.mcp:
        printer.note("--mcp adds the servers: it starts these programs, and asks these addresses")
