"""Redaction takes what an owner's patterns fit out of a text that leaves a chat.

A pattern is a regular expression without what would make a search slow: no references, no looking
around, no anchors. All patterns become one automaton, in which each character that a pattern names
is a position (Glushkov's construction). A text is read twice, forwards and backwards, so the time
grows with its length alone, whatever stands in it.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final

REDACTED: Final = "[redacted]"
PATTERNS_MOST: Final = 32
PATTERN_CHARACTERS: Final = 200
POSITIONS_MOST: Final = 500
"""All patterns together name so many characters at most, those that repeat counted as often."""
DEPTH_MOST: Final = 20
_COUNT: Final = re.compile(r"\{([0-9]{1,4})(,?)([0-9]{0,4})\}", re.ASCII)
_CLASS: Final = re.compile(r"\[\^?(?:\\.|[^\]\\\[])+\]", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:[dDwWsStnrfv]|x[0-9A-Fa-f]{2}|u[0-9A-Fa-f]{4}|[^A-Za-z0-9])")
_WORD_ENDS: Final = frozenset({"\\b", "\\B", "\\A", "\\Z", "^", "$"})
_IGNORE_CASE: Final = "(?i)"


class UnfitPattern(ValueError):
    """A pattern that is none, or could be slow; its text says why."""


@dataclass(frozen=True, slots=True)
class Character:
    """One character of a text: a regular expression that fits exactly one."""

    source: str


@dataclass(frozen=True, slots=True)
class Row:
    """Parts one after the other."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Choice:
    """One of several parts."""

    parts: tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Repeat:
    """A part so many times; `most` is None for any number."""

    part: Node
    least: int
    most: int | None


Node = Character | Row | Choice | Repeat


@dataclass(frozen=True, slots=True)
class Pattern:
    """A pattern as it was read."""

    node: Node
    flags: int

    @property
    def positions(self) -> int:
        """The number of characters that it names."""
        return _count_positions(self.node)


@dataclass(frozen=True, slots=True)
class Fragment:
    """A part of the automaton: the positions at which it begins and ends, each a bit, and whether
    it fits an empty text.
    """

    first: int
    last: int
    is_empty: bool


EMPTY: Final = Fragment(0, 0, is_empty=True)


def redact(patterns: Sequence[str], text: str) -> str:
    """Return a text without all that one of the patterns fits; matches that overlap go together."""
    if not patterns or not text:
        return text
    return _build(tuple(patterns)).redact(text)


def check_patterns(patterns: Sequence[str]) -> None:
    """Raise `UnfitPattern` for a pattern that is none, and for too many together."""
    if len(patterns) > PATTERNS_MOST:
        raise UnfitPattern(f"there are at most {PATTERNS_MOST} patterns")
    positions = sum(parse_pattern(pattern).positions for pattern in patterns)
    if positions > POSITIONS_MOST:
        raise UnfitPattern(
            f"the patterns together name {positions:,} characters, and {POSITIONS_MOST} at most"
        )


@lru_cache(maxsize=256)
def parse_pattern(text: str) -> Pattern:
    """Return the pattern in a text; `UnfitPattern` for one that is none."""
    if not 1 <= len(text) <= PATTERN_CHARACTERS:
        raise UnfitPattern(f"a pattern has 1 to {PATTERN_CHARACTERS} characters")
    rest = text.removeprefix(_IGNORE_CASE)
    parser = _Parser(rest)
    node = parser.read_choice(0)
    if parser.place < len(rest):
        raise UnfitPattern(f"`{rest[parser.place]}` closes nothing")
    pattern = Pattern(node, re.NOFLAG if rest == text else re.IGNORECASE)
    if pattern.positions > POSITIONS_MOST:
        raise UnfitPattern(f"it names more than {POSITIONS_MOST} characters")
    if _is_optional(node):
        raise UnfitPattern("it fits an empty text")
    return pattern


@dataclass(slots=True)
class _Parser:
    """Reads a pattern from the left to the right; `place` is the next character."""

    text: str
    place: int = 0

    def read_choice(self, depth: int) -> Node:
        if depth > DEPTH_MOST:
            raise UnfitPattern(f"groups stand at most {DEPTH_MOST} deep in each other")
        parts = [self._read_row(depth)]
        while self._take("|"):
            parts.append(self._read_row(depth))
        return parts[0] if len(parts) == 1 else Choice(tuple(parts))

    def _read_row(self, depth: int) -> Node:
        parts: list[Node] = []
        while self.place < len(self.text) and self.text[self.place] not in "|)":
            parts.append(self._read_repeat(self._read_part(depth)))
        return parts[0] if len(parts) == 1 else Row(tuple(parts))

    def _read_part(self, depth: int) -> Node:
        text = self.text
        letter = text[self.place]
        if self._take("("):
            if self._take("?") and not self._take(":"):
                raise UnfitPattern("of groups, there are `(…)` and `(?:…)`")
            node = self.read_choice(depth + 1)
            if not self._take(")"):
                raise UnfitPattern("a group is not closed")
            return node
        if letter in "*+?{":
            raise UnfitPattern(f"`{letter}` repeats nothing")
        if letter in _WORD_ENDS or text[self.place : self.place + 2] in _WORD_ENDS:
            raise UnfitPattern("a pattern fits anywhere in a text: leave ^, $ and \\b out")
        found = {"[": _CLASS, "\\": _ESCAPE}.get(letter)
        if found is None:
            self.place += 1
            return Character(letter if letter == "." else re.escape(letter))
        match = found.match(text, self.place)
        if match is None:
            kind = "class" if letter == "[" else "escape"
            raise UnfitPattern(f"no {kind} of characters: {text[self.place : self.place + 10]!r}")
        self.place = match.end()
        return Character(_require_character(match[0]))

    def _read_repeat(self, part: Node) -> Node:
        counts = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        letter = self.text[self.place : self.place + 1]
        if letter in counts:
            self.place += 1
            least, most = counts[letter]
        elif letter == "{":
            match = _COUNT.match(self.text, self.place)
            if match is None:
                raise UnfitPattern("write a count as {3}, {3,} or {3,5}, and a brace as \\{")
            self.place = match.end()
            least = int(match[1])
            most = int(match[3]) if match[3] else None if match[2] else least
        else:
            return part
        if most is not None and not (least <= most and most):
            raise UnfitPattern("a count goes from the smaller to the larger number")
        if self.text[self.place : self.place + 1] in ("*", "+", "?", "{"):
            raise UnfitPattern("what repeats is not repeated again: put it into a group")
        return Repeat(part, least, most)

    def _take(self, letter: str) -> bool:
        taken = self.text.startswith(letter, self.place)
        self.place += len(letter) if taken else 0
        return taken


def _require_character(source: str) -> str:
    """Return the source of one character; `UnfitPattern` for a class that Python does not read."""
    inside = source[1:-1] if source.startswith("[") else source
    # in a class too, an escape stands for a character: `\\b` there is another one than elsewhere
    for escape in re.findall(r"\\.", inside, re.DOTALL):
        if not re.fullmatch(r"\\(?:[dDwWsStnrfvxu]|[^A-Za-z0-9])", escape, re.DOTALL):
            raise UnfitPattern(f"no escape: {escape!r}")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            re.compile(source)
    except (re.error, FutureWarning) as problem:
        raise UnfitPattern(f"no class of characters: {problem}") from None
    return source


def _count_positions(node: Node) -> int:
    match node:
        case Character():
            return 1
        case Repeat(part):
            return _count_positions(part) * _count_copies(node)
        case Row(parts) | Choice(parts):
            return sum(map(_count_positions, parts))


def _is_optional(node: Node) -> bool:
    """Return whether a part fits an empty text."""
    match node:
        case Character():
            return False
        case Repeat(part, least, _):
            return not least or _is_optional(part)
        case Row(parts):
            return all(map(_is_optional, parts))
        case Choice(parts):
            return any(map(_is_optional, parts))


@dataclass(frozen=True, slots=True)
class Automaton:
    """The positions of some patterns, each a bit.

    `characters` says which positions a character may stand at, by what fits it. `after` and
    `before` have for each position those that may come next, and those that may have come before.
    """

    characters: tuple[tuple[Callable[[str], object], int], ...]
    after: tuple[int, ...]
    before: tuple[int, ...]
    first: int
    last: int

    def redact(self, text: str) -> str:
        """Return a text without the characters that are a part of a match."""
        fits = {letter: self._find_positions(letter) for letter in set(text)}
        reached = []
        here = 0
        known: dict[tuple[int, int], int] = {}
        for letter in text:
            here = fits[letter] & (self.first | _unite(self.after, here, known))
            reached.append(here)
        kept: list[str] = []
        here = 0
        was_taken = False
        known = {}
        for letter, from_left in zip(reversed(text), reversed(reached), strict=True):
            here = fits[letter] & (self.last | _unite(self.before, here, known))
            is_taken = bool(here & from_left)
            if not is_taken:
                kept.append(letter)
            elif not was_taken:
                kept.append(REDACTED)
            was_taken = is_taken
        return "".join(reversed(kept))

    def _find_positions(self, letter: str) -> int:
        return sum(positions for fits, positions in self.characters if fits(letter))


def _unite(edges: Sequence[int], positions: int, known: dict[tuple[int, int], int]) -> int:
    """Return the positions to which edges lead from these, eight positions at once; `known` has
    what was found for eight of them before.
    """
    if not positions:
        return 0
    found = 0
    for place, eight in enumerate(positions.to_bytes(len(edges) // 8 + 1, "little")):
        if not eight:
            continue
        part = known.get((place, eight))
        if part is None:
            part = 0
            for position in _list_bits(eight):
                part |= edges[place * 8 + position]
            known[place, eight] = part
        found |= part
    return found


def _list_bits(positions: int) -> Iterator[int]:
    while positions:
        lowest = positions & -positions
        yield lowest.bit_length() - 1
        positions ^= lowest


class _Builder:
    """Adds the positions of patterns one by one."""

    def __init__(self) -> None:
        self.characters: dict[tuple[str, int], int] = {}
        self.after: list[int] = []

    def add(self, node: Node, flags: int) -> Fragment:
        """Add the positions of a part, and return where it begins and ends."""
        match node:
            case Character(source):
                position = 1 << len(self.after)
                self.after.append(0)
                known = self.characters.get((source, flags), 0)
                self.characters[source, flags] = known | position
                return Fragment(position, position, is_empty=False)
            case Choice(parts):
                found = [self.add(part, flags) for part in parts]
                first = last = 0
                for each in found:
                    first |= each.first
                    last |= each.last
                return Fragment(first, last, any(each.is_empty for each in found))
            case Row(parts):
                whole = EMPTY
                for part in parts:
                    whole = self._join(whole, self.add(part, flags))
                return whole
            case Repeat():
                return self._repeat(node, flags)

    def _repeat(self, repeat: Repeat, flags: int) -> Fragment:
        whole = EMPTY
        for number in range(_count_copies(repeat)):
            each = self.add(repeat.part, flags)
            if repeat.most is None and number >= repeat.least - 1:
                self._link(each.last, each.first)
            if number >= repeat.least:
                each = replace(each, is_empty=True)
            whole = self._join(whole, each)
        return whole

    def _join(self, one: Fragment, other: Fragment) -> Fragment:
        """Return one part with the other one behind it."""
        self._link(one.last, other.first)
        first = one.first | other.first if one.is_empty else one.first
        last = one.last | other.last if other.is_empty else other.last
        return Fragment(first, last, one.is_empty and other.is_empty)

    def _link(self, last: int, first: int) -> None:
        """Let the positions of `first` come after those of `last`."""
        for position in _list_bits(last):
            self.after[position] |= first


def _count_copies(repeat: Repeat) -> int:
    """Return how often the part of a repeat is written out."""
    return max(repeat.least, repeat.most or 1)


@lru_cache(maxsize=16)
def _build(patterns: tuple[str, ...]) -> Automaton:
    """Return the automaton of some patterns."""
    builder = _Builder()
    first = last = 0
    for pattern in map(parse_pattern, patterns):
        fragment = builder.add(pattern.node, pattern.flags)
        first |= fragment.first
        last |= fragment.last
    before = [0] * len(builder.after)
    for position, following in enumerate(builder.after):
        for next_one in _list_bits(following):
            before[next_one] |= 1 << position
    characters = tuple(
        (re.compile(source, flags).fullmatch, positions)
        for (source, flags), positions in builder.characters.items()
    )
    return Automaton(characters, tuple(builder.after), tuple(before), first, last)
