"""Commands that are typed as `!word`, on platforms that keep the slash for themselves."""

from __future__ import annotations

import re


def as_command(text: str) -> str:
    """Return `!word …` as `/word …` where it is one of our commands."""
    from functions.texts.en import TEXTS

    match = re.match(r"!([a-z]{1,32})(?![\w!])", text.lstrip(), re.ASCII | re.IGNORECASE)
    if match is None or match[1].lower() not in TEXTS.meanings:
        return text
    return f"/{match[1].lower()}{text.lstrip()[match.end() :]}"
