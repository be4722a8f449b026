"""Markdown in the dialect of Feishu's cards
(https://open.feishu.cn/document/feishu-cards/card-json-v2-components/content-components/rich-text):
CommonMark with tables, and tags such as `<at id=all></at>`, which no text of ours may hold.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import orjson

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.source import (
    SourceBlock,
    join_blocks,
    keep_web_links,
    list_blocks,
    rewrite_block,
    split_blocks,
)

PART_BYTES = 22_000
"""Bytes of a card's text in a request, of 30 KB that all of it may have."""
TABLES_MOST = 3
"""Feishu refuses cards with more tables; it documents four or five."""
PLAIN_CHARACTERS = 2_000
"""A longer answer is a card even when it is plain."""
_TAG = re.compile(r"<(?=[/A-Za-z])")


def render_parts(markdown: str, most: int | None = None) -> list[str]:
    """Return `markdown` as the texts of cards; none when there is nothing to see.

    `most`: the largest number that is made.
    """
    blocks = [rewrite_block(block, _write_text, _defuse_code) for block in list_blocks(markdown)]
    parts = map(join_blocks, split_blocks(blocks, _fits_card))
    return list(islice((part for part in parts if part.strip()), most))


def is_plain(part: str) -> bool:
    """Return whether a part looks the same without a card around it."""
    rich = parse_markdown(part)
    is_short = len(part) <= PLAIN_CHARACTERS
    return is_short and not rich.spans and rich.text == part and "<" not in part


def make_plain(part: str) -> str:
    """Return a part without styles, as a message of plain text may hold it.

    Even plain text names people by a tag.
    """
    return _TAG.sub("<\u200b", parse_markdown(part).text)


def _fits_card(blocks: Sequence[SourceBlock]) -> bool:
    tables = sum(block.kind == "table" for block in blocks)
    # the card is JSON in a string of JSON
    card = orjson.dumps(join_blocks(blocks)).decode()
    return tables <= TABLES_MOST and len(orjson.dumps(card)) <= PART_BYTES


def _write_text(text: str) -> str:
    # a card takes no pictures but its own, and no links but those of the web
    return keep_web_links(text).replace("<", "&#60;")


def _defuse_code(code: str) -> str:
    """Return code with a space of no width in its tags: entities mean nothing there."""
    return _TAG.sub("<\u200b", code)
