"""Markdown's blocks (paragraphs, headings, lists, quotes, code, tables, rules) as lines of rich
text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from markdown_it.token import Token

from functions.channels.render.inline import write_inline
from functions.channels.render.rich_text import Rich
from functions.channels.render.rich_text_builder import RichTextBuilder
from functions.channels.render.text_columns import grid

_RULE = "─" * 12
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,32}")


class Blocks:
    """Writes one document; used once."""

    def __init__(self) -> None:
        self._text = RichTextBuilder()
        self._gap = 0  # line breaks due before the next block
        self._bound = False  # the next block must stay with this one: it is its heading
        self._lists = 0
        self._quotes = 0
        self._rows: list[list[str]] = []
        self._aligns: list[str] = []
        self._writers: dict[str, Callable[[Token], None]] = {
            "heading_open": self._heading,
            "heading_close": self._heading_end,
            "paragraph_open": lambda _: self._begin(),
            "paragraph_close": lambda token: self._end(1 if token.hidden else 2),
            "inline": lambda token: write_inline(self._text, token.children or []),
            "bullet_list_open": self._list,
            "bullet_list_close": self._list_end,
            "ordered_list_open": self._list,
            "ordered_list_close": self._list_end,
            "list_item_open": self._item,
            "list_item_close": lambda _: self._end(max(self._gap, 1)),
            "blockquote_open": self._quote,
            "blockquote_close": self._quote_end,
            "fence": self._code,
            "code_block": self._code,
            "hr": lambda _: self._leaf(_RULE),
            "table_close": self._table,
        }

    def walk(self, tokens: Sequence[Token]) -> Rich:
        """Write the whole document and return it."""
        in_table = False
        for token in tokens:
            in_table = (in_table or token.type == "table_open") and token.type != "table_close"
            if in_table:
                self._cell(token)
            elif writer := self._writers.get(token.type):
                writer(token)
            elif token.content:
                self._leaf(token.content)
        return self._text.rich()

    def _begin(self) -> None:
        if self._gap and self._text.length:
            self._text.write("\n" * self._gap)
            if not self._bound:
                self._text.cut(self._lists + self._quotes)
        self._gap, self._bound = 0, False

    def _end(self, gap: int) -> None:
        self._gap = gap

    def _leaf(self, text: str) -> None:
        self._begin()
        self._text.write(text)
        self._end(1 if self._lists else 2)

    def _heading(self, token: Token) -> None:
        self._begin()
        self._text.begin("bold")

    def _heading_end(self, token: Token) -> None:
        self._text.end()
        self._end(2)
        self._bound = True

    def _list(self, token: Token) -> None:
        self._begin()
        self._lists += 1

    def _list_end(self, token: Token) -> None:
        self._lists -= 1
        if not self._lists:
            self._end(2)

    def _item(self, token: Token) -> None:
        self._begin()
        if self._text.at_line_start():
            self._text.write("  " * (self._lists - 1))
        self._text.write(f"{token.info}{token.markup} " if token.info else "• ")

    def _quote(self, token: Token) -> None:
        self._begin()
        self._text.begin("quote")
        self._quotes += 1

    def _quote_end(self, token: Token) -> None:
        self._quotes -= 1
        self._text.end()
        self._end(2)

    def _code(self, token: Token) -> None:
        language, text = _code(token.info.strip(), token.content.rstrip("\n"))
        if text.strip():
            self._pre(text, language)

    def _pre(self, text: str, language: str = "") -> None:
        self._begin()
        self._text.begin("pre", language)
        self._text.write(text)
        self._text.end()
        self._end(1 if self._lists else 2)

    def _cell(self, token: Token) -> None:
        if token.type == "tr_open":
            self._rows.append([])
        elif token.type == "th_open":
            self._aligns.append(str(token.attrs.get("style", "")).rpartition(":")[2])
        elif token.type == "inline":
            cell = RichTextBuilder()
            write_inline(cell, token.children or [])
            self._rows[-1].append(cell.rich().text.replace("\n", " ").strip())

    def _table(self, token: Token) -> None:
        self._pre(grid(self._rows, self._aligns))
        self._rows, self._aligns = [], []


def _code(info: str, content: str) -> tuple[str, str]:
    """Return a code block's language and text; anything else in its first line becomes the text's
    first line.
    """
    if not content.strip():
        return "", info
    language, _, rest = info.partition(" ")
    if not _LANGUAGE.fullmatch(language):
        return "", f"{info}\n{content}" if info else content
    return language, f"{info}\n{content}" if rest.strip() else content
