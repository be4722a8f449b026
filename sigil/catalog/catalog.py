"""The catalog reads and writes the capabilities of a store, and knows who sees which of them.

Each name has a head, and each of its versions a record.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace

from sigil.catalog import changes, heads, public_index
from sigil.catalog.deployments import Dependent, Deployment, Deployments
from sigil.catalog.heads import Activation, HeadState, VersionFields
from sigil.catalog.public import PublicCapabilities, is_alive, load_head, resolve_head
from sigil.catalog.records import Head, Record, decode, encode, expect_head
from sigil.errors import BackendError, Conflict, Refused, UsageError
from sigil.protocol import Caller, Ref, caller_within
from sigil.storage.kv import ABSENT, KV, Expect, Item, Read, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.snapshot import SnapshotKV
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import damaged

PAGE = 500
VERSIONS_KEPT = 100
"""Versions of one name that are kept.

Older ones go when a new one comes, but for the one that runs and those that something deployed here
calls.
"""
OUTDATED_PAGE = 20
GRACE_SECONDS = 7 * 86_400.0
"""How long the head of what has expired is kept for the sweeper, which notes it in the audit."""

__all__ = ["Catalog", "Head", "Record", "expect_head"]


class Catalog:
    """The store's capabilities. Every verb reads or writes the store; nothing is remembered."""

    def __init__(
        self,
        kv: KV,
        clock: Callable[[], float] = time.time,
        deployments: Deployments | None = None,
    ) -> None:
        self._kv = kv
        self._clock = clock
        self._public = PublicCapabilities(kv, clock)
        self.deployments = deployments or Deployments(kv)

    def snapshot(self) -> Catalog:
        """Return the same catalog for the length of one task, which reads no item twice."""
        return Catalog(SnapshotKV(self._kv), self._clock, self.deployments)

    @property
    def kv(self) -> KV:
        """The store that it reads and writes."""
        return self._kv

    def load_head(self, namespace: str, name: str) -> Head | None:
        """Return the head of a name at this moment, None when there never was one.

        A name that was removed has a head that says so.
        """
        return load_head(self._kv, namespace, name, self._clock())

    def load_active(self, namespace: str, name: str) -> Record | None:
        """Return the record that the plain name runs."""
        head = self.load_head(namespace, name)
        return head.record if head and self.is_running(head) else None

    def load_holder(self, namespace: str, name: str) -> Record | None:
        """Return the record that holds a name, though it may be yanked and run for nobody."""
        head = self.load_head(namespace, name)
        return head.record if head and not head.removed and self.is_alive(head.record) else None

    def is_running(self, head: Head) -> bool:
        """Return whether the plain name runs: not removed, not yanked, not expired."""
        return not head.removed and not head.yanked and self.is_alive(head.record)

    def is_visible(self, head: Head) -> bool:
        """Return whether a query may show it: the plain name runs, and was not unused for long."""
        return self.is_running(head) and not head.state.inactive

    def is_alive(self, record: Record) -> bool:
        """Return whether its time has not run out."""
        return is_alive(record, self._clock())

    def find(self, ref: Ref, caller: Caller) -> Record | None:
        """Return what the caller means by `ref`: the nearest namespace wins, among those where the
        caller's token reaches the name if there is one.

        So a token for a capability of the library goes on to mean that one when another one of its
        name hides it. Of a namespace that the caller does not see, only what is public is found.
        """
        if ref.namespace and ref.namespace not in caller.sees:
            # the name itself must be public, not an old version of it alone
            if self._public.load_head(ref.namespace, ref.name) is None:
                return None
            record = self.find_in(ref.namespace, ref)
            return record if record and record.manifest.public else None
        namespaces = (ref.namespace,) if ref.namespace else caller.sees
        items = get_many(self._kv, [keys.capability(space, ref.name) for space in namespaces])
        nearest: Record | None = None
        for item in items:
            record = self.find_version(self.parse_head(item), ref) if item else None
            if record and caller.reaches(record.namespace, record.name):
                return record
            nearest = nearest or record
        return nearest

    def resolve(self, ref: Ref, caller: Caller) -> Record:
        """Return what `find` finds.

        Raises `UsageError` ENOENT when there is none, `Refused` EPERM when the caller's token does
        not reach it.
        """
        record = self.find(ref, caller)
        if record:
            if not caller.reaches(record.namespace, record.name):
                raise Refused(
                    "EPERM",
                    "the scopes of this token do not cover it",
                    source=ref.name,
                    suggestion="`sigil whoami` shows its scopes",
                )
            return record
        plain = Ref(ref.name, namespace=ref.namespace)
        if ref != plain and self.find(plain, caller):
            version = ref.version if ref.version is not None else ref.digest
            raise UsageError(
                "ENOENT",
                f"there is no version {version} of {ref.name}",
                source=ref.name,
                suggestion=f"`sigil versions {ref.name}` shows what there is",
            )
        raise UsageError(
            "ENOENT",
            "no such capability",
            source=f"{ref.namespace}/{ref.name}" if ref.namespace else ref.name,
            suggestion="`sigil list` and `sigil query` show what there is",
        )

    def find_in(self, namespace: str, ref: Ref) -> Record | None:
        """Return what `ref` means in one namespace."""
        head = self.load_head(namespace, ref.name)
        return self.find_version(head, ref) if head else None

    def find_digest(self, namespace: str, name: str, digest: str) -> Record | None:
        """Return the version of a name that has this digest, active or not."""
        return self.find_in(namespace, Ref(name, digest=digest))

    def find_version(self, head: Head, ref: Ref) -> Record | None:
        """Return what `ref` means among the versions of a name that has this head.

        A yanked version is found when `ref` says which.
        """
        if head.removed:
            return None
        if ref.version is None and ref.digest is None:
            return head.record if self.is_running(head) else None
        if ref.digest == head.record.digest or ref.version == head.record.version:
            return head.record if self.is_alive(head.record) else None
        namespace = head.record.namespace
        number = ref.version
        if number is None:
            item = self._kv.get(keys.version_of_digest(namespace, ref.name, ref.digest or ""))
            if item is None:
                return None
            if not item.value.isdigit():
                raise damaged()
            number = int(item.value)
        if not number or number < head.state.floor:
            return None
        item = self._kv.get(keys.version(namespace, ref.name, number))
        record = decode(item.value) if item else None
        return record if record and self.is_alive(record) else None

    def list_versions(self, head: Head) -> list[Record]:
        """Return every version of a name that still runs, newest first."""
        if head.removed:
            return []
        records = []
        for number, value in self._scan_versions(head.record.namespace, head.record.name):
            if number >= head.state.floor:
                record = decode(value)
                if self.is_alive(record):
                    records.append(record)
        return sorted(records, key=lambda record: -record.version)

    def list_stores(self, head: Head) -> set[str]:
        """Return the own stores of all versions of a name that can be read; see `Record.store`."""
        stores = {"", head.record.store}
        for _, value in self._scan_versions(head.record.namespace, head.record.name):
            record = _decode_readable(value)
            if record:
                stores.add(record.store)
        return stores

    def list_visible(self, namespace: str, after: str = "") -> Iterator[Record]:
        """Yield the active records that a query may show, by name, from beyond `after` on."""
        return (head.record for head in self.list_heads(namespace, after) if self.is_visible(head))

    def list_heads(self, namespace: str, after: str = "") -> Iterator[Head]:
        """Yield the heads that are not removed, by name, from beyond `after` on."""
        for _, item in self.scan_items(namespace, after):
            head = self.parse_head(item)
            if not head.removed:
                yield head

    def list_stored_versions(self, namespace: str, name: str = "") -> Iterator[Record]:
        """Yield the stored versions of a namespace, or of one of its names, that can be read."""
        partition = keys.version(namespace, "", 0).partition
        for _, item in scan_all(self._kv, partition, f"{name}#" if name else "", page=PAGE):
            record = _decode_readable(item.value)
            if record:
                yield record

    def read_log(self, namespace: str) -> Item | None:
        """Return the log of a namespace's changes.

        It has another version whenever one of the namespace's capabilities has changed.
        """
        return self._kv.get(keys.generation(namespace))

    def read_item(self, namespace: str, name: str) -> Item | None:
        """Return a name's head as it is stored."""
        return self._kv.get(keys.capability(namespace, name))

    def scan_items(self, namespace: str, after: str = "") -> Iterator[tuple[str, Item]]:
        """Yield every name with its head as it is stored, from beyond `after` on."""
        return scan_all(self._kv, keys.capability(namespace, "").partition, after=after, page=PAGE)

    def parse_head(self, item: Item) -> Head:
        """Return the head that is stored in an item, as it is at this moment."""
        return resolve_head(self._kv, item, self._clock())

    def list_namespaces(self, prefix: str = "") -> Iterator[str]:
        """Yield the namespaces that ever had a capability."""
        return (namespace for namespace, _ in self.list_logs(prefix))

    def list_logs(self, prefix: str = "") -> Iterator[tuple[str, Item]]:
        """Yield the namespaces that ever had a capability, each with the log of its changes."""
        partition = keys.generation("").partition
        for sort, item in scan_all(self._kv, partition, keys.escape(prefix), page=PAGE):
            yield keys.unescape(sort), item

    def read_generation(self, namespace: str) -> str:
        """Return a token that changes whenever the namespace's capabilities do."""
        item = self.read_log(namespace)
        return item.version if item else ""

    def restart_log(self, namespace: str) -> None:
        """Tell every reader that the whole namespace may have changed."""
        changes.restart_log(self._kv, namespace)

    def save_version(
        self, record: Record, head: Head | None, step: Activation, log: Read | None = None
    ) -> changes.LogPosition | None:
        """Write a new version over `head` and make it the active one.

        `log` is the log of the namespace's changes when it was read already. Return the position of
        this change in the log, see `changes.Announcement`. Raises `Conflict` when the head changed
        or the version's number is taken.
        """
        before = head.state if head else HeadState(latest=0)
        self._put_version(record, expect=ABSENT)
        outdated = self._find_outdated(record)
        size = record.size + before.size
        if head and head.record.expires_at is not None:
            # some of its versions may have run out since; the new one is among them already
            size = sum(old.size for old in self.list_versions(head))
        size -= sum(old.size for old in outdated if old.version >= before.floor)
        position = self.save_head(record, replace(before.activate(step), size=size), head, log)
        for old in outdated:
            self._delete_version(old.namespace, old.name, old.version, old.digest)
        return position

    def note_deployment(self, record: Record, deployment: Deployment) -> Deployment:
        """Record what a version calls, before it is written; it goes with the version.

        Return what is recorded, which may be what somebody else recorded before.
        """
        ttl = self._seconds_left(record)
        if ttl is not None:
            ttl += GRACE_SECONDS
        version = Dependent(record.namespace, record.name, record.digest)
        return self.deployments.write(version, deployment, ttl)

    def save_head(
        self, record: Record, state: HeadState, head: Head | None, log: Read | None = None
    ) -> changes.LogPosition | None:
        """Write a name's head over `head`, and have readers learn of it.

        `log`, the answer and `Conflict` are as in `save_version`.
        """
        ttl = None
        if record.expires_at is not None and head is None:
            ttl = (self._seconds_left(record) or 0) + GRACE_SECONDS
        return self._write_head(record, heads.encode_head(state, encode(record)), head, ttl, log)

    def remove(self, head: Head) -> None:
        """Leave a tombstone: the name is gone, its number goes on, no version of it runs any more.

        Raises `Conflict` when the head changed.
        """
        namespace = head.record.namespace
        name = head.record.name
        self._write_head(
            head.record, heads.encode_head(head.state.remove(), encode(head.record)), head
        )
        for number, value in self._scan_versions(namespace, name):
            version = _decode_readable(value)
            self._delete_version(namespace, name, number, version.digest if version else "")

    def reactivate(self, namespace: str, name: str) -> None:
        """Let queries show a name again that was unused for long."""
        head = self.load_head(namespace, name)
        if head and head.state.inactive and not head.removed:
            # somebody else may change it at this moment; the next call sees what it is then
            with suppress(Conflict):
                self.save_head(head.record, replace(head.state, inactive=False), head)

    def renew(self, record: Record, caller: Caller) -> Record:
        """Return a record after it was deployed once more under its very digest.

        Queries show it again, and one that has an end lives on from now.
        """
        self.reactivate(record.namespace, record.name)
        seconds = record.manifest.seconds_to_live
        if not seconds or record.namespace != caller.target:
            return record
        is_own = (record.author, record.session) == ("model", caller.session)
        if caller.author == "model" and not is_own:
            return record
        head = self.load_head(record.namespace, record.name)
        if head is None or not self.is_running(head) or head.record.digest != record.digest:
            return record  # it was removed at this moment, or another version runs
        renewed = replace(head.record, expires_at=self._clock() + seconds)
        self._put_version(renewed)
        version = Dependent(record.namespace, record.name, record.digest)
        self.deployments.extend(version, seconds + GRACE_SECONDS)
        try:
            self.save_head(renewed, head.state, head)
        except Conflict:
            return head.record
        return renewed

    def _write_head(
        self,
        record: Record,
        body: bytes,
        head: Head | None,
        ttl: float | None = None,
        log: Read | None = None,
    ) -> changes.LogPosition | None:
        """Write `body` as a name's head over `head`, between its announcements."""
        place = (record.namespace, record.name)
        now = self._clock()
        mark = None
        if head:
            fields: VersionFields = {
                "version": head.record.version,
                "digest": head.record.digest,
                "expires_at": head.record.expires_at,
                "manifest": {"public": head.record.manifest.public},
            }
            mark = public_index.mark_for(head.state, fields, now)
        with (
            changes.announced_change(self._kv, *place, now, log) as announcement,
            public_index.mark_follows(self._kv, place, mark, body, now),
        ):
            self._kv.put(keys.capability(*place), body, expect=expect_head(head), ttl=ttl)
        return announcement.position

    def _scan_versions(self, namespace: str, name: str) -> list[tuple[int, bytes]]:
        """Return number and record of every stored version of a name, as it is stored."""
        partition = keys.version(namespace, name, 0).partition
        stored = scan_all(self._kv, partition, f"{name}#", page=PAGE)
        return [(int(sort.rpartition("#")[2]), item.value) for sort, item in stored]

    def _find_outdated(self, newest: Record) -> list[Record]:
        """Return the versions that are too old to be kept and that nothing calls."""
        last = newest.version - VERSIONS_KEPT
        if last <= 0:
            return []
        outdated: list[Record] = []
        partition = keys.version(newest.namespace, newest.name, 0).partition
        prefix = f"{newest.name}#"
        for sort, item in scan_all(self._kv, partition, prefix, page=OUTDATED_PAGE):
            if int(sort.rpartition("#")[2]) > last:
                break
            record = _decode_readable(item.value)
            if record and not self._is_called(record):
                outdated.append(record)
        return outdated

    def _is_called(self, record: Record) -> bool:
        """Return whether a version calls this one, in a namespace that has it by plain name.

        A stranger keeps nothing here.
        """
        for caller in self.deployments.list_dependents(record.digest):
            if self.find_digest(*caller) is None:
                self.deployments.remove_dependent(record.digest, caller)
            elif record.namespace in caller_within(caller.namespace).sees:
                return True
        return False

    def _put_version(self, record: Record, expect: Expect = None) -> None:
        """Write the record of a version, its number by its digest, and when its time runs out."""
        ttl = self._seconds_left(record)
        namespace = record.namespace
        name = record.name
        key = keys.version(namespace, name, record.version)
        self._kv.put(key, encode(record), expect=expect, ttl=ttl)
        self._kv.put(
            keys.version_of_digest(namespace, name, record.digest), b"%d" % record.version, ttl=ttl
        )
        if ttl:
            due = keys.expiry_mark(record.expires_at or 0, namespace, name)
            self._kv.put(due, b"", ttl=ttl + GRACE_SECONDS)

    def _delete_version(self, namespace: str, name: str, number: int, digest: str) -> None:
        self._kv.delete(keys.version(namespace, name, number))
        key = keys.version_of_digest(namespace, name, digest)
        item = self._kv.get(key)
        if item and item.value == b"%d" % number:  # a later version may have the same digest
            self._kv.delete(key)
            self.deployments.forget(namespace, name, digest)

    def _seconds_left(self, record: Record) -> float | None:
        """Return the seconds until a record's end, at least one; None for one without an end."""
        return None if record.expires_at is None else max(record.expires_at - self._clock(), 1.0)


def _decode_readable(data: bytes) -> Record | None:
    """Return the record that is stored so, None for one that was damaged."""
    try:
        return decode(data)
    except BackendError:
        return None
