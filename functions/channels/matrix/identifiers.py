"""The names of people, rooms and messages (https://spec.matrix.org/latest/appendices/#identifier-grammar),
and the sessions that are named by them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from sigil.errors import UsageError

_SERVER: Final = r"(?:[A-Za-z0-9.-]{1,230}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?"
_USER: Final = rf"@[!-9;-~]{{1,250}}:{_SERVER}"
_ROOM: Final = rf"![A-Za-z0-9._~=+/-]{{1,250}}(?::{_SERVER})?"
_MESSAGE: Final = r"\$[A-Za-z0-9._~=+/:\[\]-]{1,254}"
_MOST: Final = 255
ESCAPED_MOST: Final = 400
"""Characters of an id in a key of the store, of which some back-ends take no more than a thousand.
No id comes near that but one that is mostly signs.
"""
USER: Final = re.compile(_USER, re.ASCII)
ROOM: Final = re.compile(_ROOM, re.ASCII)
"""A room's id; since version 12 of rooms it names no server."""
MESSAGE: Final = re.compile(_MESSAGE, re.ASCII)
FILE: Final = re.compile(rf"mxc://({_SERVER})/([A-Za-z0-9_-]{{1,255}})", re.ASCII)
"""The address of a file: its server, and its id there."""
_SESSION: Final = re.compile(
    rf"[a-z][a-z0-9-]*:(?:({_ROOM})(?::({_MESSAGE}))?|({_USER}))", re.ASCII
)


def find_id(form: re.Pattern[str], value: object) -> str:
    """Return a value that is an id of this form; empty for anything else."""
    if not isinstance(value, str) or len(value) > _MOST or not form.fullmatch(value):
        return ""
    return value if len(quote(value, safe=":@+=")) <= ESCAPED_MOST else ""


@dataclass(frozen=True, slots=True)
class MatrixChat:
    """A `room`, or a `thread` in it by the message that it began with, or a `person` with whom we
    are alone in a room that is yet to be found.
    """

    room: str
    thread: str = ""
    person: str = ""

    @classmethod
    def parse(cls, session: str) -> MatrixChat:
        """Return the chat of a session; `UsageError` for one that is none of Matrix'."""
        match = _SESSION.fullmatch(session)
        if match is None:
            raise UsageError("EINVAL", "not a session of Matrix", source="matrix")
        return cls(match[1] or "", match[2] or "", match[3] or "")

    def name_session(self, channel: str) -> str:
        """Return the session of the chat, under the name of its channel."""
        parts = (channel, self.room or self.person, self.thread)
        return ":".join(filter(None, parts))
