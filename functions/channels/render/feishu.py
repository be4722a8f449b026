"""Markdown in the dialect of Feishu's cards
(https://open.feishu.cn/document/feishu-cards/card-json-v2-components/content-components/rich-text):
CommonMark with tables, and tags such as `<at id=all></at>`, which no text of ours may hold.

Tags mean nothing in code, as in CommonMark. There we break those alone that would name people, for
the case that Feishu reads something else as code than we do.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

import orjson

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.marks import BREAK, find_breaks, insert_marks
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
_TAG_OF_PEOPLE = re.compile(r"<(?=(?:at|person)[\s/])", re.IGNORECASE)


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
    rich = parse_markdown(part)
    return insert_marks(rich, lambda *_: iter(()), find_breaks(rich, _TAG, _TAG_OF_PEOPLE))


def _fits_card(blocks: Sequence[SourceBlock]) -> bool:
    tables = sum(block.kind == "table" for block in blocks)
    # the card is JSON in a string of JSON
    card = orjson.dumps(join_blocks(blocks)).decode()
    return tables <= TABLES_MOST and len(orjson.dumps(card)) <= PART_BYTES


def _write_text(text: str) -> str:
    # a card takes no pictures but its own, and no links but those of the web
    return keep_web_links(text).replace("<", "&#60;")


def _defuse_code(code: str) -> str:
    # entities mean nothing in code
    return _TAG_OF_PEOPLE.sub(f"<{BREAK}", code)
