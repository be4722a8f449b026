"""Text from outside is made fit for a prompt.

Nothing that a reader does not see stays in it, and nothing that could close or open a delimiter of
ours.
"""

from __future__ import annotations

import html
import json
import re
import unicodedata
from collections.abc import Collection

from sigil.protocol import Json

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[ -/]*[0-~])")
"""Escape sequences of terminals: control sequences, titles, two-character ones (ECMA-48)."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200d-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff"
    "\uffa0\ufff0-\ufffb\ud800-\udfff\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)
"""Control characters but for tab and line feed, and what is invisible, turns the direction of
writing, or is half of a character.
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
"""Characters that choose the look of the one before them, where that one has only one look."""
_LEFT, _RIGHT = "(?:[<＜﹤]|(?i:&lt;|&#0*60;|&#x0*3c;))", "(?:[>＞﹥]|(?i:&gt;|&#0*62;|&#x0*3e;))"
_GAP = "[\\s\u200d\ufe00-\ufe0f]*+"
_NAMED = "\\w[\\w\\s.():\u200d\ufe00-\ufe0f-]*+"
_DELIMITER = re.compile(
    rf"(?:{_LEFT}{_GAP}{_LEFT}|[≪⪡⟪《«]){_GAP}\\*+[/／∕⁄]+{_GAP}({_NAMED}){_GAP}[/／]?{_GAP}(?:{_RIGHT}{_GAP}{_RIGHT}|[≫⪢⟫》»])"
    rf"|{_LEFT}{{2}}([^\W\d][\w .()-]{{0,40}}+){_RIGHT}{{2}}"
)
"""What closes a delimiter, in whatever spelling a reader would take for it, and what opens one."""
_TAG = re.compile(rf"{_LEFT}({_GAP}[/／∕⁄]?{_GAP}(?:identity|inbox|auto-claimed)\b)", re.IGNORECASE)
"""What begins a tag of the runtime: who a teammate is, its mail, and what it has claimed."""
_SUSPECT = re.compile("[<＜﹤≪⪡⟪《«\u200c\ufe00-\ufe0f]|&(?:lt|LT|#)|\\\\[ru]")

_CODE_FENCE = re.compile("`+|~~~+")
"""The text between two of them is code, and is shown as it is written, tags and all."""
_HIDDEN_MARKUP = re.compile(r"<!--.*?(?:-->|\Z)|</?[A-Za-z][^<>]*>", re.DOTALL)
"""Comments and tags."""
_EMPTY_LINK = re.compile(r"!?\[\s*\]\(\s*\)")
_RULE = re.compile(r"^[ \t|:]*[-=]{2,}[-=\s|:]*$", re.MULTILINE)
"""A rule, the line below a heading, or the one below a table's head."""
_MARKUP = str.maketrans("", "", "*_~#>|`")
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their class that show nothing."""
_EXAMINED_CHARACTERS = 10_000
"""The markup of a longer text is not taken out: it may be hostile, and surely says something."""


def clean_text(text: str) -> str:
    """Return a text without the characters that nobody sees, its line ends as line feeds.

    Emoji that are joined stay joined, and words stay spelt.
    """
    if text.isascii() and text.isprintable():  # as most words of people are: nothing to take out
        return text
    text = _ANSI.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    # U+E000 takes a joiner's place until it is known whether the characters around can be joined
    text = text.replace("\ue000", "").replace("\u200d", "\ue000")
    text = _PARTS.sub("", _UNSEEN.sub("", text))
    text = _SELECTORS.sub("", text)
    return _JOINS.sub("\u200d", text).replace("\ue000", "")


CUT = "… and {count:,} more characters."
ESCAPED_CHARACTERS = 12
"""One character has at most so many where it is escaped."""


def escape_unseen(text: str) -> str:
    """Return a text in which every character that nobody sees is escaped as in JSON.

    Whoever reads it sees all that a program would read.
    """
    if text.isprintable() and not _UNSEEN.search(text):
        return text
    escaped = []
    for character in text:
        if character == " " or (character.isprintable() and not _UNSEEN.match(character)):
            escaped.append(character)
        else:
            escaped.append(json.dumps(character)[1:-1])
    return "".join(escaped)


def find_unseen(text: str) -> int | None:
    """Return the position of the first character that `clean_text` would remove, None for none."""
    plain = text.replace("\r\n", "\n")
    cleaned = clean_text(text)
    if plain == cleaned:
        return None
    for position, (before, after) in enumerate(zip(plain, cleaned, strict=False)):
        if before != after:
            return position
    return len(cleaned)


def escape_delimiters(text: str) -> str:
    """Return a text in which nothing looks like one of our delimiters, `<<NAME>>`, or like a tag of
    the runtime, such as `<inbox>`.
    """
    text = _DELIMITER.sub(
        lambda found: f"‹‹/{found[1].strip()}››" if found[1] else f"‹‹{found[2]}››", text
    )
    return _TAG.sub(r"‹\1", text)


def escape_zones(text: str, names: Collection[str]) -> str:
    """Return a text in which nothing looks like the delimiters of these names; others stay."""

    def escape(found: re.Match[str]) -> str:
        name = (found[1] or found[2]).strip()
        if name.upper() not in names:
            return found[0]
        return f"‹‹/{name}››" if found[1] else f"‹‹{name}››"

    return _DELIMITER.sub(escape, text)


def sanitize_result(content: str) -> str:
    """Return a tool's result as the model may read it; JSON stays the JSON that it was."""
    if not (_SUSPECT.search(content) or _UNSEEN.search(content)):
        return content
    try:
        return json.dumps(
            _sanitize_value(json.loads(content)),
            ensure_ascii=False,
            allow_nan=False,
            separators=(",", ":"),
        )
    except (ValueError, RecursionError):
        return escape_delimiters(clean_text(content))


def _sanitize_value(value: Json) -> Json:
    if isinstance(value, str):
        return escape_delimiters(clean_text(value))
    if isinstance(value, list):
        return [_sanitize_value(part) for part in value]
    if isinstance(value, dict):
        return {_sanitize_value(name): _sanitize_value(part) for name, part in value.items()}
    return value


def cut_text(text: str, most: int, pattern: str = CUT) -> str:
    """Return a text of at most `most` characters; the last line of one that was longer says how
    many are left out, in the words of `pattern`.
    """
    if len(text) <= most:
        return text
    room = max(most - len(pattern.format(count=len(text))) - 1, 0)
    return f"{text[:room]}\n{pattern.format(count=len(text) - room)}"


def strip_code_fence(text: str) -> str:
    """Return a text without a code fence around all of it."""
    text = text.strip()
    if not (text.startswith("```") and text.endswith("```") and len(text) >= 2 * len("```")):
        return text
    if "\n" not in text:
        return text.strip("`").strip()
    return text.split("\n", 1)[-1].rsplit("\n", 1)[0].strip()


def delimit_text(name: str, text: str) -> str:
    """Return a text between the delimiters of `name`, which nothing inside can close."""
    return f"<<{name}>>\n{escape_delimiters(clean_text(text)).strip()}\n<</{name}>>"


def is_visible(text: str) -> bool:
    """Return whether a reader of the text, once it is rendered, sees more than space and markup."""
    if len(text) > _EXAMINED_CHARACTERS:
        return any(map(_is_shown, text))
    code = "".join(_CODE_FENCE.split(text)[1:-1:2])
    if any(map(_is_shown, code)):
        return True
    bare = _RULE.sub("", _EMPTY_LINK.sub("", _HIDDEN_MARKUP.sub("", html.unescape(text))))
    return any(map(_is_shown, bare.translate(_MARKUP)))


def _is_shown(character: str) -> bool:
    """Return whether a character is neither space, control, format nor combining, nor a filler."""
    return unicodedata.category(character)[0] not in "ZCM" and character not in _FILLERS
