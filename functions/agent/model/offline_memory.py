"""Reads what a person's words ask of the memory: to keep something, to forget it, to find it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from functions.agent.model.offline_talk import strip_opening
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

_TO_KEEP = (
    re.compile(
        r"\s*(?:(?:please\s+|can you\s+|could you\s+)*(?:remember|keep in mind|save (?:to|in)"
        r" (?:your )?memory|do(?:n't| not) forget)\b(?:\s+that\b)?"
        r"|(?:bitte\s+)?(?:merke?(?: dir)?|notiere?(?: dir)?|vergiss nicht"
        r"|erinnere? dich(?: daran)?|denke? daran|behalte?)\b(?:\s+bitte)?(?:\s*,?\s*dass\b)?"
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
_IMPOSSIBLE = re.compile(
    r"(?:please )?(?:book|order|buy|send|call|phone|email|play|open|turn (?:on|off)"
    r"|set (?:a|an|the) (?:reminder|alarm|timer)|remind me|wake me|translate"
    r"|tell me (?:a|another) (?:joke|story)"
    r"|write (?:me )?an? (?:poem|story|song|email|letter|essay)|summari[sz]e)\b.*"
    r"|(?:bitte )?(?:buche?|bestelle?|kaufe?|sende?|schicke?|ruf|spiele?|übersetze?|erinnere mich"
    r"|weck(?:e)? mich|erzähle? mir|schreib(?:e)? (?:mir )?ein(?:e|en)?)\b.*"
    r"|(?:请|帮我|请帮我)?(?:翻译|写一?[首篇封个]|讲[一]?个|提醒我|叫醒我|播放|订|发邮件|打电话).*",
    re.IGNORECASE | re.DOTALL,
)
"""Wishes that no capability of the library fulfils."""
_STATEMENT = re.compile(
    r"(?:my|our) (?:\S+ ){1,4}(?:is|are|was|lives?|likes?|loves?|hates?|works?|has|have"
    r"|prefers?)\s\S.*"
    r"|I (?:like|love|hate|live|work|have|prefer|drive|own|speak|play|study|was born)\s\S.*"
    r"|I(?:'m| am) (?:an? |allergic |from |called |named |married |vegetarian|vegan)\S*.*"
    r"|mein(?:e|en)? (?:\S+ ){1,4}(?:ist|sind|heißt|heisst|lebt|wohnt|mag|liebt|arbeitet|hat)\s\S.*"
    r"|ich (?:mag|liebe|hasse|wohne|lebe|arbeite|habe|heiße|heisse|fahre|spreche|esse|trinke)\s\S.*"
    r"|我(?:的|叫|是|住|喜欢|不喜欢|有|对)\S.*",
    re.IGNORECASE,
)
_STAND_IN = re.compile(r"(?:this|that|it|das|dies|es|这个|这|它|这件事)[\s.!。！]*", re.IGNORECASE)
_ALL = re.compile(
    r"(?:please\s+)?(?:forget|delete|erase|remove)\s+(?:everything|all|all of it|me"
    r"|(?:all (?:of )?)?my (?:data|memory|memories)|your memory)"
    r"(?:\s+(?:about|you know about|you know|on|of)(?:\s+me)?)*[\s.!]*"
    r"|(?:bitte\s+)?(?:vergiss|lösche?)(?:\s+bitte)?\s+(?:alles|meine daten)"
    r"(?:\s+(?:über|von) mi[cr]h?)?[\s.!]*"
    r"|(?:请)?(?:忘掉|忘记|忘了|删除|删掉)(?:一切|所有(?:的)?(?:东西|事)?|我的(?:所有)?数据|关于我的一切)[\s。！!]*",
    re.IGNORECASE,
)
_TO_FORGET = re.compile(
    r"(?:please\s+)?(?:forget|(?:delete|remove|erase) from (?:your )?memory)[\s:]+"
    r"(?:what I (?:told|said to) you about|everything about|all about|about|that|the fact that)?"
    r"\s*(?!it\b|about it\b)(\S.*?)[\s.!]*"
    r"|(?:bitte\s+)?(?:vergiss(?! nicht\b)|lösche?)(?:\s+bitte)?[\s:,]+(?:dass\s+)?(\S.*?)[\s.!]*"
    r"|(?:请)?(?:忘掉|忘记|忘了)[\s:：]*(\S.*?)[\s。！!]*",
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
_NOT_TELLING = frozenset(
    "the a an my me i is are was of about and that this what it do does did s".split()
)

_ASKS = re.compile(
    r".*[?？]\s*|(?:what|who|whose|where|when|which|how|wer|was|wo|wann|wie|welche[rs]?)\b.*",
    re.IGNORECASE | re.DOTALL,
)
_ASKING = frozenset(
    "what whats who whos whose whom where when which how has have can you tell know"
    " der die das den dem ein eine ist sind mein meine ich wer was wo wann wie welche".split()
)
"""Words of a question that an answer need not have, beside those of `_NOT_TELLING`."""


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
    return next(filter(None, found.groups()), "") if found else ""


def wants_all_forgotten(text: str) -> bool:
    """Return whether somebody wants everything to be forgotten."""
    return _ALL.fullmatch(text.strip()) is not None


def stands_in(note: str) -> bool:
    """Return whether a note only points at something, such as `this`."""
    return _STAND_IN.fullmatch(note) is not None


def is_impossible(text: str) -> bool:
    """Return whether somebody wants what no capability of the library can do."""
    return _IMPOSSIBLE.fullmatch(strip_opening(text)) is not None


def find_statement(text: str) -> str:
    """Return what somebody tells about themselves without asking anything; empty for nothing."""
    plain = text.strip().rstrip(".!。！")
    told = "\n" not in plain and not plain.endswith(("?", "？"))
    asks = re.search("什么|哪|谁|几[号点岁]|多少|多大|吗", plain)
    return plain if told and not asks and _STATEMENT.fullmatch(plain) else ""


def leave_out_others(recalled: Json, question: str) -> list[Json]:
    """Return what was recalled, without what is about somebody else than the question.

    Related words find a wife's name where somebody asks for their own.
    """
    asked = _list_kin(question)
    answers = [told for pattern, told in _OWN if not asked and pattern.search(question)]
    items: list[Json] = []
    for each in _list_recalled(recalled, question):
        words = read_words(each)
        told = _list_kin(words)
        if asked:
            fits = bool(asked & told) or (not told and _shares_word(words, question))
        else:
            fits = not answers or (not told and any(own.search(words) for own in answers))
        if fits:
            items.append(each)
    return items


def find_told(queried: Sequence[Json], question: str) -> list[Json]:
    """Return what the results of queries remember that has every telling word of a question."""
    if not _ASKS.fullmatch(question.strip()):
        return []
    telling = list_telling(question) - _ASKING
    told: dict[str, Json] = {}
    for result in queried:
        for each in as_sequence(as_mapping(result).get("remembered")):
            said = list_telling(read_words(each))
            if telling and all(_has_word(said, word) for word in telling):
                told[as_string(as_mapping(each).get("id"))] = each
    return [*told.values()]


def _has_word(said: set[str], word: str) -> bool:
    """Return whether a word was said, or a longer or shorter form of it."""
    return any(
        other == word or (min(len(other), len(word)) > 3 and other[:4] == word[:4])
        for other in said
    )


def _list_recalled(recalled: Json, question: str) -> Sequence[Json]:
    """Return what was recalled; when nothing was, those of all other things that share a word."""
    answer = as_mapping(recalled)
    others = as_string(answer.get("also_remembered"))
    if not others:
        return [*as_sequence(answer.get("items")), *as_sequence(answer.get("near"))]
    things = [thing.removeprefix("note: ") for thing in others.split("; ")]
    return [{"payload": thing} for thing in things if _shares_word(thing, question)]


def _list_kin(words: str) -> set[int]:
    return {place for place, kin in enumerate(_KIN) if kin.search(words)}


def _shares_word(told: str, question: str) -> bool:
    words = set(re.findall(r"[^\W_]+", told.casefold()))
    return not words.isdisjoint(list_telling(question))


def list_telling(words: str) -> set[str]:
    """Return the words that say what something is about."""
    return {word for word in re.findall(r"[^\W_]+", words.casefold()) if word not in _NOT_TELLING}


def read_words(item: Json) -> str:
    """Return what a thing of the memory says, and what it corrects: a question may ask for it in
    those words.
    """
    fields = as_mapping(item)
    names = ("payload", "subject", "predicate", "object", "key", "value", "text", "excerpt")
    said = [as_string(fields.get(name)) for name in names if fields.get(name)]
    for before in as_sequence(fields.get("no_longer_true")):
        said.append(as_string(as_mapping(before).get("was")))
    return " ".join(said)


def find_item(recalled: Json, about: str) -> tuple[str, str]:
    """Return the id and the text of the first thing recalled that has a telling word of `about`.

    Both are empty for none: what only ranks first is not yet what was meant.
    """
    telling = list_telling(about)
    answer = as_mapping(recalled)
    for each in (*as_sequence(answer.get("items")), *as_sequence(answer.get("near"))):
        said = read_words(each)
        known = said.casefold()
        words = set(re.findall(r"[^\W_]+", known))
        if any(word in words or (not word.isascii() and word in known) for word in telling):
            return as_string(as_mapping(each).get("id")), said
    return "", ""
