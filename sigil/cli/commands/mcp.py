"""`sigil mcp`: the registry as an MCP server on standard input and output, and the tools of other
MCP servers as capabilities.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from sigil.cli import completions
from sigil.cli.help import format_examples
from sigil.cli.options import spread_options
from sigil.cli.shell import (
    OpenRegistry,
    Shell,
    confirm,
    get_shell,
    require_answerer,
    unsure_message,
)
from sigil.cli.times import format_count, format_time
from sigil.errors import Refused, UsageError

if TYPE_CHECKING:
    from sigil.cli.commands.mcp_login import SignInRow
    from sigil.cli.commands.mcp_tools import ServerTools, ToolState
    from sigil.run.mcp_client.document import McpServerRow

CALL_SECONDS = 30
_UNSURE = unsure_message("sigil mcp list")

mcp = typer.Typer(
    name="mcp",
    help="Serve the registry over MCP; add the tools of MCP servers.",
    rich_markup_mode=None,
    invoke_without_command=True,
)


ServerName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="The server, as `sigil mcp list` shows it.",
        autocompletion=completions.server_names,
    ),
]


@dataclass(frozen=True, slots=True)
class AddOptions:
    """The options of `sigil mcp add`."""

    name: Annotated[
        str,
        typer.Option(
            "--name", metavar="NAME", help="Its name here (default: taken from the address)."
        ),
    ] = ""
    header: Annotated[
        list[str] | None,
        typer.Option(
            "--header",
            metavar="'NAME: VALUE'",
            help="A header for it; secret:NAME in the value is that secret. May be repeated.",
        ),
    ] = None
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env",
            metavar="KEY=VALUE",
            help="A variable of the command; secret:NAME as value is that secret. May be repeated.",
        ),
    ] = None
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="TOOL", help="Add only this tool; may be repeated."),
    ] = None
    seconds: Annotated[
        int,
        typer.Option("--seconds", min=1, max=30, help="The longest time of a call, in seconds."),
    ] = CALL_SECONDS
    background: Annotated[
        bool,
        typer.Option(
            "--background",
            help="A call of a chat outlives its turn: it runs as a task, and its result comes"
            " by itself.",
        ),
    ] = False
    grant: Annotated[
        bool,
        typer.Option("--grant", help="Grant the tools what they ask for: to reach this server."),
    ] = False


@dataclass(frozen=True, slots=True)
class LoginOptions:
    """The options of `sigil mcp login`."""

    no_browser: Annotated[
        bool,
        typer.Option(
            "--no-browser",
            help="Open no browser: show the address, and read the one that the browser ends at.",
        ),
    ] = False
    client_id: Annotated[
        str,
        typer.Option(
            "--client-id",
            metavar="ID",
            help="This program's id there, where programs are registered by hand.",
        ),
    ] = ""
    client_secret: Annotated[
        bool,
        typer.Option(
            "--client-secret", help="Read the secret of that id from a prompt or from stdin."
        ),
    ] = False
    issuer: Annotated[
        str,
        typer.Option(
            "--issuer",
            metavar="URL",
            help="The authorization server that the secret is for, where it is another host.",
        ),
    ] = ""
    port: Annotated[
        int,
        typer.Option(
            "--port",
            min=0,
            max=65_535,
            help="The port of 127.0.0.1 to which the browser returns (default: any).",
        ),
    ] = 0


@dataclass(frozen=True, slots=True)
class StdioOptions:
    """The options of `sigil mcp`."""

    namespace: Annotated[
        str,
        typer.Option(
            "--namespace", metavar="NS", help="The namespace to offer (default: the agent's)."
        ),
    ] = ""
    session: Annotated[
        str,
        typer.Option(
            "--session", metavar="NAME", help="The chat in whose name the client's model acts."
        ),
    ] = "mcp"
    read_only: Annotated[bool, typer.Option("--read-only", help="Do not offer sigil_deploy.")] = (
        False
    )
    preload: Annotated[
        list[str] | None,
        typer.Option(
            "--preload",
            metavar="NAME",
            help="Offer this capability's tool from the start; may be repeated.",
        ),
    ] = None


STDIO_DEFAULTS = StdioOptions()
ADD_DEFAULTS = AddOptions()
LOGIN_DEFAULTS = LoginOptions()


@mcp.callback(epilog=format_examples("sigil", "sigil mcp\nsigil mcp --read-only --preload encode"))
@spread_options
def serve_stdio(context: typer.Context, options: StdioOptions = STDIO_DEFAULTS) -> None:
    """Speak MCP on standard input and output, until that ends.

    A program starts this: see docs/mcp.md. What a query finds becomes a tool.
    """
    if context.invoked_subcommand:
        return
    from sigil.mcp.methods import Methods
    from sigil.mcp.server_stdio import StdioServer
    from sigil.mcp.tools import Toolbox
    from sigil.mcp.working_set import ResidentTools

    def allow_any_deploy(name: str) -> None:
        """Refuse nothing here: the registry decides what may be deployed."""

    shell = get_shell(context)
    with shell.open_registry() as opened, _reserve_stdout() as stdout:
        caller = replace(opened.caller, namespace=options.namespace or opened.caller.namespace)
        # the client's model acts in a chat of the person at the shell; a remote registry's token
        # that is not the admin's acts only for itself
        kind = opened.registry.keys.whoami(opened.caller)["kind"] if shell.is_remote() else "admin"
        if kind == "admin":
            caller = replace(caller, author="model", session=options.session)
        server = StdioServer(sys.stdin.buffer, stdout)
        toolbox = Toolbox(
            opened.registry,
            caller,
            ResidentTools(),
            None if options.read_only else allow_any_deploy,
            server.announce_change,
            opened.registry if kind == "deploy" and not options.read_only else None,
        )
        toolbox.preload(options.preload or ())
        if sys.stdin.isatty():
            shell.printer.note("this speaks MCP with a program that starts it; Ctrl-D ends it")
        server.serve(Methods(toolbox, changes=True))


@contextmanager
def _reserve_stdout() -> Iterator[BinaryIO]:
    """Yield standard output for the protocol alone; everything else that is printed goes to
    standard error.
    """
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(own, "wb") as stdout:
        yield stdout


@mcp.command(
    "add",
    epilog=format_examples(
        "sigil",
        "sigil mcp add https://mcp.example.com/mcp --header 'X-Key: secret:KEY'\n"
        "sigil mcp add --name git --grant -- uvx mcp-server-git -r /srv/repository",
    ),
)
@spread_options
def add_server(
    context: typer.Context,
    place: Annotated[
        list[str],
        typer.Argument(
            metavar="URL|-- COMMAND…", help="Where it is: an address, or a program of this machine."
        ),
    ],
    options: AddOptions = ADD_DEFAULTS,
) -> None:
    """Add the tools of an MCP server as capabilities.

    Each waits for a grant (--grant, `sigil mcp grant NAME`) before it may reach the server.
    """
    from sigil.cli.commands.mcp_address import (
        absolute_paths,
        parse_server_address,
        suggest_next_step,
    )
    from sigil.cli.commands.mcp_login import add_sign_in
    from sigil.cli.commands.mcp_tools import ServerTools

    shell = get_shell(context)
    row = parse_server_address(place, options.name, options.header or (), options.env or ())
    if "command" in row and shell.is_remote():
        raise UsageError(
            "EUSAGE",
            "a command runs on the registry's machine, and this registry is remote",
            source=row["name"],
            suggestion="run this on that machine, or give the server's address",
        )
    row = absolute_paths(row, shell.printer.note)
    with suggest_next_step(row), shell.open_registry(_UNSURE) as opened:
        row = add_sign_in(row, opened, named=bool(options.name))
        tools = ServerTools(opened, row, options.seconds, background=options.background)
        states = tools.add(tuple(options.only or ()))
        if options.grant:
            states = tools.grant(states)
    _report_tools(shell, row, states)


@mcp.command("list", epilog=format_examples("sigil", "sigil mcp list\nsigil mcp list --json"))
def list_servers(context: typer.Context) -> None:
    """List the servers whose tools are deployed here, and their sign-ins.

    Says what each server says of its tools' effects, and whether a sign-in stands.
    """
    from sigil.cli.commands.mcp_login import list_sign_in_states
    from sigil.cli.commands.mcp_tools import find_servers

    shell = get_shell(context)
    with shell.open_registry() as opened:
        rows = find_servers(opened)
        states = list_sign_in_states(opened, [row["server"] for row in rows])
    if shell.printer.json:
        items = [{**row, "sign_in": states.get(row["name"])} for row in rows]
        known = {row["name"] for row in rows}
        unused = {name: state for name, state in states.items() if name not in known}
        document: dict[str, object] = {"items": items}
        if unused:
            document["sign_ins"] = unused
        shell.printer.document(document)
        return
    if not rows and not states:
        shell.printer.note("there are no servers; `sigil mcp add URL` adds one")
        return
    cells = []
    for row in rows:
        place = ", ".join((row["where"], *(f"another: {name}" for name in row["others"])))
        says = ", ".join(f"{count} {hint}" for hint, count in row["hints"].items())
        sign_in = states.get(row["name"])
        state = sign_in["state"] if sign_in else ""
        cells.append((row["name"], len(row["tools"]), len(row["waiting"]), says, state, place))
    if cells:
        columns = ("server", "tools", "waiting", "it says", "sign-in", "where")
        shell.printer.table(columns, cells)
    for name, state_row in states.items():
        _print_sign_in(shell, name, state_row)


@mcp.command("show", epilog=format_examples("sigil", "sigil mcp show tracker"))
def show_server(context: typer.Context, name: ServerName) -> None:
    """Show the tools of a server that are here, and its sign-in.

    Says what each tool waits for, and what the server says of its effects. The server is not asked.
    """
    from sigil.cli.commands.mcp_login import list_sign_in_states
    from sigil.mcp.hints import describe_hints

    shell = get_shell(context)
    with shell.open_registry() as opened:
        tools = _find_server_tools(opened, name)
        states = tools.list_deployed()
        sign_in = list_sign_in_states(opened, [tools.server]).get(name)
    if shell.printer.json:
        items = []
        for state in states:
            items.append({**state.to_row(), "state": "waits" if state.waits else "granted"})
        document = {"server": name, "where": tools.server, "items": items, "sign_in": sign_in}
        shell.printer.document(document)
        return
    cells = []
    for state in states:
        waits = "waits for a grant" if state.waits else "granted"
        cells.append((state.tool, state.capability, waits, describe_hints(state.hints)))
    shell.printer.table(("tool", "capability", "state", "it says that it"), cells)
    if any(state.waits for state in states):
        shell.printer.note(f"grant them: sigil mcp grant {name}")
    if sign_in:
        _print_sign_in(shell, name, sign_in)


def _print_sign_in(shell: Shell, name: str, row: SignInRow) -> None:
    """Print how a sign-in stands, and the command that mends it."""
    words = {
        "stands": "stands, and is renewed by itself" if row["ends"] else "stands",
        "ends": f"ends at {format_time(row['ends'])} and cannot be renewed",
        "ended": f"ended at {format_time(row['ends'])}",
        "missing": "is missing",
        "unused": "is used by no tool here",
    }
    command = f": {row['command']}" if row["command"] else ""
    shell.printer.note(f"the sign-in of {name} {words[row['state']]}{command}")


@mcp.command("grant", epilog=format_examples("sigil", "sigil mcp grant tracker"))
def grant_server(context: typer.Context, name: ServerName) -> None:
    """Grant all tools of a server what they ask for now.

    First shows what that is, and what the server says of each tool's effects.
    """
    from sigil.mcp.hints import describe_hints

    shell = get_shell(context)
    with shell.open_registry(_UNSURE) as opened:
        tools = _find_server_tools(opened, name, alone=True)
        states = tools.list_deployed()
        waiting = sorted({permission for state in states for permission in state.waits})
        for permission in waiting:
            shell.printer.note(f"+ {permission}")
        for state in states:
            if state.waits:
                shell.printer.note(f"{state.tool}: {describe_hints(state.hints)}")
        if waiting:
            require_answerer(shell, name)
            count = format_count(len(states), "tool")
            confirm(shell, f"Grant this to {count} of {name}?", "granted")
        states = tools.grant(states)
    _report_tools(shell, tools.server, states)


@mcp.command(
    "refresh",
    epilog=format_examples(
        "sigil", "sigil mcp refresh tracker --dry-run\nsigil mcp refresh tracker"
    ),
)
def refresh_server(
    context: typer.Context,
    name: ServerName,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what differs, and change nothing.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Add tools that were not there before.")
    ] = False,
) -> None:
    """Ask a server again for its tools, and show what differs.

    A changed tool becomes a new version that waits for a grant; a tool that the server no longer
    has is removed.
    """
    from sigil.cli.commands.mcp_address import suggest_next_step
    from sigil.cli.commands.mcp_login import add_sign_in
    from sigil.cli.commands.mcp_tools import ServerTools

    shell = get_shell(context)
    with shell.open_registry(_UNSURE) as opened:
        tools = _find_server_tools(opened, name, alone=True)
        server = add_sign_in(tools.server, opened, named=True)
        tools = ServerTools(opened, server, tools.seconds)
        with suggest_next_step(tools.server):
            states = tools.refresh(new=new, dry_run=dry_run)
    _report_tools(shell, tools.server, states)
    if dry_run:
        shell.printer.note("nothing was changed")


@mcp.command("remove", epilog=format_examples("sigil", "sigil mcp remove tracker"))
def remove_server(context: typer.Context, name: ServerName) -> None:
    """Remove all tools of a server, with their grants."""
    shell = get_shell(context)
    with shell.open_registry(_UNSURE) as opened:
        tools = _find_server_tools(opened, name)
        require_answerer(shell, name)
        removed = [state.capability for state in tools.list_deployed()]
        count = format_count(len(removed), "tool")
        confirm(shell, f"Remove {count} of {name}?", "removed")
        for capability in removed:
            opened.registry.remove(capability, opened.caller)
    shell.printer.result({"removed": removed}, f"removed {count} of {name}")


@mcp.command(
    "login",
    epilog=format_examples(
        "sigil",
        "sigil mcp login mail https://mcp.example.com/mcp\nsigil mcp login mail --no-browser",
    ),
)
@spread_options
def sign_in(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME|URL", help="The server's name here, or its address.")
    ],
    url: Annotated[
        str, typer.Argument(metavar="[URL]", help="Its address, for the first sign-in.")
    ] = "",
    options: LoginOptions = LOGIN_DEFAULTS,
) -> None:
    """Sign in at an MCP server in your browser.

    The token that comes of it is stored as a secret, renewed when it ends, and sent to that server
    alone. `sigil mcp add URL` uses it.
    """
    from sigil.cli.commands.mcp_address import parse_server_address
    from sigil.cli.commands.mcp_login import Login, find_login_address, suggest_login

    shell = get_shell(context)
    if "://" in name:
        url = url or name
        name = parse_server_address([name], "", (), ())["name"]
    elif url:
        parse_server_address([url], name, (), ())
    secret = ""
    if options.client_secret:
        if not options.client_id:
            raise UsageError("EUSAGE", "--client-secret goes with --client-id", source=name)
        if sys.stdin.isatty():
            secret = str(typer.prompt("The client's secret", hide_input=True, err=True)).strip()
        else:
            secret = sys.stdin.readline().strip()
    stopped = f"nothing was stored; sigil mcp login {name} begins again"
    with suggest_login(name), shell.open_registry(stopped) as opened:
        url = url or find_login_address(opened, name)
        login = Login(shell, opened, name, url)
        login.sign_in(
            browser=not options.no_browser,
            port=options.port,
            client_id=options.client_id,
            client_secret=secret,
            issuer=options.issuer,
        )
    shell.printer.result({"server": name, "url": url}, f"signed in at {url} as {name}")
    shell.printer.note(f"its tools: sigil mcp add {url} --name {name}")


@mcp.command("logout", epilog=format_examples("sigil", "sigil mcp logout mail"))
def sign_out(context: typer.Context, name: ServerName) -> None:
    """Forget the token of a server.

    Its tools stay, and are refused there until somebody signs in again.
    """
    from sigil.access.sign_in import name_token_secret
    from sigil.cli.commands.mcp_login import list_sign_ins

    shell = get_shell(context)
    with shell.open_registry(_UNSURE) as opened:
        if name not in list_sign_ins(opened):
            raise UsageError(
                "ENOENT",
                "nobody is signed in there",
                source=name,
                suggestion="`sigil secret list` shows the secrets, and which are sign-ins",
            )
        opened.registry.secrets.remove(name_token_secret(name), opened.caller)
    shell.printer.result({"removed": name}, f"signed out of {name}")


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
        raise Refused(
            "EPERM",
            f"{', '.join(row['others'])} and {row['tools'][0]} are of different servers with this"
            " name",
            source=name,
            suggestion="`sigil inspect` shows whose they are; `sigil remove` those you do not mean",
        )
    return ServerTools(opened, row["server"], row["seconds"])


def _report_tools(shell: Shell, server: McpServerRow, states: list[ToolState]) -> None:
    name = server["name"]
    if shell.printer.json:
        shell.printer.document({"server": name, "items": [state.to_row() for state in states]})
    else:
        shell.printer.table(
            ("tool", "capability", "state", "it says"),
            [
                (state.tool, state.capability, state.describe(), ", ".join(state.hints))
                for state in states
            ],
        )
        for state in states:
            for change in state.changes:
                shell.printer.note(f"{state.capability}: {change}")
        waiting = sum(bool(state.waits) for state in states)
        if waiting:
            count = format_count(waiting, "tool")
            shell.printer.note(f"{count} may not reach it yet: sigil mcp grant {name}")
    if states and all(state.problem for state in states):
        raise UsageError(
            "EMANIFEST",
            "none of its tools can be a capability",
            source=name,
            suggestion="the table says why",
        )
