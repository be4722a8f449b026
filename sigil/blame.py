"""Whose failure it is when capabilities call each other: that of the one whose code failed, and of nobody that let it through."""

from __future__ import annotations

from dataclasses import dataclass, field

from sigil.errors import BackendError, Refused, SigilError, ToolError, one_line
from sigil.protocol import Json
from sigil.sandbox.program import Services
from sigil.services.part import Part

_LATE = "no time is left for"
"""How the sandbox refuses a request that comes after the end of a run's time."""


class Passed(ToolError):
    """A failure of a call within a call, as the caller's code is told it. `blame`: whose it is, None for nobody's."""

    def __init__(self, problem: SigilError, message: str, blame: Part | None) -> None:
        super().__init__(problem.code, one_line(message), suggestion=problem.suggestion, retry_after=problem.retry_after)
        self.blame = blame
        self.rests = isinstance(problem, Refused) and problem.code == "EDEGRADED"


@dataclass(slots=True)
class Link:
    """One call in a path of calls. `allowed`: milliseconds that it may take; `late`: who is to blame when they are over.

    `told`: what its services failed with, which its code may let through. `blame`: whose failure it was, once it failed.
    """

    part: Part
    allowed: float
    late: Part
    told: list[SigilError] = field(default_factory=list)
    blame: Part | None = None

    def to(self, callee: Part, left: float) -> Link:
        """The link to a callee when `left` milliseconds are left."""
        limit = callee.manifest.limits.timeout_ms
        return Link(callee, min(limit, left), self.late if _is_short(left, limit) else callee)

    def lose(self, milliseconds: float, blame: Part | None) -> None:
        """A failed call took so much of its time."""
        self.allowed -= milliseconds
        if blame not in (None, self.part) and _is_short(self.allowed, self.part.manifest.limits.timeout_ms):
            self.late = blame

    def judged(self, problem: SigilError) -> SigilError:
        """The failure as it is told: one that was let through keeps what helps against it. Sets `blame`."""
        through = next((told for told in self.told if _is(told, problem)), None)
        self.blame = self._blamed(problem, through)
        if isinstance(through, Passed):
            return _let_through(problem, through)
        return problem

    def _blamed(self, problem: SigilError, through: SigilError | None) -> Part | None:
        if isinstance(problem, BackendError) or isinstance(through, BackendError):
            return None
        if isinstance(through, Passed):
            return through.blame
        return self.late if problem.code == "ETIMEDOUT" or problem.message.startswith(_LATE) else self.part


class Listening:
    """The services of a link's run, which it remembers the failures of."""

    def __init__(self, services: Services, link: Link) -> None:
        self._services = services
        self._link = link

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        """See `Services.answer`."""
        try:
            return self._services.answer(operation, argument, seconds)
        except SigilError as problem:
            self._link.told.append(problem)
            raise


def _is(told: SigilError, problem: SigilError) -> bool:
    """Whether a run failed with what it was told. Codes that no guest may claim have become EGUEST."""
    return problem.code in (told.code, "EGUEST") and problem.message == one_line(told.message)


def _let_through(problem: SigilError, through: Passed) -> SigilError:
    known = Refused(problem.code, problem.message) if through.rests else problem
    known.suggestion, known.retry_after, known.logs = through.suggestion, through.retry_after, problem.logs
    return known


def _is_short(left: float, limit: float) -> bool:
    """Whether what is left is less than half of what a capability asks for: whoever took the rest is to blame when it is over."""
    return left * 2 < limit
