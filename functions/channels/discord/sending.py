"""Replies leave as messages: into the interaction that they answer, or into its channel.

The first part takes the place of "thinking…" or of a draft, and the interaction tells whether it
did so before. A button that nobody can press tells a draft from an answer, also to a process that
did not show it. Discord drops the other parts when it has had them (`nonce`), where the bot may
write into the channel. Where it may not, they follow the answer, and a crash can repeat one.
"""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from functions.channels.base import AttachedFile, Reply
from functions.channels.discord.api import (
    UNKNOWN_MESSAGE,
    DiscordApi,
    DiscordRejected,
    InteractionOver,
)
from functions.channels.discord.reply_address import InteractionAddress, read_snowflake
from functions.channels.platform_api.http_client import FormFile
from functions.channels.render.discord import render_messages
from functions.channels.replies.reply_parts import divide_reply, take_buttons, write_buttons
from functions.events import Button
from functions.texts.languages import find_texts
from sigil.errors import UsageError
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

if TYPE_CHECKING:
    from functions.channels.discord.known_drafts import KnownDrafts

MESSAGES_MOST: Final = 5
"""Messages of one reply; the last of them is a file when there would be more. An interaction of an
app that is not in the server takes no more than five behind the first.
"""
ROW: Final = 5
"""Buttons side by side."""
BUTTONS_MOST: Final = 5 * ROW
LABEL_CHARACTERS: Final = 80
_SUPPRESS_EMBEDS: Final = 1 << 2
_LOADING: Final = 1 << 7
ORIGINAL: Final = "/messages/@original"
_DRAFT_SIGN: Final = "draft"
"""The id of the button below a draft; those of an answer are commands."""


@dataclass(frozen=True, slots=True)
class OutgoingMessage:
    """One message. `instead`: what a channel reads that does not take the file. `gave_up`: a note
    is in place of the text.
    """

    content: str
    buttons: tuple[Button, ...] = ()
    file: FormFile | None = None
    instead: str = ""
    gave_up: bool = False

    @property
    def files(self) -> tuple[FormFile, ...]:
        """Return the files to upload with it."""
        return (self.file,) if self.file else ()

    def fields(self) -> dict[str, object]:
        """Return the fields of the request: nobody is mentioned by it, whatever it says."""
        fields: dict[str, object] = {
            "content": self.content,
            "allowed_mentions": {"parse": []},
            "flags": _SUPPRESS_EMBEDS,
        }
        if self.buttons:
            keys = [
                {
                    "type": 2,
                    "style": 2,
                    "label": each.label[:LABEL_CHARACTERS],
                    "custom_id": each.command,
                }
                for each in self.buttons
            ]
            rows = [keys[start : start + ROW] for start in range(0, len(keys), ROW)]
            fields["components"] = [{"type": 1, "components": row} for row in rows]
        if self.file:
            fields["attachments"] = [{"id": 0, "filename": self.file.name}]
        return fields

    def repair(self, problem: DiscordRejected) -> OutgoingMessage | None:
        """Return the message to try instead, None when nothing helps."""
        if self.file:
            return OutgoingMessage(self.instead)
        if problem.status != 400 or self.gave_up:
            return None
        note = find_texts(self.content).part_not_taken
        return OutgoingMessage(write_buttons(note, self.buttons), gave_up=True)

    def is_shown(self, message: Json) -> bool:
        """Return whether a message of the channel is this one."""
        fields = as_mapping(message)
        shown = [
            as_string(as_mapping(each).get("filename"))
            for each in as_sequence(fields.get("attachments"))
        ]
        # Discord takes the white space at the ends away
        same_text = as_string(fields.get("content")).strip() == self.content.strip()
        return same_text and shown == [file.name for file in self.files]


def make_messages(reply: Reply) -> list[OutgoingMessage | AttachedFile]:
    """Return the parts of a reply."""
    text, buttons = take_buttons(reply, BUTTONS_MOST)
    divided = divide_reply(
        text, MESSAGES_MOST, render_messages, len, file_name=reply.file_name, draw=reply.draw
    )
    parts: list[OutgoingMessage | AttachedFile] = []
    for number, content in enumerate(divided.messages, 1):
        below = buttons if number == len(divided.messages) else ()
        parts.append(OutgoingMessage(content, below))
    for made in divided.files:
        file = FormFile(made.name, made.type, made.content)
        parts.append(OutgoingMessage(made.caption, file=file, instead=made.instead))
    return [*parts, *reply.files]


def make_attachment(attached: AttachedFile, text: str) -> OutgoingMessage:
    """Return the message with a kept file, or a note when it is gone; `text` is the reply that it
    belongs to.
    """
    texts = find_texts(text)
    try:
        body = attached.read()
    except UsageError:
        return OutgoingMessage(texts.file_is_gone.format(name=attached.name))
    name = attached.name if attached.name.isascii() else f"file{PurePath(attached.name).suffix}"
    safe = "".join(letter for letter in name if letter.isprintable() and letter not in '"\\/')
    file = FormFile(safe or "file", attached.type, body)
    return OutgoingMessage("", file=file, instead=texts.no_picture)


@dataclass(slots=True)
class Conversation:
    """The channel of a session, with the interaction (None: none) or the message (0: none) that is
    answered there, and the `drafts` of the bot, where there were any.
    """

    api: DiscordApi
    channel: int
    address: InteractionAddress | None = None
    message: int = 0
    drafts: KnownDrafts | None = None

    @classmethod
    def open(
        cls, api: DiscordApi, session: str, reply_to: str, drafts: KnownDrafts | None = None
    ) -> Conversation:
        """Return the conversation of a session; `UsageError` for one that is not Discord's."""
        channel = read_channel(session)
        address = InteractionAddress.parse(reply_to)
        if address is not None and time.time() >= address.ends:
            address = None
        message = read_snowflake(reply_to)
        return cls(api, channel, address, message.number if message else 0, drafts)

    def send(self, message: OutgoingMessage, number: int, key: str) -> None:
        """Send the part with a number of a reply with a key; errors as `DiscordApi.call`."""
        try:
            self._send(message, number, key)
        except DiscordRejected as problem:
            repaired = message.repair(problem)
            if repaired is None:
                raise
            self.send(repaired, number, key)

    def _send(self, message: OutgoingMessage, number: int, key: str) -> None:
        if self.address is not None:
            try:
                if number == 0:
                    self._answer(self.address, message, key)
                else:
                    self._follow(self.address, message, number, key)
                return
            except InteractionOver:
                self.address = None
        self._post(message, number, key)

    def _answer(self, address: InteractionAddress, message: OutgoingMessage, key: str) -> None:
        """Let a message take the place of "thinking…" or of a draft, unless it or another one has
        done so.
        """
        if self.drafts and not self.drafts.close(address):
            # a draft that is still on its way would take the place of the answer
            with suppress(DiscordRejected):
                self.api.answer(address, "DELETE", ORIGINAL)
            self._follow(address, message, 0, key)
            return
        shown = read_original(self.api, address)
        if is_loading(shown) or is_draft(shown):
            fields = {"components": [], **message.fields()}
            self.api.answer(address, "PATCH", ORIGINAL, fields, message.files)
        elif not message.is_shown(shown):
            self._follow(address, message, 0, key)

    def _follow(
        self, address: InteractionAddress, message: OutgoingMessage, number: int, key: str
    ) -> None:
        """Send a message behind the answer to an interaction."""
        if address.is_member and key:
            try:
                self._post(message, number, key)
                return
            except DiscordRejected as problem:
                if problem.status not in (403, 404):
                    raise
        self.api.answer(address, "POST", "", message.fields(), message.files)

    def _post(self, message: OutgoingMessage, number: int, key: str) -> None:
        """Post a message as the bot."""
        fields = message.fields()
        if key:
            fields |= make_nonce(key, number)
        if self.message and number == 0:
            fields["message_reference"] = {
                "message_id": str(self.message),
                "fail_if_not_exists": False,
            }
        path = f"/channels/{self.channel}/messages"
        if message.files:
            self.api.upload(path, fields, message.files)
        else:
            self.api.call("POST", path, fields)


def read_channel(session: str) -> int:
    """Return the channel of a session; `UsageError` for one that is not Discord's."""
    channel = read_snowflake(session.rpartition(":")[2])
    if channel is None:
        raise UsageError("EINVAL", "not a session of Discord", source="discord")
    return channel.number


def make_nonce(key: str, number: int) -> dict[str, object]:
    """Return the fields by which the same message again is the one that is there."""
    # at most 25 characters
    return {"nonce": f"{key[:20]}-{number}", "enforce_nonce": True}


def make_editable(text: str) -> dict[str, object]:
    """Return the fields of a message that can be changed later."""
    [content, *_] = render_messages(text, 1)
    return OutgoingMessage(content).fields()


def read_original(api: DiscordApi, address: InteractionAddress) -> Json:
    """Return the first answer to an interaction, None when somebody deleted it."""
    try:
        return api.answer(address, "GET", ORIGINAL)
    except DiscordRejected as problem:
        if problem.number == UNKNOWN_MESSAGE:
            return None
        raise


def is_loading(message: Json) -> bool:
    """Return whether the answer to an interaction still shows "thinking…"."""
    return bool((as_integer(as_mapping(message).get("flags"), 0) or 0) & _LOADING)


def make_draft(text: str, characters: int) -> dict[str, object]:
    """Return the fields of a draft of at most so many characters; none when nothing is to see."""
    contents = render_messages(text, 1, characters)
    if not contents:
        return {}
    sign = {"type": 2, "style": 2, "label": "…", "custom_id": _DRAFT_SIGN, "disabled": True}
    row = {"type": 1, "components": [sign]}
    return {**OutgoingMessage(contents[0]).fields(), "components": [row]}


def is_draft(message: Json) -> bool:
    """Return whether the answer to an interaction is a draft of it."""
    rows = map(as_mapping, as_sequence(as_mapping(message).get("components")))
    buttons = [as_mapping(each) for row in rows for each in as_sequence(row.get("components"))]
    return any(each.get("custom_id") == _DRAFT_SIGN for each in buttons)


def end_thinking(api: DiscordApi, address: InteractionAddress) -> None:
    """Take "thinking…", or a draft, away where no answer has taken its place; errors as
    `DiscordApi.answer`.
    """
    shown = read_original(api, address)
    if is_loading(shown) or is_draft(shown):
        api.answer(address, "DELETE", ORIGINAL)
