"""`mcp`: the registry as an MCP server on standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from sigil.cli.help import examples
from sigil.cli.option_groups import spread
from sigil.cli.shell import Opened, shell_of

if TYPE_CHECKING:
    from sigil.protocol import Caller

mcp = typer.Typer(
    name="mcp",
    help="Serve the registry over MCP; bring in MCP servers' tools.",
    rich_markup_mode=None,
    invoke_without_command=True,
)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is served."""

    namespace: Annotated[
        str,
        typer.Option(
            "--namespace", metavar="NS", help="Whose capabilities (default: the agent's)."
        ),
    ] = ""
    session: Annotated[
        str,
        typer.Option(
            "--session", metavar="NAME", help="The chat in whose name the client's model speaks."
        ),
    ] = "mcp"
    read_only: Annotated[bool, typer.Option("--read-only", help="Without sigil_deploy.")] = False
    preload: Annotated[
        list[str] | None,
        typer.Option(
            "--preload", metavar="NAME", help="Have its tool there from the start; may be repeated."
        ),
    ] = None


USUAL = Wanted()


@mcp.callback(epilog=examples("sigil", "sigil mcp\nsigil mcp --read-only --preload encode"))
@spread
def serve(context: typer.Context, wanted: Wanted = USUAL) -> None:
    """Speak MCP on standard input and output, until that ends.

    A program starts this: see docs/mcp.md. What a query finds becomes a tool.
    """
    if context.invoked_subcommand:
        return
    from sigil.mcp.methods import Methods
    from sigil.mcp.server_stdio import Pipe
    from sigil.mcp.tools import Toolbox
    from sigil.mcp.working_set import Resident

    shell = shell_of(context)
    with shell.registry() as opened, _alone() as outlet:
        pipe = Pipe(sys.stdin.buffer, outlet)
        demand = None if wanted.read_only else _anything
        toolbox = Toolbox(
            opened.registry,
            _speaker(opened, wanted, shell.address()),
            Resident(),
            demand,
            pipe.changed,
        )
        toolbox.preload(wanted.preload or ())
        if sys.stdin.isatty():
            shell.printer.note("this speaks MCP with a program that starts it; Ctrl-D ends it")
        pipe.serve(Methods(toolbox, changes=True))


def _speaker(opened: Opened, wanted: Wanted, address: str) -> Caller:
    """A model in a chat of the person at the shell. A token elsewhere that is not the admin's
    speaks for nobody but itself.
    """
    caller = replace(opened.caller, namespace=wanted.namespace or opened.caller.namespace)
    if address and not _is_admin(opened):
        return caller
    return replace(caller, author="model", session=wanted.session)


def _is_admin(opened: Opened) -> bool:
    return bool(opened.registry.keys.whoami(opened.caller)["kind"] == "admin")


def _anything(name: str) -> None:
    """What may be deployed the registry decides."""


@contextmanager
def _alone() -> Iterator[BinaryIO]:
    """Standard output for the protocol alone: whatever else is printed goes to standard error."""
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(own, "wb") as outlet:
        yield outlet
