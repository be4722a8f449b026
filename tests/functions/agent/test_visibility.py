"""What a reader sees nothing of is no answer; whatever they see is one."""

from __future__ import annotations

import time

import pytest

from functions.agent.sanitize import is_visible

NOTHING = [
    "",
    " \n\t",
    "<!-- thinking done -->",
    "<!-- never closed",
    "<br>\n<div></div>",
    "**",
    "# ",
    "---",
    "> \n> ",
    "```\n```",
    "| | |\n|---|---|",
    "[]()",
    "\u200b\u200d\ufeff\u2060",
    "&#8203;&nbsp;",
    "\u2800\u3164",
    "\ufe0f",
]
SOMETHING = [
    "4",
    "👍",
    "?",
    "…",
    "-",
    "+",
    "好",
    "`<br>`",
    "```html\n<!-- a comment -->\n```",
    "**x**",
    "<b>x</b>",
    "1.",
    "![](https://example.com/a.png)",
    "<!-- note --> yes",
    "2 < 3 > 1",
]


@pytest.mark.parametrize("text", NOTHING)
def test_markup_alone_shows_nothing(text: str) -> None:
    assert not is_visible(text)


@pytest.mark.parametrize("text", SOMETHING)
def test_whatever_is_said_is_seen(text: str) -> None:
    assert is_visible(text)


@pytest.mark.parametrize("part", ["`", "<", "<!--", "``` \n", "[ ", "- |", "~~~\n", "<a ", "=\n"])
def test_a_text_made_to_be_slow_is_not(part: str) -> None:
    began = time.process_time()
    is_visible(part * (10_000 // len(part)))
    assert time.process_time() - began < 5.0  # it takes milliseconds
