"""`sigil logs`: the last runs of a capability."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from sigil.cli.completions import capability_names
from sigil.cli.names import Namespace, resolve_name, suggest_names
from sigil.cli.shell import Interrupted, OpenRegistry, Shell, get_shell
from sigil.cli.times import format_count, format_time
from sigil.errors import Refused

if TYPE_CHECKING:
    from sigil.protocol import Caller
    from sigil.rows import RunRow

RUNS_MOST = 100
POLL_SECONDS = 1.0


def logs(
    context: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The capability.", autocompletion=capability_names)
    ],
    *,
    namespace: Namespace = "",
    session: Annotated[
        str,
        typer.Option("--session", metavar="CHAT", help="Only the runs in this chat: telegram:1."),
    ] = "",
    limit: Annotated[
        int, typer.Option("--limit", "-n", min=1, max=RUNS_MOST, help="Show at most this many.")
    ] = 20,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on showing new runs, until Ctrl-C.")
    ] = False,
) -> None:
    """Show the last runs of a capability.

    Tells when, how large the input was, how it ended and what it logged; of runs in a chat only
    how many lines. Inputs and outputs are not kept.
    """
    shell = get_shell(context)
    with shell.open_registry() as opened:
        plain, caller = resolve_name(opened.caller, name, namespace)
        runs = _read_runs(opened, plain, caller, session)[-limit:]
        if not follow:
            if shell.printer.json:
                shell.printer.document({"items": runs})
            elif runs:
                _print_runs(shell, runs)
            else:
                shell.printer.note("no run is known")
            return
        try:
            _follow_runs(shell, opened, (plain, caller, session), runs)
        except KeyboardInterrupt:
            raise Interrupted("ended; nothing was changed") from None


def _read_runs(opened: OpenRegistry, name: str, caller: Caller, session: str) -> list[RunRow]:
    """Return the runs that are known, oldest first; with `session`, those in that chat."""
    from sigil.catalog.usage import mark_chat

    with suggest_names(opened, name):
        row = opened.registry.inspect(name, replace(caller, session=session))
    runs = row.get("runs")
    if runs is None:
        raise Refused(
            "EPERM",
            "only an owner sees a capability's runs, and who deployed it with a deploy token",
            source=name,
            suggestion="use the admin token, or the token that it was deployed with",
        )
    return [run for run in runs if not session or run["chat"] == mark_chat(session)]


def _follow_runs(
    shell: Shell,
    opened: OpenRegistry,
    which: tuple[str, Caller, str],
    runs: Sequence[RunRow],
) -> None:
    """Print runs as they become known; with `--json` a document a line."""
    shown: set[tuple[float, float]] = set()
    while True:
        new = [run for run in runs if (run["at"], run["ms"]) not in shown]
        shown = {(run["at"], run["ms"]) for run in runs} | (shown if len(shown) < 1_000 else set())
        if shell.printer.json:
            for run in new:
                shell.printer.document(run)
        elif new:
            _print_runs(shell, new)
        time.sleep(POLL_SECONDS)
        runs = _read_runs(opened, *which)


def _print_runs(shell: Shell, runs: Sequence[RunRow]) -> None:
    cells = []
    for run in runs:
        ended = run["code"] if not run["chat"] else f"{run['code']} (in a chat)"
        size = f"{run['input_bytes']:,} B"
        text = "\n".join(run["logs"])
        if len(run["logs"]) < run["lines"]:
            hidden = format_count(run["lines"] - len(run["logs"]), "line")
            text = "\n".join(filter(None, (text, f"({hidden} not kept)")))
        milliseconds = f"{run['ms']:,.1f}"
        cells.append((format_time(run["at"]), run["version"], size, ended, milliseconds, text))
    shell.printer.table(("when", "version", "input", "ended", "ms", "logged"), cells)
