"""Tells what of a request went into none of the arguments that were read from it.

A reader takes from the words what it knows, and would leave out the rest without a word. So what
changes an answer has to be found again in the call: each number, each quoted text and document,
each unit, and each word of an option. What is left makes the offline model ask instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import orjson

from functions.agent.model.offline_units import names_unit
from functions.agent.model.offline_values import (
    NUMBER,
    find_documents,
    find_quoted,
    read_chinese_numbers,
    refers_only,
    to_number,
)
from sigil.protocol import Json

_FREE_TEXT = frozenset(
    """
    recall search-history web-search read-page template-render regex-extract text-replace jwt-decode
    weather-now csv-convert html-to-text
    """.split()
)
"""Capabilities that take the request's own words, or that say of a text what it is."""
_NAMES = re.compile(
    r"(?<![a-z])(?:base|sha|crc|utf|md|iso|ean|isbn|iban|mp|rfc|adler|week|top|kw|bzip|x)"
    r"[- ]?\d+(?:-\d+)?(?!\d)"
    r"|/\s?100 ?km\b|auf 100 km\b|\b24[- ]h(?:our)?\b|百公里",
    re.IGNORECASE,
)
"""Names and units with a number that is no value."""
_FIGURE = re.compile(r"(?<![A-Za-z0-9_.])\d(?:[\d.,]*\d)?(?:[eE][-+]?\d+)?", re.ASCII)
"""A number, however its digits are grouped."""
_COUNTS = {
    word: count
    for count, words in enumerate(
        (
            "two zwei",
            "three drei",
            "four vier",
            "five fünf",
            "six sechs",
            "seven sieben",
            "eight acht",
            "nine neun",
            "ten zehn",
            "eleven elf",
            "twelve zwölf",
        ),
        2,
    )
    for word in words.split()
}
_COUNTED = re.compile(
    rf"(?<!the )(?<!these )(?<!those )(?<!between )(?<!next )\b({'|'.join(_COUNTS)})\b"
    r"(?! (?:numbers?|texts?|words?|strings?|dates?|lists?|versions?|sentences?|lines?|colou?rs?"
    r"|files?|points?|zahlen|texte|wörter|wörtern|daten|listen|versionen|zeilen|farben|dice|teams?)"
    r"\b)",
    re.IGNORECASE,
)
_CHINESE_COUNTED = re.compile(r"([二三四五六七八九两十百千万亿]+)(?=个?[人次位年月天元块倍折份])")
_OPTIONS = re.compile(
    r"\b(?:without|except|excluding|ignoring|instead|unless|ohne|außer|ausser|statt|sondern"
    r"|and then|then|afterwards|as well as|und dann|danach|anschließend"
    r"|round(?:ed|ing)?|gerundet|case[- ]insensitive"
    r"|(?:monthly|quarterly|weekly|daily|half[- ]yearly|semi-?annually)"
    r"(?! (?:payments?|installments?|instalments?|rate of a|rates? for|budget))"
    r"|(?:a|per|each|every|im|pro|je) (?:month|quarter|week|day|monat|quartal|woche|tag)"
    r"|(?:first|last|top|bottom|ersten|letzten) (?:two|three|four|five|zwei|drei|vier|\d+)"
    r"|(?:in|into|auf) (?:german|french|spanish|italian|russian|japanese|latin|deutsch|französisch"
    r"|spanisch)"
    r"|but not|aber nicht"
    r"|simple interest|einfache[nrm]? zins\w*)\b"
    r"|除了|而不是|然后|接着|并且|同时|四舍五入|取整|月利率|月息|日利率|季度利率|单利",
    re.IGNORECASE,
)
"""Words that change an answer, whatever capability it is from."""
_PERIODS = re.compile(
    r"month|monat|quart|week|woche|\bday|daily|\btag|annual|月|季|日", re.IGNORECASE
)
_ROUNDS = re.compile(r"round|gerundet|四舍五入|取整", re.IGNORECASE)
_KINDS_OF_DAYS = re.compile(
    r"work(?:ing)? ?days?|business days?|week ?ends?|werktagen?|arbeitstagen?|wochenenden?"
    r"|工作日|周末",
    re.IGNORECASE,
)
_LISTS = frozenset(("sort-list", "random-values"))
"""Capabilities that take the items of a list, in which words of an option would be lost."""
_WITH_UNIT = re.compile(
    rf"{NUMBER}\s*(kg|mg|g|t|lbs?|oz|km|cm|mm|m|miles?|mi|ft|feet|yards?|inch(?:es)?|ml|cl|l"
    r"|hours?|hrs?|h|minutes?|mins?|min|seconds?|s|°c|°f|公斤|克|千克|公里|厘米|毫米|米|小时|分钟|秒)"
    r"(?![\w²³/])",
    re.IGNORECASE,
)
_ONE_UNIT = frozenset(("statistics", "sort-list", "shape-area", "chart-svg", "matrix"))
"""Capabilities that know no units: their numbers have to be of one."""
_SENTENCE = re.compile(r"[.?!。？！]\s*\S+\s+\S+|[。？！]\s*\S{2,}")
_TAIL = re.compile(
    r"\b(?:in|as|to|als|into) (?:an? )?(?:hex(?:adecimal)?|base ?64|binary|upper ?case|lower ?case"
    r"|capital letters|capitals|groß(?:buchstaben)?|klein(?:buchstaben)?|utf-?(?:8|16)|latin-?1"
    r"|md5|sha-?\d+|(?:png|svg|red|blue|green|colou?r))\b"
    r"|\b(?:and|und) (?:also |auch )?(?:the |den |die )?(?:md5|sha-?\d+|crc-?\d+|base ?64|hex"
    r"|tell|say|then|dann|how|wie|what|was)\b"
    r"|\b(?:without|ohne) \S+$|\b\d+ ?(?:times|mal)\b|\d+ ?次"
    r"|(?:并|然后|再|和)(?:md5|sha|crc|告诉)",
    re.IGNORECASE,
)
"""What belongs to the request rather than to an unquoted text."""
_EXACT = frozenset(("hash", "crc-checksum", "encode", "qr-svg"))
"""Capabilities whose result is another one for each character of their text."""
_NAMED_OPTIONS: Mapping[str, str] = {
    "hash": r"(?<![a-z0-9])(md-?5|sha-?(?:1|224|256|384|512)|crc-?\d+|hmac)(?!\d)",
    "encode": r"(?<![a-z0-9])(base ?64(?: ?url)?|base ?32|hex(?:adecimal)?|url)(?![a-z0-9])",
    "crc-checksum": r"(?<![a-z0-9])(crc-?(?:8|16|24|32|64)|adler|md-?5|sha-?\d+)(?!\d)",
    "case-convert": r"\b(snake|camel|pascal|kebab|constant|title|sentence|upper|lower)[_ -]?case\b",
}
"""Of these a request may name one."""


def find_unread(words: str, capability: str, arguments: Mapping[str, Json]) -> str:
    """Return what of the words went into none of the arguments; empty where nothing is left."""
    if capability in _FREE_TEXT:
        return ""
    values = [*_list_values(arguments)]
    texts = sorted((each for each in values if isinstance(each, str)), key=len, reverse=True)
    held = orjson.dumps(arguments).decode()
    documents = find_documents(words)
    for document in documents:
        if document not in _list_documents(arguments):
            return orjson.dumps(document).decode()
    for quoted in find_quoted(words):
        if not any(_squeeze(quoted) in _squeeze(text) for text in (*texts, held)):
            return quoted
    if documents:
        return ""
    rest = words
    for text in texts:
        if text.strip() and not re.fullmatch(r"[\d.]", text):
            rest = rest.replace(text, " ", 1)
    return (
        _find_unread_option(words if capability in _LISTS else rest, capability, arguments)
        or _find_other_name(words, capability, arguments)
        or _find_unread_text(words, capability, texts)
        or _find_unread_number(rest, capability, values)
        or _find_other_unit(rest, capability)
    )


def find_unread_number(words: str, arguments: Mapping[str, Json]) -> str:
    """Return a number of the words that is in none of the arguments; empty for none."""
    values = [*_list_values(arguments)]
    rest = words
    for text in values:
        if isinstance(text, str) and len(text) > 1:
            rest = rest.replace(text, " ", 1)
    return _find_unread_number(rest, "", values)


def _find_unread_option(rest: str, capability: str, arguments: Mapping[str, Json]) -> str:
    """Return a word of an option that the arguments do not have."""
    if capability == "date-math" and arguments.keys() & {"until", "add", "subtract"}:
        days = _KINDS_OF_DAYS.search(rest)
        if days:
            return days[0]
    for found in _OPTIONS.finditer(rest):
        word = found[0]
        if _ROUNDS.search(word) and (
            "decimals" in arguments or capability in ("calculate", "number-format")
        ):
            continue
        if _PERIODS.search(word) and (
            arguments.keys() & {"per_year", "contribution", "payment", "months", "days", "cron"}
            or capability in ("cron-next", "date-math", "date-calendar")
        ):
            continue
        if re.match(r"then|dann", word, re.IGNORECASE) and capability.startswith("date-"):
            continue
        return word.strip()
    return ""


def _find_other_name(words: str, capability: str, arguments: Mapping[str, Json]) -> str:
    """Return the second name of an algorithm or a form where a request may have one."""
    pattern = _NAMED_OPTIONS.get(capability, "")
    if not pattern:
        return ""
    content = str(arguments.get("text") or arguments.get("data") or "")
    named: dict[str, str] = {}
    for found in re.finditer(pattern, words.replace(content, " ", 1), re.IGNORECASE):
        named.setdefault(re.sub(r"[-_ ]", "", found[1].lower()), found[0])
    return [*named.values()][-1] if len(named) > 1 else ""


def _find_unread_text(words: str, capability: str, texts: Sequence[str]) -> str:
    """Return a part of an unquoted text that rather belongs to the request."""
    if capability not in _EXACT or find_quoted(words) or re.search(r":\s|：|```", words):
        return ""
    for text in texts:
        if refers_only(text):
            return text
        found = _TAIL.search(text) or (_SENTENCE.search(text) if "://" not in text else None)
        if found:
            return found[0].strip(" .?!")
    return ""


def _find_unread_number(rest: str, capability: str, values: Sequence[Json]) -> str:
    """Return the first number that none of the values has or was made of."""
    # of a day that the words do not write, the time of day may be theirs
    values = [str(each)[10:] if _is_unsaid_day(each, rest) else each for each in values]
    known = set(_list_numbers(values))
    if capability == "loan-plan":
        known |= {round(number / 12, 9) for number in known}
    if capability == "shape-area":
        known |= {number * 2 for number in known}
    if capability == "time-zone":
        for hour in re.findall(r"T(\d\d):", " ".join(map(str, values))):
            known |= {float(hour) % 12, 12.0}
    if capability == "unit-convert":
        return ""  # its reader sees to that: what is said in two units is one number
    plain = _NAMES.sub(" ", _join_digits(rest, values))
    written = {_list_digits(each) for each in re.findall(_FIGURE, " ".join(map(str, values)))}
    for found in _FIGURE.finditer(plain):
        parts = re.findall(NUMBER, found[0], re.ASCII)
        if _list_digits(found[0]) not in written and any(
            abs(to_number(part)) not in known for part in parts
        ):
            return found[0]
    for found in _COUNTED.finditer(plain):
        if _COUNTS[found[1].lower()] not in known:
            return found[0]
    for found in _CHINESE_COUNTED.finditer(plain):
        if float(read_chinese_numbers(found[1]) or 0) not in known:
            return found[0]
    return ""


def _find_other_unit(rest: str, capability: str) -> str:
    if capability not in _ONE_UNIT:
        return ""
    wanted = re.search(r"\bin(?:to)? ([^\W\d_]+)\W*$", rest)
    if wanted and names_unit(wanted[1]):
        return wanted[0].strip(" .?!")
    units = [found[1].lower().rstrip("s") for found in _WITH_UNIT.finditer(rest)]
    return next((unit for unit in units[1:] if unit != units[0]), "")


def _join_digits(rest: str, values: Sequence[Json]) -> str:
    """Return the words without what the values have in another form: dates, and digits that are
    written with commas or in Chinese.
    """
    rest = re.sub(
        r"[\d.]*[零一二三四五六七八九十百千万亿]*[\d.]+[十百千万亿]+\d*", _read_match, rest
    )
    for value in values:
        if isinstance(value, str) and re.fullmatch(r"[\d,.\s-]{4,}", value):
            rest = rest.replace(value, " ")
    return rest


def _is_unsaid_day(value: Json, rest: str) -> bool:
    """Return whether a value is a day that the words do not write: today, or one with a name."""
    found = re.match(r"(\d{4})-\d\d-\d\d", value) if isinstance(value, str) else None
    return found is not None and found[1] not in rest


def _list_digits(figure: str) -> str:
    return re.sub(r"[.,]", "", figure)


def _read_match(found: re.Match[str]) -> str:
    return read_chinese_numbers(found[0])


def _list_values(value: Json) -> Iterator[Json]:
    """Yield the texts and numbers of a value, names of fields too."""
    if isinstance(value, Mapping):
        for key, each in value.items():
            yield key
            yield from _list_values(each)
    elif isinstance(value, list):
        for each in value:
            yield from _list_values(each)
    else:
        yield value


def _list_documents(value: Json) -> Iterator[Json]:
    """Yield a value and all that it holds; of a text also the JSON in it."""
    yield value
    if isinstance(value, Mapping):
        for each in value.values():
            yield from _list_documents(each)
    elif isinstance(value, list):
        for each in value:
            yield from _list_documents(each)
    elif isinstance(value, str):
        yield from find_documents(value)


def _list_numbers(values: Sequence[Json]) -> Iterator[float]:
    for value in values:
        if isinstance(value, bool):
            continue
        if isinstance(value, int | float):
            yield abs(float(value))
        elif isinstance(value, str):
            for digits in re.findall(r"\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", value, re.ASCII):
                yield float(digits)
            for digits in re.findall(r"\d+", value, re.ASCII):
                yield float(digits)
            for digits in re.findall(NUMBER, value, re.ASCII):
                yield abs(float(to_number(digits)))


def _squeeze(text: str) -> str:
    return "".join(text.split()).replace("\\", "")
