"""The documents of one group by what they are called."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sigil.search.document import FIELD_LIMIT, Document
from sigil.search.words import phrase, says


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of a document: enough to call it by its name and to know it again."""

    ref: str
    name: str
    called: str
    aliases: frozenset[str]
    stamp: int = 0
    until: float = 0.0

    @classmethod
    def of(cls, document: Document) -> Entry:
        aliases = frozenset(
            filter(None, (phrase(alias[:FIELD_LIMIT]) for alias in document.aliases))
        )
        return cls(
            document.ref,
            document.name,
            phrase(document.name[:FIELD_LIMIT]),
            aliases,
            document.stamp,
            document.until,
        )

    @property
    def keys(self) -> set[str]:
        return {key(said) for said in (self.called, *self.aliases) if said}

    def is_named(self, said: str) -> bool:
        return key(self.called) == key(said)

    def is_said_in(self, query: str) -> bool:
        return any(says(query, said) for said in (self.called, *self.aliases))


class Entries:
    """Number → entry, with the terms of its document. References are unique in it. Not for two
    threads at once.
    """

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._terms: dict[int, tuple[str, ...]] = {}
        self._refs: dict[str, int] = {}
        self._called: dict[str, set[int]] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, number: int) -> Entry:
        return self._entries[number]

    def __iter__(self) -> Iterator[int]:
        """The numbers, ascending."""
        return iter(self._entries)

    def terms(self, number: int) -> tuple[str, ...]:
        return self._terms[number]

    def put(self, entry: Entry, terms: tuple[str, ...]) -> int:
        """The entry's number, higher than every one before it."""
        number = self._next
        self._next += 1
        self._entries[number], self._terms[number] = entry, terms
        self._refs[entry.ref] = number
        for each in entry.keys:
            self._called.setdefault(each, set()).add(number)
        return number

    def drop(self, number: int) -> tuple[str, ...]:
        """The terms that it had."""
        entry = self._entries.pop(number)
        del self._refs[entry.ref]
        for each in entry.keys:
            self._called[each].discard(number)
            if not self._called[each]:
                del self._called[each]
        return self._terms.pop(number)

    def with_ref(self, ref: str) -> int | None:
        return self._refs.get(ref)

    def called(self, said: str) -> set[int]:
        """The numbers of what has this phrase as its name or as an alias, however it is
        separated.
        """
        return self._called.get(key(said), set())

    def copy(self) -> Entries:
        """The same documents, numbered as they are; later changes to one change nothing in the
        other.
        """
        other = Entries()
        other._entries, other._terms, other._next = (
            dict(self._entries),
            dict(self._terms),
            self._next,
        )
        return other


def key(said: str) -> str:
    """A phrase however it is separated."""
    return said.replace(" ", "")
