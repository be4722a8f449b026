"""Messages are sent to a chat, and repaired when DingTalk refuses them
(https://open.dingtalk.com/document/orgapp/robot-message-types-and-data-format).

Text goes to the address that came with the message that is answered, which counts as no call of the
API, and by the API when that address has ended. Files go by the API alone.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

import orjson

from functions.channels.base import AttachedFile, Reply
from functions.channels.dingtalk.api import DingTalkRejected
from functions.channels.dingtalk.messages import STAFF, find_conversation
from functions.channels.platform_api.http_client import FormFile
from functions.channels.render.dingtalk import make_title, render_parts
from functions.channels.replies.reply_parts import divide_reply, write_buttons
from functions.events import Button
from functions.texts.languages import find_texts
from sigil.errors import Refused, UsageError

if TYPE_CHECKING:
    from functions.channels.dingtalk.api import DingTalkApi

MESSAGES_MOST: Final = 6
"""Messages of one reply, of 20 that may be sent in a minute; the last of them is a file when there
would be more.
"""
_PHOTOS: Final = ("image/png", "image/jpeg", "image/gif", "image/bmp")
_PHOTO_BYTES: Final = 20 * 1024 * 1024
_ESCAPED_TYPES: Final = (".htm", ".html", ".svg", ".xml")
"""Files that DingTalk refuses; as plain text it takes them."""


@dataclass(frozen=True, slots=True)
class DingTalkText:
    """A message of text, with `buttons` as links below it. `gave_up`: a note is in place of the
    text.
    """

    part: str
    buttons: tuple[Button, ...] = ()
    gave_up: bool = False

    def make_content(self) -> dict[str, str]:
        """Return the message's title and its text."""
        text = self.part
        if self.buttons:
            text = f"{text}\n\n{'  |  '.join(map(_write_button, self.buttons))}"
        return {"title": make_title(self.part), "text": text}


def _write_button(button: Button) -> str:
    """Return a button: a link that sends its command in the name of whoever follows it."""
    label = button.label.replace("[", "(").replace("]", ")")
    command = quote(button.command, safe="")
    return f"[{label}](dtmd://dingtalkclient/sendMessage?content={command})"


@dataclass(frozen=True, slots=True)
class DingTalkFile:
    """A message that is a file, or a picture where `is_photo`. `instead`: what a chat reads that
    takes none.
    """

    file: FormFile
    name: str
    instead: str
    is_photo: bool = False


Part = DingTalkText | DingTalkFile | AttachedFile


def make_parts(reply: Reply) -> list[Part]:
    """Return the messages of a reply."""
    divided = divide_reply(
        reply.text, MESSAGES_MOST, render_parts, len, file_name=reply.file_name, draw=reply.draw
    )
    parts: list[Part] = []
    for number, message in enumerate(divided.messages, 1):
        below = reply.buttons if number == len(divided.messages) else ()
        parts.append(DingTalkText(message, below))
    for made in divided.files:
        parts.append(_make_file(made.name, made.type, made.content, made.instead))
    parts.extend(reply.files)
    return parts


def make_attachment(attached: AttachedFile, text: str) -> DingTalkFile | DingTalkText:
    """Return a kept file as DingTalk gets it, or a note when it is gone; `text` is the reply that
    it belongs to.
    """
    texts = find_texts(text)
    try:
        body = attached.read()
    except UsageError:
        return DingTalkText(texts.file_is_gone.format(name=attached.name))
    return _make_file(attached.name, attached.type, body, texts.no_picture)


def _make_file(name: str, kind: str, content: bytes, instead: str) -> DingTalkFile:
    name = name.replace("\r", " ").replace("\n", " ")
    if name.lower().endswith(_ESCAPED_TYPES):
        name = f"{name}.txt"
    ending = name.rpartition(".")[2]
    # its ending tells DingTalk its type; the name that people see is a field of the message
    plain = f"file.{ending}" if ending.isascii() and ending.isalnum() and "." in name else "file"
    is_photo = kind in _PHOTOS and len(content) <= _PHOTO_BYTES
    return DingTalkFile(FormFile(plain, kind, content), name, instead, is_photo)


@dataclass(frozen=True, slots=True)
class DingTalkSender:
    """Sends the messages of one reply to a person, or to the group of a `conversation`.

    `session` takes messages of text without the API, while it is not empty.
    """

    api: DingTalkApi
    person: str
    conversation: str
    session: str

    @classmethod
    def open(cls, api: DingTalkApi, chat: str, session: str) -> DingTalkSender:
        """Return the sender for the chat of a session of ours; `UsageError` when it is none of
        DingTalk's.
        """
        conversation = find_conversation(chat)
        person = chat.partition(":")[2]
        if not conversation and not STAFF.fullmatch(person) and not person.startswith("$:"):
            raise UsageError("EINVAL", "not a session of DingTalk", source="dingtalk")
        return cls(api, person, conversation, session)

    def send(self, part: DingTalkText | DingTalkFile) -> None:
        """Send a part, repaired when DingTalk refuses it."""
        if isinstance(part, DingTalkText):
            self._send_text(part)
            return
        try:
            self._send_file(part)
        except DingTalkRejected:
            if part.is_photo:
                # a picture may be too large in points, and yet be a file
                self.send(replace(part, is_photo=False))
            else:
                self._send_text(DingTalkText(part.instead))

    def _send_text(self, text: DingTalkText) -> None:
        try:
            self._deliver(text.make_content())
        except DingTalkRejected as problem:
            if text.gave_up or not problem.is_about_content:
                raise
            note = find_texts(text.part).part_not_taken
            note = write_buttons(note, text.buttons)
            self._send_text(DingTalkText(note, gave_up=True))

    def _deliver(self, content: dict[str, str]) -> None:
        if self.session:
            try:
                self.api.answer(self.session, {"msgtype": "markdown", "markdown": content})
                return
            except DingTalkRejected:
                # the session may have ended before its time
                if not self._reaches_by_api:
                    raise
        self._post("sampleMarkdown", content)

    def _send_file(self, part: DingTalkFile) -> None:
        if not self._reaches_by_api:
            self._send_text(DingTalkText(part.instead))
            return
        kind = "image" if part.is_photo else "file"
        media = self.api.upload(kind, part.file)
        if part.is_photo:
            self._post("sampleImageMsg", {"photoURL": media})
        else:
            ending = part.file.name.rpartition(".")[2]
            content = {"mediaId": media, "fileName": part.name, "fileType": ending}
            self._post("sampleFile", content)

    @property
    def _reaches_by_api(self) -> bool:
        """Return whether the API knows the chat: people of other organizations it does not."""
        return bool(self.conversation or STAFF.fullmatch(self.person))

    def _post(self, kind: str, content: dict[str, str]) -> None:
        if not self._reaches_by_api:
            raise Refused(
                "EBLOCKED",
                "the person has no user id in the organization, and the message's address ended",
                source="dingtalk",
            )
        body: dict[str, object] = {"msgKey": kind, "msgParam": orjson.dumps(content).decode()}
        if self.conversation:
            body["openConversationId"] = self.conversation
            self.api.call("/v1.0/robot/groupMessages/send", body)
        else:
            body["userIds"] = [self.person]
            self.api.call("/v1.0/robot/oToMessages/batchSend", body)
