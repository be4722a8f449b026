"""What stands inside a block: emphasis, code, links, line breaks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it.token import Token

from functions.channels.render.rich_text import Kind
from functions.channels.render.rich_text_builder import RichTextBuilder

_STYLES: dict[str, Kind] = {"strong": "bold", "em": "italic", "s": "strike"}
_WEB = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)


def phrases(ink: RichTextBuilder, tokens: Sequence[Token]) -> None:
    """Write the tokens of one block's text."""
    for token in tokens:
        name, _, edge = token.type.rpartition("_")
        if name in _STYLES and edge == "open":
            ink.begin(_STYLES[name])
        elif name in _STYLES:
            ink.end()
        elif name == "link":
            _link(ink, token, edge)
        else:
            _leaf(ink, token)


def _leaf(ink: RichTextBuilder, token: Token) -> None:
    if token.type in ("softbreak", "hardbreak"):
        ink.write("\n")
    elif token.type == "code_inline":
        ink.begin("code")
        ink.write(token.content)
        ink.end()
    elif token.type == "image":
        _image(ink, token)
    else:
        ink.write(token.content)


def _link(ink: RichTextBuilder, token: Token, edge: str) -> None:
    if edge == "open":
        ink.begin("link", str(token.attrs.get("href", "")))
    else:
        _end_link(ink)


def _image(ink: RichTextBuilder, token: Token) -> None:
    """A picture is a link to it."""
    ink.begin("link", str(token.attrs.get("src", "")))
    phrases(ink, token.children or [])
    _end_link(ink)


def _end_link(ink: RichTextBuilder) -> None:
    """A web address becomes a link; any other stands in the text, since no platform would open
    it.
    """
    address, text = ink.innermost()
    if not text:
        ink.write(address)
    web = _WEB.fullmatch(address) is not None
    ink.end(keep=web)
    if text and not web and address not in ("", text, f"mailto:{text}"):
        ink.write(f" ({address})")
