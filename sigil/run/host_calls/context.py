"""One capability in a run, and what stands behind its services: the world, or a rehearsal of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sigil.manifest.model import Manifest
from sigil.manifest.permission_rules import CallRule
from sigil.network.exchange import WebTransport
from sigil.run.host_calls.kv_service import KvService
from sigil.sandbox.program import Program


@dataclass(frozen=True, slots=True)
class Part:
    """A version of a capability that is about to run. `expires_at`: seconds since the epoch, None
    for never.

    `version`: its number, 0 before it is deployed. `store`: the namespace in which its own store
    began, empty for its own. `pins`: the digests of what it calls, see `sigil.catalog.deployments`;
    None while they are in the store alone, or not decided yet.
    """

    namespace: str
    manifest: Manifest
    digest: str
    program: Program
    expires_at: float | None = None
    version: int = 0
    store: str = ""
    pins: Mapping[str, str] | None = None

    @property
    def name(self) -> str:
        return self.manifest.name

    @property
    def identity(self) -> tuple[str, str]:
        """What makes two parts the same capability, whatever their versions."""
        return self.namespace, self.name


@dataclass(frozen=True, slots=True)
class Begun:
    """A call that was let in.

    `ticket`: the breaker's, see `CircuitBreaker.admit`. `at`: seconds of the monotonic clock.

    `caller`: for whom, empty for its owner.
    """

    part: Part
    ticket: str = ""
    at: float = 0.0
    caller: str = ""


class Facilities(Protocol):
    """What services stand on. `home`: for whom a capability of the library runs."""

    def web(self) -> WebTransport:
        """The way to the network."""

    def store(self, part: Part, home: str) -> KvService:
        """The capability's own store."""

    def granted(self, part: Part, home: str) -> frozenset[str]:
        """Those of the permissions it asks for that it has."""

    def secret(self, namespace: str, name: str) -> str | None:
        """A secret's value, None when it is not set."""

    def find(self, rule: CallRule, view: str, over: Part | None = None) -> Part | None:
        """What `rule` means in the namespace `view`, where `over` is thought to stand already."""

    def pins(self, part: Part) -> Mapping[str, str]:
        """Which versions the calls of `part` mean: what was recorded when it was deployed, and
        before that what stands now.
        """

    def callee(self, part: Part, call: str) -> Part:
        """The version that a declared call of `part` means; `UsageError` ENOENT says why there is
        none, and what to do.
        """
