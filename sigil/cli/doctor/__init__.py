"""The checks of `doctor`: each examines one thing, and returns what it found and its remedy."""

from __future__ import annotations

from sigil.cli.doctor.findings import Check, DoctorWarning, Finding, State, run_checks

__all__ = ["Check", "DoctorWarning", "Finding", "State", "run_checks"]
