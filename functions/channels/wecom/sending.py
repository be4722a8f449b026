"""Messages are sent to a person, and repaired when WeCom refuses them
(https://developer.work.weixin.qq.com/document/path/90236).
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from functions.channels.base import AttachedFile, Reply
from functions.channels.platform_api.http_client import FormFile
from functions.channels.render.wecom import WeComPart, count_characters, render_parts
from functions.channels.replies.reply_parts import divide_reply, take_buttons, write_buttons
from functions.channels.wecom.api import WeComRejected
from functions.channels.wecom.messages import PERSON
from functions.events import Button
from functions.texts.languages import find_texts
from sigil.errors import UsageError

if TYPE_CHECKING:
    from functions.channels.wecom.api import WeComApi

MESSAGES_MOST: Final = 15
"""Messages of one reply, of 30 that a person may get in a minute; the last of them is a file when
there would be more.
"""
REPEAT_SECONDS: Final = 360
"""WeCom drops what it gets a second time within so many seconds. Who goes on after a crash begins
within five minutes.
"""
BUTTONS_MOST: Final = 6
TITLE_CHARACTERS: Final = 30
_PHOTOS: Final = ("image/png", "image/jpeg")
_PHOTO_BYTES: Final = 10 * 1024 * 1024
_FILE_LEAST: Final = 5
"""Bytes of a file; WeCom takes no smaller ones."""
_NAME: Final = re.compile(r'[\x00-\x1f\x7f"\\/]')
_MARKS: Final = "\u200b\u200c\u200d\u2060"


@dataclass(frozen=True, slots=True)
class WeComText:
    """A message of text. `gave_up`: a note is in place of the text."""

    part: WeComPart
    gave_up: bool = False

    @classmethod
    def note(cls, text: str) -> WeComText:
        """Return a note in place of something that WeCom does not take."""
        return cls(WeComPart(text, text, is_plain=True), gave_up=True)

    def make_content(self, mark: str) -> dict[str, object]:
        """Return the fields that are the message's own, with a `mark` that nobody sees: not in
        code if there is anything else, since it would be copied with the code.
        """
        if self.part.is_plain:
            place = self.part.prose or len(self.part.plain)
            content = self.part.plain[:place] + mark + self.part.plain[place:]
            return {"msgtype": "text", "text": {"content": content}}
        return {"msgtype": "markdown", "markdown": {"content": self.part.written + mark}}


@dataclass(frozen=True, slots=True)
class WeComButtons:
    """A card with buttons below the text, whose beginning is its `title`."""

    title: str
    buttons: tuple[Button, ...]

    def make_content(self, task: str) -> dict[str, object]:
        """Return the fields that are the message's own; `task` names the card."""
        rows = [
            {"text": button.label, "style": 1, "key": button.command} for button in self.buttons
        ]
        card = {
            "card_type": "button_interaction",
            "main_title": {"title": self.title},
            "task_id": task,
            "button_list": rows,
        }
        return {"msgtype": "template_card", "template_card": card}


@dataclass(frozen=True, slots=True)
class WeComFile:
    """A message that is a file, or a picture where `is_photo`. `instead`: what a chat reads that
    takes none.
    """

    file: FormFile
    instead: str
    is_photo: bool = False


Part = WeComText | WeComButtons | WeComFile | AttachedFile


def make_parts(reply: Reply) -> list[Part]:
    """Return the messages of a reply."""
    text, buttons = take_buttons(reply, BUTTONS_MOST)
    divided = divide_reply(
        text,
        MESSAGES_MOST,
        render_parts,
        count_characters,
        file_name=reply.file_name,
        draw=reply.draw,
    )
    parts: list[Part] = [WeComText(message) for message in divided.messages]
    if buttons and divided.messages:
        title = " ".join(divided.messages[0].plain.split())[:TITLE_CHARACTERS]
        parts.append(WeComButtons(title, buttons))
    for made in divided.files:
        parts.append(_make_file(made.name, made.type, made.content, made.instead))
    parts.extend(reply.files)
    return parts


def make_attachment(attached: AttachedFile, text: str) -> WeComFile | WeComText:
    """Return a kept file as WeCom gets it, or a note when it is gone; `text` is the reply that it
    belongs to.
    """
    texts = find_texts(text)
    try:
        body = attached.read()
    except UsageError:
        return WeComText.note(texts.file_is_gone.format(name=attached.name))
    return _make_file(attached.name, attached.type, body, texts.no_picture)


def _make_file(name: str, kind: str, content: bytes, instead: str) -> WeComFile:
    # the name in the form is the one that people see
    shown = _NAME.sub(" ", name).strip() or "file"
    is_photo = kind in _PHOTOS and len(content) <= _PHOTO_BYTES
    content = content.ljust(_FILE_LEAST, b"\n") if kind.startswith("text/") else content
    return WeComFile(FormFile(shown, kind, content), instead, is_photo)


@dataclass(frozen=True, slots=True)
class WeComSender:
    """Sends the messages of one reply from the app with `agent_id` to a person. `key` is the
    reply's, for WeCom to drop what it has had.
    """

    api: WeComApi
    agent_id: str
    person: str
    key: str

    @classmethod
    def open(cls, api: WeComApi, agent_id: str, reply: Reply) -> WeComSender:
        """Return the sender of a reply; `UsageError` when it is to no session of WeCom."""
        person = reply.session.partition(":")[2]
        if not PERSON.fullmatch(person):
            raise UsageError("EINVAL", "not a session of WeCom", source="wecom")
        return cls(api, agent_id, person, reply.key)

    def send(self, part: WeComText | WeComButtons | WeComFile, number: int) -> None:
        """Send the part with a number, repaired when WeCom refuses it."""
        if isinstance(part, WeComText):
            self._send_text(part, number)
        elif isinstance(part, WeComButtons):
            self._send_buttons(part, number)
        else:
            self._send_file(part, number)

    def _send_text(self, text: WeComText, number: int) -> None:
        try:
            self._post(text.make_content(self._make_mark(number)))
        except WeComRejected as problem:
            if not problem.is_about_content or text.gave_up:
                raise
            if text.part.is_plain:
                note = find_texts(text.part.plain).part_not_taken
                self._send_text(WeComText.note(note), number)
            else:
                plain = replace(text, part=replace(text.part, is_plain=True))
                self._send_text(plain, number)

    def _send_buttons(self, part: WeComButtons, number: int) -> None:
        try:
            self._post(part.make_content(self._name_task(number)))
        except WeComRejected:
            # the text has left, and need not say what to type
            words = write_buttons("", part.buttons, is_plain=True)
            self._send_text(WeComText.note(words), number)

    def _send_file(self, part: WeComFile, number: int) -> None:
        kind = "image" if part.is_photo else "file"
        try:
            media = self.api.upload(kind, part.file)
            self._post({"msgtype": kind, kind: {"media_id": media}})
        except WeComRejected:
            if part.is_photo:
                # a picture may be too large in points, and yet be a file
                self._send_file(replace(part, is_photo=False), number)
            else:
                self._send_text(WeComText.note(part.instead), number)

    def _post(self, content: dict[str, object]) -> None:
        body = {"touser": self.person, "agentid": int(self.agent_id), **content}
        if self.key:
            body["enable_duplicate_check"] = 1
            body["duplicate_check_interval"] = REPEAT_SECONDS
        self.api.call("/message/send", body=body)

    def _make_mark(self, number: int) -> str:
        """Return characters that nobody sees, which are the same only when this part of this reply
        is sent again: WeCom drops a message by its text, and two answers may have the same.
        """
        if not self.key:
            return ""
        digest = hashlib.sha256(f"{self.key} {number}".encode()).digest()
        return "".join(_MARKS[byte % 4] for byte in digest[:10])

    def _name_task(self, number: int) -> str:
        """Return the name of a card, which WeCom takes once."""
        name = f"{self.key or id(self)} {self.person} {number}"
        return hashlib.sha256(name.encode()).hexdigest()[:40]
