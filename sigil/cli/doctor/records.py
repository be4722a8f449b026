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

RECORDS_MOST: Final = 20_000
"""The records that are read; a larger store is checked as far as that."""
NAMED_MOST: Final = 6
"""The damaged records that are named; the others are counted."""
_RESTORE: Final = "restore a backup, or use another store"


@dataclass(frozen=True, slots=True)
class _Record:
    """One record: its name, what to do when it cannot be read, and a function that reads it."""

    name: str
    remedy: str
    read: Callable[[], object]


def check_all_records(kv: KV) -> str:
    """Return how many records can be read; `BackendError` EDAMAGED names those that cannot."""
    count = 0
    damaged = []
    for record in islice(_scan_records(kv), RECORDS_MOST):
        count += 1
        try:
            record.read()
        except BackendError:
            damaged.append(record)
    if damaged:
        names = ", ".join(one_line(record.name, 80) for record in damaged[:NAMED_MOST])
        if len(damaged) > NAMED_MOST:
            names += f" and {len(damaged) - NAMED_MOST:,} more"
        remedies = "; ".join(dict.fromkeys(record.remedy for record in damaged[:NAMED_MOST]))
        raise BackendError("EDAMAGED", f"cannot be read: {names}", suggestion=remedies)
    first = "the first " if count == RECORDS_MOST else ""
    return f"{first}{count:,} can be read"


def _scan_records(kv: KV) -> Iterator[_Record]:
    for digest, item in scan_all(kv, keys.token("").partition):
        yield _Record(
            f"token {digest[:12]}",
            f"sigil keys revoke {digest[:12]}",
            partial(read_holder, digest, item),
        )
    for escaped, _ in scan_all(kv, keys.generation("").partition):
        yield from _scan_namespace(kv, keys.unescape(escaped))


def _scan_namespace(kv: KV, namespace: str) -> Iterator[_Record]:
    option = f"--namespace {namespace}"
    for name, item in scan_all(kv, keys.capability(namespace, "").partition):
        read = partial(parse_head, item.value, item.version)
        yield _Record(f"{namespace}/{name}", _RESTORE, read)
    for sort, item in scan_all(kv, keys.version(namespace, "", 0).partition):
        name, _, number = sort.rpartition("#")
        yield _Record(
            f"{namespace}/{name}@{number.lstrip('0')}",
            f"{_RESTORE}; or sigil remove {name} {option}, then deploy it anew",
            partial(decode, item.value),
        )
    for sort, item in scan_all(kv, keys.grants(namespace, namespace, "").partition):
        name = sort.rpartition("#")[2]
        yield _Record(
            f"grants of {namespace}/{name}",
            f"sigil revoke {name} {option}, then grant anew",
            partial(read_grants, item, name),
        )
    for name, item in scan_all(kv, keys.secret(namespace, "").partition):
        yield _Record(
            f"secret {name}", f"sigil secret set {name} {option}", partial(read_secret, name, item)
        )
