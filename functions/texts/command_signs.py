"""Commands in texts are written behind the sign with which people type them on a platform."""

from __future__ import annotations

import copy
import re
from collections.abc import Mapping
from typing import Final

from functions.texts.en import TEXTS, Texts

_COMMAND: Final = re.compile(
    rf"(?<![A-Za-z0-9_/.~:])/(?=(?:{{name}}|{'|'.join(TEXTS.meanings)})(?![A-Za-z0-9_/-]))"
)
"""The slash of a command, or of a pattern of one. In Chinese no space has to stand before it."""


def write_commands(text: str, sign: str) -> str:
    """Return a text of our own with its commands behind a sign: `!help`, `/uncaged help`.

    Paths and addresses stay as they are, and so must what other people wrote: it is filled in
    later.
    """
    return text if sign == TEXTS.command_sign else _COMMAND.sub(lambda _: sign, text)


def make_typed_texts(texts: Texts, sign: str) -> Texts:
    """Return texts with their commands behind a sign."""
    typed = copy.copy(texts)
    for name in vars(Texts):
        value = getattr(texts, name)
        if name.startswith("_"):
            continue
        if isinstance(value, str):
            setattr(typed, name, write_commands(value, sign))
        elif isinstance(value, Mapping):
            written = {key: write_commands(text, sign) for key, text in value.items()}
            setattr(typed, name, written)
    typed.command_sign = sign
    return typed
