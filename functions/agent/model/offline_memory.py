"""Reads what a person's words ask of the memory: to keep something, to forget it, to find it."""

from __future__ import annotations

import re

from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

_TO_KEEP = (
    re.compile(
        r"\s*(?:(?:please\s+|can you\s+|could you\s+)*(?:remember|keep in mind|save (?:to|in)"
        r" (?:your )?memory|do(?:n't| not) forget)\b(?:\s+that\b)?"
        r"|(?:请|帮我|请帮我)?(?:记住|记一下))"
        r"[\s:：,，]*(\S.*)",
        re.IGNORECASE,
    ),
    re.compile(
        r"\s*(\S.*?)[,;.，。；]\s*(?:(?:so\s+|and\s+)?please\s+)?(?:remember|keep in mind"
        r"|do(?:n't| not) forget)\s+(?:it|that|this)(?:[\s,]+please)?[\s.!]*",
        re.IGNORECASE,
    ),
    re.compile(r"\s*(\S.*?)[,，。；]\s*(?:请|帮我|请帮我)?(?:记住|记一下)[\s。！!]*"),
)
_TO_FORGET = re.compile(
    r"(?:please\s+)?(?:forget|(?:delete|remove|erase) from (?:your )?memory)[\s:]+"
    r"(?:what I (?:told|said to) you about|everything about|all about|about|that|the fact that)?"
    r"\s*(?!it\b|about it\b)(\S.*?)[\s.!]*|(?:请)?(?:忘掉|忘记|忘了)[\s:：]*(\S.*?)[\s。！!]*",
    re.IGNORECASE,
)
_KIN = tuple(
    re.compile(rf"\b(?:{words})\b|{characters}", re.IGNORECASE)
    for words, characters in (
        (
            "wife|spouse|husband|partner|fianc[eé]e?|frau|ehefrau|mann|ehemann",
            "妻子|老婆|太太|丈夫|老公|爱人",
        ),
        ("mother|mum|mom|parents?|mutter|mama|eltern", "妈|母亲|父母"),
        ("father|dad|parents?|vater|papa|eltern", "爸|父亲|父母"),
        ("sister|siblings?|schwester|geschwister", "姐|妹"),
        ("brother|siblings?|bruder|geschwister", "哥|弟"),
        ("sons?|child(?:ren)?|kids?|baby|sohn|söhne|kind|kinder", "儿子|孩子|小孩|宝宝"),
        ("daughters?|child(?:ren)?|kids?|baby|tochter|töchter|kind|kinder", "女儿|孩子|小孩|宝宝"),
        ("friends?|freund(?:in)?", "朋友"),
        ("boss|chef(?:in)?|manager", "老板|上司"),
        ("cats?|pets?|katzen?|haustiere?", "猫|宠物"),
        ("dogs?|pets?|hunde?|haustiere?", "狗|宠物"),
    )
)
"""Whom people speak of: what is known of one of these says nothing about another one."""
_OWN = tuple(
    (re.compile(asked, re.IGNORECASE), re.compile(told, re.IGNORECASE))
    for asked, told in (
        (
            r"\bmy (?:\w+ )?name\b|\bwho am I\b|\bam I called\b|\bmein name\b|\bhei(?:ß|ss)e ich\b"
            r"|\bwer bin ich\b|我(?:的)?(?:叫|名字|姓|是谁)",
            r"name|\bcall|\bI(?:'m| am) \w+$|hei(?:ß|ss)e|\bich bin \w+$|叫|名字|姓|我是",
        ),
        (
            r"\bmy (?:birthday|age)\b|\bhow old am I\b|\bwhen was I born\b"
            r"|\bmein (?:alter|geburtstag)\b"
            r"|\bwie alt bin ich\b|\bbin ich geboren\b|我.{0,6}(?:生日|出生|几岁|多大)",
            r"birth|\bborn\b|\bage\b|\bold\b|geburt|geboren|\balt\b|生日|出生|岁",
        ),
        (
            r"\bwhere (?:do I live|am I from)\b|\bmy (?:home )?address\b"
            r"|\bmeine adresse\b"
            r"|\bwo(?:her)? (?:wohne|komme|lebe) ich\b|我(?:的家)?(?:住|在哪)",
            r"\bliv(?:e|ing)\b|address|\bfrom\b|\bhome\b|\bwohne|adresse|\bkomme|\blebe|住|地址|家",
        ),
    )
)
"""Questions of people about themselves, each with what an answer to it has: else the nearest words
would answer it.
"""
_NOT_TELLING = frozenset("the a an my me i is are was of about and that this what it".split())


def find_note(text: str) -> str:
    """Return what somebody wants to be remembered in their first line; empty when nothing."""
    line = text.partition("\n")[0]
    if line.rstrip().endswith(("?", "？")):
        return ""
    for pattern in _TO_KEEP:
        found = pattern.fullmatch(line)
        if found:
            return found[1].rstrip()
    return ""


def find_wish_to_forget(text: str) -> str:
    """Return what somebody wants to be forgotten; empty when nothing."""
    found = _TO_FORGET.fullmatch(text.strip())
    return (found[1] or found[2] or "") if found else ""


def leave_out_others(recalled: Json, question: str) -> list[Json]:
    """Return what was recalled, without what is about somebody else than the question.

    Related words find a wife's name where somebody asks for their own.
    """
    asked = _list_kin(question)
    answers = [told for pattern, told in _OWN if not asked and pattern.search(question)]
    items: list[Json] = []
    for each in as_sequence(as_mapping(recalled).get("items")):
        words = _read_words(each)
        told = _list_kin(words)
        if asked:
            fits = bool(asked & told) or (not told and _shares_word(words, question))
        else:
            fits = not answers or (not told and any(own.search(words) for own in answers))
        if fits:
            items.append(each)
    return items


def _list_kin(words: str) -> set[int]:
    return {place for place, kin in enumerate(_KIN) if kin.search(words)}


def _shares_word(told: str, question: str) -> bool:
    words = set(re.findall(r"[^\W_]+", told.casefold()))
    return not words.isdisjoint(_list_telling(question))


def _list_telling(words: str) -> set[str]:
    return {word for word in re.findall(r"[^\W_]+", words.casefold()) if word not in _NOT_TELLING}


def _read_words(item: Json) -> str:
    """Return what a thing of the memory says."""
    fields = as_mapping(item)
    names = ("payload", "subject", "predicate", "object", "key", "value", "text", "excerpt")
    return " ".join(as_string(fields.get(name)) for name in names if fields.get(name))


def find_item(recalled: Json, about: str) -> tuple[str, str]:
    """Return the id and the text of the first thing recalled that has a telling word of `about`.

    Both are empty for none: what only ranks first is not yet what was meant.
    """
    telling = _list_telling(about)
    for each in as_sequence(as_mapping(recalled).get("items")):
        said = _read_words(each)
        known = said.casefold()
        words = set(re.findall(r"[^\W_]+", known))
        if any(word in words or (not word.isascii() and word in known) for word in telling):
            return as_string(as_mapping(each).get("id")), said
    return "", ""
