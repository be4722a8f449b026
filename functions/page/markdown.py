"""Markdown is drawn as HTML for the page, by one renderer for the talk, the words that are still
being written, and whatever else a model or a stranger wrote.

No tag, style, script or picture of the text gets into the page: HTML stays text, a picture is a
link to it, and an address is a link only where it is an absolute one of the web or of mail. An SVG
that does nothing but draw is shown as a picture, which runs nothing.
"""

from __future__ import annotations

import re
import threading
from base64 import b64encode
from collections.abc import Iterator, MutableMapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any, Final
from urllib.parse import urlsplit

from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import OptionsDict
from markupsafe import Markup

from functions.channels.render.markdown import DEPTH, parse_tokens
from functions.channels.render.pictures import (
    PICTURES_MOST,
    divide_at_pictures,
    find_open_picture,
)
from functions.channels.visible_text import clean_text

DRAWN_CHARACTERS: Final = 100_000
"""A longer text is shown as it was written."""
PICTURE_BYTES: Final = 96_000
"""A larger SVG is shown as its source alone: it stands in the page twice."""
REL: Final = "noopener noreferrer nofollow"
_WEB: Final = re.compile(r"https?://[^\s/?#\\@:]+(?::\d+)?(?:[/?#]\S*)?", re.IGNORECASE)
_MAIL: Final = re.compile(r"mailto:[^\s@/]+@[^\s@/]+", re.IGNORECASE)
_BARE: Final = re.compile(
    r"https?://[^\s<>\"'`\\]*[^\s<>\"'`\\.,;:!?)\]}*_~，。；：！？）】》」』]"
)
_LANGUAGE: Final = re.compile(r"[A-Za-z0-9_+#.-]{1,32}")
_SIDES: Final = {"text-align:left": "left", "text-align:right": "right", "text-align:center": "mid"}
_TASK: Final = re.compile(r"\[([ xX])\] +(?=\S)")
_OPEN_LINK: Final = "links"


def is_safe_link(address: str) -> bool:
    """Return whether an address may be a link of the page."""
    return bool(_WEB.fullmatch(address) or _MAIL.fullmatch(address))


@lru_cache(maxsize=512)
def render(text: str) -> Markup:
    """Return a text of Markdown as HTML that is safe in the page."""
    return Markup("".join(draw_blocks(text)))  # made here, of nothing that is not escaped


def draw_blocks(text: str, pictures: int = PICTURES_MOST) -> list[str]:
    """Return the HTML of each block of a text, in order, with at most so many `pictures`."""
    blocks: list[str] = []
    for part in divide_at_pictures(clean_text(text), pictures):
        if part.is_picture:
            blocks.append(draw_picture(part.text))
        else:
            blocks += _draw_text(part.text)
    return blocks


def draw_picture(document: str) -> str:
    """Return the HTML of an SVG document that only draws, with its source below it."""
    source = f"<pre><code>{escape(document)}</code></pre>"
    body = document.encode(errors="replace")
    shown = ""
    if len(body) <= PICTURE_BYTES:
        data = b64encode(body).decode()
        shown = f'<img src="data:image/svg+xml;base64,{data}" alt="SVG">'
    folded = f"<details><summary>SVG</summary>{source}</details>"
    return f'<figure class="picture">{shown}{folded}</figure>'


def _draw_text(text: str) -> list[str]:
    """Return the HTML of each block of a text without pictures."""
    if not text.strip():
        return []
    tokens = parse_tokens(text) if len(text) <= DRAWN_CHARACTERS else None
    if tokens is None:
        return [draw_plain(text)]
    return [_RENDERER.render(block, _OPTIONS, {}) for block in _divide(tokens)]


def draw_plain(text: str) -> str:
    """Return a text as it was written, whatever it has."""
    return f'<p class="plain">{escape(clean_text(text))}</p>'


def _divide(tokens: Sequence[Token]) -> Iterator[Sequence[Token]]:
    """Yield the tokens of each block that is in no other one."""
    first = 0
    for place, token in enumerate(tokens):
        if token.level == 0 and token.nesting <= 0:
            yield tokens[first : place + 1]
            first = place + 1


class _PageRenderer(RendererHTML):
    """Writes tokens as HTML without a style, an id or an address that the page must not have."""

    def softbreak(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Break the line where the text does, as chats do."""
        return "<br>\n"

    def text(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Write words; an address among them is a link."""
        words = tokens[idx].content
        if env.get(_OPEN_LINK) or "://" not in words:
            return escape(words)
        written: list[str] = []
        end = 0
        for found in _BARE.finditer(words):
            address = found[0]
            if not is_safe_link(address):
                continue
            written.append(escape(words[end : found.start()]))
            written.append(f"{_open_link(address)}{escape(address)}</a>")
            end = found.end()
        return "".join([*written, escape(words[end:])])

    def image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Write a link to a picture in its place: nothing is loaded from elsewhere."""
        token = tokens[idx]
        address = str(token.attrs.get("src", ""))
        words = token.content or address
        if env.get(_OPEN_LINK):
            return escape(words)
        if not is_safe_link(address):
            return escape(f"{words} ({address})" if words != address else words)
        return f"{_open_link(address)}{escape(words)}</a>{_name_host(address, words)}"

    def link_open(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Open a link, if its address may be one."""
        address = str(tokens[idx].attrs.get("href", ""))
        env.setdefault(_OPEN_LINK, []).append((address, idx))
        return _open_link(address) if is_safe_link(address) else ""

    def link_close(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Close a link; its host, or an address that is none of the web, stands behind it."""
        address, first = env[_OPEN_LINK].pop()
        words = "".join(token.content for token in tokens[first + 1 : idx])
        if is_safe_link(address):
            return f"</a>{_name_host(address, words)}"
        return escape(f" ({address})") if address and address != words else ""

    def fence(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Write a block of code with the name of its language."""
        token = tokens[idx]
        name = token.info.strip().split(maxsplit=1)[:1]
        language = name[0] if name and _LANGUAGE.fullmatch(name[0]) else ""
        return _draw_code(token.content, language)

    def code_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Write a block of code that is indented."""
        return _draw_code(tokens[idx].content, "")

    def renderToken(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: MutableMapping[str, Any]
    ) -> str:
        """Write any other token; what it may carry is chosen here."""
        token = tokens[idx]
        if token.hidden:
            return ""
        if token.type == "table_open":
            return '<div class="wide" tabindex="0"><table>\n'
        if token.type == "table_close":
            return "</table></div>\n"
        if token.type in ("heading_open", "heading_close"):
            return _draw_heading(token)
        mark = "/" if token.nesting < 0 else ""
        attributes = "" if mark else _choose_attributes(tokens, idx)
        end = "\n" if token.block and token.nesting < 0 else ""
        return f"<{mark}{token.tag}{attributes}>{end}{_draw_box(tokens, idx)}"


def _draw_heading(token: Token) -> str:
    """Return the tag of a heading: in an answer all are of one level, and look like their own."""
    if token.nesting < 0:
        return "</h3>\n"
    return f'<h3 class="h{token.tag.removeprefix("h")}">'


def _draw_code(code: str, language: str) -> str:
    name = f"<figcaption>{escape(language or 'text')}</figcaption>"
    body = f'<pre tabindex="0"><code>{escape(code)}</code></pre>'
    return f'<figure class="code">{name}{body}</figure>\n'


def _choose_attributes(tokens: Sequence[Token], idx: int) -> str:
    """Return the attributes of a tag: the side of a cell, and the number of an item."""
    token = tokens[idx]
    if token.type in ("th_open", "td_open"):
        side = _SIDES.get(str(token.attrs.get("style", "")), "")
        return f' class="{side}"' if side else ""
    if token.type == "ordered_list_open" and str(token.attrs.get("start", "")).isdecimal():
        return f' start="{token.attrs["start"]}"'
    if token.type == "list_item_open" and token.info.isdecimal():
        return f' value="{int(token.info)}"'
    return ""


def _draw_box(tokens: Sequence[Token], idx: int) -> str:
    """Return the box of an item that is a task, whose mark leaves its text."""
    if tokens[idx].type != "list_item_open" or idx + 2 >= len(tokens):
        return ""
    inline = tokens[idx + 2]
    first = inline.children[0] if inline.type == "inline" and inline.children else None
    task = _TASK.match(first.content) if first is not None and first.type == "text" else None
    if first is None or task is None:
        return ""
    first.content = first.content[task.end() :]
    return "☐ " if task[1] == " " else "☑ "


def _open_link(address: str) -> str:
    return f'<a href="{escape(address)}" rel="{REL}">'


def _name_host(address: str, words: str) -> str:
    """Return the host of a link whose words do not say it."""
    try:
        host = urlsplit(address).hostname or ""
    except ValueError:
        return ""
    shown = words.lower().removeprefix("https://").removeprefix("http://")
    # `paypal.com` would hide `pal.com`, and `paypal.com/?evil.example` hides `evil.example`
    if not host or re.match(rf"{re.escape(host)}(?::\d+)?(?![\w.@:-])", shown):
        return ""
    return f' <span class="host">{escape(host)}</span>'


_RENDERER: Final = _PageRenderer()
_OPTIONS: Final = OptionsDict(
    {
        "maxNesting": DEPTH,
        "html": False,
        "linkify": False,
        "typographer": False,
        "quotes": "",
        "xhtmlOut": False,
        "breaks": True,
        "langPrefix": "",
        "highlight": None,
    }
)


class GrowingText:
    """A text that grows, with the HTML of its blocks. Those that nothing can change any more are
    drawn once; the last one is drawn anew with its next words.

    `blocks` are all of them; `settled` of them, from the first on, stay as they are. One thread
    adds words, and any draws them.
    """

    def __init__(self) -> None:
        self.text = ""
        self.settled = 0
        self.blocks: list[str] = []
        self._open = 0  # where the block begins that is open
        self._drawn = 0  # so many characters are in the blocks
        self._pictures = PICTURES_MOST
        self._ends_in_return = False  # half a line break of Windows may have come
        self._drawing = threading.Lock()

    @property
    def open_size(self) -> int:
        """Return how many characters the open block has."""
        return len(self.text) - self._open

    def add(self, words: str) -> None:
        """Add words at the end; they are drawn by `draw`."""
        new = words.removeprefix("\n") if self._ends_in_return else words
        if words:
            self._ends_in_return = words.endswith("\r")
        self.text += clean_text(new)

    @property
    def lags(self) -> bool:
        """Return whether there are words that are in no block yet."""
        return self._drawn != len(self.text)

    def draw(self, *, waits: bool = False) -> list[str]:
        """Draw what came since, and return the blocks. While another thread draws they are those of
        before, unless one `waits` for it.
        """
        if self.lags and self._drawing.acquire(blocking=waits):
            try:
                self._draw_open(self.text)
            finally:
                self._drawing.release()
        return self.blocks

    def _draw_open(self, text: str) -> None:
        self._settle(text)
        drawn = draw_blocks(text[self._open :], self._pictures)
        self.blocks = [*self.blocks[: self.settled], *drawn]
        self._drawn = len(text)

    def _settle(self, text: str) -> None:
        """Draw the blocks for good behind which another one has begun with a whole line."""
        open_text = text[self._open :]
        end = open_text.rfind("\n") + 1
        if len(open_text) > DRAWN_CHARACTERS or "\n" not in open_text[: end - 1]:
            return
        start = min(_find_last_block(open_text[:end]), find_open_picture(open_text))
        if not start:
            return
        whole = open_text[:start]
        parts = divide_at_pictures(whole, self._pictures)
        drawn = draw_blocks(whole, self._pictures)
        self._pictures -= sum(part.is_picture for part in parts)
        self.blocks = [*self.blocks[: self.settled], *drawn]
        self.settled = len(self.blocks)
        self._open += start


def _find_last_block(text: str) -> int:
    """Return where the last block of a clean text of whole lines begins; 0 where that is not
    sure.
    """
    tokens = parse_tokens(text)
    if tokens is None:
        return 0
    starts = [token.map[0] for token in tokens if not token.level and token.map]
    if not starts:
        return 0
    before = text.split("\n")[: starts[-1]]
    return sum(map(len, before)) + len(before)
