"""The names of people, roles and channels that Discord tells only when it is asked, remembered for
an hour.

Whoever writes to the bot reads what it tells: of channels those of the same server alone, and only
those that everybody there may see.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from typing import Final

from functions.channels.discord.api import DiscordApi, DiscordRejected
from functions.channels.discord.incoming_text import Fields, Kind, clean_name
from functions.channels.discord.reply_address import read_snowflake
from sigil.errors import BackendError
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

FRESH_SECONDS: Final = 3_600.0
NAMES_MOST: Final = 20_000
ASKED_MOST: Final = 5
"""So many names are asked for because of one message; the others stay unknown until the next."""
ASKED_A_MINUTE: Final = 60
"""So many are asked for in a minute, whoever names them: Discord shuts out for a while who gets too
many refusals, as for channels of other servers.
"""
ASK_TIMEOUT: Final = 3.0
VIEW_CHANNEL: Final = 1 << 10
_PLAIN: Final = (0, 2, 4, 5, 13, 15, 16)
"""The types of channels that are no threads, and have permissions of their own."""
_Entry = tuple[Kind, int]


class Directory:
    """The names that one bot has asked for. Safe to share between threads."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._names: dict[tuple[int, _Entry], tuple[str, float]] = {}
        self._is_open: dict[int, bool] = {}
        self._minute = clock()
        self._asked = 0

    def recall(self, guild: int, entry: _Entry) -> str | None:
        """Return a name that is known in a server, without asking; None for one not asked for."""
        with self._lock:
            name, end = self._names.get((guild, entry), ("", 0.0))
        return name if self._clock() < end else None

    def find_names(
        self, api: DiscordApi, guild: int, wanted: Iterable[_Entry]
    ) -> dict[_Entry, str]:
        """Return names by kind and id, empty for what Discord does not tell; `guild` is 0 in
        private.

        Nobody has to wait for a name: after a request without an answer there is no other.
        """
        found: dict[_Entry, str] = {}
        may_ask = ASKED_MOST
        for entry in wanted:
            name = self.recall(guild, entry)
            if name is None and may_ask and self._count_request():
                try:
                    name = self._ask(api, guild, entry)
                    may_ask -= 1
                except BackendError:
                    may_ask = 0
            found[entry] = name or ""
        return found

    def _count_request(self) -> bool:
        """Return whether one more name may be asked for in this minute."""
        now = self._clock()
        with self._lock:
            if now - self._minute >= 60.0:
                self._minute = now
                self._asked = 0
            self._asked += 1
            return self._asked <= ASKED_A_MINUTE

    def _ask(self, api: DiscordApi, guild: int, entry: _Entry) -> str:
        kind, id = entry
        name = ""
        try:
            if kind == "person":
                user = as_mapping(api.call("GET", f"/users/{id}", timeout=ASK_TIMEOUT))
                name = as_string(user.get("global_name")) or as_string(user.get("username"))
            elif guild:
                self._ask_roles(api, guild)
                if kind == "role":
                    return self.recall(guild, entry) or ""
                channel = as_mapping(api.call("GET", f"/channels/{id}", timeout=ASK_TIMEOUT))
                name = as_string(channel.get("name")) if self._is_shown(channel, guild) else ""
        except DiscordRejected:
            name = ""
        self._keep(guild, entry, name)
        return clean_name(name)

    def _ask_roles(self, api: DiscordApi, guild: int) -> None:
        """Keep the names of a server's roles, the first of which everybody has."""
        everybody: _Entry = ("role", guild)
        if self.recall(guild, everybody) is not None:
            return
        rows = as_sequence(api.call("GET", f"/guilds/{guild}/roles", timeout=ASK_TIMEOUT))
        for role in map(as_mapping, rows[:NAMES_MOST]):
            id = read_snowflake(role.get("id"))
            if id:
                self._keep(guild, ("role", id.number), as_string(role.get("name")))
            if id and id.number == guild:
                self._is_open[guild] = _may_view(role.get("permissions"))

    def _is_shown(self, channel: Fields, guild: int) -> bool:
        """Return whether everybody in a server may see a channel of it."""
        home = read_snowflake(channel.get("guild_id"))
        if home is None or home.number != guild or channel.get("type") not in _PLAIN:
            return False
        shown = self._is_open.get(guild, False)
        for row in map(as_mapping, as_sequence(channel.get("permission_overwrites"))):
            whom = read_snowflake(row.get("id"))
            if whom and whom.number == guild:
                shown = (shown and not _may_view(row.get("deny"))) or _may_view(row.get("allow"))
        return shown

    def _keep(self, guild: int, entry: _Entry, name: str) -> None:
        with self._lock:
            if len(self._names) >= NAMES_MOST:
                self._names.clear()
            self._names[guild, entry] = (clean_name(name), self._clock() + FRESH_SECONDS)


def _may_view(permissions: Json) -> bool:
    """Return whether a set of permissions, which is a number in a string, holds that to see."""
    text = as_string(permissions)
    return text.isascii() and text.isdigit() and len(text) < 40 and bool(int(text) & VIEW_CHANNEL)
