"""An answer names a file where its reader is to see it: `![sales](file:f3a9c1)` shows a picture,
`[table](file:f81d20)` and `[report](file:notes/report.md)` hand out a file.

The id of a kept file is the beginning of the one that it is kept by, so that it needs no counter
and is the same in every chat. What stands in code is nobody's mark.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final
from urllib.parse import unquote

from functions.agent.sanitize import is_visible
from sigil.protocol import KeptFile

SIGN: Final = "file:"
DRAWING: Final = "picture.svg"
"""Names the last drawing of the chat as the document that it is."""
_DIGITS: Final = 5
_MARK: Final = re.compile(
    r"(!?)\[([^\[\]\n]{0,200})\]"
    r"\(\s?<?file:((?:[^()<>\n]|\([^()<>\n]{0,300}+\)){1,300}?)>?\s?\)"
)
"""A mark; its target may have parentheses, as `received/bill (1).pdf`."""
_OPEN: Final = re.compile(
    r"(?:!|!?\[[^\[\]\n]{0,200}"
    r"(?:\](?:\(\s?(?:<|<?(?:f|fi|fil|file"
    r"|file:(?:[^()<>\n]|\([^()<>\n]{0,300}+\)?+){0,300}+>?\s?))?)?)?)\Z"
)
"""The end of a text that may be the beginning of a mark."""
_NESTED: Final = re.compile(r"\[(!\[([^\[\]\n]{0,200})\]\([^()\n]{1,310}\))\](?=\(\s?<?file:)")
"""A picture that is the words of a mark, before the target of that."""
_SIGNS: Final = re.compile(r"[\s>#*_~+-]*+(?:\d{1,9}[.)])?[\s*_~]*")
"""What is left of a line when a picture that it was about stands elsewhere, as of an item."""
_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE: Final = re.compile(r"(?<!`)(`++)[^`\n]++\1(?!`)")


@dataclass(frozen=True, slots=True)
class FileMark:
    """A mark in a line: `target` is an id or a path, `words` are what a reader sees of it."""

    start: int
    end: int
    words: str
    target: str
    is_picture: bool


def name_file(id: str) -> str:
    """Return the id by which the model names a kept file."""
    return f"f{id[:_DIGITS]}"


def find_file(files: Collection[KeptFile], target: str) -> KeptFile | None:
    """Return the file that a mark's target names; None for none, and for more than one."""
    found = {file.id: file for file in files if target in (name_file(file.id), file.id)}
    return next(iter(found.values())) if len(found) == 1 else None


def _read_lines(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the lines of a text, each with whether it is one of a code block."""
    fence = ""
    for line in text.split("\n"):
        if fence:
            is_end = set(line.strip()) == {fence[0]} and len(line.strip()) >= len(fence)
            yield line, True
            fence = "" if is_end else fence
            continue
        begins = _FENCE.match(line)
        fence = begins[1] if begins else ""
        yield line, bool(begins)


def _find_in_line(line: str) -> list[FileMark]:
    if SIGN not in line:
        return []
    code = [span.span() for span in _CODE.finditer(line)]
    marks = []
    for match in _MARK.finditer(line):
        start, end = match.span()
        if not any(begin < end and start < stop for begin, stop in code):
            target, _, _ = match[3].partition(' "')  # a title
            target = unquote(target.strip())
            marks.append(FileMark(start, end, match[2], target, bool(match[1])))
    return marks


def part_nested(text: str) -> str:
    """Return a text in which a mark stands behind the picture that it was put around: a chat shows
    either of them.
    """
    if not _NESTED.search(text):
        return text
    lines = []
    for line, is_code in _read_lines(text):
        has_code = is_code or _CODE.search(line)
        lines.append(line if has_code else _NESTED.sub(r"\1 [\2]", line))
    return "\n".join(lines)


def list_targets(text: str) -> list[str]:
    """Return what the marks of a text name, each once, in their order."""
    lines = [line for line, is_code in _read_lines(text) if not is_code]
    return list(dict.fromkeys(mark.target for line in lines for mark in _find_in_line(line)))


def rewrite_marks(text: str, write: Callable[[FileMark], str | None]) -> str:
    """Return a text with what `write` makes of its marks; None leaves one as it is."""
    if SIGN not in text:
        return text
    lines = []
    for line, is_code in _read_lines(text):
        lines.append(line if is_code else _rewrite_line(line, write))
    return "\n".join(lines)


def _rewrite_line(line: str, write: Callable[[FileMark], str | None]) -> str:
    pieces = []
    start = 0
    for mark in _find_in_line(line):
        written = write(mark)
        if written is not None:
            pieces += [line[start : mark.start], written]
            start = mark.end
    return "".join([*pieces, line[start:]])


def point_at(text: str, addresses: Mapping[str, str]) -> str:
    """Return a text in which the marks of these files have their addresses."""

    def write(mark: FileMark) -> str | None:
        address = addresses.get(mark.target)
        sign = "!" if mark.is_picture else ""
        return f"{sign}[{mark.words}]({address})" if address else None

    return rewrite_marks(text, write)


def write_words(text: str) -> str:
    """Return a text with the words of its marks in their places, or else what they name."""
    return rewrite_marks(text, lambda mark: mark.words if mark.words.strip() else mark.target)


def write_words_of(text: str, files: Collection[KeptFile]) -> str:
    """Return a text with the words of the marks of these files in their places."""
    ids = {file.id for file in files}
    return rewrite_marks(text, lambda mark: mark.words if mark.target in ids else None)


Piece = tuple[str, tuple[KeptFile, ...]]
"""A part of an answer, and the files that stand below it."""


def divide_at_files(text: str, files: Sequence[KeptFile]) -> list[Piece]:
    """Return an answer in pieces, so that each file that it names stands where it is named: in the
    place of a line that does nothing else, and else below its paragraph. The last piece has the
    files that it does not name as well. Marks of other files stay text.
    """
    if SIGN not in text:
        return [(text, tuple(files))]
    left = {file.id: file for file in files}
    pieces: list[Piece] = []
    lines: list[str] = []
    due: list[KeptFile] = []

    def end_piece() -> None:
        written = "\n".join(lines).strip("\n")
        if not is_visible(written):
            written = ""
        if written or not pieces:
            pieces.append((written, tuple(due)))
        else:
            pieces[-1] = (pieces[-1][0], (*pieces[-1][1], *due))
        lines.clear()
        due.clear()

    for line, is_code in _read_lines(text):
        marks = [] if is_code else _find_in_line(line)
        marks = [mark for mark in marks if find_file(files, mark.target)]
        if not marks:
            lines.append(line)
            if due and not is_code and not line.strip():
                end_piece()
            continue
        is_alone = not _rewrite_line(line, lambda _: "").strip()
        shown = _rewrite_line(line, partial(_choose_words, files, is_alone))
        says_nothing = bool(_SIGNS.fullmatch(shown))
        if not says_nothing:
            lines.append(shown)
        for mark in marks:
            file = find_file(files, mark.target)
            if file and left.pop(file.id, None):
                due.append(file)
        if is_alone or says_nothing:
            end_piece()
    due += left.values()
    end_piece()
    return pieces


def _choose_words(files: Sequence[KeptFile], is_alone: bool, mark: FileMark) -> str | None:
    """Return the words that stay of a mark: none where its file stands in their place."""
    file = find_file(files, mark.target)
    if file is None:
        return None
    says_nothing_new = mark.is_picture or mark.words.strip() == file.name
    return "" if is_alone and says_nothing_new else mark.words


class WordFilter:
    """Lets the words of an answer that is being written through, and of its marks their words
    alone. What may be the beginning of a mark is held back until it is known.
    """

    def __init__(self) -> None:
        self._held = ""

    def add(self, words: str) -> str:
        """Return what may be shown once these words have come."""
        text = self._held + words
        if "[" not in text and not text.endswith("!"):
            self._held = ""
            return text
        text = _MARK.sub(lambda mark: mark[2], text)
        begins = _OPEN.search(text)
        place = begins.start() if begins else len(text)
        self._held = text[place:]
        return text[:place]

    def end(self) -> str:
        """Return what was held back: no more words come."""
        held, self._held = self._held, ""
        return held
