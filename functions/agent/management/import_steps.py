"""The steps of an import: each writes one thing, and says what became of it.

What cannot be written is refused, and the rest goes on. Once the store fails nothing more is tried:
it would fail as well, and the same import again writes what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from sigil.errors import BackendError, SigilError

NOT_TRIED: Final = "not tried after that"
StepState = Literal["written", "refused", "failed"]


@dataclass(frozen=True, slots=True)
class StepOutcome:
    """What became of a step. Of one that has `failed` a part may be written; `problem` is the
    failure of the store, None where it failed in a step before.
    """

    state: StepState
    detail: str = ""
    problem: BackendError | None = None


def take_steps(steps: Sequence[Callable[[], object]]) -> list[StepOutcome]:
    """Take the steps in their order, and return what became of each."""
    outcomes: list[StepOutcome] = []
    for step in steps:
        if outcomes and outcomes[-1].state == "failed":
            outcomes.append(StepOutcome("failed", NOT_TRIED))
            continue
        try:
            step()
        except BackendError as problem:
            outcomes.append(StepOutcome("failed", problem.message, problem))
        except SigilError as problem:
            outcomes.append(StepOutcome("refused", problem.message))
        else:
            outcomes.append(StepOutcome("written"))
    return outcomes


def find_problem(outcomes: Sequence[StepOutcome]) -> BackendError | None:
    """Return the failure of the store that ended the steps, None where there was none."""
    return next((each.problem for each in outcomes if each.problem), None)
