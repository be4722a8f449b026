"""`uncaged ledger`: what began, what it cost and what was allowed, and if all of it still holds."""

from __future__ import annotations

import sys
from heapq import nlargest

import orjson
import typer

from functions.agent.app import App
from functions.agent.ledger.entry import UNKNOWN
from functions.agent.management import ledger
from functions.cli.local_agent import open_agent
from sigil.cli.exit_codes import FAILED
from sigil.cli.printing import Printer
from sigil.cli.times import format_count, format_time
from sigil.errors import SigilError
from sigil.json_fields import as_mapping, as_number

SHOWN = 50


def run_ledger(action: str | None, *, agent: str | None, since: str, json: bool) -> None:
    """Print the latest entries, all as lines of JSON, or if they all hold.

    Raises `typer.Exit` with 1 where an entry was changed or is missing.
    """
    with open_agent(switch=True, name=agent) as (app, _):
        begin = ledger.read_since(since, app.clock.now())
        if action == "verify":
            _verify(app, json=json)
        elif action == "export":
            for entry in ledger.scan_entries(app, app.name, begin):
                sys.stdout.buffer.write(orjson.dumps(entry) + b"\n")
        else:
            _show(app, begin, json=json)


def _verify(app: App, *, json: bool) -> None:
    check = ledger.verify(app, app.name)
    if json:
        row = {"entries": check.entries, "chains": check.chains, "problem": check.problem}
        Printer(json=True).document({"ok": not check.problem, **row})
    elif check.problem:
        problem = f"{check.problem}; {format_count(check.entries, 'entry')} before it hold"
        Printer().error(SigilError("ELEDGER", problem, source=app.name))
    else:
        entries = format_count(check.entries, "entry")
        chains = format_count(check.chains, "chain")
        Printer().line(f"{app.name}: {entries} in {chains} hold")
    if check.problem:
        raise typer.Exit(FAILED)


def _show(app: App, since: float, *, json: bool) -> None:
    entries = ledger.scan_entries(app, app.name, since)
    latest = nlargest(SHOWN, entries, key=lambda entry: as_number(entry["at"]))[::-1]
    if json:
        Printer(json=True).document({"items": latest})
        return
    if not latest:
        Printer().note("the ledger has no entries")
        return
    rows = []
    for entry in latest:
        facts = as_mapping(entry["facts"])
        told = [f"{name}={value}" for name, value in facts.items() if name != UNKNOWN]
        if facts.get(UNKNOWN):
            told.append("cost unknown")
        at = format_time(as_number(entry["at"]))
        rows.append((at, entry["what"], entry["event"], entry["by"], " ".join(told)))
    Printer().table(("when", "what", "event", "by", "facts"), rows)
