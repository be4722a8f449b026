"""The checks of `doctor` and their findings: ok, a warning, or a failure with its remedy."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum

from sigil.errors import SigilError, one_line

FOUND_CHARACTERS = 400
REMEDY_CHARACTERS = 300


class State(StrEnum):
    """The state of a finding: a warning works today, a failure does not."""

    ok = "ok"
    warn = "warn"
    fail = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of one check; `mend` says what to do, and is empty when all is well."""

    name: str
    state: State
    found: str
    mend: str = ""


class DoctorWarning(SigilError):
    """A check's warning: it works, and should be changed all the same."""

    def __init__(self, message: str, *, suggestion: str = "") -> None:
        super().__init__("EUNWISE", message, suggestion=suggestion)


Check = Callable[[], str]
"""Returns what it found when all is well; raises `DoctorWarning`, or another `SigilError`, with the
remedy as its suggestion.
"""

ShowProgress = Callable[[str], AbstractContextManager[None]]
"""Returns a context manager that is entered while the check of this name runs."""


def run_checks(
    checks: Mapping[str, Check], show_progress: ShowProgress | None = None
) -> Iterator[Finding]:
    """Yield each check's finding as soon as it is there."""
    for name, check in checks.items():
        remedy = ""
        with show_progress(name) if show_progress else nullcontext():
            try:
                state = State.ok
                message = check()
            except SigilError as problem:
                state = State.warn if isinstance(problem, DoctorWarning) else State.fail
                message = problem.message
                remedy = problem.suggestion
            except Exception as problem:  # noqa: BLE001  entry point: a doctor reports whatever is wrong, and goes on
                state = State.fail
                message = f"{type(problem).__name__}: {problem}"
                remedy = "examine what it names, or report it"
        yield Finding(
            name, state, one_line(message, FOUND_CHARACTERS), one_line(remedy, REMEDY_CHARACTERS)
        )
