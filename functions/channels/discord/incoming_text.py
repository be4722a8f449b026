"""The text of a message as Discord writes it: `<@42>`, `<#55>`, `<t:1700000000:R>`
(https://discord.com/developers/docs/reference#message-formatting).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Final, Literal

from functions.channels.discord.reply_address import read_snowflake
from functions.events import Event
from sigil.errors import one_line
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

Fields = Mapping[str, Json]
Kind = Literal["person", "role", "channel"]
FindName = Callable[[Kind, int], str]
"""Returns the name of a person, a role or a channel by its id, empty where it is not known."""
RecallName = Callable[[int, Kind, int], str]
"""The same in the server with an id, which is 0 in private."""
GUILD: Final = "guild"
"""The name in an event's data of the server whose roles and channels it names by ids."""
NAMES_MOST: Final = 100
NAME_CHARACTERS: Final = 100
_ID: Final = r"([1-9][0-9]{0,19})"
MENTION: Final = re.compile(rf"<@!?{_ID}>", re.ASCII)
_CODE: Final = r"```.*?```|``.+?``|`[^`]+`"
"""Discord reads nothing in code, and nor do people."""
_NAMED: Final = re.compile(rf"{_CODE}|<(@!?|@&|#){_ID}>", re.ASCII | re.DOTALL)
_UNNAMED: Final = re.compile(
    rf"{_CODE}|<t:(?P<time>-?[0-9]{{1,14}})(?::[A-Za-z])?>"
    r"|<a?:(?P<emoji>[A-Za-z0-9_]{1,64}):[0-9]{1,20}>"
    r"|</(?P<command>[^<>:\n]{1,100}):[0-9]{1,20}>"
    r"|<id:(?P<place>[a-z-]{1,20})(?::[0-9]{1,20})?>",
    re.ASCII | re.DOTALL,
)
_KINDS: Final[Mapping[str, Kind]] = {"@": "person", "@!": "person", "@&": "role", "#": "channel"}
_PLACES: Final = {
    "browse": "Browse Channels",
    "customize": "Channels & Roles",
    "guide": "Server Guide",
    "home": "Server Guide",
    "linked-roles": "Linked Roles",
}
"""The places of a server, as Discord calls them."""


@dataclass(frozen=True, slots=True)
class Names:
    """Names that came with a message, by ids."""

    people: Mapping[int, str] = field(default_factory=dict)
    roles: Mapping[int, str] = field(default_factory=dict)
    channels: Mapping[int, str] = field(default_factory=dict)

    def find(self, kind: Kind, id: int) -> str:
        """Return a name, empty where none came."""
        known = {"person": self.people, "role": self.roles, "channel": self.channels}[kind]
        return known.get(id, "")


def read_names(fields: Fields) -> Names:
    """Return the names that came with a message, or with the data of a command."""
    resolved = as_mapping(fields.get("resolved"))
    members = as_mapping(resolved.get("members"))
    people: dict[int, str] = {}
    for user in map(as_mapping, as_sequence(fields.get("mentions"))[:NAMES_MOST]):
        _keep_name(people, user.get("id"), _name_person(user, user.get("member")))
    for id, user in _list_resolved(resolved, "users"):
        _keep_name(people, id, _name_person(user, members.get(id)))
    roles: dict[int, str] = {}
    for id, role in _list_resolved(resolved, "roles"):
        _keep_name(roles, id, as_string(role.get("name")))
    channels: dict[int, str] = {}
    for channel in map(as_mapping, as_sequence(fields.get("mention_channels"))[:NAMES_MOST]):
        _keep_name(channels, channel.get("id"), as_string(channel.get("name")))
    for id, channel in _list_resolved(resolved, "channels"):
        _keep_name(channels, id, as_string(channel.get("name")))
    return Names(people, roles, channels)


def read_text(text: str, names: Names) -> str:
    """Return a text as people read it, but for whom and what it names without that the name came
    with it: those stay `<@42>`, `<@&77>` and `<#55>` until somebody knows them.
    """

    def name_known(found: re.Match[str]) -> str:
        kind = _KINDS.get(found[1])
        name = names.find(kind, int(found[2])) if kind else ""
        return _write_name(kind, name) if kind and name else found[0]

    return _UNNAMED.sub(_write_unnamed, _NAMED.sub(name_known, text))


def find_named(text: str) -> tuple[tuple[Kind, int], ...]:
    """Return whom and what a text still names by ids alone, each once."""
    found = (match for match in _NAMED.finditer(text) if match[1])
    return tuple(dict.fromkeys((_KINDS[match[1]], int(match[2])) for match in found))


def name_rest(text: str, find_name: FindName) -> str:
    """Return a text with the names of whom and what it still names by ids; where there is none it
    stays readable: `@42`, `@role`, `#channel`.
    """

    def name(found: re.Match[str]) -> str:
        kind = _KINDS.get(found[1])
        if kind is None:
            return found[0]
        unknown = found[2] if kind == "person" else kind
        return _write_name(kind, find_name(kind, int(found[2])) or unknown)

    return _NAMED.sub(name, text)


def note_guild(event: Event, guild: int) -> Event:
    """Return an event with the server in which the names have to be asked for that it lacks."""
    return replace(event, data={GUILD: str(guild)}) if guild and list_unnamed(event) else event


def list_unnamed(event: Event) -> tuple[tuple[Kind, int], ...]:
    """Return whom and what an event and its quotes still name by ids alone."""
    return find_named("\n".join([event.text, *(quote.text for quote in event.quotes)]))


def name_event(event: Event, find_name: FindName) -> Event:
    """Return an event with the names of whom and what it and its quotes still name by ids."""
    quotes = [replace(quote, text=name_rest(quote.text, find_name)) for quote in event.quotes]
    return replace(event, text=name_rest(event.text, find_name), quotes=tuple(quotes))


def clean_name(name: object) -> str:
    """Return a name as one short line."""
    return one_line(as_string(name), NAME_CHARACTERS)


def _write_name(kind: Kind, name: str) -> str:
    return f"{'#' if kind == 'channel' else '@'}{name.removeprefix('@')}"


def _write_unnamed(found: re.Match[str]) -> str:
    """Return what a person sees of a time, an emoji, a command or a place of a server."""
    if found["time"]:
        return _write_time(int(found["time"])) or found[0]
    if found["emoji"]:
        return f":{found['emoji']}:"
    if found["command"]:
        return f"/{found['command']}"
    if found["place"]:
        return f"#{_PLACES.get(found['place'], found['place'])}"
    return found[0]


def _write_time(seconds: int) -> str:
    """Return a time, empty for one that no calendar has."""
    try:
        at = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return ""
    return f"{at:%Y-%m-%d %H:%M:%S} UTC" if at.second else f"{at:%Y-%m-%d %H:%M} UTC"


def _name_person(user: Fields, member: Json) -> str:
    """Return what people see of a user: the name in the server, or else their own."""
    nick = as_string(as_mapping(member).get("nick"))
    return nick or as_string(user.get("global_name")) or as_string(user.get("username"))


def _list_resolved(resolved: Fields, kind: str) -> list[tuple[str, Fields]]:
    rows = list(as_mapping(resolved.get(kind)).items())[:NAMES_MOST]
    return [(id, as_mapping(row)) for id, row in rows]


def _keep_name(names: dict[int, str], id: Json, name: str) -> None:
    found = read_snowflake(id)
    if found and name:
        names[found.number] = clean_name(name)
