"""What people and models read of a failure: one line, and nothing in it that they do not see."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sigil.errors import one_line
from tests.tables import each_row

HIDDEN = (
    "\x00 \x1b \x85 \xad \u034f \u061c \u1160 \u180e \u200b \u2028 \u202e \u2062 \u2064 \u2066"
    " \u206f \u3164 \ufeff \uffa0 \ufffa"
)
HIDDEN += " \U0001d173 \U000e0041 \U000e0101 \U000e01ef \ud800"


@each_row("character", HIDDEN.split(" "))
def test_what_nobody_sees_is_taken_out(character: str) -> None:
    assert one_line(f"a{character}b") == "a b"
    assert one_line(f"a{character * 50}b{character}") == "a b"


def test_a_text_in_variation_selectors_is_taken_out_and_an_emoji_stays() -> None:
    assert one_line("I \u2764\ufe0f it, 1\ufe0f\u20e3") == "I \u2764\ufe0f it, 1\ufe0f\u20e3"
    assert (
        one_line("a" + "".join(chr(0xFE00 + nibble % 16) for nibble in range(40)) + "b")
        == "a\ufe00 b"
    )
    assert one_line("\ufe0f\ufe01a \ufe02b") == "a  b"


@given(st.text(st.sampled_from("a \n\x00\xa0\u2764\ufe00\ufe0f\u2062\U000e0101"), max_size=12))
def test_a_clean_line_is_not_cleaned_again(text: str) -> None:
    assert one_line(one_line(text)) == one_line(text)
