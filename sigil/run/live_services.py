"""The services of a registry behind the host calls of a run.

They are its store, its secrets, the network, and the other capabilities.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from math import inf
from typing import TYPE_CHECKING, Literal

from sigil.access.grants import GrantStore
from sigil.access.secret_store import SecretStore
from sigil.catalog.catalog import Catalog, Record
from sigil.catalog.deployments import Deployment
from sigil.catalog.public import PublicCapabilities
from sigil.errors import Refused, UsageError
from sigil.manifest import permissions
from sigil.manifest.permission_rules import CallRule, SecretRule, parse_call_rule
from sigil.network.exchange import WebTransport
from sigil.network.searxng import SearxngTransport
from sigil.protocol import LIBRARY, Caller, KeptFile, Ref, caller_within
from sigil.run import dependencies
from sigil.run.host_calls.context import Runnable
from sigil.run.host_calls.kv_service import KvService
from sigil.run.host_calls.web_requests import REQUESTS_PER_DAY, WebRequestCounter
from sigil.run.mcp_client.sign_ins import Renewals, SignIns
from sigil.sandbox.program import Program, Rank
from sigil.storage.artifacts import Artifacts
from sigil.storage.kept_files import FileContent, KeptFiles
from sigil.storage.kv import KV

if TYPE_CHECKING:
    from sigil.rows import PinRow

__all__ = ["LazyNetwork", "LiveServices", "WebTransport", "open_network"]

DIGEST_SHOWN = 19
"""Characters of a digest that tell one version from another in a message."""


class LazyNetwork:
    """The network, opened once, when the first request needs it."""

    def __init__(self, open_web: Callable[[], WebTransport]) -> None:
        self._open = open_web
        self._web: WebTransport | None = None
        self._lock = threading.Lock()

    def __call__(self) -> WebTransport:
        with self._lock:
            if self._web is None:
                self._web = self._open()
            return self._web

    def close(self) -> None:
        """Close every connection; the next request opens the network again."""
        with self._lock:
            web = self._web
            self._web = None
        if web:
            web.close()


@dataclass(frozen=True, slots=True)
class LiveServices:
    """The `HostServices` of a registry."""

    kv: KV
    catalog: Catalog
    artifacts: Artifacts
    grant_store: GrantStore
    secret_store: SecretStore
    network: LazyNetwork
    clock: Callable[[], float] = time.time
    web_requests_per_day: int = REQUESTS_PER_DAY
    renewals: Renewals = field(default_factory=Renewals)

    def snapshot(self) -> LiveServices:
        """Return the same services for one task, which reads no item of the catalog twice.

        See `SnapshotKV`.
        """
        catalog = self.catalog.snapshot()
        return replace(self, kv=catalog.kv, catalog=catalog)

    def open_web(self) -> WebTransport:
        return self.network()

    def count_web_request(self, agent: str) -> None:
        WebRequestCounter(self.kv, self.clock, self.web_requests_per_day).count(agent)

    def open_store(self, capability: Runnable, home: str) -> KvService:
        owner = (home, *capability.identity)
        if capability.store:
            owner = (capability.store, capability.store, capability.name)
        life = None
        if capability.expires_at is not None:
            life = max(capability.expires_at - self.clock(), 1.0)
            head = self.catalog.load_head(capability.namespace, capability.name)
            for record in self.catalog.list_versions(head) if head else ():
                if record.expires_at is None:  # what the versions share stays with this one
                    life = None
        return KvService(self.kv, owner, life, self.clock)

    def list_granted(self, capability: Runnable, home: str) -> frozenset[str]:
        return self.grant_store.granted_permissions(capability, home)

    @property
    def sign_ins(self) -> SignIns:
        """The secrets as requests use them: access tokens are renewed."""
        return SignIns(self.secret_store, self.network, self.clock, self.renewals)

    def get_secret(
        self, namespace: str, name: str, rules: Iterable[SecretRule] = (), end: float = inf
    ) -> str | None:
        return self.sign_ins.read_value(namespace, name, rules, end)

    def replace_secret(self, namespace: str, name: str, rejected: str, end: float) -> str | None:
        return self.sign_ins.replace_rejected(namespace, name, rejected, end)

    @property
    def files(self) -> KeptFiles:
        return KeptFiles(self.kv, self.artifacts, self.clock)

    def keep_file(self, file: FileContent, caller: Caller) -> KeptFile:
        return self.files.keep(file, caller)

    def find_version(
        self, rule: CallRule, view: str, over: Runnable | None = None
    ) -> Runnable | None:
        if rule.namespace:
            # The name itself must be public, not only an old version of it.
            if not PublicCapabilities(self.kv, self.clock).load_head(rule.namespace, rule.name):
                return None
            record = self._find_record(rule.namespace, rule)
            return self.make_runnable(record) if record and record.manifest.public else None
        for namespace in caller_within(view).sees:
            is_over = over and over.identity == (namespace, rule.name)
            if over and is_over and rule.digest in ("", over.digest):
                return over
            record = self._find_record(namespace, rule)
            if record:
                return self.make_runnable(record)
        return None

    def _find_record(self, namespace: str, rule: CallRule) -> Record | None:
        if not rule.digest:
            return self.catalog.load_active(namespace, rule.name)
        record = self.catalog.find(Ref(rule.name, digest=rule.digest), Caller(namespace))
        return record if record and record.namespace == namespace else None

    def load_pins(self, capability: Runnable) -> Mapping[str, str]:
        if capability.pins is not None:
            return capability.pins
        if not permissions.declared_calls(capability.manifest):
            return {}
        deployment = self.catalog.deployments.read(
            capability.namespace, capability.name, capability.digest
        )
        return deployment.pins if deployment else self._record_older_pins(capability)

    def _record_older_pins(self, capability: Runnable) -> Mapping[str, str]:
        """Return what a version of a release before 0.2.0 calls, and record it.

        The first record counts for all. What came after the version was granted something is left
        out, and then nothing is recorded, because the owner did not see it; a later grant or deploy
        ends that.
        """
        pins = dependencies.resolve_calls(capability.manifest, capability.namespace, self)
        granted = self.grant_store.granted_at(capability)
        if granted is not None:
            now = replace(capability, pins=pins)
            seen = {call: pins[call] for call in pins if self._was_active_at(now, call, granted)}
            if seen != pins:
                return seen
        record = self.catalog.find_digest(capability.namespace, capability.name, capability.digest)
        if record is None:
            return pins
        recorded = self.catalog.note_deployment(record, Deployment(pins)).pins
        for callee in self._list_callees(replace(capability, pins=recorded), recorded):
            self.load_pins(callee)  # what it calls in its turn is a part of what was granted
        return recorded

    def _was_active_at(self, capability: Runnable, call: str, granted: float) -> bool:
        """Return whether all that runs for this call was active at the time `granted`.

        The library is a part of the program, and counts as if it always was.
        """
        waiting = self._list_callees(capability, (call,))
        seen = {capability.digest}
        while waiting:
            callee = waiting.pop()
            if callee.digest in seen or callee.namespace == LIBRARY:
                continue
            seen.add(callee.digest)
            if self._find_activation(callee) > granted:
                return False
            deployment = self.catalog.deployments.read(callee.namespace, callee.name, callee.digest)
            calls: Mapping[str, str]
            if deployment:
                calls = deployment.pins
            else:
                calls = dependencies.resolve_calls(callee.manifest, callee.namespace, self)
            waiting += self._list_callees(replace(callee, pins=calls), calls)
        return True

    def _list_callees(self, capability: Runnable, calls: Iterable[str]) -> list[Runnable]:
        """Return those of the callees that exist."""
        callees = []
        for call in calls:
            with suppress(UsageError, Refused):
                callees.append(self.load_callee(capability, call))
        return callees

    def _find_activation(self, capability: Runnable) -> float:
        """Return when a version became active: it was deployed, or its name came back to it."""
        head = self.catalog.load_head(capability.namespace, capability.name)
        record = self.catalog.find_digest(capability.namespace, capability.name, capability.digest)
        since = record.at if record else 0.0
        for step in reversed(head.state.history if head else ()):
            if step.version == capability.version:
                return max(since, step.at)
        return since

    def load_callee(self, capability: Runnable, call: str) -> Runnable:
        rule = parse_call_rule(call)
        name = capability.name
        digest = self.load_pins(capability).get(call)
        if digest is None:
            hint = f"deploy {name} again, or `sigil grant {name}`"
            raise Refused(
                "EPERM",
                f"{rule.full_name}, or what it calls, is newer than what {name} was granted, so it"
                f" waits for an owner: {hint}",
                source=name,
                suggestion=hint,
            )
        if not digest:
            raise UsageError(
                "ENOENT",
                f"there is no {rule.full_name} for {name} to call: it was not there when {name} was"
                f" deployed. Deploy {name} again",
            )
        record, withdrawn = self._find_pinned(rule, digest, capability.namespace)
        if record and not withdrawn:
            return self.make_runnable(record)
        version = f"{rule.full_name}@{digest[:DIGEST_SHOWN]}…"
        if withdrawn:
            raise UsageError(
                "ENOENT",
                f"{version}, which {name} was deployed with, was withdrawn: deploy {name} again,"
                " or take that back",
            )
        raise UsageError(
            "ENOENT",
            f"there is no {version} any more, which {name} was deployed with: deploy {name} again",
        )

    def load_record_pins(self, record: Record) -> Mapping[str, str]:
        """Return what a version calls, see `load_pins`; recorded from now on."""
        return self.load_pins(self.make_runnable(record))

    def list_pin_rows(self, record: Record) -> list[PinRow]:
        """Return a row for each call of a version, with the state of what it calls.

        It is `ok`, `yanked`, `gone`, `absent` from the beginning, or `waiting` for an owner, who
        granted the version something before that came.
        """
        rows: list[PinRow] = []
        pins = self.load_record_pins(record)
        for call in permissions.declared_calls(record.manifest):
            digest = pins.get(call)
            found, withdrawn = None, False
            if digest:
                found, withdrawn = self._find_pinned(
                    parse_call_rule(call), digest, record.namespace
                )
            state: Literal["ok", "yanked", "gone", "absent", "waiting"]
            if withdrawn:
                state = "yanked"
            elif found:
                state = "ok"
            elif digest:
                state = "gone"
            elif digest is None:
                state = "waiting"
            else:
                state = "absent"
            rows.append(
                {
                    "call": call,
                    "namespace": found.namespace if found else None,
                    "version": found.version if found else None,
                    "digest": digest or None,
                    "state": state,
                }
            )
        return rows

    def _find_pinned(self, rule: CallRule, digest: str, view: str) -> tuple[Record | None, bool]:
        """Return the version with this digest that a capability of `view` may call.

        The second value says that it was withdrawn.
        """
        namespaces = caller_within(view).sees
        if rule.namespace:
            # The name itself must be public, not only an old version of it.
            public = PublicCapabilities(self.kv, self.clock).load_head(rule.namespace, rule.name)
            namespaces = (rule.namespace,) if public else ()
        withdrawn: Record | None = None
        for namespace in namespaces:
            head = self.catalog.load_head(namespace, rule.name)
            record = (
                self.catalog.find_version(head, Ref(rule.name, digest=digest)) if head else None
            )
            if head is None or record is None or (rule.namespace and not record.manifest.public):
                continue
            if record.version not in head.state.yanked:
                return record, False
            withdrawn = withdrawn or record
        return withdrawn, withdrawn is not None

    def make_runnable(self, record: Record) -> Runnable:
        """Return the capability of a record, ready to run."""
        program = Program(
            record.wasm,
            record.kind,
            lambda: self.artifacts.get(record.wasm),
            Rank[record.manifest.lifetime.upper()],
            record.expires_at,
        )
        return Runnable(
            record.namespace,
            record.manifest,
            record.digest,
            program,
            record.expires_at,
            record.version,
            record.store,
        )


def open_network(*, loopback: bool = False, searxng: str = "") -> WebTransport:
    """Open the network; `loopback` allows requests to this machine.

    `searxng` is the address of the server that answers for `SEARXNG_HOST`, empty for none.
    """
    from sigil.network.http_transport import open_transport, open_trusted_transport

    return SearxngTransport(open_transport(loopback=loopback), open_trusted_transport(), searxng)
