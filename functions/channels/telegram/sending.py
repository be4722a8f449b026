"""Messages are sent to a chat, and repaired when Telegram refuses them."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING

from functions.channels.base import AttachedFile, Reply
from functions.channels.platform_api.http_client import FormFile
from functions.channels.render.picture_size import read_picture_size
from functions.channels.render.telegram import MessagePart, render_parts
from functions.channels.replies.reply_parts import divide_reply, take_buttons
from functions.channels.telegram.api import TelegramRejected
from functions.events import Button
from functions.texts.languages import find_texts
from sigil.errors import Refused, UsageError
from sigil.json_fields import as_integer, as_mapping

if TYPE_CHECKING:
    from functions.channels.telegram.api import TelegramApi

_SESSION = re.compile(r"telegram(?:-[a-z0-9-]{1,40})?:(-?[0-9]{1,19})(?::([0-9]{1,19}))?")
_MESSAGE_ID = re.compile(r"[0-9]{1,18}")
_ABOUT_ENTITIES = re.compile(r"entit|parse|url", re.IGNORECASE)
_ABOUT_CHAT = re.compile(
    r"chat|peer|user|\bbot\b|right|forbidden|thread|topic|group|member|block|kick|channel|allowed|restrict|upgraded",
    re.IGNORECASE,
)
"""The words of a 400 that is about the chat, so that no other text helps."""
BUTTONS_MOST = 100
ROW = 2
"""Buttons side by side."""
MESSAGES_MOST = 10
"""Messages of one reply; the last of them is a file when there would be more."""
EDIT_TIMEOUT = 5.0
"""Seconds that a message which can be changed may take: it is not worth a wait."""
_PHOTO_BYTES = 10 * 1000 * 1000
_PHOTO_SIDES = 10_000
_PHOTO_RATIO = 20
"""A photo has at most so many bytes, pixels of width and height together, and one side is at most
so many times the other (https://core.telegram.org/bots/api#sendphoto).
"""


@dataclass(frozen=True, slots=True)
class TelegramChat:
    """A chat, or a topic in it (`thread`, 0: none). Groups have negative ids."""

    id: int
    thread: int = 0

    @classmethod
    def parse(cls, session: str) -> TelegramChat:
        """Return the chat of `NAME:CHAT[:THREAD]`; `UsageError` for any other session."""
        match = _SESSION.fullmatch(session)
        if not match:
            raise UsageError("EINVAL", "not a session of Telegram", source="telegram")
        return cls(int(match[1]), int(match[2] or 0))

    def params(self) -> dict[str, object]:
        """Return the fields that name the chat in a request."""
        params: dict[str, object] = {"chat_id": self.id}
        if self.thread:
            params["message_thread_id"] = self.thread
        return params


def _point_at(chat: TelegramChat, reply_to: str) -> dict[str, object]:
    """Return the field by which a group sees what is answered."""
    if chat.id >= 0 or not _MESSAGE_ID.fullmatch(reply_to):
        return {}
    answered = {"message_id": int(reply_to), "allow_sending_without_reply": True}
    return {"reply_parameters": answered}


@dataclass(frozen=True, slots=True)
class TelegramMessage:
    """One `sendMessage`, with `buttons` below it.

    `reply_to`: the id of the message that a group sees it answer. `gave_up`: a note is in place
    of the text.
    """

    chat: TelegramChat
    part: MessagePart
    reply_to: str = ""
    gave_up: bool = False
    buttons: tuple[Button, ...] = ()

    def params(self) -> dict[str, object]:
        """Return the request's fields."""
        params = self.chat.params() | self.part.params()
        params["link_preview_options"] = {"is_disabled": True}
        if self.buttons:
            keys = [{"text": each.label, "callback_data": each.command} for each in self.buttons]
            rows = [keys[start : start + ROW] for start in range(0, len(keys), ROW)]
            params["reply_markup"] = {"inline_keyboard": rows}
        return params | _point_at(self.chat, self.reply_to)

    def repair(self, problem: TelegramRejected) -> TelegramMessage | None:
        """Return the message to try instead, None when nothing helps.

        That is the chat's new id, plain text when its styles are refused, or a note in place of a
        text that is refused.
        """
        if problem.moved_to not in (0, self.chat.id):
            # message ids are counted anew in a supergroup
            return replace(self, chat=TelegramChat(problem.moved_to), reply_to="")
        if self.part.entities and _ABOUT_ENTITIES.search(problem.message):
            return replace(self, part=MessagePart(self.part.text))
        if (
            problem.status == 400
            and not self.gave_up
            and not _ABOUT_CHAT.search(problem.description)
        ):
            texts = find_texts(self.part.text)
            return replace(self, part=MessagePart(texts.part_not_taken), gave_up=True)
        return None


@dataclass(frozen=True, slots=True)
class TelegramFile:
    """One `sendDocument`, or one `sendPhoto` where `is_photo`. `instead`: what a chat reads that
    takes no files. `reply_to` as in `TelegramMessage`.
    """

    chat: TelegramChat
    file: FormFile
    caption: str
    instead: str
    reply_to: str = ""
    is_photo: bool = False

    def params(self) -> dict[str, object]:
        """Return the request's fields beside the file."""
        params = self.chat.params() | _point_at(self.chat, self.reply_to)
        return params | {"caption": self.caption} if self.caption else params


TelegramPart = TelegramMessage | TelegramFile | AttachedFile


def make_parts(chat: TelegramChat, reply: Reply) -> list[TelegramPart]:
    """Return the messages and files of a reply."""
    text, buttons = take_buttons(reply, BUTTONS_MOST)
    divided = divide_reply(
        text,
        MESSAGES_MOST,
        render_parts,
        lambda part: len(part.text),
        file_name=reply.file_name,
        draw=reply.draw,
    )
    parts: list[TelegramPart] = []
    for number, message in enumerate(divided.messages, 1):
        below = buttons if number == len(divided.messages) else ()
        parts.append(TelegramMessage(chat, message, buttons=below))
    for made in divided.files:
        file = FormFile(made.name, made.type, made.content)
        is_photo = _is_photo(made.content)
        parts.append(TelegramFile(chat, file, made.caption, made.instead, is_photo=is_photo))
    parts.extend(reply.files)
    return parts


def _is_photo(body: bytes) -> bool:
    """Return whether Telegram shows a file as a photo: PNG, JPEG or WebP, by its first bytes."""
    if len(body) > _PHOTO_BYTES:
        return False
    size = read_picture_size(body)
    if size is None or not (size.width and size.height):
        return False
    sides = sorted((size.width, size.height))
    return sum(sides) <= _PHOTO_SIDES and sides[1] <= _PHOTO_RATIO * sides[0]


def make_attachment(
    chat: TelegramChat, attached: AttachedFile, text: str
) -> TelegramFile | TelegramMessage:
    """Return a kept file as Telegram gets it, or a note when it is gone; `text` is the reply that
    it belongs to.
    """
    texts = find_texts(text)
    try:
        body = attached.read()
    except UsageError:
        gone = texts.file_is_gone.format(name=attached.name)
        return TelegramMessage(chat, MessagePart(gone))
    name = attached.name if attached.name.isascii() else f"file{PurePath(attached.name).suffix}"
    file = FormFile(name, attached.type, body)
    is_photo = _is_photo(body)
    return TelegramFile(chat, file, "", texts.no_picture, is_photo=is_photo)


def send_part(api: TelegramApi, part: TelegramMessage | TelegramFile) -> TelegramChat:
    """Send a message or a file, and return the chat that took it. Errors as `Api.call`."""
    if isinstance(part, TelegramFile):
        return send_file(api, part)
    return send_message(api, part)


def send_editable(api: TelegramApi, session: str, text: str) -> str:
    """Send a message without a sound, and return its id. Errors as `Api.call`."""
    params = _make_editable(session, text) | {"disable_notification": True}
    sent = as_mapping(api.call("sendMessage", params, timeout=EDIT_TIMEOUT))
    return str(as_integer(sent.get("message_id"), 0) or "")


def edit_message(api: TelegramApi, session: str, message: str, text: str) -> None:
    """Change a message to another text. Errors as `Api.call`; `Refused` for what is no id."""
    if not _MESSAGE_ID.fullmatch(message):
        raise Refused("EBLOCKED", "not a message of Telegram", source="telegram")
    params = _make_editable(session, text) | {"message_id": int(message)}
    params.pop("message_thread_id", None)
    try:
        api.call("editMessageText", params, timeout=EDIT_TIMEOUT)
    except TelegramRejected as problem:
        if "not modified" not in problem.description:
            raise


def _make_editable(session: str, text: str) -> dict[str, object]:
    """Return the fields of a message of a chat that can be changed later."""
    [part, *_] = render_parts(text, 1)
    return TelegramMessage(TelegramChat.parse(session), part).params()


def send_file(api: TelegramApi, file: TelegramFile, *, follow: bool = True) -> TelegramChat:
    """Send a file, or what a chat that takes none reads instead; return the chat that took it.
    Errors as `Api.call`.
    """
    try:
        if file.is_photo:
            api.upload("sendPhoto", file.params(), "photo", file.file)
        else:
            api.upload("sendDocument", file.params(), "document", file.file)
    except TelegramRejected as problem:
        if file.is_photo and not problem.moved_to:
            # it may be damaged, and yet be a file
            return send_file(api, replace(file, is_photo=False), follow=follow)
        if problem.moved_to not in (0, file.chat.id) and follow:
            moved = replace(file, chat=TelegramChat(problem.moved_to), reply_to="")
            return send_file(api, moved, follow=False)
        return send_message(api, TelegramMessage(file.chat, MessagePart(file.instead)))
    return file.chat


def send_message(api: TelegramApi, message: TelegramMessage, tries: int = 4) -> TelegramChat:
    """Send `message`, repaired at most three times, and return the chat that took it. Errors as
    `Api.call`.
    """
    try:
        api.call("sendMessage", message.params())
    except TelegramRejected as problem:
        repaired = message.repair(problem)
        if repaired is None or tries == 1:
            raise
        return send_message(api, repaired, tries - 1)
    return message.chat
