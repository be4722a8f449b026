"""The recorder of calls: whether a version may run at all, that it was used, and how it ended."""

from __future__ import annotations

import time
from contextlib import suppress

from sigil.catalog.audit import Audit
from sigil.catalog.catalog import Catalog
from sigil.catalog.health import CircuitBreaker, owner_of
from sigil.catalog.usage import UsageStatistics
from sigil.catalog.versions import VersionAdmin
from sigil.errors import BackendError, SigilError, UsageError
from sigil.run.host_calls.context import Runnable, StartedCall


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

    def record_start(self, capability: Runnable, caller: str = "") -> StartedCall:
        """Record that a call on behalf of `caller` begins.

        Raises `Refused` EDEGRADED while the version rests for it after failures of its own.
        """
        ticket = self._breaker.admit(capability, caller)
        return StartedCall(capability, ticket, time.perf_counter(), caller)

    def record_success(self, call: StartedCall) -> None:
        """Record that the call has an answer."""
        with suppress(BackendError):
            self._record_use(call, failed=False)
            if self._breaker.record_success(call.capability, call.ticket, call.caller):
                self._audit_change("recovered", call)

    def record_failure(self, call: StartedCall, problem: SigilError, *, blamed: bool) -> None:
        """Record that the call failed; `blamed` says that the capability's own code did.

        A failure of the machinery below is no use of the capability either.
        """
        with suppress(BackendError):
            if not isinstance(problem, BackendError):
                self._record_use(call, failed=not isinstance(problem, UsageError))
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

    def _record_use(self, call: StartedCall, *, failed: bool) -> None:
        capability = call.capability
        milliseconds = (time.perf_counter() - call.at) * 1000
        if self._statistics.record_call(
            capability.namespace,
            capability.name,
            milliseconds,
            failed=failed,
            version=capability.version,
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
