"""A capability that runs, and the services behind its host calls.

There are two implementations: `LiveServices` of a registry, and `TestServices` of a golden test.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from math import inf
from typing import Protocol

from sigil.manifest.model import Manifest
from sigil.manifest.permission_rules import CallRule, SecretRule
from sigil.network.exchange import WebTransport
from sigil.protocol import Caller, KeptFile
from sigil.run.host_calls.kv_service import KvService
from sigil.sandbox.program import Program
from sigil.storage.kept_files import FileContent


@dataclass(frozen=True, slots=True)
class Runnable:
    """A version of a capability that is about to run.

    `expires_at` is in seconds since 1970, None for never. `version` is its number, 0 before it is
    deployed. `store` is the namespace in which its own store began, empty for its own. `pins` are
    the digests of what it calls, see `sigil.catalog.deployments`; None while only the store has
    them, or they are not decided yet.
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
        """The namespace and the name, which all versions of a capability share."""
        return self.namespace, self.name


@dataclass(frozen=True, slots=True)
class StartedCall:
    """A call that was admitted.

    `ticket` is the circuit breaker's, see `CircuitBreaker.admit`. `at` is a time of the monotonic
    clock. `caller` is on whose behalf it runs, empty for the capability's owner, and `session` the
    chat in which it does, empty outside of chats.
    """

    capability: Runnable
    ticket: str = ""
    at: float = 0.0
    caller: str = ""
    session: str = ""


class HostServices(Protocol):
    """The store, secrets, network and other capabilities behind the host calls of a run.

    `home` is the namespace for which a capability of the library runs.
    """

    def open_web(self) -> WebTransport:
        """Return the network."""

    def count_web_request(self, agent: str) -> None:
        """Count a request that an agent's capability sends by `permissions.web`.

        Raises `Refused` ERATE when the agent has sent as many today as it may.
        """

    def open_store(self, capability: Runnable, home: str) -> KvService:
        """Return the capability's own store."""

    def list_granted(self, capability: Runnable, home: str) -> frozenset[str]:
        """Return those of the permissions it asks for that it was granted."""

    def get_secret(
        self, namespace: str, name: str, rules: Iterable[SecretRule] = (), end: float = inf
    ) -> str | None:
        """Return a secret's value, None when it is not set.

        An access token may have to be renewed first, until `end` (a time of the monotonic clock).
        Raises `Refused` EPERM when it must not go where the `rules` say that it may.
        """

    def replace_secret(self, namespace: str, name: str, rejected: str, end: float) -> str | None:
        """Return another value than the one that a server rejected, None when there is none.

        Raises `Refused` EPERM when the sign-in that gave it has ended.
        """

    def keep_file(self, file: FileContent, caller: Caller) -> KeptFile:
        """Keep a file for a caller."""

    def find_version(
        self, rule: CallRule, view: str, over: Runnable | None = None
    ) -> Runnable | None:
        """Return the version that `rule` means in the namespace `view`, None when there is none.

        `over` counts as deployed there already.
        """

    def load_pins(self, capability: Runnable) -> Mapping[str, str]:
        """Return the digest of the version that each of its calls means.

        They are those that were recorded when it was deployed, and before that the active ones.
        """

    def load_callee(self, capability: Runnable, call: str) -> Runnable:
        """Return the version that a declared call of the capability means.

        Raises `UsageError` ENOENT that says why there is none and what to do.
        """
