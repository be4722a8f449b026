"""The documents of one group by what they are called."""

from __future__ import annotations

from dataclasses import dataclass

from sigil.search.document import FIELD_LIMIT, Document
from sigil.search.words import phrase, says


@dataclass(frozen=True, slots=True)
class Entry:
    """What is kept of a document: enough to call it by its name and to take it out again."""

    ref: str
    name: str
    called: str
    aliases: frozenset[str]
    terms: tuple[str, ...]

    @classmethod
    def of(cls, document: Document, terms: tuple[str, ...]) -> Entry:
        aliases = frozenset(filter(None, (phrase(alias[:FIELD_LIMIT]) for alias in document.aliases)))
        return cls(document.ref, document.name, phrase(document.name[:FIELD_LIMIT]), aliases, terms)

    @property
    def keys(self) -> set[str]:
        return {_key(said) for said in (self.called, *self.aliases) if said}

    def is_named(self, said: str) -> bool:
        return _key(self.called) == _key(said)

    def is_said_in(self, query: str) -> bool:
        return any(says(query, said) for said in (self.called, *self.aliases))


class Entries:
    """Number → entry. References and names are unique in it. Not for two threads at once."""

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._refs: dict[str, int] = {}
        self._names: dict[str, int] = {}
        self._called: dict[str, set[int]] = {}
        self._next = 0

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, number: int) -> Entry:
        return self._entries[number]

    def put(self, entry: Entry) -> int:
        """The entry's number, higher than every one before it."""
        number = self._next
        self._next += 1
        self._entries[number] = entry
        self._refs[entry.ref] = self._names[entry.name] = number
        for key in entry.keys:
            self._called.setdefault(key, set()).add(number)
        return number

    def drop(self, number: int) -> Entry:
        entry = self._entries.pop(number)
        del self._refs[entry.ref], self._names[entry.name]
        for key in entry.keys:
            self._called[key].discard(number)
            if not self._called[key]:
                del self._called[key]
        return entry

    def with_ref(self, ref: str) -> int | None:
        return self._refs.get(ref)

    def with_name(self, name: str) -> int | None:
        return self._names.get(name)

    def called(self, said: str) -> set[int]:
        """The numbers of what has this phrase as its name or as an alias, however it is separated."""
        return self._called.get(_key(said), set())


def _key(said: str) -> str:
    return said.replace(" ", "")
