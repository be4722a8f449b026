"""Slack's blocks of long texts are made without looking through all of a text for each piece."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest

from functions.channels.render.markdown import parse_markdown
from functions.channels.render.rich_text import RichText
from functions.channels.render.slack import make_blocks


def count_steps(rich: RichText) -> int:
    """The interpreter's steps that it takes to make blocks of a text."""
    steps = 0

    def follow(frame: FrameType, what: str, _: Any) -> Any:
        nonlocal steps
        frame.f_trace_lines, frame.f_trace_opcodes = False, True
        steps += what == "opcode"
        return follow

    before = sys.gettrace()
    sys.settrace(follow)
    try:
        make_blocks(rich)
    finally:
        sys.settrace(before)
    return steps


@pytest.mark.parametrize("piece", ["**a** ", "- a\n", "`a` *b*\n\n"])
def test_a_text_with_twice_as_many_styles_takes_twice_as_many_steps(piece: str) -> None:
    few, many = (count_steps(parse_markdown(piece * count)) for count in (100, 200))
    assert many < 2.5 * few
