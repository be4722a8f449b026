"""What LINE tells of people and of the bot only when it is asked."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from functions.channels.known_people import NAME_CHARACTERS, KnownPeople, Profile
from functions.channels.line.api import LineApi, LineRejected
from functions.channels.visible_text import clean_text
from sigil.errors import BackendError, Refused, one_line
from sigil.json_fields import as_string

LOOKUP_TIMEOUT: Final = 5.0
_LANGUAGE: Final = re.compile(r"[a-z]{2}(?:-[A-Za-z]{2,4})?", re.ASCII)
_PATHS: Final = {
    "U": "/v2/bot/profile/{person}",
    "C": "/v2/bot/group/{chat}/member/{person}",
    "R": "/v2/bot/room/{chat}/member/{person}",
}


@dataclass(slots=True)
class LineDirectory:
    """The people and the bot of one channel. Safe to share between threads."""

    _channel: str
    _people: KnownPeople
    _bot: str = ""

    def fetch_bot_name(self, api: LineApi) -> str:
        """Return the bot's name; LINE is asked once. `BackendError` when it does not answer."""
        if not self._bot:
            try:
                answer = api.call("GET", "/v2/bot/info")
            except Refused as problem:
                raise BackendError("EUNAVAILABLE", problem.message, source="line") from None
            self._bot = one_line(clean_text(as_string(answer.get("displayName"))), NAME_CHARACTERS)
        return self._bot

    def find_person(self, api: LineApi, person: str, chat: str) -> tuple[str, str]:
        """Return the name of a person who wrote in a chat, or else their id, and the language of
        their app, which LINE tells in private chats.
        """

        def fetch_profile() -> Profile:
            path = _PATHS[chat[:1]].format(chat=chat, person=person)
            try:
                answer = api.call("GET", path, timeout=LOOKUP_TIMEOUT)
            except LineRejected:
                return Profile()  # they left, or have not agreed to be known
            language = as_string(answer.get("language"))
            is_language = _LANGUAGE.fullmatch(language) is not None
            return Profile(
                as_string(answer.get("displayName")), language.lower() if is_language else ""
            )

        profile = self._people.find(f"{self._channel}:{person}", fetch_profile)
        return profile.name or person, profile.language
