"""Languages of the agent's own texts: which there are, which a text is in, and which to take.

A language is a file of this package, named by its code. Nobody has to list it anywhere.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from functions import texts
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts

_FILE: Final = re.compile(r"[a-z]{2,3}(?:_[a-z]{2,4})?")
_TAG: Final = re.compile(r"[A-Za-z]{2,3}(?:[-_][A-Za-z0-9]{1,8}){0,4}")
"""A language as platforms tell it: `en`, `zh-hans`, `pt-br`."""
_WORD: Final = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CUT_WORD: Final = re.compile(r"[^\W\d_]{1,30}\Z")
"""The end of a text that was cut: a part of a word may be a word of another language."""
GREETING_WORDS: Final = 5
"""A text of more words is no mere greeting."""
READ_CHARACTERS: Final = 2_000
"""So many characters of a text are enough to tell its language."""


@lru_cache(maxsize=1)
def list_codes() -> tuple[str, ...]:
    """Return the codes of all languages that have a file, in order."""
    names = (module.name for module in pkgutil.iter_modules(texts.__path__))
    return tuple(sorted(name for name in names if _FILE.fullmatch(name)))


@lru_cache(maxsize=64)
def load_texts(code: str, sign: str = ENGLISH.command_sign) -> Texts:
    """Return the texts of the language with this code; they are English where there is none.

    Their commands stand behind the `sign` with which people type them where the texts are read.
    """
    if sign != ENGLISH.command_sign:
        from functions.texts.command_signs import make_typed_texts

        return make_typed_texts(load_texts(code), sign)
    known = find_code(code)
    if known in ("", ENGLISH.code):
        return ENGLISH
    found = importlib.import_module(f"{texts.__name__}.{known}").TEXTS
    assert isinstance(found, Texts), f"{known} has no texts"
    return found


def find_code(tag: str) -> str:
    """Return the code of the language that a tag such as `zh-hans` names; empty for none known."""
    if not _TAG.fullmatch(tag):
        return ""
    parts = tag.lower().replace("-", "_").split("_")
    known = list_codes()
    for code in ("_".join(parts[:2]), parts[0]):
        if code in known:
            return code
    return ""


def find_by_name(words: str) -> str:
    """Return the code of the language that a person names by its code or its own name."""
    wanted = words.strip().casefold()
    for code in list_codes():
        if wanted == load_texts(code).name.casefold():
            return code
    return find_code(words.strip())


@lru_cache(maxsize=256)
def detect_language(text: str) -> str:
    """Return the code of the language that a text is written in; empty when that is not clear.

    A language with a script of its own is known by its characters, another one by the words that
    nobody can do without. In a text of several languages the one with more of it counts.
    """
    if len(text) > READ_CHARACTERS:
        text = _CUT_WORD.sub("", text[:READ_CHARACTERS]) or text[:READ_CHARACTERS]
    words = _WORD.findall(text.casefold())
    best = ""
    most = 0
    for code in list_codes():
        score = _score(load_texts(code), text, words)
        if score > most:
            best = code
            most = score
    if best or len(words) > GREETING_WORDS:
        return best
    greeted = (code for code in list_codes() if not load_texts(code).greetings.isdisjoint(words))
    return next(greeted, "")


def find_texts(text: str) -> Texts:
    """Return the texts in the language of a text, for a note that belongs to it."""
    return load_texts(detect_language(text))


def choose_texts(
    chosen: str, written: Iterable[str], tag: str, sign: str = ENGLISH.command_sign
) -> Texts:
    """Return the texts for somebody, with the `sign` of the commands that they type.

    Their own choice counts most, then the language of what they wrote, the newest first, then that
    of their platform's app (`tag`).
    """
    if chosen:
        return load_texts(chosen, sign)
    for text in written:
        code = detect_language(text)
        if code:
            return load_texts(code, sign)
    return load_texts(tag, sign)


def _score(texts: Texts, text: str, words: list[str]) -> int:
    """Return how much of a text is in a language: its characters, or its words."""
    if texts.script:
        if _count_characters(text, texts.foreign_script):
            return 0
        return _count_characters(text, texts.script)
    hits = sum(word in texts.words for word in words)
    latin = sum(word.isascii() or word in texts.words for word in words)
    return hits + latin if hits else 0


def _count_characters(text: str, ranges: tuple[tuple[str, str], ...]) -> int:
    return sum(any(first <= character <= last for first, last in ranges) for character in text)
