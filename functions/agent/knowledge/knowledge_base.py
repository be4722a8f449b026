"""A knowledge base keeps the documents of one scope, and finds the chunks that answer a question.

A document is there once its record says which version of it counts; its chunks and their postings
are written before that, and the postings of an earlier version removed after it, whose chunks stay
for a while. What a crash leaves is found by nobody, and the next writer removes it.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Final

from functions.agent.knowledge.chunking import split_text
from functions.agent.knowledge.record import (
    DOCUMENT,
    GROUP,
    TOTALS,
    WHY_CHARACTERS,
    Chunk,
    ChunkGroup,
    Draft,
    KnowledgeDocument,
    KnowledgeTotals,
    Pending,
    is_id,
)
from functions.agent.memory.helpers import Ranker
from functions.agent.memory.postings import StoredPostings
from functions.events import LOCAL_SENDERS
from sigil.errors import Conflict, Refused, UsageError, one_line
from sigil.storage.kv import ABSENT, KV, Expect, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import damaged, dumps

if TYPE_CHECKING:
    from functions.agent.knowledge.earlier_versions import DocumentVersion, EarlierVersions
    from functions.agent.shares import Holder

CHUNKS_MOST: Final = 20_000
"""The room of one knowledge base."""
GROUP_SIZE: Final = 8
"""So many chunks are one item of the store."""
BUCKETS: Final = 1_024
STALE_SECONDS: Final = 3_600.0
"""Whoever began to write so long ago has ended: no function and no turn takes longer."""
CANDIDATES: Final = 64
CANDIDATES_FILTERED: Final = 512
"""So many chunks are looked at where not all documents are meant."""
STRENGTH_BITS: Final = 16
START_BITS: Final = 16
"""A chunk's number is its version's serial, and behind it the number of the chunk within it."""
FREED: Final = "owners drop documents, with `uncaged kb drop ID`; `uncaged kb list` shows them"
"""Who makes room for a document, and how."""
WRITTEN_MEANWHILE: Final = "somebody else wrote this document at the same time: read it again"


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """A document and its id."""

    id: str
    record: KnowledgeDocument


@dataclass(frozen=True, slots=True)
class WrittenDocument:
    """A document after it was written; `new`: there was none of its id before, `changed`: it was
    not there like this already.
    """

    id: str
    record: KnowledgeDocument
    new: bool
    changed: bool


@dataclass(frozen=True, slots=True)
class FoundChunk:
    """A chunk that answers a question, with the document that it is of; `score` in 0…1."""

    id: str
    record: KnowledgeDocument
    chunk: Chunk
    score: float


Wanted = Callable[[KnowledgeDocument], bool]
"""Returns whether a document is meant."""


class KnowledgeBase:
    """The documents of one scope: an `escape`d agent, or `keys.team_of` a root.

    `now` returns seconds since 1970.
    """

    def __init__(self, kv: KV, scope: str, ranker: Ranker, now: Callable[[], float]) -> None:
        self._kv = kv
        self._scope = scope
        self._ranker = ranker
        self._now = now
        self._postings = StoredPostings(
            kv, partial(keys.knowledge_index, scope), self._scan_entries, BUCKETS
        )

    @cached_property
    def _earlier(self) -> EarlierVersions:
        # a turn that neither writes nor brings back a document needs none of it
        from functions.agent.knowledge.earlier_versions import EarlierVersions

        return EarlierVersions(self._kv, self._scope)

    def read(self, id: str) -> KnowledgeDocument:
        """Return a document; `UsageError` ENOENT when there is none of this id."""
        item = self._kv.get(keys.knowledge_document(self._scope, id)) if is_id(id) else None
        record = _decode(item)
        if record is None or not record.is_there:
            raise _absent(id)
        return record

    def read_text(self, id: str) -> str:
        """Return the whole text of a document; errors as `read`, and `BackendError` EDAMAGED when a
        part of it is gone.
        """
        return self.read_text_of(id, self.read(id))

    def read_text_of(self, id: str, record: KnowledgeDocument) -> str:
        """Return the whole text of a version of a document; errors as `read_text`."""
        chunks = [chunk for group in self._scan_groups(record.serial) for chunk in group.chunks]
        if len(chunks) != record.chunks:
            hint = "add it again, or drop it"
            raise damaged(f"a part of the document {id} is gone", suggestion=hint)
        return "".join(chunk.text for chunk in chunks)

    def read_version(self, id: str, version: int) -> KnowledgeDocument:
        """Return a version of a document; errors as `read`, and ENOENT for one that is not kept."""
        newest = self.read(id)
        if version == newest.version:
            return newest
        found = self._earlier.find(id, version) if 0 < version < newest.version else None
        if found is None:
            kept = ", ".join(str(each.version) for each in self.list_versions(id))
            raise UsageError(
                "ENOENT",
                f"version {version} of the document {id} is not kept",
                source="knowledge",
                suggestion=f"its versions: {kept}",
            )
        return found

    def list_versions(self, id: str) -> list[KnowledgeDocument]:
        """Return the versions of a document, the newest first; errors as `read`."""
        newest = self.read(id)
        return [newest, *reversed(self._list_earlier(id, newest))]

    def scan_earlier(self) -> Iterator[DocumentVersion]:
        """Yield the earlier versions of all documents."""
        heads = {each.id: each.record for each in self.scan_all_records()}
        for each in self._earlier.scan():
            if each.id in heads and each.record.version < heads[each.id].version:
                yield each

    def drop_version(self, id: str, record: KnowledgeDocument) -> None:
        """Remove an earlier version of a document."""
        self._purge(record.serial)
        self._earlier.drop(id, record.version)

    def drop_surplus(self) -> int:
        """Remove the earlier versions that are not kept any longer; return how many these were.

        The index is left alone: it leads to none of them.
        """
        ids = dict.fromkeys(each.id for each in self.scan_earlier())
        count = 0
        for id in ids:
            record = _decode_or_none(self._kv.get(keys.knowledge_document(self._scope, id)))
            count += self._trim(id, record) if record and not record.writing else 0
        return count

    def _number_version(self, id: str, item: Item | None, before: KnowledgeDocument | None) -> int:
        """Return the number of the next version; behind a damaged one the kept ones go on."""
        if before:
            return before.version + 1 if before.is_there else before.version
        kept = [each.record.version for each in self._earlier.scan(id)] if item else []
        return max(kept) + 2 if kept else 1

    def _list_earlier(self, id: str, newest: KnowledgeDocument) -> list[KnowledgeDocument]:
        """Return the versions before the newest one, the oldest first."""
        found = [each.record for each in self._earlier.scan(id)]
        return [record for record in found if record.version < newest.version]

    def _trim(self, id: str, newest: KnowledgeDocument) -> int:
        """Remove the surplus of a document's versions, and return how many these were."""
        from functions.agent.knowledge.earlier_versions import list_surplus

        surplus = list_surplus(self._list_earlier(id, newest), newest, self._now())
        pending = self._read_totals().pending.values() if surplus else ()
        busy = {int(serial) for noted in pending for serial in noted.chunks}
        gone = [record for record in surplus if record.serial not in busy]
        for record in gone:
            # nothing of the index leads there any more
            for key, _ in list(self._scan_group_items(record.serial)):
                self._kv.delete(key)
            self._earlier.drop(id, record.version)
        return len(gone)

    def scan(self, after: str = "") -> Iterator[StoredDocument]:
        """Yield all documents by their ids, from behind one on; damaged ones are left out."""
        return (each for each in self.scan_all_records(after) if each.record.is_there)

    def scan_all_records(self, after: str = "") -> Iterator[StoredDocument]:
        """Yield what `scan` does, and documents whose first version is still being written."""
        partition = keys.knowledge_totals(self._scope).partition
        for sort, item in scan_all(self._kv, partition, after=after):
            record = _decode_or_none(item) if is_id(sort) else None
            if record:
                yield StoredDocument(sort, record)

    def count_chunks(self) -> int:
        """Return how many chunks there are."""
        return self._read_totals().chunks

    def add(
        self, draft: Draft, *, may_replace: bool, holder: Holder | None = None
    ) -> WrittenDocument:
        """Write a document, unless it is there already as it is.

        The `holder` wants it, without one an owner on the machine. One of the same title and source
        is replaced where that `may_replace`, else `Refused` EEXIST. `PlacesTaken` when there is no
        room, `Conflict` when somebody else writes it at the same time.
        """
        return self._write(draft.id, draft, may_replace=may_replace, holder=holder)

    def update(self, id: str, draft: Draft, expect: str = "") -> WrittenDocument:
        """Replace a document; errors as `add` and `read`. It keeps its id whatever it is called.

        `expect` is the digest of the text that it is made from, or the number of its version, empty
        for any; `Conflict` when it has another one by now.
        """
        self.read(id)
        return self._write(id, draft, may_replace=True, expect=expect)

    def roll_back(
        self, id: str, version: int, *, by: str, why: str = "", expect: str = ""
    ) -> WrittenDocument:
        """Write an earlier version of a document again, as a new one; errors as `update` and
        `read_version`. What nobody has stated of it stays hearsay.
        """
        before = self.read_version(id, version)
        draft = Draft(
            before.title,
            before.source,
            self.read_text_of(id, before),
            by,
            before.time,
            before.stated_author if before.is_stated else before.by,
            before.known_confidence,
            before.tags,
            is_stated=True,
            why=one_line(why, WHY_CHARACTERS) or f"rolled back to version {version}",
        )
        return self.update(id, draft, expect)

    def drop(self, id: str) -> KnowledgeDocument | None:
        """Remove a document with its versions and return it; None when there was none. `Conflict`
        when somebody writes it at the same time.
        """
        key = keys.knowledge_document(self._scope, id)
        item = self._kv.get(key) if is_id(id) else None
        if item is None:
            return None
        record = _decode_or_none(item)
        chunks = {}
        if record and record.serial:
            chunks[str(record.serial)] = record.chunks
        change = self._begin(id, chunks)[0]
        try:
            self._kv.delete(key, expect=item.version)
        except Conflict:
            self._end(change, ())
            raise Conflict(WRITTEN_MEANWHILE) from None
        # nobody else who writes it can end that any more
        for begun, noted in self._read_totals().pending.items():
            if noted.id == id:
                self._settle(begun, noted)
        return record if record and record.is_there else None

    def find(self, question: str, limit: int, wanted: Wanted | None = None) -> list[FoundChunk]:
        """Return at most `limit` chunks that answer a question, the best first, of the documents
        that are meant.
        """
        chunks = self._read_totals().chunks
        if not chunks:
            return []
        count = CANDIDATES_FILTERED if wanted else max(CANDIDATES, 4 * limit)
        ranked = self._ranker.rank(question, chunks, self._postings.find, count)
        found: list[FoundChunk] = []
        records: dict[str, KnowledgeDocument | None] = {}
        batch = min(2 * limit, 50)
        for start in range(0, len(ranked), batch):
            for each in self._read_chunks(ranked[start : start + batch], records):
                if wanted is None or wanted(each.record):
                    found.append(each)
            if len(found) >= limit:
                break
        return found[:limit]

    def _read_chunks(
        self,
        ranked: Sequence[tuple[int, float]],
        records: dict[str, KnowledgeDocument | None],
    ) -> Iterator[FoundChunk]:
        """Yield those of the chunks that are part of a document; `records` are the documents that
        were read, and those read here come to them.
        """
        places = [_split_number(number) for number, _ in ranked]
        wanted = list(dict.fromkeys((serial, at // GROUP_SIZE) for serial, at in places))
        items = get_many(self._kv, [keys.knowledge_chunks(self._scope, *place) for place in wanted])
        groups = {
            place: _decode_group(item) for place, item in zip(wanted, items, strict=True) if item
        }
        ids = {group.id for group in groups.values() if group and group.id not in records}
        heads = [keys.knowledge_document(self._scope, id) for id in ids]
        for id, item in zip(ids, get_many(self._kv, heads) if heads else (), strict=True):
            records[id] = _decode_or_none(item)
        for (serial, at), (_, score) in zip(places, ranked, strict=True):
            group = groups.get((serial, at // GROUP_SIZE))
            record = records.get(group.id) if group else None
            if group and record and record.serial == serial:
                place = at - group.start
                if 0 <= place < len(group.chunks):
                    yield FoundChunk(group.id, record, group.chunks[place], score)

    def _write(
        self,
        id: str,
        draft: Draft,
        *,
        may_replace: bool,
        holder: Holder | None = None,
        expect: str = "",
    ) -> WrittenDocument:
        self.sweep()
        key = keys.knowledge_document(self._scope, id)
        item = self._kv.get(key)
        before = _decode_or_none(item)
        is_there = before is not None and before.is_there
        if expect and (before is None or expect not in (before.digest, str(before.version))):
            raise Conflict("the document was changed meanwhile: read it again")
        chunks = split_text(draft.text)
        record = KnowledgeDocument(
            title=draft.title,
            source=draft.source,
            author=draft.author,
            time=draft.time,
            confidence=draft.confidence,
            by=draft.by,
            at=self._now(),
            digest=draft.digest,
            characters=len(draft.text),
            chunks=len(chunks),
            tags=draft.tags,
            version=self._number_version(id, item, before),
            why=draft.why,
            stated=draft.is_stated and draft.by not in LOCAL_SENDERS,
            _rest=before._rest if before else None,
        )
        if before and is_there:
            if _says_the_same(before, record, is_hearsay=draft.is_hearsay):
                return WrittenDocument(id, before, new=False, changed=False)
            if not may_replace:
                raise Refused(
                    "EEXIST",
                    f"a document with this title and source is there, with the id {id}",
                    source="knowledge",
                    suggestion="give it another title, or let an owner update it",
                    reason="known-document",
                )
        serials = {str(before.serial): before.chunks} if before and before.serial else {}
        change, serial = self._begin(id, serials, new=len(chunks), by=draft.by, holder=holder)
        after = replace(record, serial=serial)
        gone: Mapping[str, int] = {str(serial): len(chunks)}
        try:
            # The version of this write is the fence: whoever takes the document over changes it.
            writing = replace(before or record, writing=serial)
            condition: Expect = item.version if item else ABSENT
            fence = self._kv.put(key, dumps(writing), expect=condition)
            self._put_chunks(id, after, chunks)
            if before and is_there:
                self._earlier.put(id, replace(before, writing=0))
            self._kv.put(key, dumps(after), expect=fence)
            gone = serials
        except (Conflict, Refused, UsageError) as problem:
            self._purge(serial)
            if not isinstance(problem, Conflict):
                self._forget_writing(key, serial)
            self._end(change, gone)
            if isinstance(problem, Conflict):
                raise Conflict(WRITTEN_MEANWHILE) from None
            raise
        for old in gone:
            self._leave_index(int(old))
        self._end(change, gone)
        if is_there:
            self._trim(id, after)
        return WrittenDocument(id, after, new=not is_there, changed=True)

    def _put_chunks(self, id: str, record: KnowledgeDocument, chunks: Sequence[Chunk]) -> None:
        """Write the chunks of a version, and the postings that lead to them."""
        for start in range(0, len(chunks), GROUP_SIZE):
            part = tuple(chunks[start : start + GROUP_SIZE])
            group = ChunkGroup(id, record.title, record.tags, start, part)
            key = keys.knowledge_chunks(self._scope, record.serial, start // GROUP_SIZE)
            self._kv.put(key, dumps(group))
        entries: dict[str, list[int]] = defaultdict(list)
        for at, chunk in enumerate(chunks):
            number = _join_number(record.serial, at)
            for term, strength in self._list_strengths(record.title, record.tags, chunk).items():
                entries[term].append(number << STRENGTH_BITS | strength)
        self._postings.add_entries(entries)

    def _purge(self, serial: int) -> None:
        """Remove the chunks of a version, and first what leads to them."""
        for key in self._leave_index(serial):
            self._kv.delete(key)

    def _leave_index(self, serial: int) -> list[Key]:
        """Remove what leads to the chunks of a version, and return where they are."""
        terms: set[str] = set()
        groups: list[Key] = []
        for key, item in list(self._scan_group_items(serial)):
            groups.append(key)
            group = _decode_group(item)
            for chunk in group.chunks if group else ():
                terms.update(self._list_strengths(group.title, group.tags, chunk) if group else ())
        if terms:
            shift = STRENGTH_BITS + START_BITS
            self._postings.drop_entries(terms, lambda entry: entry >> shift == serial)
        return groups

    def _begin(
        self,
        id: str,
        serials: Mapping[str, int],
        new: int = 0,
        by: str = "",
        holder: Holder | None = None,
    ) -> tuple[str, int]:
        """Note that a document is about to change, and return the name of the note and the serial
        of its next version, which has `new` chunks; `PlacesTaken` when these have no room.
        """

        def decide(value: bytes | None) -> tuple[bytes, int]:
            totals = self._decode_totals(value)
            if new:
                self._require_room(totals, new, holder)
            serial = totals.next
            own = {str(serial): new} if new else {}
            pending = Pending(id, self._now(), {**serials, **own}, by)
            after = replace(
                totals,
                chunks=totals.chunks + new,
                next=serial + 1,
                pending={**totals.pending, str(serial): pending},
            )
            return dumps(after), serial

        serial = update(self._kv, keys.knowledge_totals(self._scope), decide)
        return str(serial), serial

    def _require_room(self, totals: KnowledgeTotals, new: int, holder: Holder | None) -> None:
        """Raise `PlacesTaken` where somebody has no room for so many new chunks.

        Only for somebody whose share may be used up the documents are read.
        """
        from functions.agent.shares import Places, may_exceed, require_place

        places = Places("chunks", CHUNKS_MOST, FREED)
        taken = Counter({"": totals.chunks})
        if may_exceed(places, totals.chunks + new, holder):
            for each in self.scan():
                taken[each.record.by] += each.record.chunks
            for change, noted in totals.pending.items():
                taken[noted.by] += noted.chunks.get(change, 0)
            taken[""] = max(totals.chunks - (taken.total() - totals.chunks), 0)
        require_place(places, taken, holder, new)

    def _end(self, change: str, gone: Collection[str]) -> None:
        """Take away the note of a change, after the versions that are gone were removed."""

        def decide(value: bytes | None) -> tuple[bytes | None, None]:
            totals = self._decode_totals(value)
            pending = dict(totals.pending)
            noted = pending.pop(change, None)
            if noted is None:
                return None, None
            fewer = sum(count for serial, count in noted.chunks.items() if serial in gone)
            chunks = max(totals.chunks - fewer, 0)
            return dumps(replace(totals, chunks=chunks, pending=pending)), None

        update(self._kv, keys.knowledge_totals(self._scope), decide)

    def sweep(self) -> None:
        """Remove what changes left that began long ago and did not end, and what is left of
        documents that were dropped.
        """
        now = self._now()
        for change, noted in self._read_totals().pending.items():
            is_stale = now - noted.at >= STALE_SECONDS
            if is_stale or self._is_dropped(change, noted):
                with suppress(Conflict):
                    self._settle(change, noted)

    def _is_dropped(self, change: str, noted: Pending) -> bool:
        """Return whether a change was to drop a document, whose record is gone already."""
        if change in noted.chunks:
            return False
        record = _decode_or_none(self._kv.get(keys.knowledge_document(self._scope, noted.id)))
        return record is None or str(record.serial) not in noted.chunks

    def _settle(self, change: str, noted: Pending) -> None:
        """End a change that somebody left; `Conflict` when the document changes meanwhile."""
        key = keys.knowledge_document(self._scope, noted.id)
        item = self._kv.get(key)
        record = _decode_or_none(item)
        if item and record and str(record.writing) in noted.chunks:
            self._stop_writing(key, item, record)
        serial = str(record.serial) if record else ""
        gone = [each for each in noted.chunks if each != serial]
        # a document that is in its first version again was dropped meanwhile, and added anew
        is_dropped = record is None or (record.version == 1 and serial not in noted.chunks)
        kept: set[int] = set()
        for earlier in list(self._earlier.scan(noted.id)):
            if change not in noted.chunks and is_dropped and earlier.record.serial < int(change):
                self.drop_version(noted.id, earlier.record)
            else:
                kept.add(earlier.record.serial)
        for each in gone:
            if int(each) in kept:
                self._leave_index(int(each))
            else:
                self._purge(int(each))
        self._end(change, gone)

    def _forget_writing(self, key: Key, serial: int) -> None:
        """Let a document be as it was before this version of it was begun."""
        item = self._kv.get(key)
        record = _decode_or_none(item)
        if item and record and record.writing == serial:
            with suppress(Conflict):
                self._stop_writing(key, item, record)

    def _stop_writing(self, key: Key, item: Item, record: KnowledgeDocument) -> None:
        if record.is_there:
            self._kv.put(key, dumps(replace(record, writing=0)), expect=item.version)
        else:
            self._kv.delete(key, expect=item.version)

    def _list_strengths(self, title: str, tags: Sequence[str], chunk: Chunk) -> Mapping[str, int]:
        return self._ranker.list_strengths(title, chunk.headings, tags, chunk.text)

    def _read_totals(self) -> KnowledgeTotals:
        item = self._kv.get(keys.knowledge_totals(self._scope))
        return self._decode_totals(item.value if item else None)

    def _decode_totals(self, value: bytes | None) -> KnowledgeTotals:
        """Return the stored totals; when they are damaged, all documents are counted."""
        try:
            return TOTALS.read(value) if value is not None else KnowledgeTotals()
        except ValueError:
            partition = keys.knowledge_chunks(self._scope, 0, 0).partition
            last = 0
            for sort, _ in scan_all(self._kv, partition):
                last = int(sort.partition("#")[0])
            return KnowledgeTotals(sum(each.record.chunks for each in self.scan()), last + 1)

    def _scan_group_items(self, serial: int) -> Iterator[tuple[Key, Item]]:
        first = keys.knowledge_chunks(self._scope, serial, 0)
        begin = first.sort.partition("#")[0] + "#"
        for sort, item in scan_all(self._kv, first.partition, begin):
            yield Key(first.partition, sort), item

    def _scan_groups(self, serial: int) -> Iterator[ChunkGroup]:
        for _, item in self._scan_group_items(serial):
            group = _decode_group(item)
            if group:
                yield group

    def _scan_entries(self) -> Iterator[tuple[int, Collection[str]]]:
        """Yield the entries of all chunks but those of earlier versions, and the terms of each."""
        earlier = {each.record.serial for each in self.scan_earlier()}
        partition = keys.knowledge_chunks(self._scope, 0, 0).partition
        for sort, item in scan_all(self._kv, partition):
            serial = int(sort.partition("#")[0])
            if serial in earlier:
                continue
            group = _decode_group(item)
            for place, chunk in enumerate(group.chunks if group else ()):
                assert group
                number = _join_number(serial, group.start + place)
                by_strength: dict[int, list[str]] = defaultdict(list)
                for term, strength in self._list_strengths(group.title, group.tags, chunk).items():
                    by_strength[strength].append(term)
                for strength, terms in by_strength.items():
                    yield number << STRENGTH_BITS | strength, terms


def _says_the_same(
    before: KnowledgeDocument, after: KnowledgeDocument, *, is_hearsay: bool
) -> bool:
    """Return whether two records tell of the same text, from the same source.

    Hearsay takes nothing away from what an owner has stated of it.
    """

    def fields(record: KnowledgeDocument) -> tuple[object, ...]:
        return record.title, record.source, record.digest, record.tags

    def stated(record: KnowledgeDocument) -> tuple[object, ...]:
        return record.stated_author, record.known_confidence

    if fields(before) != fields(after):
        return False
    if is_hearsay and before.known_confidence >= after.known_confidence:
        return True
    return stated(before) == stated(after)


def _join_number(serial: int, at: int) -> int:
    return serial << START_BITS | at


def _split_number(number: int) -> tuple[int, int]:
    return number >> START_BITS, number & ((1 << START_BITS) - 1)


def _decode(item: Item | None) -> KnowledgeDocument | None:
    if item is None:
        return None
    try:
        return DOCUMENT.read(item.value)
    except ValueError:
        hint = "drop it, and add it again"
        raise damaged("a document of the knowledge base is damaged", suggestion=hint) from None


def _decode_or_none(item: Item | None) -> KnowledgeDocument | None:
    """Return a document, None for one that is damaged too: it can be written anew."""
    try:
        return DOCUMENT.read(item.value) if item else None
    except ValueError:
        return None


def _decode_group(item: Item) -> ChunkGroup | None:
    try:
        return GROUP.read(item.value)
    except ValueError:
        return None


def _absent(id: str) -> UsageError:
    return UsageError(
        "ENOENT",
        f"there is no document {one_line(id, 40)!r}",
        source="knowledge",
        suggestion="the list of the knowledge base has the ids",
    )
