"""The public index holds a mark for each public capability, in step with the head of its name.

Whoever writes a head brings its mark in step, whenever that is. No manifest is parsed for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress

from sigil.catalog import changes, heads
from sigil.catalog.heads import HeadState, VersionFields
from sigil.errors import Conflict
from sigil.protocol import LIBRARY, is_full_name
from sigil.storage.kv import ABSENT, KV, keys
from sigil.storage.kv.update import scan_all

RACES = 20
PAGE = 500


@contextmanager
def mark_follows(
    kv: KV, place: tuple[str, str], before: bytes | None, body: bytes, now: float
) -> Iterator[None]:
    """Bring a name's mark in step with the write of `body` as its head, which is made inside.

    `place` is namespace and name; `before` is the mark that the replaced head asks for. When the
    new one asks for another mark, that is announced before the write, so that a crash after it
    hides nothing.
    """
    namespace, name = place
    if not _may_be_public(namespace, name):
        yield
        return
    after = mark_for(*heads.decode_head(body), now)
    announced = nullcontext() if after == before else _announced(kv, namespace, name, now)
    with announced:
        yield
        mark = kv.get(keys.public_mark(namespace, name))
        if (mark.value if mark else None) != after:
            _write_mark(kv, namespace, name, now, is_announced=after != before)


def update_mark(kv: KV, namespace: str, name: str, now: float) -> None:
    """Bring a name's mark in step with its head: it is there while that runs and is public.

    Whoever writes a head calls this afterwards, so that the last of several writers finds the last
    head.
    """
    if _may_be_public(namespace, name):
        _write_mark(kv, namespace, name, now, is_announced=False)


def mark_for(state: HeadState, record: VersionFields, now: float) -> bytes | None:
    """Return the mark of a head: its digest, or None when other namespaces do not see it.

    `record` holds the fields of its record as they are stored.
    """
    if not record["manifest"].get("public") or state.removed or state.inactive:
        return None
    if record["version"] in state.yanked or heads.is_expired(record, now):
        return None
    return record["digest"].encode()


def list_marks(kv: KV) -> Iterator[tuple[str, str, str]]:
    """Yield namespace, name and digest of every mark."""
    for sort, item in scan_all(kv, keys.public_mark("", "").partition, page=PAGE):
        namespace, _, name = sort.rpartition("#")
        yield keys.unescape(namespace), name, item.value.decode("ascii", "replace")


def _may_be_public(namespace: str, name: str) -> bool:
    return namespace != LIBRARY and is_full_name(f"{namespace}/{name}")


@contextmanager
def _announced(kv: KV, namespace: str, name: str, now: float) -> Iterator[None]:
    """Announce in the log of everything that is public that this name changes inside."""
    with changes.announced_change(kv, keys.EVERYWHERE, f"{namespace}/{name}", now):
        yield


def _write_mark(kv: KV, namespace: str, name: str, now: float, *, is_announced: bool) -> None:
    """Write or delete a name's mark until it is in step with its head.

    Each mark is written over the one that was read before the head, and the head is read again
    afterwards, so that an old head never wins.
    """
    key = keys.public_mark(namespace, name)
    for _ in range(RACES):
        mark = kv.get(key)
        head = kv.get(keys.capability(namespace, name))
        after = None
        if head:
            current = heads.resolve_expired(kv, head.value, now)
            after = mark_for(*heads.decode_head(current), now)
        if after == (mark.value if mark else None):
            return
        announced = nullcontext() if is_announced else _announced(kv, namespace, name, now)
        with announced, suppress(Conflict):  # another writer came first: look again
            if after is not None:
                kv.put(key, after, expect=mark.version if mark else ABSENT)
            elif mark:
                kv.delete(key, expect=mark.version)
