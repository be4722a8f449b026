"""Statements of a memory are compared with a rewrite of it, so that a lazy answer loses none.

Words are compared, not meanings. A statement is kept where one place of the new text has all of its
numbers and most of its words, the rare ones above all; it may be in another order, in another
line, or under a heading that names whom it is about. It is changed where a line of its own speaks
of the same with other words. Otherwise it is gone.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from math import log
from typing import Final

Terms = Callable[[str], Collection[str]]

KEPT: Final = 0.6
"""A statement is kept when one place has at least this part of its weight."""
CHANGED: Final = 0.3
"""A line that has at least this part of a statement's weight may be its new wording."""
PLACE_CHARACTERS: Final = 300
"""A line that is longer is more than one place: a list of all words is no memory."""
ABOVE_MOST, ABOVE_CHARACTERS = 2, 120
"""So many headings and points above a line are read with it, and so many characters of each: one
that had all words would make every line below it match.
"""
PLACES_MOST: Final = 1_000
"""At most so many places of the new text are compared: no memory within its cap has as many."""
GONE_PART, CHANGED_PART = 10, 3
"""A rewrite may drop a tenth of the statements, and drop or change a third of them."""
GONE_FEW, CHANGED_FEW = 1, 3
"""Where there are few statements, a rewrite may drop or change so many all the same."""
MEANS: Final = 2
"""A sentence of fewer terms is a part of the one before, and a new line of fewer is worth nothing
after a refusal.
"""
_SENTENCE: Final = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；])")
_HEADING: Final = re.compile(r"(#{1,6})\s")
_BULLET: Final = re.compile(r"\s*+[-*+•]\s++")
_POSITION: Final = re.compile(r"(\s*+)([0-9]{1,3})[.)](?=\s)")
_THOUSANDS: Final = re.compile(r"(?<=\d)[,'_’](?=\d{3}(?!\d))")


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of a memory: a line, or a sentence of the line with this number."""

    text: str
    terms: frozenset[str]
    line: int = 0

    @property
    def numbers(self) -> frozenset[str]:
        """The terms that have a digit."""
        return frozenset(
            term for term in self.terms if any(character.isdigit() for character in term)
        )


@dataclass(frozen=True, slots=True)
class Comparison:
    """The statements of a text that another one kept, changed or dropped."""

    kept: tuple[Statement, ...]
    changed: tuple[Statement, ...]
    gone: tuple[Statement, ...]

    @property
    def count(self) -> int:
        return len(self.kept) + len(self.changed) + len(self.gone)

    @property
    def lost(self) -> tuple[Statement, ...]:
        """The statements that the other text does not make as they were."""
        return (*self.gone, *self.changed)

    @property
    def loses_too_much(self) -> bool:
        """Return whether more is gone or changed than a rewrite may lose.

        It may drop one statement, but not the only one, or a tenth of them.
        """
        few = GONE_FEW if self.count > 1 else 0
        may_go = max(few, self.count // GONE_PART)
        may_change = max(CHANGED_FEW, self.count // CHANGED_PART)
        return len(self.gone) > may_go or len(self.lost) > may_change


@dataclass(frozen=True, slots=True)
class _Place:
    """A part of a text in which a statement can be.

    `terms` are those there, and those of the headings and points above it.
    """

    line: int
    terms: frozenset[str]


def split_statements(text: str, terms: Terms) -> tuple[Statement, ...]:
    """Return the statements of a text, in order, without headings and lines without a word."""
    found: list[Statement] = []
    for number, line in enumerate(text.split("\n")):
        if not _HEADING.match(line):
            found.extend(
                Statement(part, words, number) for part, words in _split_sentences(line, terms)
            )
    return tuple(found)


def compare(before: str, after: str, terms: Terms) -> Comparison:
    """Compare the statements of `before` with the text `after`."""
    before, after = _replace_positions(before), _replace_positions(after)
    old = split_statements(before, terms)
    counts = Counter(term for statement in old for term in statement.terms)
    weights = {term: log(1 + len(old) / count) for term, count in counts.items()}
    verbatim = {_normalize_line(line) for line in after.split("\n")}
    places = tuple(islice(_split_places(after, terms), PLACES_MOST))
    index: dict[str, list[int]] = defaultdict(list)
    for number, place in enumerate(places):
        for term in place.terms & weights.keys():
            index[term].append(number)
    kept: list[Statement] = []
    others: list[tuple[Statement, Mapping[int, float]]] = []
    for statement in old:
        if _normalize_line(statement.text) in verbatim:
            kept.append(statement)
            continue
        whole = sum(weights[term] for term in statement.terms)
        shares: dict[int, float] = defaultdict(float)  # the part of its weight in each place
        for term in statement.terms:
            share = weights[term] / whole
            for number in index.get(term, ()):
                shares[number] += share
        numbers = statement.numbers
        if any(
            share >= KEPT and numbers <= places[number].terms for number, share in shares.items()
        ):
            kept.append(statement)
        else:
            others.append((statement, shares))
    changed, gone = _split_changed(others, places)
    return Comparison(tuple(kept), changed, gone)


def find_new_lines(memory: str, draft: str, terms: Terms) -> list[str]:
    """Return the lines of a draft that say something which the memory does not, each once."""
    known = {_normalize_line(line) for line in _replace_positions(memory).split("\n")}
    lines: dict[str, str] = {}
    for line, unnumbered in zip(
        draft.split("\n"), _replace_positions(draft).split("\n"), strict=True
    ):
        bare = _normalize_line(unnumbered)
        if (
            not _HEADING.match(line)
            and bare not in known
            and len(terms(_join_thousands(line))) >= MEANS
        ):
            lines.setdefault(bare, line.rstrip())
    fresh = compare("\n".join(lines.values()), memory, terms)
    new = {statement.line for statement in fresh.lost}
    return [line for number, line in enumerate(lines.values()) if number in new]


def _split_sentences(line: str, terms: Terms) -> Iterator[tuple[str, frozenset[str]]]:
    """Yield the sentences of a line with their terms; a very short one joins the one before."""
    starts = [0, *(end.end() for end in _SENTENCE.finditer(line))]
    parts: list[str] = []
    for start, end in zip(starts, [*starts[1:], len(line)], strict=True):
        sentence = line[start:end]
        if parts and len(terms(_join_thousands(sentence))) < MEANS:
            parts[-1] += sentence
        else:
            parts.append(sentence)
    for part in parts:
        found = frozenset(terms(_join_thousands(part)))
        if not found:
            found = frozenset(re.findall(r"\w+", part.casefold()))
        if found:
            yield part.strip(), found


def _split_places(text: str, terms: Terms) -> Iterator[_Place]:
    """Yield the places of a text: its lines, and overlapping stretches of long ones."""
    headings: dict[int, frozenset[str]] = {}
    points: list[tuple[int, frozenset[str]]] = []
    for number, line in enumerate(text.split("\n")):
        heading = _HEADING.match(line)
        if heading:
            level = len(heading[1])
            headings = {upper: words for upper, words in headings.items() if upper < level}
            headings[level] = frozenset(terms(_join_thousands(line[:ABOVE_CHARACTERS])))
            points = []
            continue
        depth = len(line) - len(line.lstrip())
        points = [(upper, words) for upper, words in points if upper < depth]
        above = list(headings.values())[-ABOVE_MOST:]
        above.extend(words for _, words in points[-ABOVE_MOST:])
        around: frozenset[str] = frozenset().union(*above)
        step = PLACE_CHARACTERS // 2
        for start in range(0, max(len(line) - step, 1), step):
            words = frozenset(terms(_join_thousands(line[start : start + PLACE_CHARACTERS])))
            if words:
                yield _Place(number, words | around)
        if line.strip() and len(line) <= PLACE_CHARACTERS:
            points.append((depth, frozenset(terms(_join_thousands(line[:ABOVE_CHARACTERS])))))


def _split_changed(
    others: list[tuple[Statement, Mapping[int, float]]], places: tuple[_Place, ...]
) -> tuple[tuple[Statement, ...], tuple[Statement, ...]]:
    """Split the statements that are not kept into changed and gone ones.

    Each line is the new wording of one statement at most.
    """
    taken: set[int] = set()
    changed: list[Statement] = []
    gone: list[Statement] = []
    for statement, shares in others:
        for number in sorted(shares, key=lambda number: -shares[number]):
            line = places[number].line
            if shares[number] >= CHANGED and line not in taken:
                taken.add(line)
                changed.append(statement)
                break
        else:
            gone.append(statement)
    return tuple(changed), tuple(gone)


def _join_thousands(text: str) -> str:
    """Return the text without separators of thousands, so that a number is one term."""
    return _THOUSANDS.sub("", text)


def _replace_positions(text: str) -> str:
    """Return the text with points for the positions of numbered lists, which say nothing.

    A position is 1, or one more than the position before it. Every other number at the start of a
    line says something, as a date does.
    """
    lines: list[str] = []
    position = 0
    for line in text.split("\n"):
        found = _POSITION.match(line)
        if found and int(found[2]) in (1, position + 1):
            position = int(found[2])
            lines.append(f"{found[1]}-{line[found.end() :]}")
        else:
            lines.append(line)
    return "\n".join(lines)


def _normalize_line(line: str) -> str:
    """Return a line as it is compared: without bullet, in lower case, with single spaces."""
    bullet = _BULLET.match(line)
    return " ".join(line[bullet.end() if bullet else 0 :].casefold().split())
