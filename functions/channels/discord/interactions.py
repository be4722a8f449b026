"""Interactions are read as events
(https://discord.com/developers/docs/interactions/receiving-and-responding).

They are read tolerantly: a field that is odd counts as absent. A command becomes the text that
people type elsewhere (`/new`, `/pair ABC`), the text of `/ask` what it says. A press of one of our
buttons becomes the command of that button.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import urlsplit

import orjson

from functions.channels.base import Attachment, PlatformAnswer, Received, make_unreadable
from functions.channels.discord.incoming_text import note_guild, read_names, read_text
from functions.channels.discord.reply_address import InteractionAddress, read_snowflake
from functions.channels.visible_text import clean_text
from functions.events import PRESSED, TEXT_LIMIT, Event, Sender, order_of
from sigil.errors import UsageError, one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

Fields = Mapping[str, Json]
ASK = "ask"
"""The command that says something to the agent."""
TEXT = "text"
FILE = "file"
WORDS = "words"
"""The options: two of `/ask`, and one of every other command."""
FILES = ("https://cdn.discordapp.com/", "https://media.discordapp.net/")
"""Where Discord keeps files. Only the path is kept of an address, so that no event names a host."""
_PING = 1
_COMMAND = 2
_PRESS = 3
_AUTOCOMPLETE = 4
_MODAL = 5
_BOT_DM = 1
"""The context of a private chat with the bot."""
_COMMAND_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")
_LOCALE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4}")
_MIME = re.compile(r"[A-Za-z0-9.+-]{1,64}/[A-Za-z0-9.+-]{1,64}")
FILE_PATH = re.compile(r"(?:ephemeral-)?attachments/[0-9]{1,20}/[0-9]{1,20}/[!-~]{1,1500}")
_KINDS = {"image": "photo", "audio": "audio", "video": "video"}
_FILES_MOST = 20

PONG = PlatformAnswer(body=b'{"type":1}')
THINKING = PlatformAnswer(body=b'{"type":5}')
"""Discord shows that we think, for 15 minutes at most, until the reply takes its place."""
UNCHANGED = PlatformAnswer(body=b'{"type":6}')
"""Nothing comes of a press, and the message with the button stays as it is."""
NO_CHOICES = PlatformAnswer(body=b'{"type":8,"data":{"choices":[]}}')
NOTED = PlatformAnswer(204)
"""The answer to a webhook event, which is no interaction."""


def read_interaction(body: bytes, name: str, agent: str) -> Received:
    """Return the event of an interaction with the channel `name`, and how it is answered.

    `UsageError` (EINVAL): what it is, we do not know.
    """
    try:
        interaction = orjson.loads(body)
    except orjson.JSONDecodeError:
        raise UsageError("EINVAL", "the interaction is not JSON", source=name) from None
    if not isinstance(interaction, dict):
        raise UsageError("EINVAL", "the interaction is not a JSON object", source=name)
    kind = interaction.get("type")
    if kind == 0 or "event" in interaction:
        told = as_string(as_mapping(interaction.get("event")).get("type"))
        return Received(answer=NOTED, ignored=(told,) if told else ())
    if kind == _PING:
        return Received(answer=PONG)
    if kind == _AUTOCOMPLETE:
        return Received(answer=NO_CHOICES)
    if kind == _COMMAND:
        event = _read_event(interaction, _read_command(interaction), name, agent)
    elif kind == _MODAL:
        event = _read_event(interaction, "", name, agent)
    elif kind == _PRESS:
        pressed = as_string(as_mapping(interaction.get("data")).get("custom_id"))
        text = pressed if PRESSED.fullmatch(pressed) else ""
        event = _read_event(interaction, text, name, agent) if text else None
        if event is None:
            return Received(answer=UNCHANGED, ignored=("MESSAGE_COMPONENT",))
    else:
        raise UsageError("EINVAL", "the interaction is of an unknown type", source=name)
    if event is None:
        raise UsageError("EINVAL", "the interaction lacks what an event needs", source=name)
    return Received((event,), THINKING)


def _read_command(interaction: Fields) -> str:
    """Return what the sender of a command says, as people type it elsewhere."""
    data = as_mapping(interaction.get("data"))
    command = as_string(data.get("name"))
    names = read_names(data)
    values = {
        as_string(option.get("name")): clean_text(read_text(as_string(option.get("value")), names))
        for option in map(as_mapping, as_sequence(data.get("options")))
    }
    if command == ASK:
        return values.get(TEXT, "")[:TEXT_LIMIT]
    if not _COMMAND_NAME.fullmatch(command) or data.get("type", 1) != 1:
        return ""
    return f"/{command} {values.get(WORDS, '')}"[:TEXT_LIMIT].strip()


def _read_event(interaction: Fields, text: str, name: str, agent: str) -> Event | None:
    """Return the event of an interaction in which a person says `text`; None when it lacks a field
    without which nobody can be answered. One that says nothing, such as a form, cannot be read.
    """
    id = read_snowflake(interaction.get("id"))
    address = InteractionAddress.read(interaction)
    channel = read_snowflake(interaction.get("channel_id"))
    sender = _read_sender(interaction, name)
    files = _list_files(interaction)
    if id is None or address is None or channel is None or sender is None:
        return None
    if not text.strip() and not files:
        files = (make_unreadable(),)
    locale = as_string(interaction.get("locale"))
    at = id.seconds
    guild = read_snowflake(interaction.get("guild_id"))
    event = Event(
        id=f"{name}:{address.application}:{id.number}",
        kind="message",
        agent=agent,
        session=f"{name}:{channel.number}",
        sender=sender,
        text=text,
        at=at,
        order=order_of(at, id.number),
        attachments=files,
        reply_to=address.write(),
        private=interaction.get("context") == _BOT_DM and "guild_id" not in interaction,
        language=locale if _LOCALE.fullmatch(locale) else "",
    )
    return note_guild(event, guild.number if guild else 0)


def _read_sender(interaction: Fields, name: str) -> Sender | None:
    """Return the person who acts: a member of a server, or a user where there is no server."""
    member = as_mapping(interaction.get("member"))
    return read_person(as_mapping(member.get("user")) or interaction.get("user"), member, name)


def read_person(user: Json, member: Json, name: str) -> Sender | None:
    """Return a user, with the name of the `member` of a server; None for a bot."""
    fields = as_mapping(user)
    id = read_snowflake(fields.get("id"))
    if id is None or fields.get("bot", False) is not False or fields.get("system") is True:
        return None
    nick = as_mapping(member).get("nick")
    names = (nick, fields.get("global_name"), fields.get("username"))
    known = [one_line(as_string(each), 100) for each in names]
    return Sender(f"{name}:{id.number}", next(filter(None, known), ""))


def _list_files(interaction: Fields) -> tuple[Attachment, ...]:
    """Return the files that the options of a command name, to be fetched later."""
    data = as_mapping(interaction.get("data"))
    resolved = as_mapping(as_mapping(data.get("resolved")).get("attachments"))
    return list_attachments(list(resolved.values()))


def list_attachments(attachments: Json) -> tuple[Attachment, ...]:
    """Return the files that are kept at Discord; nothing is downloaded here."""
    found = []
    for file in map(as_mapping, as_sequence(attachments)[:_FILES_MOST]):
        path = _read_path(as_string(file.get("url")))
        if path:
            # such as `text/plain; charset=utf-8`
            declared = as_string(file.get("content_type")).partition(";")[0].strip()
            mime = declared if _MIME.fullmatch(declared) else ""
            kind = _KINDS.get(mime.partition("/")[0], "document")
            name = as_string(file.get("filename"))
            size = as_integer(file.get("size"), 0) or 0
            attachment: Attachment = {
                "kind": "voice" if "waveform" in file else kind,
                "file_id": path,
                "name": one_line(name, 200),
                "size": size,
                "mime": mime,
            }
            found.append(attachment)
    return tuple(found)


def _read_path(url: str) -> str:
    """Return the path and the query of a file's address; empty for any other address."""
    for base in FILES:
        path = url.removeprefix(base)
        if path != url and FILE_PATH.fullmatch(path) and ".." not in urlsplit(url).path:
            return path
    return ""
