"""Whether a text shows its reader anything once it is rendered: markup alone, a comment, or what
nobody sees is no answer.
"""

from __future__ import annotations

import html
import re
import unicodedata

_FENCE = re.compile("`+|~~~+")
"""Between two of them stands code, tags and all as they are written."""
_HIDDEN = re.compile(r"<!--.*?(?:-->|\Z)|</?[A-Za-z][^<>]*>", re.DOTALL)
"""Comments and tags."""
_EMPTY_LINK = re.compile(r"!?\[\s*\]\(\s*\)")
_RULE = re.compile(r"^[ \t|:]*[-=]{2,}[-=\s|:]*$", re.MULTILINE)
"""A rule, the line below a heading, or the one below a table's head."""
_MARKUP = str.maketrans("", "", "*_~#>|`")
_FILLERS = frozenset("\u115f\u1160\u2800\u3164\uffa0")
"""Letters and symbols by their class that show nothing."""
MOST_CHARACTERS = 10_000
"""A longer text says something, whatever it is: what is looked at here may be hostile."""


def is_visible(text: str) -> bool:
    """Whether somebody who reads the text sees more than white space and markup."""
    if len(text) > MOST_CHARACTERS:
        return any(map(_shows, text))
    code = _FENCE.split(text)[1:-1:2]
    if any(_shows(character) for part in code for character in part):
        return True
    bare = _RULE.sub("", _EMPTY_LINK.sub("", _HIDDEN.sub("", html.unescape(text))))
    return any(map(_shows, bare.translate(_MARKUP)))


def _shows(character: str) -> bool:
    """Neither a separator nor a control, format or combining character, nor a filler."""
    return unicodedata.category(character)[0] not in "ZCM" and character not in _FILLERS
