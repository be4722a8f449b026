"""The deployer checks, tests and stores a package.

Nothing is stored before it is known that the name is free, that the quota allows it, and that the
tests pass.
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
from sigil.catalog.quotas import CountedClaims, QuotaClaim, QuotaReservations, claim_of
from sigil.compile.compiler import BuiltModule, build
from sigil.deploy import golden_tests
from sigil.deploy.cooldown import Cooldown
from sigil.errors import Conflict, Refused, SigilError, UsageError
from sigil.manifest import permissions
from sigil.manifest.languages import BUNDLE, HOST
from sigil.manifest.model import Manifest
from sigil.manifest.package import Package
from sigil.manifest.permission_rules import parse_call_rule
from sigil.manifest.permissions import requested_permissions
from sigil.protocol import LIBRARY, Caller, ExampleRun, Ref
from sigil.run import dependencies
from sigil.run.host_calls.context import Runnable
from sigil.run.live_services import LiveServices
from sigil.run.older_callers import OlderCallers
from sigil.sandbox.pool import Sandbox
from sigil.sandbox.program import Program, Rank
from sigil.sandbox.tenants import tenant_of
from sigil.storage.kv import KV, Read
from sigil.storage.kv.update import retry_conflicts

RACES = 5
MODEL_AT_ONCE = 5
"""Deploys that a model may make one after the other in a chat, whatever token the agent has.

Then each waits for its pause.
"""
Action = Literal["deploy", "import"]
_NOTHING: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class LinkedPackage:
    """A package with the versions that its calls mean where it is about to be stored.

    `view` is what it may see there, as it is read for this deploy: each item once.
    """

    package: Package
    pins: Pins
    view: LiveServices

    @property
    def manifest(self) -> Manifest:
        return self.package.manifest

    @property
    def digest(self) -> str:
        """The digest that covers manifest, code and everything that is called."""
        return pinned_digest(self.package.digest, self.pins)


@dataclass(frozen=True, slots=True)
class CheckedPackage:
    """A package that may be stored, with what was read for its checks.

    `count` is what its namespace holds, None where nothing is bounded; `log` is the log of the
    namespace's changes.
    """

    linked: LinkedPackage
    built: BuiltModule
    count: CountedClaims | None
    log: Read | None


class Deployer:
    """Brings packages into the catalog. `pause` is in seconds between two deploys of one token."""

    def __init__(
        self,
        kv: KV,
        sandbox: Sandbox,
        live_services: LiveServices,
        clock: Callable[[], float] = time.time,
        *,
        reservations: QuotaReservations,
        pause: float,
        older_callers: OlderCallers,
    ) -> None:
        self._catalog = live_services.catalog
        self._older_callers = older_callers
        self._artifacts = live_services.artifacts
        self._live_services = live_services
        self._sandbox = sandbox
        self._clock = clock
        self._reservations = reservations
        self._audit = Audit(kv, clock)
        self._cooldown = Cooldown(kv, clock, pause)

    def link(
        self, package: Package, caller: Caller, planned: Mapping[str, str] = _NOTHING
    ) -> LinkedPackage:
        """Return the package with the versions that its calls mean now.

        `planned` holds the digests of what is about to be stored beside it, by name.
        """
        permissions.require_valid_permissions(package.manifest)
        view = self._live_services.snapshot()
        pins = dependencies.resolve_calls(package.manifest, caller.target, view, planned)
        return LinkedPackage(package, pins, view)

    def find_same(self, linked: LinkedPackage, caller: Caller) -> Record | None:
        """Return the record that runs under this very digest already, None when none does."""
        for namespace in caller.sees if caller.author == "model" else (caller.target,):
            record = linked.view.catalog.load_active(namespace, linked.manifest.name)
            if record and self._is_same_version(record, linked):
                return record
        return None

    def require_nothing_hidden(self, linked: LinkedPackage, caller: Caller) -> None:
        """Raise `Refused` EEXIST when a package would come to hide another namespace's capability,
        such as the library's, from those who use its plain name.
        """
        name = linked.manifest.name
        catalog = linked.view.catalog
        place = caller.sees.index(caller.target)
        if catalog.load_active(caller.target, name):
            return  # its name means what is there already
        for namespace in caller.sees[place + 1 :]:
            hidden = catalog.load_active(namespace, name)
            if hidden:
                raise Refused(
                    "EEXIST",
                    f"it would hide {namespace}/{name}, which {name} means here now",
                    source=name,
                    suggestion="choose another name, or put it there with --replace (replace=1 over"
                    f" HTTP); {namespace}/{name} goes on to mean that one",
                )

    def deploy(
        self, linked: LinkedPackage, caller: Caller, *, replace: bool = False
    ) -> tuple[Record, int, ExampleRun | None]:
        """Check, test and activate a package; return its record, how many tests passed and the
        example that was run where there are none.

        Nothing is stored unless all of it holds. `replace` allows to hide another namespace's
        capability.
        """
        manifest = linked.manifest
        # what calls the name's older version keeps it, before the name means a new one
        head = linked.view.catalog.load_head(caller.target, manifest.name)
        was_public = head is not None and head.record.manifest.public
        is_public = was_public or manifest.public or caller.target == LIBRARY
        log = self._older_callers.record_callers(caller.target, public=is_public)
        self._require_allowed(linked, caller)
        if not replace:
            self.require_nothing_hidden(linked, caller)
        with self._take_turn(manifest.name, caller), _named_errors(manifest.name):
            checked, part, program = self._check(linked, caller, log, later=_is_library(caller))
            passed = 0
            example: ExampleRun | None = None
            if not _is_library(caller) and manifest.lang != BUNDLE:
                bench = golden_tests.GoldenTestBench(
                    self._sandbox, caller.target, linked.view, tenant_of(caller), part.pins
                )
                passed = golden_tests.require_passing_tests(bench, manifest, program)
                if not manifest.tests:
                    from sigil.deploy.example_run import run_example

                    example = run_example(bench, manifest, program)
            record, before = self._activate(checked, caller, "deploy")
            if before and _is_owner(caller) and self._is_trusted(before, record, linked.view):
                self._live_services.grant_store.carry_over(before, record, caller)
            return record, passed, example

    def deploy_untested(self, linked: LinkedPackage, caller: Caller) -> Record:
        """Check and activate what somebody else made and tested.

        Nothing of it runs, and no grant is carried over to it.
        """
        # what it was linked with may have come with it since
        linked = replace(linked, view=self._live_services.snapshot())
        self._require_allowed(linked, caller)
        with self._take_turn(linked.manifest.name, caller), _named_errors(linked.manifest.name):
            checked, _, _ = self._check(linked, caller, None, later=True)
            record, _ = self._activate(checked, caller, "import")
            return record

    def record_moved_calls(self, record: Record, moved: Record) -> None:
        """Record for `moved`, the same version in another namespace, what it calls.

        Raises `Refused` EREQUIRES unless all of it is seen there.
        """
        part = self._live_services.make_runnable(record)
        pins = self._live_services.load_pins(part)
        moved_part = replace(self._live_services.make_runnable(moved), pins=pins)
        for call in pins:
            if self._can_call(part, call) and not self._can_call(moved_part, call):
                raise Refused(
                    "EREQUIRES",
                    f"it calls {call}, and only the chat has the version that it was deployed with",
                    source=record.name,
                    suggestion=f"publish {parse_call_rule(call).name} first",
                )
        if pins:
            self._catalog.note_deployment(moved, Deployment(pins))

    def _can_call(self, part: Runnable, call: str) -> bool:
        try:
            self._live_services.load_callee(part, call)
        except (UsageError, Refused):
            return False
        return True

    def _is_same_version(self, record: Record, linked: LinkedPackage) -> bool:
        """Return whether a record is this very version.

        One of a release before 0.2.0 has a digest that does not cover what it calls.
        """
        if record.digest == linked.digest:
            return True
        if not linked.pins or record.digest != linked.package.digest:
            return False
        return (
            self._live_services.load_pins(self._live_services.make_runnable(record)) == linked.pins
        )

    def _require_allowed(self, linked: LinkedPackage, caller: Caller) -> None:
        """Raise `Refused` for a package that this caller may not deploy."""
        manifest = linked.manifest
        name = manifest.name
        if manifest.lang == HOST and not _is_library(caller):
            raise Refused(
                "EPERM",
                "it runs inside the agent as a part of the program, and cannot be deployed",
                source=name,
                suggestion="write it in a language that the sandbox runs, such as js",
            )
        if manifest.lang == BUNDLE and not _is_library(caller):
            _require_members(linked, caller)
        if manifest.permissions.mcp and caller.token:
            raise Refused(
                "EPERM",
                "it starts a program of this machine, so it can be added on this machine only",
                source=name,
                suggestion="run `sigil mcp add -- COMMAND` there, or give the server's address",
            )
        _require_free_name(name, caller, linked.view.catalog, caller.sees)
        if manifest.public:
            public.require_public_name(caller.target, name)
        if caller.author == "model":
            if manifest.lang != "js":
                raise Refused(
                    "EPERM",
                    "an agent may deploy JavaScript only",
                    source=name,
                    suggestion="write it in JavaScript, or let a person deploy it",
                )
            if manifest.public:
                raise Refused(
                    "EPERM",
                    "an agent may not make a capability public",
                    source=name,
                    suggestion="leave public out; a person may deploy it so",
                )
        if caller.only is None:
            return
        # what it calls beyond the token's reach would run with powers that others were granted
        view = linked.view
        for text in permissions.declared_calls(manifest):
            rule = parse_call_rule(text)
            namespace = rule.namespace
            if not namespace:
                # a plain name is the library's when nobody has it here, and may not exist yet
                namespace = caller.target
                own = view.catalog.load_head(caller.target, rule.name)
                if own is None or own.removed:
                    found = view.find_version(rule, caller.target)
                    namespace = found.namespace if found else caller.target
            if not caller.reaches(namespace, rule.name):
                raise Refused(
                    "EPERM",
                    f"it calls {namespace}/{rule.name}, outside the scopes of this token",
                    source=name,
                    suggestion="`sigil whoami` shows its scopes",
                )

    def _take_turn(self, name: str, caller: Caller) -> AbstractContextManager[None]:
        """Return the pause of a model or token; this process and the admin token have none."""
        if caller.author == "model":
            return self._cooldown.take_turn(f"model:{caller.own}", name, MODEL_AT_ONCE)
        if caller.token in OWN_TOKENS:
            return nullcontext()
        return self._cooldown.take_turn(caller.token, name)

    def _check(
        self, linked: LinkedPackage, caller: Caller, log: Read | None, *, later: bool
    ) -> tuple[CheckedPackage, Runnable, Program]:
        """Build a package and require that the quota allows it and that all exists that it calls.

        `later` allows calls of what does not exist yet. Return the package with its part of a run
        and its program.
        """
        manifest = linked.manifest
        built = build(linked.package, self._sandbox.for_tenant(tenant_of(caller)))
        head = linked.view.catalog.load_head(caller.target, manifest.name)
        size = _count_bytes(linked.package, built) + (head.state.size if head else 0)
        claim = QuotaClaim(manifest.name, size, manifest.lifetime == "ephemeral")
        # before its tests run; it is asked again when the package is stored
        count = self._reservations.require_quota(caller.target, claim)
        program = Program(
            built.digest,
            built.kind,
            lambda: built.wasm,
            Rank[manifest.lifetime.upper()],
            self._end_of(manifest),
        )
        part = Runnable(caller.target, manifest, linked.digest, program, pins=linked.pins)
        dependencies.require_dependencies(part, linked.view, later=later)
        return CheckedPackage(linked, built, count, log), part, program

    def _end_of(self, manifest: Manifest) -> float | None:
        """Return when a version that begins now ends (seconds since 1970), None for never."""
        seconds = manifest.seconds_to_live
        return self._clock() + seconds if seconds else None

    def _is_trusted(self, before: Record, record: Record, view: LiveServices) -> bool:
        """Return whether an owner's grants of `before` may be carried over to `record`.

        All that is called now must have been called before, come with the program, or have been
        deployed by an owner here. Else the new version may be what a model or a stranger made of
        it, and what an owner granted was not meant for that.
        """
        if not permissions.declared_calls(record.manifest):
            return True
        known = dependencies.list_reachable(view.make_runnable(before), view)
        for digest, part in dependencies.list_reachable(view.make_runnable(record), view).items():
            if digest in known or part.namespace == LIBRARY:
                continue
            deployment = self._catalog.deployments.read(part.namespace, part.name, part.digest)
            is_owners = deployment is not None and deployment.owner
            if part.namespace != record.namespace or not is_owners:
                return False
        return True

    def _activate(
        self, checked: CheckedPackage, caller: Caller, action: Action
    ) -> tuple[Record, Record | None]:
        """Store what was checked; return its record, and the one that ran under the name before."""
        linked = checked.linked
        name = linked.manifest.name
        draft = self._make_record(linked, checked.built, caller)
        catalog = linked.view.catalog
        number = 0

        def store() -> tuple[Record, Record | None]:
            nonlocal catalog, number
            read = catalog
            catalog = self._catalog.snapshot()  # for the next try, if this one loses its race
            # somebody may have taken the name while the tests ran; in the namespace itself the
            # write of the head finds that out
            elsewhere = [namespace for namespace in caller.sees if namespace != caller.target]
            _require_free_name(name, caller, self._catalog, elsewhere)
            _require_free_name(name, caller, read, (caller.target,))
            head = read.load_head(caller.target, name)
            before = head.record if head and read.is_running(head) else None
            number = max(number, head.latest if head else 0) + 1
            known = self._find_known(read, head, linked, caller) if head else None
            if head and known and known.expires_at is None:
                # it becomes active again, and no other number is given
                step = Activation(known.version, self._clock(), caller.author, action)
                claim = QuotaClaim(name, head.state.size, known.manifest.lifetime == "ephemeral")
                with self._reservations.reserve(known.namespace, claim, checked.count):
                    state = head.state.activate(step).unyank(known.version)
                    self._catalog.save_head(known, state, head)
                return known, before
            kv_home = ""
            if head and not head.removed and self._catalog.is_alive(head.record):
                kv_home = head.record.store  # it goes on with the store of the version before it
            record = replace(draft, version=number, store=kv_home)
            is_new = known is None or known.digest != linked.digest
            if is_new and requested_permissions(linked.manifest):
                # its grants from before it went are not for the author who brings it back
                self._live_services.grant_store.forget_version(
                    record.namespace, name, record.digest
                )
            step = Activation(record.version, self._clock(), caller.author, action)
            # an import is not an owner's own deploy: somebody else wrote the bundle
            is_owners = action == "deploy" and _is_owner(caller)
            with self._reservations.reserve(
                record.namespace, claim_of(record, head), checked.count
            ):
                if linked.pins or is_owners or caller.deployer:
                    # before the version is there, so that none is seen without it
                    self._catalog.note_deployment(
                        record, Deployment(linked.pins, is_owners, caller.deployer)
                    )
                position = self._catalog.save_version(record, head, step, checked.log)
            self._older_callers.advance(record.namespace, checked.log, position)
            return record, before

        try:
            record, before = retry_conflicts(store, RACES)
        except Conflict:
            message = f"{name} is being deployed by somebody else at this moment"
            raise Conflict(message) from None
        self._audit.note(
            caller.target,
            action,
            caller=caller,
            name=name,
            version=record.version,
            digest=record.digest,
        )
        return record, before

    def _find_known(
        self, catalog: Catalog, head: Head, linked: LinkedPackage, caller: Caller
    ) -> Record | None:
        """Return the version of the name that has this very digest, None when none has it.

        Raises `Refused` EEXIST when a model deploys what a person withdrew.
        """
        for digest in dict.fromkeys((linked.digest, linked.package.digest)):
            known = catalog.find_version(head, Ref(linked.manifest.name, digest=digest))
            if known and self._is_same_version(known, linked):
                if known.version in head.state.yanked and caller.author == "model":
                    raise Refused(
                        "EEXIST",
                        "a person has withdrawn exactly this version",
                        source=known.name,
                        suggestion="change what was wrong with it, or choose another name",
                    )
                return known
        return None

    def _make_record(self, linked: LinkedPackage, built: BuiltModule, caller: Caller) -> Record:
        """Store the artifacts of a new version, and return its record without a number."""
        return Record(
            namespace=caller.target,
            name=linked.manifest.name,
            version=0,
            digest=linked.digest,
            kind=built.kind,
            wasm=self._artifacts.put(built.wasm),
            source=self._artifacts.put(linked.package.code),
            manifest=linked.manifest,
            author=caller.author,
            session=caller.session,
            at=self._clock(),
            expires_at=self._end_of(linked.manifest),
            size=_count_bytes(linked.package, built),
        )


def _is_owner(caller: Caller) -> bool:
    """Return whether an owner deploys in person."""
    return caller.owner and caller.author == "person"


def _is_library(caller: Caller) -> bool:
    return caller.author == "library"


def _require_members(linked: LinkedPackage, caller: Caller) -> None:
    """Raise `UsageError` ENOENT or EINVAL unless every member of a bundle is there and is none."""
    manifest = linked.manifest
    if manifest.public:
        raise Refused(
            "EPERM",
            "a bundle is found in its own namespace alone",
            source=manifest.name,
            suggestion="leave public out, and make its members public",
        )
    for name in manifest.members:
        active = (linked.view.catalog.load_active(home, name) for home in caller.sees)
        record = next(filter(None, active), None)
        if record is None or not caller.reaches(record.namespace, name):
            raise UsageError(
                "ENOENT",
                f"no capability is called {name}",
                source=manifest.name,
                suggestion="deploy its members first",
            )
        if record.manifest.lang == BUNDLE:
            raise UsageError(
                "EINVAL",
                f"{name} is a bundle, and no bundle has another one in it",
                source=manifest.name,
                suggestion=f"name its members: {', '.join(record.manifest.members)}",
            )


def _require_free_name(
    name: str, caller: Caller, catalog: Catalog, namespaces: Iterable[str]
) -> None:
    """Raise `Refused` EEXIST when a model deploys under a name that somebody else has.

    That is the library, a person or another session's model, in one of `namespaces`.
    """
    if caller.author != "model":
        return
    for namespace in namespaces:
        record = catalog.load_holder(namespace, name)
        if record is None:
            continue
        holder = (record.namespace, record.author, record.session)
        if holder != (caller.target, "model", caller.session):
            owners = {"library": "the standard library", "person": "a person"}
            raise Refused(
                "EEXIST",
                f"{name} belongs to {owners.get(record.author, 'another chat')}",
                source=name,
                suggestion="find it with sigil_query and use it as it is, or choose another name",
            )


def _count_bytes(package: Package, built: BuiltModule) -> int:
    """Return the bytes of a module and, where it is another one, of its source."""
    if built.wasm == package.code:
        return len(built.wasm)
    return len(built.wasm) + len(package.code)


@contextmanager
def _named_errors(name: str) -> Iterator[None]:
    """Name the capability as the source of an error that is raised inside and names none."""
    try:
        yield
    except SigilError as problem:
        problem.source = problem.source or name
        raise
