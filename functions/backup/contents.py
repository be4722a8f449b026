"""What of a store goes into a backup, and in which order it is read.

While servers write, a scan is no picture of one moment. But whatever names another item is written
after it: a conversation's document after the messages that it moved to its archive, a capability's
head after its version. So what names others is read first, and what it names is there when its turn
comes. Waiting events are read before all: an event that is handled meanwhile is in the document as
well, which knows that it was. They are read once more after the documents, since what a turn has
posted leaves its document for a queue. Artifacts never change, and are read last.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator
from typing import Final

import orjson

from functions.agent.session.overflow import find_bodies
from functions.agent.session.store import ARCHIVE
from functions.backup.format import HEADS, POSTED, REST, WAITING
from sigil.json_fields import as_mapping
from sigil.storage.kv import KV, Key, keys
from sigil.storage.kv.base import ScannedItem, scan_everything
from sigil.storage.kv.update import scan_all
from sigil.storage.stored import FORMAT, OF_CAPABILITIES, read_format

SECRET: Final = "secret"
INBOX: Final = "inbox"
MADE_ANEW: Final = frozenset((*keys.READY_INDEXES, "artifact"))
"""The indexes of the inboxes are made of these, and artifacts are files of their own."""
PASSING: Final = frozenset(
    "claim room cooldown tries doctor first-owner daily snapshot backup restoring listener"
    " file-link web-login web-code web-seen watched live".split()
)
"""What has a meaning for the processes of the moment alone: leases, claims of space, short waits,
the counts of deliveries of another queue, the code of a first owner, the times of daily tasks,
search indexes (which are built anew), where a listener left off, the notes of backups themselves,
the key of the addresses of files, which end with a restoration, sign-ins to the page with the codes
for one and what was looked at there, who looks at a chat, and the words of an answer that is being
written.
"""
NAMING: Final = frozenset(
    "capability doc skills skill-head thing things stocked callers-pinned audit-tip memory-link"
    " file token-file kb workspace".split()
)
"""What names items of other partitions that were written before it, beside the documents of
sessions.
"""
CAPABILITIES: Final = frozenset(("capability", "version"))
BODIES: Final = frozenset(("session", "aside"))
FILES: Final = frozenset(("file", "token-file", "workspace-version"))
DOCUMENT_BYTES: Final = 64 << 20
"""The most that a conversation's document is unpacked to where it is not trusted."""
JSON_PARTS: Final = 2_000_000
_DIGEST: Final = re.compile(r"[0-9a-f]{64}")


def kind_of(key: Key) -> str:
    """Return the first part of a partition, which says what its items are."""
    return key.partition.partition("#")[0]


def part_of(key: Key) -> str:
    """Return the part of a backup that an item belongs to; empty for one that is left out, or a
    secret.
    """
    kind = kind_of(key)
    if kind == SECRET or kind in MADE_ANEW or kind in PASSING:
        return ""
    if kind == INBOX:
        return WAITING
    if kind in NAMING or (kind == "session" and not key.sort.startswith(ARCHIVE)):
        return HEADS
    return REST


def is_waiting(part: str) -> bool:
    """Return whether a part has waiting events: those of before the documents were read, or those
    that came meanwhile.
    """
    return part in (WAITING, POSTED)


def scan_part(kv: KV, part: str) -> Iterator[ScannedItem]:
    """Yield the items of a part; with the rest come the secrets, which belong to none."""
    if is_waiting(part):
        yield from _scan_waiting(kv)
        return
    for item in scan_everything(kv):
        if part_of(item.key) == part or (part == REST and kind_of(item.key) == SECRET):
            yield item


def _scan_waiting(kv: KV) -> Iterator[ScannedItem]:
    """Yield the waiting events, session by session: no event waits without a mark of its session.

    None of them ends by itself.
    """
    for index in keys.READY_INDEXES:
        for session, _ in scan_all(kv, index):
            partition = keys.inbox_event(session, "").partition
            for sort, item in scan_all(kv, partition):
                yield ScannedItem(Key(partition, sort), item.value, None)


def session_of_inbox(key: Key) -> str:
    """Return the session of a waiting event, as the index of the inboxes names it."""
    return key.partition.partition("#")[2]


def find_artifacts(item: ScannedItem, *, is_trusted: bool) -> list[str]:
    """Return the names of the artifacts without which an item cannot be read.

    Of an item that is not trusted, and that unpacks to more than any conversation, none is found.
    """
    kind = kind_of(item.key)
    names: list[object] = []
    if kind in BODIES:
        names.extend(find_bodies(item.value if is_trusted else _unpack_bounded(item.value)))
    if kind in CAPABILITIES:
        fields = _read(item.value, is_trusted=is_trusted)
        record = as_mapping(fields.get("record")) or fields
        names.extend(record.get(field) for field in ("wasm", "source"))
    if kind in FILES:
        names.append(_read(item.value, is_trusted=is_trusted).get("artifact"))
    return [name for name in names if isinstance(name, str) and _DIGEST.fullmatch(name)]


def format_of(item: ScannedItem) -> int:
    """Return the number of an item's format."""
    if kind_of(item.key) == OF_CAPABILITIES or not _is_bounded(item.value):
        return FORMAT
    return read_format(item.value)


def _read(value: bytes, *, is_trusted: bool) -> dict[str, object]:
    if not is_trusted and not _is_bounded(value):
        return {}
    try:
        return dict(as_mapping(orjson.loads(value)))
    except ValueError:
        return {}


def _unpack_bounded(value: bytes) -> bytes:
    """Return the JSON of a document or a chunk, empty when it is too large or none."""
    if value[:1] not in (b"{", b"["):
        unpacking = zlib.decompressobj()
        try:
            value = unpacking.decompress(value, DOCUMENT_BYTES)
        except zlib.error:
            return b""
        if not unpacking.eof:
            return b""
    return value if _is_bounded(value) else b""


def _is_bounded(value: bytes) -> bool:
    """Return whether a JSON text has so few parts that reading it fills no memory."""
    return sum(map(value.count, (b",", b"[", b"{"))) <= JSON_PARTS
