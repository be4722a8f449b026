"""Markdown is cut as it was written, and in Feishu's dialect nobody is named by accident."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from functions.channels.render.feishu import is_plain, make_plain, render_parts
from functions.channels.render.source import SourceBlock, join_blocks, list_blocks, split_blocks
from tests.tables import each_row


def split(markdown: str, limit: int) -> list[str]:
    def fits(blocks: Sequence[SourceBlock]) -> bool:
        return len(join_blocks(blocks)) <= limit

    return [join_blocks(part) for part in split_blocks(list_blocks(markdown), fits)]


def test_a_text_is_cut_between_its_blocks() -> None:
    assert split("one two\n\n- a\n- b\n\n## H\n\nthree", 16) == [
        "one two\n\n- a\n- b",
        "## H\n\nthree",
    ]


def test_a_heading_stays_with_what_follows() -> None:
    assert split("aaaa\n\n# H\n\nbbbb bbbb", 14) == ["aaaa", "# H\n\nbbbb bbbb"]


def test_code_that_is_cut_begins_anew() -> None:
    assert split("```py\n  a\nbb\ncc\n```", 14) == [
        "```py\n  a\n```",
        "```py\nbb\n```",
        "```py\ncc\n```",
    ]
    assert split("````\n```\nx\n````", 14)[0].startswith("````")


def test_a_table_that_is_cut_repeats_its_head() -> None:
    table = "| a |\n|---|\n| 1 |\n| 2 |"
    assert split(table, 18) == ["| a |\n|---|\n| 1 |", "| a |\n|---|\n| 2 |"]


def test_a_long_line_is_cut_at_a_pause() -> None:
    assert split("aaa bbb ccc", 9) == ["aaa bbb ", "ccc"]
    assert split("你好，世界。再见", 6) == ["你好，世界。", "再见"]


@settings(max_examples=50, deadline=None)
@given(st.text(st.sampled_from("ab `~#|-\n>*[]()1.\t"), max_size=60), st.integers(12, 30))
def test_no_word_is_lost(markdown: str, limit: int) -> None:
    parts = split(markdown, limit)
    assert all(len(part) <= limit for part in parts)
    whole = "".join(parts)
    for letter in "ab1":
        assert whole.count(letter) >= markdown.count(letter)


# ---- Feishu


@each_row(
    ("markdown", "becomes"),
    [
        ("<at id=all></at>", "&#60;at id=all>&#60;/at>"),
        ("see <https://a.b/c>", "see https://a.b/c"),
        ("`<at id=all>` x", "`<\u200bat id=all>` x"),
        ("```html\n<at id=all></at>\n```", "```html\n<\u200bat id=all></at>\n```"),
        ("```c\n#include <stdio.h>\n```", "```c\n#include <stdio.h>\n```"),
        ("`List<String>` and <b>", "`List<String>` and &#60;b>"),
        ("    x = a<b>(c)", "    x = a<b>(c)"),
        ("![pic](https://a.b/p.png)", "[pic](https://a.b/p.png)"),
        ("![](https://a.b/p.png)", "[https://a.b/p.png](https://a.b/p.png)"),
        (
            "[mail](mailto:a@b.c) [x](javascript:alert(1))",
            "mail (mailto:a@b.c) x (javascript:alert(1))",
        ),
        ("> quoted\n\n1 < 2", "> quoted\n\n1 &#60; 2"),
    ],
)
def test_nothing_but_text_reaches_a_card(markdown: str, becomes: str) -> None:
    assert render_parts(markdown) == [becomes]


@settings(max_examples=50, deadline=None)
@given(st.lists(st.sampled_from(["<at id=all>", "</at>", "`", "```", "\n", " ", "\\", "a", "~~~"])))
def test_no_tag_ever_reaches_a_card_or_a_text(pieces: list[str]) -> None:
    for part in render_parts("".join(pieces)):
        assert "<at" not in part
        assert "<at" not in make_plain(part)


def test_code_of_a_card_that_was_refused_is_as_it_was_written() -> None:
    code = "`List<String>` <b>\n\n```c\n#include <stdio.h>\n```"
    (part,) = render_parts(code)
    assert make_plain(part) == "List<String> <\u200bb>\n\n#include <stdio.h>"


def test_a_card_has_few_tables() -> None:
    table = "| a |\n|---|\n| 1 |"
    parts = render_parts("\n\nand\n\n".join([table] * 7))
    assert [part.count("|---|") for part in parts] == [3, 3, 1]


def test_only_what_looks_the_same_is_plain() -> None:
    assert is_plain("Hello.\nThere")
    for part in ("**a**", "- a", "a < b", "https://a.b [x](https://c.d)", "a\\*b", "&amp;"):
        assert not is_plain(part)
