"""What the services of a run stand on in earnest: the store, the secrets, the network, the other
capabilities.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from sigil.access.grants import GrantStore
from sigil.access.secret_store import SecretStore
from sigil.catalog.catalog import Catalog, Record
from sigil.catalog.deployments import Deployment
from sigil.catalog.public import PublicCapabilities
from sigil.errors import Refused, UsageError
from sigil.manifest import permissions
from sigil.manifest.permission_rules import CallRule, parse_call_rule
from sigil.network.exchange import WebTransport
from sigil.protocol import LIBRARY, Caller, Ref, viewed
from sigil.run import dependencies
from sigil.run.host_calls.context import Part
from sigil.run.host_calls.kv_service import KvService
from sigil.sandbox.program import Program, Rank
from sigil.storage.artifacts import Artifacts
from sigil.storage.kv import KV

if TYPE_CHECKING:
    from sigil.rows import PinRow

__all__ = ["LazyNetwork", "LiveServices", "WebTransport", "to_the_web"]

DIGEST_SHOWN = 19
"""Characters of a digest that tell one version from another in a message."""


class LazyNetwork:
    """The way to the network: opened when the first request needs it, once."""

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
        """Close every connection; the next request opens it again."""
        with self._lock:
            web, self._web = self._web, None
        if web:
            web.close()


@dataclass(frozen=True, slots=True)
class LiveServices:
    """The `Facilities` of a registry."""

    kv: KV
    catalog: Catalog
    artifacts: Artifacts
    grant_store: GrantStore
    secret_store: SecretStore
    way: LazyNetwork
    clock: Callable[[], float] = time.time

    def snapshot(self) -> LiveServices:
        """Return the same services for the length of one task, which reads no item of the catalog
        twice: see `SnapshotKV`.
        """
        catalog = self.catalog.snapshot()
        return replace(self, kv=catalog.kv, catalog=catalog)

    def web(self) -> WebTransport:
        return self.way()

    def store(self, part: Part, home: str) -> KvService:
        life = (
            None
            if part.expires_at is None or self._lasts(part)
            else max(part.expires_at - self.clock(), 1.0)
        )
        owner = (part.store, part.store, part.name) if part.store else (home, *part.identity)
        return KvService(self.kv, owner, life, self.clock)

    def _lasts(self, part: Part) -> bool:
        """Return whether a version of the name will be there when this one has ended: what they
        keep together stays.
        """
        head = self.catalog.load_head(part.namespace, part.name)
        return head is not None and any(
            record.expires_at is None for record in self.catalog.list_versions(head)
        )

    def granted(self, part: Part, home: str) -> frozenset[str]:
        return self.grant_store.granted_permissions(part, home)

    def secret(self, namespace: str, name: str) -> str | None:
        return self.secret_store.read_value(namespace, name)

    def find(self, rule: CallRule, view: str, over: Part | None = None) -> Part | None:
        record = self._elsewhere(rule) if rule.namespace else None
        for namespace in () if rule.namespace else viewed(view).sees:
            if (
                over
                and over.identity == (namespace, rule.name)
                and rule.digest in ("", over.digest)
            ):
                return over
            record = self._in(namespace, rule)
            if record:
                break
        return self.part(record) if record else None

    def pins(self, part: Part) -> Mapping[str, str]:
        if part.pins is not None:
            return part.pins
        if not permissions.declared_calls(part.manifest):
            return {}
        recorded = self.catalog.deployments.read(part.namespace, part.name, part.digest)
        return recorded.pins if recorded else self._pin_older(part)

    def _pin_older(self, part: Part) -> Mapping[str, str]:
        """Return what a version of a release before 0.2.0 calls, recorded as it stands now.

        Whoever records it first does it for all. What began to stand after the version was granted
        something is left out, and then nothing is recorded: the owner did not see it. A grant or a
        deploy that comes after it ends that.
        """
        pins = dependencies.resolve(part.manifest, part.namespace, self)
        granted = self.grant_store.granted_at(part)
        if granted is not None:
            now = replace(part, pins=pins)
            seen = {call: pins[call] for call in pins if self._stood(now, call, granted)}
            if seen != pins:
                return seen
        record = self.catalog.find_digest(part.namespace, part.name, part.digest)
        if record is None:
            return pins
        recorded = self.catalog.note_deployment(record, Deployment(pins)).pins
        for callee in self._called(replace(part, pins=recorded), recorded):
            self.pins(callee)  # what it calls in its turn is a part of what was granted
        return recorded

    def _stood(self, part: Part, call: str, granted: float) -> bool:
        """Return whether all that runs for this call stood at the time `granted`.

        The library is a part of the program, and counts as if it always did.
        """
        waiting, seen = [*self._called(part, (call,))], {part.digest}
        while waiting:
            callee = waiting.pop()
            if callee.digest in seen or callee.namespace == LIBRARY:
                continue
            seen.add(callee.digest)
            if self._began(callee) > granted:
                return False
            recorded = self.catalog.deployments.read(callee.namespace, callee.name, callee.digest)
            calls: Mapping[str, str] = recorded.pins if recorded else {}
            if recorded is None:
                calls = dependencies.resolve(callee.manifest, callee.namespace, self)
            waiting += self._called(replace(callee, pins=calls), calls)
        return True

    def _called(self, part: Part, calls: Iterable[str]) -> Iterator[Part]:
        """Those of the callees that are there."""
        for call in calls:
            with suppress(UsageError, Refused):
                yield self.callee(part, call)

    def _began(self, part: Part) -> float:
        """Return when a version began to stand: it was deployed, or its name came back to it."""
        head = self.catalog.load_head(part.namespace, part.name)
        record = self.catalog.find_digest(part.namespace, part.name, part.digest)
        steps = head.state.history if head else ()
        begun = (step.at for step in reversed(steps) if step.version == part.version)
        return max(record.at if record else 0.0, next(begun, 0.0))

    def callee(self, part: Part, call: str) -> Part:
        rule, digest = parse_call_rule(call), self.pins(part).get(call)
        if digest is None:
            what = f"{rule.full_name}, or what it calls, is newer than what {part.name} was granted"
            hint = f"deploy {part.name} again, or `sigil grant {part.name}`"
            message = f"{what}, so it waits for an owner: {hint}"
            raise Refused("EPERM", message, source=part.name, suggestion=hint)
        if not digest:
            what = f"it was not there when {part.name} was deployed"
            raise UsageError(
                "ENOENT",
                f"there is no {rule.full_name} for {part.name} to call: {what}. Deploy {part.name}"
                " again",
            )
        record, withdrawn = self._recorded(rule, digest, part.namespace)
        if record and not withdrawn:
            return self.part(record)
        version, how = (
            f"{rule.full_name}@{digest[:DIGEST_SHOWN]}…",
            f"which {part.name} was deployed with",
        )
        if withdrawn:
            raise UsageError(
                "ENOENT",
                f"{version}, {how}, was withdrawn: deploy {part.name} again, or take that back",
            )
        raise UsageError(
            "ENOENT", f"there is no {version} any more, {how}: deploy {part.name} again"
        )

    def pins_of(self, record: Record) -> Mapping[str, str]:
        """Return what a version calls, see `pins`; recorded from now on."""
        return self.pins(self.part(record))

    def pin_rows(self, record: Record) -> list[PinRow]:
        """Return what a version calls, and how each of them stands.

        It is `ok`, `yanked`, `gone`, `absent` from the beginning, or `waiting` for an owner, who
        granted the version something before that came.
        """
        rows: list[PinRow] = []
        pins = self.pins_of(record)
        for call in permissions.declared_calls(record.manifest):
            digest = pins.get(call)
            found, withdrawn = (
                self._recorded(parse_call_rule(call), digest, record.namespace)
                if digest
                else (None, False)
            )
            state: Literal["ok", "yanked", "gone", "absent", "waiting"]
            if withdrawn:
                state = "yanked"
            elif found:
                state = "ok"
            elif digest:
                state = "gone"
            else:
                state = "waiting" if digest is None else "absent"
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

    def _recorded(self, rule: CallRule, digest: str, view: str) -> tuple[Record | None, bool]:
        """The version with this digest that a capability of `view` may call, and whether it was
        withdrawn.
        """
        withdrawn: Record | None = None
        places = viewed(view).sees
        if (
            rule.namespace
        ):  # another namespace's name must be public itself, not only an old version of it
            places = (
                (rule.namespace,)
                if PublicCapabilities(self.kv, self.clock).load_head(rule.namespace, rule.name)
                else ()
            )
        for namespace in places:
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

    def part(self, record: Record) -> Part:
        """The record as a part of a run."""
        rank = Rank[record.manifest.lifetime.upper()]
        program = Program(
            record.wasm,
            record.kind,
            lambda: self.artifacts.get(record.wasm),
            rank,
            record.expires_at,
        )
        return Part(
            record.namespace,
            record.manifest,
            record.digest,
            program,
            record.expires_at,
            record.version,
            record.store,
        )

    def _elsewhere(self, rule: CallRule) -> Record | None:
        """Another namespace's, if it is public."""
        open = PublicCapabilities(self.kv, self.clock).load_head(
            rule.namespace, rule.name
        )  # the name itself must be public, not only an old version
        record = self._in(rule.namespace, rule) if open else None
        return record if record and record.manifest.public else None

    def _in(self, namespace: str, rule: CallRule) -> Record | None:
        if not rule.digest:
            return self.catalog.load_active(namespace, rule.name)
        record = self.catalog.find(Ref(rule.name, digest=rule.digest), Caller(namespace))
        return record if record and record.namespace == namespace else None


def to_the_web(*, loopback: bool = False) -> WebTransport:
    """The network."""
    from sigil.network.http_transport import open_transport

    return open_transport(loopback=loopback)
