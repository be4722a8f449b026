"""Reads what a person's words ask of the schedules: to remind, to show what there is, to cancel or
pause one of them.

The offline model has this instead of understanding. Times are read as `/remind` reads them
(docs/schedules.md), from the same words; what is left of these is what is said then.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from functions.agent.model.offline_talk import strip_opening
from functions.texts.en import Texts
from functions.time.time_zone import from_local, is_known
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json, tool_of

SCHEDULE, LIST, CANCEL = "schedule-wakeup", "list-wakeups", "cancel-wakeup"
TOOLS = frozenset(map(tool_of, (SCHEDULE, LIST, CANCEL)))
SHOWN_CHARACTERS = 200

_NOUN = r"reminders?|alarms?|timers?|schedules?|wake-?ups?|scheduled (?:tasks?|jobs?)"
_NOUN_DE = r"erinnerung(?:en)?|wecker|timer|termin(?:e|s)?"
_NOUN_ZH = "提醒事项|提醒|闹钟|定时任务|计划任务|日程"
_NO_QUESTION = (
    r"(?!\s+(?:what|who|whose|where|when|how|why|which|if|whether|of (?:what|who|how)"
    r"|about (?:what|who|how))\b)"
)
_REMIND = re.compile(
    r"(?P<filler>(?:and |also )?(?:pls |plz |please )?"
    rf"(?:re?mi?nd|remnid|re(?:me)?mber|nudge|ping) me\b{_NO_QUESTION}[\s:,]*"
    r"|er+in+er[en]? mich\b(?:\s+bitte)?(?:\s+daran)?[\s:,]*)"
    r"|(?:do not|don't|dont) (?:let me )?forget to remind me\b[\s:,]*"
    r"|(?:set|make|create|add)(?: me)? (?:a|an|the|another) (?:new )?reminder\b"
    r"(?:\s+(?:to|that|about|for|at|in)\b)?[\s:,]*"
    r"|(?:请|帮我|请帮我|到时候)*(?:[提题]醒我|题型我)[\s:：，,]*",
    re.IGNORECASE,
)
"""What asks for a reminder, at the beginning; whoever reads times knows the `filler` as well."""
_REMIND_ZH = re.compile(
    "[提题]醒(?:我|一下我?)|(?:叫我|通知我)(?!名)|(?<=[\\s\\d点半上分])提醒(?=[^\\s我])"
)
"""What asks for one behind a time."""
_ASKED_ZH = re.compile("(?<![你您谢])[提题]醒我(?!的|了)")
"""What asks for one without a time: thanks for a reminder are none."""
_REMIND_LATER = re.compile(
    rf"\b(?:remind me{_NO_QUESTION}"
    r"|(?:don['’]?t|do not) let me forget|er+in+er[en]? mich"
    r"|reminder (?:please|pls|plz)|sag(?: mir)? bescheid)\b"
    r"|^(?:kannst|könntest|würdest) du mich\b(?=.*\berinnern$)|\berinnern$",
    re.IGNORECASE,
)
_ALARM = re.compile(
    r"(?:wake me(?: up)?|(?:set|start)(?: me)? (?:a|an|the|my) (?:alarm|timer|countdown)"
    r"|(?:weck|wecke) mich(?! nicht)|stell(?:e)?(?: mir)? (?:einen|den) (?:wecker|timer))\b"
    r"(?:\s+(?:for|at|auf|um|to)\b)?[\s:,]*(?P<time>.*)"
    r"|(?:请|帮我|请帮我|给我)*(?:[设定订]置?(?:一?个)?(?P<before>.*?)的?(?:闹钟|倒计时)(?P<after>.*)"
    r"|(?P<until>.*?)叫醒我)",
    re.IGNORECASE | re.DOTALL,
)
"""What asks for an alarm: a reminder that says nothing but that it is time."""
_AGAIN = re.compile(
    r"(?:every|each)\s|(?:daily|hourly|weekly|monthly)\b|on (?:weekdays|weekends)\b"
    r"|(?:mon|tues|wednes|thurs|fri|satur|sun)days\b"
    r"|(?:jede[nrms]?|täglich|stündlich|wöchentlich|montags|werktags)\b"
    "|每|工作日|周末",
    re.IGNORECASE,
)
"""What begins a wish for work that comes again and again."""
_CLOCK = re.compile(
    r"\d|\b(?:at|um|hourly|morning|noon|evening|night|hours?|minutes?|morgen|abend|stunde)\b"
    "|[点时]|早上|中午|晚上|每晚|分钟",
    re.IGNORECASE,
)
"""What its time has to have: `every day is a gift` is no wish."""
_LIST = re.compile(
    r"(?:please )?(?:(?:what|which)(?:'s| is| are| have| do)?|show|list|manage|tell me|see)\b"
    r".{0,40}"
    rf"\b(?:my|the|any|all|your|of|which|what|me|everything|there)?\s*(?:{_NOUN})\b"
    r"(?:\s+(?:do i have(?: set(?: up)?)?|have i(?: set)?|are there|are set(?: up)?|i have|here"
    r"|there are|of mine|that are set|right now|now))*[\s?.!]*"
    r"|(?:what|which|show|list)\b.{0,30}\b(?:is|are|everything(?: that is)?)"
    r" (?:scheduled|planned)\b"
    r"(?:\s+(?:here|in this chat|now))*[\s?.!]*"
    rf"|my (?:{_NOUN})[\s?.!]*"
    rf"|(?:welche|was für|zeige?(?: mir)?|liste|was sind|meine)\b.{{0,30}}?(?:{_NOUN_DE})\b"
    r"(?:\s+(?:habe ich|gibt es|sind (?:gesetzt|geplant)|auf))*[\s?.!]*"
    rf"|(?:请|帮我)?(?:我(?:都)?(?:有|设了?)?(?:的|哪些|什么)*|有哪些|查看|看看|列出|显示|都?有什么)+"
    rf"(?:我?的?所有的?)?(?:{_NOUN_ZH})(?:[和与](?:{_NOUN_ZH}))?(?:列表|有哪些|是什么|呢|都?有哪些)?[\s？。！?]*",
    re.IGNORECASE,
)
_CANCEL = re.compile(
    r"(?:please )?(?P<verb>cancel|delete|remove|drop|stop|turn off|switch off|get rid of|pause"
    r"|suspend)\s+(?P<what>.*\b(?:"
    rf"{_NOUN})\b.*)"
    r"|(?:bitte )?(?P<verb_de>lösche?|entferne?|storniere?|beende?|pausiere?|stoppe?)"
    rf"\s+(?P<what_de>.*(?:{_NOUN_DE})\b.*)"
    rf"|(?:请|帮我|请帮我)?(?P<verb_zh>取消|删除|删掉|去掉|关掉|停掉|暂停)(?P<what_zh>.*(?:{_NOUN_ZH}).*)"
    rf"|(?:请|帮我|请帮我)?把(?P<what_ba>.*(?:{_NOUN_ZH}).*?)(?P<verb_ba>取消|删除|删掉|去掉|关掉|停掉|暂停)"
    r".{0,3}",
    re.IGNORECASE | re.DOTALL,
)
_PAUSES = re.compile(r"pause|suspend|pausiere|暂停", re.IGNORECASE)
_PLACES = (
    r"\bfirst\b|\berste|第一",
    r"\bsecond\b|\bzweite|第二",
    r"\bthird\b|\bdritte|第三",
    r"\bfourth\b|\bvierte|第四",
    r"\bfifth\b|\bfünfte|第五",
)
_LAST = re.compile(r"\blast\b|\bletzte|最后", re.IGNORECASE)
_NUMBER = re.compile(r"(?<![\d:.])\d{1,3}(?![\d:.])")
_EMPTY = frozenset(
    "the my that this a an to of for about me reminder reminders alarm alarms number no please all"
    " die der das den meine erinnerung nummer".split()
)


@dataclass(frozen=True, slots=True)
class Wish:
    """What somebody wants of the schedules.

    `when` are all the words in which the time is told, since those beside it may change it; empty
    for no time. `say` are those of them that are said then. Of `list` there is nothing more, and
    `cancel` and `pause` have the words about which one.
    """

    kind: Literal["schedule", "list", "cancel", "pause"]
    when: str = ""
    say: str = ""
    about: str = ""

    @property
    def arguments(self) -> dict[str, Json]:
        """Return the arguments of the call that schedules it."""
        return {"when": self.when, "say": self.say}


def find_wish(words: str, texts: Texts) -> Wish | None:
    """Return what somebody wants of the schedules; None for nothing."""
    plain = strip_opening(words).strip()
    if "\n" in plain:
        return _find_reminder(plain)
    if _LIST.fullmatch(plain):
        return Wish("list")
    cancel = _CANCEL.fullmatch(plain)
    if cancel:
        groups = cancel.groupdict()
        verb = next(filter(None, (groups[name] for name in groups if name.startswith("verb"))), "")
        what = next(filter(None, (groups[name] for name in groups if name.startswith("what"))), "")
        return Wish("pause" if _PAUSES.fullmatch(verb) else "cancel", about=what)
    return _find_alarm(plain, texts) or _find_reminder(plain)


def _find_alarm(plain: str, texts: Texts) -> Wish | None:
    alarm = _ALARM.fullmatch(plain)
    if not alarm:
        return None
    told = "".join(filter(None, alarm.group("time", "before", "after", "until")))
    when, rest = _split(told)
    if not when and re.search("timer|countdown|倒计时", plain, re.IGNORECASE):
        told = f"{told}后" if re.search("[\u4e00-\u9fff]", told) else f"in {told}"
        _, rest = _split(told)
    return Wish("schedule", told, say=rest or texts.offline_alarm)


def _find_reminder(plain: str) -> Wish | None:
    begun = _REMIND.match(plain)
    if begun:
        told = plain if begun["filler"] else plain[begun.end() :]
        when, rest = _split(told)
        return (
            Wish("schedule", told, say=rest) if when else Wish("schedule", say=plain[begun.end() :])
        )
    if "\n" in plain:
        return None
    if plain.endswith(("?", "？")) and not _REMIND_LATER.match(plain):
        return None
    plain = plain.rstrip("?？ ")
    asked = _REMIND_ZH.search(plain) or _REMIND_LATER.search(plain)
    again = None if asked else _AGAIN.match(plain)
    if not (asked or again):
        return None
    when, rest = _split(plain)
    if asked and (when or asked.re is _REMIND_LATER or _ASKED_ZH.search(plain)):
        return Wish("schedule", plain if when else "", say=rest)
    # a language model would do it; without one it can only be said
    if again and _AGAIN.match(when) and plain.startswith(when) and rest and _CLOCK.search(when):
        return Wish("schedule", plain, say=rest)
    return None


def _split(told: str) -> tuple[str, str]:
    # the patterns of all phrases take 40 ms to compile, which no other request should wait for
    from functions.agent.schedules.phrase import split_time

    return split_time(told)


def choose_texts(wish: Wish, texts: Texts) -> Texts:
    """Return the texts in the language in which the time of a wish is told."""
    if not wish.when:
        return texts
    from functions.agent.schedules.description import choose_texts_of_time

    return choose_texts_of_time(wish.when, texts)


def ask_back(wish: Wish, now: datetime | None, zone: str, texts: Texts) -> str:
    """Return the question about words that tell a time, if that, and nothing to say then."""
    from functions.agent.schedules.phrase import Question, parse_when

    if now and is_known(zone):
        try:
            parse_when(wish.when, from_local(now, zone), zone, texts)
        except Question as question:
            return question.message
    return texts.remind_of_what


def choose_schedule(listed: Json, about: str) -> tuple[str, str]:
    """Return the id and the words of the schedule that is meant, among those that were listed.

    A number is that of the list, `the second` is the second of it. Both are empty for none, the
    id alone where it is not plain which one.
    """
    items = [as_mapping(each) for each in as_sequence(as_mapping(listed).get("items"))]
    if not items:
        return "", ""
    number = _NUMBER.search(about)
    chosen: list[Mapping[str, Json]] = []
    if number:
        chosen = [each for each in items if each.get("number") == int(number[0])]
        return _tell(chosen[0]) if chosen else ("", _list_lines(items))
    for place, pattern in enumerate(_PLACES):
        if re.search(pattern, about, re.IGNORECASE) and place < len(items):
            return _tell(items[place])
    if _LAST.search(about):
        return _tell(items[-1])
    telling = {word for word in re.findall(r"[^\W_]+", about.casefold()) if word not in _EMPTY}
    for each in items:
        said = as_string(each.get("say") or each.get("text")).casefold()
        known = set(re.findall(r"[^\W_]+", said))
        if any(word in known or (not word.isascii() and said and said in word) for word in telling):
            chosen.append(each)
    if len(chosen) == 1:
        return _tell(chosen[0])
    return _tell(items[0]) if len(items) == 1 else ("", _list_lines(items))


def _tell(item: Mapping[str, Json]) -> tuple[str, str]:
    return as_string(item.get("id")), as_string(item.get("say") or item.get("text"))


def describe_schedule(result: Json, texts: Texts) -> str:
    """Return what was scheduled as a person would say it: what, when, and the times that come."""
    fields = as_mapping(result)
    pattern = texts.remind_set if fields.get("new") else texts.remind_known
    said = pattern.format(
        text=as_string(fields.get("say") or fields.get("text"))[:SHOWN_CHARACTERS],
        when=as_string(fields.get("in_words")).rstrip(".。"),
        number=fields.get("number"),
    )
    return f"{said} {fields['note']}" if fields.get("note") else said


def describe_list(result: Json, texts: Texts) -> str:
    """Return what is scheduled, a line each."""
    items = [as_mapping(each) for each in as_sequence(as_mapping(result).get("items"))]
    return _list_lines(items, texts) if items else texts.wakeups_none


def _list_lines(items: Sequence[Mapping[str, Json]], texts: Texts | None = None) -> str:
    lines = []
    for each in items:
        said = as_string(each.get("say") or each.get("text"))[:SHOWN_CHARACTERS]
        line = f"{each.get('number')}. {said} · {each.get('in_words')}"
        paused = as_string(each.get("paused"))
        if paused and texts:
            why = texts.wakeup_pauses.get(paused, paused)
            line = f"{line} · {texts.wakeup_pause.format(why=why)}"
        lines.append(line)
    return "\n".join(lines)
