"""The sweeper removes what has expired, and hides from queries what nobody used for long.

It reads no manifest, so every process can afford it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import orjson

from sigil.catalog import changes, heads, public_index, usage
from sigil.catalog.audit import Audit
from sigil.catalog.heads import HeadState, RecordFields
from sigil.errors import BackendError, Conflict
from sigil.storage.artifacts import Artifacts
from sigil.storage.kept_files import KeptFiles
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.update import scan_all

IDLE_SECONDS = 30 * 86_400.0
DAY_SECONDS = 86_400.0
AGAIN_SECONDS = 300.0
"""When the daily work is begun anew after a process that died in it; no tick takes so long."""
AT_ONCE = 500
"""Expiries of one sweep at most; the next one goes on."""
PAGE = 500


@dataclass(frozen=True, slots=True)
class SweepResult:
    """The counts of what a sweep did."""

    expired: int = 0
    inactive: int = 0


@dataclass(frozen=True, slots=True)
class _StoredHead:
    """A head with the fields of its record, and the store's version of it as `token`."""

    namespace: str
    name: str
    state: HeadState
    record: RecordFields
    token: str


class Sweeper:
    """The sweeper over a store.

    Several may run: each step is a conditional write, and the daily work is begun by one of them.
    """

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock
        self._audit = Audit(kv, clock)

    def sweep(self) -> SweepResult:
        """Remove what has expired; once a day, mark what is unused and sum up the statistics.

        Daily work that fails raises its error, and is done by the next sweep.
        """
        expired = self.remove_expired()
        with self._once_a_day() as is_due:
            inactive = self.mark_idle() if is_due else 0
            return SweepResult(expired, inactive)

    def remove_expired(self) -> int:
        """Remove the capabilities whose time has run out, and return how many those were."""
        removed = 0
        now = self._clock()
        for sort, _ in self._kv.scan(keys.expiry_mark(0, "", "").partition, limit=AT_ONCE):
            due, escaped, name = sort.split("#", 2)
            if int(due) >= now:
                break
            namespace = keys.unescape(escaped)
            if self._remove_capability(namespace, name):
                removed += 1
            self._kv.delete(keys.expiry_mark(int(due), namespace, name))
        return removed

    def mark_idle(self) -> int:
        """Mark the normal capabilities that nobody called for 30 days; return how many those were.

        It also sums up the statistics, and does what a process that died left undone: public marks
        follow their heads. A damaged record keeps nobody else's from being looked at; its error is
        raised at the end.
        """
        marked = 0
        damage = None
        for sort, _ in scan_all(self._kv, keys.generation("").partition, page=PAGE):
            try:
                marked += self._mark_idle_in(keys.unescape(sort))
            except BackendError as problem:
                if problem.code != "EDAMAGED":
                    raise
                damage = problem
        for namespace, name, _ in list(public_index.list_marks(self._kv)):
            try:
                public_index.update_mark(self._kv, namespace, name, self._clock())
            except BackendError as problem:
                if problem.code != "EDAMAGED":
                    raise
                damage = problem
        if damage:
            raise damage
        return marked

    def _remove_capability(self, namespace: str, name: str) -> bool:
        """Remove a capability if its time has run out, and return whether it had."""
        key = keys.capability(namespace, name)
        item = self._kv.get(key)
        if item is None:
            return False
        state, record = heads.decode_head(item.value)
        if state.removed or not heads.is_expired(record, self._clock()):
            return False  # it was removed, or another version runs
        granted = self._kv.get(keys.grants(namespace, namespace, name))
        try:
            with changes.announced_change(self._kv, namespace, name, self._clock()):
                # an older version that lasts runs again; where there is none the name goes, unless
                # a yanked one may be brought back by hand
                older = heads.fall_back(self._kv, state, record, self._clock())
                versions = keys.version(namespace, name, 0).partition
                if older:
                    self._kv.put(key, older, expect=item.version)
                elif not self._kv.scan(versions, f"{name}#", limit=1):
                    self._kv.delete(key, expect=item.version)
                    usage.forget_counts(self._kv, namespace, name)
        except Conflict:
            return False
        if granted:
            self._revoke_grants(namespace, name, record["digest"], granted)
        public_index.update_mark(self._kv, namespace, name, self._clock())
        self._audit.note(
            namespace, "expire", name=name, version=record["version"], digest=record["digest"]
        )
        return True

    def _revoke_grants(self, namespace: str, name: str, digest: str, granted: Item) -> None:
        """Take away what was granted to the version that ended: its next author is another one.

        Grants that cannot be read go as a whole, since nobody has them then.
        """
        try:
            others = [row for row in orjson.loads(granted.value) if row["digest"] != digest]
        except (ValueError, TypeError, LookupError):
            others = []
        key = keys.grants(namespace, namespace, name)
        # an owner grants something at this moment; a deploy of that version takes it away too
        with suppress(Conflict):
            self._kv.put(key, orjson.dumps(others), expect=granted.version)

    def _mark_idle_in(self, namespace: str) -> int:
        """Mark the idle capabilities of a namespace, and return how many those were."""
        usage.fold_done_writers(self._kv, namespace, self._clock())
        uses = usage.last_uses(self._kv, namespace)
        marked = 0
        partition = keys.capability(namespace, "").partition
        for name, item in scan_all(self._kv, partition, page=PAGE):
            head = _StoredHead(namespace, name, *heads.decode_head(item.value), item.version)
            if public_index.mark_for(head.state, head.record, self._clock()):
                public_index.update_mark(self._kv, namespace, name, self._clock())
            lifetime = head.record["manifest"].get("lifetime", "normal")
            if head.state.removed or head.state.inactive or lifetime != "normal":
                continue
            history = head.state.history
            changed = history[-1].at if history else 0.0
            last_use = max(uses.get(name, 0.0), head.record["at"], changed)
            if self._clock() - last_use > IDLE_SECONDS:
                with suppress(Conflict):  # it was used at this moment
                    self._mark_inactive(head)
                    marked += 1
        return marked

    def _mark_inactive(self, head: _StoredHead) -> None:
        """Write the head as inactive; `Conflict` when it changed meanwhile."""
        place = (head.namespace, head.name)
        inactive = replace(head.state, inactive=True)
        body = heads.encode_head(inactive, heads.encode_record(head.record))
        with changes.announced_change(self._kv, *place, self._clock()):
            self._kv.put(keys.capability(*place), body, expect=head.token)
            public_index.update_mark(self._kv, *place, self._clock())
            version = head.record["version"]
            self._audit.note(head.namespace, "inactive", name=head.name, version=version)

    @contextmanager
    def _once_a_day(self) -> Iterator[bool]:
        """Yield whether this sweep does the daily work, which is done when the block ends well.

        While it is being done, the store holds a time a day ago but for `AGAIN_SECONDS`, so that
        the work of a process that died is begun anew.
        """
        key = keys.daily_task("lifetimes")
        now = self._clock()
        item = self._kv.get(key)
        last_run = None
        with suppress(ValueError):  # a damaged time is no reason to wait
            last_run = float(item.value) if item else None
        if last_run is not None and 0 <= now - last_run < DAY_SECONDS:
            yield False
            return
        begun = b"%.3f" % (now - DAY_SECONDS + AGAIN_SECONDS)
        try:
            token = self._kv.put(key, begun, expect=item.version if item else ABSENT)
        except Conflict:  # somebody else begins at this moment
            yield False
            return
        try:
            yield True
        except BaseException:
            with suppress(Conflict, BackendError):
                self._kv.delete(key, expect=token)
            raise
        with suppress(Conflict):
            self._kv.put(key, b"%.3f" % now, expect=token)


@runtime_checkable
class SweepableStore(Protocol):
    """A store that does not forget expired items by itself."""

    def sweep(self) -> int:
        """Remove what has expired, and return how many items that were."""


def sweep(
    kv: KV, clock: Callable[[], float] = time.time, artifacts: Artifacts | None = None
) -> Mapping[str, int]:
    """Sweep once, and return the counts that are not 0.

    They are the `items` that went, the `files` whose time was over, and the capabilities that
    `expired` or became `inactive`.
    """
    items = kv.sweep() if isinstance(kv, SweepableStore) else 0
    aged = Sweeper(kv, clock).sweep()
    files = KeptFiles(kv, artifacts, clock).sweep() if artifacts else 0
    counts = {"items": items, "files": files, "expired": aged.expired, "inactive": aged.inactive}
    return {name: count for name, count in counts.items() if count}
