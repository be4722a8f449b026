"""Read when somebody wants something, in the words of a chat.

No library reads repetitions in both English and Chinese, or finds where the time ends and the text
begins, so the grammar is our own: docs/schedules.md describes it. Each language has a file of
patterns; what stands here is the same for all of them. A phrase with two readings is asked about.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time, timedelta
from typing import Final

from functions.agent.schedules.chinese import CHINESE
from functions.agent.schedules.english import ENGLISH, place_in_part
from functions.agent.schedules.phrase_part import (
    NEXT,
    SAME,
    ClockTime,
    Language,
    Part,
    Pattern,
    combine,
)
from functions.agent.schedules.when import WEEK, When, expand_cron, find_next
from functions.texts.en import Texts
from functions.time.time_zone import find_zone, is_known, load_zone, to_local
from sigil.errors import UsageError

DEFAULT_HOURS: Final = {
    "": 9,
    "early": 5,
    "morning": 9,
    "noon": 12,
    "afternoon": 15,
    "evening": 19,
    "night": 20,
}
"""The hour of a day, or of a part of a day, of which no hour was said."""
MORNING: Final = range(7, 13)
"""Hours of 12 that are those of the morning, unless something else is said."""
WAKING: Final = range(7, 19)
SOON_DAYS: Final = 400
LATEST_YEAR: Final = 2199
READ_CHARACTERS: Final = 240
"""A time stands in so many of the first or the last characters of a text."""
_WIDE: Final = {
    code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "，；！？"
}
_CJK: Final = re.compile("[\u3400-\u9fff]")
_EDGE: Final = " \t\n\r,.;:!?，。；：！？、-"
_LEFT_OVER: Final = re.compile(r"^(?:to|that|about|and)\s+", re.IGNORECASE)
_ALARM: Final = re.compile(r"(?:给我)?[设定订]置?(?:一?个)?的?(?:闹钟|提醒)")
"""What remains of “set an alarm for” once the time is taken out of its middle."""
_TRAILING: Final = re.compile(r"(?:\s(?:on|at|and|in|from|by)|^[在于])$", re.IGNORECASE)
_FIELD: Final = r"[\d*?][\d*,/\-]*"
_CRON: Final = re.compile(
    rf"(?:cron:?\s*)?[`\"']?({_FIELD}\s+{_FIELD}\s+(?:{_FIELD}|LW?)\s+[\d*A-Za-z][\w*,/\-]*\s+"
    r"[\d*A-Za-z][\w*,/\-#]*|@(?:hourly|daily|midnight|weekly|monthly|yearly|annually)\b)[`\"']?",
    re.IGNORECASE,
)
_ZONE_NAME: Final = re.compile(
    r"(?:in\s+|\()?([A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_+\-]+){1,2}|UTC|GMT)\)?"
)
_ZONE_CITY: Final = re.compile(
    r"(?:in\s+)?([A-Z][a-z]+(?: [A-Z][a-z]+)?)\s+(?:local\s+)?time\b|([\u4e00-\u9fff]{2,3})时间"
)


class Question(UsageError):
    """What was said is no time, or may be two: one question back.

    `key` is the name of its text in `Texts`.
    """

    def __init__(self, key: str, texts: Texts, **facts: str) -> None:
        sentence: str = getattr(texts, key)
        super().__init__("EINVAL", sentence.format(**facts))
        self.key = key


@dataclass(frozen=True, slots=True)
class _Cluster:
    """The parts of a time that stand side by side in a text."""

    start: int
    end: int
    part: Part


def parse_when(words: str, now: float, zone: str, texts: Texts) -> tuple[When, str]:
    """Return when somebody wants something, and the rest of the words; `Question` for no time, an
    impossible one, or two that may be meant.
    """
    text = words.translate(_WIDE)
    languages = _choose_languages(text)
    found = _find_clusters(text, languages)
    if not found:
        raise Question("when_no_time", texts)
    chosen, part = _choose(text, found, languages)
    when = _Resolver(now, part.zone or zone, texts).resolve(part)
    return when, _cut(words, text, chosen, languages)


def split_time(words: str) -> tuple[str, str]:
    """Return the words that tell a time, and the rest of the words; the first is empty for none."""
    text = words.translate(_WIDE)
    languages = _choose_languages(text)
    found = _find_clusters(text, languages)
    if not found:
        return "", words.strip()
    chosen, _ = _choose(text, found, languages)
    chosen.sort(key=lambda each: each.start)
    times = " ".join(words[cluster.start : cluster.end] for cluster in chosen)
    return times, _cut(words, text, chosen, languages)


def _choose_languages(text: str) -> tuple[Language, ...]:
    return (CHINESE, ENGLISH) if _CJK.search(text) else (ENGLISH,)


def _read_cron(found: re.Match[str]) -> Part | None:
    if "*" not in found[1] and not found[0].lower().startswith(("cron", "@", "`")):
        return None
    cron = expand_cron(found[1])
    return Part(cron=cron, unit="cron") if cron else Part(fault="when_no_cron", words=found[1])


def _read_zone(found: re.Match[str]) -> Part | None:
    zone = find_zone(found[1])
    return (
        Part(zone=zone, weak=True)
        if zone
        else Part(fault="when_no_zone", words=found[1], weak=True)
    )


def _read_zone_city(found: re.Match[str]) -> Part | None:
    zone = find_zone(found[1] or found[2])
    return Part(zone=zone, weak=True) if zone else None


_COMMON: Final[tuple[Pattern, ...]] = (
    (_CRON, _read_cron),
    (_ZONE_NAME, _read_zone),
    (_ZONE_CITY, _read_zone_city),
)


def _find_clusters(text: str, languages: Sequence[Language]) -> list[_Cluster]:
    """Return the times in a text, in order; of a long one those at its beginning and its end."""
    found = []
    at = 0
    while at < len(text):
        if READ_CHARACTERS < at < len(text) - READ_CHARACTERS:
            at = len(text) - READ_CHARACTERS
        cluster = _grow(text, at, languages) if _is_boundary(text, at) else None
        if cluster is None:
            at += 1
        else:
            found.append(cluster)
            at = cluster.end
    return found


def _is_boundary(text: str, at: int) -> bool:
    """Return whether a word may begin here. Chinese has no spaces between its words."""
    if text[at].isspace():
        return False
    pair = text[max(at - 1, 0) : at + 1]
    return at == 0 or not pair.isalnum() or bool(_CJK.search(pair))


def _match(text: str, at: int, languages: Sequence[Language]) -> list[tuple[int, Part]]:
    """Return what the text may say from here on, the longest first."""
    found: list[tuple[int, Part]] = []
    for language in languages:
        until = language.until.match(text, at)
        if until:
            inner = _grow(text, until.end(), languages)
            if inner and not inner.part.repeats and not inner.part.until:
                found.append((_skip_until_end(text, inner.end, language), Part(until=inner.part)))
        for pattern, read in language.patterns:
            match = pattern.match(text, at)
            part = read(match) if match and match[0] else None
            if match and part:
                found.append((match.end(), part))
    for pattern, read in _COMMON:
        match = pattern.match(text, at)
        part = read(match) if match else None
        if match and part:
            found.append((match.end(), part))
    return sorted(found, key=lambda each: -each[0])


def _skip_until_end(text: str, at: int, language: Language) -> int:
    end = language.until_end.match(text, at)
    return end.end() if end else at


def _grow(text: str, at: int, languages: Sequence[Language]) -> _Cluster | None:
    """Return the time that begins here, with all parts that follow."""
    begun = [
        (end, part)
        for end, part in _match(text, at, languages)
        if not (part.lasting or (part.weak and not part.zone))
    ]
    if not begun:
        return None
    end, part = begun[0]
    growing = True
    while growing:
        growing = False
        for skipped in _skip_joints(text, end, languages):
            for next_end, more in _match(text, skipped, languages):
                joined = combine(part, more)
                if joined:
                    end, part, growing = next_end, joined, True
                    break
            if growing:
                break
    if part.zone and not (part.tells_day or part.tells_clock or part.repeats):
        return None  # a zone is no time
    return _Cluster(at, end, replace(part, weak=False))


def _skip_joints(text: str, at: int, languages: Sequence[Language]) -> list[int]:
    """Return where the next part may begin: behind spaces, a comma or “remind me to”."""
    places = [at]
    for language in languages:
        joint = language.joining.match(text, at)
        end = joint.end() if joint else at
        filler = language.filler.match(text, end)
        spaces = len(text) - len(text[at:].lstrip(" ,，、")) if end > at else at
        places += [spaces, end]
        if filler:
            joint = language.joining.match(text, filler.end())
            places.append(joint.end() if joint else filler.end())
    return sorted({each for each in places if each < len(text) and _is_boundary(text, each)})


def _choose(
    text: str, found: Sequence[_Cluster], languages: Sequence[Language]
) -> tuple[list[_Cluster], Part]:
    """Return the times in a text that tell when, and what they say together."""
    begin = len(text) - len(text.lstrip(_EDGE))
    for language in languages:
        filler = language.filler.match(text, begin)
        if filler:
            joint = language.joining.match(text, filler.end())
            begin = joint.end() if joint else filler.end()
    end = len(text.rstrip(_EDGE))

    def is_at_edge(cluster: _Cluster) -> bool:
        return cluster.start <= begin or cluster.end >= end

    def rank(cluster: _Cluster) -> tuple[bool, bool, bool, int]:
        part = cluster.part
        tells_all = bool(part.span or part.cron or part.every) or (
            (part.repeats or part.tells_day) and part.tells_clock
        )
        return (not part.fault, is_at_edge(cluster), tells_all, -cluster.start)

    best = max(found, key=rank)
    chosen, said = [best], best.part
    for cluster in found:
        part = cluster.part
        # a time of day in the middle counts where it is told exactly, and the day has none
        told = bool(part.clocks) and all(clock.certain for clock in part.clocks)
        if cluster is best or part.fault or not (told or is_at_edge(cluster)):
            continue
        tells_time = part.tells_day or part.repeats
        if (tells_time and (said.tells_day or said.repeats)) or (
            part.tells_clock and said.tells_clock
        ):
            continue
        joined = combine(said, part)
        if joined:
            chosen.append(cluster)
            said = joined
    return chosen, said


def _cut(words: str, text: str, chosen: Sequence[_Cluster], languages: Sequence[Language]) -> str:
    """Return the words without the times and without “remind me to” beside them."""
    pieces = []
    at = 0
    for cluster in sorted(chosen, key=lambda each: each.start):
        pieces.append(words[at : cluster.start])
        at = cluster.end
    pieces.append(words[at:])
    kept = [_clean(piece, languages) for piece in pieces]
    kept = [piece for piece in kept if piece]
    joint = "" if _CJK.search(text) else " "
    rest = joint.join(kept)
    return "" if _ALARM.fullmatch(rest) else rest


def _clean(piece: str, languages: Sequence[Language]) -> str:
    """Return a piece of the rest without what only leads to it."""
    before = None
    kept = piece.strip(_EDGE)
    while kept != before:
        before = kept
        for language in languages:
            filler = language.filler.match(kept)
            if filler:
                kept = kept[filler.end() :].strip(_EDGE)
        kept = _LEFT_OVER.sub("", kept).strip(_EDGE)
        kept = _TRAILING.sub("", kept).strip(_EDGE)
    return kept


class _Resolver:
    """Finds out which moments are meant, by the clocks of a zone."""

    def __init__(self, now: float, zone: str, texts: Texts) -> None:
        self._now = now
        self._zone = zone
        self._texts = texts
        if not is_known(zone):
            raise Question("when_no_zone", texts, words=zone)
        self._local = to_local(now, zone)
        self._today = self._local.date()

    def resolve(self, part: Part) -> When:
        """Return what a part that says everything means."""
        if part.fault == "when_date_order" and part.date:
            year, month, day = part.date
            raise self._ask_for_days(
                self._find_date((year, month, day), part.words),
                self._find_date((year, day, month), part.words),
            )
        if part.fault:
            raise Question(part.fault, self._texts, words=part.words.strip())
        if part.repeats:
            return self._resolve_repetition(part)
        if part.times > 1:
            raise Question("when_how_often", self._texts)
        if part.until and not (part.tells_day or part.tells_clock):
            raise Question("when_how_often", self._texts)
        at = self._resolve_once(part)
        if at <= self._now:
            raise Question("when_past_at", self._texts, time=self._show(at))
        return When(kind="at", at=at, zone=self._zone)

    # --- once ---

    def _resolve_once(self, part: Part) -> float:
        if part.span:
            if part.span < 1:
                raise Question("when_no_time", self._texts)
            return self._now + part.span
        if not part.tells_day:
            return self._resolve_clock_alone(part)
        day = self._resolve_day(part)
        if len(part.clocks) > 1:
            raise self._ask_for_clocks(part.clocks)
        if part.clocks:
            clock = part.clocks[0]
            hour = self._fix_hour(clock, part.daypart, day)
            return self._find_moment(day, hour, clock.minute)
        if part.daypart == SAME:
            return self._find_moment(day, self._local.hour, self._local.minute)
        if not part.daypart and day == self._today:
            raise Question("when_which_clock", self._texts)
        return self._find_moment(day, DEFAULT_HOURS[part.daypart], 0)

    def _resolve_clock_alone(self, part: Part) -> float:
        """Return the next time that a clock shows a time of day."""
        if len(part.clocks) > 1:
            raise self._ask_for_clocks(part.clocks)
        if not part.clocks:
            clock = ClockTime(DEFAULT_HOURS[part.daypart], 0, True)
        else:
            clock = part.clocks[0]
        if part.daypart and part.clocks and not clock.certain:
            clock = replace(clock, hour=place_in_part(clock.hour, part.daypart), certain=True)
        if clock.certain or not 1 <= clock.hour <= 12:
            return self._find_coming(clock.hour, clock.minute)
        readings = sorted(
            self._find_coming(hour, clock.minute)
            for hour in (clock.hour % 12, clock.hour % 12 + 12)
        )
        first = to_local(readings[0], self._zone)
        if first.date() == self._today and first.hour in WAKING:
            return readings[0]
        raise self._ask(readings)

    def _find_coming(self, hour: int, minute: int) -> float:
        at = self._find_moment(self._today, hour, minute)
        if at <= self._now:
            at = self._find_moment(self._today + timedelta(days=1), hour, minute)
        return at

    def _resolve_day(self, part: Part) -> date:
        try:
            if part.date:
                return self._find_date(part.date, part.words)
            if part.days is not None:
                return self._today + timedelta(days=part.days)
            if part.months is not None:
                return self._add_months(part.months)
        except (OverflowError, ValueError):
            raise Question("when_no_such_date", self._texts, words=part.words) from None
        return self._find_weekday(part)

    def _add_months(self, months: int) -> date:
        index = self._today.year * 12 + self._today.month - 1 + months
        year, month = index // 12, index % 12 + 1
        if year > LATEST_YEAR:
            raise OverflowError
        return date(year, month, min(self._today.day, calendar.monthrange(year, month)[1]))

    def _find_weekday(self, part: Part) -> date:
        """Return the day that a day of the week means; weeks begin on Monday."""
        wanted = ((part.weekday or 0) - 1) % WEEK
        monday = self._today - timedelta(days=self._today.weekday())
        this = monday + timedelta(days=wanted)
        coming = this if this >= self._today else this + timedelta(days=WEEK)
        if part.week == "this":
            if this < self._today:
                raise Question("when_past_at", self._texts, time=self._texts.format_day(this))
            return this
        if part.week in ("after", "third"):
            return this + timedelta(days=WEEK if part.week == "after" else 2 * WEEK)
        if part.week == "next":
            if this > self._today:
                raise self._ask_for_days(this, this + timedelta(days=WEEK))
            return this + timedelta(days=WEEK)
        if part.week == "after coming":
            return coming + timedelta(days=WEEK)
        if coming == self._today and self._is_over(part):
            return coming + timedelta(days=WEEK)
        return coming

    def _is_over(self, part: Part) -> bool:
        """Return whether today's time of a part has passed already."""
        if part.clocks:
            hour = part.clocks[0].hour
            if not part.clocks[0].certain and hour < 12 and hour not in MORNING:
                hour += 12
            return self._find_moment(self._today, hour, part.clocks[0].minute) <= self._now
        hour = DEFAULT_HOURS.get(part.daypart, 9)
        return self._find_moment(self._today, hour, 0) <= self._now

    def _find_date(self, told: tuple[int, int, int], words: str) -> date:
        """Return the date that is told; without a year, the next one."""
        year, month, day = told
        wrong = Question("when_no_such_date", self._texts, words=words.strip())
        if month in (0, NEXT):
            first = self._today.replace(day=1)
            if month == NEXT:
                first = (first + timedelta(days=32)).replace(day=1)
            for _ in range(12):
                if 1 <= day <= calendar.monthrange(first.year, first.month)[1]:
                    found = first.replace(day=day)
                    if found >= self._today:
                        return found
                elif month == NEXT:
                    break
                first = (first + timedelta(days=32)).replace(day=1)
            raise wrong
        if year in (0, NEXT):
            start = self._today.year + (1 if year == NEXT else 0)
            for each in range(start, start + (9 if year == 0 else 1)):
                if 1 <= month <= 12 and 1 <= day <= calendar.monthrange(each, month)[1]:
                    found = date(each, month, day)
                    if found >= self._today:
                        return found
            raise wrong
        if year > LATEST_YEAR:
            raise wrong
        try:
            return date(year, month, day)
        except ValueError:
            raise wrong from None

    def _fix_hour(self, clock: ClockTime, daypart: str, day: date) -> int:
        """Return the hour of 24 that is meant on a day; a question when it may be two."""
        if clock.certain or not 1 <= clock.hour <= 12:
            return clock.hour
        if daypart and daypart != SAME:
            return place_in_part(clock.hour, daypart)
        readings = sorted(
            self._find_moment(day, hour, clock.minute)
            for hour in (clock.hour % 12, clock.hour % 12 + 12)
        )
        coming = [each for each in readings if each > self._now]
        if len(coming) == 1:
            return to_local(coming[0], self._zone).hour
        if clock.hour in MORNING:
            return clock.hour
        raise self._ask(readings)

    def _find_moment(self, day: date, hour: int, minute: int) -> float:
        """Return when clocks show a time; of a skipped one the first minute after the gap."""
        moment = datetime.combine(
            day + timedelta(days=hour // 24), time(hour % 24, minute), load_zone(self._zone)
        )
        at = moment.timestamp()
        while to_local(at, self._zone).replace(tzinfo=None) != moment.replace(tzinfo=None):
            moment += timedelta(minutes=1)
            at = moment.timestamp()
        return at

    # --- again and again ---

    def _resolve_repetition(self, part: Part) -> When:
        base = self._build(part)
        until = self._resolve_end(part)
        when = replace(base, until=until, times=part.times)
        if find_next(when, self._now, began=self._now) is None:
            raise Question("when_never", self._texts)
        return when

    def _build(self, part: Part) -> When:
        """Return the repetition without its end."""
        if part.cron:
            return When(kind="cron", cron=part.cron, zone=self._zone)
        if part.every and (part.unit or part.hours):
            return self._build_within_days(part)
        if part.every:
            if part.every < 60:
                raise Question("when_too_often", self._texts)
            return When(kind="every", every=part.every, zone=self._zone)
        minute, hours = self._build_clock(part)
        step = max(part.step, 1)
        if part.unit == "week" or (
            part.unit == "day" and (part.weekdays or part.weekday is not None)
        ):
            days = (*part.weekdays, *(() if part.weekday is None else (part.weekday,)))
            return self._build_days(minute, hours, step * WEEK, days)
        if part.unit == "day":
            return self._build_days(minute, hours, step, ())
        days_of_month = ",".join(part.month_days)
        if part.nth:
            return self._build_months(f"{minute} {hours} *", step, part.nth)
        if part.unit == "month":
            if not days_of_month:
                days_of_month = str(part.date[2] if part.date else self._today.day)
            if not all(each == "L" or 1 <= int(each) <= 31 for each in days_of_month.split(",")):
                raise Question("when_no_such_date", self._texts, words=part.words or days_of_month)
            return self._build_months(f"{minute} {hours} {days_of_month}", step, "*")
        day = self._find_date(part.date, part.words) if part.date else self._today
        if step > 1:
            raise Question("when_no_calendar", self._texts)
        return self._make(f"{minute} {hours} {day.day} {day.month} *")

    def _build_clock(self, part: Part) -> tuple[str, str]:
        """Return the fields of the minute and the hours of a repetition."""
        if part.hours:
            return "0", f"{part.hours[0]}-{min(part.hours[1], 23)}"
        if part.clocks:
            minutes = {clock.minute for clock in part.clocks}
            if len(minutes) > 1:
                raise Question("when_one_minute", self._texts)
            hours = sorted(
                {self._fix_hour_of_days(clock, part.daypart) % 24 for clock in part.clocks}
            )
            return str(minutes.pop()), ",".join(map(str, hours))
        if part.daypart == SAME or (
            part.unit != "day" and not part.daypart and self._is_plain(part)
        ):
            return str(self._local.minute), str(self._local.hour)
        return "0", str(DEFAULT_HOURS[part.daypart] % 24)

    def _is_plain(self, part: Part) -> bool:
        """Return whether nothing but the unit was said: it then begins from now."""
        return not (
            part.weekdays or part.weekday is not None or part.month_days or part.nth or part.date
        )

    def _fix_hour_of_days(self, clock: ClockTime, daypart: str) -> int:
        if clock.certain or not 1 <= clock.hour <= 12:
            return clock.hour
        if daypart:
            return place_in_part(clock.hour, daypart)
        if clock.hour in MORNING:
            return clock.hour
        raise Question(
            "when_two_readings",
            self._texts,
            first=f"{clock.hour:02}:{clock.minute:02}",
            second=f"{clock.hour + 12}:{clock.minute:02}",
        )

    def _build_within_days(self, part: Part) -> When:
        """Return a repetition of minutes or hours that only some days or hours have."""
        minutes = round(part.every / 60)
        first, last = part.hours or (0, 23)
        days = ",".join(map(str, sorted(part.weekdays))) or "*"
        if part.unit not in ("", "day", "week") or part.step > 1:
            raise Question("when_no_calendar", self._texts)
        if minutes >= 60 and minutes % 60 == 0 and minutes <= 12 * 60:
            hours = f"{first}-{min(last, 23)}"
            step = minutes // 60
            return self._make(f"0 {hours}{f'/{step}' if step > 1 else ''} * * {days}")
        if minutes and 60 % minutes == 0:
            end = last - 1 if part.hours else last
            hours = f"{first}-{min(end, 23)}" if part.hours else "*"
            return self._make(f"*/{minutes} {hours} * * {days}")
        raise Question("when_no_calendar", self._texts)

    def _build_days(self, minute: str, hours: str, cycle: int, days: Sequence[int]) -> When:
        """Return a repetition every so many days, of weeks on certain days of the week."""
        if cycle > SOON_DAYS:
            raise Question("when_no_calendar", self._texts)
        if cycle % WEEK == 0 and not days:
            first = self._find_first(f"{minute} {hours} * * *")
            days = (first.isoweekday() % WEEK,)
        field = ",".join(map(str, sorted(set(days)))) if days else "*"
        if field == "1,2,3,4,5":
            field = "1-5"
        made = self._make(f"{minute} {hours} * * {field}")
        if cycle in (1, WEEK):
            return made
        first = self._find_first(made.cron)
        if cycle % WEEK == 0:
            first -= timedelta(days=first.weekday())
        return replace(made, cycle=cycle, anchor=first.isoformat())

    def _build_months(self, start: str, step: int, weekday: str) -> When:
        if step == 1:
            return self._make(f"{start} * {weekday}")
        if step == 12:
            first = self._find_first(f"{start} * {weekday}")
            return self._make(f"{start} {first.month} {weekday}")
        if 12 % step:
            raise Question("when_no_calendar", self._texts)
        quarter = step == 3 and start[-2:] == " 1"
        first_month = 1 if quarter else self._find_first(f"{start} * {weekday}").month
        months = sorted((first_month - 1 + index * step) % 12 + 1 for index in range(12 // step))
        return self._make(f"{start} {','.join(map(str, months))} {weekday}")

    def _make(self, cron: str) -> When:
        if not expand_cron(cron):
            raise Question("when_no_cron", self._texts, words=cron)
        return When(kind="cron", cron=cron, zone=self._zone)

    def _find_first(self, cron: str) -> date:
        found = find_next(self._make(cron), self._now, began=self._now)
        if found is None:
            raise Question("when_never", self._texts)
        return to_local(found, self._zone).date()

    def _resolve_end(self, part: Part) -> float:
        if part.lasting:
            return self._now + part.lasting
        end = part.until
        if end is None:
            return 0.0
        if end.fault:
            raise Question(end.fault, self._texts, words=end.words)
        if end.tells_clock or end.span:
            at = self._resolve_once(end)
        else:
            at = self._find_moment(self._resolve_day(end), 23, 59)
        if at <= self._now:
            raise Question("when_past_at", self._texts, time=self._show(at))
        return at

    # --- questions ---

    def _ask(self, readings: Sequence[float]) -> Question:
        first, second = map(self._show, readings)
        return Question("when_two_readings", self._texts, first=first, second=second)

    def _ask_for_days(self, first: date, second: date) -> Question:
        return Question(
            "when_two_readings",
            self._texts,
            first=self._texts.format_day(first),
            second=self._texts.format_day(second),
        )

    def _ask_for_clocks(self, clocks: Sequence[ClockTime]) -> Question:
        first, second = (f"{each.hour:02}:{each.minute:02}" for each in clocks[:2])
        return Question("when_two_readings", self._texts, first=first, second=second)

    def _show(self, at: float) -> str:
        moment = to_local(at, self._zone)
        return f"{self._texts.format_day(moment.date())} {moment:%H:%M}"
