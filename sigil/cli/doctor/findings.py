"""A check and its finding: ok, a warning, or a failure with what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum

from sigil.errors import SigilError, one_line

FOUND_CHARACTERS, MEND_CHARACTERS = 400, 300


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

Watch = Callable[[str], AbstractContextManager[None]]


def _watch_nothing(name: str) -> AbstractContextManager[None]:
    return nullcontext()


def run_checks(checks: Mapping[str, Check], watch: Watch = _watch_nothing) -> Iterator[Finding]:
    """Yield each check's finding as soon as it is there. `watch` is entered with a check's name
    while it runs.
    """
    for name, check in checks.items():
        with watch(name):
            found = _run_check(name, check)
        yield found


def _run_check(name: str, check: Check) -> Finding:
    try:
        return Finding(name, State.ok, one_line(check(), FOUND_CHARACTERS))
    except SigilError as problem:
        state = State.warn if isinstance(problem, DoctorWarning) else State.fail
        return Finding(
            name,
            state,
            one_line(problem.message, FOUND_CHARACTERS),
            one_line(problem.suggestion, MEND_CHARACTERS),
        )
    except Exception as problem:  # noqa: BLE001  entry point: a doctor says what is wrong, whatever it is, and looks at the rest
        return Finding(
            name,
            State.fail,
            one_line(f"{type(problem).__name__}: {problem}", FOUND_CHARACTERS),
            "see what stands there",
        )
