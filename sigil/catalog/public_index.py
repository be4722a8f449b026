"""The marks of public capabilities, kept in step with the heads of their names, whoever writes
those and when. Reads no manifest.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from typing import Any

from sigil.catalog import changes, heads
from sigil.catalog.heads import HeadState
from sigil.errors import Conflict
from sigil.protocol import LIBRARY, is_full_name
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.update import scan_all

RACES = 20
PAGE = 500


@contextmanager
def mark_follows(
    kv: KV, place: tuple[str, str], before: bytes | None, body: bytes, now: float
) -> Iterator[None]:
    """Have a name's mark follow the write of `body` as its head, which stands inside.

    `before` is the mark that the head asks for which is replaced. When the new one asks for another
    mark, that is announced before the write, so that a crash after it hides nothing.
    """
    namespace, name = place
    if not _may_be_public(namespace, name):
        yield
        return
    wanted = mark_for(*heads.decode_head(body), now)
    changes_it = before != wanted
    with (
        changes.announced_change(kv, keys.EVERYWHERE, f"{namespace}/{name}", now)
        if changes_it
        else nullcontext()
    ):
        yield
        mark = kv.get(keys.public(namespace, name))
        if (mark.value if mark else None) != wanted:
            _follow(kv, namespace, name, now, said=changes_it)


def update_mark(kv: KV, namespace: str, name: str, now: float) -> None:
    """Bring a name's mark in step with its head as it stands now: there while it runs and is
    public.

    Whoever writes a head calls this afterwards, so the last one of several finds the last head.
    Each mark is written over the one that was read before the head, and the head is read again
    afterwards: an old head never wins.
    """
    if _may_be_public(namespace, name):
        _follow(kv, namespace, name, now, said=False)


def mark_for(standing: HeadState, record: Mapping[str, Any], now: float) -> bytes | None:
    """The mark of a name that stands so: its digest, None when other namespaces do not see it.
    `record`: its fields as they are stored.
    """
    runs = not (
        standing.removed
        or standing.inactive
        or record["version"] in standing.yanked
        or heads.is_expired(record, now)
    )
    return str(record["digest"]).encode() if runs and record["manifest"].get("public") else None


def list_marks(kv: KV) -> Iterator[tuple[str, str, str]]:
    """(namespace, name, digest) of every mark."""
    for sort, item in scan_all(kv, keys.public("", "").partition, page=PAGE):
        namespace, _, name = sort.rpartition("#")
        yield keys.unescape(namespace), name, item.value.decode("ascii", "replace")


def _may_be_public(namespace: str, name: str) -> bool:
    return namespace != LIBRARY and is_full_name(f"{namespace}/{name}")


def _follow(kv: KV, namespace: str, name: str, now: float, *, said: bool) -> None:
    for _ in range(RACES):
        mark = kv.get(keys.public(namespace, name))
        head = kv.get(keys.capability(namespace, name))
        wanted = (
            mark_for(*heads.decode_head(heads.resolve_expired(kv, head.value, now)), now)
            if head
            else None
        )
        if wanted == (mark.value if mark else None):
            return
        with (
            nullcontext()
            if said
            else changes.announced_change(kv, keys.EVERYWHERE, f"{namespace}/{name}", now)
        ):
            _write(kv, namespace, name, (mark, wanted))


def _write(kv: KV, namespace: str, name: str, change: tuple[Item | None, bytes | None]) -> None:
    key, (mark, wanted) = keys.public(namespace, name), change
    with suppress(Conflict):  # somebody else's turn; it is looked at again
        if wanted is not None:
            kv.put(key, wanted, expect=mark.version if mark else ABSENT)
        elif mark:
            kv.delete(key, expect=mark.version)
