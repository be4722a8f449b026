"""The recorder of calls: whether a version may run at all, that it was used, and how it ended."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress

from sigil.catalog.audit import Audit
from sigil.catalog.catalog import Catalog
from sigil.catalog.health import CircuitBreaker, owner_of
from sigil.catalog.usage import UsageStatistics, note_run
from sigil.catalog.versions import VersionAdmin
from sigil.errors import BackendError, SigilError, UsageError
from sigil.run.host_calls.context import Runnable, StartedCall
from sigil.running_call import INTERRUPTED


class CallRecorder:
    """Records calls in a registry's circuit breaker, statistics and audit.

    Once a call has begun, a store that is away does not fail it.
    """

    def __init__(
        self,
        breaker: CircuitBreaker,
        statistics: UsageStatistics,
        catalog: Catalog,
        versions: VersionAdmin,
        audit: Audit,
    ) -> None:
        self._breaker = breaker
        self._statistics = statistics
        self._catalog = catalog
        self._versions = versions
        self._audit = audit

    def record_start(
        self, capability: Runnable, caller: str = "", session: str = ""
    ) -> StartedCall:
        """Record that a call on behalf of `caller` begins, in the chat `session` if it is not
        empty.

        Raises `Refused` EDEGRADED while the version rests for it after failures of its own.
        """
        ticket = self._breaker.admit(capability, caller)
        return StartedCall(capability, ticket, time.perf_counter(), caller, session)

    def record_success(
        self, call: StartedCall, input_bytes: int = 0, logs: Sequence[str] = ()
    ) -> None:
        """Record that the call has an answer, how large its input was, and what it logged."""
        with suppress(BackendError):
            self._record_use(call, "ok", input_bytes, logs, failed=False)
            if self._breaker.record_success(call.capability, call.ticket, call.caller):
                self._audit_change("recovered", call)

    def record_failure(
        self, call: StartedCall, problem: SigilError, *, blamed: bool, input_bytes: int = 0
    ) -> None:
        """Record that the call failed; `blamed` says that the capability's own code did.

        A failure of the machinery below is no use of the capability either, and a call that was
        cancelled is no failure.
        """
        with suppress(BackendError):
            if not isinstance(problem, BackendError):
                failed = not isinstance(problem, UsageError) and problem.code != INTERRUPTED
                self._record_use(call, problem.code, input_bytes, problem.logs, failed=failed)
            capability = call.capability
            if not blamed:
                self._breaker.release_trial(capability, call.ticket, call.caller)
            elif self._breaker.record_failure(capability, problem, call.ticket, call.caller):
                self._audit_change("degraded", call, code=problem.code)
                # Only calls of the version's own namespace decide which of its versions runs, not
                # the inputs of others.
                is_own = call.caller in ("", owner_of(capability))
                if is_own and capability.manifest.on_degraded == "rollback":
                    self._versions.fall_back(capability)

    def _record_use(
        self, call: StartedCall, code: str, input_bytes: int, logs: Sequence[str], *, failed: bool
    ) -> None:
        capability = call.capability
        milliseconds = (time.perf_counter() - call.at) * 1000
        if self._statistics.record_call(
            capability.namespace,
            capability.name,
            milliseconds,
            failed=failed,
            version=capability.version,
            run=note_run(
                capability.version,
                code,
                input_bytes=input_bytes,
                home=call.caller or owner_of(capability),
                session=call.session,
                logs=logs,
            ),
        ):
            self._catalog.reactivate(capability.namespace, capability.name)

    def _audit_change(self, action: str, call: StartedCall, code: str | None = None) -> None:
        capability = call.capability
        is_own = call.caller in ("", owner_of(capability))
        facts = {
            "code": code,
            "name": capability.name,
            "version": capability.version,
            "digest": capability.digest,
            "on_behalf_of": None if is_own else call.caller,
        }
        self._audit.note(capability.namespace, action, caller=None, **facts)
