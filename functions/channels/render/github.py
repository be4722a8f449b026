"""Markdown as GitHub takes it, with nobody mentioned in it
(https://github.github.com/gfm/).

Names are made harmless by a character that nobody sees behind the @. Code keeps its own characters
where GitHub surely reads it as code: nobody is mentioned there.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from functions.channels.render.source import SourceBlock, join_blocks, list_blocks, split_blocks

LIMIT: Final = 60_000
"""Characters of a comment; GitHub takes 65,536."""
_APART: Final = "\u200b"
_NAME: Final = re.compile(r"(?<![A-Za-z0-9])@(?=[A-Za-z0-9])")
_HIDDEN_NAME: Final = re.compile(r"&(?=#0*64;|#[xX]0*40;|commat;)")
_HTML: Final = re.compile(r"<[A-Za-z/!?]")
_CODE: Final = re.compile(r"(?<!`)(`++)[^`]++\1(?!`)")


def render_comments(markdown: str, most: int | None = None) -> list[str]:
    """Return `markdown` as comments; none when there is nothing to see.

    `most`: the largest number that is made.
    """
    # in a block of HTML, what looks like code is none
    has_html = _HTML.search(markdown) is not None
    blocks = [
        block
        if block.kind == "fence" and not has_html
        else replace(block, source=_silence(block.source, has_html))
        for block in list_blocks(markdown)
    ]

    def fits_comment(part: Sequence[SourceBlock]) -> bool:
        return sum(len(block.source) + 2 for block in part) <= LIMIT

    return [join_blocks(part) for part in islice(split_blocks(blocks, fits_comment), most)]


def _silence(source: str, has_html: bool) -> str:
    """Return a text in which nobody is mentioned."""
    return "\n".join(_silence_line(line, has_html) for line in source.split("\n"))


def _silence_line(line: str, has_html: bool) -> str:
    # a backslash could make a mark of code a plain character
    if has_html or "\\" in line:
        return _silence_words(line)
    pieces = []
    at = 0
    for match in _CODE.finditer(line):
        pieces += [_silence_words(line[at : match.start()]), match[0]]
        at = match.end()
    return "".join([*pieces, _silence_words(line[at:])])


def _silence_words(text: str) -> str:
    return _NAME.sub(f"@{_APART}", _HIDDEN_NAME.sub("&amp;", text))
