"""Text to search terms: stems of words, and single characters and pairs of them where a script
writes no spaces.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Set
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import pairwise
from typing import Final

from sigil.search.chinese import SIMPLER
from sigil.search.stemmer import stemmer
from sigil.search.stopwords import STOP_WORDS

QUERY_LIMIT: Final = 2_000
"""Characters of a query that are read."""
WORD_LIMIT: Final = 40
SWAPPED: Final = 5
PHRASE_LIMIT: Final = 80
REMEMBERED: Final = 16_384
"""Phrases whose terms are kept: those aliases that queries met last."""
JOIN_LIMIT: Final = 16
SPANNED: Final = 40
SPAN_WORDS: Final = 5
SPAN_CHARACTERS: Final = 8
SUM: Final = "="
"""The term of a query or an example with a sum in it, such as `17 * 23 + 4` or `15% of 80`; no word
is spelt so.
"""
SUM_COUNTS: Final = 3.0
"""What a sum counts in a query: it says what is wanted without a word."""
FAINT: Final = 0.5
"""What a number, or one character of a pair, counts in a query: they are mostly payload or chance.
"""

# kana, Han, Hangul, and Thai to Khmer, which write no spaces between words either
UNSPACED: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30fa\u30fc-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# each a word of its own; without the tones of skin, which only colour the one before
EMOJI: Final = "\u2600-\u27bf\U0001f300-\U0001f3fa\U0001f400-\U0001faff"
# Indic vowel signs are no letters to `re`, but belong to their words
WORD: Final = re.compile(f"[{UNSPACED}]+|[{EMOJI}]|(?:[^\\W_{UNSPACED}]|[\u0900-\u0dff])+")
ASCII_WORD: Final = re.compile("[a-z0-9]+")
IS_UNSPACED: Final = re.compile(f"[{UNSPACED}]").match
CAMEL: Final = re.compile("(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
# a minus or a slash between bare digits may be a date, a number of a book or of a telephone
SUMS: Final = re.compile(
    r"(?:(?<![\w.])[0-9][0-9.,]*|\))\s*(?:[*×÷^+]|%\s*(?:of|von|de|的)?|\s[-/]\s)\s*[-(]?[0-9]"
)
NUMBERED: Final = re.compile(r"(?<![^\W_])([A-Za-z]+)[-_]([0-9]{1,16})(?![^\W_])")
# accents, and what is not seen: soft hyphen, zero-width and bidirectional marks, byte order mark
IGNORED: Final = dict.fromkeys(
    [
        *range(0x300, 0x370),
        0xAD,
        *range(0x200B, 0x2010),
        *range(0x202A, 0x202F),
        *range(0x2060, 0x2070),
        0xFEFF,
    ]
)


@dataclass(frozen=True, slots=True)
class Query:
    """The terms of a query with what each counts, and those that count only if some document has
    them.

    `swapped`: what a term would be, had two letters beside each other changed places in its word.
    """

    weights: dict[str, float]
    optional: frozenset[str]
    swapped: Callable[[str], list[str]]


class Words:
    """Makes terms of text. Holds nothing but remembered stems; safe to share between threads."""

    def __init__(self) -> None:
        self._stem: Callable[[str], str] = stemmer()
        self._stop = STOP_WORDS | {self._stem(word) for word in STOP_WORDS}
        self._remembered = lru_cache(maxsize=REMEMBERED)(self._content)

    def terms(self, text: str) -> list[str]:
        """Every term of a document's text, in order, repeated as often as it stands there."""
        plain, joined = self._read(fold(text))
        return plain + joined

    def query(self, text: str) -> Query:
        """The terms of a query without its stop words; the first `QUERY_LIMIT` characters are
        read.
        """
        plain, joined = self._read(fold(text[:QUERY_LIMIT])[:QUERY_LIMIT])
        paired = {
            character
            for term in plain
            if len(term) == 2 and IS_UNSPACED(term)
            for character in term
        }
        weights = {
            term: FAINT if term in paired or term.isdigit() else 1.0
            for term in plain + joined
            if term not in self._stop
        }
        if has_sum(text[:QUERY_LIMIT]):
            weights[SUM] = SUM_COUNTS
        spelt = {
            self._stem(word[:WORD_LIMIT]): word[:WORD_LIMIT]
            for word in ASCII_WORD.findall(fold(text[:QUERY_LIMIT]).casefold())
        }
        return Query(
            weights, frozenset({*joined, SUM}).difference(plain), partial(self._swapped, spelt)
        )

    def content(self, phrase: str) -> frozenset[str]:
        """The terms of a phrase that is no payload, without its stop words; short ones are
        remembered.
        """
        return self._remembered(phrase) if len(phrase) <= PHRASE_LIMIT else self._content(phrase)

    def _swapped(self, spelt: Mapping[str, str], term: str) -> list[str]:
        return [self._stem(word) for word in swaps(spelt.get(term, ""))]

    def _read(self, text: str) -> tuple[list[str], list[str]]:
        """The terms as they stand there, and those that only people who write in one word would
        look for.
        """
        spaced = CAMEL.sub(" ", text)
        joined = _numbered(text)
        if len(spaced) > len(text):
            joined += _camels(text)
        return self._terms(spaced.casefold()), [self._stem(word.casefold()) for word in joined]

    def _content(self, phrase: str) -> frozenset[str]:
        return frozenset(self._terms(phrase)) - self._stop

    def _terms(self, text: str) -> list[str]:
        stem = self._stem
        if text.isascii():
            return [stem(word[:WORD_LIMIT]) for word in ASCII_WORD.findall(text)]
        terms: list[str] = []
        for word in WORD.findall(text):
            if IS_UNSPACED(word):
                terms.extend(word)
                terms.extend(first + second for first, second in pairwise(word))
            else:
                terms.append(stem(word[:WORD_LIMIT]))
        return terms


def _numbered(text: str) -> list[str]:
    """`SHA-256` is SHA256 as well."""
    return (
        [word + number for word, number in NUMBERED.findall(text) if len(word) <= JOIN_LIMIT]
        if "-" in text or "_" in text
        else []
    )


def _camels(text: str) -> list[str]:
    """`JavaScript` is one word as well."""
    return [
        word
        for word in WORD.findall(text)
        if len(word) <= JOIN_LIMIT and len(CAMEL.findall(word)) == 1
    ]


def fold(text: str) -> str:
    """The same text in one spelling (NFKC), without accents and invisible characters, Chinese
    simplified; letters keep their case.
    """
    if text.isascii():
        return text
    return unicodedata.normalize(
        "NFKC", unicodedata.normalize("NFKD", text).translate(IGNORED)
    ).translate(SIMPLER)


def swaps(word: str) -> list[str]:
    """The word with two letters beside each other in each other's place, its first one excepted;
    none of a short one.
    """
    if len(word) < SWAPPED or not word.isalpha():
        return []
    places = range(1, len(word) - 1)
    return [
        word[:at] + word[at + 1] + word[at] + word[at + 2 :]
        for at in places
        if word[at] != word[at + 1]
    ]


def has_sum(text: str) -> bool:
    """Whether there is something to calculate in it."""
    return SUMS.search(text) is not None


def phrase(text: str) -> str:
    """The words as they are said: casefolded, single spaces between them; empty without a letter or
    digit.
    """
    return " ".join(WORD.findall(fold(text).casefold()))


def spans(text: str, stop: Set[str]) -> Iterator[str]:
    """The parts of a phrase that could be what something is called: some words of it in a row, not
    all of them stop words, or characters where no spaces are written. Only the first of a long one.
    """
    words = text.split()[:SPANNED]
    for start, word in enumerate(words):
        if IS_UNSPACED(word):
            places = range(len(word[:SPANNED]) - 1)
            yield from (
                word[place : place + size]
                for place in places
                for size in range(2, min(SPAN_CHARACTERS, len(word) - place) + 1)
            )
        for end in range(start + 1, min(start + SPAN_WORDS, len(words)) + 1):
            if not stop >= set(words[start:end]):
                yield " ".join(words[start:end])


def says(text: str, part: str) -> bool:
    """Whether a phrase holds another one whole; what is very short stands in too many by chance."""
    if IS_UNSPACED(part):
        return len(part) > 1 and part in text
    return len(part) > 2 and f" {part} " in f" {text} "
