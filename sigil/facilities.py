"""What the services of a run stand on in earnest: the store, the secrets, the network, the other capabilities."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from sigil.artifacts import Artifacts
from sigil.catalog import Catalog, Record
from sigil.grants import Grantbook
from sigil.kv import KV
from sigil.protocol import Caller, Ref
from sigil.public import Publics
from sigil.sandbox.program import Program
from sigil.sandbox.shelf import Rank
from sigil.secretbook import Secretbook
from sigil.services.hop import Web
from sigil.services.part import Part
from sigil.services.rules import CallRule
from sigil.services.store import Store

__all__ = ["Standing", "Way", "Web", "to_the_web", "viewed"]


class Way:
    """The way to the network: opened when the first request needs it, once."""

    def __init__(self, open_web: Callable[[], Web]) -> None:
        self._open = open_web
        self._web: Web | None = None
        self._lock = threading.Lock()

    def __call__(self) -> Web:
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
class Standing:
    """The `Facilities` of a registry."""

    kv: KV
    catalog: Catalog
    artifacts: Artifacts
    grantbook: Grantbook
    secretbook: Secretbook
    way: Way
    clock: Callable[[], float] = time.time

    def web(self) -> Web:
        return self.way()

    def store(self, part: Part, home: str) -> Store:
        life = None if part.expires_at is None or self._lasts(part) else max(part.expires_at - self.clock(), 1.0)
        owner = (part.store, part.store, part.name) if part.store else (home, *part.identity)
        return Store(self.kv, owner, life, self.clock)

    def _lasts(self, part: Part) -> bool:
        """Whether a version of the name will be there when this one has ended: what they keep together stays."""
        head = self.catalog.head(part.namespace, part.name)
        return head is not None and any(record.expires_at is None for record in self.catalog.versions(head))

    def granted(self, part: Part, home: str) -> frozenset[str]:
        return self.grantbook.granted(part, home)

    def secret(self, namespace: str, name: str) -> str | None:
        return self.secretbook.value(namespace, name)

    def find(self, rule: CallRule, view: str, over: Part | None = None) -> Part | None:
        record = self._elsewhere(rule) if rule.namespace else None
        for namespace in () if rule.namespace else viewed(view).sees:
            if over and over.identity == (namespace, rule.name) and rule.digest in ("", over.digest):
                return over
            record = self._in(namespace, rule)
            if record:
                break
        return self.part(record) if record else None

    def part(self, record: Record) -> Part:
        """The record as a part of a run."""
        rank = Rank[record.manifest.lifetime.upper()]
        program = Program(record.wasm, record.kind, lambda: self.artifacts.get(record.wasm), rank, record.expires_at)
        return Part(record.namespace, record.manifest, record.digest, program, record.expires_at, record.version, record.store)

    def _elsewhere(self, rule: CallRule) -> Record | None:
        """Another namespace's, if it is public."""
        open = Publics(self.kv, self.clock).head(rule.namespace, rule.name)  # the name itself must be public, not only an old version
        record = self._in(rule.namespace, rule) if open else None
        return record if record and record.manifest.public else None

    def _in(self, namespace: str, rule: CallRule) -> Record | None:
        if not rule.digest:
            return self.catalog.active(namespace, rule.name)
        record = self.catalog.find(Ref(rule.name, digest=rule.digest), Caller(namespace))
        return record if record and record.namespace == namespace else None


def to_the_web(*, loopback: bool = False) -> Web:
    """The network."""
    from sigil.services.line import open_line

    return open_line(loopback=loopback)


def viewed(namespace: str) -> Caller:
    """Somebody who sees what a capability of `namespace` sees, and whom it would not let see more."""
    agent, _, session = namespace.partition("~")
    return Caller(agent, session)
