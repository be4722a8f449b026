"""Where a message came from, as it is stored with it and as the model reads it: the name is its
sender's word, all else is the runtime's.

It is stored as `telegram` for a private chat and as `telegram 42 member · Alice` for a group: the
platform, the end of the sender's id and their role stand before the first separator, where no name
reaches.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final, get_args

from functions.agent.access.roles import Role
from functions.agent.sanitize import clean, inert
from functions.events import Event
from sigil.errors import one_line

SEPARATOR: Final = " · "
NAME_CHARACTERS: Final = 60
ID_CHARACTERS: Final = 12
"""A longer id is told by its last `ID_TAIL` characters."""
ID_TAIL: Final = 8
ROLES: Final = frozenset(get_args(Role))
_DOTS: Final = "·•‧∙⋅・･᛫⸱⸳ꞏᐧ\u0387●◦⦁⚫⏺∘⸰🞄"
_QUOTES: Final = '"“”„‟″‶＂«»〝〞〟❝❞ˮʺ🙶🙷🙸'
_ODD: Final = re.compile(r"[^A-Za-z0-9@._+-]")


def origin_of(event: Event, role: Role) -> str:
    """The origin of an event's message, as it is stored."""
    if event.private:
        return event.platform
    head = " ".join(filter(None, (event.platform, _short(event.sender.id), role)))
    name = clean_name(event.sender.name)
    return f"{head}{SEPARATOR}{name}" if name else head


def shown_origin(origin: str) -> str:
    """A stored origin as the runtime's line has it: `telegram · "Alice" · 42 · member`."""
    head, _, name = origin.partition(SEPARATOR)
    parts = head.split(" ")
    known = len(parts) == len(("platform", "id", "role")) and parts[-1] in ROLES
    platform, told = (parts[0], parts[1:]) if known else (clean_name(head), [])
    return SEPARATOR.join(filter(None, (platform, quoted_name(name) if name else "", *told)))


@lru_cache(maxsize=4096)
def name_in(origin: str) -> str:
    """What the sender of a message in a group calls themselves; empty where nobody is named."""
    return clean_name(origin.partition(SEPARATOR)[2])


def quoted_name(name: str, most: int = NAME_CHARACTERS) -> str:
    """A name that somebody chose, in quotes that it cannot close."""
    return f'"{clean_name(name, most)}"'


def clean_name(name: str, most: int = NAME_CHARACTERS) -> str:
    """A name that somebody chose, on one line, without what a line of the runtime's is made of:
    separators, brackets, double quotes.
    """
    plain = "".join(map(_harmless, clean(inert(name))))
    return one_line(" ".join(plain.split()), most)


def _harmless(character: str) -> str:
    if character in _DOTS:
        return " "
    if character in _QUOTES:
        return "'"
    kind = unicodedata.category(character)
    return {"Ps": "(", "Pe": ")"}.get(kind, character)


def _short(id: str) -> str:
    """The part of an id that tells people of one chat apart."""
    own = _ODD.sub("_", id.partition(":")[2] or id)
    return own if len(own) <= ID_CHARACTERS else f"…{own[-ID_TAIL:]}"
