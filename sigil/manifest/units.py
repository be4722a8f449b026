"""Decides whether a unit beside a number repeats what is known anyway.

"26.2 miles" means 26.2 where another argument says miles, or the property's own words do; where
nothing does, the unit may change the number's meaning.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

_SPELLINGS = """
km kilometer kilometre kilometers kilometres
m meter metre meters metres
cm centimeter centimetre centimeters centimetres
mm millimeter millimetre millimeters millimetres
mi mile miles
ft foot feet
in inch inches
yd yard yards
kg kilo kilos kilogram kilograms
g gram grams
lb lbs pound pounds
oz ounce ounces
l liter litre liters litres
ml milliliter millilitre milliliters millilitres
gal gallon gallons
h hr hrs hour hours
min mins minute minutes
s sec secs second seconds
d day days
w week weeks
month months mo
y yr yrs year years
°c c celsius centigrade °celsius degc
°f f fahrenheit °fahrenheit degf
k kelvin
° deg degree degrees
px pixel pixels
usd $ us$ dollar dollars
eur € euro euros
gbp £
jpy ¥ yen
inr ₹ rupee rupees
chf franc francs
cny rmb yuan
"""
_UNITS = {
    spelling: line.split()[0]
    for line in _SPELLINGS.strip().splitlines()
    for spelling in line.split()
}
_CURRENCIES = frozenset(("usd", "eur", "gbp", "jpy", "inr", "chf", "cny"))
_ALSO_WORDS = frozenset("in a as at am is to of or be on by no c d f g h k l m s w y".split())
"""Words and letters that say no unit within a sentence."""
_WORD = re.compile(r"[^\W\d_]+|[°$€£¥₹][^\W\d_]?")
_RATE_WORD = re.compile(r"[^\W\d_]+|\d+|/")
_PERCENT = re.compile(r"%|percent|per cent|prozent|百分", re.IGNORECASE)
_SHARE = re.compile(
    r"\b(?:share|fraction|ratio|probability|0 to 1|0 and 1|0-1|0–1)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class Mentions:
    """The places that may say a unit: the property's own words, the other arguments, and the words
    of all properties.
    """

    own: str
    values: Sequence[str]
    schema: Sequence[str]


def is_percent(text: str) -> bool:
    """Return whether a text speaks of percent."""
    return bool(_PERCENT.search(text))


def is_share(text: str) -> bool:
    """Return whether a text speaks of a part of one."""
    return bool(_SHARE.search(text))


def means_unit(unit: str, mentions: Mentions) -> bool:
    """Return whether the number means the same without this unit."""
    meant = name_unit(unit)
    if any(name_unit(value) == meant for value in mentions.values):
        return True
    words = [word for word in _WORD.findall(_fold(mentions.own)) if word not in _ALSO_WORDS]
    if any(name_unit(word) == meant for word in words):
        return True
    if _is_rate_of(unit, mentions.own):
        return True
    # money is what it is where no argument asks for its currency
    asks = any("currency" in text.casefold() for text in mentions.schema)
    return meant in _CURRENCIES and not asks


def _is_rate_of(unit: str, own: str) -> bool:
    """Return whether the property's own words say this amount for each of another: `l/100km` where
    it is called `litres_per_100km`.
    """
    rate = _list_rate_words(unit)
    words = _list_rate_words(own)
    if "per" not in rate:
        return False
    size = len(rate)
    return any(words[start : start + size] == rate for start in range(len(words) - size + 1))


def _list_rate_words(text: str) -> list[str]:
    return ["per" if word == "/" else name_unit(word) for word in _RATE_WORD.findall(_fold(text))]


def name_unit(text: str) -> str:
    """Return the one name of a unit that has several spellings."""
    folded = _fold(text)
    return _UNITS.get(folded, _UNITS.get(folded.removesuffix("s"), folded.removesuffix("s")))


def _fold(text: str) -> str:
    return unicodedata.normalize("NFC", text).strip().strip(".").casefold()
