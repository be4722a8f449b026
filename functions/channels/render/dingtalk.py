"""Markdown in the dialect of DingTalk's messages
(https://open.dingtalk.com/document/orgapp/robot-message-types-and-data-format): most of CommonMark,
without tables. A line ends where two spaces stand before its end.

A link to an address of DingTalk's own makes whoever follows it do something, such as sending a
command: no text of ours may hold one, whatever a model wrote.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

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

PART_BYTES: Final = 12_000
"""Bytes of a message's text in a request, of 15,000 that all of it may have."""
TITLE_CHARACTERS: Final = 60
_OWN_LINK = re.compile(
    r"\b(?:dtmd(?=\s*\\?:)|dingtalk(?=\\?:\\?/)|dingtalkclient(?=\\?/))", re.IGNORECASE
)
"""The parts of DingTalk's own addresses; `dingtalk:ID`, as we write a person's id, is none."""
_TAG = re.compile(r"<(?=[/!?A-Za-z])")
_ENTITY = re.compile(r"&(?=#[0-9xX]|[A-Za-z][A-Za-z0-9]{0,31};)")
_LINE_END = re.compile(r"(?<!\\)((?:\\\\)*)\\?[ \t]*\n")
"""A line's end; a backslash before it would be shown."""
_FENCE = "```"


def render_parts(markdown: str, most: int | None = None) -> list[str]:
    """Return `markdown` as the texts of messages; none when there is nothing to see.

    `most`: the largest number that is made.
    """
    blocks = [_write_block(block) for block in list_blocks(markdown)]
    parts = map(join_blocks, split_blocks(blocks, _fits_message))
    return list(islice((part for part in parts if part.strip()), most))


def make_title(part: str) -> str:
    """Return what a notification says of a part, and a list of chats; never empty."""
    text = " ".join(parse_markdown(part[:1_000]).text.split())
    return text[:TITLE_CHARACTERS] or "…"


def _fits_message(blocks: Sequence[SourceBlock]) -> bool:
    # a message is JSON in a string of JSON
    text = orjson.dumps(join_blocks(blocks)).decode()
    return len(orjson.dumps(text)) <= PART_BYTES


def _write_block(block: SourceBlock) -> SourceBlock:
    if block.kind == "table":
        text = parse_markdown(block.source).text
        if _FENCE in text:
            return SourceBlock("text", _write_text(text))
        return SourceBlock("fence", _write_code(f"{_FENCE}\n{text}\n{_FENCE}"))
    written = rewrite_block(block, _write_text, _write_code)
    if written.kind in ("fence", "code"):
        return written
    return replace(written, source=_LINE_END.sub(r"\1  \n", written.source))


def _write_text(text: str) -> str:
    text = keep_web_links(text)
    # what is written in another way could become a link of DingTalk's own
    text = _ENTITY.sub("&\u200b", text)
    return _write_code(_TAG.sub("<\u200b", text))


def _write_code(code: str) -> str:
    return _OWN_LINK.sub("\\g<0>\u200b", code)
