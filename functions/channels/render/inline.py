"""The inside of a block as rich text: emphasis, code, links, line breaks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.token import Token

from functions.channels.render.rich_text import Kind
from functions.channels.render.rich_text_builder import RichTextBuilder

_STYLES: dict[str, Kind] = {"strong": "bold", "em": "italic", "s": "strike"}
_WEB = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)


def write_inline(builder: RichTextBuilder, tokens: Sequence[Token]) -> None:
    """Write the tokens of one block's text."""
    for token in tokens:
        name, _, edge = token.type.rpartition("_")
        if name in _STYLES and edge == "open":
            builder.begin(_STYLES[name])
        elif name in _STYLES:
            builder.end()
        elif name == "link":
            _link(builder, token, edge)
        else:
            _leaf(builder, token)


def _leaf(builder: RichTextBuilder, token: Token) -> None:
    if token.type in ("softbreak", "hardbreak"):
        builder.write("\n")
    elif token.type == "code_inline":
        builder.begin("code")
        builder.write(token.content)
        builder.end()
    elif token.type == "image":
        _image(builder, token)
    else:
        builder.write(token.content)


def _link(builder: RichTextBuilder, token: Token, edge: str) -> None:
    if edge == "open":
        builder.begin("link", str(token.attrs.get("href", "")))
    else:
        _end_link(builder)


def _image(builder: RichTextBuilder, token: Token) -> None:
    """Write a picture as a link to it."""
    builder.begin("link", str(token.attrs.get("src", "")))
    write_inline(builder, token.children or [])
    _end_link(builder)


def _end_link(builder: RichTextBuilder) -> None:
    """End a link. Only a web address stays a link; any other is written out, since no platform
    would open it.
    """
    address, text = builder.innermost()
    if not text:
        builder.write(address)
    web = _WEB.fullmatch(address) is not None
    builder.end(keep=web)
    if text and not web and address not in ("", text, f"mailto:{text}"):
        builder.write(f" ({address})")
