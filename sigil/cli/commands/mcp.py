"""`sigil mcp`: the registry as an MCP server on standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from sigil.cli.help import format_examples
from sigil.cli.options import spread_options
from sigil.cli.shell import OpenRegistry, shell_of

if TYPE_CHECKING:
    from sigil.protocol import Caller

mcp = typer.Typer(
    name="mcp",
    help="Serve the registry over MCP; bring in MCP servers' tools.",
    rich_markup_mode=None,
    invoke_without_command=True,
)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of `sigil mcp`."""

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


USUAL = ServeOptions()


@mcp.callback(epilog=format_examples("sigil", "sigil mcp\nsigil mcp --read-only --preload encode"))
@spread_options
def serve(context: typer.Context, wanted: ServeOptions = USUAL) -> None:
    """Speak MCP on standard input and output, until that ends.

    A program starts this: see docs/mcp.md. What a query finds becomes a tool.
    """
    if context.invoked_subcommand:
        return
    from sigil.mcp.methods import Methods
    from sigil.mcp.server_stdio import StdioServer
    from sigil.mcp.tools import Toolbox
    from sigil.mcp.working_set import ResidentTools

    shell = shell_of(context)
    with shell.registry() as opened, _reserve_stdout() as outlet:
        pipe = StdioServer(sys.stdin.buffer, outlet)
        demand = None if wanted.read_only else _allow_any_deploy
        toolbox = Toolbox(
            opened.registry,
            _find_speaker(opened, wanted, shell.address()),
            ResidentTools(),
            demand,
            pipe.announce_change,
        )
        toolbox.preload(wanted.preload or ())
        if sys.stdin.isatty():
            shell.printer.note("this speaks MCP with a program that starts it; Ctrl-D ends it")
        pipe.serve(Methods(toolbox, changes=True))


def _find_speaker(opened: OpenRegistry, wanted: ServeOptions, address: str) -> Caller:
    """Return the caller for the client's model: a model in a chat of the person at the shell. A
    token elsewhere that is not the admin's speaks only for itself.
    """
    caller = replace(opened.caller, namespace=wanted.namespace or opened.caller.namespace)
    if address and not _is_admin(opened):
        return caller
    return replace(caller, author="model", session=wanted.session)


def _is_admin(opened: OpenRegistry) -> bool:
    return bool(opened.registry.keys.whoami(opened.caller)["kind"] == "admin")


def _allow_any_deploy(name: str) -> None:
    """Refuse nothing here: the registry decides what may be deployed."""


@contextmanager
def _reserve_stdout() -> Iterator[BinaryIO]:
    """Yield standard output for the protocol alone; everything else that is printed goes to
    standard error.
    """
    sys.stdout.flush()
    own = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(own, "wb") as outlet:
        yield outlet
