"""Reads sums that people ask for by name, such as a body mass index and the cost of fuel.

All words and numbers of a request have to be understood: a trip there and back, or a price that
three share, is another sum.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_DECIMAL: Final = r"(?<![\d.,])(\d{1,5}(?:[.,]\d{1,2})?)(?![.,]?\d)"
"""A number whose comma or point can only be the decimal mark."""
_LITRES: Final = r"(?:l|lit(?:re|er)s?|升)"
_MONEY: Final = r"(?:€|euros?|eur|\$|dollars?|usd|£|pounds?|元|块)"
_PER: Final = r"\s*(?:/|per|an?|each|pro|je|每|auf)\s*"
_HUNDRED: Final = r"100\s*(?:km|kilomet(?:re|er)s?|公里)"
_HEIGHTS: Final = (
    (re.compile(r"(?<![\d.,])([1-7])\s*(?:'|ft\b|feet|foot|ft(?=\d))\s*"
                r"(?:(1[01]|\d)\s*(?:''|\"|in(?:ch(?:es)?)?\b)?)?(?!\d)"),
     "({0} * 12 + {1}) * 0.0254"),
    (re.compile(r"(?<![\d.,])([12])\s*(?:m|米)\s*(\d\d)(?:\s*cm)?(?!\d)"), "({0} + {1} / 100)"),
    (re.compile(r"(?<![\d.,])([5-9]\d|[12]\d\d)\s*"
                r"(?:cm|centimet(?:re|er)s?|zentimeter|厘米|公分)"), "({0} / 100)"),
    (re.compile(r"(?<![\d.,])([012][.,]\d{1,2}|[12])\s*(?:m|met(?:re|er)s?|米)(?![a-z\d])"), "{0}"),
)  # fmt: skip
"""How a height is written, and how many metres that is."""
_WEIGHTS: Final = (
    (re.compile(rf"{_DECIMAL}\s*(?:kgs?|kilos?|kilograms?|kilogramm|公斤|千克)(?![a-z])"), "{0}"),
    (re.compile(rf"{_DECIMAL}\s*(?:lbs?|pounds?)(?![a-z])"), "{0} * 0.45359237"),
    (re.compile(rf"{_DECIMAL}\s*斤"), "{0} / 2"),
)
_BODY_WORDS: Final = re.compile(
    r"(?:(?<![a-zäöüß])(?:"
    r"bmi|body[- ]mass[- ]index|what(?:'s)?|is|are|my|the|an?|of|for|at|with|and|in|i|am|im"
    r"|i'm|have|person|someone|somebody|who|weighs?|weighing|weight|tall|height|please|calculate"
    r"|compute|work|out|tell|give|me|mein(?:en)?|de[rnm]|ein|berechne|rechne|aus|mir|wie|hoch|ist"
    r"|was|bei|und|mit|groß|gross|schwer|ich|bin|wiege|bitte|größe|gewicht|von|für)"
    r"(?![a-zäöüß])|[体重指数请帮我计算一下的身高是多少和\s,，、。.?？!:：;=])*",
    re.IGNORECASE,
)
"""What a request for a body mass index may have beside its height and its weight."""
_CONSUMPTION: Final = (
    (re.compile(rf"(?:油耗)?{_DECIMAL}\s*{_LITRES}{_PER}(?:{_HUNDRED}|百公里)", re.IGNORECASE),
     "{distance} / 100 * {0}"),
    (re.compile(rf"百公里(?:油耗)?\s*{_DECIMAL}\s*升"), "{distance} / 100 * {0}"),
    (re.compile(rf"{_DECIMAL}\s*km{_PER}{_LITRES}(?![a-z])", re.IGNORECASE), "{distance} / {0}"),
)  # fmt: skip
"""How much fuel a car takes, and how many litres that is for a distance in kilometres."""
_MPG: Final = re.compile(rf"{_DECIMAL}\s*(?:mpg|miles per gallon)\b", re.IGNORECASE)
_LITRE_PRICE: Final = re.compile(
    rf"(?:油价\s*)?{_MONEY}?\s*{_DECIMAL}\s*{_MONEY}?{_PER}{_LITRES}(?![a-z])"
    rf"|油价\s*{_DECIMAL}\s*{_MONEY}?",
    re.IGNORECASE,
)
_GALLON_PRICE: Final = re.compile(
    rf"{_MONEY}?\s*{_DECIMAL}\s*{_MONEY}?{_PER}gal(?:lon)?(?![a-z])", re.IGNORECASE
)
_KILOMETRES: Final = re.compile(
    rf"{_DECIMAL}\s*(?:km|kilomet(?:re|er)s?|公里|千米)(?![a-z/])", re.IGNORECASE
)
_MILES: Final = re.compile(rf"{_DECIMAL}\s*(?:miles?|mi)(?![a-z/])", re.IGNORECASE)
_FUEL_WORDS: Final = re.compile(
    r"(?:(?<![a-zäöüß])(?:"
    r"fuel|petrol|gas(?:oline)?|diesel|costs?|price|pay|what(?:'s)?|how|much|many|is|are|the"
    r"|an?|of|for|at|with|and|in|if|my|car|i|do|does|will|would|it|to|need|take|takes|use|uses"
    r"|using|trip|drive|driving|journey|consumption|per|litres?|liters?|total|please|calculate"
    r"|sprit(?:kosten|verbrauch)?|benzin(?:kosten)?|kostet|kosten|was|wie|viel|wieviel|liter|brauche"
    r"|brauch|ich|fahrt|strecke|eine[rn]?|bei|und|von|für|de[rnms]|die|das|auf|verbrauch|preis"
    r"|mit|mein(?:em)?|auto|berechne|bitte)"
    r"(?![a-zäöüß])|[油费钱汽耗价多少跑开要需花一共总的是升元\s,，、。.?？!:：;=])*",
    re.IGNORECASE,
)
"""What a request about fuel may have beside its numbers."""
_ASKS_AMOUNT: Final = re.compile(
    r"how (?:much|many) (?:fuel|petrol|gas(?:oline)?|diesel|litres?|liters?)"
    r"|wie ?viel (?:liter|sprit|benzin|diesel)|多少升|多少油(?!钱|费)",
    re.IGNORECASE,
)
_ASKS_COST: Final = re.compile(r"cost|price|pay|kost|钱|油费", re.IGNORECASE)


@dataclass(slots=True)
class _Rest:
    """What of a request was not read yet."""

    words: str

    def take(self, pattern: re.Pattern[str]) -> tuple[str, ...] | None:
        """Take what a pattern finds out of the words, and return its groups, `0` for an empty one;
        None where it finds nothing, or more than one.
        """
        found = [*pattern.finditer(self.words)]
        if len(found) != 1:
            return None
        self.words = f"{self.words[: found[0].start()]} {self.words[found[0].end() :]}"
        return tuple((group or "0").replace(",", ".") for group in found[0].groups())


def read_body_mass(words: str) -> str:
    """Return the sum for the body mass index of a weight and a height, empty where the words do not
    have one of both, or more than that.
    """
    rest = _Rest(words.lower().replace("’", "'").replace("”", '"'))
    height = _take_first(rest, _HEIGHTS)
    weight = _take_first(rest, _WEIGHTS)
    if not height or not weight or not _BODY_WORDS.fullmatch(rest.words):
        return ""
    return f"round({weight} / ({height})^2, 1)"


def _take_first(rest: _Rest, forms: tuple[tuple[re.Pattern[str], str], ...]) -> str:
    for pattern, form in forms:
        found = rest.take(pattern)
        if found:
            return form.format(*found)
    return ""


def read_fuel(words: str) -> str:
    """Return the sum for the cost of a trip's fuel, or for its litres, empty where the words do not
    have all numbers in units that go together, or have more than that.
    """
    rest = _Rest(words)
    sum_of_fuel = _take_fuel(rest)
    if not sum_of_fuel:
        return ""
    fuel, price_form = sum_of_fuel
    price = rest.take(price_form)
    if not _FUEL_WORDS.fullmatch(rest.words):
        return ""
    asks_amount = bool(_ASKS_AMOUNT.search(words))
    if price:
        amount = next((group for group in price if group != "0"), "0")
        return "" if asks_amount else f"round({fuel} * {amount}, 2)"
    is_about_cost = bool(_ASKS_COST.search(words))
    is_of_unit = price_form is _LITRE_PRICE or not re.search("lit(?:re|er)|升", words)
    return f"round({fuel}, 2)" if asks_amount and is_of_unit and not is_about_cost else ""


def _take_fuel(rest: _Rest) -> tuple[str, re.Pattern[str]] | None:
    """Return how much fuel a trip takes, and the form of a price that goes with it."""
    for pattern, form in _CONSUMPTION:
        used = rest.take(pattern)
        if used:
            distance = rest.take(_KILOMETRES)
            fuel = form.format(*used, distance=distance[0]) if distance else ""
            return (fuel, _LITRE_PRICE) if fuel else None
    used = rest.take(_MPG)
    miles = rest.take(_MILES) if used else None
    return (f"{miles[0]} / {used[0]}", _GALLON_PRICE) if used and miles else None
