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
from itertools import pairwise
from typing import Final

from functions.agent.schedules.iso_time import ISO_TIME, read_clock, read_moment
from functions.agent.schedules.loose_clock import LOOSE_CLOCKS
from functions.agent.schedules.phrase_part import (
    NEXT,
    SAME,
    ClockTime,
    Language,
    Part,
    Pattern,
    combine,
    place_in_part,
)
from functions.agent.schedules.unread_words import find_unread
from functions.agent.schedules.when import WEEK, When, expand_cron, find_next
from functions.texts.en import Texts
from functions.texts.languages import detect_language
from functions.time.time_zone import find_zone, from_local, is_known, suggest_zones, to_local
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
EARLIEST_YEAR: Final = 1971
LATEST_YEAR: Final = 2199
CRONS_MOST: Final = 12
"""A repetition needs so many cron expressions at most."""
READ_CHARACTERS: Final = 240
"""A time stands in so many of the first or the last characters of a text."""
_WIDE: Final = {
    code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F) if chr(code) not in "，；！？"
}
_CJK: Final = re.compile("[\u3400-\u9fff]")
_EDGE: Final = " \t\n\r,.;:!?，。；：！？、-"
_GERMAN: Final = re.compile(
    r"\b(?:um|uhr|\d{1,2}uhr|heute?\b|er+in+er|gegen\s+\d|(?:\d|\b)(?:std|sek)\b|(?:mo|di|mi|do|fr|sa|so)\b\.?(?=\s*(?:,|und|/|\+|\d|(?:mo|di|mi|do|fr|sa|so)\b))|(?:diesen|am)\s+(?:mo|di|mi|do|fr|sa|so)\b|(?:vor)?gestern|heilig|silvester|neujahr|nikolaus|weihnacht|halb|dreiviertel"
    r"|viertel|\w*mal\s+(?:am|pro|im|die|in|t)|alle|jede|immer|erinner|anderthalb|\w*einhalb|werktags|wochentags|wochenend|mitternacht"
    r"|\w*mittags?\b|morgens|abends|nachts|am\s+(?:\d{1,2}\.|abend|morgen|fr|sp|\w+ten?\s)|ab\s+"
    r"|(?:(?:ü|ue)ber)?morgen|\w*(?:t(?:ä|ae)g|st(?:ü|ue)nd|w(?:ö|oe)chent|monat|j(?:ä|ae)hr)lich"
    r"|(?:sonn|mon|diens|donners|frei|sams)tag|mittwoch|sonnabend|januar|j(?:ä|ae)nner|februar"
    r"|m(?:ä|ae)rz|mai|jun[io]\b|jul[io]\b|oktober|dez(?:ember)?\b|\d{1,2}\.\s?\d{1,2}\."
    r"|\d{1,2}\.\s+(?:jan|feb|apr|aug|sep|okt|nov)"
    r"|\w*(?:sekunde|minuten|stunde|woche|monat|jahr)(?:n|en)?\b|tagen?\b|tage?s?ende|\w+er\s+zeit\b)",
    re.IGNORECASE,
)
"""Words without which there is hardly a time in German. A false one costs time alone."""
_ENGLISH: Final = re.compile(
    r"\b(?!min|sec|utc|gmt|cron|jan|feb|apr|aug|sep|nov|in\b|am\b)(?:[a-z]{3,}|at|on)\b",
    re.IGNORECASE,
)
"""A word of a time that is none of German as well."""
_ENGLISH_ALONE: Final = re.compile(r"\b(?:january|february|the|at|every|on)\b", re.IGNORECASE)
_ALARM: Final = re.compile(r"(?:给我)?[设定订]置?(?:一?个)?的?(?:闹钟|提醒)")
"""What remains of “set an alarm for” once the time is taken out of its middle."""
_BETWEEN: Final = re.compile(
    r"[\s,;、，；]*(?:(?:and|or|und|oder)\b|和|跟|以及|或者?|还是|的|&)?\s*", re.IGNORECASE
)
_CHOICE: Final = re.compile(
    r"\s*(?:or|oder)\s+(?:\d|half|one|two|three|four|five|six|seven|eight|nine|ten|zwei|drei)"
    r"|\s*(?:或者?|还是)[\d一二两三四五六七八九十]",
    re.IGNORECASE,
)
_OWNING: Final = re.compile("['’]s\\b|的")
_EXCEPT_BEHIND: Final = re.compile(
    r"[\s,，]*(?:(?:except|excluding|apart from|au(?:ß|ss)er)\b|除了|除外"
    r"|(?:(?:but|aber|nicht|ohne)\b|但)(?=[^,.，。]{0,20}(?:day|weekend|tag|mittwoch|wochenende|周|星期|节)))",
    re.IGNORECASE,
)
_EXCEPT_BEFORE: Final = re.compile(
    r"(?:\b(?:except|excluding|not|au(?:ß|ss)er|nicht)|除了?)\s*(?:on\s|am\s)?$", re.IGNORECASE
)
_SOME_DATE: Final = re.compile(
    r"\b(?:birthday|anniversary|easter|thanksgiving|pentecost|passover|ramadan|diwali|hanukkah"
    r"|(?:name|mother['’]?s|father['’]?s) day|geburtstag|hochzeitstag|jahrestag|namenstag|ostern"
    r"|pfingsten|muttertag|vatertag)|生日|纪念日|周年|春节|除夕|中秋|端午|清明|重阳|[母父]亲节",
    re.IGNORECASE,
)
"""Days of the year whose date the words do not tell."""
_SOME_DAY: Final = re.compile(
    r"\s*(?:on|an?m?)\s+(?:(?:my|our|the|his|her|their|de[mnr]|mein\w*|unser\w*)\s+)?"
    r"(?!every|jede|birth)[a-zäöüß]+\s?(?:day|tag)\b",
    re.IGNORECASE,
)
"""A day of a week or a month that only the person knows: “on payday”."""
_UNTOLD_DAYS: Final = {
    "year": "when_which_date",
    "month": "when_which_day",
    "week": "when_which_one",
}
"""The question about the day of a repetition that the words do not tell."""
_NUMBER_OF_TIMES: Final = (
    r"(?:twice|thrice|(?:two|three|four|five|several|\d) times|(?:zwei|drei|vier|fünf|mehr)mal"
    r"|(?:zwei|drei|vier|fünf|\d) mal)"
)
_TIMES_BEFORE: Final = re.compile(rf"\b{_NUMBER_OF_TIMES}\s+(?:on\s+|am\s+)?$", re.IGNORECASE)
_TIMES_BEHIND: Final = re.compile(rf"\s+{_NUMBER_OF_TIMES}\b", re.IGNORECASE)
_SOME_TIME: Final = re.compile(
    r"\b(?:some\s?time|at some point|irgendwann)\b|找个?时间", re.IGNORECASE
)
_SOME_CLOCK: Final = re.compile(
    r"\b(?:before|after|during|at|over)\s+(?:my\s+|the\s+)?"
    r"(?:breakfast|lunch(?:time)?|dinner(?:time)?|supper|bedtime|sunrise|sunset)\b"
    r"|\b(?:before|after)\s+(?:my\s+|the\s+)?(?:work|school|class|bed|meals?)\b"
    r"|\b(?:vor|nach|beim|zum)\s+(?:de[mr]\s+)?(?:frühstück|mittagessen|abendessen|essen|feierabend"
    r"|schlafengehen|schlafen|sonnenaufgang|sonnenuntergang)\b"
    r"|\b(?:vor|nach)\s+(?:der|meiner)\s+(?:arbeit|schule)\b"
    r"|(?:[早午中晚]?[饭餐]|[上下]班|放学|[上下]课|睡觉?|起床)[之以]?[前后後]|日[出落]",
    re.IGNORECASE,
)
"""A time of day that only the person knows: “before lunch”."""
_BARE_HOUR: Final = re.compile(
    r"[\s,]+(?:[01]?\d|2[0-4])(?![:.,/-]?\w)"
    r"(?!\s*(?:[%°]|min|sec|sek|hour|stund|time|mal|day|tag|week|woche|k[mg]))",
    re.IGNORECASE,
)
"""A number behind a day that may be an hour or belong to the text: “tomorrow 7 gym”."""
_COUNTED: Final = (
    "[个個次遍回人名位件份只条张本台辆号號楼层室米克斤元块岁级年月日天周秒届期集章节页路班组封瓶杯片粒颗盒"
    "场首间座款种类倍度折万亿百千十套吨升季道笔趟轮]"
    "|公[里斤分]|小时|分钟?(?!享)|毫[升克米]|厘米|平[米方]|[英海]里|[美欧日]元|星期"
)
"""What is counted rather than done, where it stands behind a number."""
_BARE_HOUR_CJK: Final = re.compile(
    r"(?<=[\u3400-\u9fff])[\s,，]*(?:[01]?\d|2[0-4])"
    rf"(?![:.,/-]?\d)[\s,，、]*(?:$|(?=[\u3400-\u9fff])(?!{_COUNTED}))"
)
"""The same in Chinese, which has no space there: 明天7跑步."""
_EXCEPT_LATER: Final = re.compile(
    r"[周天末日]\s*除外|除了?每?(?:(?:周|星期|礼拜)[一二三四五六日天末]|节?假日)"
    r"|\b(?:except|excluding)\s+(?:on\s+|for\s+)?(?:the\s+)?(?:\w+days?|weekends?)\b",
    re.IGNORECASE,
)
_FIELD: Final = r"[\d*?][\d*,/\-]*"
_CRON: Final = re.compile(
    rf"(?:cron:?\s*)?[`\"']?({_FIELD}\s+{_FIELD}\s+(?:{_FIELD}|LW?)\s+[\d*A-Za-z][\w*,/\-]*\s+"
    r"[\d*A-Za-z][\w*,/\-#]*|@(?:hourly|daily|midnight|weekly|monthly|yearly|annually)\b)[`\"']?",
    re.IGNORECASE,
)
_ISO: Final = re.compile(
    rf"(?:(?:on|at|am|um)\s+)?(?P<words>{ISO_TIME.pattern})", re.ASCII | re.IGNORECASE
)
_CRON_WITH_SECONDS: Final = re.compile(
    rf"(?:cron:?\s*)?[`\"']?{_FIELD}(?:\s+{_FIELD}){{4}}\s+"
    r"(?:[*?](?:/\d+)?|(?:sun|mon|tue|wed|thu|fri|sat)(?:[,\-]\w{3})*|\d-\d)(?=[\s`\"']|$)",
    re.IGNORECASE,
)
"""Six fields, as some programs write them. The first five mean something else here."""
_ZONE_NAME: Final = re.compile(
    r"(?:in\s+|\()?([A-Z][A-Za-z]+(?:/[A-Z][A-Za-z_+\-]+){1,2}|UTC|GMT)\)?"
)
_ZONE_CITY: Final = re.compile(
    r"(?:in\s+)?([A-Z][A-Za-z]+(?: (?:de |of )?[A-Z][a-z]+){0,2})\s+(?:local\s+)?time\b"
    r"|([\u4e00-\u9fff]{2,4}?)(?:当地)?时间"
)
_ZONE_LETTERS: Final = re.compile(
    r"\(?\b(PST|PDT|EST|EDT|CST|CDT|MST|MDT|HST|BST|CES?T|IST|JST|KST|AEST)\b\)?"
)
"""Letters that more than one zone is called by, or one of the database that nobody means."""


class Question(UsageError):
    """What was said is no time, or may be two: one question back.

    `key` is the name of its text in `Texts`.
    """

    def __init__(self, key: str, texts: Texts, **facts: str) -> None:
        sentence: str = getattr(texts, key)
        super().__init__("EINVAL", sentence.format(**facts))
        self.key = key


def ask_for_zone(words: str, now: float, texts: Texts) -> Question:
    """Return the question about a zone that nobody knows, with those that may be meant."""
    near = ", ".join(f"`{zone}`" for zone in suggest_zones(words, now))
    hint = texts.zone_near.format(zones=near) if near else texts.when_zone_example
    return Question("when_no_zone", texts, words=words, hint=hint)


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


def find_language(words: str) -> str:
    """Return the code of the language in which a time is told; where that has none (`19:30`), of
    the words beside it, and empty where these have none either.
    """
    text = words.translate(_WIDE)
    languages = _choose_languages(text)
    found = _find_clusters(text, languages)
    chosen = _choose(text, found, languages)[0] if found else []
    told = " ".join(text[cluster.start : cluster.end] for cluster in chosen)
    if _CJK.search(told):
        return "zh"
    if _GERMAN.search(told) and not _ENGLISH_ALONE.search(told):
        return "de"
    if _ENGLISH.search(told):
        return "en"
    beside = " ".join(_list_unchosen(text, chosen))
    return detect_language(beside) or ("de" if _GERMAN.search(text) else "")


def _choose_languages(text: str) -> tuple[Language, ...]:
    """Return the languages that a text may be in: the patterns of each take 15 to 40 ms to compile,
    for which no text in another one should wait.
    """
    from functions.agent.schedules.english import ENGLISH

    if _CJK.search(text):
        from functions.agent.schedules.chinese import CHINESE

        return (CHINESE, ENGLISH)
    if _GERMAN.search(text):
        from functions.agent.schedules.german import GERMAN

        return (GERMAN, ENGLISH)
    return (ENGLISH,)


def _read_cron(found: re.Match[str]) -> Part | None:
    if "*" not in found[1] and not found[0].lower().startswith(("cron", "@", "`")):
        return None
    cron = expand_cron(found[1])
    return Part(cron=cron, unit="cron") if cron else Part(fault="when_no_cron", words=found[1])


def _read_iso_time(found: re.Match[str]) -> Part:
    words = found["words"]
    clock = read_clock(words)
    if clock is None:
        return Part(fault="when_no_such_date", words=words)
    return Part(
        date=(clock.year, clock.month, clock.day),
        clocks=(ClockTime(clock.hour, clock.minute, True),),
        moment=words,
        words=words,
    )


def _read_zone(found: re.Match[str]) -> Part | None:
    zone = find_zone(found[1])
    return (
        Part(zone=zone, weak=True)
        if zone
        else Part(fault="when_no_zone", words=found[1], weak=True)
    )


def _read_zone_city(found: re.Match[str]) -> Part | None:
    name = found[1] or found[2]
    zone = find_zone(name)
    if zone:
        return Part(zone=zone, weak=True)
    # “Tea time” is no zone that somebody got wrong
    if len(name) > 4 and suggest_zones(name, 0.0):
        return Part(fault="when_no_zone", words=name, weak=True)
    return None


_COMMON: Final[tuple[Pattern, ...]] = (
    (_CRON, _read_cron),
    (_ISO, _read_iso_time),
    *LOOSE_CLOCKS,
    (_CRON_WITH_SECONDS, lambda found: Part(fault="when_no_cron", words=found[0].strip())),
    (_ZONE_NAME, _read_zone),
    (_ZONE_LETTERS, _read_zone),
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


def _match(
    text: str, at: int, languages: Sequence[Language], *, inner: bool
) -> list[tuple[int, Part]]:
    """Return what the text may say from here on, the longest first; with `inner` one moment alone,
    as it stands behind “from” and “until”.
    """
    found: list[tuple[int, Part]] = []
    patterns = list(_COMMON)
    for language in languages:
        patterns += language.patterns
        if inner:
            patterns += language.periods
        else:
            found += _match_bounds(text, at, language, languages)
    for pattern, read in patterns:
        match = pattern.match(text, at)
        part = read(match) if match and match[0] else None
        if match and part and not (inner and (part.repeats or part.zone or part.lasting)):
            found.append((match.end(), part))
    return sorted(found, key=lambda each: (-each[0], each[1].loose))


def _match_bounds(
    text: str, at: int, language: Language, languages: Sequence[Language]
) -> list[tuple[int, Part]]:
    """Return the beginning and the end of a repetition that the text may tell from here on."""
    found = []
    until = language.until.match(text, at)
    end = _grow(text, until.end(), languages, inner=True) if until else None
    if end:
        behind = language.until_end.match(text, end.end)
        found.append((behind.end() if behind else end.end, Part(until=end.part)))
    start = language.start.match(text, at)
    begin = _grow(text, start.end(), languages, inner=True) if start else None
    if start and begin:
        behind = language.start_end.match(text, begin.end)
        if behind or start.groupdict().get("pair") is None:
            found.append((behind.end() if behind else begin.end, Part(start=begin.part)))
    return found


def _grow(
    text: str, at: int, languages: Sequence[Language], *, inner: bool = False
) -> _Cluster | None:
    """Return the time that begins here, with all parts that follow."""
    begun = [
        (end, part)
        for end, part in _match(text, at, languages, inner=inner)
        if not (part.lasting or (part.weak and not part.zone))
    ]
    if not begun:
        return None
    end, part = begun[0]
    growing = True
    while growing:
        growing = False
        for skipped in _skip_joints(text, end, languages):
            for next_end, more in _match(text, skipped, languages, inner=inner):
                joined = combine(part, more)
                if joined:
                    end, part, growing = next_end, joined, True
                    break
            if growing:
                break
    if part.zone and not (part.tells_day or part.tells_clock or part.repeats):
        return None  # a zone is no time
    loose = part.loose and not (part.tells_day or part.repeats)
    return _Cluster(at, end, replace(part, weak=False, loose=loose))


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
    begun = -1
    while begun != begin:
        begun = begin
        for language in languages:
            filler = language.filler.match(text, begin)
            if filler:
                joint = language.joining.match(text, filler.end())
                begin = joint.end() if joint else filler.end()
    end = len(text.rstrip(_EDGE))
    for language in languages:
        behind = language.asked_behind.search(text[:end])
        if behind:
            end = len(text[: behind.start()].rstrip(_EDGE))

    def is_at_edge(cluster: _Cluster) -> bool:
        return cluster.start <= begin or cluster.end >= end

    def rank(cluster: _Cluster) -> tuple[bool, bool, bool, bool, int]:
        part = cluster.part
        tells_all = bool(part.span or part.cron or part.every) or (
            (part.repeats or part.tells_day) and part.tells_clock
        )
        tells_time = part.tells_day or part.tells_clock or part.repeats or part.cron
        is_time = not part.fault and bool(part.repeats if part.start else tells_time)
        return (is_time, not part.loose, is_at_edge(cluster), tells_all, -cluster.start)

    best = max(found, key=rank)
    chosen, said = [best], best.part
    firm = [cluster for cluster in found if cluster is best or not cluster.part.loose]
    doubt = _find_doubt(text, firm, best, languages)
    if doubt and not said.fault:
        return chosen, doubt
    for cluster in firm:
        part = cluster.part
        # a time of day in the middle counts where it is told exactly, and the day has none
        told = bool(part.clocks) and all(clock.certain for clock in part.clocks)
        if cluster is best or part.fault or not (told or is_at_edge(cluster)):
            continue
        if part.start and not (part.repeats or said.repeats):
            continue  # “the letter from Friday”
        tells_time = part.tells_day or part.repeats
        if (tells_time and (said.tells_day or said.repeats)) or (
            part.tells_clock and said.tells_clock
        ):
            continue
        joined = combine(said, part)
        if joined:
            chosen.append(cluster)
            said = joined
    if said.fault:
        return chosen, said
    return chosen, find_unread(_list_unchosen(text, chosen), said) or said


def _list_unchosen(text: str, chosen: Sequence[_Cluster]) -> list[str]:
    """Return the pieces of a text around the chosen times, in order."""
    pieces = []
    at = 0
    for cluster in sorted(chosen, key=lambda each: each.start):
        pieces.append(text[at : cluster.start])
        at = cluster.end
    return [*pieces, text[at:]]


def _find_doubt(
    text: str, found: Sequence[_Cluster], best: _Cluster, languages: Sequence[Language]
) -> Part | None:
    """Return what to ask about words beside a time that change it, and that no pattern reads."""
    said = best.part
    for first, second in pairwise(found):
        if best not in (first, second) or not _BETWEEN.fullmatch(text, first.end, second.start):
            continue
        other = (second if best is first else first).part
        if other.fault == "when_past" or _OWNING.match(text, second.end):
            continue  # “last week's report”
        if other.fault:
            return other
        if other.date and said.date and other.date[1:] == said.date[1:]:
            continue  # “25 December Christmas dinner”
        if said.repeats and other.repeats:
            return Part(fault="when_too_many")
        if other.repeats or other.tells_day or other.clocks:
            return Part(fault="when_which_one")
    if _CHOICE.match(text, best.end):
        return Part(fault="when_which_one")
    tells_clock = any(cluster.part.tells_clock or cluster.part.start for cluster in found)
    if not (tells_clock or said.span or said.every or said.cron) and _SOME_CLOCK.search(text):
        return Part(fault="when_which_clock")
    tells_hour = any(cluster.part.clocks or cluster.part.hours for cluster in found)
    needs_hour = said.tells_day or said.unit in ("day", "week", "month", "year")
    bare_hour = _BARE_HOUR.match(text, best.end) or _BARE_HOUR_CJK.match(text, best.end)
    if needs_hour and not (tells_hour or said.span) and bare_hour:
        return Part(fault="when_which_clock")
    if not said.repeats:
        # “call Bob every day except Sunday at 8”
        is_left_out = any(
            cluster.part.repeats and _EXCEPT_BEHIND.match(text, cluster.end) for cluster in found
        )
        if is_left_out:
            return Part(fault="when_no_exception")
        if not said.tells_clock and _SOME_TIME.search(text):
            return Part(fault="when_which_one")  # “sometime next week”
        times = _TIMES_BEHIND.match(text, best.end) or _TIMES_BEFORE.search(text[: best.start])
        return Part(fault="when_which_times") if times and said.tells_day else None
    question = _UNTOLD_DAYS.get(said.unit, "")
    if question and not _tells_date(said):
        is_named = said.unit == "year" and _SOME_DATE.search(text)
        if is_named or _SOME_DAY.match(text, best.end):
            return Part(fault=question)
    is_except = _EXCEPT_BEHIND.match(text, best.end) or _EXCEPT_BEFORE.search(text[: best.start])
    if is_except or _EXCEPT_LATER.search(text):
        return Part(fault="when_no_exception")
    if not said.until and _has_unknown_end(text, best.end, languages):
        return Part(fault="when_no_end")
    return None


def _tells_date(part: Part) -> bool:
    """Return whether a repetition says on which days it comes."""
    return bool(part.tells_day or part.weekdays or part.month_days or part.nth or part.in_months)


def _has_unknown_end(text: str, at: int, languages: Sequence[Language]) -> bool:
    """Return whether an end follows a repetition that no pattern reads: “until Easter”."""
    for language in languages:
        joint = language.joining.match(text, at)
        until = language.until.match(text, joint.end() if joint else at)
        # 到 alone is “arrive at” as well
        if until and len(until[0].strip()) > 1:
            return True
    return False


def _cut(words: str, text: str, chosen: Sequence[_Cluster], languages: Sequence[Language]) -> str:
    """Return the words without the times and without “remind me to” beside them."""
    pieces = _list_unchosen(words, chosen)
    asked = any(
        language.filler.match(piece.strip(_EDGE)) for piece in pieces for language in languages
    )
    kept = [_clean(piece, languages, asked=asked) for piece in pieces]
    kept = [piece for piece in kept if piece]
    joint = "" if _CJK.search(text) else " "
    rest = joint.join(kept)
    return "" if _ALARM.fullmatch(rest) else rest


def _clean(piece: str, languages: Sequence[Language], *, asked: bool) -> str:
    """Return a piece of the rest without what only leads to it."""
    before = None
    kept = piece.strip(_EDGE)
    while kept != before:
        before = kept
        for language in languages:
            filler = language.filler.match(kept)
            if filler:
                kept = kept[filler.end() :].strip(_EDGE)
            kept = language.asked_behind.sub("", kept).strip(_EDGE)
            kept = language.edges.sub("", kept).strip(_EDGE)
            if asked:
                kept = language.asked_edges.sub("", kept).strip(_EDGE)
    return kept


class _Resolver:
    """Finds out which moments are meant, by the clocks of a zone."""

    def __init__(self, now: float, zone: str, texts: Texts) -> None:
        self._now = now
        self._zone = zone
        self._texts = texts
        if not is_known(zone):
            raise ask_for_zone(zone, now, texts)
        self._local = to_local(now, zone)
        self._today = self._local.date()
        self._start = 0.0

    def resolve(self, part: Part) -> When:
        """Return what a part that says everything means."""
        if part.fault == "when_date_order" and part.date:
            year, month, day = part.date
            raise self._ask_for_days(
                self._find_date((year, month, day), part.words),
                self._find_date((year, day, month), part.words),
            )
        self._require_clear(part)
        if part.repeats:
            return self._resolve_repetition(part)
        if part.start:
            raise Question("when_how_often", self._texts)
        if part.in_months:
            raise Question("when_which_day", self._texts)
        if part.hours:
            first, last = part.hours
            raise self._ask_for_clocks((ClockTime(first), ClockTime(last)))
        if part.dates:
            return self._resolve_dates(part)
        if part.times > 1:
            raise Question("when_how_often", self._texts)
        if part.until and not (part.tells_day or part.tells_clock):
            raise Question("when_how_often", self._texts)
        at = self._resolve_once(part)
        if at <= self._now:
            raise Question("when_past_at", self._texts, time=self._show(at))
        return When(kind="at", at=at, zone=self._zone)

    def _require_clear(self, part: Part) -> None:
        """Raise `Question` for a part that says something impossible, or two things."""
        if part.fault == "when_no_zone":
            raise ask_for_zone(part.words.strip(), self._now, self._texts)
        if part.fault:
            raise Question(part.fault, self._texts, words=part.words.strip())
        if part.other:
            days = sorted({self._resolve_day(part), self._resolve_day(part.other)})
            if len(days) == 2:
                raise self._ask_for_days(*days)

    # --- once ---

    def _resolve_once(self, part: Part) -> float:
        if part.moment:
            return self._read_moment(part)
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

    def _read_moment(self, part: Part) -> float:
        day = self._find_date(part.date, part.words) if part.date else None
        at = read_moment(part.moment, self._zone)
        if day is None or at is None:
            raise Question("when_no_such_date", self._texts, words=part.words)
        return at

    def _place(self, part: Part) -> Part:
        """Return a part whose moment, if it tells one, is a day and a time of these clocks."""
        if not part.moment:
            return part
        shown = to_local(self._read_moment(part), self._zone)
        return replace(
            part,
            date=(shown.year, shown.month, shown.day),
            clocks=(ClockTime(shown.hour, shown.minute, True),),
            moment="",
        )

    def _resolve_dates(self, part: Part) -> When:
        """Return several dates without a year: each once, when it comes next."""
        if part.until or part.times or (0, 2, 29) in part.dates:
            raise Question("when_how_often", self._texts)
        yearly = self._resolve_repetition(replace(part, unit="year", step=1))
        return replace(yearly, times=len(set(part.dates)) * max(len(part.clocks), 1))

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
        if hour > 24 and self._find_moment(self._today, hour - 24, minute) > self._now:
            return self._find_moment(self._today, hour - 24, minute)
        at = self._find_moment(self._today, hour, minute)
        if at <= self._now:
            at = self._find_moment(self._today + timedelta(days=1), hour, minute)
        return at

    def _resolve_day(self, part: Part) -> date:
        if part.shift:
            return self._resolve_day(replace(part, shift=0)) + timedelta(days=part.shift)
        try:
            if part.period and part.closing:
                return self._find_period(replace(part, closing=False))[1]
            if part.date:
                day = self._find_date(part.date, part.words)
                if part.weekday is not None and day.isoweekday() % WEEK != part.weekday:
                    raise Question("when_no_such_date", self._texts, words=part.words.strip())
                return day
            if part.days is not None:
                return self._today + timedelta(days=part.days)
            if part.months is not None:
                return self._add_months(part.months)
        except (OverflowError, ValueError):
            raise Question("when_no_such_date", self._texts, words=part.words) from None
        return self._find_weekday(part)

    def _find_period(self, part: Part) -> tuple[date, date]:
        """Return the first and the last day of a whole week, month or year."""
        if part.date and not part.date[2]:
            year, month, _ = part.date
            if not 1 <= month <= 12 or year > LATEST_YEAR:
                raise Question("when_no_such_date", self._texts, words=part.words)
            if year in (0, NEXT):
                is_over = year == NEXT or month < self._today.month
                year = self._today.year + (1 if is_over else 0)
            day = date(year, month, 1)
        else:
            day = self._resolve_day(part)
        if part.period == "week":
            monday = day - timedelta(days=day.weekday())
            return monday, monday + timedelta(days=WEEK - 1)
        if part.period == "year":
            return date(day.year, 1, 1), date(day.year, 12, 31)
        last = calendar.monthrange(day.year, day.month)[1]
        return day.replace(day=1), day.replace(day=last)

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
        if part.weeks:
            return coming + timedelta(days=part.weeks * WEEK)
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
        if not EARLIEST_YEAR <= year <= LATEST_YEAR:
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
        clock = datetime.combine(day + timedelta(days=hour // 24), time(hour % 24, minute))
        return from_local(clock, self._zone)

    # --- again and again ---

    def _resolve_repetition(self, part: Part) -> When:
        if part.shift:
            raise Question("when_no_calendar", self._texts)
        part = self._place(part)
        start = self._place(part.start) if part.start else None
        part = replace(part, start=start)
        if start and start.clocks and not part.every and not part.tells_clock:
            # “from Monday at 8 every day”
            day = replace(start, clocks=(), daypart="")
            part = replace(
                part,
                clocks=start.clocks,
                daypart=start.daypart,
                start=day if day.tells_day else None,
            )
        end = part.until
        if (
            end
            and end.clocks
            and end.tells_day
            and not end.moment
            and part.unit
            and not (part.tells_clock or part.every)
        ):
            # “every day until Friday at 8”
            part = replace(part, clocks=end.clocks, until=replace(end, clocks=(), daypart=""))
        self._start = self._resolve_start(part)
        base = self._build(part)
        until = self._resolve_end(part)
        when = replace(base, until=until, times=part.times)
        if find_next(when, self._now, began=self._now) is None:
            raise Question("when_never", self._texts)
        return when

    def _resolve_start(self, part: Part) -> float:
        """Return the first moment that counts, 0.0 for the present."""
        start = part.start
        if start is None:
            return 0.0
        self._require_clear(start)
        if start.span or start.tells_clock:
            at = self._resolve_once(start)
        else:
            day = self._find_period(start)[0] if start.period else self._resolve_day(start)
            if day == self._today or (start.period and day < self._today):
                return 0.0
            if part.every and not (part.unit or part.hours):
                raise Question("when_which_start", self._texts, day=self._texts.format_day(day))
            at = self._find_moment(day, 0, 0)
        if at <= self._now:
            raise Question("when_past_at", self._texts, time=self._show(at))
        return at

    def _build(self, part: Part) -> When:
        """Return the repetition without its end."""
        if part.cron:
            return When(kind="cron", cron=part.cron, zone=self._zone, start=self._start)
        if part.every and (part.unit or part.hours):
            return self._build_within_days(part)
        if part.every:
            if part.every < 60:
                raise Question("when_too_often", self._texts)
            return When(kind="every", every=part.every, zone=self._zone, start=self._start)
        clocks = self._build_clocks(part)
        step = max(part.step, 1)
        if part.unit in ("day", "week") and (part.date or part.dates or part.days is not None):
            raise Question("when_too_many", self._texts)
        if part.unit == "week" or (
            part.unit == "day" and (part.weekdays or part.weekday is not None)
        ):
            days = (*part.weekdays, *(() if part.weekday is None else (part.weekday,)))
            return self._build_days(clocks, step * WEEK, days, part.in_months)
        if part.unit == "day":
            return self._build_days(clocks, step, (), part.in_months)
        if part.unit == "month" and part.weekday is not None and not part.nth:
            raise Question("when_which_day", self._texts)  # “every month on Monday”
        if part.nth and part.in_months:
            return self._make(clocks, f"* {_join_numbers(part.in_months)} {part.nth}")
        if part.nth:
            return self._build_months(clocks, "*", step, part.nth)
        if part.unit == "month" or part.in_months:
            days_of_month = ",".join(part.month_days)
            if not days_of_month:
                if part.in_months and not part.date:
                    raise Question("when_which_day", self._texts)
                first = to_local(self._start, self._zone).date() if self._start else self._today
                days_of_month = str(part.date[2] if part.date else first.day)
            if not all(each == "L" or 1 <= int(each) <= 31 for each in days_of_month.split(",")):
                raise Question("when_no_such_date", self._texts, words=part.words or days_of_month)
            if not part.in_months:
                return self._build_months(clocks, days_of_month, step, "*")
            if not all(1 <= each <= 12 for each in part.in_months):
                raise Question("when_no_such_date", self._texts, words=part.words)
            return self._make(clocks, f"{days_of_month} {_join_numbers(part.in_months)} *")
        if step > 1:
            raise Question("when_no_calendar", self._texts)
        if part.dates:
            return self._build_dates(clocks, part)
        first = to_local(self._start, self._zone).date() if self._start else self._today
        day = self._find_date(part.date, part.words) if part.date else first
        return self._make(clocks, f"{day.day} {day.month} *")

    def _build_dates(self, clocks: Sequence[str], part: Part) -> When:
        """Return a repetition on several dates of each year."""
        months: dict[int, set[int]] = {}
        for year, month, day in part.dates:
            self._find_date((year, month, day), part.words)
            months.setdefault(day, set()).add(month)
        fields = [f"{day} {_join_numbers(sorted(found))} *" for day, found in months.items()]
        return self._make(clocks, *fields)

    def _build_clocks(self, part: Part) -> tuple[str, ...]:
        """Return the minute and the hours of a repetition, once for each minute."""
        if part.hours:
            raise Question("when_how_often", self._texts)
        if part.clocks:
            hours: dict[int, set[int]] = {}
            for clock in part.clocks:
                hour = self._fix_hour_of_days(clock, part.daypart) % 24
                hours.setdefault(clock.minute, set()).add(hour)
            return tuple(f"{minute} {_join_numbers(sorted(hours[minute]))}" for minute in hours)
        if part.daypart == SAME or (
            part.unit != "day" and not part.daypart and self._is_plain(part)
        ):
            return (f"{self._local.minute} {self._local.hour}",)
        return (f"0 {DEFAULT_HOURS[part.daypart] % 24}",)

    def _is_plain(self, part: Part) -> bool:
        """Return whether nothing but the unit was said: it then begins from now."""
        return not (
            part.weekdays
            or part.weekday is not None
            or part.month_days
            or part.nth
            or part.date
            or part.dates
            or part.in_months
            or part.start
        )

    def _fix_hour_of_days(self, clock: ClockTime, daypart: str) -> int:
        if clock.certain or not 1 <= clock.hour <= 12:
            return clock.hour
        if clock.digits and not daypart:
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
        if part.unit not in ("", "day", "week") or part.step > 1 or part.in_months:
            raise Question("when_no_calendar", self._texts)
        if minutes >= 60 and minutes % 60 == 0 and minutes <= 12 * 60:
            hours = f"{first}-{min(last, 23)}"
            step = minutes // 60
            return self._make((f"0 {hours}{f'/{step}' if step > 1 else ''}",), f"* * {days}")
        if minutes and 60 % minutes == 0:
            end = last - 1 if part.hours else last
            hours = f"{first}-{min(end, 23)}" if part.hours else "*"
            return self._make((f"*/{minutes} {hours}",), f"* * {days}")
        raise Question("when_no_calendar", self._texts)

    def _build_days(
        self, clocks: Sequence[str], cycle: int, days: Sequence[int], months: Sequence[int]
    ) -> When:
        """Return a repetition every so many days, of weeks on certain days of the week."""
        if cycle > SOON_DAYS:
            raise Question("when_no_calendar", self._texts)
        if cycle % WEEK == 0 and not days:
            first = self._find_first(self._make(clocks, "* * *"))
            days = (first.isoweekday() % WEEK,)
        field = _join_numbers(sorted(set(days))) or "*"
        if field == "1,2,3,4,5":
            field = "1-5"
        if months and (cycle not in (1, WEEK) or not all(1 <= each <= 12 for each in months)):
            raise Question("when_no_calendar", self._texts)
        made = self._make(clocks, f"* {_join_numbers(months) or '*'} {field}")
        if cycle in (1, WEEK):
            return made
        first = self._find_first(made)
        if cycle % WEEK == 0:
            first -= timedelta(days=first.weekday())
        return replace(made, cycle=cycle, anchor=first.isoformat())

    def _build_months(self, clocks: Sequence[str], day: str, step: int, weekday: str) -> When:
        """Return a repetition after so many months, on a day of the month or one of the week."""
        monthly = self._make(clocks, f"{day} * {weekday}")
        if step == 1:
            return monthly
        if step != 12 and 12 % step:
            raise Question("when_no_calendar", self._texts)
        # the first and the last day after three months are those of a quarter
        quarter = {"1": 1, "L": 3}.get(day) if step == 3 else None
        first_month = quarter or self._find_first(monthly).month
        months = sorted((first_month - 1 + index * step) % 12 + 1 for index in range(12 // step))
        return self._make(clocks, f"{day} {_join_numbers(months)} {weekday}")

    def _make(self, clocks: Sequence[str], *days: str) -> When:
        """Return a repetition at these minutes and hours on these days, as cron writes them."""
        crons = [f"{clock} {each}" for each in days for clock in clocks]
        if len(crons) > CRONS_MOST:
            raise Question("when_too_many", self._texts)
        for cron in crons:
            if not expand_cron(cron):
                raise Question("when_no_cron", self._texts, words=cron)
        return When(
            kind="cron",
            cron=crons[0],
            also=tuple(crons[1:]),
            zone=self._zone,
            start=self._start,
        )

    def _find_first(self, when: When) -> date:
        found = find_next(when, self._now, began=self._now)
        if found is None:
            raise Question("when_never", self._texts)
        return to_local(found, self._zone).date()

    def _resolve_end(self, part: Part) -> float:
        if part.lasting:
            return (self._start or self._now) + part.lasting
        end = part.until
        if end is None:
            return 0.0
        self._require_clear(end)
        if end.period and not end.tells_clock:
            first, last = self._find_period(end)
            before = first - timedelta(days=1)
            if not end.closing and before > self._today:
                raise self._ask_for_days(before, last)
            at = self._find_moment(last, 23, 59)
        elif end.tells_clock or end.span:
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


def _join_numbers(numbers: Sequence[int]) -> str:
    return ",".join(map(str, numbers))
