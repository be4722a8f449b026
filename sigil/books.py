"""What is written of a call, whoever made it: whether its version may run at all, that it was used, how it ended."""

from __future__ import annotations

import time
from contextlib import suppress

from sigil.audit import Audit
from sigil.catalog import Catalog
from sigil.errors import BackendError, SigilError, UsageError
from sigil.health import Breaker
from sigil.services.part import Begun, Part
from sigil.statistics import Statistics
from sigil.versions import Versions


class Books:
    """The books of a registry: breaker, statistics and audit. Once a call has begun, a store that is away does not fail it."""

    def __init__(self, breaker: Breaker, statistics: Statistics, catalog: Catalog, versions: Versions, audit: Audit) -> None:
        self._breaker = breaker
        self._statistics = statistics
        self._catalog = catalog
        self._versions = versions
        self._audit = audit

    def begin(self, part: Part) -> Begun:
        """A call begins; `Refused` EDEGRADED while the version rests after failures of its own."""
        return Begun(part, self._breaker.admit(part), time.perf_counter())

    def well(self, begun: Begun) -> None:
        """The call has an answer."""
        part = begun.part
        with suppress(BackendError):
            self._use(begun, failed=False)
            if self._breaker.well(part, begun.ticket):
                self._audit.note(part.namespace, "recovered", name=part.name, version=part.version, digest=part.digest)

    def failed(self, begun: Begun, problem: SigilError, *, blamed: bool) -> None:
        """The call failed. `blamed`: by the part's own code; what failed in the machinery below is no use of it either."""
        with suppress(BackendError):
            if not isinstance(problem, BackendError):
                self._use(begun, failed=not isinstance(problem, UsageError))
            if not blamed:
                self._breaker.undecided(begun.part, begun.ticket)
            elif self._breaker.failed(begun.part, problem, begun.ticket):
                self._degraded(begun.part, problem)

    def _use(self, begun: Begun, *, failed: bool) -> None:
        part, milliseconds = begun.part, (time.perf_counter() - begun.at) * 1000
        if self._statistics.note(part.namespace, part.name, milliseconds, failed=failed, version=part.version):
            self._catalog.wake(part.namespace, part.name)

    def _degraded(self, part: Part, problem: SigilError) -> None:
        self._audit.note(part.namespace, "degraded", code=problem.code, name=part.name, version=part.version, digest=part.digest)
        if part.manifest.on_degraded == "rollback":
            self._versions.fall_back(part)
