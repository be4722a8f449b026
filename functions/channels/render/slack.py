"""Rich text in Slack's dialect: blocks of rich text
(https://docs.slack.dev/reference/block-kit/blocks/rich-text-block).

Their elements hold plain text, which Slack does not read: nothing that somebody wrote can name a
person, call a whole channel, or break out of its style. The `text` beside them is what a
notification shows; Slack reads it, and so it is escaped.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import orjson

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.rich_text import RichText, TextSpan
from functions.channels.render.split import split_rich_text

LIMIT = 3_900
"""Characters of a message's text; Slack advises against more than 4,000."""
BLOCKS_LIMIT = 10_000
"""Bytes of a message's blocks as JSON; Slack refuses a third more as `msg_blocks_too_long`."""
MOST_SPANS = 200
NOTICE_LIMIT = 300
_LINK_LIMIT = 3_000
_STYLES = ("bold", "italic", "strike", "code")

Element = dict[str, object]


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


def make_notice(text: str) -> str:
    """Return what a notification of a message shows."""
    line = " ".join(text.split())
    return escape_text(line if len(line) <= NOTICE_LIMIT else line[: NOTICE_LIMIT - 1] + "…")


def make_blocks(rich: RichText) -> list[Element]:
    """Return a text as one block of rich text: paragraphs, code blocks and quotes in order."""
    elements: list[Element] = []
    for kind, start, end in _find_areas(rich):
        area = _strip_breaks(rich.slice(start, end))
        if not area.text:
            continue
        if kind == "pre":
            text = [{"type": "text", "text": area.text}]
            elements.append({"type": "rich_text_preformatted", "elements": text})
        else:
            type = "rich_text_quote" if kind == "quote" else "rich_text_section"
            elements.append({"type": type, "elements": list(_make_runs(area))})
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


def _strip_breaks(rich: RichText) -> RichText:
    """Return it without the line breaks at its ends, which the areas make themselves."""
    start = len(rich.text) - len(rich.text.lstrip("\n"))
    return rich.slice(start, len(rich.text.rstrip("\n")))


def _make_runs(rich: RichText) -> Iterator[Element]:
    """Yield the stretches of a text in which the styles and the link are the same."""
    edges = {0, len(rich.text)}
    for span in rich.spans:
        edges |= {span.start, span.end}
    places = sorted(edges)
    for start, end in pairwise(places):
        over = [span for span in rich.spans if span.start <= start and end <= span.end]
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
