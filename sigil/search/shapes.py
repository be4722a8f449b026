"""Shapes are what figures and payloads look like: two units of one quantity, a date, a color, an
address.

A request often says more by them than by its words: `180 C oven in Fahrenheit`. A document has the
shapes of its aliases and examples, so any capability can be found by them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

SUM: Final = "="
"""The term of a text with a sum in it, such as `17 * 23 + 4` or `15% of 80`; no word is spelt like
that, nor like the other shapes.
"""

# a minus or a slash between bare digits may be a date, a number of a book or of a telephone
_SUM: Final = re.compile(
    r"(?:(?<![\w.])[0-9][0-9.,]*|\))\s*"
    r"(?:[*×÷^+]|(?:%|percent|prozent|pour cent)\s*(?:of|von|de|的)?|\s[-/]\s"
    r"|\s?(?:times|minus|divided by|mal|hoch|geteilt durch|fois|puissance|divise par"
    r"|乘以?|除以|减去?|加上?)\s?)"
    r"\s*[-(]?[0-9]"
)
_PERCENT: Final = re.compile(r"[0-9]\s?(?:%|percent|per cent|prozent|pour ?cent)|百分之[0-9]")
_NUMBER: Final = re.compile(
    r"(?<![0-9a-z.,])[0-9][0-9.,]*+(?! ?(?:%|percent|per cent|prozent|pour ?cent))"
)
_TERM: Final = re.compile(
    r"years?\b|months?\b|monthly|yearly|mortgage|jahr(?:en?)?\b|monate?n?\b|monatlich"
    r"|\b(?:ans|annees?|mois)\b|年|个月|每月"
)
"""How long money is lent or saved: with a percent and a figure, a rate of interest."""
_MONTHS: Final = (
    "jan(?:uary|uar|vier)?|feb(?:ruary|ruar)?|f[ée]vr(?:ier)?|mar(?:ch|s)?|märz|apr(?:il)?|avril"
    "|ma[iy]|june?|juni|juin|july?|juli|juillet|aug(?:ust)?|août|sept?(?:ember|embre)?"
    "|o[ck]t(?:ober|obre)?|nov(?:ember|embre)?|de[cz](?:ember)?|d[ée]cembre"
)
_PAYLOADS: Final = {
    "=url": r"\bhttps?://\S+",
    "=token": r"\beyj[\w-]{6,}(?:\.[\w-]+)*",
    "=color": r"#(?:[0-9a-f]{6}|[0-9a-f]{3})\b",
    "=ip": r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d{1,2})?\b",
    "=escaped": r"(?:%[0-9a-f]{2}){2,}",
    "=isbn": r"\b97[89][- ]\d{1,5}[- ]\d{1,7}[- ]\d{1,7}[- ]\d\b",
    "=iban": r"\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,3})?\b",
    "=card": r"(?<![\w.,-])\d{4}(?:[ -]?\d{4}){2}[ -]?\d{1,7}x?\b",
    "=radix": r"\b0[xbo][0-9a-f]+\b",
    "=encoded": r"\b[a-z0-9+/]{6,}={1,2}(?!\w)",
    "=cron": r"(?<!\S)(?=[^\n]*\*)(?:[\d*/,-]+ ){4}[\d*/,a-z-]+(?!\S)",
    "=markup": r"</?[a-z][a-z0-9]*(?:\s[^<>]*)?>",
    "=template": r"\{\{.{1,40}?\}\}",
    "=rows": r"\[\s*\[",
    "=places": r"-?\b\d{1,3}\.\d+\s*,\s*-?\d{1,3}\.\d+",
    "=timestamp": r"(?<![\w.])1\d{9}(?:\d{3})?(?![\w.])",
    "=equation": r"\b\d*[a-z]\s*[-+]\s*\d*[a-z]\s*=\s*-?\d",
    "=date": (
        r"\b\d{4}-\d{1,2}-\d{1,2}\b|\b\d{1,2}\.\s?\d{1,2}\.\s?\d{4}\b|\d{4}\s?年\s?\d{1,2}\s?月"
        rf"|\b\d{{1,2}}(?:st|nd|rd|th|er|\.)?\s+(?:of\s+)?(?:{_MONTHS})\b"
        rf"|\b(?:{_MONTHS})\s+\d{{1,2}}(?:,?\s+\d{{4}}|st|nd|rd|th)\b"
    ),
    "=numbers": (
        r"(?<![\w.])-?\d+(?:\.\d+)?(?:\s*[,、，;]\s*-?\d+(?:\.\d+)?){3,}"
        r"|(?<![\w.])\d{1,3}(?:[.,]\d+)?(?: \d{1,3}(?:[.,]\d+)?){4,}(?![\w.])"
    ),
    "=pairs": (
        r"(?<![^\W\d_])(?:[^\W\d_]{2,}:? [$€£]?\d+(?:[.,]\d+)?\s?[€%]?(?: [^\W\d_]+)?"
        r"(?:[,;、，]\s*| and | und | et )){2,}[^\W\d_]{2,}:? [$€£]?\d"
    ),
    "=json": r"\{\s*\"[^\"\n]{1,60}\"\s*:",
    "=objects": r"\}[^{}\n\"]{0,30}[^\W\d_]{2}[^{}\n\"]{0,30}\{\s*\"",
}
"""Term → what it is. The words within are payload: they say little about what is wanted."""
_ROMAN: Final = re.compile(r"\b(?=[MDCLXVI]{4})M{0,3}(?:CM|CD|D?C{0,3})(?:XC|XL|L?X{0,3})[IVX]*\b")
_LENGTHS: Final = re.compile(
    r"[0-9]\s?(?:[cm]?m|met(?:er|re)[sn]?|[cz]entimet(?:er|re)[sn]?|feet|foot|ft|inch(?:es)?"
    r"|fuss|zoll|pieds|厘米|米)(?![a-z/²])"
)
"""Two of them are the sizes of something."""
_INTRODUCED: Final = re.compile(
    r"((?:[^\W\d_]+[^\w:：]+){2,30}[^\W\d_]+|[^:：]{2,80}?[\u4e00-\u9fff])"
    r"(?<![0-9])\s?(?:：|:\s)\s*\S+\s*\S",
    re.DOTALL,
)
"""What is asked for, before a colon and the text that it is asked of."""
_VERSIONS: Final = re.compile(
    r"\b(?:before|old|original|alt|vorher|avant|ancien(?:ne)?)\s?:.{1,800}"
    r"\b(?:after|new|now|neu|nachher|apres|nouveau|nouvelle)\s?:"
    r"|(?:原文|原来|旧版?|改前|修改前|之前)\s?[:：].{1,800}(?:现在|新版?|改后|修改后|之后)\s?[:：]",
    re.DOTALL,
)
_QUOTED: Final = re.compile('["“”„«「]([^"“”„«»「」\n]{1,400})["“”»」]')

_DAYS: Final = (
    "(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
    "|(?:mon|diens|donners|frei|sams|sonn)tags?|mittwochs?"
    "|lundis?|mardis?|mercredis?|jeudis?|vendredis?|samedis?|dimanches?"
)
_COUNT: Final = (
    r"(?:an?|half an?|one|two|three|five|ten|fifteen|twenty|thirty|forty|sixty|ninety|[0-9]{1,3}"
    "|einer|einem|zwei|drei|funf|zehn|zwanzig|dreissig|une?|deux|trois|cinq|dix|vingt|trente)"
)
_SOME_TIME: Final = {
    "=again": (
        r"\b(?:every|each)\s+(?:other\s+|single\s+|second\s+|[0-9]{1,2}\s+)?(?:minutes?|hours?|days?"
        rf"|mornings?|afternoons?|evenings?|nights?|weeks?|weekdays?|weekends?|{_DAYS})\b"
        r"|\bof (?:each|every) month\b|\b(?:daily|hourly|weekly|monthly) at\b|\bon weekdays\b"
        r"|\bjede[nrs]?\s+(?:zweiten?\s+)?(?:minute|stunde|tag|morgen|abend|nacht|woche|werktag"
        rf"|{_DAYS})\b|\btaglich um\b"
        r"|\b(?:chaque|tous les|toutes les)\s+(?:jours?|matins?|soirs?|semaines?|heures?|minutes?"
        rf"|{_DAYS})\b"
        r"|每(?:天|日|晚|早|逢|隔|个?工作日|个?周[一二三四五六日天末]|个?星期|个?小时|个?钟头|[0-9]{1,3}分钟)"
        "|每月[0-9一二三四五六七八九十]{1,3}[号日]"
    ),
    "=later": (
        rf"\b(?:in|dans) {_COUNT} (?:minutes?|minuten?|hours?|stunden?|heures?)\b"
        r"|\b(?:tomorrow|tonight|this (?:evening|afternoon|morning)|next \w+day|morgen|heute abend"
        rf"|demain|ce soir|{_DAYS})\b.{{0,30}}\b(?:at|um|a)\s+(?:[0-9]{{1,2}}\b|noon|midnight|six"
        r"|seven|eight|nine|ten|half|quarter|acht|neun|zehn|sieben|sechs|midi)"
        r"|\b(?:at|for|um) (?:half|quarter) (?:past|to)\b"
        r"|(?:分钟|小时|钟头|刻钟)(?:之后|以后|后)"
        r"|(?:明天|明早|明晚|后天|今晚|下周.|周[一二三四五六日天]|星期.)(?:早上|上午|中午|下午|晚上|傍晚)?"
        r"[0-9零一二三四五六七八九十两半]{1,3}点"
    ),
    "=file": (
        r"(?<![\w/.@-])[\w-]{1,40}\.(?:md|txt|docx?|pdf|csv|tsv|xlsx?|pptx?|json|ya?ml|html?|log|odt"
        r"|rtf)\b(?![\w/(])"
    ),
}
"""Term → a time to come, one that comes again, the name of a file. Their words stay what is asked
for: `every morning` is what somebody wants.
"""
# In the spelling of `normalize_spelling`, casefolded: without accents, and ss for ß.
_UNITS: Final = {
    "length": {
        "mm": "millimet(?:er|re)s?|mm|毫米",
        "cm": "[cz]entimet(?:er|re)[sn]?|cm|厘米|公分",
        "m": "(?<=[0-9] )m|met(?:er|re)[sn]?|(?<![厘毫千])米",
        "km": "[kc]ilomet(?:er|re)[sn]?|kms?|公里|千米",
        "mi": "miles?|meilen?|英里",
        "ft": "feet|foot|ft|fuss|pieds?|英尺",
        "in": "inch(?:es)?|zoll|pouces?|英寸",
        "yd": "yards?|yd|码",
        "nm": "nautical miles?|seemeilen?|海里",
    },
    "mass": {
        "g": "(?<=[0-9] )g|gramm?(?:e?s)?|(?<!千)克",
        "kg": "kilos?|[kc]ilogramm?(?:e?s)?|kgs?|公斤|千克",
        "lb": "pounds?|lbs?|pfund|livres?|磅",
        "oz": "ounces?|oz|unzen?|onces?|盎司",
        "st": "stones?",
        "t": "tons?|tonnes?|tonnen?|吨",
        "jin": "斤",
    },
    "temperature": {
        "c": "celsius|centigrade|°c|(?<=[0-9] )c|摄氏度?|℃",
        "f": "fahrenheit|°f|(?<=[0-9] )f|华氏度?|℉",
        "k": "kelvin|开尔文",
    },
    "volume": {
        "l": "lit(?:er|re)[sn]?|升",
        "ml": "millilit(?:er|re)[sn]?|ml|毫升",
        "cl": "[cz]entilit(?:er|re)[sn]?|[cd]l",
        "gal": "gallon(?:s|en?)?|加仑",
        "floz": "fluid ounces?|fl ?oz|onces?|ounces?|unzen",
        "cup": "cups?|tassen?|tasses?|杯",
        "pint": "pints?|品脱",
        "tbsp": "tablespoons?|tbsp|esslöffel",
        "tsp": "teaspoons?|tsp|teelöffel",
    },
    "speed": {
        "mph": "mph|miles per hour|英里每小时",
        "kmh": "km/h|kmh|kph|公里每小时|stundenkilometer",
        "kn": "knots?|knoten|节",
        "ms": "m/s|米每秒",
    },
    "data": {
        "b": "bytes?|字节",
        "kb": "ki?b|kilobytes?",
        "mb": "mi?b|megabytes?",
        "gb": "gi?b|gigabytes?",
        "tb": "ti?b|terabytes?",
    },
    "area": {
        "acre": "acres?|英亩",
        "ha": "hectares?|hektar|公顷",
        "m2": "square met(?:er|re)s?|quadratmeter|平方米|m2|m²|met(?:er|re)s? carres?",
        "ft2": "square f(?:ee|oo)t|sq ?ft|quadratfuss|pieds? carres?|平方英尺",
        "km2": "square [kc]ilomet(?:er|re)s?|quadratkilometer|km2|平方公里",
        "mu": "亩",
    },
    "power": {
        "kw": "kw|kilowatts?|千瓦",
        "hp": "hp|horsepower|ps|chevaux|cv|ch|马力",
    },
    "energy": {
        "j": "k?j|kilojoules?|joules?|千焦|焦耳",
        "cal": "k?cal|calories?|kilocalories?|kalorien?|kilokalorien?|卡路里|大卡|千卡",
        "kwh": "kwh|kilowattstunden?|kilowatt-?hours?|度电",
    },
    "pressure": {
        "bar": "bars?|巴",
        "psi": "psi",
        "pa": "k?pa|pascals?|hpa|帕",
        "atm": "atm|atmospheres?",
    },
    "money": {
        "usd": r"usd|dollars?|bucks?|us\$|\$|美元|美金|刀",
        "eur": "eur|euros?|€|欧元",
        "gbp": "gbp|pounds?|pfund|livres?|£|英镑",
        "jpy": "jpy|yens?|日元|日圆",
        "cny": "cny|rmb|yuan|人民币",
        "chf": "chf|francs?|franken|法郎",
        "inr": "inr|rupees?|rupien|卢比",
        "hkd": "hkd|港币|港元",
        "krw": "krw|won|韩元",
        "pln": "pln|zlot(?:y|ys|ych)|兹罗提",
        "crown": "sek|nok|dkk|czk|kronen|couronnes|kronor|kroner",
        "cad": "cad|加元",
        "aud": "aud|澳元",
        "try": "lira|lire",
        "thb": "thb|baht|泰铢",
    },
}


def _compile_units() -> dict[str, re.Pattern[str]]:
    """Return for each quantity what finds its units, each as a group of its own."""
    compiled = {}
    for quantity, units in _UNITS.items():
        groups = "|".join(f"(?P<{unit}>{words})" for unit, words in units.items())
        compiled[quantity] = re.compile(f"(?<![a-z])(?:{groups})(?![a-z])")
    return compiled


_QUANTITIES: Final = _compile_units()
_FIGURES_APART: Final = re.compile("(?<=[0-9])(?=[a-z°])")
_COMPILED: Final = {term: re.compile(shape) for term, shape in _PAYLOADS.items()}
_TIMES: Final = {term: re.compile(shape) for term, shape in _SOME_TIME.items()}
_HINTS: Final = re.compile(r"[0-9#<{\[=%]|https?:|eyj", re.IGNORECASE)
"""What every payload has something of: most texts are spared the rest."""


def has_sum(text: str) -> bool:
    """Return whether there is something to calculate in the text."""
    return _SUM.search(text) is not None


def find_shapes(text: str) -> set[str]:
    """Return the terms of the shapes that a text has; it is in one spelling, see `words`."""
    folded = text.casefold()
    found = set(find_units(folded))
    if has_sum(folded):
        found.add(SUM)
    if (":" in text or "：" in text) and _VERSIONS.search(folded):
        found.add("=versions")
    found.update(term for term, shape in _TIMES.items() if shape.search(folded))
    if _ROMAN.search(text):
        found.add("=roman")
    if _HINTS.search(text):
        found.update(term for term, shape in _COMPILED.items() if shape.search(folded))
        if len(_PERCENT.findall(folded)) == 1 and _NUMBER.search(folded):
            found.add("=rate" if _TERM.search(folded) else SUM)
        if len(_LENGTHS.findall(folded)) > 1:
            found.add("=sizes")
    return found


def find_units(folded: str) -> Iterator[str]:
    """Yield the term of each quantity of which a text has two units."""
    apart = _FIGURES_APART.sub(" ", folded)
    for quantity, pattern in _QUANTITIES.items():
        if len({match.lastgroup for match in pattern.finditer(apart)}) > 1:
            yield f"=2{quantity}" if quantity == "money" else "=2units"


def drop_payloads(text: str) -> str:
    """Return a text without its payloads and without what is quoted in it."""
    text = _ROMAN.sub(" ", _QUOTED.sub(" ", text))
    introduced = _INTRODUCED.match(text)
    if introduced:
        text = introduced[1]
    if _HINTS.search(text):
        for pattern in _CUT_OUT:
            text = pattern.sub(" ", text)
    return text


_CUT_OUT: Final = [
    re.compile(shape, re.IGNORECASE)
    for term, shape in _PAYLOADS.items()
    if term not in ("=equation", "=rows")
]
