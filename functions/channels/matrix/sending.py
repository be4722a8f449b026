"""Messages and files are sent to a room, and repaired when the homeserver refuses them
(https://spec.matrix.org/latest/client-server-api/#instant-messaging).
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final

from functions.channels.base import AttachedFile, Reply
from functions.channels.matrix.about import ABOUT
from functions.channels.matrix.api import MatrixApi, MatrixRejected, quote_id
from functions.channels.matrix.events import AGENT_MARK
from functions.channels.matrix.identifiers import MatrixChat
from functions.channels.platform_api.http_client import TIMEOUT, FormFile
from functions.channels.render.matrix import MatrixPart, render_parts
from functions.channels.replies.reply_parts import divide_reply, write_buttons
from functions.channels.visible_text import clean_text
from functions.texts.languages import find_texts
from sigil.errors import UsageError
from sigil.json_fields import as_string

MESSAGES_MOST: Final = 5
"""Messages of one reply; the last of them is a file when there would be more."""
EDIT_TIMEOUT: Final = 5.0
"""Seconds that the change of a message may take: it is not worth a wait."""
UPLOAD_NAME: Final = "file"
"""The name of what is uploaded; that which people see is a field of the message."""
_LIVE: Final = "org.matrix.msc4357.live"
"""Marks a message that is still being written
(https://github.com/matrix-org/matrix-spec-proposals/pull/4357).
"""
_PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""Pictures that every client shows; an SVG document is shown by none."""
_CONTENT: Final = frozenset(("M_TOO_LARGE", "M_BAD_JSON", "M_INVALID_PARAM", "M_UNKNOWN"))
"""The homeserver's words about what a message says; others are about the room."""


@dataclass(frozen=True, slots=True)
class MatrixText:
    """A message of text. `gave_up`: a note is in place of the text."""

    part: MatrixPart
    gave_up: bool = False

    def make_content(self) -> dict[str, object]:
        """Return the fields of the message."""
        content: dict[str, object] = {"msgtype": "m.text", "body": self.part.text}
        if self.part.html:
            content["format"] = "org.matrix.custom.html"
            content["formatted_body"] = self.part.html
        return content

    def repair(self, problem: MatrixRejected) -> MatrixText | None:
        """Return the message to try instead, None when nothing helps: without its styles, or a note
        in place of a text that is refused.
        """
        if problem.error not in _CONTENT or self.gave_up:
            return None
        if self.part.html:
            return MatrixText(MatrixPart(self.part.text))
        return MatrixText(MatrixPart(find_texts(self.part.text).part_not_taken), gave_up=True)


@dataclass(frozen=True, slots=True)
class MatrixFile:
    """A file, or a picture where clients show one. `name` is what people see, `caption` stands
    beside it, and `instead` is what a room reads that takes no files.
    """

    file: FormFile
    name: str
    caption: str
    instead: str

    def make_content(self, address: str) -> dict[str, object]:
        """Return the fields of the message whose file is at an address."""
        is_picture = self.file.kind in _PICTURES
        return {
            "msgtype": "m.image" if is_picture else "m.file",
            "body": self.caption or self.name,
            "filename": self.name,
            "url": address,
            "info": {"mimetype": self.file.kind, "size": len(self.file.content)},
        }


MatrixOutgoing = MatrixText | MatrixFile | AttachedFile


def make_parts(reply: Reply) -> list[MatrixOutgoing]:
    """Return the messages and files of a reply; Matrix has no buttons, so that their commands stand
    below the text.
    """
    text = write_buttons(reply.text, reply.buttons, ABOUT.command_sign)
    divided = divide_reply(
        text,
        MESSAGES_MOST,
        render_parts,
        lambda part: len(part.text),
        file_name=reply.file_name,
        draw=reply.draw,
    )
    parts: list[MatrixOutgoing] = [MatrixText(message) for message in divided.messages]
    for made in divided.files:
        file = FormFile(UPLOAD_NAME, made.type, made.content)
        parts.append(MatrixFile(file, made.name, made.caption, made.instead))
    parts.extend(reply.files)
    return parts


def make_attachment(attached: AttachedFile, text: str) -> MatrixFile | MatrixText:
    """Return a kept file as Matrix gets it, or a note when it is gone; `text` is the reply that it
    belongs to.
    """
    texts = find_texts(text)
    try:
        body = attached.read()
    except UsageError:
        return MatrixText(MatrixPart(texts.file_is_gone.format(name=attached.name)))
    name = PurePath(clean_text(attached.name)).name or "file"
    return MatrixFile(FormFile(UPLOAD_NAME, attached.type, body), name, "", texts.no_picture)


@dataclass(frozen=True, slots=True)
class RoomSender:
    """Sends the parts of one reply to a room. `user` is our account, `key` is the reply's own;
    `answers` the message that its first part points at.
    """

    api: MatrixApi
    user: str
    chat: MatrixChat
    key: str
    answers: str = ""

    def send(self, part: MatrixText | MatrixFile, number: int) -> None:
        """Send the part with this number, repaired when it is refused; errors as `MatrixApi.call`.

        A part that the homeserver has taken already is not taken again, since its transaction is
        the same.
        """
        if isinstance(part, MatrixText):
            self._send_text(part, number)
            return
        try:
            address = self.api.upload(part.file)
            self.put(part.make_content(address), f"{number}-file", number)
        except MatrixRejected as problem:
            if problem.error not in (*_CONTENT, "M_FORBIDDEN"):
                raise
            self._send_text(MatrixText(MatrixPart(part.instead)), number)

    def _send_text(self, text: MatrixText, number: int) -> None:
        tries = 0
        while True:
            try:
                self.put(text.make_content(), f"{number}-{tries}", number)
                return
            except MatrixRejected as problem:
                repaired = text.repair(problem)
                if repaired is None:
                    raise
                text = repaired
                tries += 1

    def put(
        self,
        content: dict[str, object],
        transaction: str,
        number: int,
        timeout: float = TIMEOUT,
    ) -> str:
        """Send the content of the part with a number, and return the name of its event. The
        homeserver takes a transaction once.
        """
        # whom it would name: nobody, whatever it says
        content["m.mentions"] = {}
        content[AGENT_MARK] = self.user
        answers = self.answers if number == 0 else ""
        relation = self._relate(answers)
        if relation:
            content["m.relates_to"] = relation
        name = f"{self.key}-{transaction}"
        return _send_event(self.api, self.chat.room, name, content, timeout)

    def _relate(self, answers: str) -> dict[str, object]:
        """Return what a message belongs to: a thread, the message that it answers."""
        relation: dict[str, object] = {}
        if answers:
            relation["m.in_reply_to"] = {"event_id": answers}
        if self.chat.thread:
            relation["rel_type"] = "m.thread"
            relation["event_id"] = self.chat.thread
            # clients without threads show it as an answer
            relation["m.in_reply_to"] = {"event_id": answers or self.chat.thread}
            relation["is_falling_back"] = True
        return relation


def make_editable(text: str) -> dict[str, object]:
    """Return the content of a message that can be changed later."""
    [part, *_] = render_parts(text, 1)
    return MatrixText(part).make_content()


def make_live(text: str) -> dict[str, object]:
    """Return the content of a message that is still being written."""
    return {**make_editable(text), _LIVE: {}}


def make_notice(text: str) -> dict[str, object]:
    """Return the content of a notice, which no program answers."""
    return {"msgtype": "m.notice", "body": text}


def replace_message(
    api: MatrixApi, user: str, room: str, event: str, text: str, *, is_live: bool = False
) -> None:
    """Change a message of a room; clients that know no changes show it as another one. `is_live`:
    it is still being written.
    """
    content = make_live(text) if is_live else make_editable(text)
    changed: dict[str, object] = {
        "msgtype": content["msgtype"],
        "body": f"* {content['body']}",
        "m.new_content": {**content, "m.mentions": {}},
        "m.mentions": {},
        AGENT_MARK: user,
        "m.relates_to": {"rel_type": "m.replace", "event_id": event},
    }
    if is_live:
        changed[_LIVE] = {}
    _send_event(api, room, uuid.uuid4().hex, changed, EDIT_TIMEOUT)


def redact_message(api: MatrixApi, room: str, event: str, transaction: str, timeout: float) -> None:
    """Redact a message of ours, with all its changes
    (https://spec.matrix.org/latest/client-server-api/#redactions).
    """
    path = f"/rooms/{quote_id(room)}/redact/{quote_id(event)}/{quote_id(transaction)}"
    api.call("PUT", path, {}, timeout=timeout)


def _send_event(
    api: MatrixApi,
    room: str,
    transaction: str,
    content: dict[str, object],
    timeout: float = TIMEOUT,
) -> str:
    path = f"/rooms/{quote_id(room)}/send/m.room.message/{quote_id(transaction)}"
    return as_string(api.call("PUT", path, content, timeout=timeout).get("event_id"))
