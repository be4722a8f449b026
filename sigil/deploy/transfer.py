"""Transfer takes capabilities from a chat to its agent, into a file and out of one."""

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
from sigil.catalog.quotas import SESSION_MARK, QuotaReservations, claim_of
from sigil.catalog.records import Head, Record
from sigil.deploy.deployer import RACES, Deployer, LinkedPackage
from sigil.errors import Conflict, Refused, UsageError
from sigil.manifest.languages import HOST
from sigil.manifest.package import Package
from sigil.protocol import LIBRARY, Caller, Ref, is_name
from sigil.run.dependencies import order_callees_first
from sigil.storage.artifacts import Artifacts
from sigil.storage.kv import KV
from sigil.storage.kv.update import retry_conflicts


class Transfer:
    """Publishes, exports and imports."""

    def __init__(
        self,
        kv: KV,
        artifacts: Artifacts,
        deployer: Deployer,
        clock: Callable[[], float] = time.time,
        *,
        reservations: QuotaReservations,
    ) -> None:
        self._kv = kv
        self._catalog = Catalog(kv, clock)
        self._artifacts = artifacts
        self._deployer = deployer
        self._clock = clock
        self._reservations = reservations
        self._grant_store = GrantStore(kv, clock)
        self._audit = Audit(kv, clock)

    def publish(
        self, name: str, caller: Caller, *, session: str = "", replace: bool = False
    ) -> tuple[Record, bool]:
        """Make a chat's capability the agent's; return its record, and whether it is new there.

        Digest and author stay the same, and so does its own store, which stays where it began.

        `session` is the chat; by default the caller's own, or the only one that has it. `replace`
        allows to replace what somebody else made.
        """
        require_owner(caller, "publishes", "registry")
        if not is_name(name):
            raise UsageError("ENAME", "not a capability's name", source=name)
        source = self._find_source(name, caller, session)
        if source is None:
            published = self._catalog.load_active(caller.namespace, name)
            if published and published.session and published.author == "model":
                return published, False  # it was published already
            raise UsageError(
                "ENOENT",
                f"no chat has {name}",
                source=name,
                suggestion="`sigil publish NAME --session CHAT`",
            )
        record, is_new = self._copy_to_agent(source.record, caller, replace)
        try:
            self._catalog.remove(source)
        except Conflict:
            return record, is_new  # the chat has a newer one by now, which stays its own
        self._grant_store.revoke(source.record.namespace, name)
        usage.forget_counts(self._kv, source.record.namespace, name)
        return record, is_new

    def export(self, refs: Sequence[str], caller: Caller) -> bytes:
        """Return the bundle of what these refs mean.

        Raises `Refused` EPERM for another namespace's capability, whose source is not shown.
        """
        records = []
        for ref in refs:
            record = self._catalog.resolve(Ref.parse(ref), caller)
            if record.namespace not in caller.sees:
                raise Refused(
                    "EPERM",
                    f"it belongs to {record.namespace}, and only its owners can export it",
                    source=record.name,
                )
            records.append(record)
        return bundle.pack(
            [BundleEntry(record, self._artifacts.get(record.source)) for record in records]
        )

    def import_bundle(
        self, body: bytes, caller: Caller, *, public: bool = False, replace: bool = False
    ) -> list[tuple[Record, bool]]:
        """Make what a bundle holds the caller's own; return each record, and whether it is new.

        Nothing of it runs, and no test either. Unless `public`, what is public in the bundle is the
        caller's alone here, and so it has another digest. `replace` also allows what would read
        the values that another capability of its name has stored, or hide the library's.
        """
        require_owner(caller, "imports", "registry")
        packages = {}
        for package in bundle.unpack(body):
            manifest = package.manifest
            if manifest.public and not public:
                manifest = manifest.model_copy(update={"public": False})
            packages[manifest.name] = Package(manifest, package.code)
        # a call means the bundle's own package before one that is stored here
        linked: dict[str, LinkedPackage] = {}
        manifests = {name: package.manifest for name, package in packages.items()}
        for name in order_callees_first(manifests):
            planned = {other: each.digest for other, each in linked.items()}
            linked[name] = self._deployer.link(packages[name], caller, planned)
        if not replace:
            for each in linked.values():
                self._require_no_store(each, caller)
                if each.manifest.lang != HOST:  # that is refused by itself
                    self._deployer.require_nothing_hidden(each, caller)
        imported = {}
        for each in linked.values():
            same = self._deployer.find_same(each, caller)
            record = same or self._deployer.deploy_untested(each, caller)
            imported[each.manifest.name] = (record, same is None)
        return [imported[name] for name in sorted(imported)]

    def _require_no_store(self, package: LinkedPackage, caller: Caller) -> None:
        """Raise `Refused` EEXIST when a package would go on with another capability's store."""
        name = package.manifest.name
        head = self._catalog.load_head(caller.target, name)
        if not package.manifest.permissions.kv or head is None or head.removed:
            return
        if self._catalog.find_digest(caller.target, name, package.digest):
            return  # it is this very one's
        records = (head.record, *self._catalog.list_versions(head))
        if any(record.manifest.permissions.kv for record in records):
            raise Refused(
                "EEXIST",
                f"it would read the values that {name} has stored here",
                source=name,
                suggestion="`sigil import --replace` takes that over,"
                f" `sigil remove {name}` forgets it first",
            )

    def _find_source(self, name: str, caller: Caller, session: str) -> Head | None:
        """Return the head of the chat that has the capability, None when no chat has it.

        Raises `UsageError` EAMBIGUOUS when several chats have it and none was named.
        """
        if session or caller.session:
            chat = dataclasses.replace(caller, session=session or caller.session)
            return self._find_running(chat.own, name)
        found = []
        for namespace in self._catalog.list_namespaces(f"{caller.namespace}{SESSION_MARK}"):
            head = self._find_running(namespace, name)
            if head:
                found.append(head)
        if len(found) > 1:
            chats = ", ".join(sorted(head.record.session for head in found)[:5])
            raise UsageError(
                "EAMBIGUOUS",
                f"{len(found)} chats have {name}: {chats}",
                source=name,
                suggestion="say which with --session",
            )
        return found[0] if found else None

    def _find_running(self, namespace: str, name: str) -> Head | None:
        head = self._catalog.load_head(namespace, name)
        return head if head and self._catalog.is_running(head) else None

    def _copy_to_agent(
        self, record: Record, caller: Caller, may_replace: bool
    ) -> tuple[Record, bool]:
        """Store a chat's version in the agent's namespace; return it, and whether it is new."""
        place = caller.namespace

        def copy() -> tuple[Record, bool]:
            head = self._catalog.load_head(place, record.name)
            if self._is_published(record, head, may_replace) and head:
                return head.record, False
            is_new = head is None or not self._catalog.is_running(head)
            if is_new and not may_replace and self._catalog.load_active(LIBRARY, record.name):
                raise Refused(
                    "EEXIST",
                    f"it would hide the library's own {record.name} from all chats",
                    source=record.name,
                    suggestion="--replace puts it in its place",
                )
            moved = dataclasses.replace(
                record,
                namespace=place,
                version=(head.latest if head else 0) + 1,
                store=record.store or record.namespace,
            )
            if self._catalog.find_digest(place, moved.name, moved.digest) is None:
                self._grant_store.forget_version(place, moved.name, moved.digest)
            self._deployer.record_moved_calls(record, moved)
            step = Activation(moved.version, self._clock(), caller.author, "publish")
            with self._reservations.reserve(place, claim_of(moved, head)):
                self._catalog.save_version(moved, head, step)
            return moved, True

        try:
            moved, is_new = retry_conflicts(copy, RACES)
        except Conflict:
            message = f"{record.name} is being deployed by somebody else at this moment"
            raise Conflict(message) from None
        if is_new:
            self._audit.note(
                place,
                "publish",
                caller=caller,
                name=moved.name,
                version=moved.version,
                digest=moved.digest,
                chat=record.session,
            )
        return moved, is_new

    def _is_published(self, record: Record, head: Head | None, may_replace: bool) -> bool:
        """Return whether a head runs this very digest already.

        Raises `Refused` when the name's holder, withdrawn or not, must not be replaced by it.
        """
        holder = None
        if head and not head.removed and self._catalog.is_alive(head.record):
            holder = head.record
        is_same = holder is not None and holder.digest == record.digest
        if head and is_same and not head.yanked:
            return True
        if record.manifest.public and not (holder and holder.manifest.public):
            raise Refused(
                "EPERM",
                "other namespaces could call it: what a chat made is published for the agent alone",
                source=record.name,
                suggestion="have the chat deploy it without `public`; an owner deploys it with it",
            )
        if holder is None or may_replace:
            return False
        is_by_same = (holder.author, holder.session) == (record.author, record.session)
        if is_same or not is_by_same:
            reason = "was withdrawn there" if is_same else "exists there already"
            raise Refused(
                "EEXIST",
                f"{record.name} {reason}",
                source=record.name,
                suggestion="--replace puts it in its place",
            )
        return False
