"""Older callers are the versions that release 0.1.0 stored without a record of what they call.

Before a name means something else, what the stored versions that call it mean by it is recorded, so
that nothing which was granted before calls what comes now. Release 0.1.0 may write at any time,
beside this one or after an upgrade was taken back, and says only in the log of a namespace's
changes that it did. So every change of a name follows the logs of those who may call it:

- the log of its own namespace, always. How far it was followed is remembered in this process and
  in the store, so it costs nothing while this process alone changes the namespace;
- the logs of other agents when others may call the name, which only a public one is.

The namespaces of single chats are followed never, however many there are: nothing is granted to
what is stored there, and what it calls is recorded when it is first used or published.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

from sigil.catalog import changes
from sigil.catalog.catalog import Catalog
from sigil.catalog.changes import LogPosition
from sigil.catalog.cursors import CHAT_MARK, chat_of
from sigil.catalog.records import Record
from sigil.storage.kv import ABSENT, KV, Item, Read, keys
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import dumps

PAGE = 500
UNSTORED_MOST = 32
"""So many changes of its own a process remembers alone; then it stores how far it came."""
_AFTER_EVERY_CHAT = f"{CHAT_MARK}\x7f"


class OlderCallers:
    """Records what stored versions call, by `record_calls`. It is thread-safe."""

    def __init__(self, kv: KV, catalog: Catalog, record_calls: Callable[[Record], object]) -> None:
        self._kv = kv
        self._catalog = catalog
        self._record_calls = record_calls
        self._followed: dict[str, LogPosition] = {}
        self._unstored: dict[str, int] = {}
        self._lock = threading.Lock()

    def record_callers(self, namespace: str, *, public: bool = True) -> Read | None:
        """Record what all those call who may call a name of `namespace`, before the name changes.

        `public` says that other namespaces may call it, before the change or after it. Returns the
        namespace's log of changes as it was read; None of a chat's, which is not read.
        """
        if chat_of(namespace):
            return None
        log = self._catalog.read_log(namespace)
        if log:  # else nothing was ever stored there
            position = self._followed.get(namespace)
            if position is None:
                position = changes.position_of(self._kv.get(keys.callers_pinned(namespace)))
            self._follow_log(namespace, log, position)
        if public:
            stored: dict[str, LogPosition] = {}
            partition = keys.callers_pinned("").partition
            for sort, item in scan_all(self._kv, partition, page=PAGE):
                position = changes.position_of(item)
                if position:
                    stored[keys.unescape(sort)] = position
            for other, item in self._scan_agent_logs():
                if other != namespace:
                    self._follow_log(other, item, self._followed.get(other) or stored.get(other))
        return log or ABSENT

    def advance(self, namespace: str, log: Read | None, position: LogPosition | None) -> None:
        """Remember that a change of this process came right behind `log`, at `position`."""
        if log is None or position is None:
            return
        before = None if log is ABSENT else changes.log_of(log)
        expected = LogPosition(before.epoch, before.number) if before else None
        with self._lock:
            if self._followed.get(namespace) != expected:
                return
            self._followed[namespace] = position
            self._unstored[namespace] = self._unstored.get(namespace, 0) + 1
            is_due = self._unstored[namespace] >= UNSTORED_MOST
        if is_due:
            self._store_position(namespace, position)

    def _follow_log(self, namespace: str, item: Item, position: LogPosition | None) -> None:
        """Record what the versions call that changed after `position`, or all when it is None."""
        log = changes.log_of(item)
        names = None
        if log and position and position.epoch == log.epoch:
            names = changes.names_since(self._kv, namespace, log, position.number)
        if names is None:
            self._record_all(namespace)
        for name in names or ():
            self._record_all(namespace, name)
        if log is None:
            return
        reached = LogPosition(log.epoch, log.number)
        with self._lock:
            self._followed[namespace] = reached
        if reached != position:
            self._store_position(namespace, reached)

    def _record_all(self, namespace: str, name: str = "") -> None:
        for record in self._catalog.list_stored_versions(namespace, name):
            self._record_calls(record)

    def _store_position(self, namespace: str, position: LogPosition) -> None:
        self._kv.put(keys.callers_pinned(namespace), dumps(position))
        with self._lock:
            self._unstored.pop(namespace, None)

    def _scan_agent_logs(self) -> Iterator[tuple[str, Item]]:
        """Yield the namespaces of agents, each with its log, and pass over those of chats."""
        partition = keys.generation("").partition
        after = ""
        while page := self._kv.scan(partition, after=after, limit=PAGE):
            for sort, item in page:
                if CHAT_MARK not in sort and sort != keys.generation(keys.EVERYWHERE).sort:
                    yield keys.unescape(sort), item
            after = page[-1][0]
            if CHAT_MARK in after:
                after = after.partition(CHAT_MARK)[0] + _AFTER_EVERY_CHAT
            if len(page) < PAGE:
                return
