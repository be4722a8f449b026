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
_ABOUT_PERSON = re.compile(r"\b(?:my|am I|do I|must I|should I|did I|can I|me)\b|我", re.IGNORECASE)
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


def is_about_person(words: str) -> bool:
    """Return whether a question is about the person who asks it."""
    return bool(_ABOUT_PERSON.search(words))


def find_item(recalled: Json, about: str) -> tuple[str, str]:
    """Return the id and the text of the first thing recalled that has a telling word of `about`.

    Both are empty for none: what only ranks first is not yet what was meant.
    """
    telling = {
        word for word in re.findall(r"[^\W_]+", about.casefold()) if word not in _NOT_TELLING
    }
    for each in as_sequence(as_mapping(recalled).get("items")):
        item = as_mapping(each)
        said = " ".join(
            as_string(item.get(name))
            for name in ("payload", "subject", "predicate", "object", "key", "value")
            if item.get(name)
        )
        known = said.casefold()
        words = set(re.findall(r"[^\W_]+", known))
        if any(word in words or (not word.isascii() and word in known) for word in telling):
            return as_string(item.get("id")), said
    return "", ""
