"""Capabilities that go from one place to another: from a chat to its agent, into a file, out of
one.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from sigil.access.grants import GrantStore
from sigil.catalog import bundle, usage
from sigil.catalog.audit import Audit
from sigil.catalog.bundle import BundleEntry
from sigil.catalog.catalog import Catalog
from sigil.catalog.heads import Activation
from sigil.catalog.owner import require_owner
from sigil.catalog.quotas import SESSION_MARK, RoomKeeper, claim_of
from sigil.catalog.records import Head, Record
from sigil.deploy.deployer import RACES, Deployer, LinkedPackage
from sigil.errors import Conflict, Refused, UsageError
from sigil.manifest.package import Package
from sigil.protocol import Caller, Ref, is_name
from sigil.run.dependencies import order_callees_first
from sigil.storage.artifacts import Artifacts
from sigil.storage.kv import KV


class Transfer:
    """Publishes, exports and imports."""

    def __init__(
        self,
        kv: KV,
        artifacts: Artifacts,
        deployer: Deployer,
        clock: Callable[[], float] = time.time,
        *,
        room: RoomKeeper,
    ) -> None:
        self._kv = kv
        self._catalog = Catalog(kv, clock)
        self._artifacts = artifacts
        self._deployer = deployer
        self._clock = clock
        self._room = room
        self._grant_store = GrantStore(kv, clock)
        self._audit = Audit(kv, clock)

    def publish(
        self, name: str, caller: Caller, *, session: str = "", replace: bool = False
    ) -> tuple[Record, bool]:
        """A chat's capability becomes the agent's: same digest, same author, and with its own
        store, which stays where it began.

        The record, and whether it is new there.

        `session`: the chat; by default the caller's own, or the only one that has it. `replace`:
        over what somebody else made.
        """
        require_owner(caller, "publishes", "registry")
        if not is_name(name):
            raise UsageError("ENAME", "not a capability's name", source=name)
        source = self._source(name, caller, session)
        if source is None:
            standing = self._catalog.load_active(caller.namespace, name)
            if standing and standing.session and standing.author == "model":
                return standing, False  # it was published already
            raise UsageError(
                "ENOENT",
                f"no chat has {name}",
                source=name,
                suggestion="`sigil publish NAME --session CHAT`",
            )
        record, created = self._published(source.record, caller, replace)
        self._leave(source)
        return record, created

    def export(self, refs: Sequence[str], caller: Caller) -> bytes:
        """The bundle of what these refs mean."""
        records = [self._exported(Ref.parse(ref), caller) for ref in refs]
        return bundle.pack(
            [BundleEntry(record, self._artifacts.get(record.source)) for record in records]
        )

    def import_bundle(
        self, body: bytes, caller: Caller, *, public: bool = False, replace: bool = False
    ) -> list[tuple[Record, bool]]:
        """What a bundle holds becomes the caller's own; each record, and whether it is new. Nothing
        of it runs, and no test either.

        Unless `public`, what is public in the bundle is the caller's alone here, and so another
        digest. `replace`: also what would read what another capability of its name has stored.
        """
        require_owner(caller, "imports", "registry")
        packages = self._linked(
            [package if public else _private(package) for package in bundle.unpack(body)], caller
        )
        for linked in () if replace else packages:
            self._require_no_store(linked, caller)
        done = {}
        for linked in packages:
            standing = self._deployer.find_same(linked, caller)
            done[linked.manifest.name] = (
                (standing, False)
                if standing
                else (self._deployer.deploy_untested(linked, caller), True)
            )
        return [done[name] for name in sorted(done)]

    def _linked(self, packages: Sequence[Package], caller: Caller) -> list[LinkedPackage]:
        """Return what a bundle holds, with what it calls: the bundle's own before what stands here.
        In an order in which they can come.
        """
        named = {package.manifest.name: package for package in packages}
        linked: dict[str, LinkedPackage] = {}
        for name in order_callees_first(
            {name: package.manifest for name, package in named.items()}
        ):
            planned = {other: each.digest for other, each in linked.items()}
            linked[name] = self._deployer.link(named[name], caller, planned)
        return [*linked.values()]

    def _exported(self, ref: Ref, caller: Caller) -> Record:
        """Return what `ref` means to the caller; `Refused` EPERM for another namespace's, whose
        source is not shown.
        """
        record = self._catalog.resolve(ref, caller)
        if record.namespace not in caller.sees:
            raise Refused(
                "EPERM", f"it is {record.namespace}'s, whose owners export it", source=record.name
            )
        return record

    def _require_no_store(self, package: LinkedPackage, caller: Caller) -> None:
        """`Refused` EEXIST when what is imported would go on with the store of another capability
        of its name.
        """
        head = self._catalog.load_head(caller.target, package.manifest.name)
        if not package.manifest.permissions.kv or head is None or head.removed:
            return
        if self._catalog.find_digest(caller.target, package.manifest.name, package.digest):
            return  # it is this very one's
        if any(
            record.manifest.permissions.kv
            for record in (head.record, *self._catalog.list_versions(head))
        ):
            name = package.manifest.name
            message = f"it would have what {name} has stored here"
            ways = (
                f"`sigil import --replace` takes that over, `sigil remove {name}` forgets it first"
            )
            raise Refused("EEXIST", message, source=name, suggestion=ways)

    def _source(self, name: str, caller: Caller, session: str) -> Head | None:
        if session or caller.session:
            return self._live(
                dataclasses.replace(caller, session=session or caller.session).own, name
            )
        found = (
            self._live(namespace, name)
            for namespace in self._catalog.list_namespaces(f"{caller.namespace}{SESSION_MARK}")
        )
        heads = [head for head in found if head]
        if len(heads) > 1:
            chats = ", ".join(sorted(head.record.session for head in heads)[:5])
            raise UsageError(
                "EAMBIGUOUS",
                f"{len(heads)} chats have {name}: {chats}",
                source=name,
                suggestion="say which with --session",
            )
        return heads[0] if heads else None

    def _live(self, namespace: str, name: str) -> Head | None:
        head = self._catalog.load_head(namespace, name)
        return head if head and self._catalog.is_running(head) else None

    def _published(self, record: Record, caller: Caller, over: bool) -> tuple[Record, bool]:
        for _ in range(RACES):
            head = self._catalog.load_head(caller.namespace, record.name)
            standing = self._standing(record, head, over)
            if standing:
                return standing, False
            number, store = (head.latest if head else 0) + 1, record.store or record.namespace
            moved = dataclasses.replace(
                record, namespace=caller.namespace, version=number, store=store
            )
            if self._catalog.find_digest(moved.namespace, moved.name, moved.digest) is None:
                self._grant_store.forget_version(moved.namespace, moved.name, moved.digest)
            self._deployer.record_moved_calls(record, moved)
            try:
                with self._room.hold_room(caller.namespace, claim_of(moved, head)):
                    self._catalog.save_version(
                        moved,
                        head,
                        Activation(moved.version, self._clock(), caller.author, "publish"),
                    )
            except Conflict:
                continue
            facts = {
                "name": moved.name,
                "version": moved.version,
                "digest": moved.digest,
                "chat": record.session,
            }
            self._audit.note(caller.namespace, "publish", caller=caller, **facts)
            return moved, True
        raise Conflict(f"{record.name} is being deployed by somebody else at this moment")

    def _standing(self, record: Record, head: Head | None, over: bool) -> Record | None:
        """Return what runs under this very digest already; `Refused` when the name is held by what
        must not be replaced, withdrawn or not.
        """
        held = (
            head.record
            if head and not head.removed and self._catalog.is_alive(head.record)
            else None
        )
        same = held is not None and held.digest == record.digest
        if head and same and not head.yanked:
            return held
        if record.manifest.public and not (held and held.manifest.public):
            raise _too_wide(record)
        if (
            held
            and not over
            and (same or (held.author, held.session) != (record.author, record.session))
        ):
            message = (
                f"{record.name} was withdrawn there"
                if same
                else f"{record.name} stands there already"
            )
            raise Refused(
                "EEXIST", message, source=record.name, suggestion="--replace puts it in its place"
            )
        return None

    def _leave(self, source: Head) -> None:
        try:
            self._catalog.remove(source)
        except Conflict:
            return  # the chat has a newer one by now, which stays its own
        self._grant_store.revoke(source.record.namespace, source.record.name)
        usage.forget_counts(self._kv, source.record.namespace, source.record.name)


def _too_wide(record: Record) -> Refused:
    message = "other namespaces could call it: what a chat made is published for the agent alone"
    suggestion = "have the chat deploy it without `public`; an owner deploys it with it"
    return Refused("EPERM", message, source=record.name, suggestion=suggestion)


def _private(package: Package) -> Package:
    """The package for its owner alone."""
    if not package.manifest.public:
        return package
    return Package(package.manifest.model_copy(update={"public": False}), package.code)
