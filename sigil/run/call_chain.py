"""A chain of capabilities that call each other, and which of them is to blame for a failure.

It is the one whose own code failed; a capability that lets a callee's failure through is not.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sigil.access.grants import home_of
from sigil.errors import BackendError, Refused, SigilError, ToolError, one_line
from sigil.protocol import LIBRARY, Caller, Json
from sigil.run.host_calls.context import Runnable
from sigil.sandbox.program import Services

_LATE = "no time is left for"
"""The sandbox refuses with these words a request that comes after the end of a run's time."""


class NestedFailure(ToolError):
    """The failure of a call within a call, as the caller's code reads it.

    `blame` is the capability that failed, None for none of them. `kind` is the class that the
    failure has when it is let through. `host` says that the machinery below had a part in it.
    """

    def __init__(
        self, problem: SigilError, message: str, blame: Runnable | None, *, host: bool = False
    ) -> None:
        super().__init__(
            problem.code,
            one_line(message),
            suggestion=problem.suggestion,
            retry_after=problem.retry_after,
        )
        self.blame = blame
        self.kind: type[SigilError] = ToolError
        if isinstance(problem, BackendError):
            self.kind = BackendError
        elif isinstance(problem, Refused) and problem.code == "EDEGRADED":
            self.kind = Refused
        self.host = host or self.kind is BackendError


@dataclass(slots=True)
class CallLink:
    """One call in a chain of calls.

    `allowed` are the milliseconds that it may take, and `late` is to blame when they are over.
    `home` has its grants, secrets and stored keys, see `home_of`.

    `caller` is on whose behalf it runs: the namespace of the first caller (in a chat without an
    owner the chat's, but for what is its own), and after `>` those of the capabilities that the
    call went through.

    `failures` are those of its host calls, which its code may let through. `blame` is set once it
    has failed.
    """

    capability: Runnable
    allowed: float
    late: Runnable
    home: str = ""
    caller: str = ""
    failures: list[SigilError] = field(default_factory=list)
    blame: Runnable | None = None

    def link_callee(self, callee: Runnable, left: float) -> CallLink:
        """Return the link of a callee when `left` milliseconds are left.

        A callee of the library has the home of the one that calls it. The callee runs on behalf of
        this capability's namespace, too: of what the caller gave, that one has made something.
        """
        limit = callee.manifest.limits.timeout_ms
        caller = self.caller
        namespace = _agent_of(self.capability.namespace)
        if namespace not in (LIBRARY, _agent_of(caller.rpartition(">")[2])):
            caller = f"{caller}>{namespace}"
        return CallLink(
            callee,
            min(limit, left),
            self.late if _is_short(left, limit) else callee,
            home_of(callee.namespace, Caller(_agent_of(self.home))),
            caller,
        )

    @property
    def has_foreign_failure(self) -> bool:
        """Return whether a host call failed that it has no part in.

        It was the machinery's failure, or a callee's that took too long.
        """
        for failure in self.failures:
            if isinstance(failure, BackendError):
                return True
            if isinstance(failure, NestedFailure):
                if failure.host:
                    return True
                if failure.code == "ETIMEDOUT" and failure.blame is not self.capability:
                    return True
        return False

    def take_time(self, milliseconds: float, blame: Runnable | None) -> None:
        """Take the time of a failed call off what is allowed."""
        self.allowed -= milliseconds
        limit = self.capability.manifest.limits.timeout_ms
        if blame not in (None, self.capability) and _is_short(self.allowed, limit):
            self.late = blame

    def judge(self, problem: SigilError) -> SigilError:
        """Set `blame`, and return the failure as the caller reads it.

        A failure of a host call that the capability's code let through keeps the suggestion that
        helps against it.
        """
        through = None
        for failure in self.failures:
            # Codes that no guest may claim have become EGUEST.
            is_same_code = problem.code in (failure.code, "EGUEST")
            if is_same_code and problem.message == one_line(failure.message):
                through = failure
                break
        if isinstance(problem, BackendError) or isinstance(through, BackendError):
            self.blame = None
        elif isinstance(through, NestedFailure):
            self.blame = through.blame
        else:
            is_late = problem.code == "ETIMEDOUT" or problem.message.startswith(_LATE)
            self.blame = self.late if is_late else self.capability
            if self.blame is self.capability and self.has_foreign_failure:
                self.blame = None
        if not isinstance(through, NestedFailure | BackendError):
            return problem
        # No guest may claim such a code: the failure is what the host call failed with.
        kind = through.kind if isinstance(through, NestedFailure) else BackendError
        restored = kind(through.code, problem.message)
        restored.suggestion = through.suggestion
        restored.retry_after = through.retry_after
        restored.logs = problem.logs
        return restored


def on_behalf_of(caller: Caller, capability: Runnable) -> str:
    """Return the namespace on whose behalf `caller` calls the capability.

    What is done in a chat without an owner is not the agent's own doing, except to that chat's own
    capabilities.
    """
    own = caller.owner or not caller.session or capability.namespace == caller.own
    return caller.namespace if own else caller.own


class FailureRecorder:
    """The services of a link's run; the link remembers their failures."""

    def __init__(self, services: Services, link: CallLink) -> None:
        self._services = services
        self._link = link

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        """See `Services.answer`."""
        try:
            return self._services.answer(operation, argument, seconds)
        except SigilError as problem:
            self._link.failures.append(problem)
            raise


def _agent_of(namespace: str) -> str:
    return namespace.partition("~")[0]


def _is_short(left: float, limit: float) -> bool:
    """Return whether less is left than half of what a capability asks for.

    The call that took the rest is to blame when the time is over.
    """
    return left * 2 < limit
