"""What LINE tells of people and of the bot only when it is asked, remembered for a day."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from functions.channels.line.api import LineApi, Rejected
from functions.channels.visible_text import clean_text
from sigil.errors import BackendError, Refused, one_line
from sigil.json_fields import as_string

KEPT_SECONDS: Final = 86_400.0
PEOPLE_MOST: Final = 10_000
LOOKUP_TIMEOUT: Final = 5.0
NAME_CHARACTERS: Final = 100
_LANGUAGE: Final = re.compile(r"[a-z]{2}(?:-[A-Za-z]{2,4})?", re.ASCII)
_PATHS: Final = {
    "U": "/v2/bot/profile/{person}",
    "C": "/v2/bot/group/{chat}/member/{person}",
    "R": "/v2/bot/room/{chat}/member/{person}",
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What a person shows of themselves; each is empty where they show nothing."""

    name: str = ""
    language: str = ""


class LineDirectory:
    """The people and the bot of one channel. Safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._people: dict[str, tuple[Profile, float]] = {}
        self._bot = ""

    def fetch_bot_name(self, api: LineApi) -> str:
        """Return the bot's name; LINE is asked once. `BackendError` when it does not answer."""
        if not self._bot:
            try:
                answer = api.call("GET", "/v2/bot/info")
            except Refused as problem:
                raise BackendError("EUNAVAILABLE", problem.message, source="line") from None
            self._bot = _read_name(answer.get("displayName"))
        return self._bot

    def find_person(self, api: LineApi, person: str, chat: str) -> Profile:
        """Return the profile of a person who wrote in a chat, with their id where they have no
        name for us.

        A name is no reason to let anybody wait: without an answer it is asked again the next time.
        """
        now = self._clock()
        with self._lock:
            profile, end = self._people.get(person, (Profile(person), 0.0))
        if end > now:
            return profile
        path = _PATHS[chat[:1]].format(chat=chat, person=person)
        try:
            answer = api.call("GET", path, timeout=LOOKUP_TIMEOUT)
        except Rejected:
            answer = {}  # they left, or have not agreed to be known
        except (BackendError, Refused):
            return profile
        language = as_string(answer.get("language"))
        profile = Profile(
            _read_name(answer.get("displayName")) or person,
            language.lower() if _LANGUAGE.fullmatch(language) else "",
        )
        with self._lock:
            if len(self._people) >= PEOPLE_MOST:
                self._people.clear()
            self._people[person] = (profile, now + KEPT_SECONDS)
        return profile


def _read_name(value: object) -> str:
    return " ".join(one_line(clean_text(as_string(value)), NAME_CHARACTERS).split())
