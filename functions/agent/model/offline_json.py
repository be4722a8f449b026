"""Reads requests to write JSON anew: indented, or in one line."""

from __future__ import annotations

import json
import re
from typing import Final

from functions.agent.model.offline_values import find_documents
from sigil.protocol import Json

WHOLE: Final = "$"
"""The path of the whole document."""
_INDENTS: Final = r"format|reformat|pretty[- ]?print|prettify|beautify|indent|formatiere?|einrücken"
_SHORTENS: Final = r"minify|compact|compress|minimi[sz]e|komprimiere?|压缩"
JSON_TOPIC: Final = (
    rf"^(?=.*(?:json|[{{\[]\s*[\"\[{{])).*(?:\b(?:{_INDENTS}|{_SHORTENS})\b|压缩)|格式化|美化"
)
_ALLOWED: Final = re.compile(
    rf"(?:(?<![a-zäöüß])(?:{_INDENTS}|{_SHORTENS}|please|can|could|you|this|the|following|my|json|document|nicely"
    r"|for|me|bitte|diese[sn]?|das|den|schön|mir|ordentlich)"
    r"(?![a-zäöüß])|[格式化美压缩请帮我把这个段一下\s`:：,，.。!?？])*",
    re.IGNORECASE,
)
"""What a request may have beside its document: anything else may change the answer."""
_NUMBER: Final = re.compile(r"(?<=[\[:,\s])-?\d[\d.eE+-]*")
_STRING: Final = re.compile(r'"(?:[^"\\]|\\.)*"')


def shortens_json(words: str) -> bool:
    """Return whether words ask for JSON in one line."""
    asked = _split_words(words)[0]
    return re.search(rf"\b(?:{_SHORTENS})\b|压缩", asked, re.IGNORECASE) is not None


def read_json_form(words: str) -> Json:
    """Return the document that words want to be written anew, None where there is not one alone
    that stays as it is, or where they want more.

    A number with many digits, a name that stands there twice, and names that are numbers would
    come back otherwise.
    """
    documents = find_documents(words)
    if len(documents) != 1:
        return None
    asked, text = _split_words(words)
    if not _ALLOWED.fullmatch(asked):
        return None
    try:
        document: Json = json.loads(text, object_pairs_hook=_require_plain_names)
    except ValueError:
        return None
    numbers = _NUMBER.findall(_STRING.sub('""', text))
    return document if all(map(_stays, numbers)) else None


def _split_words(words: str) -> tuple[str, str]:
    """Return the words beside a document, and the document."""
    start = min((at for at in (words.find("{"), words.find("[")) if at >= 0), default=0)
    end = max(words.rfind("}"), words.rfind("]")) + 1
    return f"{words[:start]} {words[end:]}", words[start:end]


def _require_plain_names(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    names = {name for name, _ in pairs}
    if len(names) < len(pairs) or any(name.isdigit() or name == "__proto__" for name in names):
        raise ValueError
    return dict(pairs)


def _stays(number: str) -> bool:
    """Return whether a number is written the same after it was read."""
    value = json.loads(number)
    is_exact = abs(value) < 2**53 and json.dumps(value) == number and number != "-0"
    return is_exact and not (isinstance(value, float) and value.is_integer())
