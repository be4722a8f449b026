"""Where a reply to a person goes: to their interaction as long as it may be answered, and else to
the channel.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Self

from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json

ANSWERABLE_SECONDS: Final = 15 * 60.0
_EPOCH: Final = 1_420_070_400.0
"""The first second of 2015, from which Discord counts."""
_NUMBER = re.compile(r"[1-9][0-9]{0,19}", re.ASCII)
_TOKEN = re.compile(r"[A-Za-z0-9_=-]{1,1000}", re.ASCII)
_GUILD_INSTALL = "0"


@dataclass(frozen=True, slots=True)
class Snowflake:
    """An id of Discord's, which tells when it was made
    (https://discord.com/developers/docs/reference#snowflakes).
    """

    number: int

    @property
    def seconds(self) -> float:
        """Return the time in seconds since 1970."""
        return (self.number >> 22) / 1000 + _EPOCH


def read_snowflake(value: Json) -> Snowflake | None:
    """Return the id that a field holds, None when it holds none."""
    text = as_string(value)
    if not _NUMBER.fullmatch(text) or int(text) >= 1 << 64:
        return None
    return Snowflake(int(text))


@dataclass(frozen=True, slots=True)
class InteractionAddress:
    """An interaction that can be answered, until it `ends` (seconds since 1970).

    `is_member`: the bot is where the interaction was, and may write there without it.
    """

    application: int
    interaction: Snowflake
    token: str
    is_member: bool

    @classmethod
    def read(cls, interaction: Mapping[str, Json]) -> Self | None:
        """Return the address of an interaction as Discord sends it."""
        application = read_snowflake(interaction.get("application_id"))
        id = read_snowflake(interaction.get("id"))
        token = as_string(interaction.get("token"))
        if application is None or id is None or not _TOKEN.fullmatch(token):
            return None
        owners = as_mapping(interaction.get("authorizing_integration_owners"))
        return cls(application.number, id, token, _GUILD_INSTALL in owners)

    @classmethod
    def parse(cls, text: str) -> Self | None:
        """Return the address that `write` wrote; None for any other text."""
        application, _, rest = text.partition("|")
        id, _, rest = rest.partition("|")
        place, _, token = rest.partition("|")
        snowflake = read_snowflake(id)
        if snowflake is None or not _NUMBER.fullmatch(application) or not _TOKEN.fullmatch(token):
            return None
        return cls(int(application), snowflake, token, place == "member")

    def write(self) -> str:
        """Return the address as one text."""
        place = "member" if self.is_member else "guest"
        return f"{self.application}|{self.interaction.number}|{place}|{self.token}"

    @property
    def ends(self) -> float:
        """Return when Discord takes no answer any more."""
        return self.interaction.seconds + ANSWERABLE_SECONDS

    @property
    def path(self) -> str:
        """Return the path of the requests that answer the interaction."""
        return f"/webhooks/{self.application}/{self.token}"
