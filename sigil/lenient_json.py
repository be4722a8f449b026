"""Reads the JSON that language models write.

They put it into a code fence, quote it with single quotes, leave a comma before a bracket or a line
break inside a text, write `True` for true and leave the quotes of names away. Each of these has one
meaning. What has none is refused as it is elsewhere.
"""

from __future__ import annotations

import re

import orjson

from sigil.protocol import Json

_FENCE = "```"
_LANGUAGE = re.compile(r"[A-Za-z0-9]{0,12}\s")
_TOKEN = re.compile(
    r""""(?:[^"\\]|\\.?)*+(?P<double>"|\Z)|'(?:[^'\\]|\\.?)*+(?P<single>'|\Z)|,(?=\s*[}\]])|[^\W\d]\w*+""",
    re.DOTALL,
)
"""A text, a comma before a bracket, or a word. A text without an end goes to the end: each
character is looked at once.
"""
_COLON = re.compile(r"\s*:")
_WORDS = {"True": "true", "False": "false", "None": "null", "undefined": "null"}
_ESCAPE = re.compile(r"\\(.)|([\"\x00-\x1f])", re.DOTALL)


def read_json(text: str) -> Json:
    """Return the value that a text means; `orjson.JSONDecodeError`, about the text as it is, when
    it means none.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as problem:
        inner = _strip_fence(text)
        strict = _TOKEN.sub(lambda token: _write_token(inner, token), inner)
        try:
            return orjson.loads(strict)
        except orjson.JSONDecodeError:
            raise problem from None


def _strip_fence(text: str) -> str:
    """Return the inside of a text that is one code fence; any other text as it is."""
    stripped = text.strip()
    if not stripped.startswith(_FENCE) or not stripped.endswith(_FENCE):
        return text
    inner = stripped[len(_FENCE) : -len(_FENCE)]
    language = _LANGUAGE.match(inner)
    return inner[language.end() :] if language else inner


def _write_token(text: str, token: re.Match[str]) -> str:
    """Return a part of the text as JSON writes it."""
    part = token[0]
    if part[0] in "\"'":
        if not (token["double"] or token["single"]):
            return part  # it has no end
        return f'"{_ESCAPE.sub(_write_escape, part[1:-1])}"'
    if part == ",":
        return ""
    if _COLON.match(text, token.end()):
        return f'"{part}"'
    return _WORDS.get(part, part)


def _write_escape(found: re.Match[str]) -> str:
    escaped, bare = found.groups()
    if escaped == "'":
        return "'"
    if bare is None:
        return found[0]
    return '\\"' if bare == '"' else f"\\u{ord(bare):04x}"
