"""What is written of a call, whoever made it: whether its version may run at all, that it was used,
how it ended.
"""

from __future__ import annotations

import time
from contextlib import suppress

from sigil.catalog.audit import Audit
from sigil.catalog.catalog import Catalog
from sigil.catalog.health import CircuitBreaker, owner_of
from sigil.catalog.usage import UsageStatistics
from sigil.catalog.versions import VersionAdmin
from sigil.errors import BackendError, SigilError, UsageError
from sigil.run.host_calls.context import Begun, Part


class CallRecorder:
    """The books of a registry: breaker, statistics and audit. Once a call has begun, a store that
    is away does not fail it.
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

    def record_start(self, part: Part, caller: str = "") -> Begun:
        """A call for `caller` begins; `Refused` EDEGRADED while the version rests for it after
        failures of its own.
        """
        return Begun(part, self._breaker.admit(part, caller), time.perf_counter(), caller)

    def record_success(self, begun: Begun) -> None:
        """The call has an answer."""
        part = begun.part
        with suppress(BackendError):
            self._use(begun, failed=False)
            if self._breaker.record_success(part, begun.ticket, begun.caller):
                self._note("recovered", begun)

    def record_failure(self, begun: Begun, problem: SigilError, *, blamed: bool) -> None:
        """The call failed. `blamed`: by the part's own code; what failed in the machinery below is
        no use of it either.
        """
        with suppress(BackendError):
            if not isinstance(problem, BackendError):
                self._use(begun, failed=not isinstance(problem, UsageError))
            if not blamed:
                self._breaker.release_trial(begun.part, begun.ticket, begun.caller)
            elif self._breaker.record_failure(begun.part, problem, begun.ticket, begun.caller):
                self._degraded(begun, problem)

    def _use(self, begun: Begun, *, failed: bool) -> None:
        part, milliseconds = begun.part, (time.perf_counter() - begun.at) * 1000
        if self._statistics.record_call(
            part.namespace, part.name, milliseconds, failed=failed, version=part.version
        ):
            self._catalog.reactivate(part.namespace, part.name)

    def _degraded(self, begun: Begun, problem: SigilError) -> None:
        """The version's own namespace alone, and nobody else's inputs, decides which of its
        versions runs.
        """
        self._note("degraded", begun, code=problem.code)
        if begun.part.manifest.on_degraded == "rollback" and begun.caller in (
            "",
            owner_of(begun.part),
        ):
            self._versions.fall_back(begun.part)

    def _note(self, action: str, begun: Begun, code: str | None = None) -> None:
        part = begun.part
        whose = None if begun.caller in ("", owner_of(part)) else begun.caller
        facts = {
            "code": code,
            "name": part.name,
            "version": part.version,
            "digest": part.digest,
            "on_behalf_of": whose,
        }
        self._audit.note(part.namespace, action, caller=None, **facts)
