"""Text from outside, made fit for a prompt: nothing unseen in it, nothing that could close or open
a delimiter of ours.
"""

from __future__ import annotations

import json
import re

from sigil.protocol import Json

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
"""Escape sequences of terminals: control sequences, titles, two-character ones (ECMA-48)."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200d-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control characters but for tab and line feed; what is invisible, turns the direction, or is half
of a character.
"""
_JOINS = re.compile("(?<=[^\x00-\x7f\ue000])\ue000(?=[^\x00-\x7f\ue000])")
"""A joiner, in disguise, between two characters that it can join."""
_PARTS = re.compile(
    "(?<![\u0600-\u109f\u1780-\u17b3])\u200c|\u200c(?![\u0600-\u109f\u1780-\u17b3])"
)
"""A non-joiner that is not within a word of a script that is spelt with it, such as Persian and
those of India.
"""
_SELECTORS = re.compile("(?<![^\x00-\x7f\ue000\ufe00-\ufe0f])(?<![0-9#*])[\ufe00-\ufe0f]")
"""What chooses the look of the character before it, where there is none that has two: digits and
emoji do.
"""
_LEFT, _RIGHT = "(?:[<＜﹤]|(?i:&lt;|&#0*60;|&#x0*3c;))", "(?:[>＞﹥]|(?i:&gt;|&#0*62;|&#x0*3e;))"
_GAP = "[\\s\u200d\ufe00-\ufe0f]*+"
_NAMED = "\\w[\\w\\s.():\u200d\ufe00-\ufe0f-]*+"
_DELIMITER = re.compile(
    rf"(?:{_LEFT}{_GAP}{_LEFT}|[≪⪡⟪《«]){_GAP}\\*+[/／∕⁄]+{_GAP}({_NAMED}){_GAP}[/／]?{_GAP}(?:{_RIGHT}{_GAP}{_RIGHT}|[≫⪢⟫》»])"
    rf"|{_LEFT}{{2}}([^\W\d][\w .()-]{{0,40}}+){_RIGHT}{{2}}"
)
"""What closes a delimiter, in whatever spelling a reader would take for it, and what opens one."""
_SUSPECT = re.compile("[<＜﹤≪⪡⟪《«\u200c\ufe00-\ufe0f]|&(?:lt|LT|#)|\\\\[ru]")


def clean(text: str) -> str:
    """`text` without what nobody sees; line ends are line feeds. Emoji that are joined stay joined,
    and words spelt.
    """
    text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    seen = _PARTS.sub("", _UNSEEN.sub("", text.replace("\ue000", "").replace("\u200d", "\ue000")))
    seen = _SELECTORS.sub("", seen)
    return _JOINS.sub("\u200d", seen).replace("\ue000", "")


def unseen(text: str) -> int | None:
    """The position of the first character that `clean` would take away; None when there is none."""
    plain = text.replace("\r\n", "\n")
    cleaned = clean(text)
    if plain == cleaned:
        return None
    return next(
        (at for at, (one, other) in enumerate(zip(plain, cleaned, strict=False)) if one != other),
        len(cleaned),
    )


def inert(text: str) -> str:
    """`text` in which nothing looks like one of our delimiters, `<<NAME>>`."""
    return _DELIMITER.sub(
        lambda found: f"‹‹/{found[1].strip()}››" if found[1] else f"‹‹{found[2]}››", text
    )


def observed(content: str) -> str:
    """What a tool gave, as the model may read it: clean, and inert. JSON stays the JSON that it
    was.
    """
    if not (_SUSPECT.search(content) or _UNSEEN.search(content)):
        return content
    try:
        return json.dumps(
            _observed(json.loads(content)),
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
    except (ValueError, RecursionError):
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
        return (
            text.split("\n", 1)[-1].rsplit("\n", 1)[0].strip()
            if "\n" in text
            else text.strip("`").strip()
        )
    return text


def fenced(name: str, text: str) -> str:
    """`text` between the delimiters of `name`, which nothing inside can close."""
    return f"<<{name}>>\n{inert(clean(text)).strip()}\n<</{name}>>"
