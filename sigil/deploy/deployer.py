"""A deploy: what stands already, whose name it is, whether there is room, and only then what is
stored.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Literal

from sigil.catalog import public
from sigil.catalog.audit import Audit
from sigil.catalog.catalog import Catalog, Head, Record
from sigil.catalog.deployments import Deployment, Pins, pinned_digest
from sigil.catalog.heads import Activation
from sigil.catalog.owner import OWN_TOKENS
from sigil.catalog.quotas import RoomClaim, RoomCount, RoomKeeper, claim_of
from sigil.compile.compiler import BuiltModule, build
from sigil.deploy import golden_tests
from sigil.deploy.cooldown import Cooldown
from sigil.errors import Conflict, Refused, SigilError, UsageError
from sigil.manifest import permissions
from sigil.manifest.languages import HOST
from sigil.manifest.model import Manifest
from sigil.manifest.package import Package
from sigil.manifest.permission_rules import CallRule, parse_call_rule
from sigil.manifest.permissions import requested_permissions
from sigil.protocol import LIBRARY, Caller, Ref
from sigil.run import dependencies
from sigil.run.host_calls.context import Runnable
from sigil.run.live_services import LiveServices
from sigil.run.older_callers import OlderCallers
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program, Rank
from sigil.sandbox.tenants import tenant_of
from sigil.storage.kv import KV, Read

RACES = 5
MODEL_AT_ONCE = 5
"""Deploys that a model may make one after the other in a chat; then each waits for its pause,
whatever token the agent has.
"""
Action = Literal["deploy", "import"]
_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class LinkedPackage:
    """A package with the versions that its calls mean where it is about to stand.

    `seen`: the catalog as it is read for this deploy, each item once.
    """

    package: Package
    pins: Pins
    seen: LiveServices

    @property
    def manifest(self) -> Manifest:
        return self.package.manifest

    @property
    def digest(self) -> str:
        """Return its digest, which covers manifest, code and everything that is called."""
        return pinned_digest(self.package.digest, self.pins)


@dataclass(frozen=True, slots=True)
class CheckedPackage:
    """A package that may be stored, with what was read for its checks: what its namespace holds,
    and the log of the namespace's changes.
    """

    linked: LinkedPackage
    built: BuiltModule
    count: RoomCount | None
    log: Read | None


class Deployer:
    """Brings packages into the catalog. `pause`: seconds between two deploys of one token."""

    def __init__(
        self,
        kv: KV,
        sandbox: Sandbox,
        live_services: LiveServices,
        clock: Callable[[], float] = time.time,
        *,
        room: RoomKeeper,
        pause: float,
        older_callers: OlderCallers,
    ) -> None:
        self._catalog = live_services.catalog
        self._older_callers = older_callers
        self._artifacts = live_services.artifacts
        self._live_services = live_services
        self._sandbox = sandbox
        self._clock = clock
        self._room = room
        self._audit = Audit(kv, clock)
        self._cooldown = Cooldown(kv, clock, pause)

    def link(
        self, package: Package, caller: Caller, planned: Mapping[str, str] = _NOTHING
    ) -> LinkedPackage:
        """The package with what its calls mean now. `planned`: the digests of what is about to
        stand beside it, by name.
        """
        permissions.require_valid_permissions(package.manifest)
        seen = self._live_services.snapshot()
        pins = dependencies.resolve_calls(package.manifest, caller.target, seen, planned)
        return LinkedPackage(package, pins, seen)

    def find_same(self, linked: LinkedPackage, caller: Caller) -> Record | None:
        """Return the record that runs under this very digest already, None when none does."""
        for namespace in caller.sees if caller.author == "model" else (caller.target,):
            record = linked.seen.catalog.load_active(namespace, linked.manifest.name)
            if record and self._is(record, linked):
                return record
        return None

    def deploy(self, linked: LinkedPackage, caller: Caller) -> tuple[Record, int]:
        """Check, test and activate; the record and how many of its tests passed. Nothing is stored
        unless all of it holds.
        """
        manifest = linked.manifest
        log = self._record_older_callers(linked, caller)
        self._require_permitted(linked, caller)
        with self._turn(manifest.name, caller), _named(manifest.name):
            checked = self._built(linked, caller, log)
            program = _program(checked.built, manifest, self._clock())
            part = Runnable(caller.target, manifest, linked.digest, program, pins=linked.pins)
            dependencies.require_dependencies(part, linked.seen, later=caller.author == "library")
            bench = golden_tests.GoldenTestBench(
                self._sandbox, caller.target, linked.seen, tenant_of(caller), linked.pins
            )
            passed = 0
            if caller.author != "library":
                passed = golden_tests.require_passing_tests(bench, manifest, program)
            record, before = self._activate(checked, caller, "deploy")
            if before and _is_owner(caller) and self._is_own_doing(before, record, linked.seen):
                self._live_services.grant_store.carry_over(before, record, caller)
            return record, passed

    def deploy_untested(self, linked: LinkedPackage, caller: Caller) -> Record:
        """Check and activate what somebody else made and tested: nothing of it runs, and no grant
        is carried over to it.
        """
        # what it was linked with may have come with it since
        linked = replace(linked, seen=self._live_services.snapshot())
        self._require_permitted(linked, caller)
        with self._turn(linked.manifest.name, caller), _named(linked.manifest.name):
            checked = self._built(linked, caller, None)
            program = _program(checked.built, linked.manifest, self._clock())
            part = Runnable(
                caller.target, linked.manifest, linked.digest, program, pins=linked.pins
            )
            dependencies.require_dependencies(part, linked.seen, later=True)
            record, _ = self._activate(checked, caller, "import")
            return record

    def record_moved_calls(self, record: Record, moved: Record) -> None:
        """Record for `moved`, the same version in another namespace, what it calls; `Refused`
        EREQUIRES unless all of it is seen there.
        """
        part, there = (
            self._live_services.make_runnable(record),
            self._live_services.make_runnable(moved),
        )
        pins = self._live_services.load_pins(part)
        for call in pins:
            if self._calls(part, call) and not self._calls(replace(there, pins=pins), call):
                message = (
                    f"it calls {call}, and the version that it was deployed with stands in the chat"
                    " alone"
                )
                raise Refused(
                    "EREQUIRES",
                    message,
                    source=record.name,
                    suggestion=f"publish {parse_call_rule(call).name} first",
                )
        if pins:
            self._catalog.note_deployment(moved, Deployment(pins))

    def _calls(self, part: Runnable, call: str) -> bool:
        try:
            self._live_services.load_callee(part, call)
        except (UsageError, Refused):
            return False
        return True

    def _is(self, record: Record, linked: LinkedPackage) -> bool:
        """Return whether it is this very version. One of a release before 0.2.0 has a digest that
        does not cover what it calls.
        """
        if record.digest == linked.digest:
            return True
        older = bool(linked.pins) and record.digest == linked.package.digest
        return (
            older
            and self._live_services.load_pins(self._live_services.make_runnable(record))
            == linked.pins
        )

    def _record_older_callers(self, linked: LinkedPackage, caller: Caller) -> Read | None:
        """Record what those call to whom the name is about to mean something else; the log of the
        namespace's changes.
        """
        head = linked.seen.catalog.load_head(caller.target, linked.manifest.name)
        was_public = head is not None and head.record.manifest.public
        public = was_public or linked.manifest.public or caller.target == LIBRARY
        return self._older_callers.record_callers(caller.target, public=public)

    def _require_permitted(self, linked: LinkedPackage, caller: Caller) -> None:
        package = linked.package
        name = package.manifest.name
        if package.manifest.lang == HOST and caller.author != "library":
            message = "what runs inside an agent is a part of the program, and nobody deploys it"
            raise Refused(
                "EPERM",
                message,
                source=name,
                suggestion="write it in a language that the sandbox runs, such as js",
            )
        if package.manifest.permissions.mcp and caller.token:
            message = "what starts a program of this machine is added on this machine alone"
            raise Refused(
                "EPERM",
                message,
                source=name,
                suggestion="run `sigil mcp add -- COMMAND` there, or give the server's address",
            )
        _require_free_name(name, caller, linked.seen.catalog, caller.sees)
        if package.manifest.public:
            public.require_public_name(caller.target, name)
        if caller.author == "model":
            _require_modest(package.manifest)
        self._require_reach(package.manifest, caller, linked.seen)

    def _require_reach(self, manifest: Manifest, caller: Caller, seen: LiveServices) -> None:
        """What a token does not reach, what it deploys does not call either: it would run with
        powers that others were granted.
        """
        for text in permissions.declared_calls(manifest) if caller.only is not None else ():
            rule = parse_call_rule(text)
            namespace = rule.namespace or _namespace_called(rule, caller.target, seen)
            if not caller.reaches(namespace, rule.name):
                message = f"it calls {namespace}/{rule.name}, which this token is not about"
                raise Refused(
                    "EPERM",
                    message,
                    source=manifest.name,
                    suggestion="`sigil whoami` shows its scopes",
                )

    def _turn(self, name: str, caller: Caller) -> AbstractContextManager[None]:
        if caller.author == "model":
            return self._cooldown.take_turn(f"model:{caller.own}", name, MODEL_AT_ONCE)
        return (
            nullcontext()
            if caller.token in OWN_TOKENS
            else self._cooldown.take_turn(caller.token, name)
        )

    def _built(self, linked: LinkedPackage, caller: Caller, log: Read | None) -> CheckedPackage:
        package = linked.package
        built = build(package, self._sandbox.for_tenant(tenant_of(caller)))
        head = linked.seen.catalog.load_head(caller.target, package.manifest.name)
        claim = RoomClaim(
            package.manifest.name,
            _size(package, built) + (head.state.size if head else 0),
            package.manifest.lifetime == "ephemeral",
        )
        # before its tests run; whether there still is room is asked when it is stored
        return CheckedPackage(linked, built, self._room.require_room(caller.target, claim), log)

    def _is_own_doing(self, before: Record, record: Record, seen: LiveServices) -> bool:
        """Return whether all that is called now was called by `before` too, came with the program,
        or was deployed by an owner here.

        Else the new version may be what a model or a stranger made of it, and what an owner granted
        was not meant for that.
        """
        if not permissions.declared_calls(record.manifest):
            return True
        old = dependencies.list_reachable(seen.make_runnable(before), seen)
        new = dependencies.list_reachable(seen.make_runnable(record), seen)
        return all(
            digest in old or self._is_owners(part, record.namespace) for digest, part in new.items()
        )

    def _is_owners(self, part: Runnable, namespace: str) -> bool:
        deployment = self._catalog.deployments.read(part.namespace, part.name, part.digest)
        return part.namespace == LIBRARY or (
            part.namespace == namespace and deployment is not None and deployment.owner
        )

    def _activate(
        self, checked: CheckedPackage, caller: Caller, action: Action
    ) -> tuple[Record, Record | None]:
        """Store what was checked; its record, and the one that ran under the name before it."""
        linked, built = checked.linked, checked.built
        wasm = self._artifacts.put(built.wasm)
        source = self._artifacts.put(linked.package.code)
        name = linked.manifest.name
        number = 0
        catalog = linked.seen.catalog
        for tried in range(RACES):
            if tried:
                catalog = self._catalog.snapshot()
            # somebody may have taken the name while the tests ran; in the namespace itself the
            # write of the head finds that out
            elsewhere = (namespace for namespace in caller.sees if namespace != caller.target)
            _require_free_name(name, caller, self._catalog, elsewhere)
            _require_free_name(name, caller, catalog, (caller.target,))
            head = catalog.load_head(caller.target, name)
            known = self._known(catalog, head, linked, caller)
            again = known if known and known.expires_at is None else None
            number = max(number, head.latest if head else 0) + 1
            record = again or replace(
                self._record(linked, caller, number, built, (wasm, source)), store=self._store(head)
            )
            step = Activation(record.version, self._clock(), caller.author, action)
            try:
                if head and again:
                    self._stand_again(again, head, step, checked.count)
                else:
                    if (known is None or known.digest != linked.digest) and requested_permissions(
                        linked.manifest
                    ):
                        self._live_services.grant_store.forget_version(
                            record.namespace, name, record.digest
                        )
                    self._save(record, head, step, checked, owner=_vouches(caller, action))
            except Conflict:
                continue
            self._audit.note(
                caller.target,
                action,
                caller=caller,
                name=name,
                version=record.version,
                digest=record.digest,
            )
            return record, head.record if head and catalog.is_running(head) else None
        raise Conflict(f"{name} is being deployed by somebody else at this moment")

    def _save(
        self,
        record: Record,
        head: Head | None,
        step: Activation,
        checked: CheckedPackage,
        *,
        owner: bool,
    ) -> None:
        pins = checked.linked.pins
        with self._room.hold_room(record.namespace, claim_of(record, head), checked.count):
            if pins or owner:  # before the version is there, so that none is ever seen without
                self._catalog.note_deployment(record, Deployment(pins, owner))
            position = self._catalog.save_version(record, head, step, checked.log)
        self._older_callers.advance(record.namespace, checked.log, position)

    def _stand_again(
        self, record: Record, head: Head, step: Activation, count: RoomCount | None
    ) -> None:
        claim = RoomClaim(record.name, head.state.size, record.manifest.lifetime == "ephemeral")
        with self._room.hold_room(record.namespace, claim, count):
            self._catalog.save_head(record, head.state.activate(step).unyank(record.version), head)

    def _known(
        self, catalog: Catalog, head: Head | None, linked: LinkedPackage, caller: Caller
    ) -> Record | None:
        """The version of the name that has this very digest: it becomes active again unless it has
        an end, and no other number is given.
        """
        if head is None:
            return None
        known = None
        for digest in dict.fromkeys((linked.digest, linked.package.digest)):
            found = catalog.find_version(head, Ref(linked.manifest.name, digest=digest))
            if found and self._is(found, linked):
                known = found
                break
        if known and known.version in head.state.yanked and caller.author == "model":
            raise Refused(
                "EEXIST",
                "a person withdrew this very version",
                source=known.name,
                suggestion="change what was wrong with it, or choose another name",
            )
        return known

    def _store(self, head: Head | None) -> str:
        """Return where the capability's own store is: the next version goes on with what the one
        before it kept.
        """
        if head and not head.removed and self._catalog.is_alive(head.record):
            return head.record.store
        return ""

    def _record(
        self,
        linked: LinkedPackage,
        caller: Caller,
        number: int,
        built: BuiltModule,
        artifacts: tuple[str, str],
    ) -> Record:
        manifest, now = linked.manifest, self._clock()
        alive = manifest.seconds_to_live
        return Record(
            namespace=caller.target,
            name=manifest.name,
            version=number,
            digest=linked.digest,
            kind=built.kind,
            wasm=artifacts[0],
            source=artifacts[1],
            manifest=manifest,
            author=caller.author,
            session=caller.session,
            at=now,
            expires_at=now + alive if alive else None,
            size=_size(linked.package, built),
        )


def _is_owner(caller: Caller) -> bool:
    """Return whether an owner deploys, with their own hands."""
    return caller.owner and caller.author == "person"


def _vouches(caller: Caller, action: Action) -> bool:
    """Return whether an owner vouches for it. Who imports does not: whoever made the bundle wrote
    it.
    """
    return action == "deploy" and _is_owner(caller)


def _namespace_called(rule: CallRule, view: str, seen: LiveServices) -> str:
    """Return where a plain name is called: in the library when nobody has it in `view`, else in
    `view`, though it may not exist yet.
    """
    own = seen.catalog.load_head(view, rule.name)
    found = None if own and not own.removed else seen.find_version(rule, view)
    return found.namespace if found else view


def _require_free_name(
    name: str, caller: Caller, catalog: Catalog, namespaces: Iterable[str]
) -> None:
    """`Refused` EEXIST for a model when the library, a person or another session's model has
    deployed the name in one of `namespaces`.
    """
    for namespace in namespaces if caller.author == "model" else ():
        record = catalog.load_holder(namespace, name)
        if record is None:
            continue
        is_theirs = (record.namespace, record.author, record.session) == (
            caller.target,
            "model",
            caller.session,
        )
        if not is_theirs:
            owners = {"library": "the standard library", "person": "a person"}
            raise Refused(
                "EEXIST",
                f"{name} belongs to {owners.get(record.author, 'another chat')}",
                source=name,
                suggestion="find it with sigil_query and use it as it is, or choose another name",
            )


def _size(package: Package, built: BuiltModule) -> int:
    return len(built.wasm) + (0 if built.wasm == package.code else len(package.code))


def _program(built: BuiltModule, manifest: Manifest, now: float) -> Program:
    alive = manifest.seconds_to_live
    return Program(
        built.digest,
        built.kind,
        lambda: built.wasm,
        Rank[manifest.lifetime.upper()],
        now + alive if alive else None,
    )


def _require_modest(manifest: Manifest) -> None:
    """Raise `Refused` EPERM for what a model does not do by itself."""
    if manifest.lang != "js":
        suggestion = "write it in JavaScript, or let a person deploy it"
        raise Refused(
            "EPERM",
            "an agent deploys JavaScript alone",
            source=manifest.name,
            suggestion=suggestion,
        )
    if manifest.public:
        raise Refused(
            "EPERM",
            "an agent makes nothing public",
            source=manifest.name,
            suggestion="leave public out; a person may deploy it so",
        )


@contextmanager
def _named(name: str) -> Iterator[None]:
    """A failure inside that names no source is the capability's."""
    try:
        yield
    except SigilError as problem:
        problem.source = problem.source or name
        raise
