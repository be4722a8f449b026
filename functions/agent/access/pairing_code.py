"""Pairing codes are read by one person to another.

They are in Crockford's base 32, without a letter that looks like another or like a digit.
"""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Five bits a character."""
READ_CHARACTERS = 64
_SEPARATORS = str.maketrans("", "", "- \t\n")
_LOOKALIKES = str.maketrans("OIL", "011", "- \t\n")
_GROUP = 4
EDGES: Final = " \t\r\n`'\"“”‘’„«»「」.。"
"""What may stand around a code that was copied out of a sentence."""


def make_code(length: int) -> str:
    """Return a new code of `length` characters."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def format_code(code: str) -> str:
    """Return the code in groups: `ABCD-EFGH`."""
    return "-".join(code[at : at + _GROUP] for at in range(0, len(code), _GROUP))


def parse_code(text: str, length: int) -> str:
    """Return the code that somebody typed, in any letters; empty when it is none of this length."""
    text = text.strip(EDGES)
    if len(text) > READ_CHARACTERS or not text.isascii():
        return ""
    code = text.upper().translate(_LOOKALIKES)
    return code if len(code) == length and set(code) <= set(ALPHABET) else ""


def looks_mistyped(text: str) -> bool:
    """Return whether a text may be meant as a code of any length: letters and digits alone."""
    letters = text.strip(EDGES).translate(_SEPARATORS)
    return letters.isascii() and letters.isalnum() and len(text) <= READ_CHARACTERS


def hash_code(code: str) -> str:
    """Return the digest that the store keeps of a code."""
    return sha256(code.encode("ascii")).hexdigest()
