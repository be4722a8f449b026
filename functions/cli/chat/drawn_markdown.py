"""Markdown is drawn as chat platforms show it: line breaks, HTML tags and numbers of items stay."""

from __future__ import annotations

from collections.abc import MutableMapping
from typing import Final

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import ListItem, Markdown

from functions.channels.visible_text import clean_text

# Rich reads HTML as well, and shows nothing of it: of `vector<int>` only `vector`
_PARSER: Final = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"])
_BLOCK_PARSER: Final = MarkdownIt("commonmark", {"html": False}).enable("table").disable("inline")
MAX_DRAWN_CHARACTERS: Final = 200_000
"""A longer text is printed as it was written: Rich takes up to a minute for a million."""


class _Item(ListItem):
    """An item of a list with the number that was written: Rich counts on from the first one, and
    a command that takes the number would change another item.
    """

    def __init__(self, number: str = "") -> None:
        super().__init__()
        self._number = int(number) if number else 0

    @classmethod
    def create(cls, _: Markdown, token: Token) -> _Item:
        return cls(token.info)

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        widest = max(last_number, self._number)
        return super().render_number(console, options, self._number, widest)


class _DrawnMarkdown(Markdown):
    elements = {**Markdown.elements, "list_item_open": _Item}  # noqa: RUF012 - as Rich has it


def print_markdown(console: Console, text: str) -> None:
    """Print a text of Markdown on a terminal; a very long one as it was written."""
    if len(text) <= MAX_DRAWN_CHARACTERS:
        console.print(draw_markdown(text))
    else:
        console.file.write(clean_text(text) + "\n")
        console.file.flush()


def draw_markdown(text: str, definitions: MutableMapping[str, object] | None = None) -> Markdown:
    """Return a text of Markdown as Rich draws it.

    The addresses of links that it defines are added to `definitions`, and those that are there are
    known to it.
    """
    text = clean_text(text)
    markdown = _DrawnMarkdown("")
    markdown.parsed = _PARSER.parse(text, {} if definitions is None else definitions)
    for token in markdown.parsed:
        for part in token.children or ():
            if part.type == "softbreak":
                part.type = "hardbreak"
    return markdown


def find_last_block(text: str) -> int:
    """Return where the last block of a text begins that has whole lines alone: whatever follows
    changes no block before it.
    """
    starts = [token.map[0] for token in _BLOCK_PARSER.parse(text) if not token.level and token.map]
    if not starts:
        return 0
    before = text.split("\n")[: starts[-1]]
    return sum(map(len, before)) + len(before)
