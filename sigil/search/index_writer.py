"""Documents into a file: what is left of an opened one and what came to it since, in one."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from sigil.search.entries import Entry
from sigil.search.file_documents import Sealed, hashed
from sigil.search.group_documents import Shelf
from sigil.search.index_file import Section, pack, typed
from sigil.search.postings import Posting
from sigil.search.spelling import compared, grams


@dataclass(frozen=True, slots=True)
class _Part:
    """Documents of one origin: their numbers there and the ones that they get."""

    numbers: Mapping[int, int]
    entry: Callable[[int], Entry]
    terms: Callable[[int], Iterable[str]]
    posting: Callable[[str], Posting | None]
    vector: Callable[[int], bytes]


def seal(sealed: Sealed | None, shelf: Shelf, header: Mapping[str, Any]) -> bytes:
    """The file of both together; `header` goes with it. `ValueError` for a text that no file can
    hold.
    """
    parts = _parts(sealed, shelf)
    entries = [part.entry(number) for part in parts for number in part.numbers]
    owned = [list(part.terms(number)) for part in parts for number in part.numbers]
    ids = {
        term: place
        for place, term in enumerate(dict.fromkeys(term for terms in owned for term in terms))
    }
    numbers, strengths, strongest, ends = _postings(parts, ids, len(entries))
    try:
        sections: dict[str, Section] = {
            **_entries(entries),
            "terms": "\n".join(ids).encode(),
            "posting_ends": ends,
            "numbers": numbers,
            "strengths": strengths,
            "strongest": strongest,
            "owned_ends": _ends(owned),
            "owned": typed(array("I", [ids[term] for terms in owned for term in terms]), len(ids)),
            **_grams(ids),
            "vectors": b"".join(part.vector(number) for part in parts for number in part.numbers),
        }
    except (TypeError, UnicodeEncodeError):
        raise ValueError("a lone surrogate") from None
    return pack(header, sections)


def _parts(sealed: Sealed | None, shelf: Shelf) -> list[_Part]:
    kept = list(sealed or ())
    first = {number: place for place, number in enumerate(kept)}
    second = {number: place for place, number in enumerate(shelf, len(kept))}
    fresh = _Part(second, shelf.entry, shelf.terms, shelf.posting, shelf.vector)
    return (
        [_Part(first, sealed.entry, sealed.terms, sealed.posting, sealed.vector), fresh]
        if sealed
        else [fresh]
    )


def _postings(
    parts: Sequence[_Part], ids: Mapping[str, int], documents: int
) -> tuple[array[int], ...]:
    numbers, strengths, strongest, ends = array("I"), array("H"), array("H"), array("I")
    for term in ids:
        most = 0
        for part in parts:
            posting = part.posting(term)
            if posting:
                pairs = [
                    (part.numbers[old], strength)
                    for old, strength in _of(posting)
                    if old in part.numbers
                ]
                numbers.extend(number for number, _ in pairs)
                strengths.extend(strength for _, strength in pairs)
                most = max(most, *(strength for _, strength in pairs)) if pairs else most
        strongest.append(most)
        ends.append(len(numbers))
    return typed(numbers, documents), strengths, strongest, ends


def _of(posting: Posting) -> Iterator[tuple[int, int]]:
    return zip(posting.numbers, posting.strengths, strict=True)


def _entries(entries: Sequence[Entry]) -> dict[str, Section]:
    rows = [
        orjson.dumps([entry.ref, entry.name, entry.called, sorted(entry.aliases)])
        for entry in entries
    ]
    ending = [(number, entry.until) for number, entry in enumerate(entries) if entry.until]
    refs = sorted((hashed(entry.ref), number) for number, entry in enumerate(entries))
    keys = sorted(
        (hashed(key), number) for number, entry in enumerate(entries) for key in entry.keys
    )
    return {
        "entries": b"".join(rows),
        "entry_ends": _ends(rows),
        "stamps": array("Q", [entry.stamp for entry in entries]),
        "until_numbers": array("I", [number for number, _ in ending]),
        "until": array("d", [end for _, end in ending]),
        "refs": array("Q", [value for value, _ in refs]),
        "ref_numbers": array("I", [number for _, number in refs]),
        "keys": array("Q", [value for value, _ in keys]),
        "key_numbers": array("I", [number for _, number in keys]),
    }


def _grams(ids: Mapping[str, int]) -> dict[str, Section]:
    having: dict[str, list[int]] = {}
    for term, number in ids.items():
        if compared(term):
            for gram in grams(term):
                having.setdefault(gram, []).append(number)
    ordered = sorted((hashed(gram), numbers) for gram, numbers in having.items())
    lists = [numbers for _, numbers in ordered]
    return {
        "grams": array("Q", [value for value, _ in ordered]),
        "gram_ends": _ends(lists),
        "gram_terms": typed(
            array("I", [number for numbers in lists for number in numbers]), len(ids)
        ),
    }


def _ends(parts: Iterable[Sequence[Any]]) -> array[int]:
    ends, end = array("I"), 0
    for part in parts:
        end += len(part)
        ends.append(end)
    return ends
