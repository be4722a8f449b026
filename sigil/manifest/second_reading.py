"""Reads a second time what a schema refuses: what else an argument, or the name of one, may mean.

A value of a list is named only where it is the only one that is meant.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import pairwise

from sigil.manifest.dates import list_dates
from sigil.manifest.units import name_unit
from sigil.protocol import Json

TEXT_CHARACTERS = 200
"""A longer text is not read a second time."""
ELEMENTS_MOST = 20
NAMES_MOST = 400
NAME_CHARACTERS = 60
_SAYS_NOTHING_ELSE = frozenset(
    "value values text string input argument arg number unit units currency name code list date"
    " timezone".split()
)
"""Words of a name that change nothing; `no`, `not`, `skip`, `exclude` or `reply` do."""
_MAY_BE_LEFT_OUT = frozenset("value text string input argument date list".split())
"""Words that a name may lack: `start` is `start_date`, but `price` is no `price_currency`."""
_SYNONYMS = {
    word: words.split()[0]
    for words in (
        "timezone tz zone",
        "query q search keywords",
        "url uri link href",
        "language lang locale",
        "latitude lat",
        "longitude lng lon long",
        "maximum max",
        "minimum min",
        "email mail",
        "telephone phone tel",
        "path file filename filepath",
        "folder directory dir",
        "expression expr formula equation",
        "percent percentage pct",
        "temperature temp",
        "quantity qty",
        "description desc",
        "message msg",
        "start begin",
        "end finish",
        "city town",
    )
    for word in words.split()
}
"""Words that name the same argument; the first of a line is the name of all."""
_JOINED = {("time", "zone"): "timezone", ("e", "mail"): "email", ("file", "path"): "path"}
_TURNS_AROUND = frozenset(
    "no not non never without exclude excluded excluding skip except ignore".split()
)
_JOINS_WORDS = frozenset(
    "a an and are as at by for from how in is it its many much of on or that the this to what when"
    " where whether which with".split()
)
"""Words that say nothing of what a property is."""
_WHY = frozenset(
    "reason reasoning rationale explanation thought thoughts thinking justification why".split()
)
"""Names under which models say why they make a call."""
_TAKES_WHY = frozenset(
    "note notes comment comments remark remarks message description details cause summary".split()
)
"""Names of properties in which that may belong."""
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
_CLAUSE = re.compile(r"\be\.g\b|\b(?:such as|for example)\b|[.,:;(]")
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
    unknown = [
        name
        for name, value in arguments.items()
        if name not in parts and value is not None and len(name) <= NAME_CHARACTERS
    ]
    if len(absent) * len(unknown) > NAMES_MOST:
        return {}
    meant = {given: [name for name in absent if _is_same_name(name, given)] for given in unknown}
    required = schema.get("required")
    needed = [name for name in absent if isinstance(required, list) and name in required]
    if len(unknown) == 1 and len(needed) == 1 and not meant[unknown[0]]:
        # what is called as it is described can only be what is still needed
        words = _words_of(unknown[0])
        described = _described_words(parts[needed[0]])
        if words and words <= described and not may_turn_around(unknown[0]):
            meant = {unknown[0]: needed}
    claimed = [name for names in meant.values() for name in names]
    return {
        given: names[0]
        for given, names in meant.items()
        if len(names) == 1 and claimed.count(names[0]) == 1
    }


def _is_switch(part: Json) -> bool:
    return not isinstance(part, dict) or "boolean" in str(part.get("type", "boolean"))


def _is_same_name(name: str, given: str) -> bool:
    """Return whether a given name is the property's in other words (`tz`), with words more or less
    that change nothing (`from_currency`), or with one letter more or less (`colour`).
    """
    if _list_words(name) == _list_words(given):
        return True
    own = _words_of(name)
    words = _words_of(given)
    if own < words:
        return words - own <= _SAYS_NOTHING_ELSE
    if words and words < own:
        return own - words <= _MAY_BE_LEFT_OUT
    short, long = sorted((name.casefold(), given.casefold()), key=len)
    if len(short) < 5 or len(long) != len(short) + 1 or short[0] != long[0]:
        return False
    return any(long[:place] + long[place + 1 :] == short for place in range(1, len(long)))


def is_related_name(name: str, part: Json, given: str) -> bool:
    """Return whether a given name shares a word with a property's name or its description."""
    words = _words_of(given)
    if may_turn_around(given):
        return False
    return not words.isdisjoint(_words_of(name) | _described_words(part))


def may_turn_around(given: str) -> bool:
    """Return whether a name says what is not meant."""
    return not _words_of(given).isdisjoint(_TURNS_AROUND)


def says_why(schema: Mapping[str, Json], given: str, value: Json) -> bool:
    """Return whether an argument of an unknown name only says why the call is made, and belongs
    in no other.
    """
    if not isinstance(value, str) or not given or not _words_of(given) <= _WHY:
        return False
    properties = schema.get("properties")
    parts = properties if isinstance(properties, dict) else {}
    is_closed = schema.get("additionalProperties") is False and "patternProperties" not in schema
    return is_closed and all(_words_of(name).isdisjoint(_WHY | _TAKES_WHY) for name in parts)


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
    if _ABBREVIATED.get(choice.casefold()) == folded:
        return True
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
    """Yield a text without spaces around it, in another case, without what groups its digits, with
    the sign that its pattern begins with, and as the date that it is.
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
    dates = list_dates(stripped) or ()
    if len(dates) == 1:
        yield dates[0]


def _words_of(name: str) -> frozenset[str]:
    return frozenset(_list_words(name))


def _list_words(name: str) -> list[str]:
    """Return the words of `from_currency`, `fromCurrency` or `From currency`, each by the name of
    its synonyms.
    """
    words = [word.casefold() for word in _NAME_WORD.findall(name)]
    for pair, joined in _JOINED.items():
        if pair in pairwise(words):
            words = [word for word in words if word not in pair]
            words.append(joined)
    return [_SYNONYMS.get(word, word) for word in words]


def read_clause(part: Json) -> str:
    """Return the first clause of a property's description, which says what it is, and shows no
    value that it may have.
    """
    description = part.get("description") if isinstance(part, dict) else None
    if not isinstance(description, str):
        return ""
    return _CLAUSE.split(description[:TEXT_CHARACTERS], maxsplit=1)[0].strip()


def _described_words(part: Json) -> frozenset[str]:
    return _words_of(read_clause(part)) - _JOINS_WORDS


def _stem(word: str) -> str:
    """Return what `decode`, `decoded` and `decoding` have in common."""
    for ending in ("ing", "ed", "er", "e"):
        if word.endswith(ending) and len(word) >= len(ending) + 3:
            return word.removesuffix(ending)
    return word
