"""Text is cleaned of the characters that deceive a reader: controls, bidi overrides, tags, lone
surrogates.
"""

from __future__ import annotations

import re

_BREAK = re.compile("\r\n?|[\u2028\u2029]")
_DECEPTIVE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f\ud800-\udfff]"
)


def clean_text(text: str) -> str:
    """Return `text` with plain line breaks; joiners and marks that scripts and emoji need stay."""
    return _DECEPTIVE.sub("", _BREAK.sub("\n", text))
