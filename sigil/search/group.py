"""A group holds documents that are seen together or not at all.

These are the documents of an opened file, and those that were added since.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from sigil.search.document import IndexDocument
from sigil.search.entries import IndexEntries, IndexEntry
from sigil.search.file_documents import FileDocuments, hash_text
from sigil.search.postings import Posting, Postings
from sigil.search.ranking import rank, score_of, weigh_postings


class AddedDocuments:
    """Documents that come and go; their entries and postings always change together.

    Not for two threads at once.
    """

    def __init__(self) -> None:
        self._entries = IndexEntries()
        self._postings = Postings()
        self._vectors: dict[int, bytes] = {}

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[int]:
        """The numbers of the documents, ascending."""
        return iter(self._entries)

    def by_hash(self) -> Iterator[tuple[int, int]]:
        """Yield the hash of each reference, ascending, and the number of its document."""
        return iter(sorted((hash_text(self.get_entry(number).ref), number) for number in self))

    def put(self, entry: IndexEntry, strengths: Mapping[str, float], vector: bytes = b"") -> None:
        """Add a document whose reference is new here. `vector`: see `dense`."""
        number = self._entries.put(entry, tuple(strengths))
        self._postings.add(number, strengths)
        if vector:
            self._vectors[number] = vector

    def drop(self, ref: str) -> None:
        number = self._entries.find_ref(ref)
        if number is not None:
            self._postings.remove(number, self._entries.drop(number))
            self._vectors.pop(number, None)

    def find_ref(self, ref: str) -> int | None:
        return self._entries.find_ref(ref)

    def get_entry(self, number: int) -> IndexEntry:
        return self._entries[number]

    def list_terms(self, number: int) -> tuple[str, ...]:
        return self._entries.list_terms(number)

    def has_term(self, number: int, term: str) -> bool:
        """Return whether a document has a term."""
        posting = self._postings.get(term)
        return posting is not None and posting.strength(number) > 0

    def count_holders(self, term: str) -> int:
        return len(self._postings.get(term) or ())

    def get_posting(self, term: str) -> Posting | None:
        return self._postings.get(term)

    def similar_words(self, term: str) -> list[tuple[float, str]]:
        return self._postings.similar_words(term)

    def rank_best(
        self, weights: Mapping[str, float], count: int, share: float
    ) -> Iterator[tuple[int, float]]:
        """Yield at least the best `count` documents with their scores, see `rank`."""
        return iter(rank(weigh_postings(weights, self._postings.get), count, share).items())

    def find_called(self, phrase: str, weights: Mapping[str, float]) -> Iterator[tuple[int, float]]:
        """Yield the documents whose name or alias is this phrase, with their scores."""
        for number in self._entries.find_called(phrase):
            yield number, self.score_one(number, weights)

    def score_one(self, number: int, weights: Mapping[str, float]) -> float:
        """Return the score of one document."""
        return score_of(weigh_postings(weights, self._postings.get), number)

    def all_vectors(self) -> tuple[list[int], bytes]:
        """Return the numbers of the documents, and their vectors one after the other."""
        return list(self._vectors), b"".join(self._vectors.values())

    def get_vector(self, number: int) -> bytes:
        return self._vectors.get(number, b"")

    def copy(self) -> AddedDocuments:
        """Return what a file is written from, as it is now; not for searching."""
        other = AddedDocuments()
        other._entries = self._entries.copy()
        other._postings = self._postings.copy()
        other._vectors = dict(self._vectors)
        return other


Part = FileDocuments | AddedDocuments
"""Where documents are: in a file, or added since."""


class Group:
    """A file's documents with all that changed in them. Not for two threads at once."""

    def __init__(self, file: FileDocuments | None = None) -> None:
        self.file = file
        self.added = AddedDocuments()
        self._until: dict[str, float] = {}
        if file:
            self._until = {ref: end for end, ref in file.list_ends()}

    def __len__(self) -> int:
        return sum(map(len, self.parts))

    @property
    def parts(self) -> list[Part]:
        """The file and what was added since, as far as there is something in them."""
        return [part for part in (self.file, self.added) if part]

    def put(
        self, document: IndexDocument, strengths: Mapping[str, float], vector: bytes = b""
    ) -> None:
        """Add a document in the place of the one with the same reference."""
        self.drop(document.ref)
        self.added.put(IndexEntry.from_document(document), strengths, vector)
        if document.until:
            self._until[document.ref] = document.until

    def drop(self, ref: str) -> None:
        for part in self.parts:
            part.drop(ref)
        self._until.pop(ref, None)

    def has(self, ref: str) -> bool:
        return any(part.find_ref(ref) is not None for part in self.parts)

    def get_stamp(self, ref: str) -> int | None:
        """Return the stamp of one document, None when it is not there."""
        for part in self.parts:
            number = part.find_ref(ref)
            if number is not None:
                return part.get_entry(number).stamp
        return None

    def list_stamps(self) -> dict[str, int]:
        """Return the stamp of every document."""
        return {entry.ref: entry.stamp for entry in self.list_entries()}

    def list_expired(self, now: float) -> list[str]:
        """Return the references of the documents whose time has run out."""
        return [ref for ref, end in self._until.items() if end <= now]

    def copy(self) -> Group:
        """Return what a file is written from, as it is at this moment."""
        other = Group()
        other.file = self.file.copy() if self.file else None
        other.added = self.added.copy()
        other._until = dict(self._until)
        return other

    def list_entries(self) -> Iterator[IndexEntry]:
        return (part.get_entry(number) for part in self.parts for number in part)
