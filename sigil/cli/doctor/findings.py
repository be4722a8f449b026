"""A check and what it finds: ok, a warning, or a failure with the way to mend it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from enum import StrEnum

from sigil.errors import SigilError, one_line

FOUND_CHARACTERS, MEND_CHARACTERS = 400, 300


class State(StrEnum):
    """How it stands: a warning works today, a failure does not."""

    ok = "ok"
    warn = "warn"
    fail = "fail"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at; `mend` says what to do, empty when all is well."""

    name: str
    state: State
    found: str
    mend: str = ""


class Unwise(SigilError):
    """It works, and should be changed all the same."""

    def __init__(self, message: str, *, suggestion: str = "") -> None:
        super().__init__("EUNWISE", message, suggestion=suggestion)


Check = Callable[[], str]
"""Says what it found when all is well; raises `Unwise`, or any other `SigilError`, with what helps
as its suggestion.
"""

Watch = Callable[[str], AbstractContextManager[None]]


def _nobody(name: str) -> AbstractContextManager[None]:
    return nullcontext()


def examine(checks: Mapping[str, Check], watch: Watch = _nobody) -> Iterator[Finding]:
    """What each check finds, as soon as it does. `watch` is entered with a check's name while it is
    at work.
    """
    for name, check in checks.items():
        with watch(name):
            found = _look(name, check)
        yield found


def _look(name: str, check: Check) -> Finding:
    try:
        return Finding(name, State.ok, one_line(check(), FOUND_CHARACTERS))
    except SigilError as problem:
        state = State.warn if isinstance(problem, Unwise) else State.fail
        return Finding(
            name,
            state,
            one_line(problem.message, FOUND_CHARACTERS),
            one_line(problem.suggestion, MEND_CHARACTERS),
        )
    except Exception as problem:  # noqa: BLE001  a door: a doctor says what is wrong, whatever it is, and looks at the rest
        return Finding(
            name,
            State.fail,
            one_line(f"{type(problem).__name__}: {problem}", FOUND_CHARACTERS),
            "see what stands there",
        )
