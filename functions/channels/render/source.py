"""Markdown is cut as it was written, for platforms that read markdown themselves: between its
blocks where that is possible. A code block or a table that is cut begins anew in the next part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from markdown_it import MarkdownIt

from functions.channels.visible_text import clean_text

MOST_CHARACTERS = 50_000
"""A longer text is one block: the parser is not linear in what a hostile text can hold."""
_DEPTH = 20
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(.+?)(?<!`)\1(?!`)", re.DOTALL)
_AUTOLINK = re.compile(r"<(https?://[^\s<>]+)>", re.IGNORECASE)
_IMAGE = re.compile(r"!\[([^\]\n]*)\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)[^)\n]*\)")
_LOCAL_LINK = re.compile(
    r"\[([^\]\n]*)\]\((?!https?://)([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)[^)\n]*\)", re.IGNORECASE
)
_PAUSE = re.compile("[\\s\u3002\uff01\uff1f\uff1b\uff0c\u3001]")

Kind = Literal["text", "heading", "fence", "code", "table"]


@dataclass(frozen=True, slots=True)
class SourceBlock:
    """A block at the top of a document, as it was written, without the blank lines around it.

    `fence` is a code block between two marks, `code` one that is indented.
    """

    kind: Kind
    source: str


Fits = Callable[[Sequence[SourceBlock]], bool]
_KINDS: dict[str, Kind] = {
    "heading_open": "heading",
    "fence": "fence",
    "code_block": "code",
    "table_open": "table",
}


def list_blocks(markdown: str, *, with_html: bool = False) -> list[SourceBlock]:
    """Return the blocks of a text; all of it is in one of them. `with_html`: a block of HTML is
    one, and what looks like code in it is none.
    """
    text = clean_text(markdown).rstrip()
    if len(text) > MOST_CHARACTERS:
        return [SourceBlock("text", text)]
    parser = MarkdownIt("commonmark", {"html": with_html, "maxNesting": _DEPTH})
    parser.enable(["table", "strikethrough"]).disable("reference")
    try:
        tokens = parser.parse(text)
    except RecursionError:
        return [SourceBlock("text", text)]
    lines = text.split("\n")
    tops = [token for token in tokens if token.level == 0 and token.nesting >= 0 and token.map]
    blocks: list[SourceBlock] = []
    start = 0
    for number, token in enumerate(tops, 1):
        end = len(lines) if number == len(tops) else (token.map or [0, 0])[1]
        source = "\n".join(lines[start:end]).rstrip()
        # code keeps its indentation
        source = re.sub(r"\A(?:[ \t]*\n)+", "", source)
        if source.strip():
            blocks.append(SourceBlock(_KINDS.get(token.type, "text"), source))
        start = end
    return blocks


def join_blocks(blocks: Sequence[SourceBlock]) -> str:
    """Return blocks as a text."""
    return "\n\n".join(block.source for block in blocks)


def rewrite_block(
    block: SourceBlock, write_text: Callable[[str], str], write_code: Callable[[str], str]
) -> SourceBlock:
    """Return a block in a platform's dialect: code by `write_code`, also that within a line, and
    all else by `write_text`.
    """
    if block.kind in ("fence", "code"):
        return replace(block, source=write_code(block.source))
    pieces = []
    start = 0
    for span in _CODE_SPAN.finditer(block.source):
        pieces.append(write_text(block.source[start : span.start()]))
        pieces.append(write_code(span[0]))
        start = span.end()
    pieces.append(write_text(block.source[start:]))
    return replace(block, source="".join(pieces))


def keep_web_links(text: str) -> str:
    """Return a text with links to the web alone: a picture becomes a link to it, and any other
    link its words with its address.
    """
    text = _AUTOLINK.sub(r"\1", text)
    text = _IMAGE.sub(_write_image, text)
    return _LOCAL_LINK.sub(_write_local_link, text)


def _write_image(image: re.Match[str]) -> str:
    return f"[{image[1] or image[2]}]({image[2]})"


def _write_local_link(link: re.Match[str]) -> str:
    return f"{link[1]} ({link[2]})" if link[2] and link[1] != link[2] else link[1]


def split_blocks(blocks: Sequence[SourceBlock], fits: Fits) -> Iterator[list[SourceBlock]]:
    """Yield the blocks in parts that `fits`. A heading stays with what follows it.

    `fits` must hold for any block of one character.
    """
    part: list[SourceBlock] = []
    for block in blocks:
        pieces = [block] if fits([block]) else list(_cut_block(block, fits))
        for piece in pieces:
            if part and not fits([*part, piece]):
                following: list[SourceBlock] = []
                while len(part) > 1 and part[-1].kind == "heading":
                    following.insert(0, part.pop())
                yield part
                part = following if fits([*following, piece]) else []
                if following and not part:
                    yield following
            part.append(piece)
    if part:
        yield part


def _cut_block(block: SourceBlock, fits: Fits) -> Iterator[SourceBlock]:
    """Yield a block that is too large as smaller ones, cut between its lines where possible."""
    lines = block.source.split("\n")
    before: list[str] = []
    after: list[str] = []
    if block.kind == "fence":
        mark = _FENCE.match(lines[0])
        closing = mark[1] if mark else "```"
        before = lines[:1]
        after = [closing]
        is_closed = len(lines) > 1 and lines[-1].strip() == closing
        lines = lines[1:-1] if is_closed else lines[1:]
    elif block.kind == "table":
        before = lines[:2]
        lines = lines[2:]

    def wrap(inner: Sequence[str]) -> SourceBlock:
        return replace(block, source="\n".join([*before, *inner, *after]))

    if not fits([wrap(["x"])]):
        # its beginning alone is too large to be repeated
        block = SourceBlock("text", block.source)
        lines = block.source.split("\n")
        before = []
        after = []
    piece: list[str] = []
    for line in lines:
        rest = line
        while not fits([wrap([*piece, rest])]):
            if piece:
                yield wrap(piece)
                piece = []
                continue
            end = _find_cut(rest, lambda text: fits([wrap([text])]))
            yield wrap([rest[:end]])
            rest = rest[end:]
        piece.append(rest)
    if piece:
        yield wrap(piece)


def _find_cut(line: str, fits: Callable[[str], bool]) -> int:
    """Return where to cut a line that is too long, behind a pause if there is one."""
    low = 1
    high = len(line) - 1
    while low < high:
        middle = (low + high + 1) // 2
        if fits(line[:middle]):
            low = middle
        else:
            high = middle - 1
    pauses = [match.end() for match in _PAUSE.finditer(line, low // 2, low)]
    return pauses[-1] if pauses else low
