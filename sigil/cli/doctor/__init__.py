"""What a doctor looks at: one thing a check, each with what was found and how to mend it."""

from __future__ import annotations

from sigil.cli.doctor.findings import Check, Finding, State, Unwise, examine

__all__ = ["Check", "Finding", "State", "Unwise", "examine"]
