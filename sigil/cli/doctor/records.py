"""Which records of a store cannot be read: capabilities, their versions and grants, secrets,
tokens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

from sigil.access.grants import read_grants
from sigil.access.secret_store import read_secret
from sigil.access.tokens import read_holder
from sigil.catalog.records import decode, head_of
from sigil.errors import BackendError, one_line
from sigil.storage.kv import KV, Item, Key, keys

MOST: Final = 20_000
"""Records that are read; a larger store is looked at as far as that."""
NAMED: Final = 6
"""Records that are told by name."""
PAGE: Final = 500
_LOST: Final = "restore a backup, or use another store"


@dataclass(frozen=True, slots=True)
class _Kept:
    """A record: what it is, how to go on when it cannot be read, and a way to try."""

    what: str
    mend: str
    read: Callable[[], object]


def look(kv: KV) -> str:
    """How many records can be read; `BackendError` EDAMAGED with those that cannot be."""
    seen = list(islice(_all(kv), MOST))
    broken = [kept for kept in seen if not _can_be_read(kept)]
    if broken:
        more = f" and {len(broken) - NAMED:,} more" if len(broken) > NAMED else ""
        named = ", ".join(one_line(kept.what, 80) for kept in broken[:NAMED])
        mends = "; ".join(dict.fromkeys(kept.mend for kept in broken[:NAMED]))
        raise BackendError("EDAMAGED", f"cannot be read: {named}{more}", suggestion=mends)
    return f"{'the first ' if len(seen) == MOST else ''}{len(seen):,} can be read"


def _can_be_read(kept: _Kept) -> bool:
    try:
        kept.read()
    except BackendError:
        return False
    return True


def _all(kv: KV) -> Iterator[_Kept]:
    for digest, item in _scan(kv, keys.token("")):
        yield _Kept(
            f"token {digest[:12]}",
            f"sigil keys revoke {digest[:12]}",
            partial(read_holder, digest, item),
        )
    for place, _ in _scan(kv, keys.generation("")):
        yield from _in(kv, keys.unescape(place))


def _in(kv: KV, namespace: str) -> Iterator[_Kept]:
    for name, item in _scan(kv, keys.capability(namespace, "")):
        yield _Kept(f"{namespace}/{name}", _LOST, partial(head_of, item.value, item.version))
    for sort, item in _scan(kv, keys.version(namespace, "", 0)):
        name, _, number = sort.rpartition("#")
        mend = f"{_LOST}; or sigil remove {name} --namespace {namespace}, then deploy it anew"
        yield _Kept(f"{namespace}/{name}@{number.lstrip('0')}", mend, partial(decode, item.value))
    for sort, item in _scan(kv, keys.grants(namespace, namespace, "")):
        name = sort.rpartition("#")[2]
        mend = f"sigil revoke {name} --namespace {namespace}, then grant anew"
        yield _Kept(f"grants of {namespace}/{name}", mend, partial(read_grants, item, name))
    for name, item in _scan(kv, keys.secret(namespace, "")):
        yield _Kept(
            f"secret {name}",
            f"sigil secret set {name} --namespace {namespace}",
            partial(read_secret, name, item),
        )


def _scan(kv: KV, key: Key) -> Iterator[tuple[str, Item]]:
    """Everything in a key's partition."""
    after = ""
    while page := kv.scan(key.partition, after=after, limit=PAGE):
        yield from page
        after = page[-1][0]
