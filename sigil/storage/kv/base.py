"""Define the contract of a key-value store: four verbs, which every back-end keeps in races too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, Literal, NamedTuple, Protocol, runtime_checkable

from sigil.errors import BackendError


class Key(NamedTuple):
    """The key of an item; those of one partition are ordered by `sort` (by UTF-8 bytes)."""

    partition: str
    sort: str


@dataclass(frozen=True, slots=True)
class Item:
    """A stored value. `version` is a token unique to the write that made it, also after delete and
    re-create.
    """

    value: bytes
    version: str


class _Absent(Enum):
    ABSENT = "absent"


ABSENT: Final = _Absent.ABSENT
"""As `expect`: the item must not exist (an expired one does not)."""

Read = Item | Literal[_Absent.ABSENT]
"""The result of a read: the item, or that there is none.

`Item | None` could not distinguish an item that is missing from one that was not read.
"""
Expect = str | Literal[_Absent.ABSENT] | None


class KV(Protocol):
    """A key-value store with consistent reads.

    `expect` is the condition of a write: None for none, `ABSENT` when the item must not exist, or
    the version that it must have; `Conflict` when it does not hold. An expired item is invisible at
    once. A store that cannot answer raises `BackendError`.
    """

    def get(self, key: Key) -> Item | None:
        """Return the item, None when there is none."""

    def put(
        self, key: Key, value: bytes, *, expect: Expect = None, ttl: float | None = None
    ) -> str:
        """Write the whole item and return its new version. `ttl` in seconds from now; None keeps it
        for good.
        """

    def delete(self, key: Key, *, expect: Expect = None) -> None:
        """Remove the item; a missing one is fine unless `expect` is a version."""

    def scan(
        self, partition: str, prefix: str = "", after: str = "", limit: int = 100
    ) -> list[tuple[str, Item]]:
        """Return the next items of a partition in the order of their sort keys: those that start
        with `prefix` and come after `after`, at most `limit`, and fewer only when no more are left.
        """


@runtime_checkable
class ReadsMany(Protocol):
    """A store that reads several items with one request."""

    def get_many(self, keys: Sequence[Key]) -> list[Item | None]:
        """Return the item of each key, at most `KEYS_MOST` of them, or None where there is none.

        Each read is consistent; together they are no snapshot: a write may fall between two.
        """


@runtime_checkable
class ListsPartitions(Protocol):
    """A store that tells what partitions it has: for maintenance alone, never on a turn's path."""

    def list_partitions(self, prefix: str = "") -> Iterator[str]:
        """Yield the name of each partition that has an item and begins with `prefix`, in any order.

        It may read the whole store. One whose items have all expired, or that comes or goes
        meanwhile, may be named or not.
        """


def list_partitions(kv: KV, prefix: str = "") -> Iterator[str]:
    """Yield the names of the partitions that begin with `prefix`; `BackendError` ENOLIST where the
    store cannot tell.
    """
    if not isinstance(kv, ListsPartitions):
        raise BackendError("ENOLIST", "this store cannot tell what is in it")
    yield from kv.list_partitions(prefix)


@dataclass(frozen=True, slots=True)
class ScannedItem:
    """An item that a scan of the whole store found. It ends at `expires` (seconds since the epoch),
    or never.
    """

    key: Key
    value: bytes
    expires: float | None


@runtime_checkable
class ScansEverything(Protocol):
    """A store that can be read from end to end: for maintenance alone, never on a turn's path."""

    def scan_everything(self) -> Iterator[ScannedItem]:
        """Yield every live item once, in any order, a page at a time.

        An item that is written meanwhile is the old or the new one; one that comes or goes
        meanwhile may be missing. Each was in the store after the first of them was asked for.
        """


def scan_everything(kv: KV) -> Iterator[ScannedItem]:
    """Yield every live item of a store; `BackendError` ENOLIST where the store cannot do that."""
    if not isinstance(kv, ScansEverything):
        raise BackendError("ENOLIST", "this store cannot tell what is in it")
    yield from kv.scan_everything()


@runtime_checkable
class BoundsItems(Protocol):
    """A store that takes items up to a size, which it tells before one is written."""

    def require_fitting(self, key: Key, value: bytes) -> None:
        """Raise `UsageError` ETOOBIG for an item that is too large."""


KEYS_MOST: Final = 100
"""Keys of one `get_many`: DynamoDB takes no more in a request."""


def get_many(kv: KV, keys: Sequence[Key]) -> list[Item | None]:
    """Return the item of each key, or None, with one request where the store can.

    A store without that verb, such as a wrapped one, reads one item after the other.
    """
    if hasattr(kv, "get_many"):  # asking for the protocol takes longer than most reads
        items: list[Item | None] = kv.get_many(keys)
        return items
    return [kv.get(key) for key in keys]
