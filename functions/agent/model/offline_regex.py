"""Reads requests to find what matches a regular expression in a text."""

from __future__ import annotations

import re
from typing import Final

from functions.agent.model.offline_values import find_quoted, refers_only
from sigil.protocol import Json

REGEX_TOPIC: Final = (
    r"\bregex(?:p|es)?(?!.*replace)(?![a-z])|regular expression(?!.*replace)|regulär\w* ausdr[uü]ck"
    r"|\bpattern\b|\bmatches\b|\bextract\b|正则"
)
_NAME: Final = r"(?:regex(?:p)?|regular expression|pattern|regulären? ausdruck|正则(?:表达式)?)"
_TEXT_LEADS: Final = r"(?:in|on|from|to|against|of|text|string|auf|aus|im|从|在|对|匹配|提取)"
UNQUOTED_CHARACTERS: Final = 1_000
"""In longer words an expression stands in quotes: to look for one would take too long."""
_UNQUOTED: Final = (
    re.compile(
        rf"(?P<head>.*?){_NAME}[ :]+(?P<pattern>\S+)(?P<mid> .*?|)"
        rf" ?\b(?:on|in|from|to|against|auf|aus)\b:?\s+(?P<text>\S.*)",
        re.IGNORECASE | re.DOTALL,
    ),
    re.compile(
        rf"(?P<head>.*?){_NAME} *(?P<pattern>\S+) *(?P<mid>)(?:提取|匹配|查找)\s*(?P<text>\S.*)",
        re.DOTALL,
    ),
)
_ELSEWHERE: Final = re.compile(
    r"^(?:the|my|this|that|these|those|it|its|every|each|all|our|your|last|previous|any"
    r"|de[rnm]|die|das|mein\w*|dies\w*|alle[ns]?|letzte\w*)\b|^[这那我上]|://|^\S+\.\w{1,5}\W*$",
    re.IGNORECASE,
)
"""What tells of a text that stands somewhere else, rather than being one."""
_FIRST: Final = re.compile(
    r"\b(?:the )?first match\b|\b(?:den |der )?ersten? treffer\b|第一个", re.IGNORECASE
)
_ANY_CASE: Final = re.compile(
    r"\b(?:case[- ]insensitive(?:ly)?|ignor(?:e|ing) (?:the )?case)\b"
    r"|\bohne (?:auf )?groß- und kleinschreibung(?: zu achten)?|(?:不区分|忽略)大小写",
    re.IGNORECASE,
)
_ALLOWED: Final = re.compile(
    rf"(?:(?<![a-zäöüß])(?:{_NAME}|use|apply|run|try|test|match(?:es|ing)?|find|extract|get|give|show|list|pull|out"
    r"|me|the|an?|all|every|each|of|with|by|for|from|on|in|to|against|text|string|this|that"
    r"|following|please|what|which|parts?|it|there|and|numbers?|words?|finde?|suche?|zeige?|hol|mir"
    r"|mit|de[nmr]|dem|die|das|alle|treffer|im|aus|auf|wende|an|bitte)"
    r"(?![a-zäöüß])|[正则表达式请帮我用把从在对里中的面所有全部数字提取匹配查找出来\s:：,，.。!?？`\"“”'])*",
    re.IGNORECASE,
)
"""What a request may have beside its expression and its text: anything else may change the answer.
"""


def read_regex(words: str) -> dict[str, Json] | None:
    """Return the arguments for `regex-extract`, None where the words do not say surely what is the
    expression and what is the text, or want something else of the matches.
    """
    options: dict[str, Json] = {}
    rest = words
    quoted = find_quoted(words)
    outside = words
    for each in quoted:
        outside = outside.replace(each, " ", 1)
    if _FIRST.search(outside):
        options["all"] = False
        rest = _FIRST.sub(" ", rest, count=1)
    if _ANY_CASE.search(outside):
        options["flags"] = "i"
        rest = _ANY_CASE.sub(" ", rest, count=1)
    found = _read_quoted(rest, find_quoted(rest)) or _read_unquoted(rest)
    if found is None:
        return None
    pattern, text, other = found
    if not _ALLOWED.fullmatch(other):
        return None
    return {"pattern": pattern, "text": text, **options}


def _read_quoted(words: str, quoted: list[str]) -> tuple[str, str, str] | None:
    """Return an expression and a text that both stand in quotes, and the words beside them."""
    if len(quoted) == 1 and re.search(r"[:：]\s*\S", words.rpartition(quoted[0])[2]):
        before, _, after = words.partition(quoted[0])
        lead, _, text = re.sub("：", ":", after).partition(":")
        return quoted[0], text.strip(), f"{before} {lead}"
    if len(quoted) != 2:
        return None
    before, _, after = words.partition(quoted[0])
    between, _, end = after.partition(quoted[1])
    leads_text = rf"{_TEXT_LEADS}[\s:]*[`\"“'「]*$"
    first_is_text = re.search(
        rf"(?<![a-z])(?<!match )(?<!matches ){leads_text}", before, re.IGNORECASE
    )
    second_is_text = re.search(rf"(?<![a-z]){leads_text}", between, re.IGNORECASE)
    if first_is_text or not second_is_text:
        return None
    return quoted[0], quoted[1], f"{before} {between} {end}"


def _read_unquoted(words: str) -> tuple[str, str, str] | None:
    """Return an expression after the word for one, its text, and the words beside them."""
    if len(words) > UNQUOTED_CHARACTERS:
        return None
    for form in _UNQUOTED:
        found = form.fullmatch(words.strip())
        if found is None:
            continue
        pattern = found["pattern"].strip("`\"'“”")
        text = found["text"]
        quoted = find_quoted(text)
        other = f"{found['head']} {found['mid']}"
        if not quoted and (_ELSEWHERE.search(text) or refers_only(text)):
            return None
        if quoted:
            other += f" {text.replace(quoted[0], ' ', 1)}"
            text = quoted[0]
        if re.search(r"[\\\[\](){}.*+?^$|]", pattern):
            return pattern, text.strip(), other
    return None
