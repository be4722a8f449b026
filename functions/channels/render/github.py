"""Markdown as GitHub takes it, with nobody mentioned in it
(https://github.github.com/gfm/).

Names are made harmless by a character that nobody sees behind the @. Code keeps its own characters
where GitHub surely reads it as code: nobody is mentioned there, and people copy it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token

from functions.channels.render.source import (
    MOST_CHARACTERS,
    SourceBlock,
    join_blocks,
    list_blocks,
    split_blocks,
)

LIMIT: Final = 60_000
"""Characters of a comment; GitHub takes 65,536."""
DEPTH: Final = 20
_APART: Final = "\u200b"
_NAME: Final = re.compile(r"(?<![A-Za-z0-9])@(?=[A-Za-z0-9])")
_HIDDEN_NAME: Final = re.compile(r"&(?=#0*64;|#[xX]0*40;|commat;)")
_CODE: Final = re.compile(r"(?<!`)(`++)[^`\n]++\1(?!`)")
_FOOTNOTE: Final = re.compile(r"^[ \t>]*\[\^", re.MULTILINE)
"""The parser knows no footnotes, whose first lines end where it does not see it."""


def render_comments(markdown: str, most: int | None = None) -> list[str]:
    """Return `markdown` as comments; none when there is nothing to see.

    `most`: the largest number that is made.
    """
    blocks = [
        block if block.kind == "fence" else replace(block, source=_silence(block.source))
        for block in list_blocks(markdown, with_html=True)
    ]

    def fits_comment(part: Sequence[SourceBlock]) -> bool:
        return sum(len(block.source) + 2 for block in part) <= LIMIT

    return [join_blocks(part) for part in islice(split_blocks(blocks, fits_comment), most)]


def _silence(source: str) -> str:
    """Return a block in which nobody is mentioned."""
    if not _NAME.search(source) and not _HIDDEN_NAME.search(source):
        return source
    tokens = _parse(source)
    if tokens is None:
        return _silence_words(source)
    code = _list_lines_of_code(tokens)
    kept = _rewrite_lines(source, code, _silence_around_code)
    parsed = _parse(kept)
    if parsed is not None and not _FOOTNOTE.search(kept) and not _names_somebody(parsed):
        return kept
    # what looks like code within a line is none, as between two items of a list
    return _rewrite_lines(source, code, _silence_words)


def _parse(source: str) -> list[Token] | None:
    """Return the parser's tokens; None for a text that it would not show as a whole."""
    if len(source) > MOST_CHARACTERS:
        return None
    parser = MarkdownIt("commonmark", {"html": True, "maxNesting": DEPTH})
    parser.enable(["table", "strikethrough"])
    try:
        tokens = parser.parse(source)
    except RecursionError:
        return None
    if any(token.nesting == 1 and token.level >= DEPTH - 1 for token in tokens):
        return None
    return tokens


def _list_lines_of_code(tokens: Sequence[Token]) -> frozenset[int]:
    """Return the numbers of the lines that stand in code between two marks."""
    found: set[int] = set()
    for token in tokens:
        if token.type == "fence" and token.map:
            found.update(range(*token.map))
    return frozenset(found)


def _rewrite_lines(source: str, code: frozenset[int], rewrite: Callable[[str], str]) -> str:
    """Return a text with its lines rewritten, but for those of code."""
    lines = source.split("\n")
    return "\n".join(line if number in code else rewrite(line) for number, line in enumerate(lines))


def _names_somebody(tokens: Sequence[Token]) -> bool:
    """Return whether a name that GitHub would mention is outside code."""
    for token in tokens:
        shown = ""
        if token.type in ("html_block", "code_block"):
            shown = token.content
        for child in token.children or ():
            # code and the line's end part what stands at their sides
            is_shown = child.type in ("text", "html_inline")
            shown += child.content if is_shown else "\n"
        if _NAME.search(shown) or _HIDDEN_NAME.search(shown):
            return True
    return False


def _silence_around_code(line: str) -> str:
    """Return a line in which nobody is mentioned outside what looks like code."""
    pieces = []
    at = 0
    for match in _CODE.finditer(line):
        pieces += [_silence_words(line[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*pieces, _silence_words(line[at:])])


def _silence_words(text: str) -> str:
    return _NAME.sub(f"@{_APART}", _HIDDEN_NAME.sub("&amp;", text))
