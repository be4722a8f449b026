"""Codes that one person reads to another: base 32 as Crockford has it, without a letter that looks
like another or like a digit.
"""

from __future__ import annotations

import secrets
from hashlib import sha256
from typing import Final

ALPHABET: Final = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Five bits a character."""
READ_CHARACTERS = 64
_MEANT = str.maketrans("OIL", "011", "- \t\n")
_GROUP = 4


def made(length: int) -> str:
    """A new code."""
    return "".join(secrets.choice(ALPHABET) for _ in range(length))


def shown(code: str) -> str:
    """`ABCD-EFGH`."""
    return "-".join(code[at : at + _GROUP] for at in range(0, len(code), _GROUP))


def read(text: str, length: int) -> str:
    """The code that somebody typed, however they did; empty when it cannot be one of this
    length.
    """
    if len(text) > READ_CHARACTERS or not text.isascii():
        return ""
    code = text.upper().translate(_MEANT)
    return code if len(code) == length and set(code) <= set(ALPHABET) else ""


def digest(code: str) -> str:
    """What the store keeps of a code."""
    return sha256(code.encode("ascii")).hexdigest()
