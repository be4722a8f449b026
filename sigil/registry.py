"""The registry in this process: query, inspect, deploy and run, and what its keepers need beside them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping

from sigil import execution, golden
from sigil.artifacts import Artifacts
from sigil.catalog import Catalog, Head, Record, absent
from sigil.compile import Built, build
from sigil.errors import Conflict, Refused, UsageError
from sigil.finder import Finder
from sigil.kv import KV
from sigil.manifest import Package, parse_flat
from sigil.permissions import waiting
from sigil.protocol import LIBRARY, Caller, Deployed, Found, Json, Ran, Ref, is_name
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program

QUERY_CHARACTERS = 2_000
QUERY_MOST = 50
RACES = 5


class LocalRegistry:
    """Sigil over a store and a sandbox."""

    def __init__(self, kv: KV, artifacts: Artifacts, sandbox: Sandbox, clock: Callable[[], float] = time.time) -> None:
        self._catalog = Catalog(kv, clock)
        self._artifacts = artifacts
        self._sandbox = sandbox
        self._clock = clock
        self._finder = Finder(self._catalog)

    def query(self, text: str, caller: Caller, *, limit: int = 3) -> Found:
        """See `Registry.query`. `limit` is at most 50, the text at most 2,000 characters."""
        return self._finder.find(text[:QUERY_CHARACTERS], caller, min(max(limit, 1), QUERY_MOST))

    def inspect(self, ref: str, caller: Caller) -> dict[str, Json]:
        """See `Registry.inspect`: manifest, version, digest, author, times, pending permissions and the source."""
        record = self._catalog.resolve(Ref.parse(ref), caller)
        return {**_row(record), **_detail(record), "source": self._source(record)}

    def deploy(self, spec: Mapping[str, Json], caller: Caller) -> Deployed:
        """See `Registry.deploy`. The same digest again is no second deploy."""
        return self.deploy_package(parse_flat(spec), caller)

    def deploy_package(self, package: Package, caller: Caller) -> Deployed:
        """Check, test and activate a package; nothing is stored unless all of it holds."""
        standing = self._standing(package, caller)
        if standing:
            return _deployed(standing, created=False, passed=len(standing.manifest.tests))
        self._may_name(package.manifest.name, caller)
        built = build(package, self._sandbox)
        passed = 0 if caller.author == "library" else golden.demand(self._sandbox, package.manifest, _program(built))
        return _deployed(self._activate(package, built, caller), created=True, passed=passed)

    def run(self, ref: str, arguments: Mapping[str, Json], caller: Caller) -> Ran:
        """See `Registry.run`."""
        record = self._catalog.resolve(Ref.parse(ref), caller)
        program = Program(record.wasm, record.kind, lambda: self._artifacts.get(record.wasm))
        outcome = execution.call(self._sandbox, record.manifest, program, arguments)
        return Ran(outcome.output, record.version, record.digest, outcome.duration_ms, outcome.cold, outcome.logs)

    def list(self, caller: Caller) -> Iterator[dict[str, Json]]:
        """One row for each name that the caller sees, nearest namespace first."""
        shown: set[str] = set()
        for namespace in caller.sees:
            for record in self._catalog.names(namespace):
                if record.name not in shown:
                    shown.add(record.name)
                    yield _row(record)

    def remove(self, name: str, caller: Caller) -> None:
        """Take a capability of the caller's own namespace away, resident or not."""
        if not is_name(name):
            raise UsageError("ENAME", "not a capability's name", source=name)
        head = self._catalog.head(caller.target, name)
        if head is None or head.removed:
            if self._catalog.active(LIBRARY, name):
                raise Refused(
                    "EPERM", "the standard library cannot be removed", source=name, suggestion="deploy your own under this name instead"
                )
            raise UsageError("ENOENT", "no such capability", source=name, suggestion="`sigil list` shows what there is")
        self._catalog.remove(head)

    def close(self) -> None:
        """End the sandbox's children."""
        self._sandbox.close()

    def _standing(self, package: Package, caller: Caller) -> Record | None:
        namespaces = caller.sees if caller.author == "model" else (caller.target,)
        found = (self._catalog.active(namespace, package.manifest.name) for namespace in namespaces)
        return next((record for record in found if record and record.digest == package.digest), None)

    def _may_name(self, name: str, caller: Caller) -> None:
        """A model's deploy never replaces what the library, a person or another session's model deployed."""
        if caller.author != "model":
            return
        for namespace in caller.sees:
            record = self._catalog.active(namespace, name)
            if record and not (record.namespace == caller.target and record.author == "model" and record.session == caller.session):
                owner = {"library": "the standard library", "person": "a person"}.get(record.author, "another chat")
                raise Refused("EEXIST", f"{name} belongs to {owner}", source=name, suggestion="use it as it is, or choose another name")

    def _activate(self, package: Package, built: Built, caller: Caller) -> Record:
        wasm, source = self._artifacts.put(built.wasm), self._artifacts.put(package.code)
        number = 0
        for _ in range(RACES):
            self._may_name(package.manifest.name, caller)  # again: somebody may have taken the name while the tests ran
            head = self._catalog.head(caller.target, package.manifest.name)
            number = max(number, _latest(head)) + 1
            record = self._record(package, caller, number, built.kind, (wasm, source))
            try:
                self._catalog.save(record, absent(head))
            except Conflict:
                standing = self._standing(package, caller)
                if standing:  # somebody else has just deployed the very same
                    return standing
                continue
            return record
        raise Conflict(f"{package.manifest.name} is being deployed by somebody else at this moment")

    def _record(self, package: Package, caller: Caller, number: int, kind: str, artifacts: tuple[str, str]) -> Record:
        manifest, now = package.manifest, self._clock()
        alive = manifest.seconds_to_live
        return Record(
            namespace=caller.target,
            name=manifest.name,
            version=number,
            digest=package.digest,
            kind="js" if kind == "js" else "sigil",
            wasm=artifacts[0],
            source=artifacts[1],
            manifest=manifest,
            author=caller.author,
            session=caller.session,
            at=now,
            expires_at=now + alive if alive else None,
        )

    def _source(self, record: Record) -> str | None:
        body = self._artifacts.get(record.source)
        return None if record.manifest.lang == "wasm" else body.decode("utf-8", "replace")


def _program(built: Built) -> Program:
    return Program(built.digest, built.kind, lambda: built.wasm)


def _latest(head: Head | None) -> int:
    return head.latest if head else 0


def _deployed(record: Record, *, created: bool, passed: int) -> Deployed:
    return Deployed(record.offer, created, passed, waiting(record.manifest), record.expires_at)


def _row(record: Record) -> dict[str, Json]:
    manifest = record.manifest
    return {
        "capability": record.name,
        "tool": record.offer.tool,
        "version": record.version,
        "digest": record.digest,
        "description": manifest.description,
        "namespace": record.namespace,
        "lifetime": manifest.lifetime,
        "tags": list(manifest.tags),
        "author": record.author,
        "at": record.at,
        "expires_at": record.expires_at,
    }


def _detail(record: Record) -> dict[str, Json]:
    manifest = record.manifest.model_dump(mode="json")
    return {
        "schema": manifest["input"],
        "pure": record.manifest.pure,
        "pending": list(waiting(record.manifest)),
        **{
            name: manifest[name]
            for name in ("lang", "aliases", "examples", "requires", "public", "idempotent", "permissions", "limits", "tests")
        },
        "wasm": f"sha256:{record.wasm}",
    }
