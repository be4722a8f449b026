"""Commands that do not come as `/word`: typed as `!word`, on platforms that keep the slash for
themselves, or chosen from a bot's menu.
"""

from __future__ import annotations

import re
from typing import Final

MENU_COMMAND: Final = re.compile(r"/[a-z]{1,32}(?: [!-~][ -~]{0,200})?", re.ASCII)
"""The key of an item of a bot's menu that is a command. The bot's owner has made the menu."""


def as_command(text: str) -> str:
    """Return `!word …` as `/word …` where it is one of our commands."""
    from functions.texts.en import TEXTS

    match = re.match(r"!([a-z]{1,32})(?![\w!])", text.lstrip(), re.ASCII | re.IGNORECASE)
    if match is None or match[1].lower() not in TEXTS.meanings:
        return text
    return f"/{match[1].lower()}{text.lstrip()[match.end() :]}"
