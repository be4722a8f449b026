"""Units of measurement in a person's words: which value of which unit is wanted in which other."""

from __future__ import annotations

import re
from dataclasses import dataclass

from functions.agent.model.offline_values import NUMBER, to_number
from functions.texts.en import Texts


@dataclass(frozen=True, slots=True)
class Conversion:
    """A value with its unit, and the unit that is wanted, both as the person wrote them; `words`
    are those that say all of it.
    """

    value: int | float
    unit: str
    wanted: str
    words: str


_SYMBOLS = {
    **dict.fromkeys(("kmh", "kph"), "km/h"),
    **dict.fromkeys(("sqm", "m²"), "m2"),
    **dict.fromkeys(("sqft", "ft²"), "ft2"),
    "km²": "km2",
    "cm²": "cm2",
    "m³": "m3",
    "mi/h": "mph",
    "ac": "acre",
    "mps": "m/s",
    "fps": "ft/s",
    "kt": "kn",
    "cc": "cm3",
    "ml": "mL",
    "l": "L",
    "lbs": "lb",
    "hr": "h",
    "sec": "s",
    "wk": "week",
    "mo": "month",
    "yr": "year",
    "°": "deg",
    "°k": "K",
    "°c": "C",
    "c": "C",
    "°f": "F",
    "f": "F",
    "k": "K",
    "um": "µm",
    "ug": "µg",
    "us": "µs",
}
"""Other short forms of the library's symbols, in lower case."""
_LETTERS = frozenset(
    """
    m km dm cm mm µm um nm in ft yd mi nmi au ly kg g mg µg ug t lb lbs oz st ct °c c °f f °k k l ml
    cl dl cc m3 cm3 in3 ft3 gal qt pt tbsp tsp bbl m2 km2 cm2 mm2 ha acre ac ft2 in2 yd2 mi2 m² km²
    cm² m³
    sqm sqft m/s mps km/h kmh kph mph ft/s fps kn kt km/s s sec ms µs us ns min h hr d wk mo yr b
    kb mb gb tb pb kib mib gib tib pib bit kbit mbit gbit tbit pa hpa kpa mpa bar mbar atm psi mmhg
    torr inhg j kj mj cal kcal wh kwh mwh btu ev w mw kw gw hp ps n kn lbf kgf dyn hz khz mhz ghz
    rpm km/l l/100km mpg deg ° rad mrad grad
    """.split()
)
_WORDS = frozenset(
    """
    meter metre kilometer kilometre decimeter decimetre centimeter centimetre millimeter millimetre
    micrometer micrometre micron nanometer inch inche foot feet yard mile nauticalmile lightyear
    kilogram kilogramme kilo gram gramme milligram microgram tonne metricton ton pound ounce stone
    carat celsius centigrade fahrenheit kelvin rankine degreescelsius degreesfahrenheit
    degreecelsius degreefahrenheit degc degf liter litre milliliter millilitre centiliter
    centilitre deciliter cubicmeter cubicmetre cubiccentimeter cubicinch cubicfoot cubicfeet gallon
    usgallon ukgallon imperialgallon quart pint cup fluidounce floz tablespoon teaspoon barrel
    squaremeter squaremetre squarekilometer squarekilometre squarefoot squarefeet squareinch
    squareyard squaremile hectare acre meterspersecond metrespersecond kilometersperhour
    kilometresperhour milesperhour feetpersecond knot second millisecond microsecond nanosecond
    minute hour day week fortnight month year decade century centurie byte kilobyte megabyte
    gigabyte terabyte petabyte kibibyte mebibyte gibibyte tebibyte kilobit megabit gigabit pascal
    hectopascal kilopascal megapascal millibar atmosphere joule kilojoule megajoule calorie
    kilocalorie watthour kilowatthour megawatthour electronvolt watt kilowatt megawatt gigawatt
    horsepower newton hertz kilohertz megahertz gigahertz milespergallon litersper100km
    litresper100km kilometersperliter degree radian milliradian arcminute arcsecond impgal ukpint
    """.split()
)
_CHINESE = (
    "平方公里|平方千米|平方米|平方厘米|平方英尺|平方英里|立方米|立方厘米|公里每小时|千米每小时|英里每小时|米每秒"
    "|摄氏度|华氏度|开尔文|公里|千米|厘米|毫米|微米|分米|英里|海里|英寸|英尺|光年|公尺|公斤|千克|毫克|盎司|市斤"
    "|毫升|公升|加仑|汤匙|公顷|英亩|小时|分钟|星期|个月|千焦|大卡|卡路里|千瓦时|千瓦|马力|字节|弧度|兆帕|千帕|米|码"
    "|克|吨|磅|斤|两|里|尺|寸|升|杯|亩|秒|天|周|年|度"
)
_UNIT = r"(?:°\s?[CFK]\b|[A-Za-zµ°][A-Za-zµ°/²³]*\d{0,3}[a-z]*)"
_UNITS = rf"{_UNIT}(?:\s{_UNIT}){{0,2}}"
_ENGLISH = (
    rf"({NUMBER})\s*({_UNITS}?)\s+(?:[a-z]+\s+)?(?:to|in|into|as)\s+(?:how many\s+)?({_UNITS})",
    rf"how many ({_UNITS}?)\s+(?:are|is|in|make|does|do|would|equals?)\s+(?:there\s+)?"
    r"(?:in\s+|be\s+)?"
    rf"({NUMBER})\s*({_UNITS})",
    rf"how many ({_UNITS}?)\s+(?:are|is|in|make)\s+(?:there\s+)?(?:in\s+)?(an?)\s+({_UNITS})",
    rf"({NUMBER})\s*({_UNITS}?)\s+(?:is|are|equals?|=)\s+(?:how many|how much in)\s+({_UNITS})",
    rf"({NUMBER})\s*({_UNITS}?)\s*(?:=|->|→)\s*\??\s*({_UNITS})",
)
_ASIAN = (
    rf"({NUMBER})\s*({_CHINESE}|{_UNIT})\s*(?:换算|换|转换|转|变|等于|是|合|有|折合|相当于|化|(?=多少))(?:成|为|算成)?"
    rf"\s*(?:多少|几)?\s*(?:个)?\s*({_CHINESE}|{_UNIT})"
)
_ASIAN_HEAT = rf"(华氏|摄氏)\s*({NUMBER})\s*度.*?(摄氏|华氏)"


_PARTS = {
    **dict.fromkeys((("ft", "in"), ("foot", "inch"), ("feet", "inches"), ("feet", "inch")), 12),
    **dict.fromkeys((("ft", "inches"), ("foot", "inches"), ("feet", "in"), ("foot", "in")), 12),
    **dict.fromkeys((("lb", "oz"), ("lbs", "oz"), ("pounds", "ounces")), 16),
    **dict.fromkeys((("st", "lb"), ("stone", "pounds")), 14),
    **dict.fromkeys((("h", "min"), ("hours", "minutes"), ("hour", "minutes")), 60),
    **dict.fromkeys((("m", "cm"), ("metres", "centimetres"), ("meters", "centimeters")), 100),
    **dict.fromkeys((("kg", "g"), ("km", "m")), 1_000),
}
"""How many of the second unit make one of the first, where people say a length in two."""
_TWO_UNITS = re.compile(
    r"(?<![\w.])(\d+)\s*([a-z]+)(?:,?\s+(?:and\s+)?|\s*)(\d+(?:\.\d+)?)\s*([a-z]+)"
    rf"\s+(?:to|in|into|as)\s+({_UNITS})",
    re.IGNORECASE,
)
_FEET_AND_INCHES = re.compile(
    rf"(?<![\w.])(\d+)\s*(?:ft|feet|foot|')\s?(\d{{1,2}}(?:\.\d+)?)(?:\"|'')?"
    rf"\s+(?:to|in|into|as)\s+({_UNITS})",
    re.IGNORECASE,
)
_AREA = re.compile(r"2|²|sq|acre|hect|\bha\b|qm", re.IGNORECASE)
_TO_UNIT = rf"{NUMBER}\s*{_UNITS}?\s+(?:to|in|into|as)\s+{_UNITS}"


def asks_twice(words: str) -> bool:
    """Return whether the words ask for more conversions than the one that would be answered."""
    both = re.search(rf"{_TO_UNIT}\s*(?:,|;|\band\b|\bund\b)\s*{_TO_UNIT}", words, re.IGNORECASE)
    return both is not None


def _find_two_units(found: re.Match[str]) -> Conversion | None:
    """Return the conversion of a value in two units, such as 6 ft 2 in; None where it is none."""
    parts = _PARTS.get((found[2].lower(), found[4].lower()))
    wanted = _find_unit(found[5])
    if parts is None or not wanted:
        return None
    return Conversion(int(found[1]) * parts + to_number(found[3]), found[4], wanted, found[0])


def find_conversion(words: str) -> Conversion | None:
    """Return the conversion of units that the words ask for; None when they ask for none."""
    feet = _FEET_AND_INCHES.search(words)
    if feet and _find_unit(feet[3]) and not _AREA.search(feet[3]):
        inches = int(feet[1]) * 12 + to_number(feet[2])
        return Conversion(inches, "in", _find_unit(feet[3]), feet[0])
    two = _TWO_UNITS.search(words)
    if two and _find_unit(two[2]) and _find_unit(two[4]):
        return _find_two_units(two)
    heat = re.search(_ASIAN_HEAT, words)
    if heat:
        return Conversion(to_number(heat[2]), f"{heat[1]}度", f"{heat[3]}度", heat[0])
    asian = re.search(_ASIAN, words)
    if asian:
        return Conversion(to_number(asian[1]), asian[2], asian[3], asian[0])
    for place, pattern in enumerate(_ENGLISH):
        for found in re.finditer(pattern, words, re.IGNORECASE):
            first, second, third = found.groups()
            if place in (1, 2):
                first, second, third = second, third, first
            unit = _find_unit(second)
            wanted = _find_unit(third)
            if unit and wanted:
                value = 1 if first.lower() in ("a", "an") else to_number(first)
                return Conversion(value, unit, wanted, found[0])
    return None


def say_unit(value: str, asked: str, symbol: str, texts: Texts) -> str:
    """Return a value with its unit as a word: the person's own where they used one.

    `asked` is what they wrote, `symbol` the library's, where it is known.
    """
    known = texts.unit_names
    if asked not in known and (not asked.isascii() or _is_word(asked)):
        return f"{value} {asked}"
    short = asked if asked in known else _SYMBOLS.get(asked.lower(), asked)
    names = known.get(symbol) or known.get(short) or symbol or asked
    one, _, more = names.partition("|")
    return f"{value} {one if value == '1' else more or one}"


def names_unit(words: str) -> bool:
    """Return whether words, all of them, name a unit."""
    return bool(words) and _find_unit(words) == words


def _is_word(asked: str) -> bool:
    """Return whether a unit is written out."""
    squeezed = "".join(asked.lower().split())
    return any(squeezed.removesuffix(end) in _WORDS for end in ("", "s", "es"))


def _find_unit(words: str) -> str:
    """Return the longest beginning of the words that names a unit; empty for none."""
    parts = words.split()
    for length in range(len(parts), 0, -1):
        squeezed = "".join(parts[:length])
        if squeezed.lower() in _LETTERS or _is_word(squeezed):
            return " ".join(parts[:length])
    return ""
