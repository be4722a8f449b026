"""The stamp of a message: what the model reads above it of when and where it was written.

An owner's template says how it reads; the sender stands behind it, where no template reaches.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from functions.time.time_zone import DEFAULT, format_offset, format_stamp, name_city
from sigil.errors import one_line

TEMPLATE: Final = "{now} {zone}"
VARIABLES: Final = ("location", "now", "zone", "platform", "weather")
"""The variables of a template. The weather is what an owner's machine tells (`weather.py`)."""
CHARACTERS: Final = 200
UNKNOWN: Final = "unknown"
_VARIABLE: Final = re.compile(r"\{([a-z]+)\}")
_ODD: Final = re.compile('[^ -~\u00a1-\u02af\u0370-\u0482\u3001-\u9fff\uff01-\uffee]|[][<>·{}"`]')
"""What may not stand in a template beside its variables: the marks of the runtime's own lines."""


def find_template_fault(template: str) -> str:
    """Return what is wrong with a template; empty for one that can be used."""
    unknown = [name for name in _VARIABLE.findall(template) if name not in VARIABLES]
    if unknown:
        return f"there is no {{{unknown[0]}}}"
    if len(template) > CHARACTERS:
        return f"it has more than {CHARACTERS} characters"
    odd = _ODD.search(_VARIABLE.sub("", template))
    return f"it has {odd[0]!r}" if odd else ""


def clean_value(text: str, most: int) -> str:
    """Return a value of a variable on one line, without the marks of the runtime's own lines."""
    return one_line(" ".join(_ODD.sub(" ", text).split()), most)


@dataclass(frozen=True, slots=True)
class Stamp:
    """How the messages of a chat are stamped: a template, the zone of the chat, and what the
    weather was at a time.
    """

    template: str = TEMPLATE
    zone: str = DEFAULT
    find_weather: Callable[[float], str] | None = None

    @property
    def shows_weather(self) -> bool:
        """Return whether its template has the weather."""
        return "{weather}" in self.template

    def format(self, at: float, platform: str) -> str:
        """Return the stamp of a message that was written at `at`, in seconds since 1970."""
        zone = self.zone
        if zone != DEFAULT:  # an hour that comes twice is told apart
            zone = f"{zone} ({format_offset(at, zone)})"
        values = {
            "location": name_city(self.zone) or UNKNOWN,
            "now": format_stamp(at, self.zone),
            "zone": zone,
            "platform": platform or UNKNOWN,
            "weather": (self.find_weather(at) if self.find_weather else "") or UNKNOWN,
        }
        return _VARIABLE.sub(lambda found: values[found[1]], self.template)
