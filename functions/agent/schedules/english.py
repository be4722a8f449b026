"""How English speaks of times."""

from __future__ import annotations

import re
from dataclasses import replace
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

_ONES: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
).split()
_TENS: Final = ("twenty", "thirty", "forty", "fifty")
_ORDINALS: Final = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth"
).split()
_NUMBER: Final = (
    rf"(?:\d{{1,4}}(?![\d:])|(?:(?:{'|'.join(_TENS)})(?:[ -](?:{'|'.join(_ONES[1:10])}))?"
    rf"|(?:{'|'.join(sorted(_ONES, key=len, reverse=True))})|a couple of|a few|an?)\b)"
)
_DAYS: Final = ("sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday")
_DAY: Final = (
    r"(?:sun(?:day)?|mon(?:day)?|tue(?:s|sday)?|wed(?:s|nesday)?|thu(?:r|rs|rsday)?|fri(?:day)?"
    r"|sat(?:urday)?)\b"
)
_LONG_DAY: Final = (
    rf"(?:{'|'.join(_DAYS)}|mon|tues?|wed|thu(?:rs?)?|fri|sun(?=\s+\d)|sat(?=\s+\d))\b\.?"
)
_MONTHS: Final = "jan feb mar apr may jun jul aug sep oct nov dec".split()
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?"
    r"|sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\b\.?"
)
_TOMORROW: Final = r"(?:tom+o?r+o?w|tmr+w?|tmw|tomoz|2mo?r+o?w?)"
"""Also as people type it."""
_UNITS: Final = {"s": 1.0, "mi": MINUTE, "h": HOUR, "d": 86_400.0, "w": 604_800.0}
_UNIT: Final = (
    r"(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|fortnights?|months?|years?)\b"
)
_SPAN: Final = (
    rf"(?:half an? hour|(?:a )?quarter of an hour|three quarters of an hour"
    rf"|\d{{1,3}}\s?h\s?(?:\d{{1,2}}\s?(?:m(?:in)?)?)?\b|\d{{1,4}}\s?m\b|\d{{1,3}}\s?d\b"
    rf"|\d{{1,3}}\.\d{{1,2}} hours?\b"
    rf"|{_NUMBER}(?: and a half)?\s*{_UNIT}(?:(?:\s+and|\s*,)?\s+(?:a half|{_NUMBER}\s*{_UNIT}))?)"
)
_OR_SO: Final = r"(?:\s+or\s+so\b)?"
_PART: Final = r"(?:morning|afternoon|evening|night)"
_CLOCK: Final = (
    rf"(?:(?P<spoken>noon|midday|midnight)\b"
    rf"|(?P<half>half|(?:a )?quarter|{_NUMBER}(?: minutes)?)\s+(?P<way>past|after|to|before)"
    rf"\s+(?P<hour3>{_NUMBER})(?:\s?(?P<half3>[ap])\.?m\b\.?)?"
    rf"|(?P<hour6>\d{{1,2}})(?P<minute6>[0-5]\d)\s?(?P<half6>[ap])\.?\s?m\b\.?"
    rf"|(?P<hour1>\d{{1,3}})(?:[:.](?P<minute1>\d{{2}}))?\s?(?P<half1>[ap])\.?\s?m\b\.?"
    rf"|(?P<hour2>\d{{1,3}})[:h](?P<minute2>\d{{2}})(?!\d)"
    rf"|(?P<hour7>\d{{1,2}})(?=\s+in\s+the\s+{_PART}\b)"
    rf"|(?P<hour4>{_NUMBER})\s*o['’]?clock"
    rf"|(?P<at>(?<=at )|(?<=@ )|(?<=@)|(?<=and )|(?<=between )|(?<=from )|(?<=until )|(?<=till )"
    r"|(?<=, )(?=\d{1,2}(?:, \d{1,2})*,? and \d))"
    rf"(?P<hour5>\d{{1,2}}|{'|'.join(sorted(_ONES[1:13], key=len, reverse=True))})\b"
    rf"(?:[. ](?P<minute5>\d{{2}}|{'|'.join(_ONES[10:])}|{'|'.join(_TENS)}(?:[ -]five)?)\b"
    rf"(?!\s*{_UNIT}))?(?!\s*{_UNIT})(?![:%$€]))"
    rf"(?:\s+(?:in the|at)\s+(?P<part>{_PART}))?"
)
_BARE_CLOCK: Final = re.sub(r"\?P<\w+>", "?:", _CLOCK)
_FIRST_CLOCK: Final = re.sub(
    r"\(\?<=(?:and|between|from) \)\||\|\(\?<=, \)\(\?=.+? and \\d\)", "", _BARE_CLOCK
)
"""A bare number is a time of day behind `at`, and behind `and` only where another one stands."""
_PARTS: Final = {
    "morning": "morning",
    "afternoon": "afternoon",
    "evening": "evening",
    "night": "night",
}
_ASKING: Final = r"(?:(?:re?mi?nd|remnid|re(?:me)?mber) me|(?:don['’]?t|do not) let me forget)"
_PLEASE: Final = r"(?:please|pls|plz)"
_FILLER: Final = re.compile(
    rf"(?:(?:{_PLEASE}|hey|can you|could you)\s+)*"
    rf"(?:{_ASKING}|(?:ping|nudge|alert|notify) me|tell me(?=\s+to\b)"
    r"|give me a (?:nudge|reminder|ping|shout)|(?:set (?:a )?)?reminder)\b"
    rf"(?:\s+(?:{_PLEASE}|then(?=\s*(?:$|[,.;!])))\b)*(?:\s+(?:to|that|about|of|for)\b)?:?",
    re.IGNORECASE,
)
_ASKED_BEHIND: Final = re.compile(
    rf"(?<!\bto)[\s,;.!-]+(?:(?:{_PLEASE}|and|so)\s+)*"
    rf"(?:{_ASKING}|set (?:a )?reminder|reminder(?=\s+{_PLEASE}))(?:\s+(?:{_PLEASE}|then|again))*$",
    re.IGNORECASE,
)
"""“Ask Bob to remind me” is something to say."""
_JOINING: Final = re.compile(r"(?:\s|,|;)*(?:(?:and|on|sharp)\s+)?", re.IGNORECASE)
_UNTIL_END: Final = re.compile(r"(?!)")
"""Nothing stands behind the end."""
_UNTIL: Final = re.compile(r"(?:until|till|til|up to|through)\s+", re.IGNORECASE)


def count(words: str) -> int:
    """Return a number that is written in words or digits."""
    word = words.lower().strip()
    if word.isdigit():
        return int(word)
    if word in ("a", "an"):
        return 1
    if word in ("a couple of", "a few"):
        return 2 if word == "a couple of" else 3
    tens, _, ones = word.replace("-", " ").partition(" ")
    if tens in _TENS:
        return 20 + 10 * _TENS.index(tens) + (_ONES.index(ones) if ones else 0)
    return _ONES.index(word) if word in _ONES else 0


def read_span(words: str) -> tuple[float, int, int]:
    """Return a span as seconds, days and months: what is longer than hours goes by the calendar."""
    text = " ".join(words.lower().split())
    if text.endswith("of an hour") or text in ("half an hour", "half a hour"):
        quarters = 2 if text.startswith("half") else 3 if text.startswith("three") else 1
        return quarters * 15 * MINUTE, 0, 0
    short = re.fullmatch(r"(\d+) ?h ?(?:(\d+) ?(?:m|min)?)?", text)
    if short:
        return int(short[1]) * HOUR + int(short[2] or 0) * MINUTE, 0, 0
    seconds, days, months = 0.0, 0, 0
    halves = "half" in text
    for number, unit in re.findall(
        rf"(\d+\.\d+|{_NUMBER})(?: and a half)?\s*({_UNIT}|[md]\b)", text
    ):
        amount = float(number) if "." in number else float(count(number))
        if halves:
            amount += 0.5
        if unit.startswith(("mo", "y")):
            months += round(amount * (12 if unit.startswith("y") else 1))
        elif unit.startswith(("d", "w", "f")):
            days += round(amount * {"d": 1, "w": 7, "f": 14}[unit[0]])
        else:
            seconds += amount * (_UNITS["mi"] if unit.startswith("m") else _UNITS[unit[0]])
    return seconds, days, months


def read_weekday(words: str) -> int:
    """Return a day of the week, 0 for Sunday."""
    start = words.lower()[:3]
    return next(index for index, name in enumerate(_DAYS) if name.startswith(start))


def _read_month(words: str) -> int:
    return _MONTHS.index(words.lower()[:3]) + 1


def _read_clock(found: re.Match[str]) -> ClockTime | None:
    part = found["part"] or ""
    if found["spoken"]:
        return ClockTime(24 if found["spoken"].lower() == "midnight" else 12, 0, True)
    certain = False
    if found["hour3"]:
        words = found["half"].lower()
        if "half" in words:
            minute = 30
        elif "quarter" in words:
            minute = 15
        else:
            minute = count(words.replace(" minutes", ""))
        hour = count(found["hour3"])
        if found["way"].lower() in ("to", "before"):
            hour, minute = hour - 1, 60 - minute
        if found["half3"] and 0 <= hour <= 12:
            hour, certain = hour % 12 + (12 if found["half3"].lower() == "p" else 0), True
    elif found["hour1"]:
        hour, minute = int(found["hour1"]), int(found["minute1"] or 0)
        if not 1 <= hour <= 12:
            return ClockTime(99)
        hour = hour % 12 + (12 if found["half1"].lower() == "p" else 0)
        certain = True
    elif found["hour6"]:
        hour, minute = int(found["hour6"]), int(found["minute6"])
        if not 1 <= hour <= 12:
            return ClockTime(99)
        hour = hour % 12 + (12 if found["half6"].lower() == "p" else 0)
        certain = True
    elif found["hour7"]:
        hour, minute = int(found["hour7"]), 0
    elif found["hour2"]:
        hour, minute = int(found["hour2"]), int(found["minute2"])
        certain = found["hour2"].startswith("0")
    elif found["hour4"]:
        hour, minute = count(found["hour4"]), 0
    else:
        hour, minute = count(found["hour5"]), count(found["minute5"] or "0")
    if part and 1 <= hour <= 12:
        hour, certain = place_in_part(hour, _PARTS[part.lower()]), True
    digits = bool(found["minute2"])
    return ClockTime(hour, minute, certain or hour > 12 or hour == 0, digits)


_CLOCK_RE: Final = re.compile(_CLOCK, re.IGNORECASE)


def _read_clocks(found: re.Match[str]) -> Part | None:
    read = [_read_clock(each) for each in _CLOCK_RE.finditer(found[0])]
    clocks = tuple(each for each in read if each)
    if not clocks:
        return None
    if any(each.hour > 28 or each.minute > 59 or each.hour < 0 for each in clocks):
        return Part(fault="when_no_such_clock", words=found[0])
    if any(each.hour > 24 and not each.certain for each in clocks):
        return Part(fault="when_no_such_clock", words=found[0])
    if any(each.hour == 25 and ":" in found[0] for each in clocks):
        return Part(fault="when_no_such_clock", words=found[0])
    return Part(clocks=clocks)


def _read_short_hour(hour: str, words: str) -> Part:
    """Return what 14h means."""
    if int(hour) > 24:
        return Part(fault="when_no_such_clock", words=words)
    return Part(clocks=(ClockTime(int(hour), 0, hour.startswith("0") or int(hour) > 12),))


def _read_hours(found: re.Match[str]) -> Part | None:
    part = _read_clocks(found)
    if part is None or len(part.clocks) != 2:
        return part
    first, last = (each.hour for each in part.clocks)
    if last <= first and last < 12 and not part.clocks[1].certain:
        last += 12
    return Part(hours=(first, last)) if first < last <= 24 else None


def _read_in(found: re.Match[str]) -> Part:
    seconds, days, months = read_span(found["span"])
    if seconds:
        return Part(span=seconds + days * 86_400)
    if months:
        return Part(months=months, daypart=SAME, words=found[0])
    return Part(days=days, daypart=SAME, words=found[0])


def _read_every_span(found: re.Match[str]) -> Part | None:
    words = found["span"]
    if not re.match(r"\d|half|quarter", words.lower()) and not re.search(r"\s", words):
        return None
    seconds, days, months = read_span(words)
    if seconds and not days and not months:
        return Part(every=seconds)
    if days and not seconds and not months:
        if days % 7 == 0 and "week" in words.lower():
            return Part(unit="week", step=days // 7)
        return Part(unit="day", step=days)
    if months and not seconds and not days:
        if months % 12 == 0:
            return Part(unit="year", step=months // 12)
        return Part(unit="month", step=months)
    return Part(fault="when_no_calendar", words=found[0])


def _read_every_unit(found: re.Match[str]) -> Part:
    word = (found["step"] or "").lower().strip()
    step = 1
    if word:
        step = 2 if word in ("other", "alternate") else _read_ordinal(word)
    unit = found["unit"].lower()
    if unit.startswith("sec"):
        return Part(fault="when_too_often")
    if unit.startswith(("min", "hour")):
        return Part(every=step * (MINUTE if unit.startswith("min") else HOUR))
    if unit == "quarter":
        return Part(unit="month", step=3 * step)
    if unit in _PARTS:
        return Part(unit="day", step=step, daypart=_PARTS[unit])
    if unit in ("weekday", "workday", "working day", "business day"):
        return Part(unit="week", step=step, weekdays=WORKDAYS)
    if unit == "weekend":
        return Part(unit="week", step=step, weekdays=WEEKEND)
    return Part(unit=unit, step=step)


def _read_ordinal(word: str) -> int:
    digits = re.match(r"\d+", word)
    if digits:
        return int(digits[0])
    return _ORDINALS.index(word) if word in _ORDINALS else count(word)


def _read_weekday_spread(found: re.Match[str]) -> Part:
    first, last = read_weekday(found["first"]), read_weekday(found["last"])
    days = tuple((first + index) % 7 for index in range((last - first) % 7 + 1))
    return Part(unit="week", step=1, weekdays=days)


def _read_every_weekdays(found: re.Match[str]) -> Part:
    days = tuple(read_weekday(each) for each in re.findall(_DAY, found["days"].lower()))
    word = (found.groupdict().get("step") or "").lower().strip()
    step = 1
    if word:
        step = 2 if word in ("other", "alternate") else _read_ordinal(word)
    return Part(unit="week", step=step, weekdays=days)


_HOLIDAYS: Final = {
    "christmas eve": (12, 24),
    "christmas day": (12, 25),
    "christmas": (12, 25),
    "new year's eve": (12, 31),
    "new year's day": (1, 1),
    "halloween": (10, 31),
    "valentine's day": (2, 14),
}
"""Days that have the same date every year."""
_HOLIDAY: Final = rf"(?:{'|'.join(_HOLIDAYS)})".replace("'", "['’]?")
_ADVERBS: Final = {
    "daily": Part(unit="day", step=1),
    "everyday": Part(unit="day", step=1),
    "nightly": Part(unit="day", step=1, daypart="night"),
    "hourly": Part(every=HOUR),
    "weekly": Part(unit="week", step=1),
    "monthly": Part(unit="month", step=1),
    "quarterly": Part(unit="month", step=3),
    "yearly": Part(unit="year", step=1),
    "annually": Part(unit="year", step=1),
    "fortnightly": Part(unit="week", step=2),
    "weekdays": Part(unit="week", step=1, weekdays=WORKDAYS),
    "weekends": Part(unit="week", step=1, weekdays=WEEKEND),
}


def _read_day_word(found: re.Match[str]) -> Part:
    word = " ".join(found[0].lower().split())
    if word in ("tonight", "tonite", "2nite"):
        return Part(days=0, daypart="night")
    if word.startswith("this "):
        return Part(days=0, daypart=_PARTS[word.split()[1]])
    if word == "next week":
        return Part(days=7, period="week")
    if word in ("next month", "next year"):
        unit = word.split()[1]
        return Part(months=1 if unit == "month" else 12, period=unit)
    if word == "today":
        return Part(days=0)
    return Part(days=2 if "after" in word else 1)


def _read_date(found: re.Match[str]) -> Part | None:
    day = found["day"].lower()
    number = _read_ordinal(day)
    year = found["year"]
    month = _read_month(found["month"])
    return Part(date=(int(year) if year else 0, month, number), words=found[0])


def _read_dates(found: re.Match[str]) -> Part:
    dates = tuple(
        (
            0,
            _read_month(each["month1"] or each["month2"]),
            _read_ordinal((each["day1"] or each["day2"]).lower()),
        )
        for each in _DATE_RE.finditer(found[0])
    )
    return Part(dates=dates, words=found[0])


def _read_end(found: re.Match[str]) -> Part:
    """Read `the end of December` and `the end of the year`."""
    unit = (found["unit"] or found.groupdict().get("unit2") or "").lower()
    if unit == "month":
        return Part(months=0, period="month", closing=True)
    if unit == "week":
        return Part(days=0, period="week", closing=True)
    if unit == "year":
        return Part(months=0, period="year", closing=True)
    return Part(date=(0, _read_month(unit), 0), period="month", closing=True)


def _read_weeks_from(found: re.Match[str]) -> Part:
    """Read `a week from Friday` and `two weeks from tomorrow`."""
    weeks = count(found["count"])
    if found["day"]:
        return Part(weekday=read_weekday(found["day"]), weeks=weeks)
    return Part(days=weeks * 7 + (0 if found["word"].lower() == "today" else 1))


def _read_holiday(found: re.Match[str]) -> Part:
    name = re.sub("['’]", "", found["name"].lower())
    dates = {each.replace("'", ""): date for each, date in _HOLIDAYS.items()}
    return Part(date=(0, *dates[name]), words=found[0])


def _read_shift(found: re.Match[str]) -> Part:
    """Read `2 days before`, which leads to another day than the one that follows."""
    days = read_span(found["span"])[1] if found["span"] else 7 if found["unit"][0] in "wW" else 1
    return Part(shift=-days if found["way"].lower() == "before" else days)


def _read_bare_hours(found: re.Match[str]) -> Part | None:
    """Read `8 and 20 o'clock`: numbers before a time of day are such times as well."""
    last = _CLOCK_RE.search(found["last"])
    part = _read_clocks(last) if last else None
    return add_hours(found["first"], part) if part else None


def _read_times_a_day(found: re.Match[str]) -> Part:
    """Read `twice a day` and `twice daily`, which say something where as many times of the day
    follow.
    """
    behind = _CLOCK_LIST.match(found.string, found.end())
    clocks = _CLOCK_RE.findall(behind[0]) if behind else ()
    if (found["unit"] or found["adverb"]).lower() in ("day", "daily") and len(
        clocks
    ) == _count_times(found):
        return Part(unit="day", step=1)
    return Part(fault="when_which_times", words=found[0])


def _count_times(found: re.Match[str]) -> int:
    return count(found["count"]) if found["count"] else 2


def _read_number_of_times(found: re.Match[str]) -> Part | None:
    """Read `five times`, which ends a repetition, and `twice` and `two times` beside as many times
    of the day, which only say again what these say.
    """
    lists = (_CLOCK_RE.findall(each[0]) for each in _CLOCK_LIST.finditer(found.string))
    number = _count_times(found)
    if number in map(len, lists) and not (found["limit"] or found["total"]):
        return Part(weak=True)
    is_limit = bool(found["total"])
    return Part(times=number, weak=not is_limit) if found["unit"] == "times" else None


def _require_count(part: Part, found: re.Match[str]) -> Part | None:
    """Return a part that tells as many days as `twice a week` says, None where it tells others."""
    days = part.weekdays or part.month_days
    return part if len(set(days)) == _count_times(found) else None


def _read_parts_of_days(found: re.Match[str]) -> Part:
    """Read `weekday afternoons` and `sunday mornings`."""
    days = found["days"].lower()
    weekdays = {"weekday": WORKDAYS, "weekend": WEEKEND}.get(days) or (read_weekday(days),)
    return Part(unit="week", step=1, weekdays=weekdays, daypart=_PARTS[found["part"].lower()])


def _read_last_days(found: re.Match[str]) -> Part | None:
    """Read `every 3 months on the last day`."""
    if found["span"]:
        seconds, days, step = read_span(found["span"])
        if seconds or days:
            return None
    else:
        step = 3 if "quarter" in (found["unit"] or found["adverb"]).lower() else 1
        step *= 2 if found["other"] else 1
    return Part(unit="month", step=step, month_days=("L",))


def _read_last_day(found: re.Match[str]) -> Part:
    """Read `the last day of this month` and `the last day of December`, each once."""
    part = _read_end(found)
    if not found["next"]:
        return part
    return replace(part, months=12 if part.period == "year" else 1)


def _read_slashes(found: re.Match[str]) -> Part:
    first, second = int(found[1]), int(found[2])
    year = int(found[3]) if found[3] else 0
    if 0 < year < 100:
        year += 2000
    if first > 12:
        first, second = second, first
    elif second <= 12 and first != second:
        return Part(fault="when_date_order", date=(year, first, second), words=found[0])
    return Part(date=(year, first, second), words=found[0])


def _read_month_days(found: re.Match[str]) -> Part:
    words = found["days"].lower()
    if "last day" in words:
        return Part(unit="month", step=1, month_days=("L",))
    days = re.findall(rf"\d{{1,2}}|{'|'.join(_ORDINALS[1:])}", words)
    return Part(unit="month", step=1, month_days=tuple(str(_read_ordinal(each)) for each in days))


def _read_nth(found: re.Match[str]) -> Part:
    day = read_weekday(found["weekday"])
    word = found["nth"].lower()
    nth = f"{day}L" if word == "last" else f"{day}#{_read_ordinal(word)}"
    return Part(unit="month", step=1, nth=nth)


_ORDINAL: Final = rf"(?:\d{{1,2}}(?:st|nd|rd|th)|{'|'.join(_ORDINALS[1:])})"
_AND: Final = r"(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)"
_AND_ALSO: Final = r"(?:\s+(?:and|n|['’]n['’]?)\s+|\s*&\s*)"
_DATE: Final = (
    rf"(?:(?:on|by)\s+)?(?:the\s+)?(?:(?P<day1>\d{{1,2}}(?:st|nd|rd|th)?|{_ORDINAL})\s+(?:of\s+)?"
    rf"(?P<month1>{_MONTH})|(?P<month2>{_MONTH})\s+(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?![\d:]))"
)
_BARE_DATE: Final = re.sub(r"\?P<\w+>", "?:", _DATE)
_DATE_RE: Final = re.compile(_DATE, re.IGNORECASE)
_TIMES: Final = rf"(?:twice|(?P<count>{_NUMBER}) times)\s+"
_EACH: Final = r"(?:a|every|per|each)\s+"
_CLOCK_LIST: Final = re.compile(
    rf",?\s*(?:at\s+|@\s*)?{_FIRST_CLOCK}"
    rf"(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)(?:at\s+)?{_BARE_CLOCK})*",
    re.IGNORECASE,
)
_OF_MONTH: Final = r"(?:of\s+)?(?:the|each|every|a)\s+month\b"


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


_PATTERNS: Final[tuple[Pattern, ...]] = (
    (
        _pattern(r"in\s+(?:a|one)\s+(?:sec|second|moment|bit|while)\b"),
        lambda found: Part(fault="when_unit", words=found[0]),
    ),
    (
        _pattern(rf"(?:in|after|within)\s+(?:about\s+|around\s+)?(?P<span>{_SPAN}){_OR_SO}"),
        _read_in,
    ),
    (_pattern(rf"(?P<span>{_SPAN}){_OR_SO}\s+(?:from now|later|from today)\b"), _read_in),
    (
        _pattern(r"in\s+\d{1,3}(?=\s*$|\s+to\b|\s*,)"),
        lambda found: Part(fault="when_unit", words=found[0]),
    ),
    (
        _pattern(
            rf"(?:{_SPAN}\s+ago|yesterday|last\s+(?:night|week|month|year|{_DAY}))\b(?!['’]s)"
        ),
        lambda found: Part(fault="when_past", words=found[0]),
    ),
    (
        _pattern(
            rf"(?:at\s+|@\s*|around\s+|by\s+)?{_FIRST_CLOCK}"
            rf"(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)(?:at\s+)?{_BARE_CLOCK}"
            rf"|\s+(?=\d{{1,2}}(?:[:.]?\d\d)?\s?[ap]\.?m\b|\d{{1,2}}:\d\d){_BARE_CLOCK})*{_OR_SO}"
        ),
        _read_clocks,
    ),
    (
        _pattern(
            rf"(?:between\s+{_BARE_CLOCK}\s+and|from\s+{_BARE_CLOCK}\s+(?:to|until|till))\s+"
            rf"(?:{_BARE_CLOCK}|(?:\d{{1,2}})\b)"
        ),
        lambda found: _read_hours(found) if _CLOCK_RE.search(found[0]) else None,
    ),
    (
        _pattern(rf"(?:(?:in the|at|during the)\s+)?({_PART})\b"),
        lambda found: Part(daypart=_PARTS[found[1].lower()], weak=len(found[0]) == len(found[1])),
    ),
    (
        _pattern(
            rf"(?:today|tonight|tonite|2nite|{_TOMORROW}|(?:the )?day after {_TOMORROW}"
            r"|this (?:morning|afternoon|evening)|next (?:week|month|year))\b"
        ),
        _read_day_word,
    ),
    (
        _pattern(
            rf"(?:(?:on|by)\s+)?(?:(?P<which>this|next|the coming|coming)\s+)?(?P<day>{_DAY})"
        ),
        lambda found: (
            Part(
                weekday=read_weekday(found["day"]),
                week={"this": "this", "next": "next"}.get((found["which"] or "").lower(), ""),
            )
            if found["which"]
            or found[0].lower().startswith("on ")
            or re.fullmatch(_LONG_DAY, found["day"], re.IGNORECASE)
            else None
        ),
    ),
    (
        _pattern(r"(?:on\s+)?(\d{4})[-/](\d{1,2})[-/](\d{1,2})(?!\d)(?:T(?=\d))?"),
        lambda found: Part(date=(int(found[1]), int(found[2]), int(found[3])), words=found[0]),
    ),
    (_pattern(r"(?:on\s+)?(?<!/)(\d{1,2})/(\d{1,2})(?:/(\d{4}|\d{2}))?(?![\d/])"), _read_slashes),
    (
        _pattern(
            rf"(?:(?:on|by)\s+)?(?:the\s+)?(?P<month>{_MONTH})\s*(?P<day>\d{{1,2}})(?:st|nd|rd|th)?"
            r"(?![\d:])(?:,?\s*(?P<year>20\d\d)(?!\d|:))?"
        ),
        _read_date,
    ),
    (
        _pattern(
            rf"(?:(?:on|by)\s+)?(?:the\s+)?(?P<day>\d{{1,2}}(?:st|nd|rd|th)?|{_ORDINAL})\s*(?:of\s+)?"
            rf"(?P<month>{_MONTH})(?:,?\s*(?P<year>20\d\d)(?!\d|:))?"
        ),
        _read_date,
    ),
    (
        _pattern(
            rf"(?:on\s+)?the\s+(?P<day>{_ORDINAL})(?P<next>\s+of\s+next\s+month)?\b"
            r"(?!\s+(?:thing|time|step|one)\b)"
        ),
        lambda found: Part(
            date=(0, NEXT if found["next"] else 0, _read_ordinal(found["day"].lower())),
            words=found[0],
        ),
    ),
    (
        _pattern(
            rf"(?:every|each)\s+(?:(?P<step>other|alternate|{_ORDINAL})\s+)?(?P<unit>second|minute"
            rf"|hour|day|week|month|year|quarter|{_PART}|weekday|workday|working day|business day"
            r"|weekend)\b"
        ),
        _read_every_unit,
    ),
    (_pattern(rf"every\s+(?P<span>{_SPAN})"), _read_every_span),
    (
        _pattern(
            rf"(?:every|each)\s+(?:(?P<step>other|alternate|{_ORDINAL})\s+)?"
            rf"(?P<days>{_DAY}(?:(?:\s*,\s*(?:and\s+)?|{_AND_ALSO}|\s*[/+]\s*|\s+(?=(?:mon|tue|wed|thu|fri|sat|sun)))"
            rf"(?:every\s+)?{_DAY})*)"
        ),
        _read_every_weekdays,
    ),
    (
        _pattern(
            rf"(?:on\s+)?(?P<days>(?:{'|'.join(_DAYS)})s"
            rf"(?:(?:\s*,\s*(?:and\s+)?|\s+and\s+|\s*&\s*)(?:{'|'.join(_DAYS)})s)*)\b"
        ),
        lambda found: Part(
            unit="week",
            step=1,
            weekdays=tuple(
                read_weekday(each) for each in re.findall("|".join(_DAYS), found[0].lower())
            ),
        ),
    ),
    (
        _pattern(rf"every\s+(?={_MONTH}\s*\d|\d{{1,2}}(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH})"),
        lambda _: Part(unit="year", step=1),
    ),
    (
        _pattern(
            rf"(?:every|each)\s+(?P<months>{_MONTH}(?:{_AND}(?:every\s+)?{_MONTH})*)(?!\s*\d)"
        ),
        lambda found: Part(
            unit="year",
            step=1,
            in_months=tuple(map(_read_month, re.findall(_MONTH, found["months"].lower()))),
        ),
    ),
    (_pattern(rf"{_BARE_DATE}(?:{_AND}{_BARE_DATE})+"), _read_dates),
    (
        _pattern(
            rf"(?:on\s+)?(?:the\s+)?\d{{1,2}}(?:st|nd|rd|th)?\s+and\s+(?=\d{{1,2}}\s+{_MONTH})"
        ),
        lambda found: Part(fault="when_which_one", words=found[0]),
    ),
    (
        _pattern(rf"(?:in|of)\s+(?P<months>{_MONTH}(?:{_AND}{_MONTH})*)(?!\s*\d)"),
        lambda found: Part(
            in_months=tuple(map(_read_month, re.findall(_MONTH, found["months"].lower()))),
            weak=True,
        ),
    ),
    (
        _pattern(
            rf"(?:every|each)\s+(?P<nth>first|second|third|fourth|last|[1-4](?:st|nd|rd|th))\s+"
            rf"(?P<weekday>{_DAY})\s+(?:of|in)\s+(?P<months>{_MONTH}(?:{_AND}{_MONTH})*)"
        ),
        lambda found: replace(
            _read_nth(found),
            in_months=tuple(map(_read_month, re.findall(_MONTH, found["months"].lower()))),
        ),
    ),
    (
        _pattern(
            rf"in\s+(?P<months>{_MONTH}(?:{_AND}{_MONTH})*)\s*,?\s+(?=every|each|daily|on\s+\w+days)"
        ),
        lambda found: Part(
            in_months=tuple(map(_read_month, re.findall(_MONTH, found["months"].lower())))
        ),
    ),
    (
        _pattern(
            rf"(?:every month|monthly)\s+on\s+the\s+(?P<nth>first|second|third|fourth|last"
            rf"|[1-4](?:st|nd|rd|th))\s+(?P<weekday>{_DAY})"
        ),
        _read_nth,
    ),
    (
        _pattern(
            rf"(?:the\s+)?(?:first|second|third|fourth|last)\s+(?:{_DAY}|weekday|workday)\s+(?:of|in)\s+\w+"
        ),
        lambda found: Part(fault="when_how_often", words=found[0]),
    ),
    (
        _pattern(
            rf"(?:the\s+)?(?:day|night|evening|morning|week)\s+(?:before|after)\b(?!\s+{_TOMORROW}\b)"
            rf"|(?:the\s+)?(?:{_DAY}|week|month|year)\s+after\s+next\b"
        ),
        lambda found: Part(fault="when_no_time", words=found[0]),
    ),
    (
        _pattern(r"every\s+(?:half\s+(?:an\s+)?hour|half[ -]hour)\b|half[ -]hourly\b"),
        lambda _: Part(every=30 * MINUTE),
    ),
    (
        _pattern(r"every\s+quarter\s+(?:of\s+an\s+)?hour\b"),
        lambda _: Part(every=15 * MINUTE),
    ),
    (
        _pattern(
            rf"(?:at|by|on)\s+(?:the\s+)?end\s+of\s+(?:the\s+|this\s+)?(?P<unit>month|year|{_MONTH})"
            rf"|(?:the\s+)?end\s+of\s+(?:the\s+|this\s+)?(?P<unit2>month|year|{_MONTH})\b"
        ),
        _read_end,
    ),
    (
        _pattern(r"(?:at\s+)?(?:the\s+)?same\s+time\b"),
        lambda _: Part(daypart=SAME, weak=True),
    ),
    (
        _pattern(
            rf"(?:at\s+)?(?:half|(?:a )?quarter|{_NUMBER}(?: minutes)?)\s+(?:past|after|to|before)"
            r"\s+(?:noon|midday|midnight)\b"
        ),
        lambda found: Part(fault="when_no_time", words=found[0]),
    ),
    (
        _pattern(r"(?:at\s+)?(?:the\s+)?end\s+of\s+next\s+(?P<unit>month|year)\b"),
        lambda found: Part(
            months=1 if found["unit"].lower() == "month" else 12,
            period=found["unit"].lower(),
            closing=True,
        ),
    ),
    (
        _pattern(rf"(?:every|each)\s+(?={_HOLIDAY}\b)"),
        lambda _: Part(unit="year", step=1),
    ),
    (
        _pattern(r"(?:this|next|(?:on|at|over|during)\s+the)\s+weekend\b"),
        lambda found: Part(
            weekday=6,
            week="next" if found[0].lower().startswith("next") else "",
            other=None if found[0].lower().startswith("next") else Part(weekday=0),
        ),
    ),
    (
        _pattern(r"at\s+(?P<hour>[01]\d|2[0-3])(?P<minute>[0-5]\d)(?:\s*h(?:(?:ou)?rs)?)?\b"),
        lambda found: Part(clocks=(ClockTime(int(found["hour"]), int(found["minute"]), True),)),
    ),
    (
        _pattern(r"at\s+(?P<hour>\d{1,2})\s?h\b"),
        lambda found: _read_short_hour(found["hour"], found[0]),
    ),
    (
        _pattern(r"(?P<hour>1\d|2[0-3])h\b"),
        lambda found: replace(_read_short_hour(found["hour"], found[0]), weak=True),
    ),
    (
        _pattern(rf"at\s+half\s+{_NUMBER}\b(?!\s*{_UNIT})"),
        lambda found: Part(fault="when_no_such_clock", words=found[0]),
    ),
    (
        _pattern(
            r"(?:(?:every|each)\s+hour|hourly),?\s+on\s+the\s+hour\b"
            r"|on\s+the\s+hour,?\s+every\s+hour\b|at\s+the\s+top\s+of\s+(?:every|each)\s+hour\b"
        ),
        lambda _: Part(every=HOUR, hours=(0, 23)),
    ),
    (
        _pattern(
            rf"(?:(?:every|each)\s+(?:hour|half[ -]hour|half an hour|{_SPAN})"
            r"|(?:half[ -])?hourly),?\s+"
            r"(?:on\s+the\s+(?:half[ -])?hour\b"
            rf"|(?:at\s+)?(?:half|(?:a )?quarter|{_NUMBER} minutes)"
            rf"\s+(?:past|after|to)\b(?!\s+{_NUMBER}\b))"
        ),
        lambda found: Part(fault="when_no_calendar", words=found[0]),
    ),
    (
        _pattern(rf"bi-?weekly(?=,?\s+(?:on\s+)?(?:{_DAY}|(?:{'|'.join(_DAYS)})s\b))"),
        lambda _: Part(unit="week", step=2),
    ),
    (
        _pattern(r"bi-?(?:weekly|monthly)\b"),
        lambda found: Part(fault="when_how_often", words=found[0]),
    ),
    (
        _pattern(rf"(?:on\s+|once\s+)?(?:{'|'.join(_ADVERBS)})\b"),
        lambda found: _ADVERBS[found[0].lower().split()[-1]],
    ),
    (
        _pattern(
            rf"(?:every\s+|from\s+|on\s+)?(?P<first>{_DAY})(?:\s+to\s+|\s+through\s+|\s*-\s*)"
            rf"(?P<last>{_DAY})"
        ),
        _read_weekday_spread,
    ),
    (
        _pattern(
            rf"(?P<count>{_NUMBER})\s+weeks?\s+(?:from|on)\s+"
            rf"(?:(?P<day>{_DAY})|(?P<word>today|{_TOMORROW})\b)"
        ),
        _read_weeks_from,
    ),
    (
        _pattern(
            rf"(?:(?:in|within|after)\s+{_NUMBER}|(?:on\s+)?(?:the\s+)?next)"
            r"\s+(?:week|work|working |business )days?\b"
        ),
        lambda _: Part(fault="when_no_workdays"),
    ),
    (
        _pattern(rf"{_SPAN}\s+(?:before|after)\b"),
        lambda found: Part(fault="when_no_time", words=found[0]),
    ),
    (
        _pattern(
            rf"(?:(?P<span>{_NUMBER}\s*(?:days?|weeks?))|(?:the\s+)?(?P<unit>day|week))\s+"
            rf"(?P<way>before|after)\s+(?=(?:the\s+)?(?:{_BARE_DATE}|{_LONG_DAY}"
            rf"|{_HOLIDAY}\b))"
        ),
        _read_shift,
    ),
    (
        _pattern(r"(?:tonight|tonite|2nite|this\s+evening)\s+(?:at\s+)?(?P<hour>\d{1,2})\s*[.!]?$"),
        lambda found: (
            Part(days=0, daypart="evening", clocks=(ClockTime(int(found["hour"])),))
            if 1 <= int(found["hour"]) <= 12
            else None
        ),
    ),
    (
        _pattern(
            rf"(?:on\s+)?(?P<days>{_DAY}(?:(?:\s*,\s*(?:and\s+)?|{_AND_ALSO}|\s*[/+]\s*)(?:on\s+)?{_DAY})+)"
        ),
        _read_every_weekdays,
    ),
    (
        _pattern(rf"(?P<first>\d{{1,2}}(?:\s*,\s*\d{{1,2}})*){_AND_ALSO}(?P<last>{_BARE_CLOCK})"),
        _read_bare_hours,
    ),
    (
        _pattern(
            rf"next\s+week,?\s+(?:on\s+)?(?P<day>{_DAY})"
            rf"|(?:on\s+)?(?P<day2>{_DAY})(?:\s+of)?\s+next\s+week\b"
        ),
        lambda found: Part(weekday=read_weekday(found["day"] or found["day2"]), week="after"),
    ),
    (
        _pattern(
            rf"first\s+thing\s+(?:in\s+the\s+morning\s+)?(?=today|{_TOMORROW}|(?:on\s+)?{_LONG_DAY})"
        ),
        lambda _: Part(daypart="morning"),
    ),
    (
        _pattern(r"first\s+thing(?:\s+in\s+the\s+morning)?\b"),
        lambda _: Part(daypart="morning", weak=True),
    ),
    (
        _pattern(rf"(?P<day>{_DAY})\s+week\b"),
        lambda found: Part(weekday=read_weekday(found["day"]), weeks=1),
    ),
    (
        _pattern(rf"next\s+month,?\s+(?:on\s+)?the\s+(?P<day>{_ORDINAL})"),
        lambda found: Part(date=(0, NEXT, _read_ordinal(found["day"].lower())), words=found[0]),
    ),
    (
        _pattern(
            r"every\s+(?P<days>\d{1,2}(?:st|nd|rd|th)(?:(?:\s*,\s*|\s+and\s+)(?:the\s+)?\d{1,2}"
            rf"(?:st|nd|rd|th))*)\b(?!\s+(?:of\s+)?(?:{_UNIT}|{_DAY}|{_MONTH}))"
        ),
        _read_month_days,
    ),
    (
        _pattern(rf"(?:(?:on|by)\s+)?(?P<name>{_HOLIDAY})\b"),
        _read_holiday,
    ),
    (
        _pattern(r"once\s+(?:a|every|per)\s+(day|week|month|year)\b"),
        lambda found: Part(unit=found[1].lower(), step=1),
    ),
    (
        _pattern(
            rf"{_TIMES}(?:{_EACH}(?P<unit>day|week|month|year)"
            r"|(?P<adverb>daily|weekly|monthly|yearly))\b"
        ),
        _read_times_a_day,
    ),
    (
        _pattern(
            rf"{_TIMES}(?:{_EACH}week|weekly),?\s+(?:on\s+)?(?P<days>{_DAY}s?(?:{_AND}{_DAY}s?)+)"
        ),
        lambda found: _require_count(_read_every_weekdays(found), found),
    ),
    (
        _pattern(
            rf"(?:{_EACH}week|weekly),?\s+{_TIMES}(?:on\s+)?(?P<days>{_DAY}s?(?:{_AND}{_DAY}s?)+)"
        ),
        lambda found: _require_count(_read_every_weekdays(found), found),
    ),
    (
        _pattern(
            rf"{_TIMES}(?:{_EACH}month|monthly),?\s+on\s+(?:the\s+)?"
            rf"(?P<days>{_ORDINAL}(?:{_AND}(?:the\s+)?{_ORDINAL})+)"
        ),
        lambda found: _require_count(_read_month_days(found), found),
    ),
    (
        _pattern(rf"(?:on\s+)?(?P<days>weekday|weekend|{'|'.join(_DAYS)})\s+(?P<part>{_PART})s\b"),
        _read_parts_of_days,
    ),
    (
        _pattern(
            rf"(?:every\s+(?:(?P<span>{_SPAN})|(?P<other>other\s+)?(?P<unit>month|quarter))"
            rf"|(?P<adverb>monthly|quarterly)),?\s+on\s+(?:the|its)\s+last\s+day"
            rf"(?:\s+{_OF_MONTH})?(?!\s+of\b)"
        ),
        _read_last_days,
    ),
    (
        _pattern(
            rf"(?:(?:on|by)\s+)?(?:the\s+)?last\s+day\s+of\s+(?:(?P<next>next\s+)|this\s+|the\s+)?"
            rf"(?P<unit>month|year|{_MONTH})"
        ),
        _read_last_day,
    ),
    (
        _pattern(
            rf"(?:on\s+)?(?:(?:the|every|each)\s+)?"
            rf"(?P<days>last day(?!\s+(?:of\s+)?the\b)|day \d{{1,2}}(?: and \d{{1,2}})*"
            rf"|{_ORDINAL}(?:(?:\s*,\s*|\s+and\s+)(?:the\s+)?{_ORDINAL})*)\s+{_OF_MONTH}"
        ),
        _read_month_days,
    ),
    (
        _pattern(
            rf"(?:on\s+)?(?:the\s+|every\s+)?(?P<nth>first|second|third|fourth|last|[1-4](?:st|nd"
            rf"|rd|th))\s+(?P<weekday>{_DAY})\s+{_OF_MONTH}"
        ),
        _read_nth,
    ),
    (
        _pattern(rf"for\s+(?:the\s+next\s+)?(?P<span>{_SPAN})"),
        lambda found: Part(lasting=sum_span(read_span(found["span"]))),
    ),
    (
        _pattern(r"for\s+the\s+next\s+(?P<unit>hour|day|week|month|year)\b"),
        lambda found: Part(lasting=sum_span(read_span(f"a {found['unit']}"))),
    ),
    (
        _pattern(
            rf"(?P<limit>for\s+)?(?:twice|(?P<count>{_NUMBER})\s*(?P<unit>times|x))\b"
            r"(?P<total>\s+(?:in\s+total|altogether))?"
        ),
        _read_number_of_times,
    ),
)

_PERIODS: Final[tuple[Pattern, ...]] = (
    (_pattern(r"(?:now|today)(?:\s+on)?\b"), lambda _: Part(days=0)),
    (
        _pattern(rf"(?:the\s+)?end\s+of\s+(?:the\s+|this\s+)?(?P<unit>week|month|year|{_MONTH})"),
        _read_end,
    ),
    (
        _pattern(rf"(?P<month>{_MONTH})(?:\s+(?P<year>20\d\d))?(?!\s*\d)"),
        lambda found: Part(
            date=(int(found["year"] or 0), _read_month(found["month"]), 0), period="month"
        ),
    ),
)
_START: Final = re.compile(
    r"(?:from|(?:starting|beginning)(?:\s+(?:from|with|in|on))?|as\s+of)\s+", re.IGNORECASE
)
_START_END: Final = re.compile(r"\s+on(?:wards?)?\b(?=\s*(?:,|every|each|$))", re.IGNORECASE)

ENGLISH: Final = Language(
    patterns=_PATTERNS,
    periods=_PERIODS,
    filler=_FILLER,
    joining=_JOINING,
    until=_UNTIL,
    until_end=_UNTIL_END,
    start=_START,
    start_end=_START_END,
    edges=re.compile(
        r"^(?:to|that|about|and)\s+|(?:^|\s)(?:on|at|and|in|from|by)$|(?<=alarm)\sfor$",
        re.IGNORECASE,
    ),
    asked_edges=re.compile(r"(?!)"),
    asked_behind=_ASKED_BEHIND,
)
