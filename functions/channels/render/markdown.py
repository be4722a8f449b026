"""Markdown is parsed into rich text, in CommonMark with tables and ~~strikethrough~~, the dialect
that language models write.

No word of the source is lost: what a platform could not show (HTML, reference definitions,
addresses that are no web address, a table row's excess cells, nesting beyond the parser's depth)
stays in the text as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import escapedSplit, getLine, table
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.emphasis import tokenize as mark_emphasis
from markdown_it.token import Token

from functions.channels.render.rich_text import Kind, RichText, RichTextBuilder
from functions.channels.render.text_columns import format_table
from functions.channels.visible_text import clean_text

DEPTH = 20
MOST_CHARACTERS = 50_000
"""A longer text is taken as it is: the parser is not linear in what a hostile text can hold."""
_RULE = "─" * 12
_STYLES: dict[str, Kind] = {"strong": "bold", "em": "italic", "s": "strike"}
_LANGUAGE = re.compile(r"[A-Za-z0-9_+#.-]{1,32}")
_WEB = re.compile(r"https?://[^\s/]\S*", re.IGNORECASE)
_NUMBERED = re.compile(r"^ *[0-9]{1,9}[.)] ", re.MULTILINE)
_ITEM = re.compile(r" *(?:[-*+]|[0-9]{1,9}[.)]) {1,4}(?=\S)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_TASK_MARK = "task"
_TASK = re.compile(r"\[([ xX])\] +(?=\S)")
_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]")
"""Scripts that put no blanks between words."""


def parse_markdown(
    markdown: str, *, with_headings: bool = False, with_columns: bool = True
) -> RichText:
    """Return `markdown` as text with spans. A heading is bold, unless it is wanted as one; a table
    is a list of its rows where columns cannot be shown.
    """
    text = clean_text(markdown)
    tokens = parse_tokens(text)
    if tokens is None:
        return RichText(text)
    return _DocumentWriter(with_headings, with_columns).write_document(tokens)


def parse_tokens(markdown: str) -> list[Token] | None:
    """Return the parser's tokens; None for a text that it would not show as a whole."""
    text = clean_text(markdown)
    if len(text) > MOST_CHARACTERS:
        return None
    try:
        tokens = make_parser().parse(_indent_items(text))
    except RecursionError:
        return None
    # the parser silently drops what is nested deeper than it may go
    if any(token.nesting == 1 and token.level >= DEPTH - 1 for token in tokens):
        return None
    return tokens


def make_parser() -> MarkdownIt:
    """Return a new parser: its rules are compiled at first use, in 0.1 ms, and not under a lock."""
    parser = MarkdownIt("commonmark", {"html": False, "maxNesting": DEPTH})
    parser.enable(["table", "strikethrough"]).disable("reference")
    parser.block.ruler.at("table", _parse_whole_table, {"alt": ["paragraph"]})
    parser.inline.ruler.at("emphasis", _mark_emphasis_between_words)
    return parser


def _indent_items(text: str) -> str:
    """Return markdown in which an item is one of the item above it where it is indented by two
    blanks or more, as its writer meant it.

    The parser wants it below the text of that item, which is four blanks under `10. `.
    """
    if not _NUMBERED.search(text):
        return text
    lines = []
    # the items that are open: their indent, the column of their text, and by how much they moved
    items: list[tuple[int, int, int]] = []
    fence = ""
    moved = 0
    for line in text.split("\n"):
        begin = line.lstrip(" ")
        indent = len(line) - len(begin)
        if fence:
            fence = "" if begin.rstrip() == fence else fence
        elif begin:
            while items and indent < items[-1][0] + 2:
                items.pop()
            moved = items[-1][2] if items else 0
            item = _ITEM.match(line)
            if item:
                moved = max(moved, items[-1][1] - indent) if items else 0
                items.append((indent, moved + item.end(), moved))
            mark = _FENCE.match(begin)
            fence = mark[0] if mark else ""
        lines.append(" " * moved + line if begin else line)
    moved_text = "\n".join(lines)
    return moved_text if len(moved_text) <= MOST_CHARACTERS else text


def is_web_address(address: str) -> bool:
    """Return whether an address is one that a platform would open."""
    return _WEB.fullmatch(address) is not None


def _mark_emphasis_between_words(state: StateInline, silent: bool) -> bool:
    """Mark what may begin or end emphasis as the parser's own rule does, and also where a mark of
    punctuation is beside it, and a word of a script without blanks: `**注意：**请看`.
    """
    known = len(state.delimiters)
    start = state.pos
    if not mark_emphasis(state, silent):
        return False
    before = state.src[start - 1 : start]
    after = state.src[state.pos : state.pos + 1]
    if state.src[start] == "*" and before.strip() and after.strip():
        for mark in state.delimiters[known:]:
            mark.open = mark.open or _WIDE.match(before) is not None
            mark.close = mark.close or _WIDE.match(after) is not None
    return True


def _parse_whole_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Parse a table as the parser's own rule does, but keep a row's excess cells in its last."""
    before = len(state.tokens)
    if not table(state, start, end, silent):
        return False
    cells: list[str] = []
    row: list[Token] = []
    for token in state.tokens[before:]:
        if token.type == "tr_open":
            row = []
            cells = escapedSplit(getLine(state, token.map[0]).strip()) if token.map else []
            # a bar at a line's end makes no cell of its own
            if cells and not cells[0]:
                cells = cells[1:]
            if cells and not cells[-1]:
                cells = cells[:-1]
        elif token.type == "inline":
            row.append(token)
        elif token.type == "tr_close" and len(cells) > len(row):
            row[-1].content = " | ".join(cell.strip() for cell in cells[len(row) - 1 :])
    return True


class _DocumentWriter:
    """Writes the blocks of one document (paragraphs, lists, tables, …) as lines; used once."""

    def __init__(self, with_headings: bool, with_columns: bool) -> None:
        self._text = RichTextBuilder()
        self._with_headings = with_headings
        self._with_columns = with_columns
        self._gap = 0  # line breaks due before the next block
        self._follows_heading = False  # the next block must stay with its heading
        self._lists = 0
        self._quotes = 0
        self._indents: list[str] = []  # of the items of lists that are open
        self._rows: list[list[str]] = []
        self._aligns: list[str] = []

    def write_document(self, tokens: Sequence[Token]) -> RichText:
        """Write the whole document and return it."""
        in_table = False
        for token in _mark_tasks(tokens):
            if token.type == "table_open":
                in_table = True
            elif token.type == "table_close":
                in_table = False
                if self._with_columns:
                    self._write_code(format_table(self._rows, self._aligns))
                else:
                    self._write_rows(*self._rows)
                self._rows = []
                self._aligns = []
            elif token.type == "tr_open":
                self._rows.append([])
            elif token.type == "th_open":
                self._aligns.append(str(token.attrs.get("style", "")).rpartition(":")[2])
            elif in_table and token.type == "inline":
                cell = RichTextBuilder()
                _write_inline(cell, token.children or [], "")
                self._rows[-1].append(cell.build().text.replace("\n", " ").strip())
            elif not in_table:
                self._write_block(token)
        return self._text.build()

    def _write_block(self, token: Token) -> None:
        match token.type:
            case "heading_open":
                self._begin_block()
                if self._with_headings:
                    self._text.open_span("heading", token.tag.removeprefix("h"))
                else:
                    self._text.open_span("bold")
            case "heading_close":
                self._text.close_span()
                self._gap = 2
                self._follows_heading = True
            case "paragraph_open":
                self._begin_block()
                if self._text.is_at_line_start():
                    self._text.write(self._indent)
            case "paragraph_close":
                self._gap = 1 if token.hidden else 2
            case "inline":
                _write_inline(self._text, token.children or [], self._indent)
            case "bullet_list_open" | "ordered_list_open":
                self._begin_block()
                self._lists += 1
            case "bullet_list_close" | "ordered_list_close":
                self._lists -= 1
                if not self._lists:
                    self._gap = 2
            case "list_item_open":
                self._begin_block()
                outer = self._indent if self._text.is_at_line_start() else ""
                marker = f"{token.info}{token.markup}" if token.info else "•"
                self._text.write(f"{outer}{marker} {token.meta.get(_TASK_MARK, '')}")
                self._indents.append("  " * self._lists)
            case "list_item_close":
                self._indents.pop()
                self._gap = max(self._gap, 1)
            case "blockquote_open":
                self._begin_block()
                self._text.open_span("quote")
                self._quotes += 1
            case "blockquote_close":
                self._quotes -= 1
                self._text.close_span()
                self._gap = 2
            case "fence" | "code_block":
                language, code = _split_language(token.info.strip(), token.content.rstrip("\n"))
                if code.strip():
                    self._write_code(code, language)
            case _:
                content = _RULE if token.type == "hr" else token.content
                if content:
                    self._begin_block()
                    self._text.write(content)
                    self._gap = 1 if self._lists else 2

    @property
    def _indent(self) -> str:
        """Return what the lines of the innermost item of a list begin with."""
        return self._indents[-1] if self._indents else ""

    def _begin_block(self) -> None:
        if self._gap and self._text.length:
            self._text.write("\n" * self._gap)
            if not self._follows_heading:
                self._text.mark_block(self._lists + self._quotes)
        self._gap = 0
        self._follows_heading = False

    def _write_rows(self, heads: Sequence[str], *rows: Sequence[str]) -> None:
        """Write a table as a list: what a row is about, and its other cells with their heads. Those
        of two columns stand above it once, as do those of a table without rows.
        """
        between = ": " if len(heads) == 2 else " – "
        above = between.join(filter(None, heads))
        if above and (len(heads) <= 2 or not rows):
            self._begin_block()
            self._text.write(self._indent)
            self._text.open_span("bold")
            self._text.write(above)
            self._text.close_span()
            self._gap = 1
            self._follows_heading = bool(rows)
        for row in rows:
            cells = [(head, cell) for head, cell in zip(heads, row, strict=False) if cell]
            if row[0]:
                cells = cells[1:]
            named = [f"{head}: {cell}" if head and len(heads) > 2 else cell for head, cell in cells]
            self._begin_block()
            self._text.write("  " * self._lists + "• ")
            if row[0]:
                self._text.open_span("bold")
                self._text.write(row[0])
                self._text.close_span()
            self._text.write((between if row[0] and named else "") + "; ".join(named))
            self._gap = 1
        self._gap = 1 if self._lists else 2

    def _write_code(self, text: str, language: str = "") -> None:
        self._begin_block()
        self._text.open_span("pre", language)
        self._text.write(text)
        self._text.close_span()
        self._gap = 1 if self._lists else 2


def _split_language(info: str, content: str) -> tuple[str, str]:
    """Return a code block's language and text.

    Anything but a language in its first line becomes the text's first line.
    """
    if not content.strip():
        return "", info
    language, _, rest = info.partition(" ")
    if not _LANGUAGE.fullmatch(language):
        return "", f"{info}\n{content}" if info else content
    return language, f"{info}\n{content}" if rest.strip() else content


def _mark_tasks(tokens: Sequence[Token]) -> Sequence[Token]:
    """Return the tokens with a box at the items of lists that are tasks."""
    for item, _, inline in zip(tokens, tokens[1:], tokens[2:], strict=False):
        first = inline.children[0] if inline.type == "inline" and inline.children else None
        if item.type != "list_item_open" or item.info or first is None or first.type != "text":
            continue
        task = _TASK.match(first.content)
        if task:
            item.meta[_TASK_MARK] = "☐ " if task[1] == " " else "☑ "
            first.content = first.content[task.end() :]
    return tokens


def _write_inline(builder: RichTextBuilder, tokens: Sequence[Token], indent: str) -> None:
    """Write the inside of one block: emphasis, code, links, pictures, line breaks.

    Each line but the first begins with `indent`.
    """
    signs = _find_signs(tokens)
    for place, token in enumerate(tokens):
        name, _, edge = token.type.rpartition("_")
        if place in signs:
            builder.write(token.markup)
        elif name in _STYLES and edge == "open":
            builder.open_span(_STYLES[name])
        elif name in _STYLES:
            builder.close_span()
        elif token.type == "link_open":
            builder.open_span("link", str(token.attrs.get("href", "")))
        elif token.type == "link_close":
            _close_link(builder)
        elif token.type == "image":  # a link to the picture
            builder.open_span("link", str(token.attrs.get("src", "")))
            _write_inline(builder, token.children or [], indent)
            _close_link(builder)
        elif token.type in ("softbreak", "hardbreak"):
            builder.write(f"\n{indent}")
        elif token.type == "code_inline":
            builder.open_span("code")
            builder.write(token.content)
            builder.close_span()
        else:
            builder.write(token.content)


def _find_signs(tokens: Sequence[Token]) -> set[int]:
    """Return the places of asterisks between digits: they are signs of a calculation (`2*3*4`),
    which without them would be another number.
    """
    signs: set[int] = set()
    for place in range(1, len(tokens) - 3):
        before, opening, _, closing, after = tokens[place - 1 : place + 4]
        is_pair = opening.type in ("em_open", "strong_open") and closing.nesting == -1
        if is_pair and before.content[-1:].isdigit() and after.content[:1].isdigit():
            signs |= {place, place + 2}
    return signs


def _close_link(builder: RichTextBuilder) -> None:
    """Close a link. Only a web address stays a link; any other is written out, since no platform
    would open it.
    """
    address, text = builder.read_open_span()
    if not text:
        builder.write(address)
    is_web = is_web_address(address)
    builder.close_span(keep=is_web)
    if text and not is_web and address not in ("", text, f"mailto:{text}"):
        builder.write(f" ({address})")
