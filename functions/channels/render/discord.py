"""Rich text in Discord's dialect of markdown (https://support.discord.com/hc/en-us/articles/210298617).

What its writer did not mean as markup is escaped, so that no text can break out of its style, hide
behind a spoiler or look like a mention. Tables are columns of text and pictures are links already.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import islice

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.rich_text import Kind, RichText, TextSpan
from functions.channels.render.split import split_rich_text

LIMIT = 2000
"""Characters of a message; we count UTF-16 units, which are never fewer."""
ADDRESS_MOST = 1000
"""A link with a longer address is only its text: it may not fill a message by itself."""
_MARKS: dict[Kind, str] = {"bold": "**", "italic": "*", "strike": "~~"}
_APART = "\u200b"
"""Keeps two marks apart that would be read as one."""
_SPECIAL = re.compile(r"https?://\S+|[\\*_~`|<\[]", re.IGNORECASE)
_LINE_START = re.compile(r"^([ \t]*)(?=#{1,3}[ \t]|-#[ \t]|>)", re.MULTILINE)
_BULLET = re.compile(r"^( *)• ", re.MULTILINE)
_LOOKS_LIKE_ADDRESS = re.compile(r"https?:|\w\.\w", re.IGNORECASE)
_UNSAFE_IN_ADDRESS = {ord("("): "%28", ord(")"): "%29", ord("<"): "%3C", ord(">"): "%3E"}


def render_messages(markdown: str, most: int | None = None, limit: int = LIMIT) -> list[str]:
    """Return `markdown` as the contents of messages of at most `limit` characters; none when there
    is nothing to see.

    `most`: the largest number that is made.
    """
    rich = parse_markdown(markdown, with_headings=True)

    def fits_message(part: RichText) -> bool:
        return count_units(write_dialect(part)) <= limit

    parts = split_rich_text(rich, limit, fits_message)
    return [write_dialect(part) for part in islice(parts, most)]


def count_units(text: str) -> int:
    """Return the length of `text` in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def write_dialect(rich: RichText) -> str:
    """Return rich text as Discord's markdown."""
    return _DialectWriter(rich).write()


class _DialectWriter:
    """Writes one text from its beginning to its end; used once."""

    def __init__(self, rich: RichText) -> None:
        self._text = rich.text
        self._spans = list(_choose_spans(rich))
        self._pieces: list[str] = []
        self._open: list[TextSpan] = []
        self._has_closed = False  # a style ended just here

    def write(self) -> str:
        """Write the whole text and return it."""
        opening: dict[int, list[TextSpan]] = defaultdict(list)
        places = {0, len(self._text)}
        for span in self._spans:
            opening[span.start].append(span)
            places |= {span.start, span.end}
        last = 0
        for place in sorted(places):
            self._write_text(self._text[last:place])
            while self._open and self._open[-1].end <= place:
                self._close(self._open.pop())
            for span in opening[place]:
                self._open_span(span)
            last = place
        return "".join(self._pieces)

    def _open_span(self, span: TextSpan) -> None:
        match span.kind:
            case "quote":
                self._add("> ")
            case "heading":
                self._add("#" * int(span.value) + " ")
            case "pre":
                self._add(f"```{span.value}\n")
            case "code":
                self._add(_choose_fence(self._read(span)))
            case "link":
                self._add("[" if _may_hide(span, self._read(span)) else "")
            case _:
                self._add_mark(_MARKS[span.kind])
        self._open.append(span)

    def _close(self, span: TextSpan) -> None:
        match span.kind:
            case "pre":
                self._add("\n```")
            case "code":
                self._add(_choose_fence(self._read(span))[::-1])
            case "link":
                label = self._read(span)
                if _may_hide(span, label):
                    self._add(f"]({span.value.translate(_UNSAFE_IN_ADDRESS)})")
                elif span.value != label:
                    self._add(f" ({span.value})")
            case "bold" | "italic" | "strike":
                self._pieces.append(_MARKS[span.kind])
                self._has_closed = True

    def _write_text(self, text: str) -> None:
        kinds = [span.kind for span in self._open]
        if "pre" in kinds:
            text = text.replace("```", f"`{_APART}``")
        elif "code" in kinds:
            text = text.replace("``", f"`{_APART}`")
        elif text:
            text = _SPECIAL.sub(_escape, text)
            if not self._pieces or self._pieces[-1].endswith(("\n", "> ")):
                text = _write_line_starts(text)
            else:
                first, newline, rest = text.partition("\n")
                text = first + newline + _write_line_starts(rest)
        self._add(text)

    def _add(self, text: str) -> None:
        """Add a text, each line of it marked where it stands in a quote."""
        if any(span.kind == "quote" for span in self._open):
            text = text.replace("\n", "\n> ")
        if text:
            self._pieces.append(text)
            self._has_closed = False

    def _add_mark(self, mark: str) -> None:
        if self._has_closed:
            self._pieces.append(_APART)
        self._pieces.append(mark)
        self._has_closed = False

    def _read(self, span: TextSpan) -> str:
        return self._text[span.start : span.end]


def _choose_spans(rich: RichText) -> Iterable[TextSpan]:
    """Yield the spans that Discord can show, in their order.

    A style lies in no span of its own kind, and ends at text and not at a space. Discord shows the
    first three levels of headings, at the beginning of a line; the others are bold.
    """
    around: list[TextSpan] = []
    for span in rich.spans:
        around = [outer for outer in around if span.start < outer.end]
        inside = rich.text[span.start : span.end]
        chosen: TextSpan | None = span
        match span.kind:
            case "heading":
                at_line_start = span.start == 0 or rich.text[span.start - 1] == "\n"
                if span.value not in ("1", "2", "3") or not at_line_start or "\n" in inside:
                    chosen = _trim(TextSpan("bold", span.start, span.end), inside)
            case "link" if len(span.value) > ADDRESS_MOST:
                chosen = None
            case "bold" | "italic" | "strike":
                chosen = _trim(span, inside)
        if chosen is None or any(outer.kind == chosen.kind for outer in around):
            continue
        around.append(chosen)
        yield chosen


def _trim(span: TextSpan, inside: str) -> TextSpan | None:
    """Return a style without the white space at its ends; None when nothing is left of it."""
    start = span.start + len(inside) - len(inside.lstrip())
    end = span.start + len(inside.rstrip())
    return TextSpan(span.kind, start, end) if start < end else None


def _may_hide(link: TextSpan, label: str) -> bool:
    """Return whether a link shows its text alone: Discord shows none whose text looks like an
    address as a link, so both are written out.
    """
    return bool(label.strip()) and not _LOOKS_LIKE_ADDRESS.search(label)


def _choose_fence(code: str) -> str:
    """Return what begins inline code, and backwards ends it."""
    if "`" not in code:
        return "`"
    return "`` " if code.startswith("`") or code.endswith("`") else "``"


def _write_line_starts(text: str) -> str:
    """Return lines of which Discord reads no beginning but that of a list's item."""
    return _BULLET.sub(r"\1- ", _LINE_START.sub(r"\1\\", text))


def _escape(match: re.Match[str]) -> str:
    """Return an address as it is, and a character that could be markup behind a backslash."""
    found = match[0]
    return found if len(found) > 1 else f"\\{found}"
