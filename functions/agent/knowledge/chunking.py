"""Chunking cuts a document into parts that can be found and shown, each with its place.

The chunks follow each other without a gap: together they are the text. Markdown says by its
headings where one begins; other text is cut at the ends of paragraphs, lines, sentences or words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from functions.agent.knowledge.record import Chunk
from sigil.errors import one_line

SIZE: Final = 1_200
"""The most that a chunk has of characters, where a wide one counts `WIDE`."""
WIDE: Final = 2.5
LEAST: Final = 300
"""A heading begins a new chunk where the one before it has so much already."""
HEADING_CHARACTERS: Final = 100
HEADINGS_MOST: Final = 6
_WIDE: Final = re.compile(
    r"[\u1100-\u11ff\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]"
)
_HEADING: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*?)[ \t]*#*[ \t]*")
_UNDERLINE: Final = re.compile(r" {0,3}(=+|-{2,})[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(```|~~~)")
_SENTENCE: Final = re.compile(r"[.!?。！？；;][\"'”’)）」』]*\s*")


@dataclass(slots=True)
class _Block:
    """Lines that belong together; `level` is that of the heading which they begin with, 0 for
    none.
    """

    text: str
    first: int
    last: int
    level: int = 0
    heading: str = ""


def split_text(text: str) -> list[Chunk]:
    """Return the parts of a text, at least one."""
    chunks: list[Chunk] = []
    path: list[tuple[int, str]] = []
    part: list[_Block] = []
    size = 0.0
    headings: tuple[str, ...] = ()

    def finish() -> None:
        nonlocal part, size
        if part:
            whole = "".join(block.text for block in part)
            chunks.append(Chunk(whole, headings, part[0].first, part[-1].last))
        part = []
        size = 0.0

    for block in _split_blocks(text):
        if block.level and size >= LEAST:
            finish()
        if block.level:
            path = [above for above in path if above[0] < block.level]
            path.append((block.level, block.heading))
        for small in _split_long(block):
            more = measure(small.text)
            if part and size + more > SIZE:
                finish()
            if not part or (small.level and not _says_something(part)):
                headings = tuple(heading for _, heading in path[-HEADINGS_MOST:])
            part.append(small)
            size += more
    finish()
    return chunks or [Chunk(text, (), 1, 1)]


def measure(text: str) -> float:
    """Return the size of a text: its characters, of which wide ones count more."""
    if text.isascii():
        return len(text)
    return len(text) + (WIDE - 1) * len(_WIDE.findall(text))


def _says_something(blocks: Sequence[_Block]) -> bool:
    return any(not block.level for block in blocks)


def _split_blocks(text: str) -> Iterator[_Block]:
    """Yield headings, and what is between blank lines; blank lines belong to what they follow."""
    lines = text.splitlines(keepends=True)
    block: _Block | None = None
    fence = ""
    is_blank = False
    for number, line in enumerate(lines, 1):
        plain = line.rstrip("\r\n")
        marked = _FENCE.match(plain)
        if marked and fence in ("", marked[1]):
            fence = "" if fence else marked[1]
        heading = None if fence else _HEADING.fullmatch(plain)
        following = lines[number].rstrip("\r\n") if number < len(lines) else ""
        level, title = (len(heading[1]), heading[2]) if heading else (0, "")
        if not heading and not fence and plain.strip() and (block is None or is_blank):
            underline = _UNDERLINE.fullmatch(following)
            if underline:
                level, title = (1 if underline[1][0] == "=" else 2), plain.strip()
        begins = block is None or level or (is_blank and plain.strip() and not fence)
        if begins or (block and block.level and plain.strip() and not _belongs(block, plain)):
            if block:
                yield block
            block = _Block(line, number, number, level, one_line(title, HEADING_CHARACTERS))
        elif block:
            block.text += line
            block.last = number
        is_blank = not plain.strip()
    if block:
        yield block


def _belongs(block: _Block, line: str) -> bool:
    """Return whether a line is the one that underlines a heading."""
    return block.first == block.last and _UNDERLINE.fullmatch(line) is not None


def _split_long(block: _Block) -> Iterator[_Block]:
    """Yield a block, or the parts of one that is longer than a chunk."""
    if measure(block.text) <= SIZE:
        yield block
        return
    first = block.first
    level = block.level
    start = 0
    while start < len(block.text):
        end = _find_end(block.text, start)
        part = block.text[start:end]
        last = first + part.count("\n") - (1 if part.endswith("\n") else 0)
        yield _Block(part, first, last, level, block.heading)
        first = last + 1 if part.endswith("\n") else last
        level = 0
        start = end


def _find_end(text: str, start: int) -> int:
    """Return where the chunk that begins at `start` ends."""
    end = min(len(text), start + SIZE)
    while measure(text[start:end]) > SIZE:
        end = start + int((end - start) * 0.9)
    if end == len(text):
        return end
    least = start + (end - start) // 2
    at = text.rfind("\n", least, end)
    if at >= 0:
        return at + 1
    ends = [found.end() for found in _SENTENCE.finditer(text, least, end)]
    if ends:
        return ends[-1]
    at = max(text.rfind(" ", least, end), text.rfind("\t", least, end))
    return at + 1 if at >= 0 else end
