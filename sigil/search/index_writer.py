"""The index writer puts documents into a file: those that are left of an opened one and those that
were added since.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import orjson

from sigil.search.entries import IndexEntry
from sigil.search.file_documents import hash_text
from sigil.search.group import Group
from sigil.search.index_file import Section, narrow, pack
from sigil.search.postings import Posting
from sigil.search.spelling import is_comparable, list_grams


@dataclass(frozen=True, slots=True)
class _Origin:
    """Documents of one origin: their numbers there → the ones that they get in the new file."""

    numbers: Mapping[int, int]
    entry: Callable[[int], IndexEntry]
    terms: Callable[[int], Iterable[str]]
    posting: Callable[[str], Posting | None]
    vector: Callable[[int], bytes]


def write_index(group: Group, header: Mapping[str, object]) -> bytes:
    """Return the file of a group's documents; `header` goes with it.

    `ValueError` for a text that no file can hold.
    """
    file = group.file
    added = group.added
    if file and not file.outdated and not added:
        return pack(header, file.list_sections())
    origins: list[_Origin] = []
    left = list(file or ())
    if file:
        numbers = {number: place for place, number in enumerate(left)}
        origins.append(
            _Origin(numbers, file.get_entry, file.list_terms, file.get_posting, file.get_vector)
        )
    numbers = {number: place for place, number in enumerate(added, len(left))}
    origins.append(
        _Origin(numbers, added.get_entry, added.list_terms, added.get_posting, added.get_vector)
    )
    entries: list[IndexEntry] = []
    owned: list[list[str]] = []
    vectors: list[bytes] = []
    for origin in origins:
        for number in origin.numbers:
            entries.append(origin.entry(number))
            owned.append(list(origin.terms(number)))
            vectors.append(origin.vector(number))
    terms = dict.fromkeys(term for each in owned for term in each)
    ids = {term: place for place, term in enumerate(terms)}
    owned_ids = array("I", [ids[term] for each in owned for term in each])
    try:
        sections: dict[str, Section] = {
            **_make_entries(entries),
            "terms": "\n".join(ids).encode(),
            **_make_postings(origins, ids, len(entries)),
            "owned_ends": _sum_lengths(owned),
            "owned": narrow(owned_ids, len(ids)),
            **_make_grams(ids),
            "vectors": b"".join(vectors),
        }
    except (TypeError, UnicodeEncodeError):
        raise ValueError("a lone surrogate") from None
    return pack(header, sections)


def _make_postings(
    origins: Sequence[_Origin], ids: Mapping[str, int], documents: int
) -> dict[str, Section]:
    ends = array("I")
    numbers = array("I")
    strengths = array("H")
    strongest = array("H")
    for term in ids:
        most = 0
        for origin in origins:
            posting = origin.posting(term)
            if not posting:
                continue
            for number, strength in zip(posting.numbers, posting.strengths, strict=True):
                if number in origin.numbers:
                    numbers.append(origin.numbers[number])
                    strengths.append(strength)
                    most = max(most, strength)
        strongest.append(most)
        ends.append(len(numbers))
    return {
        "posting_ends": ends,
        "numbers": narrow(numbers, documents),
        "strengths": strengths,
        "strongest": strongest,
    }


def _make_entries(entries: Sequence[IndexEntry]) -> dict[str, Section]:
    rows = [
        orjson.dumps([entry.ref, entry.name, entry.called, sorted(entry.aliases)])
        for entry in entries
    ]
    ending = [(number, entry.until) for number, entry in enumerate(entries) if entry.until]
    refs = sorted((hash_text(entry.ref), number) for number, entry in enumerate(entries))
    keys = sorted(
        (hash_text(key), number) for number, entry in enumerate(entries) for key in entry.keys
    )
    return {
        "entries": b"".join(rows),
        "entry_ends": _sum_lengths(rows),
        "stamps": array("Q", [entry.stamp for entry in entries]),
        "until_numbers": array("I", [number for number, _ in ending]),
        "until": array("d", [end for _, end in ending]),
        "refs": array("Q", [value for value, _ in refs]),
        "ref_numbers": array("I", [number for _, number in refs]),
        "keys": array("Q", [value for value, _ in keys]),
        "key_numbers": array("I", [number for _, number in keys]),
    }


def _make_grams(ids: Mapping[str, int]) -> dict[str, Section]:
    having: dict[str, list[int]] = {}
    for term, number in ids.items():
        if is_comparable(term):
            for gram in list_grams(term):
                having.setdefault(gram, []).append(number)
    ordered = sorted((hash_text(gram), numbers) for gram, numbers in having.items())
    lists = [numbers for _, numbers in ordered]
    terms = array("I", [number for numbers in lists for number in numbers])
    return {
        "grams": array("Q", [value for value, _ in ordered]),
        "gram_ends": _sum_lengths(lists),
        "gram_terms": narrow(terms, len(ids)),
    }


def _sum_lengths(parts: Iterable[Sequence[object]]) -> array[int]:
    ends = array("I")
    end = 0
    for part in parts:
        end += len(part)
        ends.append(end)
    return ends
