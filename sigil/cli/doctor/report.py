"""The report of `sigil doctor` and `uncaged doctor`: a line for each finding, what to do about it,
and the settings.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING

from sigil.cli.doctor import Check, Finding, State, run_checks
from sigil.cli.exit_codes import FAILED
from sigil.cli.printing import Printer
from sigil.cli.times import count_of

if TYPE_CHECKING:
    from sigil.settings import Settings


_SHOWN = {State.ok: "ok", State.warn: "warn", State.fail: "FAIL"}


def run_doctor(printer: Printer, checks: Mapping[str, Check], settings: Settings) -> int:
    """Run the checks and print what they found; the exit code is 1 when one failed."""
    findings = [*run_checks(checks, lambda name: printer.working(f"looking at {name}"))]
    well = all(found.state is not State.fail for found in findings)
    if printer.json:
        printer.document(
            {
                "ok": well,
                "checks": [asdict(found) for found in findings],
                "settings": _setting_rows(settings),
            }
        )
    else:
        _print_findings(printer, findings, settings)
    return 0 if well else FAILED


def _print_findings(printer: Printer, findings: list[Finding], settings: Settings) -> None:
    shown = [row for row in _setting_rows(settings) if printer.verbose or row["set"]]
    if shown:
        fields = ("name", "value", "meaning") if printer.verbose else ("name", "value")
        printer.table(("setting", *fields[1:]), [[row[field] for field in fields] for row in shown])
        printer.line("")
    printer.table(
        ("check", "", "found"),
        [(found.name, _SHOWN[found.state], found.found) for found in findings],
    )
    mending = [(found.name, found.mend) for found in findings if found.mend]
    if mending:
        printer.line("")
        printer.table(("to mend", "do this"), mending)
    failed, warned = (
        sum(found.state is state for found in findings) for state in (State.fail, State.warn)
    )
    printer.note(
        f"{count_of(failed, 'failure')}, {count_of(warned, 'warning')}"
        if failed or warned
        else "all is well"
    )
    if not printer.verbose:
        printer.note("--verbose shows every setting with what it means")


def _setting_rows(settings: Settings) -> list[dict[str, object]]:
    """Return every setting: its value, with secrets hidden, and whether it differs from the
    default.
    """
    from sigil.settings import described

    usual = {name: value for name, value, _ in described(type(settings)())}
    rows = described(settings)
    return [
        {"name": name, "value": value, "meaning": meaning, "set": value != usual[name]}
        for name, value, meaning in rows
    ]
