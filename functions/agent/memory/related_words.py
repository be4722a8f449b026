"""Words that are about the same thing, in English, German and Chinese, so that a question in other
words finds what was remembered: "my spouse" finds "wife".

Only the life of people is covered: family, food, health, home, work, money, travel, time.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import cache, lru_cache, partial
from itertools import chain
from typing import Final

from functions.agent.memory.helpers import Terms
from functions.agent.memory.subjects import SUBJECTS

_COMPOUND_CHARACTERS: Final = 8
"""A word of so many letters may be a German compound."""
_PART_CHARACTERS: Final = 4
_REST_CHARACTERS: Final = 3
_FIRST_CHARACTERS: Final = 6
_ENDINGS: Final = tuple("en er es em st te et e n s t".split())
"""The endings of German words; the longest come first."""
_STEM_CHARACTERS: Final = 4
_UNSPACED: Final = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_QUESTION: Final = re.compile(
    r"[?？]\s*$|^(?:when|what|who|whose|whom|where|which|how|wann|was|wer|wen|wem|wo|wie|welche\w?)\b"
    r"|什么|哪|谁|几|多少|吗",
    re.IGNORECASE,
)
_ONESELF: Final = re.compile(
    r"\b(?:i|i'm|i've|my|mine|our|ours|we|ich|wir|mein\w{0,2}|unser\w{0,2}|user|nutzer)\b"
    r"|(?<![帮给为替教让诉])我|用户",
    re.IGNORECASE,
)
"""A word for the person who asks, but not as the one for whom something is to be done."""

_QUESTION_WORDS: Final = """
say said tell told remember remind recall mention mentioned know name still again wann was wie
wo wer wen wem welche welcher welches welchen welchem wohin woher wovor warum viel viele ist
sind war bin hat habe haben hatte muss darf soll kann will wird mein meine meiner meines meinen
meinem ich mir mich du dein der die das den dem des ein eine einen einem und oder im in am an
auf zu zum zur von vom bei mit für gegen über nicht kein keine keinen nutzer user noch gerade
seit bis es gesagt sagte erzählt heißt heißen named called 叫 名字 叫什 名叫 用户 我的 我是 我要
我能 我家 我不 是哪 是什 哪 哪里 哪儿 哪个 哪种 多少 几 不 能 可 以 给 到 来 做 得 会 还 上 下
最 again first last next new now young did come comes came from go going get got put leave left
need needs want wants wanted must make made take takes took have long one another second other
thing number time date day leave give gave gehe geht kommt kommen gekommen lege liegt steht
stehen gelegt stelle brauche neue neuer neues erste letzte letzten zweite zweiten nächste jetzt
inzwischen nummer tag lange machen mache gemacht geben möchte will wollte gehört 放 放在 在哪 的另
那个 现在 上次 时候 打算 号码 以前 要用 我要 的是 买了 用的 我的 家里 我会 叫什 怎么 哪天 我家
order ordered buy bought bestellt bestellen kaufen gekauft
ever once already earlier previously actually please schon mal einmal irgendwann eigentlich doch
früher damals vorhin bereits bitte 之前 曾经 说过 告诉 跟你 讲过 提过
hingelegt hingestellt hingetan gelegen aufbewahrt aufbewahre kept keep keeps stored find
"""
"""Words that questions and notes are full of, beside the stop words of the search."""


def is_spaced(text: str) -> bool:
    """Return whether a text is in a script that writes spaces between words."""
    return _UNSPACED.search(text) is None


def is_question(text: str) -> bool:
    """Return whether a text asks something of the people's world: it has no number to work with."""
    return _QUESTION.search(text) is not None and not any(map(str.isdigit, text))


def asks_about_oneself(text: str) -> bool:
    """Return whether a question is about the person who asks it, or theirs."""
    return _ONESELF.search(text) is not None


@lru_cache(maxsize=8)
def load_related_words(terms: Terms) -> RelatedWords:
    """Return the related words as terms; they are made once."""
    return RelatedWords(terms)


class RelatedWords:
    """The related words by their terms."""

    def __init__(self, terms: Terms) -> None:
        longest = cache(partial(_longest_terms, terms=terms))
        self._subjects: dict[str, list[Collection[str]]] = {}
        """Term → the subjects that it is in, each as its terms."""
        for line in SUBJECTS.split("\n\n"):
            subject = set(chain.from_iterable(map(longest, line.split())))
            for term in subject:
                self._subjects.setdefault(term, []).append(subject)
        self._weak = frozenset(chain.from_iterable(map(longest, _QUESTION_WORDS.split())))
        self._stems: dict[str, list[str]] = {}
        self._parts: set[str] = set()
        for term in self._subjects:
            if term.isascii() and len(term) >= _PART_CHARACTERS:
                self._parts.add(term)
                self._stems.setdefault(_cut_ending(term), []).append(term)

    def list_related(self, term: str) -> frozenset[str]:
        """Return the terms that are about the same thing as one term."""
        if term in self._subjects:
            return frozenset().union(*self._subjects[term]) - {term}
        parts = self.list_parts(term)
        return parts.union(*map(self.list_related, parts))

    def knows(self, term: str) -> bool:
        """Return whether a term is a word of a subject, and says what a question is about."""
        return term not in self._weak and (term in self._subjects or bool(self.list_parts(term)))

    def list_parts(self, term: str) -> frozenset[str]:
        """Return the known words that a term is another form of, or that it is made of."""
        if term in self._subjects or not (term.isascii() and term.isalpha()):
            return frozenset()
        return frozenset(self._stems.get(_cut_ending(term), ())) or self.split_compound(term)

    def split_compound(self, term: str) -> frozenset[str]:
        """Return the known words that a term is made of, as German compounds are.

        The last part says what it is. A first part alone counts where it is long: `kilometres` are
        no `kilo`.
        """
        if len(term) < _COMPOUND_CHARACTERS or term in self._subjects or not term.isalpha():
            return frozenset()
        if not term.isascii():
            return frozenset()
        sizes = range(len(term) - _REST_CHARACTERS, _PART_CHARACTERS - 1, -1)
        first = next((term[:size] for size in sizes if term[:size] in self._parts), "")
        last = next((term[-size:] for size in sizes if term[-size:] in self._parts), "")
        if not last and len(first) < _FIRST_CHARACTERS:
            return frozenset()
        return frozenset(part for part in (first, last) if part)

    def is_weak(self, term: str) -> bool:
        """Return whether a term says little about what a question is about."""
        return term in self._weak


def _cut_ending(term: str) -> str:
    """Return a term without the ending that it has as a German word."""
    if not term.endswith(_ENDINGS):
        return term
    for ending in _ENDINGS:
        if term.endswith(ending) and len(term) - len(ending) >= _STEM_CHARACTERS:
            return term[: -len(ending)]
    return term


def _longest_terms(word: str, terms: Terms) -> list[str]:
    """Return the terms of a word, without single characters where there are pairs of them."""
    found = list(terms(word))
    longest = max(map(len, found), default=0)
    if word.isascii():
        return found
    return [term for term in found if len(term) == longest or len(term) > 2]
