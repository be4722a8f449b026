"""Exit codes: one table from failures to numbers."""

from __future__ import annotations

from sigil.errors import BackendError, Conflict, Halt, Refused, SigilError, ToolError, UsageError

FAILED, USAGE, NOT_FOUND, AUTH, REFUSED, CONFLICT, UNAVAILABLE, TESTS_FAILED, INTERRUPTED = 1, 2, 3, 4, 5, 6, 7, 8, 130

_TABLE: tuple[tuple[type[SigilError], str, int], ...] = (
    (Conflict, "", CONFLICT),
    (ToolError, "", FAILED),
    (UsageError, "ENOENT", NOT_FOUND),
    (UsageError, "", USAGE),
    (Refused, "EAUTH", AUTH),
    (Refused, "EEXIST", CONFLICT),
    (Refused, "ETESTS", TESTS_FAILED),
    (Refused, "", REFUSED),
    (Halt, "", REFUSED),
    (BackendError, "", UNAVAILABLE),
)


def exit_code(problem: SigilError) -> int:
    """The number that the command ends with."""
    codes = (number for kind, code, number in _TABLE if isinstance(problem, kind) and code in ("", problem.code))
    return next(codes, FAILED)
