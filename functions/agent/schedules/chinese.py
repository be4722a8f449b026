"""How Chinese speaks of times."""

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
    place_in_part,
    sum_span,
)

_DIGITS: Final = {"零": 0, "〇": 0, "两": 2, "兩": 2} | {
    digit: index for index, digit in enumerate("一二三四五六七八九", 1)
}
_NUMBER: Final = r"(?:\d{1,4}|[零〇一二两兩三四五六七八九十百]{1,6})"
_WEEKDAY: Final = r"(?:周|星期|礼拜|週|禮拜)[一二三四五六日天]"
_DAYPARTS: Final = {
    "凌晨": "early",
    "清晨": "morning",
    "清早": "morning",
    "早晨": "morning",
    "早上": "morning",
    "早": "morning",
    "上午": "morning",
    "中午": "noon",
    "正午": "noon",
    "午后": "afternoon",
    "下午": "afternoon",
    "傍晚": "evening",
    "晚上": "night",
    "晚间": "night",
    "夜里": "night",
    "夜晚": "night",
    "深夜": "night",
    "半夜": "night",
    "午夜": "midnight",
    "晚": "night",
}
_DAYPART: Final = rf"(?:{'|'.join(sorted(_DAYPARTS, key=len, reverse=True))})"
_CLOCK: Final = (
    rf"(?P<part>{_DAYPART})?的?\s*(?:(?P<hour1>\d{{1,2}})[:：](?P<minute1>\d{{2}})(?!\d)"
    rf"|(?P<hour2>{_NUMBER})\s*(?:[点點](?!儿)[钟鐘]?|[时時](?!候|间))(?:(?P<half>半)|(?P<quarter>[一三])刻"
    rf"|过?(?P<minute2>{_NUMBER})(?![个天小周月次])分?|整)?)"
)
_BARE_CLOCK: Final = re.sub(r"\?P<\w+>", "?:", _CLOCK)
_CLOCK_LIST: Final = re.compile(
    rf"\s*[，,：:]?\s*{_BARE_CLOCK}(?:\s*(?:、|和|跟|与|及|以及|，|,)\s*{_BARE_CLOCK})*"
)
_SPAN: Final = (
    rf"(?:半个?(?:小时|钟头|钟)|半天|[一三]刻钟?|{_NUMBER}个?半(?:小时|钟头|天|月)"
    rf"|{_NUMBER}\s*(?:秒钟?|分钟?|个?小时|个?钟头|天|日|个?(?:周|星期|礼拜)|个月|年)"
    rf"(?:零?{_NUMBER}\s*(?:分钟?|个?小时)|半)?)"
)
_ASKING: Final = "(?:[提题]醒|题型|提型)我"
_FILLER: Final = re.compile(
    r"(?:请|麻烦(?:你)?|帮我|帮忙|记得|到时候?|你)*(?:设(?:置|定)?(?:一?个)?(?:提醒|闹钟)"
    rf"|(?:{_ASKING}|[提题]醒(?:一下|大家)?)"
    r"(?:一下|一声)?|叫我(?=[^\s，。！!,.]))[:：]?|请|麻烦你?|帮我",
)
_ASKED_BEHIND: Final = re.compile(
    r"(?<=.)[\s，,。；;！!]*(?:请|麻烦你?|帮我|帮忙|记得|到时候?|再|你)*"
    rf"(?:{_ASKING}|[提题]醒一下|叫我|喊我|别让我忘(?:记|了)?)(?:一下|一声)?[吧哦啊呀啦]?$"
)
_JOINING: Final = re.compile(r"[\s，、,的;；]*(?:在|于|从)?")
_UNTIL: Final = re.compile(r"(?:一?直到|到|至|截止到?|截至)\s*")
_UNTIL_END: Final = re.compile(r"\s*(?:为止|结束|止)")


def count(words: str) -> int:
    """Return a number up to 999 that is written in Chinese or in digits."""
    text = words.strip()
    if text.isdigit():
        return int(text)
    total, digit = 0, 0
    positional = not set(text) & set("十百")
    for character in text:
        if character in "十百":
            total += (digit or 1) * (10 if character == "十" else 100)
            digit = 0
        elif positional:
            digit = digit * 10 + _DIGITS[character]
        else:
            digit = _DIGITS[character]
    return total + digit


def read_weekday(character: str) -> int:
    """Return a day of the week, 0 for Sunday."""
    return 0 if character in "日天" else "一二三四五六".index(character) + 1


def read_span(words: str) -> tuple[float, int, int]:
    """Return a span as seconds, days and months: what is longer than hours goes by the calendar."""
    if re.fullmatch(r"半天", words):
        return 12 * HOUR, 0, 0
    if words.startswith(("半个", "半小", "半钟")):
        return 30 * MINUTE, 0, 0
    quarters = re.fullmatch(r"([一三])刻钟?", words)
    if quarters:
        return count(quarters[1]) * 15 * MINUTE, 0, 0
    seconds, days, months = 0.0, 0, 0
    for number, half, unit, after in re.findall(
        rf"({_NUMBER})\s*个?(半)?(秒|分|小时|钟头|天|日|周|星期|礼拜|月|年)钟?(半)?", words
    ):
        amount = count(number) + (0.5 if half or after else 0.0)
        if unit in "秒分" or unit in ("小时", "钟头"):
            seconds += amount * {"秒": 1.0, "分": MINUTE}.get(unit, HOUR)
        elif unit in "天日":
            days += int(amount)
            seconds += (amount - int(amount)) * 24 * HOUR
        elif unit in ("周", "星期", "礼拜"):
            days += round(amount * 7)
        else:
            months += round(amount * (12 if unit == "年" else 1))
    return seconds, days, months


def _read_in(found: re.Match[str]) -> Part:
    seconds, days, months = read_span(found["span"])
    if seconds:
        return Part(span=seconds + days * 86_400)
    if months:
        return Part(months=months, daypart=SAME, words=found[0])
    return Part(days=days, daypart=SAME, words=found[0])


_CLOCK_RE: Final = re.compile(_CLOCK)


def _read_clocks(found: re.Match[str]) -> Part | None:
    clocks = []
    part = ""
    for each in _CLOCK_RE.finditer(found[0]):
        part = _DAYPARTS[each["part"]] if each["part"] else part
        if each["hour1"]:
            hour, minute = int(each["hour1"]), int(each["minute1"])
        else:
            hour = count(each["hour2"])
            minute = count(each["minute2"] or "0")
            if each["half"]:
                minute = 30
            elif each["quarter"]:
                minute = 15 * count(each["quarter"])
        if hour > 24 or minute > 59 or (hour == 24 and minute):
            return Part(fault="when_no_such_clock", words=each[0])
        certain = hour > 12 or hour == 0 or (each["hour1"] or "").startswith("0")
        if part and not certain:
            hour, certain = place_in_part(hour, part), True
        clocks.append(ClockTime(hour, minute, certain, digits=bool(each["hour1"])))
    return Part(clocks=tuple(clocks))


def _read_clock_less(found: re.Match[str]) -> Part | None:
    """Return the time of day so many minutes before another one: 五点差十分, 差一刻五点."""
    clock = _CLOCK_RE.search(found[0])
    part = _read_clocks(clock) if clock else None
    if part is None or part.fault:
        return part
    less = 15 if "刻" in found["less"] else count(re.sub("分钟?", "", found["less"]))
    hour = part.clocks[0]
    daypart = _DAYPARTS[found["before"]] if found["before"] else ""
    if daypart and not hour.certain:
        hour = ClockTime(place_in_part(hour.hour, daypart), hour.minute, True)
    minutes = hour.hour * 60 + hour.minute - less
    if minutes < 0 or less > 59:
        return Part(fault="when_no_such_clock", words=found[0])
    return Part(clocks=(ClockTime(minutes // 60, minutes % 60, hour.certain),))


_DAY_WORDS: Final = {
    "今天": 0,
    "今日": 0,
    "今": 0,
    "今儿": 0,
    "明儿": 1,
    "后儿": 2,
    "明天": 1,
    "明日": 1,
    "明": 1,
    "后天": 2,
    "大后天": 3,
}
_HOLIDAYS: Final = {"元旦": (1, 1), "情人节": (2, 14), "国庆": (10, 1), "圣诞": (12, 25)}
"""Days that have the same date every year."""
_YEARS: Final = {"今年": 0, "明年": NEXT}


def _read_date(found: re.Match[str]) -> Part:
    return _read_date_of(found["year"], found["month"], found["day"], found[0])


def _read_date_of(year: str | None, month: str, day: str, words: str) -> Part:
    return Part(date=(_read_year(year), count(month), count(day)), words=words)


def _read_year(year: str | None) -> int:
    """Return a year, 0 where none is told."""
    return _YEARS[year] if year in _YEARS else int(re.sub(r"\D", "", year or "") or 0)


def _read_dates(found: re.Match[str]) -> Part:
    dates = tuple(
        (0, count(month), count(day))
        for month, day in re.findall(rf"({_NUMBER})月份?({_NUMBER})", found[0])
    )
    return Part(dates=dates, words=found[0])


def _read_weekday_once(found: re.Match[str]) -> Part:
    word = found["which"] or ""
    week = {"下": "after", "下个": "after", "下下": "third", "下下个": "third"}.get(word, "")
    return Part(weekday=read_weekday(found[0][-1]), week=week or ("this" if word else ""))


def _read_step(words: str) -> int:
    """Return the step of 每隔一 (every other), 每两 and 每."""
    number = re.search(_NUMBER, words)
    step = count(number[0]) if number else 1
    return 2 if "隔" in words and step == 1 else step


def _read_weekdays(words: str) -> tuple[int, ...]:
    spread = re.search(
        r"([一二三四五六日天])\s*(?:到|至|-|~)\s*(?:周|星期|礼拜)?([一二三四五六日天])", words
    )
    if spread:
        first, last = read_weekday(spread[1]), read_weekday(spread[2]) or 7
        return tuple(day % 7 for day in range(first, last + 1))
    days = re.findall("[一二三四五六日天]", re.sub("周|星期|礼拜|週|禮拜", "", words))
    return tuple(dict.fromkeys(read_weekday(each) for each in days))


_NEXT_DAY: Final = rf"(?:每?个?{_WEEKDAY}|[一二三四五六日天](?![点點\d月日号个天十]))"
_LIST: Final = rf"{_WEEKDAY}(?:\s*(?:到|至|-|~|、|和|跟|与|及|，|,)?\s*{_NEXT_DAY})*"


def _read_weekly(found: re.Match[str]) -> Part:
    days = _read_weekdays(found["days"])
    if "隔" in (found["step"] or "") and _read_step(found["step"][1:].replace("隔", "")) > 1:
        return Part(fault="when_how_often", words=found[0])
    return Part(
        unit="week", step=1 if not found["step"] else _read_step(found["step"]), weekdays=days
    )


def _read_every(found: re.Match[str]) -> Part:
    words, unit = found["step"] or "", found["unit"]
    step = _read_step(f"隔{words}" if found["gap"] else words)
    if found["gap"] and count(words) > 1 and not unit.startswith(("秒", "分", "小时", "钟头")):
        return Part(fault="when_how_often", words=found[0])  # every two days, or two between
    if words and count(words) == 0 and not found["half"]:
        return Part(fault="when_no_calendar", words=found[0])
    if found["half"] and unit == "年" and not words:
        return Part(unit="month", step=6)
    if found["half"] and unit not in ("小时", "钟头"):
        return Part(fault="when_no_calendar", words=found[0])
    if found["half"] and unit in ("小时", "钟头"):
        number = re.search(_NUMBER, words)
        return Part(every=(count(number[0]) if number else 0) * HOUR + 30 * MINUTE)
    if unit.startswith("秒"):
        return Part(fault="when_too_often")
    if unit.startswith("分") or unit in ("小时", "钟头"):
        number = re.search(_NUMBER, words)
        amount = count(number[0]) if number else 1
        return Part(every=amount * (MINUTE if unit.startswith("分") else HOUR))
    named = {"天": "day", "日": "day", "月": "month", "年": "year", "季度": "month"}
    return Part(unit=named.get(unit, "week"), step=step * (3 if unit == "季度" else 1))


def _read_mornings_and_evenings(found: re.Match[str]) -> Part | None:
    """Read 早晚八点, which are two times of the day."""
    hour, minute = count(found["hour"]), 30 if found["half"] else 0
    if not 5 <= hour <= 11:
        return None
    return Part(clocks=(ClockTime(hour, minute, True), ClockTime(hour + 12, minute, True)))


def _read_hours(found: re.Match[str]) -> Part | None:
    part = _read_clocks(found)
    if part is None or len(part.clocks) != 2:
        return part
    first, last = (each.hour for each in part.clocks)
    if last <= first and last < 12:
        last += 12
    return Part(hours=(first, last)) if first < last <= 24 else None


def _read_times_a_day(found: re.Match[str]) -> Part:
    """Read 每天两次, which says something where as many times of the day follow."""
    behind = _CLOCK_LIST.match(found.string, found.end())
    clocks = _CLOCK_RE.findall(behind[0]) if behind else ()
    if found["unit"] in "天日" and len(clocks) == count(found["count"]):
        return Part(unit="day", step=1)
    return Part(fault="when_which_times", words=found[0])


def _read_shift(found: re.Match[str]) -> Part:
    """Read 前两天 behind a day."""
    days = count(found["count"]) * (1 if found["unit"] == "天" else 7)
    return Part(shift=days if (found["way"] or "前") in "后後" else -days, weak=True)


def _read_number_of_times(found: re.Match[str]) -> Part:
    """Read 共三次, which ends a repetition, and 两次 beside as many times of the day, which only
    says again what these say.
    """
    lists = (_CLOCK_RE.findall(each[0]) for each in _CLOCK_LIST.finditer(found.string))
    number = count(found["count"])
    is_listed = number in map(len, lists) and not found["limit"]
    times = number if number > 1 and not is_listed else 0
    return Part(times=times, weak=not (times and found["limit"]))


def _read_last_days(found: re.Match[str]) -> Part | None:
    """Read 每三个月的最后一天."""
    step = count(found["step"]) if found["step"] else 1
    if found["unit"] is None:
        step = 2
    elif found["unit"].startswith("季"):
        step *= 3
    return Part(unit="month", step=step, month_days=("L",)) if step else None


def _read_last_day(found: re.Match[str]) -> Part:
    """Read 本月最后一天 and 12月最后一天, each once."""
    if found["month"]:
        return Part(
            date=(0, count(found["month"]), 0), period="month", closing=True, words=found[0]
        )
    later = found["which"].startswith(("下", "明"))
    if found["unit"] == "年":
        return Part(months=12 if later else 0, period="year", closing=True)
    return Part(months=1 if later else 0, period="month", closing=True)


_MONTH: Final = rf"(?:{_NUMBER}月份?)"
_AND: Final = r"\s*(?:、|和|跟|与|及|以及|，|,)\s*"
_MONTH_DAY: Final = rf"{_NUMBER}\s*(?:[号號日]|(?=[、和]))"

_PATTERNS: Final[tuple[Pattern, ...]] = (
    (re.compile(rf"(?:在|再?过|再)?\s*(?P<span>{_SPAN})\s*(?:之|以)?[后後]"), _read_in),
    (re.compile(rf"再?过\s*(?P<span>{_SPAN})"), _read_in),
    (
        re.compile(
            rf"昨天|昨日|昨晚|前天|前晚|上个?(?:月|周|星期|礼拜)[一二三四五六日天]?|去年|{_SPAN}(?:之|以)?前"
        ),
        lambda found: Part(fault="when_past", words=found[0]),
    ),
    (
        re.compile(rf"{_BARE_CLOCK}(?:\s*(?:、|和|跟|与|及|以及|，|,)\s*{_BARE_CLOCK})*"),
        _read_clocks,
    ),
    (
        re.compile(rf"从?{_BARE_CLOCK}\s*(?:到|至|-|~)\s*{_BARE_CLOCK}(?:之间|期间)?"),
        _read_hours,
    ),
    (
        re.compile(
            rf"(?:{'|'.join(each for each in _DAYPARTS if len(each) > 1)})|(?<=[今明每])[早晚]"
        ),
        lambda found: (
            Part(clocks=(ClockTime(24, 0, True),))
            if found[0] == "午夜"
            else Part(daypart=_DAYPARTS[found[0]])
        ),
    ),
    (
        re.compile(r"大后天|今天|今日|今儿|明天|明日|明儿|后天|后儿|今(?=[晚早])|明(?=[晚早])"),
        lambda found: Part(days=_DAY_WORDS[found[0]]),
    ),
    (
        re.compile(r"下(?:个)?(?:周|星期|礼拜)(?![一二三四五六日天末])"),
        lambda _: Part(days=7, period="week"),
    ),
    (
        re.compile(r"下个?月(?![一二三四五六七八九十\d]+[号號日])"),
        lambda _: Part(months=1, period="month"),
    ),
    (
        re.compile(rf"(?P<which>下下个?|下个?|这个?|本)?{_WEEKDAY}"),
        _read_weekday_once,
    ),
    (
        re.compile(r"(?P<which>下个?|这个?|本)周末"),
        lambda found: Part(weekday=6, week="after" if found[0].startswith("下") else "this"),
    ),
    (re.compile(r"周末(?!的)"), lambda _: Part(weekday=6, other=Part(weekday=0))),
    (
        re.compile(
            rf"{_WEEKDAY}(?:、?[一二三四五六日天])+(?<!一(?=大?早))(?=\s*(?:{_DAYPART}|\d))"
        ),
        lambda found: Part(unit="week", step=1, weekdays=_read_weekdays(found[0])),
    ),
    (
        re.compile(r"(?:再?过|再)?\s*半个月\s*(?:之|以)?[后後]"),
        lambda _: Part(days=15, daypart=SAME),
    ),
    (
        re.compile(r"(?:再?过|再)?\s*半年\s*(?:之|以)?[后後]"),
        lambda found: Part(months=6, daypart=SAME, words=found[0]),
    ),
    (
        re.compile(rf"每[天日]的?早上?[、和]?(?:中午?[、和]?)?晚上?(?!各?{_NUMBER}[点點])"),
        lambda found: Part(fault="when_which_times", words=found[0]),
    ),
    (
        re.compile(
            rf"(?:(?<=每天)|(?<=每日)|(?<=工作日))的?早晚各?(?P<hour>{_NUMBER})[点點]钟?(?P<half>半)?(?:各?一次)?"
        ),
        _read_mornings_and_evenings,
    ),
    (
        re.compile(
            rf"(?P<before>{_DAYPART})?的?(?:{_CLOCK})差(?P<less>{_NUMBER}分钟?|一刻钟?|{_NUMBER})(?![个天])"
        ),
        _read_clock_less,
    ),
    (
        re.compile(rf"(?P<before>{_DAYPART})?的?差(?P<less>{_NUMBER}分钟?|一刻钟?)到?(?:{_CLOCK})"),
        _read_clock_less,
    ),
    (
        re.compile(
            rf"(?P<year>\d{{4}}年|今年|明年)?(?P<month>{_NUMBER})月份?(?P<day>{_NUMBER})[日号號]?"
        ),
        _read_date,
    ),
    (
        re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})"),
        lambda found: Part(date=(int(found[1]), int(found[2]), int(found[3])), words=found[0]),
    ),
    (
        re.compile(rf"(?P<next>下个?月|本月|这个?月)?的?(?P<day>{_NUMBER})[号號]"),
        lambda found: Part(
            date=(0, NEXT if (found["next"] or "").startswith("下") else 0, count(found["day"])),
            words=found[0],
        ),
    ),
    (
        re.compile(rf"(?:下一?个?|{_NUMBER}个)工作日(?:[之以]?[后後内])?"),
        lambda _: Part(fault="when_no_workdays"),
    ),
    (
        re.compile(r"每一?个?工作日|工作日"),
        lambda _: Part(unit="week", step=1, weekdays=WORKDAYS),
    ),
    (
        re.compile(r"每一?个?(?:周末|双休日)"),
        lambda _: Part(unit="week", step=1, weekdays=WEEKEND),
    ),
    (
        re.compile(r"天天|每[晚早]"),
        lambda found: Part(
            unit="day", step=1, daypart={"每晚": "night", "每早": "morning"}.get(found[0], "")
        ),
    ),
    (
        re.compile(
            rf"每(?P<gap>隔)?\s*(?P<step>{_NUMBER})?\s*个?(?P<half>半)?(?P<unit>秒钟?|分钟?|小时|钟头|天|日|周|星期|礼拜"
            r"|月|年|季度)(?!末)"
        ),
        _read_every,
    ),
    (
        re.compile(r"隔(?=[天周])(?P<unit>[天周])"),
        lambda found: Part(unit="day" if found["unit"] == "天" else "week", step=2),
    ),
    (
        re.compile(
            rf"(?:(?P<step>每隔?\s*{_NUMBER}\s*个?(?:周|星期|礼拜)的?|每隔?\s*{_NUMBER}\s*个?(?=周|星期|礼拜)|隔(?=周))|每逢?个?)"
            rf"(?P<days>{_LIST})"
        ),
        _read_weekly,
    ),
    (
        re.compile(rf"每个?月的?\s*(?P<days>{_MONTH_DAY}(?:\s*[、和，,]\s*{_MONTH_DAY})*)"),
        lambda found: Part(
            unit="month",
            step=1,
            month_days=tuple(str(count(each)) for each in re.findall(_NUMBER, found["days"])),
        ),
    ),
    (
        re.compile(r"每个?月的?(?:最后一[天日]|月?底|末)"),
        lambda _: Part(unit="month", step=1, month_days=("L",)),
    ),
    (
        re.compile(rf"每个?月的?(?:第?(?P<nth>[一二三四])|最后一)个?(?P<day>{_WEEKDAY})"),
        lambda found: Part(
            unit="month",
            step=1,
            nth=(
                f"{read_weekday(found['day'][-1])}#{count(found['nth'])}"
                if found["nth"]
                else f"{read_weekday(found['day'][-1])}L"
            ),
        ),
    ),
    (
        re.compile(rf"{_WEEKDAY}(?:\s*(?:、|和|跟|与|及|，|,)\s*{_WEEKDAY})+"),
        lambda found: Part(unit="week", step=1, weekdays=_read_weekdays(found[0])),
    ),
    (
        re.compile(rf"{_WEEKDAY}\s*(?:到|至|-|~)\s*{_WEEKDAY}"),
        lambda found: Part(unit="week", step=1, weekdays=_read_weekdays(found[0])),
    ),
    (re.compile(r"每个?小时的?整点"), lambda _: Part(every=HOUR, hours=(0, 23))),
    (
        re.compile(r"每个?季度的?第一天"),
        lambda _: Part(unit="month", step=3, month_days=("1",)),
    ),
    (
        re.compile(r"(?:每年的?)?(?:农历|阴历|旧历)"),
        lambda found: Part(fault="when_no_calendar", words=found[0]),
    ),
    (
        re.compile(
            rf"(?:(?P<every>每年)|(?P<year>今年|明年|\d{{4}}年))?的?(?P<name>{'|'.join(_HOLIDAYS)})节?"
        ),
        lambda found: Part(
            date=(_read_year(found["year"]), *_HOLIDAYS[found["name"]]),
            words=found[0],
            unit="year" if found["every"] else "",
            step=1 if found["every"] else 0,
        ),
    ),
    (
        re.compile(r"[之以]前|前(?![台面往后端夫男女任天年去辈锋途言程晚])|[那当][天日]"),
        lambda _: Part(weak=True),
    ),
    (
        re.compile(r"(?:每个?)?月的?(?:第[一二三四]|最后一)个?工作日"),
        lambda found: Part(fault="when_no_calendar", words=found[0]),
    ),
    (
        re.compile(r"下个?月[底末]"),
        lambda _: Part(months=1, period="month", closing=True),
    ),
    (re.compile(r"(?:在)?(?:同一|同样的?|这个)时[间候]"), lambda _: Part(daypart=SAME, weak=True)),
    (
        re.compile(
            rf"(?<=[号號日节天旦诞庆一二三四五六])的?(?:[之以]?(?P<way>[前后後])|提(?=前)前)"
            rf"\s*(?P<count>{_NUMBER})\s*(?P<unit>天|个?(?:周|星期|礼拜))"
        ),
        _read_shift,
    ),
    (
        re.compile(
            rf"(?P<month>1[0-2]|0?[1-9])\.(?P<day>3[01]|[12]\d|0?[1-9])(?![\d.])[日号]?"
            rf"(?=\s*(?:{_BARE_CLOCK}|{_DAYPART}))"
        ),
        lambda found: _read_date_of("", found["month"], found["day"], found[0]),
    ),
    (
        re.compile(rf"[之以]?前\s*(?:{_SPAN}|一[天晚]|夜)"),
        lambda found: Part(fault="when_no_time", words=found[0]),
    ),
    (
        re.compile(
            r"大年(?:初[一二三四五]|三十)|除夕|春节|元宵节?|端午节?|中秋节?|重阳节?|清明节?"
        ),
        lambda found: Part(fault="when_no_such_date", words=found[0]),
    ),
    (
        re.compile(rf"(?:下个?月|本月|这个?月|{_MONTH})的?(?:第[一二三四]|最后一)个?{_WEEKDAY}"),
        lambda found: Part(fault="when_how_often", words=found[0]),
    ),
    (
        re.compile(r"(?:这个?|本)?(?P<unit>月|年)[底末]"),
        lambda found: Part(
            months=0, period="month" if found["unit"] == "月" else "year", closing=True
        ),
    ),
    (
        re.compile(rf"(?P<months>{_MONTH}(?:{_AND}{_MONTH})*)(?:的|里)?(?=每)"),
        lambda found: Part(
            in_months=tuple(count(each) for each in re.findall(_NUMBER, found["months"]))
        ),
    ),
    (
        re.compile(
            rf"从?(?P<month>{_NUMBER})月份?(?P<first>{_NUMBER})[日号號]?\s*(?:到|至|-|~)\s*(?P<last>{_NUMBER})[日号號]"
        ),
        lambda found: Part(
            start=_read_date_of("", found["month"], found["first"], found[0]),
            until=_read_date_of("", found["month"], found["last"], found[0]),
        ),
    ),
    (re.compile(rf"每年的?(?={_NUMBER}月)"), lambda _: Part(unit="year", step=1)),
    (
        re.compile(
            rf"每年的?(?P<months>{_MONTH}(?:{_AND}{_MONTH})*)(?![底\d零一二两三四五六七八九十])的?"
        ),
        lambda found: Part(
            unit="year",
            step=1,
            in_months=tuple(count(each) for each in re.findall(_NUMBER, found["months"])),
        ),
    ),
    (
        re.compile(rf"{_MONTH}{_NUMBER}[日号號](?:{_AND}{_MONTH}{_NUMBER}[日号號])+"),
        _read_dates,
    ),
    (
        re.compile(rf"(?P<limit>一共|总共|共|重复)?\s*(?P<count>{_NUMBER})\s*[次遍回]"),
        _read_number_of_times,
    ),
    (
        re.compile(rf"[一每](?P<unit>[天周日月年])(?P<count>{_NUMBER})[次遍回]"),
        _read_times_a_day,
    ),
    (
        re.compile(
            rf"每(?:(?P<step>{_NUMBER})个|个)?(?P<unit>月|季度?)的?最后一[天日]|每隔一个月的?最后一[天日]"
        ),
        _read_last_days,
    ),
    (
        re.compile(
            rf"(?P<which>下个?|本|这个?|今|明)(?P<unit>月|年)的?最后一[天日]"
            rf"|(?P<month>{_NUMBER})月份?的?最后一[天日]"
        ),
        _read_last_day,
    ),
    (
        re.compile(rf"持续(?P<span>{_SPAN})"),
        lambda found: Part(lasting=sum_span(read_span(found["span"]))),
    ),
)

_PERIODS: Final[tuple[Pattern, ...]] = (
    (
        re.compile(r"(?:这个?|本)?(?:年底|年末)|今年(?:年底|年末)"),
        lambda _: Part(months=0, period="year", closing=True),
    ),
    (
        re.compile(r"(?:这个?|本)?(?:月底|月末)"),
        lambda _: Part(months=0, period="month", closing=True),
    ),
    (
        re.compile(
            rf"(?P<year>\d{{4}}年|今年|明年)?(?P<month>{_NUMBER})月份?(?P<end>底|末)?(?!\d)"
        ),
        lambda found: replace(
            _read_date_of(found["year"], found["month"], "0", found[0]),
            period="month",
            closing=bool(found["end"]),
        ),
    ),
)
_START: Final = re.compile(r"[从自]\s*|(?P<pair>(?=.{1,16}?(?:开始|起)))")
_START_END: Final = re.compile(r"\s*(?:开始|起(?![床来飞]))")

CHINESE: Final = Language(
    patterns=_PATTERNS,
    periods=_PERIODS,
    filler=_FILLER,
    joining=_JOINING,
    until=_UNTIL,
    until_end=_UNTIL_END,
    start=_START,
    start_end=_START_END,
    edges=re.compile(r"^[在于]$"),
    asked_edges=re.compile(r"(?!)"),
    asked_behind=_ASKED_BEHIND,
)
