"""What owners have granted: permissions of one version of a capability, by its digest."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Protocol

import orjson

from sigil.catalog import Catalog, Record
from sigil.errors import Conflict
from sigil.kv import ABSENT, KV, Item, Key, keys
from sigil.manifest import Manifest
from sigil.permissions import asked
from sigil.protocol import LIBRARY, Caller
from sigil.secretbook import by

KEPT = 20
"""Versions of a capability whose grants are kept."""
RACES = 10
PAGE = 200


@dataclass(frozen=True, slots=True)
class Grant:
    """What stands for one version. `at`: seconds since the epoch."""

    digest: str
    permissions: tuple[str, ...]
    at: float
    by: str


@dataclass(frozen=True, slots=True)
class Waiting:
    """A version with what it asks for and what of it is granted."""

    record: Record
    granted: frozenset[str]

    @property
    def missing(self) -> tuple[str, ...]:
        return tuple(text for text in asked(self.record.manifest) if text not in self.granted)


class Version(Protocol):
    """What a grant is bound to: a record, or a part of a run."""

    @property
    def namespace(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def digest(self) -> str: ...
    @property
    def manifest(self) -> Manifest: ...


class Grantbook:
    """The grants of a store; every verb reads it anew, so what is revoked is gone at the next call."""

    def __init__(self, kv: KV, clock: Callable[[], float] = time.time) -> None:
        self._kv = kv
        self._clock = clock

    def granted(self, record: Version, home: str = "") -> frozenset[str]:
        """Those of the permissions it asks for that are granted to this digest. `home`: for whom it runs, see `home_of`."""
        wanted = asked(record.manifest)
        if not wanted:
            return frozenset()
        grants = self.grants(record.namespace, record.name, home)
        return frozenset(text for grant in grants if grant.digest == record.digest for text in grant.permissions if text in wanted)

    def grants(self, namespace: str, name: str, home: str = "") -> tuple[Grant, ...]:
        """Every grant of a capability, newest first."""
        return _read(self._kv.get(keys.grants(namespace, home or namespace, name)))

    def grant(self, record: Record, permissions: frozenset[str], who: str, home: str = "") -> Grant:
        """Let this digest have exactly `permissions`, of those that it asks for."""
        given = Grant(record.digest, tuple(text for text in asked(record.manifest) if text in permissions), self._clock(), who)
        key = keys.grants(record.namespace, home or record.namespace, record.name)
        self._change(key, lambda grants: (given, *(grant for grant in grants if grant.digest != record.digest))[:KEPT])
        return given

    def revoke(self, namespace: str, name: str, permission: str = "", home: str = "") -> frozenset[str]:
        """Take `permission` (empty: all of them) from every version of a capability; what was taken."""
        key = keys.grants(namespace, home or namespace, name)
        before = _read(self._kv.get(key))
        taken = frozenset(text for grant in before for text in grant.permissions if permission in ("", text))
        if taken:
            self._change(key, lambda grants: tuple(filter(_holds, (_without(grant, taken) for grant in grants))))
        return taken

    def carry(self, before: Record | None, record: Record, caller: Caller) -> None:
        """An owner's own redeploy that asks for nothing new keeps what stood for the version that it replaces."""
        if before is None or before.digest == record.digest or not caller.owner or caller.author != "person":
            return
        kept = frozenset() if self.granted(record) else self.granted(before)
        if kept and set(asked(record.manifest)) <= set(asked(before.manifest)):
            self.grant(record, kept, by(caller))

    def waiting(self, catalog: Catalog, namespace: str, home: str = "") -> list[Waiting]:
        """The active capabilities of a namespace that ask for what is not granted."""
        records = (record for record in catalog.names(namespace) if asked(record.manifest))
        rows = (Waiting(record, self.granted(record, home)) for record in records)
        return [row for row in rows if row.missing]

    def names(self, home: str) -> list[tuple[str, str]]:
        """(namespace, name) of every capability that has grants from the owners of `home`."""
        found: list[tuple[str, str]] = []
        after = ""
        while page := self._kv.scan(keys.grants("", home, "").partition, after=after, limit=PAGE):
            for sort, _ in page:
                namespace, _, name = sort.partition("#")
                found.append((keys.unescape(namespace) or home, name))
                after = sort
        return found

    def _change(self, key: Key, change: Callable[[tuple[Grant, ...]], tuple[Grant, ...]]) -> None:
        for _ in range(RACES):
            item = self._kv.get(key)
            body = orjson.dumps([asdict(grant) for grant in change(_read(item))])
            try:
                self._kv.put(key, body, expect=item.version if item else ABSENT)
            except Conflict:
                continue
            return
        raise Conflict("the grants are being changed by somebody else at this moment")


def home_of(namespace: str, caller: Caller) -> str:
    """Whose grants, secrets and stored keys a run has: those of the capability's namespace; for the library's, those of the caller's."""
    return caller.namespace if namespace == LIBRARY else namespace


def _read(item: Item | None) -> tuple[Grant, ...]:
    rows = orjson.loads(item.value) if item else []
    return tuple(Grant(row["digest"], tuple(row["permissions"]), row["at"], row["by"]) for row in rows)


def _without(grant: Grant, taken: frozenset[str]) -> Grant:
    return Grant(grant.digest, tuple(text for text in grant.permissions if text not in taken), grant.at, grant.by)


def _holds(grant: Grant) -> bool:
    return bool(grant.permissions)
