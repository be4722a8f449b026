"""Exit codes of both commands: one table from failures to numbers."""

from __future__ import annotations

import traceback
from pathlib import Path

from sigil.errors import (
    BackendError,
    Conflict,
    Halt,
    Refused,
    SigilError,
    ToolError,
    UsageError,
    one_line,
)

FAILED = 1
USAGE = 2
NOT_FOUND = 3
AUTH = 4
REFUSED = 5
CONFLICT = 6
UNAVAILABLE = 7
TESTS_FAILED = 8
INTERRUPTED = 130

_TABLE: tuple[tuple[type[SigilError], str, int], ...] = (
    (Conflict, "", CONFLICT),
    (ToolError, "", FAILED),
    (UsageError, "ENOENT", NOT_FOUND),
    (UsageError, "", USAGE),
    (Refused, "EAUTH", AUTH),
    (Refused, "EEXIST", CONFLICT),
    (Refused, "ETESTS", TESTS_FAILED),
    (Refused, "EDEGRADED", UNAVAILABLE),
    (Refused, "", REFUSED),
    (Halt, "", REFUSED),
    (BackendError, "", UNAVAILABLE),
)


def exit_code(problem: SigilError) -> int:
    """Return the number that the command ends with."""
    for kind, code, number in _TABLE:
        if isinstance(problem, kind) and code in ("", problem.code):
            return number
    return FAILED


def describe_bug(problem: Exception, command: str) -> SigilError:
    """Return an unexpected exception as one line with the place where it happened.

    A module that is not there is no mistake of ours: the code is newer than what was installed.
    """
    if isinstance(problem, ModuleNotFoundError) and problem.name:
        return SigilError(
            "EINSTALL",
            one_line(f"the module {problem.name} is not installed, which this version needs"),
            suggestion="install again: `scripts/install` in a checkout, else"
            " `uncaged upgrade --to FILE.whl`",
        )
    frames = traceback.extract_tb(problem.__traceback__)
    place = "an unknown place"
    if frames:
        place = f"{Path(frames[-1].filename).name}:{frames[-1].lineno}"
    message = one_line(f"unexpected {type(problem).__name__} at {place}")
    return SigilError(
        "EBUG", message, suggestion=f"this is a mistake in {command}: please report it"
    )
