"""Messages are sent to a chat, and repaired when Feishu refuses them
(https://open.feishu.cn/document/server-docs/im-v1/message/create).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import orjson

from functions.channels.base import AttachedFile, Reply
from functions.channels.feishu.api import FeishuRejected
from functions.channels.feishu.contents import ID
from functions.channels.feishu.events import SESSION
from functions.channels.platform_api.http_client import TIMEOUT, FormFile
from functions.channels.render.feishu import is_plain, make_plain, render_parts
from functions.channels.replies.reply_parts import divide_reply, write_buttons
from functions.events import Button
from functions.texts.languages import find_texts
from sigil.errors import UsageError
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json

if TYPE_CHECKING:
    from functions.channels.feishu.api import FeishuApi

MESSAGES_MOST: Final = 10
"""Messages of one reply; the last of them is a file when there would be more."""
SUMMARY_CHARACTERS: Final = 100
_PHOTOS: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The types that Feishu shows as pictures."""
_PHOTO_BYTES: Final = 10 * 1024 * 1024
_ABOUT_ANSWERED: Final = frozenset((230011, 230019, 230050, 230071, 230072, 230110, 230111, 231003))
"""The message that is answered is gone, or takes no answer."""
_ABOUT_CONTENT: Final = frozenset((230001, 230022, 230025, 230028, 230054, 230099))
"""Another text helps: this one is too long, refused by a filter, or no card."""


@dataclass(frozen=True, slots=True)
class FeishuChat:
    """Where a session's messages go: to a person or a group, or into the thread that began with the
    message `root`.
    """

    id: str
    root: str = ""

    @property
    def is_group(self) -> bool:
        """Return whether more than one person may read it."""
        return self.id.startswith("oc_")

    @classmethod
    def parse(cls, session: str) -> FeishuChat:
        """Return the chat of `feishu:CHAT[:MESSAGE]`; `UsageError` for any other session."""
        match = SESSION.fullmatch(session)
        if not match:
            raise UsageError("EINVAL", "not a session of Feishu", source="feishu")
        return cls(match[1], match[2] or "")


@dataclass(frozen=True, slots=True)
class FeishuText:
    """A message of text: a card, or a plain text where that looks the same. `gave_up`: a note is in
    place of the text.
    """

    part: str
    session: str = ""
    buttons: tuple[Button, ...] = ()
    plain: bool = False
    gave_up: bool = False

    def make_message(self) -> tuple[str, dict[str, object]]:
        """Return the kind of the message and its content."""
        if self.plain or (not self.buttons and is_plain(self.part)):
            return "text", {"text": make_plain(self.part)}
        return "interactive", self.make_card()

    def make_card(self) -> dict[str, object]:
        """Return the content of the message as a card."""
        elements: list[object] = [{"tag": "markdown", "content": self.part}]
        if self.buttons:
            elements.append(self._make_row())
        summary = " ".join(make_plain(self.part[:1000]).split())[:SUMMARY_CHARACTERS]
        return {
            "schema": "2.0",
            # without it a notification only says that there is a card
            "config": {"summary": {"content": summary}},
            "body": {"elements": elements},
        }

    def _make_row(self) -> dict[str, object]:
        """Return the buttons side by side. Each says where it stands: a press does not tell the
        thread, and a card that is forwarded takes its buttons along.
        """
        columns = []
        for button in self.buttons:
            value = {"command": button.command, "session": self.session}
            element = {
                "tag": "button",
                "text": {"tag": "plain_text", "content": button.label},
                "behaviors": [{"type": "callback", "value": value}],
            }
            columns.append({"tag": "column", "width": "auto", "elements": [element]})
        return {"tag": "column_set", "flex_mode": "flow", "columns": columns}

    def repair(self, problem: FeishuRejected) -> FeishuText | None:
        """Return the message to try instead, None when nothing helps: plain text, with the
        buttons in words, when a card is refused, and then a note in place of the text.
        """
        if problem.number not in _ABOUT_CONTENT or self.gave_up:
            return None
        if self.make_message()[0] != "text":
            part = write_buttons(self.part, self.buttons, is_plain=True)
            return replace(self, part=part, buttons=(), plain=True)
        note = find_texts(self.part).part_not_taken
        return FeishuText(note, plain=True, gave_up=True)


@dataclass(frozen=True, slots=True)
class FeishuFile:
    """A message that is a file, or a picture where `is_photo`. `instead`: what a chat reads that
    takes none.
    """

    file: FormFile
    name: str
    instead: str
    is_photo: bool = False


Part = FeishuText | FeishuFile | AttachedFile


def make_parts(reply: Reply) -> list[Part]:
    """Return the messages of a reply."""
    divided = divide_reply(
        reply.text, MESSAGES_MOST, render_parts, len, file_name=reply.file_name, draw=reply.draw
    )
    parts: list[Part] = []
    for number, message in enumerate(divided.messages, 1):
        below = reply.buttons if number == len(divided.messages) else ()
        parts.append(FeishuText(message, reply.session, below))
    for made in divided.files:
        file = FormFile(made.name, made.type, made.content)
        is_photo = made.type in _PHOTOS and len(made.content) <= _PHOTO_BYTES
        parts.append(FeishuFile(file, made.name, made.instead, is_photo))
    parts.extend(reply.files)
    return parts


def make_attachment(attached: AttachedFile, text: str) -> FeishuFile | FeishuText:
    """Return a kept file as Feishu gets it, or a note when it is gone; `text` is the reply that it
    belongs to.
    """
    texts = find_texts(text)
    try:
        body = attached.read()
    except UsageError:
        return FeishuText(texts.file_is_gone.format(name=attached.name))
    # the name that people see is a field of its own
    file = FormFile("file", attached.type, body)
    is_photo = attached.type in _PHOTOS and len(body) <= _PHOTO_BYTES
    return FeishuFile(file, attached.name, texts.no_picture, is_photo)


@dataclass(frozen=True, slots=True)
class FeishuSender:
    """Sends the messages of one reply to `chat`. `key` is the reply's, for Feishu to drop what it
    has had within the last hour. A request takes at most `timeout` seconds.
    """

    api: FeishuApi
    chat: FeishuChat
    key: str
    timeout: float = TIMEOUT

    def send(self, part: FeishuText | FeishuFile, number: int, answered: str) -> None:
        """Send the part with a number; `answered` is the message that it shows it answers."""
        if isinstance(part, FeishuText):
            self._send_text(part, number, answered)
            return
        try:
            kind, content = self._upload(part)
        except FeishuRejected:
            if part.is_photo:
                # a picture may be too large in points, and yet be a file
                self.send(replace(part, is_photo=False), number, answered)
            else:
                self._send_text(FeishuText(part.instead), number, answered)
            return
        self._post(kind, content, number, answered)

    def _send_text(self, text: FeishuText, number: int, answered: str) -> None:
        while True:
            kind, content = text.make_message()
            try:
                self._post(kind, content, number, answered)
                return
            except FeishuRejected as problem:
                repaired = text.repair(problem)
                if repaired is None:
                    raise
                text = repaired

    def send_card(self, text: str) -> str:
        """Send a card that can be changed later, and return its id."""
        return self._post("interactive", make_card(text), 0, "")

    def send_entity(self, card: str, answered: str) -> str:
        """Send the card with an id, once, and return the message's id."""
        return self._post("interactive", {"type": "card", "data": {"card_id": card}}, 0, answered)

    def _upload(self, part: FeishuFile) -> tuple[str, dict[str, object]]:
        if part.is_photo:
            found = self.api.upload("/im/v1/images", {"image_type": "message"}, "image", part.file)
            key = as_string(as_mapping(found.get("data")).get("image_key"))
            return "image", {"image_key": key}
        name = part.name.replace("\r", " ").replace("\n", " ")
        fields = {"file_type": "stream", "file_name": name}
        found = self.api.upload("/im/v1/files", fields, "file", part.file)
        return "file", {"file_key": as_string(as_mapping(found.get("data")).get("file_key"))}

    def _post(self, kind: str, content: dict[str, object], number: int, answered: str) -> str:
        """Post a message, and return its id."""
        body: dict[str, object] = {"msg_type": kind, "content": orjson.dumps(content).decode()}
        if self.key:
            name = f"{self.key} {number} {kind}"
            body["uuid"] = hashlib.sha256(name.encode()).hexdigest()[:40]
        target = self.chat.root or answered
        if target and ID.fullmatch(target):
            in_thread = {"reply_in_thread": True} if self.chat.root else {}
            try:
                path = f"/im/v1/messages/{target}/reply"
                answer = self.api.call("POST", path, body | in_thread, timeout=self.timeout)
                return _read_id(answer)
            except FeishuRejected as problem:
                if problem.number not in _ABOUT_ANSWERED:
                    raise
        kind_of_id = "chat_id" if self.chat.is_group else "open_id"
        query = {"receive_id_type": kind_of_id}
        body["receive_id"] = self.chat.id
        path = "/im/v1/messages"
        return _read_id(self.api.call("POST", path, body, query, timeout=self.timeout))


def _read_id(answer: Mapping[str, Json]) -> str:
    return as_string(as_mapping(answer.get("data")).get("message_id"))


def make_card(text: str) -> dict[str, object]:
    """Return the content of a card with a text in markdown."""
    [part, *_] = render_parts(text, 1)
    return FeishuText(part).make_card()


def write_card(text: str) -> str:
    """Return the content of a card as Feishu takes it."""
    return orjson.dumps(make_card(text)).decode()
