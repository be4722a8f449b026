"""Markdown as Matrix takes it: as it was written, and as HTML of a few elements
(https://spec.matrix.org/latest/client-server-api/#mroommessage-msgtypes).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from typing import Final

import orjson
from markdown_it.common.utils import escapeHtml
from markdown_it.token import Token

from functions.channels.render.markdown import is_web_address, make_parser, parse_tokens
from functions.channels.render.source import SourceBlock, join_blocks, list_blocks, split_blocks
from functions.channels.visible_text import clean_text

LIMIT: Final = 56_000
"""Bytes of a message's text and HTML: a whole event has 65,536, and room for what surrounds it."""

_MARKS: Final = b'\\"|*_~`>#[<&'
"""What may become an element, or is escaped; each takes about so many bytes more as HTML:"""
_MARK_BYTES: Final = 8


@dataclass(frozen=True, slots=True)
class MatrixPart:
    """A message: its markdown, and the same as HTML, empty where nothing in it has a style."""

    text: str
    html: str = ""


def render_parts(markdown: str, most: int | None = None) -> list[MatrixPart]:
    """Return `markdown` as messages; none when there is nothing to see.

    `most`: the largest number that is made.
    """

    estimate = lru_cache(maxsize=2_000)(_estimate_size)

    def fits_message(part: Sequence[SourceBlock]) -> bool:
        return sum(estimate(block.source) for block in part) <= LIMIT

    parts = split_blocks(list_blocks(markdown), fits_message)
    return [_make_part(join_blocks(part)) for part in islice(parts, most)]


def _estimate_size(source: str) -> int:
    """Return about how many bytes of an event a block takes; to render it whenever a line is added
    would take minutes.
    """
    raw = orjson.dumps(source)
    marks = len(raw) - len(raw.translate(None, _MARKS))
    return 2 * len(raw) + _MARK_BYTES * marks


def _make_part(source: str) -> MatrixPart:
    html = write_html(source)
    lines = escapeHtml(source).split("\n")
    plain = "<br />\n".join(line.strip() for line in lines)
    has_style = html != f"<p>{plain}</p>"
    fits = len(orjson.dumps([source, html])) <= LIMIT
    return MatrixPart(source, html if has_style and fits else "")


def write_html(markdown: str) -> str:
    """Return markdown as HTML; empty where it cannot be parsed."""
    tokens = parse_tokens(markdown)
    if tokens is None:
        return ""
    parser = make_parser()
    # a line of a chat is a line
    parser.options["breaks"] = True
    for token in tokens:
        # how a table's columns are aligned is no attribute that may be there
        if token.type in ("th_open", "td_open"):
            token.attrs = {}
        token.children = _replace_links(token.children or []) if token.type == "inline" else None
    html = parser.renderer.render(tokens, parser.options, {})
    # an entity (`&#x202e;`) has become a character
    return clean_text(html).strip()


def _replace_links(tokens: Sequence[Token]) -> list[Token]:
    """Return the inside of a block with links to the web alone; any other address is written out.

    A picture becomes a link to it, and ~~strikethrough~~ the element that all clients know.
    """
    replaced: list[Token] = []
    addresses: list[str] = []
    for token in tokens:
        if token.type == "image":
            address = str(token.attrs.get("src", ""))
            label = Token("text", "", 0, content=token.content or address)
            opening = Token("link_open", "a", 1, attrs={"href": address})
            replaced += _replace_links([opening, label, Token("link_close", "a", -1)])
        elif token.type == "link_open":
            address = str(token.attrs.get("href", ""))
            addresses.append(address)
            if _is_link(address):
                replaced.append(Token("link_open", "a", 1, attrs={"href": address}))
        elif token.type == "link_close":
            address = addresses.pop()
            if _is_link(address):
                replaced.append(token)
            elif address and replaced and replaced[-1].content != address:
                replaced.append(Token("text", "", 0, content=f" ({address})"))
        else:
            if token.tag == "s":
                token.tag = "del"
            replaced.append(token)
    return replaced


def _is_link(address: str) -> bool:
    return is_web_address(address) or address.startswith("mailto:")
