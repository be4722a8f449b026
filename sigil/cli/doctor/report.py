"""The report of `sigil doctor` and `uncaged doctor`: the settings, a line for each finding, and the
remedies.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from sigil.cli.doctor import Check, Finding, State, run_checks
from sigil.cli.exit_codes import FAILED
from sigil.cli.printing import Printer
from sigil.cli.times import format_count

if TYPE_CHECKING:
    from sigil.settings import Settings


_STATE_WORDS = {State.ok: "ok", State.warn: "warn", State.fail: "FAIL"}


def run_doctor(printer: Printer, checks: Mapping[str, Check], settings: Settings) -> int:
    """Run the checks and print what they found; the exit code is 1 when one failed."""
    findings = [*run_checks(checks, lambda name: printer.progress(f"checking {name}"))]
    failed = sum(finding.state is State.fail for finding in findings)
    if printer.json:
        printer.document(
            {
                "ok": not failed,
                "checks": [asdict(finding) for finding in findings],
                "settings": _list_settings(settings),
            }
        )
    else:
        _print_settings(printer, settings)
        _print_findings(printer, findings)
    return FAILED if failed else 0


def _print_settings(printer: Printer, settings: Settings) -> None:
    """Print the settings that differ from their default, or all with `--verbose`."""
    rows = _list_settings(settings)
    if printer.verbose:
        cells = [(row["name"], row["value"], row["meaning"]) for row in rows]
        printer.table(("setting", "value", "meaning"), cells)
    else:
        rows = [row for row in rows if row["set"]]
        if not rows:
            return
        printer.table(("setting", "value"), [(row["name"], row["value"]) for row in rows])
    printer.line("")


def _list_settings(settings: Settings) -> list[dict[str, object]]:
    """Return every setting: its value, with secrets hidden, and whether it differs from the
    default.
    """
    return [
        {
            "name": facts.name,
            "value": facts.format_value(value),
            "meaning": facts.meaning,
            "set": value != facts.default,
        }
        for facts, value in settings.list_values()
    ]


def _print_findings(printer: Printer, findings: list[Finding]) -> None:
    cells = [(finding.name, _STATE_WORDS[finding.state], finding.found) for finding in findings]
    printer.table(("check", "", "found"), cells)
    remedies = [(finding.name, finding.mend) for finding in findings if finding.mend]
    if remedies:
        printer.line("")
        printer.table(("to fix", "do this"), remedies)
    failed = sum(finding.state is State.fail for finding in findings)
    warned = sum(finding.state is State.warn for finding in findings)
    if failed or warned:
        printer.note(f"{format_count(failed, 'failure')}, {format_count(warned, 'warning')}")
    else:
        printer.note("all is well")
    if not printer.verbose:
        printer.note("--verbose shows every setting with what it means")
