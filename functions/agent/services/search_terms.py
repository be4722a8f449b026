"""The terms of a query, and which of them a text has: what `Aids.terms` would say, without making
all the terms of a long text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from typing import Final
from unicodedata import normalize

STUB: Final = 5
"""A stem and its words share their first letters, but perhaps for the stem's last ones: where none
of these stands, no word does.
"""
_WORD: Final = re.compile("[a-z0-9]+")
_ACCENTS: Final = re.compile("[\u0300-\u036f\xad\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+")
"""Of letters, and what is not seen: words go on behind them."""
_MARKS: Final = re.compile(
    r"[\xa0-\xa9\xab-\xb1\xb4\xb6-\xb8\xbb\xbf\u2000-\u200a\u2010-\u2029\u202f-\u205f\u20ac\u2190-\u23ff\u2500-\u2bff"
    r"\u3000-\u3004\u3008-\u3020\ufe0f\uff01-\uff0f\uff1a-\uff20\uff3b-\uff40\uff5b-\uff65\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff]+"
)
"""Between words, in every spelling of them: punctuation, arrows, emoji."""
_UNSPACED: Final = r"\u3041-\u3096\u30a1-\u30fa\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3"
"""Kana, Han, Hangul: each character is a term, and each two in a row."""
_FOREIGN: Final = re.compile(f"[{_UNSPACED}]+")
_SIMPLE: Final = re.compile(rf"[\x00-\x7f{_UNSPACED}]*")

Terms = Callable[[str], Collection[str]]


class Wanted:
    """`terms` of a query, a bit each in the order of the list."""

    def __init__(self, words: str, terms: Terms) -> None:
        self._make = terms
        self.terms: Final = sorted(terms(words))
        self.bits: Final = {term: 1 << place for place, term in enumerate(self.terms)}
        self._stubs = tuple({_stub(term) for term in self.terms if term.isascii()})
        self._unspaced = {term: bit for term, bit in self.bits.items() if not term.isascii()}
        self._marked = any(map(_MARKS.search, self._unspaced))
        self._known: dict[str, int] = {}
        self._spelt = _Spelt(terms)

    def of(self, text: str) -> int:
        """The bits of those that the text has."""
        plain = text if text.isascii() else self._plain(text)
        if plain.isascii():
            return self._words(plain)
        if not _SIMPLE.fullmatch(plain):
            return self._of(self._make(plain))
        spelt = plain.translate(self._spelt) if self._unspaced else ""
        return self._words(plain) | sum(
            bit for term, bit in self._unspaced.items() if term in spelt
        )

    def word(self, word: str) -> int:
        """The same of a word; those are remembered."""
        has = self._known.get(word)
        if has is None:
            has = self._known[word] = self._of(self._make(word))
        return has

    def _plain(self, text: str) -> str:
        """The text without what is no letter, and without accents where it is to be ASCII."""
        plain = _ACCENTS.sub("", text)
        plain = plain if self._marked else _MARKS.sub(" ", plain)
        return (
            plain
            if plain.isascii() or _FOREIGN.search(plain)
            else _ACCENTS.sub("", normalize("NFKD", plain))
        )

    def _words(self, plain: str) -> int:
        low = plain.lower()
        if not any(stub in low for stub in self._stubs):
            return 0
        has = 0
        for word in set(_WORD.findall(low)):
            if word.startswith(self._stubs):
                has |= self.word(word)
        return has

    def _of(self, terms: Iterable[str]) -> int:
        return sum(self.bits[term] for term in self.bits.keys() & terms)


class _Spelt(dict[int, int]):
    """How each character stands in terms: for `str.translate`."""

    def __init__(self, terms: Terms) -> None:
        super().__init__({code: code for code in range(128)})
        self._terms = terms

    def __missing__(self, code: int) -> int:
        made = next(iter(self._terms(chr(code))), "")
        self[code] = ord(made) if len(made) == 1 else code
        return self[code]


def _stub(term: str) -> str:
    """`die` is the stem of `dying`, `happi` that of `happy`."""
    return (
        term[:-2]
        if term.endswith("ie") and len(term) > 2
        else term[: min(max(len(term) - 1, 2), STUB)]
    )
