"""How German speaks of times."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from functions.agent.schedules.phrase_part import (
    HOUR,
    MINUTE,
    NEXT,
    SAME,
    WEEKEND,
    WORKDAYS,
    ClockTime,
    Language,
    Part,
    Pattern,
    add_hours,
    place_in_part,
    sum_span,
)
from functions.time.time_zone import find_zone

_ONES: Final = (
    "null ein(?:s|e[nmrs]?)? zw(?:ei|o) drei vier f(?:ü|ue)nf sechs sieben acht neun zehn elf"
    " zw(?:ö|oe)lf dreizehn vierzehn f(?:ü|ue)nfzehn sechzehn siebzehn achtzehn neunzehn"
).split()
_TENS: Final = ("zwanzig", "drei(?:ß|ss)ig", "vierzig", "f(?:ü|ue)nfzig")
_TENS_WORD: Final = rf"(?:(?:{'|'.join(['ein', *_ONES[2:10]])})und)?(?:{'|'.join(_TENS)})"
_WORD: Final = rf"(?:{_TENS_WORD}|{'|'.join(sorted(_ONES, key=len, reverse=True))})"
_NUMBER: Final = rf"(?:\d{{1,4}}(?![\d:])|{_WORD}(?!\w))"
_HOUR: Final = rf"(?:\d{{1,3}}(?!\d)|eins|{'|'.join(_ONES[2:])}|{_TENS_WORD})(?!\w)"
_MINUTE_WORD: Final = rf"(?:zehn|f(?:ü|ue)nfzehn|(?:f(?:ü|ue)nfund)?(?:{'|'.join(_TENS)}))"
_ORDINALS: Final = (
    "erste zweite dritte vierte f(?:ü|ue)nfte sechste sieb(?:en)?te achte neunte zehnte elfte"
    " zw(?:ö|oe)lfte"
).split()
_ORDINAL: Final = rf"(?:\d{{1,2}}\.|(?:{'|'.join(_ORDINALS)})[nrsm]?\b)"
_DAYS: Final = ("sonntag", "montag", "dienstag", "mittwoch", "donnerstag", "freitag", "samstag")
_DAY: Final = rf"(?:{'|'.join(_DAYS)}|sonnabend)"
_MONTH_NAMES: Final = (
    "j(?:an|anuar|(?:ä|ae)nner) feb(?:ruar)? m(?:ä|ae)rz apr(?:il)? mai jun[io]? jul[iy]?"
    " aug(?:ust)? sept?(?:ember)? okt(?:ober)? nov(?:ember)? dez(?:ember)?"
).split()
_MONTH: Final = rf"(?:{'|'.join(_MONTH_NAMES)})\b\.?"
_UNIT: Final = (
    r"(?:sekunden?|sek|minuten?|min|stunden?|std|tage?n?|wochen?|monate?n?|jahre?n?|quartale?n?)"
    r"\b\.?"
)
_SPAN: Final = (
    rf"(?:(?:(?:eine|'?ne)[r]?\s+)?halben?\s+stunde|(?:(?:eine|'?ne)[r]?\s+)?(?:drei)?viertel\s?stunde"
    rf"|(?:anderthalb|(?:ein|zwei|drei|vier)(?:und)?einhalb)\s+(?:stunden?|std\b\.?)"
    rf"|\d{{1,3}},\d{{1,2}}\s*(?:stunden?|std\b\.?)"
    rf"|\d{{1,3}}\s?h(?:\s?\d{{1,2}}\s?(?:m(?:in)?)?)?\b"
    rf"|{_NUMBER}\s*{_UNIT}(?:(?:\s+und|\s*,)?\s+{_NUMBER}\s*{_UNIT})?)"
)
_PARTS: Final = {
    "frühmorgens": "morning",
    "morgens": "morning",
    "morgen": "morning",
    "früh": "morning",
    "vormittags": "morning",
    "vormittag": "morning",
    "mittags": "noon",
    "mittag": "noon",
    "nachmittags": "afternoon",
    "nachmittag": "afternoon",
    "abends": "evening",
    "abend": "evening",
    "nachts": "night",
    "nacht": "night",
}
_EARLY: Final = r"fr(?:ü|ue)h"
_PART: Final = rf"(?:vormittag|nachmittag|mittag|morgen|{_EARLY}|abend|nacht)"
_PART_ADVERB: Final = r"(?:fr(?:ü|ue)hmorgens|vormittags|nachmittags|mittags|morgens|abends|nachts)"
_BEHIND: Final = (
    rf"(?:\s+(?P<part>{_PART_ADVERB}|{_EARLY}\b|am\s+(?:fr(?:ü|ue)hen\s+|sp(?:ä|ae)ten\s+)?"
    rf"(?:vormittag|nachmittag|mittag|morgen|abend)|in\s+der\s+(?:{_EARLY}|nacht)))?(?!\w)"
)
_NO_CLOCK: Final = rf"(?!\s*(?:{_UNIT}|[:%$€]|euro\b|prozent\b|mal\b)|[.,]\d|\.\s*{_MONTH}|-)"
_CLOCK: Final = (
    rf"(?:(?P<spoken>mitternacht)\b"
    rf"|(?:(?P<amount>viertel|{_NUMBER}(?:\s+minuten)?)\s+(?P<way>vor|nach)\s+)?halb\s+"
    rf"(?P<hour1>{_HOUR})(?:\s+uhr\b)?"
    rf"|(?P<quarter>(?:drei\s?)?viertel)\s+(?P<hour2>{_HOUR})"
    rf"|(?P<amount2>viertel|{_NUMBER}(?:\s+minuten)?)\s+(?P<way2>vor|nach)\s+(?P<hour3>{_HOUR})"
    rf"(?:\s+uhr\b)?{_NO_CLOCK}"
    rf"|(?P<hour4>\d{{1,3}})(?::(?P<minute4>\d{{2}})(?!\d)(?:\s*uhr\b)?"
    rf"|\.(?P<minute5>\d{{2}})\s*uhr\b)"
    rf"|(?P<hour6>\d{{1,2}}(?=\s*uhr)|{_HOUR})\s*uhr(?=\b|\d)(?:\s*(?P<minute6>\d{{2}}(?!\d)|{_MINUTE_WORD}\b){_NO_CLOCK})?"
    rf"|(?:(?<=um )|(?<=gegen )|(?<=und )|(?<=, )(?=\d{{1,2}}(?:, \d{{1,2}})* und \d))"
    rf"(?P<hour7>{_HOUR}){_NO_CLOCK})"
    rf"{_BEHIND}"
)
_BARE_CLOCK: Final = re.sub(r"\?P<\w+>", "?:", _CLOCK)
_FIRST_CLOCK: Final = re.sub(r"\|\(\?<=und \)|\|\(\?<=, \)\(\?=.+? und \\d\)", "", _BARE_CLOCK)
"""A bare number is a time of day behind `um`, and behind `und` only where another one stands."""
_AND: Final = r"(?:\s*,\s*(?:und\s+)?|\s+und\s+|\s*&\s*)"
_SHORT_DAYS: Final = ("so", "mo", "di", "mi", "do", "fr", "sa")
_SHORT_DAY: Final = rf"(?:(?:{'|'.join(_SHORT_DAYS)})\b\.?)"
_SHORT_LIST: Final = (
    rf"(?:{_SHORT_DAY}|{_DAY})(?:(?:{_AND}|\s*[/+]\s*|\s+)(?:{_SHORT_DAY}|{_DAY}))+"
)
"""Days as a calendar writes them: Di und Do, Mo/Mi/Fr."""
_CLOCK_LIST: Final = re.compile(
    rf",?\s*(?:um\s+)?{_FIRST_CLOCK}(?:{_AND}(?:um\s+)?{_BARE_CLOCK})*", re.IGNORECASE
)
_FILLER: Final = re.compile(
    r"(?:bitte\s+)*(?:(?:kannst|k(?:ö|oe)nntest|w(?:ü|ue)rdest)\s+du\s+(?:mich|uns)(?:\s+bitte)?"
    r"|er+in+er[en]?\s+(?:mich|uns)(?:\s+bitte)?|erinnerung\b|(?:bitte\s+)(?=erinner))"
    r"(?:\s+(?:daran|dran)\b)?[,:]?(?:\s+(?:dass|ans?)\b)?",
    re.IGNORECASE,
)
_ASKED_BEHIND: Final = re.compile(
    r"(?:^|[\s,;.!-]+)(?:(?:und|dann)\s+)*"
    r"(?:(?:bitte\s+)?er+in+er[en]?\s+(?:mich|uns)(?:\s+(?:dran|daran|dann|noch ?mal))*"
    r"|bitte\s+(?:(?:mich|uns|dran|daran)\s+)*erinnern"
    r"|(?:sag|gib)(?:\s+mir)?(?:\s+dann)?\s+bescheid)(?:\s+bitte)?$",
    re.IGNORECASE,
)
_JOINING: Final = re.compile(r"(?:\s|,|;)*(?:(?:und|jeweils|dann|immer)\s+)?", re.IGNORECASE)
_UNTIL: Final = re.compile(
    r"(?:bis(?:\s+(?:zum|zur|einschlie(?:ß|ss)lich))?|ende:)\s+", re.IGNORECASE
)
_START: Final = re.compile(
    r"(?:ab(?:\s+de[mr])?|beginnend(?:\s+(?:am|mit|ab|mit\s+dem))?|beginn:"
    r"|(?P<pair>vo[nm](?:\s+dem)?))\s+",
    re.IGNORECASE,
)
_START_END: Final = re.compile(r"\s+an\b", re.IGNORECASE)
_NOTHING: Final = re.compile(r"(?!)")


def _is(pattern: str, word: str) -> bool:
    return bool(re.fullmatch(pattern, word, re.IGNORECASE))


def _find(patterns: Sequence[str], word: str) -> int:
    return next(index for index, each in enumerate(patterns) if _is(each, word))


def count(words: str) -> int:
    """Return a number that is written in words or digits."""
    word = words.lower().strip()
    if word.isdigit():
        return int(word)
    if any(_is(each, word) for each in _ONES):
        return _find(_ONES, word)
    ones, _, tens = word.rpartition("und")
    return 20 + 10 * _find(_TENS, tens) + (_find(_ONES, ones) if ones else 0)


def _read_ordinal(word: str) -> int:
    digits = re.match(r"\d+", word)
    return int(digits[0]) if digits else _find([rf"{each}[nrsm]?" for each in _ORDINALS], word) + 1


def read_weekday(word: str) -> int:
    """Return a day of the week, 0 for Sunday."""
    name = word.lower()
    return 6 if name.startswith("sonnabend") else _DAYS.index(name)


def _read_month(word: str) -> int:
    return _find(_MONTH_NAMES, word.rstrip(".")) + 1


def _read_part(words: str) -> str:
    """Return the part of the day that words such as `am späten Abend` mean."""
    word = words.lower().split()[-1].replace("ue", "ü")
    return _PARTS[word]


def read_span(words: str) -> tuple[float, int, int]:
    """Return a span as seconds, days and months: what is longer than hours goes by the calendar."""
    text = " ".join(words.lower().split())
    if re.search(r"viertel ?stunde", text):
        return (3 if "dreiviertel" in text else 1) * 15 * MINUTE, 0, 0
    if re.search(r"halben? stunde", text):
        return 30 * MINUTE, 0, 0
    halves = re.match(r"(anderthalb|(\w+?)(?:und)?einhalb)\b", text)
    if halves:
        return (1 if not halves[2] else count(halves[2])) * HOUR + 30 * MINUTE, 0, 0
    short = re.fullmatch(r"(\d+) ?h ?(?:(\d+) ?(?:m|min)?)?", text)
    if short:
        return int(short[1]) * HOUR + int(short[2] or 0) * MINUTE, 0, 0
    seconds, days, months = 0.0, 0, 0
    for number, unit in re.findall(rf"(\d+,\d+|{_NUMBER})\s*({_UNIT})", text):
        amount = float(number.replace(",", ".")) if "," in number else float(count(number))
        if unit.startswith(("mo", "j", "q")):
            months += round(amount * {"m": 1, "j": 12, "q": 3}[unit[0]])
        elif unit.startswith(("t", "w")):
            days += round(amount * (7 if unit.startswith("w") else 1))
        else:
            seconds += amount * (1.0 if unit[:2] == "se" else HOUR if unit[0] == "s" else MINUTE)
    return seconds, days, months


def _read_in(found: re.Match[str]) -> Part:
    seconds, days, months = read_span(found["span"])
    if seconds:
        return Part(span=seconds + days * 86_400)
    if months:
        return Part(months=months, daypart=SAME, words=found[0])
    if re.match(r"acht\s", found["span"], re.IGNORECASE):
        # “in acht Tagen” is what many say for a week
        return Part(days=7, daypart=SAME, other=Part(days=8, daypart=SAME))
    return Part(days=days, daypart=SAME, words=found[0])


_CLOCK_RE: Final = re.compile(_CLOCK, re.IGNORECASE)


def _read_amount(words: str) -> int:
    return 15 if words.lower() == "viertel" else count(words.split(maxsplit=1)[0])


def _read_clock(found: re.Match[str]) -> ClockTime:
    if found["spoken"]:
        return ClockTime(24, 0, True)
    minute, certain = 0, False
    if found["hour1"]:
        hour, minute = count(found["hour1"]) - 1, 30
        if found["amount"]:
            away = _read_amount(found["amount"])
            minute += away if found["way"].lower() == "nach" else -away
    elif found["hour2"]:
        hour = count(found["hour2"]) - 1
        minute = 45 if found["quarter"].lower().startswith("drei") else 15
    elif found["hour3"]:
        hour, minute = count(found["hour3"]), _read_amount(found["amount2"])
        if found["way2"].lower() == "vor":
            hour, minute = hour - 1, 60 - minute
    elif found["hour4"]:
        hour, minute = int(found["hour4"]), int(found["minute4"] or found["minute5"])
        # 6:30 Uhr is half past six in the morning; in the evening it is 18:30 Uhr
        certain = found["hour4"].startswith("0") or "uhr" in found[0].lower()
    elif found["hour6"]:
        hour = count(found["hour6"])
        minute = count(found["minute6"] or "0")
    else:
        hour = count(found["hour7"])
    if (found["hour1"] or found["hour2"] or found["hour3"]) and hour == 0:
        hour = 12
    if found["part"] and 1 <= hour <= 12:
        part = _read_part(found["part"])
        if part == "night" and hour < 6:
            part = "early"  # “um 3 Uhr nachts” is in the night before that day's morning
        hour, certain = place_in_part(hour, part), True
    digits = bool(found["minute4"])
    return ClockTime(hour, minute, certain or hour > 12 or hour == 0, digits)


def _read_clocks(found: re.Match[str]) -> Part | None:
    clocks = tuple(_read_clock(each) for each in _CLOCK_RE.finditer(found[0]))
    if not clocks:
        return None
    if any(not 0 <= each.hour <= 24 or not 0 <= each.minute <= 59 for each in clocks):
        return Part(fault="when_no_such_clock", words=found[0])
    return Part(clocks=clocks)


def _read_hours(found: re.Match[str]) -> Part | None:
    first, last = (int(re.split("[:.]", each)[0]) for each in (found["first"], found["last"]))
    return Part(hours=(first, last)) if first < last <= 24 else None


def _read_every_span(found: re.Match[str]) -> Part:
    seconds, days, months = read_span(found["span"])
    if seconds and not days and not months:
        return Part(every=seconds)
    if days and not seconds and not months:
        if days % 7 == 0 and "woche" in found["span"].lower():
            return Part(unit="week", step=days // 7)
        return Part(unit="day", step=days)
    if months and not seconds and not days:
        if months % 12 == 0:
            return Part(unit="year", step=months // 12)
        return Part(unit="month", step=months)
    return Part(fault="when_no_calendar", words=found[0])


def _read_step(word: str | None) -> int:
    if not word:
        return 1
    return 2 if word.lower().startswith("ander") else _read_ordinal(word)


_EVERY_UNIT: Final = {"tag": "day", "woche": "week", "monat": "month", "jahr": "year"}


def _read_every_unit(found: re.Match[str]) -> Part:
    step = _read_step(found["step"])
    unit = " ".join(found["unit"].lower().split())
    if unit == "sekunde":
        return Part(fault="when_too_often")
    if unit in ("minute", "stunde"):
        return Part(every=step * (MINUTE if unit == "minute" else HOUR))
    if unit == "halbe stunde":
        return Part(every=30 * MINUTE)
    if unit == "quartal":
        return Part(unit="month", step=3 * step)
    if unit in ("werktag", "arbeitstag", "wochentag"):
        return Part(unit="week", step=step, weekdays=WORKDAYS)
    if unit == "wochenende":
        return Part(unit="week", step=step, weekdays=WEEKEND)
    if unit in _EVERY_UNIT:
        return Part(unit=_EVERY_UNIT[unit], step=step)
    return Part(unit="day", step=step, daypart=_read_part(unit))


def _list_weekdays(words: str) -> tuple[int, ...]:
    return tuple(read_weekday(each) for each in re.findall(_DAY, words.lower()))


def _list_short_days(words: str) -> tuple[int, ...]:
    found = re.findall(rf"\b(?:{_DAY}|{'|'.join(_SHORT_DAYS)})\b", words.lower())
    return tuple(
        _SHORT_DAYS.index(each) if each in _SHORT_DAYS else read_weekday(each) for each in found
    )


def _read_short_day(found: re.Match[str]) -> Part:
    """Read `diesen Fr`, `nächste Woche Mi` and `jeden Di`."""
    which = found["which"].lower()
    day = _SHORT_DAYS.index(found["day"].lower())
    if which.startswith("jed"):
        return Part(unit="week", step=1, weekdays=(day,))
    if which.endswith("woche"):
        return Part(weekday=day, week=_read_which_week(which.split()[0]))
    return Part(weekday=day, week={"d": "this", "n": "next"}.get(which[0], ""))


def _read_shift(found: re.Match[str]) -> Part:
    """Read `2 Tage vor dem`, which leads to another day than the one that follows."""
    if found["span"]:
        days = read_span(found["span"])[1]
    else:
        days = 7 if found["unit"].lower().startswith("woche") else 1
    return Part(shift=-days if found["way"].lower() == "vor" else days)


def _read_bare_hours(found: re.Match[str]) -> Part | None:
    """Read `8 und 20 Uhr`: numbers before a time of day are such times as well."""
    last = _CLOCK_RE.search(found["last"])
    part = _read_clocks(last) if last else None
    return add_hours(found["first"], part) if part else None


def _read_every_weekdays(found: re.Match[str]) -> Part:
    part = found["part"]
    return Part(
        unit="week",
        step=_read_step(found["step"]),
        weekdays=_list_weekdays(found["days"]),
        daypart=_read_part(part) if part else "",
    )


def _read_habit(found: re.Match[str]) -> Part:
    """Read `montags und donnerstags` and `freitagabends`."""
    part = found["part"]
    return Part(
        unit="week",
        step=1,
        weekdays=_list_weekdays(found[0]),
        daypart=_read_part(part) if part else "",
    )


def _read_spread(found: re.Match[str]) -> Part:
    first, last = (
        _SHORT_DAYS.index(each.lower()) if len(each) == 2 else read_weekday(each)
        for each in (found["first"], found["last"])
    )
    days = tuple((first + index) % 7 for index in range((last - first) % 7 + 1))
    return Part(unit="week", step=1, weekdays=days)


def _read_which_week(words: str) -> str:
    """Return the week that `nächste Woche`, `diese Woche` and `übernächste Woche` mean."""
    return {"d": "this", "k": "after", "n": "after"}.get(words[0].lower(), "third")


def _read_weekday_once(found: re.Match[str]) -> Part:
    day = read_weekday(found["day"])
    which = (found["which"] or "").lower()
    part = _read_part(found["part"]) if found["part"] else ""
    if which.startswith(("übern", "uebern")):
        other = Part(weekday=day, week="third")
        return Part(weekday=day, weeks=1, daypart=part, other=other)
    if found["later"] and not found["week"]:
        return Part(weekday=day, weeks=1, daypart=part)
    week = {"d": "this", "n": "next"}.get(which[:1], "")
    if found["week"]:
        week = _read_which_week(found["week"])
    return Part(weekday=day, week=week, daypart=part)


def _read_week_day(found: re.Match[str]) -> Part:
    """Read `nächste Woche Freitag`."""
    return Part(
        weekday=read_weekday(found["day"]),
        week=_read_which_week(found["week"]),
        daypart=_read_part(found["part"]) if found["part"] else "",
    )


def _read_day_word(found: re.Match[str]) -> Part:
    days = {"h": 0, "m": 1}.get(found["word"][0].lower(), 2)
    part = found["part"]
    return Part(days=days, daypart=_read_part(part) if part else "")


def _read_day_later(found: re.Match[str]) -> Part:
    """Read `heute in einer Woche`."""
    days = {"h": 0, "m": 1}.get(found["word"][0].lower(), 2)
    weeks = 1 if found["later"].lower().startswith(("einer", "acht")) else 2
    return Part(days=days + 7 * weeks)


def _read_period(found: re.Match[str]) -> Part:
    unit = found["unit"].lower()
    step = 2 if re.search("(?:ü|ue)ber", found[0].lower()) else 1
    if unit.startswith("woche"):
        return Part(days=7 * step, period="week")
    if unit.startswith("monat"):
        return Part(months=step, period="month")
    return Part(months=12 * step, period="year")


def _read_times_a_day(found: re.Match[str]) -> Part:
    """Read `zweimal am Tag`, which says something where as many times of the day follow."""
    told = count(re.split(r"[\s-]?mal", found[0].lower())[0])
    behind = _CLOCK_LIST.match(found.string, found.end())
    clocks = _CLOCK_RE.findall(behind[0]) if behind else ()
    is_daily = re.search(r"tag|t(?:ä|ae)glich", found[0].lower())
    if is_daily and told and len(clocks) == told:
        return Part(unit="day", step=1)
    return Part(fault="when_which_times", words=found[0])


def _read_number_of_times(found: re.Match[str]) -> Part:
    """Read `dreimal`, which ends a repetition, and beside as many times of the day says again what
    these say.
    """
    lists = (_CLOCK_RE.findall(each[0]) for each in _CLOCK_LIST.finditer(found.string))
    number = count(found["count"])
    if number > 1 and number in map(len, lists) and not found["limit"]:
        return Part(weak=True)
    return Part(times=number, weak=not found["limit"])


def _read_last_day(found: re.Match[str]) -> Part:
    """Read `am letzten Tag dieses Monats` and `am letzten Tag im Dezember`, each once."""
    if found["month"]:
        month = _read_month(found["month"])
        return Part(date=(0, month, 0), period="month", closing=True, words=found[0])
    months = 1 if found["unit"].lower().startswith("monat") else 12
    later = "nächst" in found["next"].lower()
    period = "month" if months == 1 else "year"
    return Part(months=months if later else 0, period=period, closing=True)


def _read_date(found: re.Match[str]) -> Part:
    year = int(found["year"] or 0)
    return Part(
        date=(year, _read_month(found["month"]), _read_ordinal(found["day"])), words=found[0]
    )


def _make_date(day: str, month: str) -> Part:
    words = f"{day} {month}"
    return Part(date=(0, _read_month(month), _read_ordinal(day)), words=words)


def _read_dates(found: re.Match[str]) -> Part:
    dates = tuple(
        (0, _read_month(each["month"]), _read_ordinal(each["day"]))
        for each in _DATE_RE.finditer(found[0])
    )
    return Part(dates=dates, words=found[0])


def _read_digits(found: re.Match[str]) -> Part:
    year = int(found[3] or (found[4] if found.re.groups > 3 else 0) or 0)
    return Part(
        date=(year + 2000 if 0 < year < 100 else year, int(found[2]), int(found[1])),
        words=found[0],
    )


def _read_month_days(found: re.Match[str]) -> Part:
    if "tag" in found["days"].lower():
        return Part(unit="month", step=1, month_days=("L",))
    days = re.findall(_ORDINAL, found["days"], re.IGNORECASE)
    return Part(unit="month", step=1, month_days=tuple(str(_read_ordinal(each)) for each in days))


def _read_nth(found: re.Match[str]) -> Part:
    day = read_weekday(found["weekday"])
    word = found["nth"].lower()
    nth = f"{day}L" if word.startswith("letzt") else f"{day}#{_read_ordinal(word)}"
    return Part(unit="month", step=1, nth=nth)


_HOLIDAYS: Final = {
    "heiligabend": (12, 24),
    "heilig abend": (12, 24),
    "erster weihnachtstag": (12, 25),
    "ersten weihnachtstag": (12, 25),
    "1. weihnachtstag": (12, 25),
    "zweiter weihnachtstag": (12, 26),
    "zweiten weihnachtstag": (12, 26),
    "2. weihnachtstag": (12, 26),
    "nikolaus": (12, 6),
    "silvester": (12, 31),
    "neujahr": (1, 1),
    "valentinstag": (2, 14),
    "tag der arbeit": (5, 1),
    "tag der deutschen einheit": (10, 3),
}
"""Days that have the same date every year."""
_ADVERBS: Final = {
    "täglich": Part(unit="day", step=1),
    "stündlich": Part(every=HOUR),
    "wöchentlich": Part(unit="week", step=1),
    "monatlich": Part(unit="month", step=1),
    "vierteljährlich": Part(unit="month", step=3),
    "quartalsweise": Part(unit="month", step=3),
    "halbjährlich": Part(unit="month", step=6),
    "jährlich": Part(unit="year", step=1),
    "werktags": Part(unit="week", step=1, weekdays=WORKDAYS),
    "wochentags": Part(unit="week", step=1, weekdays=WORKDAYS),
}
_UMLAUTS: Final = {"ä": "(?:ä|ae)", "ö": "(?:ö|oe)", "ü": "(?:ü|ue)"}
_ADVERB: Final = "".join(_UMLAUTS.get(each, each) for each in "|".join(_ADVERBS))


def _read_adverb(found: re.Match[str]) -> Part:
    word = found[0].lower().replace("ae", "ä").replace("oe", "ö").replace("ue", "ü")
    return _ADVERBS[word]


def _read_end(found: re.Match[str]) -> Part:
    """Read `Ende Dezember` and `Ende des Jahres`."""
    unit = (found["unit"] or found.groupdict().get("unit2") or "").lower()
    if unit.startswith("monat"):
        return Part(months=0, period="month", closing=True)
    if unit.startswith("woche"):
        return Part(days=0, period="week", closing=True)
    if unit.startswith("jahr"):
        return Part(months=0, period="year", closing=True)
    return Part(date=(0, _read_month(unit), 0), period="month", closing=True)


def _read_zone(found: re.Match[str]) -> Part | None:
    zone = find_zone(found[1]) if found[1] else "Europe/Berlin"
    return Part(zone=zone, weak=True) if zone else None


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_DATE: Final = (
    rf"(?:(?:am|de[mnr]|zum)\s+)?(?P<day>{_ORDINAL})\s*(?P<month>{_MONTH})"
    r"(?:\s*(?P<year>20\d\d)(?!\d|:))?"
)
_DATE_RE: Final = _pattern(_DATE)
_BARE_DATE: Final = re.sub(r"\?P<\w+>", "?:", _DATE).replace(r"(?:\s*(?:20\d\d)(?!\d|:))?", "")
_EVERY: Final = r"(?:jede[nrsm]?|alle)"
_STEP: Final = rf"(?:(?P<step>andere[nrs]?|{_ORDINAL})\s+)?"
_OF_MONTH: Final = r"(?:(?:im|des|jede[ns]|eines(?:\s+jeden)?|in\s+jedem)\s+monat[es]{0,2}\b)"

_PATTERNS: Final[tuple[Pattern, ...]] = (
    (_pattern(rf"(?:in|nach)\s+(?:etwa\s+|ungef(?:ä|ae)hr\s+)?(?P<span>{_SPAN})"), _read_in),
    (
        _pattern(
            rf"(?:vor\s+{_SPAN}|(?:vor)?gestern|(?:letzte[nsr]?|vorige[nsr]?)\s+"
            rf"(?:nacht|woche|monat|jahr|{_DAY}))\b"
        ),
        lambda found: Part(fault="when_past", words=found[0]),
    ),
    (
        _pattern(
            rf"(?:(?P<span>{_NUMBER}\s*(?:tage?n?|wochen?))|(?:(?:am|de[mn]|einen?|eine)\s+)?(?P<unit>tag|woche))\s+"
            rf"(?P<way>vor|nach)\s+(?:de[mr]\s+)?(?=(?:{_BARE_DATE}|\d{{1,2}}\.\s?\d{{1,2}}\.|{_DAY}"
            rf"|(?:{'|'.join(map(re.escape, _HOLIDAYS))}|weihnachten)\b))"
        ),
        _read_shift,
    ),
    (
        _pattern(rf"(?:{_EVERY}\s+|immer\s+|(?:am|jeweils)\s+)?(?P<days>{_SHORT_LIST})"),
        lambda found: Part(unit="week", step=1, weekdays=_list_short_days(found["days"])),
    ),
    (
        _pattern(
            r"(?P<which>am|diesen|(?:n(?:ä|ae)chste|kommende)[nr]?|jeden|(?:in\s+)?(?:diese|n(?:ä|ae)chste|kommende)r?\s+woche)"
            r"\s+(?P<day>mo|di|mi|do|fr|sa|so)(?!\w|\s+(?:früh|spät)est)\.?"
        ),
        _read_short_day,
    ),
    (
        _pattern(
            r"(?P<day>mo|di|mi|do|fr|sa)\b\.?(?=,?\s+(?:um\s+)?"
            r"(?:\d{1,2}(?:[:.]\d\d)?\s*(?:uhr|h|[ap]m)\b|\d{1,2}[:.]\d\d))"
        ),
        lambda found: Part(weekday=_SHORT_DAYS.index(found["day"].lower())),
    ),
    (
        _pattern(
            rf"(?:um\s+)?(?P<first>\d{{1,2}}(?:\s*,\s*\d{{1,2}})*)\s+und\s+(?:um\s+)?(?P<last>{_BARE_CLOCK})"
        ),
        _read_bare_hours,
    ),
    (
        _pattern(r"um\s+(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)(?:\s*uhr)?\b"),
        lambda found: Part(clocks=(ClockTime(int(found["hour"]), int(found["minute"]), True),)),
    ),
    (
        _pattern(r"(?:(?:am|jeden|immer\s+am)\s+)monatsletzten\b"),
        lambda found: (
            Part(unit="month", step=1, month_days=("L",))
            if "jeden" in found[0].lower() or "immer" in found[0].lower()
            else Part(months=0, period="month", closing=True)
        ),
    ),
    (
        _pattern(rf"{_SPAN}\s+(?:vor|nach)\b"),
        lambda found: Part(fault="when_no_time", words=found[0]),
    ),
    (
        _pattern(rf"(?:(?:um|gegen|so\s+um)\s+)?{_FIRST_CLOCK}(?:{_AND}(?:um\s+)?{_BARE_CLOCK})*"),
        _read_clocks,
    ),
    (
        _pattern(
            r"(?:zwischen|von)\s+(?P<first>\d{1,2}(?:[:.]00)?)(?:\s*uhr)?\s+(?:und|bis)\s+"
            r"(?P<last>\d{1,2}(?:[:.]00)?)(?:\s*uhr\b|(?![\d:.]))"
        ),
        _read_hours,
    ),
    (
        _pattern(
            rf"(?:am\s+(?:fr(?:ü|ue)hen\s+|sp(?:ä|ae)ten\s+)?(?:vormittag|nachmittag|mittag|morgen"
            rf"|abend)|in\s+der\s+(?:{_EARLY}|nacht)|{_PART_ADVERB})\b"
        ),
        lambda found: Part(daypart=_read_part(found[0])),
    ),
    (
        _pattern(
            r"(?<!guten )(?P<word>heute?|morgen|(?:ü|ue)bermorgen)"
            rf"(?:\s+(?P<part>{_PART}|{_PART_ADVERB}))?\b"
        ),
        _read_day_word,
    ),
    (
        _pattern(
            r"(?:(?:am|im)\s+)?(?:(?:ü|ue)ber)?(?:n(?:ä|ae)chste|kommende)[nrs]?\s+"
            r"(?P<unit>woche|monats?|jahr(?:es)?)\b"
        ),
        _read_period,
    ),
    (
        _pattern(
            rf"(?:(?:am|bis)\s+)?(?:(?P<which>diese[nm]?|(?:(?:ü|ue)ber)?n(?:ä|ae)chste[nmr]?"
            rf"|kommende[nmr]?)\s+)?(?P<day>{_DAY})(?:\s?(?P<part>{_PART}))?\b"
            rf"(?:\s+(?P<week>(?:diese|(?:(?:ü|ue)ber)?n(?:ä|ae)chste|kommende)r?)\s+woche\b)?"
            r"(?P<later>\s+in\s+(?:einer\s+woche|acht\s+tagen)\b)?"
        ),
        _read_weekday_once,
    ),
    (
        _pattern(
            rf"(?:in\s+)?(?P<week>(?:diese|(?:(?:ü|ue)ber)?n(?:ä|ae)chste|kommende)r?)\s+woche"
            rf",?\s+(?:am\s+)?(?P<day>{_DAY})(?:\s?(?P<part>{_PART}))?\b"
        ),
        _read_week_day,
    ),
    (
        _pattern(
            r"(?P<which>am|dieses|kommendes|(?:ü|ue)bers|n(?:ä|ae)chstes|am\s+n(?:ä|ae)chsten"
            r"|am\s+kommenden)\s+wochenende\b"
        ),
        lambda found: Part(
            weekday=6,
            week="next" if "chste" in found["which"] else "",
            other=None if "chste" in found["which"] else Part(weekday=0),
        ),
    ),
    (_pattern(_DATE), _read_date),
    (
        _pattern(r"(?:am|bis|ab|vom)\s+(\d{1,2})\.(\d{1,2})(?![\d.:])(?!\s*uhr)()"),
        _read_digits,
    ),
    (
        _pattern(
            rf"n(?:ä|ae)chsten\s+monat,?\s+am\s+(?P<day>{_ORDINAL})(?!\d|\s*{_MONTH}|\s?\d{{1,2}}\.)"
        ),
        lambda found: Part(date=(0, NEXT, _read_ordinal(found["day"])), words=found[0]),
    ),
    (
        _pattern(
            rf"jeden\s+(?P<days>\d{{1,2}}\.(?:{_AND}\d{{1,2}}\.)*)"
            rf"(?!\d|\s*(?:{_MONTH}|{_DAY}|{_UNIT}|werktag|arbeitstag))"
        ),
        _read_month_days,
    ),
    (
        _pattern(rf"im\s+(?P<months>{_MONTH}(?:{_AND}(?:im\s+)?{_MONTH})*)(?!\s*\d)"),
        lambda found: Part(
            in_months=tuple(map(_read_month, re.findall(_MONTH, found["months"], re.IGNORECASE))),
            weak=True,
        ),
    ),
    (
        _pattern(r"um\s+(?:die\s+gleiche|dieselbe|die\s+selbe)\s+(?:uhr)?zeit\b"),
        lambda _: Part(daypart=SAME, weak=True),
    ),
    (
        _pattern(
            rf"(?:(?:in|nach|innerhalb\s+von)\s+{_NUMBER}|(?:am\s+)?n(?:ä|ae)chsten)"
            r"\s+(?:werk|arbeits)tag(?:en)?\b"
        ),
        lambda _: Part(fault="when_no_workdays"),
    ),
    (
        _pattern(r"(?:am|jeden)\s+(?:ersten|letzten|\d\.)\s+(?:werktag|arbeitstag)\b"),
        lambda found: Part(fault="when_no_calendar", words=found[0]),
    ),
    (
        _pattern(r"(?:am\s+)?ende\s+(?:des\s+)?n(?:ä|ae)chsten\s+(?P<unit>monats|jahres)\b"),
        lambda found: Part(
            months=1 if found["unit"].lower() == "monats" else 12,
            period="month" if found["unit"].lower() == "monats" else "year",
            closing=True,
        ),
    ),
    (
        _pattern(rf"jede[nrs]?\s+(?=(?:{'|'.join(map(re.escape, _HOLIDAYS))})\b)"),
        lambda _: Part(unit="year", step=1),
    ),
    (
        _pattern(
            r"vom\s+(\d{1,2})\.\s?(\d{1,2})\.?\s+bis\s+(?:zum\s+)?(\d{1,2})\.\s?(\d{1,2})\.?(?!\d)"
        ),
        lambda found: Part(
            start=Part(date=(0, int(found[2]), int(found[1])), words=found[0]),
            until=Part(date=(0, int(found[4]), int(found[3])), words=found[0]),
        ),
    ),
    (
        _pattern(
            rf"im\s+(?P<months>{_MONTH}(?:{_AND}(?:im\s+)?{_MONTH})*)\s+"
            rf"(?={_EVERY}\s|(?:{_ADVERB})\b|{_DAY}s)"
        ),
        lambda found: Part(
            in_months=tuple(map(_read_month, re.findall(_MONTH, found["months"], re.IGNORECASE)))
        ),
    ),
    (
        _pattern(
            rf"(?:jeden\s+)(?P<nth>(?:erste|zweite|dritte|vierte|letzte)n|[1-4]\.)\s+"
            rf"(?P<weekday>{_DAY})\s+(?=im\s+{_MONTH})"
        ),
        _read_nth,
    ),
    (
        _pattern(
            rf"(?:jeden\s+monat|monatlich)\s+(?:immer\s+)?am\s+"
            rf"(?P<nth>(?:erste|zweite|dritte|vierte|letzte)n|[1-4]\.)\s+(?P<weekday>{_DAY})"
        ),
        _read_nth,
    ),
    (
        _pattern(
            rf"(?:am\s+|zum\s+)?(?:(?P<unit>monats|jahres)ende"
            rf"|ende\s+(?:des\s+|dieses\s+)?(?P<unit2>monats|jahres|{_MONTH}))\b"
        ),
        _read_end,
    ),
    (
        _pattern(
            r"(?P<word>heute|morgen|(?:ü|ue)bermorgen)\s+in\s+"
            r"(?P<later>einer\s+woche|acht\s+tagen|zwei\s+wochen|(?:vierzehn|14)\s+tagen)"
        ),
        _read_day_later,
    ),
    (
        _pattern(
            rf"vom\s+(?P<first>{_ORDINAL})\s*(?P<month1>{_MONTH})?\s*bis\s+(?:zum\s+)?"
            rf"(?P<last>{_ORDINAL})\s*(?P<month>{_MONTH})"
        ),
        lambda found: Part(
            start=_make_date(found["first"], found["month1"] or found["month"]),
            until=_make_date(found["last"], found["month"]),
        ),
    ),
    (_pattern(rf"{_BARE_DATE}(?:{_AND}{_BARE_DATE})+"), _read_dates),
    (
        _pattern(
            r"(?:(?:am|de[mnr]|zum)\s+)?(\d{1,2})\.\s?(\d{1,2})\.(?:(?:\s?(20\d\d)|(\d\d))(?![\d:.]|\s*uhr))?(?!\d)"
        ),
        _read_digits,
    ),
    (
        _pattern(
            rf"(?:am|zum|de[mn])\s+(?P<day>{_ORDINAL})(?!\d|\s*{_MONTH}|\s?\d{{1,2}}\.)"
            r"(?P<next>\s+(?:des\s+)?n(?:ä|ae)chsten\s+monats)?"
        ),
        lambda found: Part(
            date=(0, NEXT if found["next"] else 0, _read_ordinal(found["day"])), words=found[0]
        ),
    ),
    (
        _pattern(
            rf"{_EVERY}\s+{_STEP}(?P<unit>sekunde|minute|halbe\s+stunde|stunde|tag|woche|monat|jahr|quartal"
            rf"|{_PART}|werktag|arbeitstag|wochentag|wochenende)\b"
        ),
        _read_every_unit,
    ),
    (_pattern(rf"(?:alle|jeweils\s+nach)\s+(?P<span>{_SPAN})"), _read_every_span),
    (
        _pattern(
            rf"{_EVERY}\s+{_STEP}(?P<days>{_DAY}(?:{_AND}(?:jede[nrsm]?\s+)?{_DAY})*)"
            rf"(?:\s?(?P<part>{_PART}))?\b"
        ),
        _read_every_weekdays,
    ),
    (
        _pattern(
            rf"(?:immer\s+)?{_DAY}(?:s|(?P<part>vormittag|nachmittag|mittag|morgen|abend|nacht)s)"
            rf"(?:{_AND}{_DAY}s)*\b"
        ),
        _read_habit,
    ),
    (
        _pattern(
            rf"{_EVERY}\s+(?={_MONTH}|{_ORDINAL}\s*{_MONTH})(?!{_MONTH}\s*(?:{_AND}|\b(?!\s*\d)))"
        ),
        lambda _: Part(unit="year", step=1),
    ),
    (
        _pattern(rf"(?:{_EVERY}|immer\s+im)\s+(?P<months>{_MONTH}(?:{_AND}(?:im\s+)?{_MONTH})*)"),
        lambda found: Part(
            unit="year",
            step=1,
            in_months=tuple(map(_read_month, re.findall(_MONTH, found["months"], re.IGNORECASE))),
        ),
    ),
    (_pattern(rf"(?:{_ADVERB})\b"), _read_adverb),
    (
        _pattern(r"(?:an\s+wochenenden|wochenends)\b"),
        lambda _: Part(unit="week", step=1, weekdays=WEEKEND),
    ),
    (
        _pattern(
            rf"(?:(?:jeden|von|immer)\s+)?(?P<first>{_DAY}|(?:mo|di|mi|do|fr|sa|so)(?=\s*[-–]))s?"
            rf"(?:\s+bis\s+|\s*[-–]\s*)(?P<last>{_DAY}|(?:mo|di|mi|do|fr|sa|so)(?!\w))s?\b"
        ),
        _read_spread,
    ),
    (
        _pattern(rf"(?:(?:an|am|zu)\s+)?(?P<name>{'|'.join(map(re.escape, _HOLIDAYS))})\b"),
        lambda found: Part(date=(0, *_HOLIDAYS[found["name"].lower()]), words=found[0]),
    ),
    (
        _pattern(r"(?:(?:an|zu)\s+)?weihnachten\b"),
        lambda found: Part(
            date=(0, 12, 24), words=found[0], other=Part(date=(0, 12, 25), words=found[0])
        ),
    ),
    (
        _pattern(r"einmal\s+(?:am|im|pro|die|in\s+der)\s+(?P<unit>tag|woche|monat|jahr)\b"),
        lambda found: Part(unit=_EVERY_UNIT[found["unit"].lower()], step=1),
    ),
    (
        _pattern(
            rf"(?:{_WORD}[\s-]?|\d{{1,3}}[\s-]?)mal\s+(?:(?:am|im|pro|die|in\s+der)\s+(?:tag|woche|monat|jahr)"
            r"|t(?:ä|ae)glich|w(?:ö|oe)chentlich)\b"
        ),
        lambda found: None if found[0].lower().startswith("einmal") else _read_times_a_day(found),
    ),
    (
        _pattern(rf"(?P<count>{_NUMBER})\s+wochen?\s+(?:nach|ab)\s+(?P<day>{_DAY})"),
        lambda found: Part(weekday=read_weekday(found["day"]), weeks=count(found["count"])),
    ),
    (
        _pattern(
            rf"(?:alle\s+(?P<count>{_NUMBER})\s+monate|vierteljährlich|jedes\s+quartal),?\s+am\s+letzten\s+tag\b"
            r"(?!\s+(?:de[rs]|vor|in)\b)"
        ),
        lambda found: Part(
            unit="month", step=count(found["count"]) if found["count"] else 3, month_days=("L",)
        ),
    ),
    (
        _pattern(
            rf"(?:am\s+)?letzten\s+tag\s+(?:(?P<next>nächsten|dieses|des\s+nächsten|des|im)\s+(?P<unit>monat(?:s|es)?|jahr(?:es)?)"
            rf"|(?:im|des)\s+(?P<month>{_MONTH})s?)"
        ),
        _read_last_day,
    ),
    (
        _pattern(
            rf"(?:am\s+|jeden\s+)?(?P<days>letzten\s+tag(?!\s+(?:des|im)\s+monat)|{_ORDINAL}(?:{_AND}(?:am\s+)?{_ORDINAL})*)"
            rf"\s+{_OF_MONTH}"
        ),
        _read_month_days,
    ),
    (
        _pattern(
            rf"(?:am\s+|jeden\s+)?(?P<nth>(?:erste|zweite|dritte|vierte|letzte)[nr]|[1-4]\.)\s+"
            rf"(?P<weekday>{_DAY})\s+{_OF_MONTH}"
        ),
        _read_nth,
    ),
    (
        _pattern(rf"(?P<span>{_SPAN})\s+lang\b"),
        lambda found: Part(lasting=sum_span(read_span(found["span"]))),
    ),
    (
        _pattern(rf"f(?:ü|ue)r\s+(?:die\s+n(?:ä|ae)chsten\s+)?(?P<span>{_SPAN})"),
        lambda found: Part(lasting=sum_span(read_span(found["span"]))),
    ),
    (
        _pattern(rf"(?P<limit>insgesamt\s+)?(?P<count>{_WORD}|\d{{1,3}})[\s-]?mal\b"),
        _read_number_of_times,
    ),
    (
        re.compile(
            r"(?:nach\s+)?([A-ZÄÖÜ][\wäöüß]+?(?:[ -][A-Z][\wäöüß]+?)?)er\s+(?:Orts)?[Zz]eit\b"
            r"|\(?MES?Z\b\)?"
        ),
        _read_zone,
    ),
)


_PERIODS: Final[tuple[Pattern, ...]] = (
    (
        _pattern(
            rf"ende\s+(?:des\s+|der\s+|dieses\s+|dieser\s+)?(?P<unit>monats|jahres|woche|{_MONTH})"
        ),
        _read_end,
    ),
    (_pattern(r"(?P<unit>monats|jahres)ende\b"), _read_end),
    (
        _pattern(rf"(?:anfang\s+)?(?P<month>{_MONTH})(?:\s+(?P<year>20\d\d))?(?!\s*\d)"),
        lambda found: (
            None
            if found[0].lower().startswith("anfang")
            else Part(
                date=(int(found["year"] or 0), _read_month(found["month"]), 0), period="month"
            )
        ),
    ),
)

GERMAN: Final = Language(
    patterns=_PATTERNS,
    periods=_PERIODS,
    filler=_FILLER,
    joining=_JOINING,
    until=_UNTIL,
    until_end=_NOTHING,
    start=_START,
    start_end=_START_END,
    edges=re.compile(r"^(?:und|dass)\s+|\s(?:um|am|ab|und|jeweils|bitte)$", re.IGNORECASE),
    asked_edges=re.compile(r"^(?:daran,?|dass|ans?)\s+|\s*\berinnern$", re.IGNORECASE),
    asked_behind=_ASKED_BEHIND,
)
