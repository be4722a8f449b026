"""Text from outside, made fit for a prompt: nothing unseen in it, nothing that could close or open a delimiter of ours."""

from __future__ import annotations

import re

import orjson

from sigil.protocol import Json

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
"""Escape sequences of terminals: control sequences, titles, two-character ones (ECMA-48)."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0\ufff9-\ufffb"
    "\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Control characters but for tab and line feed; what is invisible, turns the direction, or is half of a character."""
_JOINS = re.compile("(?<=[^\x00-\x7f\ue000])\ue000(?=[^\x00-\x7f\ue000])")
"""A joiner, in disguise, between two characters that it can join."""
_DELIMITER = re.compile(r"<<(/?[A-Z][A-Z0-9_ .()]{0,40})>>", re.IGNORECASE)


def clean(text: str) -> str:
    """`text` without what nobody sees; line ends are line feeds. Emoji that are joined stay joined."""
    text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    seen = _UNSEEN.sub("", text.replace("\ue000", "").replace("\u200d", "\ue000"))
    return _JOINS.sub("\u200d", seen).replace("\ue000", "")


def unseen(text: str) -> int | None:
    """The position of the first character that `clean` would take away; None when there is none."""
    plain = text.replace("\r\n", "\n")
    cleaned = clean(text)
    if plain == cleaned:
        return None
    return next((at for at, (one, other) in enumerate(zip(plain, cleaned, strict=False)) if one != other), len(cleaned))


def inert(text: str) -> str:
    """`text` in which nothing looks like one of our delimiters, `<<NAME>>`."""
    return _DELIMITER.sub("‹‹\\1››", text)


def observed(content: str) -> str:
    """What a tool gave, as the model may read it: clean, and inert. JSON stays the JSON that it was."""
    if not ("<<" in content or "\\u00" in content or "\\r" in content or _UNSEEN.search(content)):
        return content
    try:
        return orjson.dumps(_observed(orjson.loads(content))).decode()
    except (orjson.JSONDecodeError, orjson.JSONEncodeError):
        return inert(clean(content))


def _observed(value: Json) -> Json:
    if isinstance(value, str):
        return inert(clean(value))
    if isinstance(value, list):
        return [_observed(part) for part in value]
    if isinstance(value, dict):
        return {_observed(name): _observed(part) for name, part in value.items()}
    return value


def unfenced(text: str) -> str:
    """`text` without a code fence around all of it."""
    text = text.strip()
    if text.startswith("```") and text.endswith("```") and len(text) >= 2 * len("```"):
        return text.split("\n", 1)[-1].rsplit("\n", 1)[0].strip() if "\n" in text else text.strip("`").strip()
    return text


def fenced(name: str, text: str) -> str:
    """`text` between the delimiters of `name`, which nothing inside can close."""
    return f"<<{name}>>\n{inert(clean(text)).strip()}\n<</{name}>>"
