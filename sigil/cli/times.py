"""Times and counts as people read them, in one form everywhere. Programs get seconds since 1970."""

from __future__ import annotations

from datetime import UTC, datetime


def format_time(at: float | None) -> str:
    """Return `2026-11-22 07:45:18 UTC`; `never` for None, `unknown` for what no calendar has."""
    if at is None:
        return "never"
    try:
        return datetime.fromtimestamp(float(at), UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return "unknown"


def format_count(number: int, one: str) -> str:
    """Return `1 test`, `2 tests`, `3 capabilities`, `4 days`."""
    if number == 1:
        return f"1 {one}"
    many = f"{one}s"
    if one.endswith("y") and one[-2] not in "aeiou":
        many = f"{one[:-1]}ies"
    return f"{number:,} {many}"
