"""Rich text in Slack's dialect: blocks of rich text
(https://docs.slack.dev/reference/block-kit/blocks/rich-text-block).

Their elements hold plain text, which Slack does not read: nothing that somebody wrote can name a
person, call a whole channel, or break out of its style. The `text` beside them is what a
notification shows; Slack reads it, and so it is escaped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, islice, pairwise

import orjson

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.marks import BREAK
from functions.channels.render.rich_text import RichText, TextSpan
from functions.channels.render.split import split_rich_text

Element = dict[str, object]
LIMIT = 3_900
"""Characters of a message's text; Slack advises against more than 4,000."""
BLOCKS_LIMIT = 10_000
"""Bytes of a message's blocks as JSON; Slack refuses a third more as `msg_blocks_too_long`."""
MOST_SPANS = 200
NOTICE_LIMIT = 300
_LINK_LIMIT = 3_000
_ITEM = re.compile(r"^( *)(?:•|([0-9]{1,4})[.)])(?: |$)", re.MULTILINE)
_BEHIND_LIST = re.compile(r"\n+(?=[^ \n])")
_BLANK: Element = {"type": "text", "text": " "}
_INDENT_MOST = 8
"""So deep may Slack's lists be."""
_LIVE = re.compile(r"<(?=[@!#/A-Za-z])|@(?=[A-Za-z])|:(?=/)|(?<=[A-Za-z0-9])\.(?=[A-Za-z])")
"""Where mentions, commands and addresses have their second character."""
_STYLES = ("bold", "italic", "strike", "code")


@dataclass(frozen=True, slots=True)
class SlackPart:
    """One message: never blank. `text` is plain, as the parser of markdown left it."""

    text: str
    blocks: tuple[Element, ...] = ()


def render_parts(markdown: str, most: int | None = None) -> list[SlackPart]:
    """Return `markdown` as messages; none when there is nothing to see.

    `most`: the largest number that is made.
    """

    def fits_message(part: RichText) -> bool:
        if len(part.spans) > MOST_SPANS:
            return False
        return len(orjson.dumps(make_blocks(part))) <= BLOCKS_LIMIT

    parts = split_rich_text(parse_markdown(markdown), LIMIT, fits_message)
    return [SlackPart(part.text, tuple(make_blocks(part))) for part in islice(parts, most)]


def escape_text(text: str) -> str:
    """Return a text of which Slack reads nothing as a mention, a link or a command."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def write_stream(markdown: str) -> str:
    """Return the beginning of an answer as Slack's own markdown, for a message that is streamed.

    Nobody is named by it, and no address in it is one that Slack would look at. More of the answer
    gives more of the same text.
    """
    return _LIVE.sub(rf"\g<0>{BREAK}", markdown)


def make_notice(text: str) -> str:
    """Return what a notification of a message shows."""
    line = " ".join(text.split())
    return escape_text(line if len(line) <= NOTICE_LIMIT else line[: NOTICE_LIMIT - 1] + "…")


def make_blocks(rich: RichText) -> list[Element]:
    """Return a text as one block of rich text: paragraphs, code blocks and quotes in order."""
    # where blocks begin is for whoever cuts a text, and would be looked through for each item
    rich = RichText(rich.text, rich.spans)
    elements: list[Element] = []
    for kind, start, end in _find_areas(rich):
        area = _strip_breaks(rich.slice(start, end))
        if not area.text:
            continue
        if kind == "pre":
            text = [{"type": "text", "text": area.text}]
            elements.append({"type": "rich_text_preformatted", "elements": text})
        elif kind == "quote":
            elements.append({"type": "rich_text_quote", "elements": list(_make_runs(area))})
        else:
            elements.extend(_make_sections(area))
    return [{"type": "rich_text", "elements": elements}] if elements else []


def _find_areas(rich: RichText) -> Iterator[tuple[str, int, int]]:
    """Yield the kind, the start and the end of each area; a code block in a quote stays in it."""
    at = 0
    for span in rich.spans:
        if span.kind in ("pre", "quote") and span.start >= at:
            if span.start > at:
                yield "", at, span.start
            yield span.kind, span.start, span.end
            at = span.end
    if at < len(rich.text):
        yield "", at, len(rich.text)


@dataclass(frozen=True, slots=True)
class _Item:
    """The beginning of an item of a list: where it is, and its text; `number` is 0 for a bullet."""

    start: int
    text: int
    depth: int
    number: int

    @property
    def place(self) -> tuple[int, bool]:
        """Return what the items of one of Slack's lists have in common."""
        return self.depth, self.number > 0


def _make_sections(rich: RichText) -> Iterator[Element]:
    """Yield the paragraphs and the lists of an area without code blocks and quotes."""
    items = list(_find_items(rich))
    ends = [item.start for item in items[1:]] + [len(rich.text)]
    yield from _make_paragraphs(rich.slice(0, items[0].start if items else len(rich.text)))
    listed = []
    for item, end in zip(items, ends, strict=False):
        text, behind = _end_item(rich.slice(item.text, end))
        listed.append((item, text))
        if behind.text:
            yield from _make_lists(listed)
            yield from _make_paragraphs(behind)
            listed = []
    yield from _make_lists(listed)


def _make_paragraphs(rich: RichText) -> Iterator[Element]:
    text = _strip_breaks(rich)
    if text.text:
        yield {"type": "rich_text_section", "elements": list(_make_runs(text))}


def _find_items(rich: RichText) -> Iterator[_Item]:
    """Yield where the items of lists begin, as the parser of markdown writes them."""
    codes = iter([span for span in rich.spans if span.kind == "code"])
    code = next(codes, None)
    for match in _ITEM.finditer(rich.text):
        while code and code.end <= match.start():
            code = next(codes, None)
        if code is None or match.start() < code.start:
            depth = min(len(match[1]) // 2, _INDENT_MOST)
            yield _Item(match.start(), match.end(), depth, int(match[2] or 0))


def _end_item(rich: RichText) -> tuple[RichText, RichText]:
    """Return the text of an item, and what stands behind its list: what is not indented."""
    end = _BEHIND_LIST.search(rich.text)
    if end is None:
        return _strip_breaks(rich), RichText("")
    return rich.slice(0, end.start()), rich.slice(end.end(), len(rich.text))


def _make_lists(items: list[tuple[_Item, RichText]]) -> Iterator[Element]:
    """Yield Slack's lists of items that follow each other: one for each stretch of a depth."""
    for (depth, is_numbered), group in groupby(items, key=lambda each: each[0].place):
        members = list(group)
        element: Element = {
            "type": "rich_text_list",
            "style": "ordered" if is_numbered else "bullet",
            "indent": depth,
            "elements": [
                {"type": "rich_text_section", "elements": list(_make_runs(text)) or [_BLANK]}
                for _, text in members
            ],
        }
        first = members[0][0].number
        if first > 1:
            element["offset"] = first - 1
        yield element


def _strip_breaks(rich: RichText) -> RichText:
    """Return it without the line breaks at its ends, which the areas make themselves."""
    start = len(rich.text) - len(rich.text.lstrip("\n"))
    return rich.slice(start, len(rich.text.rstrip("\n")))


def _make_runs(rich: RichText) -> Iterator[Element]:
    """Yield the stretches of a text in which the styles and the link are the same."""
    edges = {0, len(rich.text)}
    for span in rich.spans:
        edges |= {span.start, span.end}
    spans = iter(rich.spans)  # in the order in which they begin
    following = next(spans, None)
    over: list[TextSpan] = []
    for start, end in pairwise(sorted(edges)):
        over = [span for span in over if span.end > start]
        while following and following.start <= start:
            over.append(following)
            following = next(spans, None)
        yield _make_run(rich.text[start:end], over)


def _make_run(text: str, over: list[TextSpan]) -> Element:
    run: Element = {"type": "text", "text": text}
    address = next((span.value for span in over if span.kind == "link"), "")
    if address and len(address) <= _LINK_LIMIT:
        run = {"type": "link", "url": address, "text": text}
    style = {span.kind: True for span in over if span.kind in _STYLES}
    if any(span.kind == "pre" for span in over):
        style["code"] = True
    return run | {"style": style} if style else run
