"""Messages are sent to a person, and repaired when WhatsApp refuses them
(https://developers.facebook.com/docs/whatsapp/cloud-api/messages).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from functions.channels.base import AttachedFile, Reply
from functions.channels.platform_api.http_client import FormFile
from functions.channels.render.whatsapp import render_parts
from functions.channels.replies.reply_parts import divide_reply, take_buttons, write_buttons
from functions.channels.whatsapp.api import WhatsAppRejected
from functions.channels.whatsapp.events import PERSON
from functions.events import Button
from functions.texts.languages import find_texts
from sigil.errors import UsageError
from sigil.json_fields import as_string

if TYPE_CHECKING:
    from functions.channels.whatsapp.api import WhatsAppApi

MESSAGES_MOST: Final = 10
"""Messages of one reply; the last of them is a file when there would be more."""
UPLOAD_NAME: Final = "file"
"""The name of what is uploaded; that which people see is a field of the message."""
BUTTONS_MOST: Final = 3
"""Those that are left stand in words below the text."""
BUTTON_CHARACTERS: Final = 20
BODY_CHARACTERS: Final = 1_024
"""Characters above buttons."""
_PHOTOS: Final = ("image/png", "image/jpeg")
_PHOTO_BYTES: Final = 5 * 1024 * 1024
_DOCUMENTS: Final = frozenset(
    (
        "application/pdf",
        "application/msword",
        "application/vnd.ms-excel",
        "application/vnd.ms-powerpoint",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
        "application/vnd.openxmlformats-officedocument.presentationml.presentation",
        "text/plain",
    )
)
"""What WhatsApp takes; any other file of text goes as plain text."""
_PARAMETER: Final = frozenset((100, 131008, 131009))
"""Another form of the message helps."""


@dataclass(frozen=True, slots=True)
class WhatsAppText:
    """A message of text, with `buttons` below it."""

    text: str
    buttons: tuple[Button, ...] = ()
    gave_up: bool = False

    def make_fields(self) -> dict[str, object]:
        """Return the fields that are the message's own."""
        if not self.buttons:
            return {"type": "text", "text": {"body": self.text, "preview_url": False}}
        rows = []
        for button in self.buttons:
            title = button.label[:BUTTON_CHARACTERS]
            rows.append({"type": "reply", "reply": {"id": button.command, "title": title}})
        content = {"type": "button", "body": {"text": self.text}, "action": {"buttons": rows}}
        return {"type": "interactive", "interactive": content}

    def repair(self, problem: WhatsAppRejected) -> WhatsAppText | None:
        """Return the message to try instead, None when nothing helps: with the buttons in words,
        and then a note in place of the text.
        """
        if problem.number not in _PARAMETER or self.gave_up:
            return None
        if self.buttons:
            text = write_buttons(self.text, self.buttons)
            return replace(self, text=text, buttons=())
        return WhatsAppText(find_texts(self.text).part_not_taken, gave_up=True)


@dataclass(frozen=True, slots=True)
class WhatsAppFile:
    """A file, or a picture where `is_photo`. `name` is what people see, `instead` what a chat reads
    that takes none.
    """

    file: FormFile
    name: str
    instead: str
    is_photo: bool = False


Part = WhatsAppText | WhatsAppFile | AttachedFile


def make_parts(reply: Reply) -> list[Part]:
    """Return the messages of a reply."""
    text, buttons = take_buttons(reply, BUTTONS_MOST)
    divided = divide_reply(
        text, MESSAGES_MOST, render_parts, len, file_name=reply.file_name, draw=reply.draw
    )
    parts: list[Part] = [WhatsAppText(message) for message in divided.messages]
    if buttons and divided.messages:
        last = divided.messages[-1]
        if len(last) <= BODY_CHARACTERS:
            parts[-1] = WhatsAppText(last, buttons)
        else:
            cut = _find_cut(last)
            parts[-1:] = [
                WhatsAppText(last[:cut].rstrip()),
                WhatsAppText(last[cut:].lstrip(), buttons),
            ]
    for made in divided.files:
        if made.type in _PHOTOS and len(made.content) <= _PHOTO_BYTES:
            file = FormFile(UPLOAD_NAME, made.type, made.content)
            parts.append(WhatsAppFile(file, made.name, made.instead, True))
            continue
        file = FormFile(UPLOAD_NAME, "text/plain", made.content)
        parts.append(WhatsAppFile(file, f"{made.name}.txt", made.instead))
    parts.extend(reply.files)
    return parts


def _find_cut(text: str) -> int:
    """Return where a text is cut so that what follows has room above buttons."""
    least = len(text) - BODY_CHARACTERS
    pause = re.search(r"\n|\s", text[least:])
    return least + (pause.end() if pause and pause.end() < BODY_CHARACTERS else 0)


def make_attachment(attached: AttachedFile, text: str) -> WhatsAppFile | WhatsAppText:
    """Return a kept file as WhatsApp gets it, or a note when it is gone or of a kind that WhatsApp
    does not take; `text` is the reply that it belongs to.
    """
    texts = find_texts(text)
    try:
        body = attached.read()
    except UsageError:
        return WhatsAppText(texts.file_is_gone.format(name=attached.name))
    is_photo = attached.type in _PHOTOS and len(body) <= _PHOTO_BYTES
    kind = attached.type
    name = attached.name
    if not is_photo and kind not in _DOCUMENTS:
        kind = "text/plain"
        if not name.endswith(".txt"):
            name = f"{name}.txt"
    return WhatsAppFile(FormFile(UPLOAD_NAME, kind, body), name, texts.no_picture, is_photo)


@dataclass(frozen=True, slots=True)
class WhatsAppSender:
    """Sends messages from the phone number with the id `number` to a person."""

    api: WhatsAppApi
    number: str
    person: str

    @classmethod
    def open(cls, api: WhatsAppApi, number: str, session: str) -> WhatsAppSender:
        """Return the sender for a session; `UsageError` when it is none of WhatsApp's."""
        person = session.partition(":")[2]
        if not PERSON.fullmatch(person):
            raise UsageError("EINVAL", "not a session of WhatsApp", source="whatsapp")
        return cls(api, number, person)

    def send(self, part: WhatsAppText | WhatsAppFile) -> None:
        """Send a part, repaired when WhatsApp refuses it."""
        if isinstance(part, WhatsAppText):
            self._send_text(part)
            return
        try:
            self._post(self._upload(part))
        except WhatsAppRejected as problem:
            if part.is_photo:
                # a picture may be too large in points, and yet be a file
                self.send(replace(part, is_photo=False))
                return
            if problem.number not in _PARAMETER:
                raise
            self._send_text(WhatsAppText(part.instead))

    def _send_text(self, text: WhatsAppText) -> None:
        while True:
            try:
                self._post(text.make_fields())
                return
            except WhatsAppRejected as problem:
                repaired = text.repair(problem)
                if repaired is None:
                    raise
                text = repaired

    def _upload(self, part: WhatsAppFile) -> dict[str, object]:
        fields = {"messaging_product": "whatsapp", "type": part.file.kind}
        id = as_string(self.api.upload(f"/{self.number}/media", fields, part.file).get("id"))
        if part.is_photo:
            return {"type": "image", "image": {"id": id}}
        return {"type": "document", "document": {"id": id, "filename": part.name}}

    def _post(self, fields: dict[str, object]) -> None:
        # who hides their number has an id in its place
        address = "to" if self.person.isdigit() else "recipient"
        body = {"messaging_product": "whatsapp", "recipient_type": "individual"}
        self.api.call("POST", f"/{self.number}/messages", {**body, address: self.person, **fields})
