"""Entries find the documents of one group by what they are called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sigil.search.document import FIELD_LIMIT, IndexDocument, list_names
from sigil.search.words import contains_phrase, normalize_phrase


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """The part of a document that is stored: enough to call it by its name and to know it again.

    `called` and `aliases` are phrases.
    """

    ref: str
    name: str
    called: str
    aliases: frozenset[str]
    stamp: int = 0
    until: float = 0.0

    @classmethod
    def from_document(cls, document: IndexDocument) -> IndexEntry:
        aliases = {normalize_phrase(alias[:FIELD_LIMIT]) for alias in list_names(document.aliases)}
        return cls(
            document.ref,
            document.name,
            normalize_phrase(document.name[:FIELD_LIMIT]),
            frozenset(aliases - {""}),
            document.stamp,
            document.until,
        )

    @property
    def keys(self) -> set[str]:
        """Its name and aliases, however they are separated."""
        return {join_words(phrase) for phrase in (self.called, *self.aliases) if phrase}

    def is_called(self, joined: str) -> bool:
        """Return whether the words of its name or of an alias are these, without spaces."""
        return any(join_words(phrase) == joined for phrase in (self.called, *self.aliases))

    def has_name(self, phrase: str) -> bool:
        return join_words(self.called) == join_words(phrase)

    def is_named_in(self, query: str) -> bool:
        return any(contains_phrase(query, name) for name in (self.called, *self.aliases))

    def opens(self, query: str) -> bool:
        """Return whether a query begins with its name or an alias."""
        return any(query.startswith(f"{name} ") for name in (self.called, *self.aliases))


class IndexEntries:
    """The entries by number, with the terms of each document. References are unique in it. Not for
    two threads at once.
    """

    def __init__(self) -> None:
        self._entries: dict[int, IndexEntry] = {}
        self._terms: dict[int, tuple[str, ...]] = {}
        self._refs: dict[str, int] = {}
        self._called: dict[str, set[int]] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, number: int) -> IndexEntry:
        return self._entries[number]

    def __iter__(self) -> Iterator[int]:
        """The numbers, ascending."""
        return iter(self._entries)

    def list_terms(self, number: int) -> tuple[str, ...]:
        return self._terms[number]

    def put(self, entry: IndexEntry, terms: tuple[str, ...]) -> int:
        """Add an entry and return its number, which is higher than every one before it."""
        number = self._next
        self._next += 1
        self._entries[number] = entry
        self._terms[number] = terms
        self._refs[entry.ref] = number
        for each in entry.keys:
            self._called.setdefault(each, set()).add(number)
        return number

    def drop(self, number: int) -> tuple[str, ...]:
        """Remove an entry and return the terms that it had."""
        entry = self._entries.pop(number)
        del self._refs[entry.ref]
        for each in entry.keys:
            self._called[each].discard(number)
            if not self._called[each]:
                del self._called[each]
        return self._terms.pop(number)

    def find_ref(self, ref: str) -> int | None:
        return self._refs.get(ref)

    def find_called(self, phrase: str) -> set[int]:
        """Return the numbers of the entries that have this phrase as a name or an alias, however it
        is separated.
        """
        return self._called.get(join_words(phrase), set())

    def copy(self) -> IndexEntries:
        """Return the same entries and numbers; later changes to one change nothing in the other.

        The copy finds nothing by its name.
        """
        other = IndexEntries()
        other._entries = dict(self._entries)
        other._terms = dict(self._terms)
        other._next = self._next
        return other


def join_words(phrase: str) -> str:
    """Return a phrase without its spaces: equal however its words are separated."""
    return phrase.replace(" ", "")
