"""The terms of a query, and a fast test of which of them a text has.

It finds what `ServiceHelpers.terms` would find, without making all the terms of a long text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Final
from unicodedata import normalize

STUB: Final = 5
"""A stem and its words share so many first letters, but perhaps for the stem's last ones: a text
without them has none of the words.
"""
_WORD: Final = re.compile("[a-z0-9]+")
_ACCENTS: Final = re.compile("[\u0300-\u036f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+")
"""Accents of letters, and invisible characters: words go on behind them."""
_MARKS: Final = re.compile(
    r"[\xa0-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\u2000-\u200a\u2010-\u2029\u202f-\u205f\u20ac\u2190-\u23ff\u2500-\u2bff"
    r"\u3000-\u3004\u3008-\u3020\ufe0f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff]+"
)
"""Characters that only separate words: punctuation, arrows, emoji."""
_UNSPACED: Final = r"\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
"""Kana, Han, Hangul: each character is a term, and each two in a row."""
_FOREIGN: Final = re.compile(f"[{_UNSPACED}]+")
_SIMPLE: Final = re.compile(rf"[\x00-\x7f{_UNSPACED}]*")

Terms = Callable[[str], Collection[str]]


class SearchTerms:
    """The terms of a query; each has a bit, in the order of `terms`."""

    def __init__(self, words: str, terms: Terms) -> None:
        self._terms = terms
        self.terms: Final = sorted(terms(words))
        self.bits: Final = {term: 1 << place for place, term in enumerate(self.terms)}
        self._stubs = tuple({_cut_to_stub(term) for term in self.terms if term.isascii()})
        self._unspaced = {term: bit for term, bit in self.bits.items() if not term.isascii()}
        self._marked = any(map(_MARKS.search, self._unspaced))
        self._known: dict[str, int] = {}
        self._spelt = _SpellingTable(terms)

    def find_in(self, text: str) -> int:
        """Return the bits of the terms that the text has."""
        plain = text
        if not plain.isascii():
            plain = _ACCENTS.sub("", plain)
            if not self._marked:
                plain = _MARKS.sub(" ", plain)
        if not plain.isascii() and not _FOREIGN.search(plain):
            plain = _ACCENTS.sub("", normalize("NFKD", plain))
        if plain.isascii():
            return self._find_in_ascii(plain)
        if not _SIMPLE.fullmatch(plain):
            return self._to_bits(self._terms(plain))
        spelt = plain.translate(self._spelt) if self._unspaced else ""
        return self._find_in_ascii(plain) | sum(
            bit for term, bit in self._unspaced.items() if term in spelt
        )

    def find_in_word(self, word: str) -> int:
        """Return the bits of the terms that one word has; the answer is remembered."""
        bits = self._known.get(word)
        if bits is None:
            bits = self._to_bits(self._terms(word))
            self._known[word] = bits
        return bits

    def _find_in_ascii(self, plain: str) -> int:
        low = plain.lower()
        if not any(stub in low for stub in self._stubs):
            return 0
        bits = 0
        for word in set(_WORD.findall(low)):
            if word.startswith(self._stubs):
                bits |= self.find_in_word(word)
        return bits

    def _to_bits(self, terms: Iterable[str]) -> int:
        return sum(self.bits[term] for term in self.bits.keys() & terms)


class _SpellingTable(dict[int, int]):
    """The spelling of each character within terms, for `str.translate`."""

    def __init__(self, terms: Terms) -> None:
        super().__init__({code: code for code in range(128)})
        self._terms = terms

    def __missing__(self, code: int) -> int:
        term = next(iter(self._terms(chr(code))), "")
        self[code] = ord(term) if len(term) == 1 else code
        return self[code]


def _cut_to_stub(term: str) -> str:
    """Return the first letters that all words of this stem have.

    `die` is the stem of `dying`, `happi` that of `happy`.
    """
    if term.endswith("ie") and len(term) > 2:
        return term[:-2]
    return term[: min(max(len(term) - 1, 2), STUB)]
