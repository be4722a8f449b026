"""Markdown becomes Discord's dialect: what it can show it shows, and nothing else is markup."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from functions.channels.render.discord import LIMIT, count_units, render_messages
from tests.tables import each_row


@each_row(
    ("markdown", "shown"),
    [
        ("**bold** *it* ~~gone~~ `code`", "**bold** *it* ~~gone~~ `code`"),
        ("# One\n\ntext\n\n### Three\n\n#### Four", "# One\n\ntext\n\n### Three\n\n**Four**"),
        ("# **One**\nrest", "# **One**\n\nrest"),
        ("- a\n- b\n  - c", "- a\n- b\n  - c"),
        ("1. a\n   b\n   - [x] c\n\n> * d", "1. a\n  b\n  - ☑ c\n\n> - d"),
        ("> said\n> twice\n\nme", "> said\n> twice\n\nme"),
        ("> ```\n> a\n> b\n> ```", "> ```\n> a\n> b\n> ```"),
        ("| a | b |\n|---|--:|\n| x | 10 |", "```\na |  b\n--+---\nx | 10\n```"),
        ("```py\nx = 1\n```", "```py\nx = 1\n```"),
        ("[docs](https://a.example/x)", "[docs](https://a.example/x)"),
        ("[x](https://a.example/b_(c))", "[x](https://a.example/b_%28c%29)"),
        ("![chart](https://a.example/c.png)", "[chart](https://a.example/c.png)"),
        ("<https://a.example/a_b>", "https://a.example/a_b"),
        ("**a***b*", "**a**\u200b*b*"),
        ("***both***", "***both***"),
        ("`` a`b ``", "``a`b``"),
        ("1. one\n2. two", "1. one\n2. two"),
    ],
)
def test_what_discord_can_show_is_shown(markdown: str, shown: str) -> None:
    assert render_messages(markdown) == [shown]


@each_row(
    ("markdown", "shown"),
    [
        (r"\*no\* snake_case", r"\*no\* snake\_case"),
        ("||spoiler||", r"\|\|spoiler\|\|"),
        ("<@42> <@&7> <#9> <t:0:R>", r"\<@42> \<@&7> \<#9> \<t:0:R>"),
        (r"\# no heading", r"\# no heading"),
        ("-# no small text", r"\-# no small text"),
        (r"\> no quote", r"\> no quote"),
        (r"\[a\](https://b.example)", r"\[a](https://b.example)"),
        # Discord shows no such link, and it would lead elsewhere than it says
        (
            "[https://bank.example](https://evil.example)",
            "https://bank.example (https://evil.example)",
        ),
        ("````\n```\nbreaks out\n````", "```\n`\u200b``\nbreaks out\n```"),
        ("&#x202e;gnp.exe", "gnp.exe"),
    ],
)
def test_what_was_not_meant_as_markup_is_none(markdown: str, shown: str) -> None:
    assert render_messages(markdown) == [shown]


def test_a_long_block_of_code_is_cut_into_blocks_with_the_same_language() -> None:
    lines = [f"value_{number} = {number}" for number in range(400)]
    parts = render_messages("```py\n" + "\n".join(lines) + "\n```")
    assert len(parts) > 1
    assert all(part.startswith("```py\n") and part.endswith("\n```") for part in parts)
    inside = [part.removeprefix("```py\n").removesuffix("\n```") for part in parts]
    assert "\n".join(inside).splitlines() == lines


def test_a_link_that_fills_a_message_is_only_its_text() -> None:
    assert render_messages(f"[here](https://a.example/{'x' * 3000})") == ["here"]


@given(st.text(alphabet="ab *_`~|>#-[](){}<@!:/.\\\n\u200b😀1", max_size=300))
def test_every_part_fits_whatever_the_text_is(text: str) -> None:
    for part in render_messages(text * 9):
        assert part.strip()
        assert count_units(part) <= LIMIT
