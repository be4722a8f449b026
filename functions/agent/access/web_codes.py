"""Codes that sign a person in to the page, which a chat or a command tells and a browser types.

A code stands for its person and for the most that they may do there; what they may is looked up
when it is used, and at each request after that.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, Literal

from functions.agent.access import pairing_code
from sigil.errors import Refused
from sigil.storage.evolve import evolve
from sigil.storage.kv import ABSENT, KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps

CHARACTERS: Final = 12
"""60 bits: anybody who reaches the page may try."""
SECONDS: Final = 600.0
"""A code is valid for so long."""
KEPT_SECONDS: Final = 3600.0
"""Its record stays for so long, to tell that a code was used or is over."""

WebRole = Literal["owner", "member", "reader"]


@dataclass(frozen=True, slots=True)
class WebCode(Stored):
    """A code that was told to the person `who` at `at` (seconds since 1970), for a sign-in with at
    most this role. It was `used` at that time, 0 for never.
    """

    who: str
    role: WebRole
    at: float
    used: float = 0.0


_CODE: Final = Shape[WebCode](WebCode)


class CodeRefused(Refused):
    """A code opens nothing; `reason` says why: `used`, `old` or `unknown`."""

    def __init__(self, reason: str) -> None:
        message = {
            "used": "that code was used already",
            "old": "that code is too old",
            "unknown": "there is no such code",
        }[reason]
        super().__init__(
            "EAUTH",
            message,
            source="page",
            suggestion="`uncaged web` prints a new one, and /web in a private chat sends one",
            reason=reason,
        )


class WebCodes:
    """The codes of one agent's pages. `now` returns seconds since 1970."""

    def __init__(self, kv: KV, agent: str, now: Callable[[], float]) -> None:
        self._kv = kv
        self._agent = agent
        self._now = now

    def make(self, who: str, role: WebRole) -> str:
        """Return a new code for a person, in groups as people read it."""
        code = pairing_code.make_code(CHARACTERS)
        key = keys.web_code(self._agent, pairing_code.hash_code(code))
        self._kv.put(key, dumps(WebCode(who, role, self._now())), expect=ABSENT, ttl=KEPT_SECONDS)
        return pairing_code.format_code(code)

    def use(self, text: str) -> WebCode:
        """Use up the code that somebody typed, and return what it stands for; `CodeRefused` for one
        that was used, is too old, or is none.
        """
        code = pairing_code.parse_code(text, CHARACTERS)
        if not code:
            raise CodeRefused("unknown")
        now = self._now()

        def decide(value: bytes | None) -> tuple[bytes | None, WebCode | str]:
            known = _read(value)
            if known is None:
                return None, "unknown"
            if known.used:
                return None, "used"
            if not 0 <= now - known.at < SECONDS:
                return None, "old"
            return dumps(evolve(known, used=now)), known

        key = keys.web_code(self._agent, pairing_code.hash_code(code))
        found = update(self._kv, key, decide, KEPT_SECONDS)
        if isinstance(found, str):
            raise CodeRefused(found)
        return found


def _read(value: bytes | None) -> WebCode | None:
    """Return a stored code; None for one that is not there or is damaged."""
    try:
        return _CODE.read(value or b"")
    except ValueError:
        return None
