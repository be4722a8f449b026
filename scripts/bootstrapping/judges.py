"""Judges decide whether an answer is right: pure functions of a reply's text and of what a
capability gave back, tolerant of wording, not of values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from sigil.protocol import Json

READ_CHARACTERS = 20_000
EMBEDDED_MOST = 100
"""How many brackets of a text are tried as the beginning of JSON."""
_LEAVES_MOST = 10_000
_SPACES = re.compile(r"[\s\u00a0\u202f]+")
_MARKS = str.maketrans(
    {
        "`": " ",
        "\u2212": "-",
        "\u2013": "-",
        "\u2014": "-",
        "\u2018": "'",
        "\u2019": "'",
        "\u201c": '"',
        "\u201d": '"',
    }
)
_NUMBER = re.compile(
    r"(?<![\w.])-?(?:\d{1,3}(?:[,\u00a0\u202f]\d{3})+|\d+)(?!\d)(?:\.\d+)?", re.ASCII
)
_DECISIVE = re.compile(r"\b(yes|no|not|valid|invalid|true|false|cannot|isn't|doesn't)\b")
_YES = ("yes", "valid", "true")
_MORSE = {
    "·": ".",
    "•": ".",
    "∙": ".",
    "⋅": ".",
    "…": "...",
    "_": "-",
    "–": "-",
    "—": "-",
    "−": "-",
}


class Judge(Protocol):
    """The true answer to one question."""

    def said(self, text: str) -> bool:
        """Return whether a reply says it."""

    def held(self, output: Json) -> bool:
        """Return whether what a capability gave back holds it."""


@dataclass(frozen=True, slots=True)
class Text:
    """These very words, whatever the case; spaces and marks of emphasis do not count, letters
    before or behind them do.
    """

    value: str
    exact: bool = False

    def said(self, text: str) -> bool:
        wanted, given = self._bare(self.value), self._bare(text)
        return re.search(rf"(?<!\w){re.escape(wanted)}(?!\w)", given) is not None

    def held(self, output: Json) -> bool:
        return _any_text(output, self.said)

    def _bare(self, text: str) -> str:
        line = _line(text)
        return line if self.exact else line.casefold()


@dataclass(frozen=True, slots=True)
class Number:
    """A number within `tolerance`."""

    value: float
    tolerance: float = 0.0

    def said(self, text: str) -> bool:
        return any(map(self._near, numbers(text)))

    def held(self, output: Json) -> bool:
        return _any_text(output, self.said) or any(
            self._near(leaf) for leaf in leaves(output) if _is_number(leaf)
        )

    def _near(self, number: float) -> bool:
        return abs(number - self.value) <= self.tolerance


@dataclass(frozen=True, slots=True)
class Digits:
    """A long number in which hyphens and spaces do not count. `check`: its last digits, which a
    capability may give back alone.
    """

    value: str
    check: str

    def said(self, text: str) -> bool:
        joined = re.sub(r"(?<=\d)[\s\u00a0-]+(?=\d)", "", text.translate(_MARKS)[:READ_CHARACTERS])
        return re.search(rf"(?<!\d){self.value}(?!\d)", joined) is not None

    def held(self, output: Json) -> bool:
        return any(
            str(leaf) == self.check or self.said(str(leaf))
            for leaf in leaves(output)
            if not isinstance(leaf, bool)
        )


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers in this order, one after the other, or each behind its place in a numbered list."""

    values: tuple[float, ...]

    def said(self, text: str) -> bool:
        return self._among(numbers(text))

    def held(self, output: Json) -> bool:
        found = list(leaves(output))
        return self._among([float(leaf) for leaf in found if _is_number(leaf)]) or _any_text(
            found, self.said
        )

    def _among(self, found: list[float]) -> bool:
        wanted = list(self.values)
        runs = (found, found[::2], found[1::2])
        return any(run[at : at + len(wanted)] == wanted for run in runs for at in range(len(run)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Yes or no, as the first word that decides says; a capability gives back true or false, or
    such a word.
    """

    value: bool

    def said(self, text: str) -> bool:
        decided = _DECISIVE.search(_line(text).casefold())
        return decided is not None and (decided[1] in _YES) == self.value

    def held(self, output: Json) -> bool:
        found = [leaf for leaf in leaves(output) if isinstance(leaf, bool)]
        return self.value in found if found else _any_text(output, self.said)


@dataclass(frozen=True, slots=True)
class Word:
    """One of a few words and none of the others."""

    value: str
    among: tuple[str, ...]

    def said(self, text: str) -> bool:
        words = set(re.findall(r"[a-z]+", text[:READ_CHARACTERS].casefold()))
        return words & {word.casefold() for word in self.among} == {self.value.casefold()}

    def held(self, output: Json) -> bool:
        return _any_text(output, self.said)


@dataclass(frozen=True, slots=True)
class Morse:
    """A text in Morse code; how dots, dashes and the space between words are drawn does not
    count.
    """

    value: str

    def said(self, text: str) -> bool:
        drawn = "".join(_MORSE.get(character, character) for character in text[:READ_CHARACTERS])
        spaced = re.sub(r"[ \t\u00a0]*[/|][ \t\u00a0]*|[ \t\u00a0]{2,}", " / ", drawn)
        return (
            re.search(
                rf"(?<![.\-])(?<![.\-] ){re.escape(self.value)}(?![.\-]| [.\-]| / [.\-])", spaced
            )
            is not None
        )

    def held(self, output: Json) -> bool:
        return _any_text(output, self.said)


@dataclass(frozen=True, slots=True)
class Data:
    """A value of JSON, anywhere in a text or inside another value."""

    value: Json

    def said(self, text: str) -> bool:
        return any(self._inside(value) for value in _embedded(text))

    def held(self, output: Json) -> bool:
        return self._inside(output) or _any_text(output, self.said)

    def _inside(self, whole: Json) -> bool:
        return any(node == self.value for node in _nodes(whole))


@dataclass(frozen=True, slots=True)
class All:
    """Several answers to one question."""

    parts: tuple[Judge, ...]

    def said(self, text: str) -> bool:
        return all(part.said(text) for part in self.parts)

    def held(self, output: Json) -> bool:
        return all(part.held(output) for part in self.parts)


def numbers(text: str) -> list[float]:
    """The numbers in a text, in order; `1,994` is one number, `1, 994` are two."""
    plain = text[:READ_CHARACTERS].translate(_MARKS).replace("{,}", ",")
    return [float(re.sub(r"[,\u00a0\u202f]", "", found)) for found in _NUMBER.findall(plain)]


def leaves(output: Json) -> Iterator[Json]:
    """The texts, numbers and truth values inside a value of JSON, in the order in which they are
    written.
    """
    return (node for node in _nodes(output) if isinstance(node, str | int | float))


def _nodes(whole: Json) -> Iterator[Json]:
    """A value and all values inside it, in order, the first ten thousand."""
    waiting = [whole]
    for _ in range(_LEAVES_MOST):
        if not waiting:
            return
        node = waiting.pop()
        yield node
        children = (
            node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
        )
        waiting.extend(reversed([*children]))


def _any_text(output: Json, said: Callable[[str], bool]) -> bool:
    return any(said(leaf) for leaf in leaves(output) if isinstance(leaf, str))


def _is_number(leaf: Json) -> bool:
    return isinstance(leaf, int | float) and not isinstance(leaf, bool)


def _line(text: str) -> str:
    return _SPACES.sub(
        " ", text[:READ_CHARACTERS].translate(_MARKS).replace("**", "").replace("__", "")
    ).strip()


def _embedded(text: str) -> Iterator[Json]:
    """The values of JSON that stand in a text."""
    decoder, place, text = json.JSONDecoder(), 0, text[:READ_CHARACTERS]
    for _ in range(EMBEDDED_MOST):
        found = re.compile(r"[\[{]").search(text, place)
        if found is None:
            return
        try:
            value, place = decoder.raw_decode(text, found.start())
            yield value
        except (ValueError, RecursionError):
            place = found.end()
