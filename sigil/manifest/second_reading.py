"""Reads a second time what a schema refuses: what else an argument, or the name of one, may mean.

A value of a list is named only where it is the only one that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sigil.manifest.units import name_unit
from sigil.protocol import Json

TEXT_CHARACTERS = 200
"""A longer text is not read a second time."""
ELEMENTS_MOST = 20
NAMES_MOST = 400
NAME_CHARACTERS = 60
_SAYS_NOTHING_ELSE = frozenset(
    "value values text string input argument arg number unit units currency name code list".split()
)
"""Words of a name that change nothing; `no`, `not`, `skip`, `exclude` or `reply` do."""
_SIGNS = {
    ",": "comma",
    ";": "semicolon",
    "\t": "tab",
    "\\t": "tab",
    "|": "pipe",
    ":": "colon",
    "_": "underscore",
    "-": "hyphen dash",
    ".": "dot period",
    " ": "space",
}
"""The names of the signs that stand between words or fields."""
_SAYS_WHAT_IT_IS = frozenset(
    "case format mode style type kind unit units chart encoding encoded".split()
)
"""Words that stand beside a value and only say what it is."""
_ABBREVIATED = {
    "hexadecimal": "hex",
    "decimal": "dec",
    "binary": "bin",
    "octal": "oct",
    "ascending": "asc",
    "descending": "desc",
    "average": "avg",
    "minimum": "min",
    "maximum": "max",
    "lowercase": "lower",
    "uppercase": "upper",
}
_CARDINALS = {
    word: number
    for number, word in enumerate(
        "zero one two three four five six seven eight nine ten eleven twelve".split()
    )
}
_ORDINALS = {
    word: number
    for number, word in enumerate(
        "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth".split(),
        1,
    )
}
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_BASES = {"binary": 2, "octal": 8, "decimal": 10, "hexadecimal": 16, "hex": 16}
_NAME_WORD = re.compile(r"[A-Z]?[^\W\dA-Z_]+|[A-Z]+(?![^\W\dA-Z_])|\d+")
_ORDINAL = re.compile(r"(\d{1,4})(?:st|nd|rd|th|\.|º|ª)")
_GROUPED = re.compile(r"\d{1,3}(?:[, '_’]\d{3})+")


def match_near_names(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, str]:
    """Return the absent property that an unknown argument's name means, where there is one.

    A switch is never meant: a word of a name can turn it around (`no_delete`).
    """
    properties = schema.get("properties")
    parts = properties if isinstance(properties, dict) else {}
    if schema.get("additionalProperties", False) is not False or "patternProperties" in schema:
        return {}
    absent = [
        name
        for name, part in parts.items()
        if name not in arguments and _words_of(name) and not _is_switch(part)
    ]
    unknown = [name for name in arguments if name not in parts and len(name) <= NAME_CHARACTERS]
    if len(absent) * len(unknown) > NAMES_MOST:
        return {}
    meant = {given: [name for name in absent if _is_same_name(name, given)] for given in unknown}
    claimed = [name for names in meant.values() for name in names]
    return {
        given: names[0]
        for given, names in meant.items()
        if len(names) == 1 and claimed.count(names[0]) == 1
    }


def _is_switch(part: Json) -> bool:
    return not isinstance(part, dict) or "boolean" in str(part.get("type", "boolean"))


def _is_same_name(name: str, given: str) -> bool:
    """Return whether a given name is the property's with words that change nothing
    (`from_currency`), or with one letter more or less (`colour`).
    """
    own = _words_of(name)
    words = _words_of(given)
    if own < words:
        return words - own <= _SAYS_NOTHING_ELSE
    short, long = sorted((name.casefold(), given.casefold()), key=len)
    if len(short) < 5 or len(long) != len(short) + 1 or short[0] != long[0]:
        return False
    return any(long[:place] + long[place + 1 :] == short for place in range(1, len(long)))


def list_readings(name: str, part: Mapping[str, Json], value: Json) -> list[Json]:
    """Return what else a value may mean where the property `name`, described by `part`, refuses
    it; the nearest first, each once, valid or not.
    """
    if isinstance(value, list):
        return _join_list(part, value)
    if not isinstance(value, str) or len(value) > TEXT_CHARACTERS:
        return []
    listed = part.get("enum")
    if isinstance(listed, list):
        choices = [choice for choice in listed if isinstance(choice, str)]
        meant = [choice for choice in choices if _is_choice(choice, value)]
        return list[Json](meant) if len(meant) == 1 else []
    described = f"{name} {part.get('description', '')}".casefold()
    types = part.get("type")
    if types == "integer":
        readings = _list_integers(described, value, from_zero=part.get("minimum") == 0)
    else:
        readings = _list_texts(part, value)
    return list(dict.fromkeys(reading for reading in readings if reading != value))


def _join_list(part: Mapping[str, Json], value: list[Json]) -> list[Json]:
    """Return the elements as the one text that is asked for, where its description shows several
    with commas between.
    """
    description = part.get("description")
    if part.get("type") != "string" or not isinstance(description, str):
        return []
    plain = all(isinstance(each, str | int | float) for each in value)
    if not plain or not 1 < len(value) <= ELEMENTS_MOST or not re.search(r"\w,\s?\w", description):
        return []
    separator = "," if re.search(r"[A-Z0-9],[A-Z0-9]", description) else ", "
    return [separator.join(str(each) for each in value)]


def _is_choice(choice: str, text: str) -> bool:
    """Return whether a text means this value of a list: as the same unit, as the name of that
    sign, in another form of the word, or beside words that only say what it is.
    """
    stripped = text.strip()
    folded = stripped.casefold()
    if name_unit(choice) == name_unit(stripped):
        return True
    for sign, named in ((text, choice), (stripped, choice), (choice, stripped)):
        if named.casefold() in _SIGNS.get(sign, "").split():
            return True
    own = _words_of(choice)
    if not own or not all(map(str.isalpha, own)):
        return False
    if _ABBREVIATED.get(folded) == choice.casefold() or _stem(folded) == _stem(choice.casefold()):
        return True
    words = _words_of(stripped)
    return own < words and words - own <= _SAYS_WHAT_IT_IS


def _list_integers(described: str, text: str, *, from_zero: bool) -> Iterator[Json]:
    """Yield the whole numbers that a text may say: `three`, `4th`, `/26`, a month, a base.

    Where one may count `from_zero`, the first is 0 or 1, and so no ordinal is read.
    """
    folded = text.strip().casefold()
    ordinal = _ORDINAL.fullmatch(folded)
    counts_from_zero = from_zero or re.search(r"\b(?:zero|0)[- ]?based|\bindex\b", described)
    if ordinal and not counts_from_zero:
        yield int(ordinal[1])
    if folded in _ORDINALS and not counts_from_zero:
        yield _ORDINALS[folded]
    if folded in _CARDINALS:
        yield _CARDINALS[folded]
    if folded[:1] == "/" and folded[1:].isascii() and folded[1:].isdecimal():
        yield int(folded[1:])
    if "month" in described and len(folded) > 2:
        yield from (
            number
            for number, month in enumerate(_MONTHS, 1)
            if month == folded or folded.rstrip(".") == month[:3]
        )
    if "base" in described and folded in _BASES:
        yield _BASES[folded]


def _list_texts(part: Mapping[str, Json], text: str) -> Iterator[Json]:
    """Yield a text without spaces around it, in another case, without what groups its digits, and
    with the sign that its pattern begins with.
    """
    pattern = part.get("pattern")
    if not isinstance(pattern, str) and "maxLength" not in part:
        return
    stripped = text.strip()
    yield from (stripped, stripped.lower(), stripped.upper())
    if _GROUPED.fullmatch(stripped):
        yield re.sub(r"\D", "", stripped)
    if isinstance(pattern, str) and pattern[:2] == "^#":
        yield f"#{stripped}"


def _words_of(name: str) -> frozenset[str]:
    """Return the words of `from_currency`, `fromCurrency` or `From currency`."""
    return frozenset(word.casefold() for word in _NAME_WORD.findall(name))


def _stem(word: str) -> str:
    """Return what `decode`, `decoded` and `decoding` have in common."""
    for ending in ("ing", "ed", "er", "e"):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            return word.removesuffix(ending)
    return word
