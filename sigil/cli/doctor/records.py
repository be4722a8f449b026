"""The check that every record of a store can be read: capabilities, versions, grants, secrets,
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
from sigil.catalog.records import decode, parse_head
from sigil.errors import BackendError, one_line
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import scan_all

MOST: Final = 20_000
"""Records that are read; a larger store is looked at as far as that."""
NAMED: Final = 6
"""Records that are told by name."""
_LOST: Final = "restore a backup, or use another store"


@dataclass(frozen=True, slots=True)
class _Record:
    """One record: its name, what to do when it cannot be read, and a function that reads it."""

    what: str
    mend: str
    read: Callable[[], object]


def check_all_records(kv: KV) -> str:
    """Return how many records can be read; `BackendError` EDAMAGED names those that cannot."""
    seen = list(islice(_scan_records(kv), MOST))
    broken = [kept for kept in seen if not _can_be_read(kept)]
    if broken:
        more = f" and {len(broken) - NAMED:,} more" if len(broken) > NAMED else ""
        named = ", ".join(one_line(kept.what, 80) for kept in broken[:NAMED])
        mends = "; ".join(dict.fromkeys(kept.mend for kept in broken[:NAMED]))
        raise BackendError("EDAMAGED", f"cannot be read: {named}{more}", suggestion=mends)
    return f"{'the first ' if len(seen) == MOST else ''}{len(seen):,} can be read"


def _can_be_read(kept: _Record) -> bool:
    try:
        kept.read()
    except BackendError:
        return False
    return True


def _scan_records(kv: KV) -> Iterator[_Record]:
    for digest, item in scan_all(kv, keys.token("").partition):
        yield _Record(
            f"token {digest[:12]}",
            f"sigil keys revoke {digest[:12]}",
            partial(read_holder, digest, item),
        )
    for place, _ in scan_all(kv, keys.generation("").partition):
        yield from _scan_namespace(kv, keys.unescape(place))


def _scan_namespace(kv: KV, namespace: str) -> Iterator[_Record]:
    for name, item in scan_all(kv, keys.capability(namespace, "").partition):
        yield _Record(f"{namespace}/{name}", _LOST, partial(parse_head, item.value, item.version))
    for sort, item in scan_all(kv, keys.version(namespace, "", 0).partition):
        name, _, number = sort.rpartition("#")
        mend = f"{_LOST}; or sigil remove {name} --namespace {namespace}, then deploy it anew"
        yield _Record(f"{namespace}/{name}@{number.lstrip('0')}", mend, partial(decode, item.value))
    for sort, item in scan_all(kv, keys.grants(namespace, namespace, "").partition):
        name = sort.rpartition("#")[2]
        mend = f"sigil revoke {name} --namespace {namespace}, then grant anew"
        yield _Record(f"grants of {namespace}/{name}", mend, partial(read_grants, item, name))
    for name, item in scan_all(kv, keys.secret(namespace, "").partition):
        yield _Record(
            f"secret {name}",
            f"sigil secret set {name} --namespace {namespace}",
            partial(read_secret, name, item),
        )
