"""The checks of `doctor`: each looks at one thing, and says what it found and how to mend it."""

from __future__ import annotations

from sigil.cli.doctor.findings import Check, DoctorWarning, Finding, State, run_checks

__all__ = ["Check", "DoctorWarning", "Finding", "State", "run_checks"]
