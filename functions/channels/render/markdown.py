"""Markdown as rich text, in CommonMark with tables and ~~strikethrough~~, the dialect that language
models write.

No word of the source is lost: what a platform could not show (HTML, reference definitions,
addresses that are no web address, a table row's excess cells, nesting beyond the parser's depth)
stays in the text as it was written.
"""

from __future__ import annotations

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import escapedSplit, getLine, table
from markdown_it.token import Token

from functions.channels.render.blocks import Blocks
from functions.channels.render.rich_text import Rich
from functions.channels.visible_text import clean

DEPTH = 20
MOST_CHARACTERS = 50_000
"""A longer text is taken as it is: the parser is not linear in what a hostile text can hold."""


def read(markdown: str) -> Rich:
    """Return `markdown` as text with spans."""
    text = clean(markdown)
    if len(text) > MOST_CHARACTERS:
        return Rich(text)
    try:
        tokens = _parser().parse(text)
    except RecursionError:
        return Rich(text)
    # the parser silently drops what is nested deeper than it may go
    if any(token.nesting == 1 and token.level >= DEPTH - 1 for token in tokens):
        return Rich(text)
    return Blocks().walk(tokens)


def _parser() -> MarkdownIt:
    # a new one each time, in 0.1 ms: its rules are compiled at first use, and not under a lock
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEPTH})
    parser.enable(["table", "strikethrough"]).disable("reference")
    parser.block.ruler.at("table", _whole_table, {"alt": ["paragraph"]})
    return parser


def _whole_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table as the parser's own rule does, but keep a row's excess cells in its last."""
    before = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    cells: list[str] = []
    row: list[Token] = []
    for token in state.tokens[before:]:
        if token.type == "tr_open":
            cells, row = _cells(getLine(state, token.map[0]).strip()) if token.map else [], []
        elif token.type == "inline":
            row.append(token)
        elif token.type == "tr_close" and len(cells) > len(row):
            row[-1].content = " | ".join(cell.strip() for cell in cells[len(row) - 1 :])
    return True


def _cells(line: str) -> list[str]:
    cells = escapedSplit(line)
    if cells and not cells[0]:
        cells = cells[1:]
    return cells[:-1] if cells and not cells[-1] else cells
