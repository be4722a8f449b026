"""The capabilities of the store: a head for each name, a record for each version, and what is
visible to whom.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from sigil.catalog import changes, heads, public_index
from sigil.catalog.deployments import Dependent, Deployment, Deployments
from sigil.catalog.heads import Activation, HeadState
from sigil.catalog.public import PublicCapabilities, is_alive, load_head, resolve_head
from sigil.catalog.records import Head, Record, decode, encode, expect_head
from sigil.errors import BackendError, Conflict, Refused, UsageError
from sigil.protocol import Caller, Ref, viewed
from sigil.storage.kv import ABSENT, KV, Expect, Item, Read, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.snapshot import SnapshotKV
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import damaged

PAGE = 500
VERSIONS_KEPT = 100
"""Of one name; older ones go when a new one comes, but for the one that runs and those that
something deployed here calls.
"""
OUTDATED_PAGE = 20
GRACE_SECONDS = 7 * 86_400.0
"""How long the head of what has expired is kept for the sweeper, which tells the audit."""

__all__ = ["Catalog", "Head", "Record", "expect_head"]


class Catalog:
    """The store's capabilities; every verb reads and writes the store and keeps nothing."""

    def __init__(
        self,
        kv: KV,
        clock: Callable[[], float] = time.time,
        deployments: Deployments | None = None,
    ) -> None:
        self._kv = kv
        self._clock = clock
        self._publics = PublicCapabilities(kv, clock)
        self.deployments = deployments or Deployments(kv)

    def snapshot(self) -> Catalog:
        """Return the same catalog for the length of one task, which reads no item twice."""
        return Catalog(SnapshotKV(self._kv), self._clock, self.deployments)

    @property
    def kv(self) -> KV:
        """The store that it reads and writes."""
        return self._kv

    def load_head(self, namespace: str, name: str) -> Head | None:
        """The head of a name as it stands at this moment, None when there never was one; a removed
        one says so.
        """
        return load_head(self._kv, namespace, name, self._clock())

    def load_active(self, namespace: str, name: str) -> Record | None:
        """The record that the plain name runs."""
        head = self.load_head(namespace, name)
        return head.record if head and self.is_running(head) else None

    def load_holder(self, namespace: str, name: str) -> Record | None:
        """The record that holds a name, though it may be yanked and run for nobody."""
        head = self.load_head(namespace, name)
        return head.record if head and not head.removed and self.is_alive(head.record) else None

    def is_running(self, head: Head) -> bool:
        """Return whether the plain name runs: not removed, not yanked, not expired."""
        return not head.removed and not head.yanked and self.is_alive(head.record)

    def find(self, ref: Ref, caller: Caller) -> Record | None:
        """Return what the caller means by `ref`: the nearest namespace wins; of another namespace
        only what is public.
        """
        if ref.namespace and ref.namespace not in caller.sees:
            open = self._publics.load_head(
                ref.namespace, ref.name
            )  # the name itself must be public, not an old version of it alone
            record = self._in(ref.namespace, ref) if open else None
            return record if record and record.manifest.public else None
        namespaces = (ref.namespace,) if ref.namespace else caller.sees
        items = get_many(self._kv, [keys.capability(space, ref.name) for space in namespaces])
        for item in items:
            head = resolve_head(self._kv, item, self._clock()) if item else None
            record = self.find_version(head, ref) if head else None
            if record:
                return record
        return None

    def resolve(self, ref: Ref, caller: Caller) -> Record:
        """Like `find`; `UsageError` with ENOENT when there is none, `Refused` with EPERM when the
        caller's token does not reach it.
        """
        record = self.find(ref, caller)
        if record and not caller.reaches(record.namespace, record.name):
            raise Refused(
                "EPERM",
                "this token is not about it",
                source=ref.name,
                suggestion="`sigil whoami` shows its scopes",
            )
        plain = Ref(ref.name, namespace=ref.namespace)
        if record is None and ref != plain and self.find(plain, caller):
            wanted = (
                f"version {ref.version}" if ref.version is not None else f"version {ref.digest}"
            )
            raise UsageError(
                "ENOENT",
                f"there is no {wanted} of {ref.name}",
                source=ref.name,
                suggestion=f"`sigil versions {ref.name}` shows what there is",
            )
        if record is None:
            whole = f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name
            raise UsageError(
                "ENOENT",
                "no such capability",
                source=whole,
                suggestion="`sigil list` and `sigil query` show what there is",
            )
        return record

    def find_in(self, namespace: str, ref: Ref) -> Record | None:
        """Return what `ref` means in one namespace."""
        return self._in(namespace, ref)

    def find_digest(self, namespace: str, name: str, digest: str) -> Record | None:
        """The version of a name that has this digest, active or not."""
        return self._in(namespace, Ref(name, digest=digest))

    def list_versions(self, head: Head) -> list[Record]:
        """Every version of a name that still runs, newest first."""
        namespace, name = head.record.namespace, head.record.name
        rows = [] if head.removed else self._rows(namespace, name)
        stored = (decode(value) for number, value in rows if number >= head.state.floor)
        return sorted(
            (record for record in stored if self.is_alive(record)),
            key=lambda record: -record.version,
        )

    def list_stores(self, head: Head) -> set[str]:
        """Return where a name's versions keep what they store, of those that can be read; see
        `Record.store`.
        """
        records = (
            _readable(value) for _, value in self._rows(head.record.namespace, head.record.name)
        )
        return {"", head.record.store, *(record.store for record in records if record)}

    def save_version(
        self, record: Record, head: Head | None, step: Activation, log: Read | None = None
    ) -> changes.LogPosition | None:
        """Write a new version and make it the active one; `Conflict` when the head changed or the
        number is taken.

        `log` is the namespace's log of changes when it was read already; the answer is where this
        change stands in it, see `changes.Announcement`.
        """
        before = head.state if head else HeadState(latest=0)
        self._put(record, expect=ABSENT)
        outdated = self._outdated(record)
        freed = sum(old.size for old in outdated if old.version >= before.floor)
        size = self._size(head) + record.size - freed
        position = self.save_head(record, replace(before.activate(step), size=size), head, log)
        for old in outdated:
            self._forget(old.namespace, old.name, old.version, old.digest)
        return position

    def note_deployment(self, record: Record, deployment: Deployment) -> Deployment:
        """Record what a version calls, before it stands; what stands recorded when something does.
        It goes with the version.
        """
        ttl = self._ttl(record)
        version = Dependent(record.namespace, record.name, record.digest)
        return self.deployments.write(
            version, deployment, None if ttl is None else ttl + GRACE_SECONDS
        )

    def save_head(
        self, record: Record, standing: HeadState, head: Head | None, log: Read | None = None
    ) -> changes.LogPosition | None:
        """Write a name's head over `head`; `Conflict` when that changed. Readers learn of it; `log`
        and the answer as in `save`.
        """
        lasts = record.expires_at is None or head is not None
        ttl = None if lasts else (self._ttl(record) or 0) + GRACE_SECONDS
        return self._write(record, heads.encode_head(standing, encode(record)), head, ttl, log)

    def remove(self, head: Head) -> None:
        """Leave a tombstone: the name is gone, its number goes on, no version of it runs any
        more.
        """
        record = head.record
        tombstone = heads.encode_head(head.state.remove(), encode(record))
        self._write(record, tombstone, head)
        for number, value in self._rows(record.namespace, record.name):
            version = _readable(value)
            self._forget(record.namespace, record.name, number, version.digest if version else "")

    def reactivate(self, namespace: str, name: str) -> None:
        """Let queries show a name again that was unused for long; whoever writes first does it for
        all.
        """
        head = self.load_head(namespace, name)
        if head and head.state.inactive and not head.removed:
            try:
                self.save_head(head.record, replace(head.state, inactive=False), head)
            except Conflict:
                return  # somebody else changed it at this moment; the next call sees how it stands

    def renew(self, record: Record, caller: Caller) -> Record:
        """What stands was deployed once more under its very digest: queries show it again, and what
        has an end lives on from now.
        """
        self.reactivate(record.namespace, record.name)
        life = record.manifest.seconds_to_live
        theirs = caller.author == "model" and (record.author, record.session) != (
            "model",
            caller.session,
        )
        if not life or record.namespace != caller.target or theirs:
            return record
        head = self.load_head(record.namespace, record.name)
        if head is None or not self.is_running(head) or head.record.digest != record.digest:
            return record  # it was removed at this moment, or another version runs
        longer = replace(head.record, expires_at=self._clock() + life)
        self._put(longer)
        try:
            self.save_head(longer, head.state, head)
        except Conflict:
            return head.record
        return longer

    def list_visible(self, namespace: str, after: str = "") -> Iterator[Record]:
        """The active records of a namespace that a query may show, by name, from beyond `after`
        on.
        """
        return (head.record for head in self.list_heads(namespace, after) if self.is_visible(head))

    def is_visible(self, head: Head) -> bool:
        """Return whether a query may show it: the plain name runs, and was not unused for long."""
        return self.is_running(head) and not head.state.inactive

    def list_heads(self, namespace: str, after: str = "") -> Iterator[Head]:
        """The heads of a namespace that are not removed, by name, from beyond `after` on."""
        heads = (self.parse_head(item) for _, item in self.scan_items(namespace, after))
        return (head for head in heads if not head.removed)

    def list_stored_versions(self, namespace: str, name: str = "") -> Iterator[Record]:
        """Every version of a namespace, or of one of its names, that is stored and can be read."""
        partition = keys.version(namespace, "", 0).partition
        for _, item in scan_all(self._kv, partition, f"{name}#" if name else "", page=PAGE):
            record = _readable(item.value)
            if record:
                yield record

    def read_log(self, namespace: str) -> Item | None:
        """The log of the namespace's changes: its version is another one whenever the namespace's
        capabilities are.
        """
        return self._kv.get(keys.generation(namespace))

    def read_item(self, namespace: str, name: str) -> Item | None:
        """A name's head as it is stored."""
        return self._kv.get(keys.capability(namespace, name))

    def scan_items(self, namespace: str, after: str = "") -> Iterator[tuple[str, Item]]:
        """Every name's head as it is stored, from beyond `after` on."""
        return scan_all(self._kv, keys.capability(namespace, "").partition, after=after, page=PAGE)

    def parse_head(self, item: Item) -> Head:
        """A stored head as it stands at this moment."""
        return resolve_head(self._kv, item, self._clock())

    def list_namespaces(self, prefix: str = "") -> Iterator[str]:
        """The namespaces that ever had a capability."""
        return (namespace for namespace, _ in self.list_logs(prefix))

    def list_logs(self, prefix: str = "") -> Iterator[tuple[str, Item]]:
        """The namespaces that ever had a capability, each with the log of its changes."""
        partition = keys.generation("").partition
        for sort, item in scan_all(self._kv, partition, keys.escape(prefix), page=PAGE):
            yield keys.unescape(sort), item

    def read_generation(self, namespace: str) -> str:
        """A token that changes whenever the namespace's capabilities do."""
        item = self.read_log(namespace)
        return item.version if item else ""

    def restart_log(self, namespace: str) -> None:
        """Tell every reader that the whole namespace may have changed."""
        changes.restart_log(self._kv, namespace)

    def is_alive(self, record: Record) -> bool:
        """Return whether its time has not run out."""
        return is_alive(record, self._clock())

    def _write(
        self,
        record: Record,
        body: bytes,
        head: Head | None,
        ttl: float | None = None,
        log: Read | None = None,
    ) -> changes.LogPosition | None:
        """Write a name's head, and have readers learn of it."""
        place = (record.namespace, record.name)
        now = self._clock()
        mark = _public_mark(head, now) if head else None
        with (
            changes.announced_change(self._kv, *place, now, log) as announcement,
            public_index.mark_follows(self._kv, place, mark, body, now),
        ):
            self._kv.put(keys.capability(*place), body, expect=expect_head(head), ttl=ttl)
        return announcement.position

    def _in(self, namespace: str, ref: Ref) -> Record | None:
        head = self.load_head(namespace, ref.name)
        return self.find_version(head, ref) if head else None

    def find_version(self, head: Head, ref: Ref) -> Record | None:
        """Return what `ref` means among the versions of a name that has this head; one that is
        withdrawn too when `ref` says which.
        """
        namespace = head.record.namespace
        if head.removed:
            return None
        if ref.version is None and ref.digest is None:
            return head.record if self.is_running(head) else None
        if ref.digest == head.record.digest or ref.version == head.record.version:
            return head.record if self.is_alive(head.record) else None
        number = ref.version if ref.version is not None else self._number(namespace, ref)
        item = (
            self._kv.get(keys.version(namespace, ref.name, number))
            if number and number >= head.state.floor
            else None
        )
        record = decode(item.value) if item else None
        return record if record and self.is_alive(record) else None

    def _number(self, namespace: str, ref: Ref) -> int | None:
        item = self._kv.get(keys.version_of_digest(namespace, ref.name, ref.digest or ""))
        if item and not item.value.isdigit():
            raise damaged()
        return int(item.value) if item else None

    def _rows(self, namespace: str, name: str) -> list[tuple[int, bytes]]:
        partition, prefix = keys.version(namespace, name, 0).partition, f"{name}#"
        stored = scan_all(self._kv, partition, prefix, page=PAGE)
        return [(int(sort.rpartition("#")[2]), item.value) for sort, item in stored]

    def _outdated(self, newest: Record) -> list[Record]:
        """The versions that are too old to be kept, without those that something which sees them
        was deployed with.
        """
        last, after = newest.version - VERSIONS_KEPT, ""
        outdated: list[Record] = []
        partition = keys.version(newest.namespace, newest.name, 0).partition
        while last > 0 and (
            page := self._kv.scan(partition, f"{newest.name}#", after=after, limit=OUTDATED_PAGE)
        ):
            for after, item in page:
                if int(after.rpartition("#")[2]) > last:
                    return outdated
                record = _readable(item.value)
                if record and not self._is_called(record):
                    outdated.append(record)
        return outdated

    def _is_called(self, record: Record) -> bool:
        """Return whether a version that stands calls this one, in a namespace that has it by plain
        name: a stranger keeps nothing here.
        """
        for caller in self.deployments.list_dependents(record.digest):
            if self.find_digest(*caller) is None:
                self.deployments.remove_dependent(record.digest, caller)
            elif record.namespace in viewed(caller.namespace).sees:
                return True
        return False

    def _size(self, head: Head | None) -> int:
        if head is None or head.record.expires_at is None:
            return head.state.size if head else 0
        return sum(
            record.size for record in self.list_versions(head)
        )  # some may have run out since

    def _put(self, record: Record, expect: Expect = None) -> None:
        """Write the record of a version, which it is by its digest, and when its time runs out."""
        ttl = self._ttl(record)
        self._kv.put(
            keys.version(record.namespace, record.name, record.version),
            encode(record),
            expect=expect,
            ttl=ttl,
        )
        self._kv.put(
            keys.version_of_digest(record.namespace, record.name, record.digest),
            b"%d" % record.version,
            ttl=ttl,
        )
        if ttl:
            self._kv.put(
                keys.expiry_mark(record.expires_at or 0, record.namespace, record.name),
                b"",
                ttl=ttl + GRACE_SECONDS,
            )

    def _forget(self, namespace: str, name: str, number: int, digest: str) -> None:
        place = keys.version_of_digest(namespace, name, digest)
        self._kv.delete(keys.version(namespace, name, number))
        item = self._kv.get(place)
        if item and item.value == b"%d" % number:  # a later version may have the same digest
            self._kv.delete(place)
            self.deployments.forget(namespace, name, digest)

    def _ttl(self, record: Record) -> float | None:
        return None if record.expires_at is None else max(record.expires_at - self._clock(), 1.0)


def _public_mark(head: Head, now: float) -> bytes | None:
    """Return the mark that a head asks for, see `public_index.mark_for`."""
    record = head.record
    fields = {
        "version": record.version,
        "digest": record.digest,
        "expires_at": record.expires_at,
        "manifest": {"public": record.manifest.public},
    }
    return public_index.mark_for(head.state, fields, now)


def _readable(data: bytes) -> Record | None:
    """The record that is stored so; None for one that was damaged."""
    try:
        return decode(data)
    except BackendError:
        return None
