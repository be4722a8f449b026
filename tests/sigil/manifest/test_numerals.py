"""Numbers as people write them, and texts that are made to keep a reader busy."""

from __future__ import annotations

from sigil.manifest.numerals import Numeral, read_numeral
from tests.tables import each_row


@each_row(
    ("text", "value", "unit"),
    [
        ("10,000", 10_000, ""),
        ("1,5", 1.5, ""),
        (" 6 % ", 6, "%"),
        ("26.2 miles", 26.2, "miles"),
        ("€ 1.234.567", 1_234_567, "€"),
        ("\u22123", -3, ""),
    ],
)
def test_a_number_is_read_with_its_unit(text: str, value: float, unit: str) -> None:
    assert read_numeral(text) == Numeral(value, unit)


@each_row(
    "text", ["", "seven", "1 2 3", "1e999", "9" * 30, "1" + " " * 100_000 + "x" * 40, "1," * 50_000]
)
def test_what_is_no_number_is_none_at_once(text: str) -> None:
    assert read_numeral(text) is None
