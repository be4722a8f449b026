"""Reads a number as people write it: with separators, a sign, and a unit beside it."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

LARGEST = 2**63
CHARACTERS = 100
"""A longer text is no number: the forms below are tried at each of its characters."""
_NUMERAL = re.compile(
    r"(?P<before>[^\d+.,-]{0,8}?)\s*(?P<digits>[+-]?[\d.][\d.,' _’]*(?:[eE][+-]?\d{1,3})?)"
    r"\s*(?P<after>[^\d]{0,32})"
)
_PER = re.compile(
    r"(?P<number>[^\s]*\d)\s*"
    r"(?P<unit>[^\W\d_]{1,20}\s?(?:/|\bper\b)\s?\d{0,4}\s?[^\W\d_]{1,20})"
)
"""A number with so much of one unit for each of another, as 6.2 l/100km."""
_PLAIN = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,3})?")
_DECIMAL_COMMA = re.compile(r"[+-]?(?:0,\d+|\d+,(?:\d{1,2}|\d{4,}))")
_GROUPED = (
    (re.compile(r"[+-]?\d{1,3}(?:,\d{3})+(?:\.\d+)?"), ",", "."),
    (re.compile(r"[+-]?\d{1,3}(?:[ '_’]\d{3})+(?:[.,]\d+)?"), " '_’", ","),
    (re.compile(r"[+-]?\d{1,3}(?:\.\d{3})+,\d+"), ".", ","),
    (re.compile(r"[+-]?\d{1,3}(?:\.\d{3}){2,}"), ".", ","),
)
"""How thousands are grouped: the form, the separators, and the decimal mark."""


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number and the unit beside it, empty when there is none."""

    value: int | float
    unit: str


def read_numeral(text: str) -> Numeral | None:
    """Return the number that a text is; None for any other text.

    A comma before three digits groups them, as in 10,000; before others it is a decimal comma.
    """
    if len(text) > CHARACTERS:
        return None
    plain = unicodedata.normalize("NFKC", text).replace("\u2212", "-").strip()
    rate = _PER.fullmatch(plain)
    if rate:
        alone = read_numeral(rate["number"])
        return Numeral(alone.value, rate["unit"]) if alone and not alone.unit else None
    found = _NUMERAL.fullmatch(plain)
    if not found:
        return None
    before = found["before"].strip()
    after = found["after"].strip()
    if before and after:
        return None
    digits = found["digits"].strip()
    if _DECIMAL_COMMA.fullmatch(digits):
        digits = digits.replace(",", ".")
    else:
        for form, separators, decimal in _GROUPED:
            if form.fullmatch(digits):
                digits = digits.translate({ord(separator): None for separator in separators})
                digits = digits.replace(decimal, ".")
                break
    if not _PLAIN.fullmatch(digits):
        return None
    is_whole = digits.lstrip("+-").isdigit()
    value = int(digits) if is_whole else float(digits)
    if abs(value) >= LARGEST:
        return None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return Numeral(value, before or after)
