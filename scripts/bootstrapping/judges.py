"""Judges decide whether an answer is right: pure functions of a reply's text and of a capability's
output, tolerant of wording, not of values.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol, TypeGuard

from sigil.protocol import Json

READ_CHARACTERS = 20_000
EMBEDDED_MOST = 100
"""The number of brackets in a text that are tried as the beginning of JSON."""
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

    def is_in_text(self, text: str) -> bool:
        """Return whether a reply gives it."""

    def is_in_output(self, output: Json) -> bool:
        """Return whether a capability's output holds it."""


@dataclass(frozen=True, slots=True)
class Text:
    """These words in any case, unless `exact`. Spaces and marks of emphasis do not count; letters
    right before or behind them do.
    """

    value: str
    exact: bool = False

    def is_in_text(self, text: str) -> bool:
        answer = self._normalize(self.value)
        return re.search(rf"(?<!\w){re.escape(answer)}(?!\w)", self._normalize(text)) is not None

    def is_in_output(self, output: Json) -> bool:
        return _is_any_text(output, self.is_in_text)

    def _normalize(self, text: str) -> str:
        line = _join_lines(text)
        return line if self.exact else line.casefold()


@dataclass(frozen=True, slots=True)
class Number:
    """A number within `tolerance`."""

    value: float
    tolerance: float = 0.0

    def is_in_text(self, text: str) -> bool:
        return any(map(self._is_near, find_numbers(text)))

    def is_in_output(self, output: Json) -> bool:
        return _is_any_text(output, self.is_in_text) or any(
            self._is_near(leaf) for leaf in list_leaves(output) if _is_number(leaf)
        )

    def _is_near(self, number: float) -> bool:
        return abs(number - self.value) <= self.tolerance


@dataclass(frozen=True, slots=True)
class Digits:
    """A long number in which hyphens and spaces do not count. `check`: its last digits, which may
    be a capability's whole output.
    """

    value: str
    check: str

    def is_in_text(self, text: str) -> bool:
        joined = re.sub(r"(?<=\d)[\s\u00a0-]+(?=\d)", "", text.translate(_MARKS)[:READ_CHARACTERS])
        return re.search(rf"(?<!\d){self.value}(?!\d)", joined) is not None

    def is_in_output(self, output: Json) -> bool:
        texts = [str(leaf) for leaf in list_leaves(output) if not isinstance(leaf, bool)]
        return any(text == self.check or self.is_in_text(text) for text in texts)


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers in this order, one after the other, or each behind its place in a numbered list."""

    values: tuple[float, ...]

    def is_in_text(self, text: str) -> bool:
        return self._has_run(find_numbers(text))

    def is_in_output(self, output: Json) -> bool:
        found = list(list_leaves(output))
        if self._has_run([float(leaf) for leaf in found if _is_number(leaf)]):
            return True
        return _is_any_text(found, self.is_in_text)

    def _has_run(self, found: list[float]) -> bool:
        answer = list(self.values)
        runs = (found, found[::2], found[1::2])
        return any(run[at : at + len(answer)] == answer for run in runs for at in range(len(run)))


@dataclass(frozen=True, slots=True)
class Verdict:
    """Yes or no, by the first decisive word of a text; a capability's output is true or false, or
    such a word.
    """

    value: bool

    def is_in_text(self, text: str) -> bool:
        decided = _DECISIVE.search(_join_lines(text).casefold())
        return decided is not None and (decided[1] in _YES) == self.value

    def is_in_output(self, output: Json) -> bool:
        found = [leaf for leaf in list_leaves(output) if isinstance(leaf, bool)]
        return self.value in found if found else _is_any_text(output, self.is_in_text)


@dataclass(frozen=True, slots=True)
class Word:
    """One of a few words and none of the others."""

    value: str
    among: tuple[str, ...]

    def is_in_text(self, text: str) -> bool:
        words = set(re.findall(r"[a-z]+", text[:READ_CHARACTERS].casefold()))
        return words & {word.casefold() for word in self.among} == {self.value.casefold()}

    def is_in_output(self, output: Json) -> bool:
        return _is_any_text(output, self.is_in_text)


@dataclass(frozen=True, slots=True)
class Morse:
    """A text in Morse code; how dots, dashes and the space between words are drawn does not
    count.
    """

    value: str

    def is_in_text(self, text: str) -> bool:
        dots = "".join(_MORSE.get(character, character) for character in text[:READ_CHARACTERS])
        spaced = re.sub(r"[ \t\u00a0]*[/|][ \t\u00a0]*|[ \t\u00a0]{2,}", " / ", dots)
        pattern = rf"(?<![.\-])(?<![.\-] ){re.escape(self.value)}(?![.\-]| [.\-]| / [.\-])"
        return re.search(pattern, spaced) is not None

    def is_in_output(self, output: Json) -> bool:
        return _is_any_text(output, self.is_in_text)


@dataclass(frozen=True, slots=True)
class Data:
    """A value of JSON, anywhere in a text or inside another value."""

    value: Json

    def is_in_text(self, text: str) -> bool:
        return any(self._has_node(value) for value in _find_json(text))

    def is_in_output(self, output: Json) -> bool:
        return self._has_node(output) or _is_any_text(output, self.is_in_text)

    def _has_node(self, whole: Json) -> bool:
        return any(node == self.value for node in _walk_values(whole))


@dataclass(frozen=True, slots=True)
class All:
    """Several answers to one question."""

    parts: tuple[Judge, ...]

    def is_in_text(self, text: str) -> bool:
        return all(part.is_in_text(text) for part in self.parts)

    def is_in_output(self, output: Json) -> bool:
        return all(part.is_in_output(output) for part in self.parts)


def find_numbers(text: str) -> list[float]:
    """Return the numbers in a text, in order; `1,994` is one number, `1, 994` are two."""
    plain = text[:READ_CHARACTERS].translate(_MARKS).replace("{,}", ",")
    return [float(re.sub(r"[,\u00a0\u202f]", "", found)) for found in _NUMBER.findall(plain)]


def list_leaves(output: Json) -> Iterator[Json]:
    """Return the texts, numbers and truth values inside a JSON value, in the order of the text."""
    return (node for node in _walk_values(output) if isinstance(node, str | int | float))


def _walk_values(whole: Json) -> Iterator[Json]:
    """Yield a value and all values inside it, in order, the first ten thousand."""
    waiting = [whole]
    for _ in range(_LEAVES_MOST):
        if not waiting:
            return
        node = waiting.pop()
        yield node
        if isinstance(node, dict):
            waiting.extend(reversed(node.values()))
        elif isinstance(node, list):
            waiting.extend(reversed(node))


def _is_any_text(output: Json, accepts: Callable[[str], bool]) -> bool:
    return any(accepts(leaf) for leaf in list_leaves(output) if isinstance(leaf, str))


def _is_number(leaf: Json) -> TypeGuard[float]:
    return isinstance(leaf, int | float) and not isinstance(leaf, bool)


def _join_lines(text: str) -> str:
    """Return a text as one line, without marks of emphasis."""
    plain = text[:READ_CHARACTERS].translate(_MARKS).replace("**", "").replace("__", "")
    return _SPACES.sub(" ", plain).strip()


def _find_json(text: str) -> Iterator[Json]:
    """Yield the JSON values that are embedded in a text."""
    decoder = json.JSONDecoder()
    text = text[:READ_CHARACTERS]
    place = 0
    for _ in range(EMBEDDED_MOST):
        found = re.compile(r"[\[{]").search(text, place)
        if found is None:
            return
        try:
            value, place = decoder.raw_decode(text, found.start())
            yield value
        except (ValueError, RecursionError):
            place = found.end()
