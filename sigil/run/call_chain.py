"""Whose failure it is when capabilities call each other: that of the one whose code failed, and of
nobody that let it through.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sigil.access.grants import home_of
from sigil.errors import BackendError, Refused, SigilError, ToolError, one_line
from sigil.protocol import LIBRARY, Caller, Json
from sigil.run.host_calls.context import Part
from sigil.sandbox.program import Services

_LATE = "no time is left for"
"""How the sandbox refuses a request that comes after the end of a run's time."""


class NestedFailure(ToolError):
    """A failure of a call within a call, as the caller's code is told it. `blame`: whose it is,
    None for nobody's.

    `kind`: what it is when it is let through. `host`: whether the machinery below had a part in it.
    """

    def __init__(
        self, problem: SigilError, message: str, blame: Part | None, *, host: bool = False
    ) -> None:
        super().__init__(
            problem.code,
            one_line(message),
            suggestion=problem.suggestion,
            retry_after=problem.retry_after,
        )
        self.blame = blame
        self.kind = _kind(problem)
        self.host = host or self.kind is BackendError


@dataclass(slots=True)
class CallLink:
    """One call in a path of calls. `allowed`: milliseconds that it may take; `late`: who is to
    blame when they are over.

    `home`: whose grants, secrets and stored keys it has, see `home_of`. `caller`: for whom it runs:
    the namespace of whoever began (of a chat with no owner in it the chat's, but for what is its
    own), and with `>` those of the capabilities that the calls went through. `told`: what its
    services failed with, which its code may let through. `blame`: whose failure it was, once it
    failed.
    """

    part: Part
    allowed: float
    late: Part
    home: str = ""
    caller: str = ""
    told: list[SigilError] = field(default_factory=list)
    blame: Part | None = None

    def to(self, callee: Part, left: float) -> CallLink:
        """The link to a callee when `left` milliseconds are left. A callee of the library has the
        home of the one that calls it.
        """
        limit = callee.manifest.limits.timeout_ms
        home = home_of(callee.namespace, Caller(_agent(self.home)))
        return CallLink(
            callee,
            min(limit, left),
            self.late if _is_short(left, limit) else callee,
            home,
            self._on_behalf(),
        )

    @property
    def troubled(self) -> bool:
        """Return whether its services told it of trouble that it has no part in: the machinery's,
        or a callee's that took too long.
        """
        return any(self._is_trouble(told) for told in self.told)

    def lose(self, milliseconds: float, blame: Part | None) -> None:
        """A failed call took so much of its time."""
        self.allowed -= milliseconds
        if blame not in (None, self.part) and _is_short(
            self.allowed, self.part.manifest.limits.timeout_ms
        ):
            self.late = blame

    def judge(self, problem: SigilError) -> SigilError:
        """The failure as it is told: one that was let through keeps what helps against it. Sets
        `blame`.
        """
        through = next((told for told in self.told if _is(told, problem)), None)
        self.blame = self._blamed(problem, through)
        return (
            _let_through(problem, through)
            if isinstance(through, NestedFailure | BackendError)
            else problem
        )

    def _blamed(self, problem: SigilError, through: SigilError | None) -> Part | None:
        if isinstance(problem, BackendError) or isinstance(through, BackendError):
            return None
        if isinstance(through, NestedFailure):
            return through.blame
        late = problem.code == "ETIMEDOUT" or problem.message.startswith(_LATE)
        guilty = self.late if late else self.part
        return None if guilty is self.part and self.troubled else guilty

    def _is_trouble(self, told: SigilError) -> bool:
        if isinstance(told, NestedFailure):
            return told.host or (told.code == "ETIMEDOUT" and told.blame is not self.part)
        return isinstance(told, BackendError)

    def _on_behalf(self) -> str:
        """For whom the callee runs: of what it is given, this capability's namespace has made
        something, though the caller began it.
        """
        agent = _agent(self.part.namespace)
        return (
            self.caller
            if agent in (LIBRARY, _agent(self.caller.rpartition(">")[2]))
            else f"{self.caller}>{agent}"
        )


def on_behalf_of(caller: Caller, part: Part) -> str:
    """Return whose call of `part` it is. What is done in a chat with no owner in it is not the
    agent's own doing, except to that chat's own.
    """
    own = caller.owner or not caller.session or part.namespace == caller.own
    return caller.namespace if own else caller.own


class FailureRecorder:
    """The services of a link's run, which it remembers the failures of."""

    def __init__(self, services: Services, link: CallLink) -> None:
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
    """Return whether a run failed with what it was told. Codes that no guest may claim have become
    EGUEST.
    """
    return problem.code in (told.code, "EGUEST") and problem.message == one_line(told.message)


def _let_through(problem: SigilError, through: SigilError) -> SigilError:
    """A failure with the code that was told, which no guest may claim, as what it is."""
    kind = through.kind if isinstance(through, NestedFailure) else BackendError
    known = kind(through.code, problem.message)
    known.suggestion, known.retry_after, known.logs = (
        through.suggestion,
        through.retry_after,
        problem.logs,
    )
    return known


def _kind(problem: SigilError) -> type[SigilError]:
    if isinstance(problem, BackendError):
        return BackendError
    return Refused if isinstance(problem, Refused) and problem.code == "EDEGRADED" else ToolError


def _agent(namespace: str) -> str:
    return namespace.partition("~")[0]


def _is_short(left: float, limit: float) -> bool:
    """Return whether what is left is less than half of what a capability asks for: whoever took the
    rest is to blame when it is over.
    """
    return left * 2 < limit
