"""The record of what the consolidations beside a session's turns came to.

They write no session document: its version is the fence of the turns. The session's next turn reads
this record with all else that it begins with, and adopts it into the document.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from functions.agent.conversation.messages import Count, Number
from functions.agent.session.document import OUTBOX_MOST, Document, Outgoing
from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

CHUNKS_MOST: Final = 1_000
"""The record names so many chunks at most; of others, memory hears that they are known."""


@dataclass(frozen=True, slots=True)
class MemoryProgress(Stored):
    """The part of a session that memory has heard of beside the turns.

    `heard` is the last message of it, `chunks` the first messages of the archived chunks that it
    has heard all of. `tried` is what was `owed` when a consolidation last ended, whatever came of
    it, and `failures` counts how often in a row one failed. `notice` is for the people of the chat,
    written at `at` (seconds since 1970).
    """

    heard: Count = 0
    chunks: tuple[int, ...] = ()
    tried: Count = 0
    failures: Count = 0
    notice: str = ""
    at: Number = 0.0


_PROGRESS: Final = Shape[MemoryProgress](MemoryProgress)


def adopt_progress(session: str, document: Document, item: Item | None) -> Document:
    """Return the document of a session (S of the keys) with what was just read at
    `memory_progress`.

    To adopt the same again changes nothing. A record that cannot be read is as none: whoever
    consolidates next finds the entries of HISTORY.
    """
    progress = _read(item.value if item else None)
    if progress == MemoryProgress():
        return document
    known = document.consolidated
    outbox = document.outbox
    failures = document.failures
    if progress.heard > known:
        failures = progress.failures
        if progress.notice:
            # an id of its own, beside the answer to whatever was asked
            chat = keys.unescape(session.partition("#")[2])
            name = f"memory:{chat}:{progress.heard}"
            outbox = (*outbox, Outgoing(name, chat, progress.notice, at=progress.at))
    elif progress.heard == known:
        failures = max(failures, progress.failures)
    unheard = tuple(first for first in document.unheard if first not in progress.chunks)
    is_due = bool(unheard) and document.owed > progress.tried
    return evolve(
        document,
        consolidated=min(max(known, progress.heard), document.next_seq - 1),
        unheard=unheard,
        failures=failures,
        outbox=outbox[-OUTBOX_MOST:],
        owed=document.owed if is_due else 0,
    )


def save_progress(kv: KV, session: str, stored: Document, progress: MemoryProgress) -> None:
    """Write down what a consolidation came to, beside what no turn has adopted yet.

    `stored` is the session's document as it was read, before it adopted anything.
    """

    def decide(value: bytes | None) -> tuple[bytes | None, None]:
        before = _read(value)
        after = progress
        if before.heard > stored.consolidated:
            chunks = sorted({*before.chunks, *progress.chunks})
            after = evolve(
                progress,
                heard=max(before.heard, progress.heard),
                chunks=tuple(chunks[-CHUNKS_MOST:]),
                notice=progress.notice or before.notice,
            )
        after = evolve(after, tried=max(before.tried, progress.tried), _rest=before._rest)
        return (dumps(after) if after != before else None), None

    update(kv, keys.memory_progress(session), decide)


def _read(value: bytes | None) -> MemoryProgress:
    """Return the stored progress, an empty one where there is none that can be read."""
    try:
        return _PROGRESS.read(value) if value is not None else MemoryProgress()
    except ValueError:
        return MemoryProgress()
