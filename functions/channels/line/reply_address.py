"""How an event can be answered: by its reply token, which is used once and soon, and where people
see which message is meant.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Self

from sigil.json_fields import as_string
from sigil.protocol import Json

ANSWERABLE_SECONDS: Final = 50.0
"""LINE takes a reply token for a minute after its webhook; beyond that it promises nothing."""
_TOKEN: Final = re.compile(r"[!-{}~]{1,400}", re.ASCII)
_ENDS: Final = re.compile(r"[0-9]{1,12}", re.ASCII)


@dataclass(frozen=True, slots=True)
class LineReplyAddress:
    """A reply `token` that is good until it `ends` (seconds since 1970), and the `quote` token by
    which an answer shows the message that it answers. Each is empty where there is none.
    """

    token: str = ""
    ends: int = 0
    quote: str = ""

    @classmethod
    def read(cls, token: Json, quote: Json, now: float) -> Self:
        """Return the address of an event that came `now`."""
        return cls(_find_token(token), int(now + ANSWERABLE_SECONDS), _find_token(quote))

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return what `write` wrote; an empty address for any other text."""
        token, _, rest = text.partition("|")
        ends, _, quote = rest.partition("|")
        if not _ENDS.fullmatch(ends):
            return cls()
        return cls(_find_token(token), int(ends), _find_token(quote))

    def write(self) -> str:
        """Return the address as the text that an event carries."""
        return f"{self.token}|{self.ends}|{self.quote}"


def _find_token(value: Json) -> str:
    token = as_string(value)
    return token if _TOKEN.fullmatch(token) else ""
