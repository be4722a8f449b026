"""Replies leave as messages of text, all in one request: as the answer to an event, which costs
nothing, as long as its reply token is good, and else by a push, which counts against the month's
messages (https://developers.line.biz/en/docs/messaging-api/sending-messages/).

LINE drops a push that it has had. It cannot recognise a repeated answer, but takes a token once:
one that it refuses before its time, when an answer was tried before, shows that it has arrived.
"""

from __future__ import annotations

import re
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from functions.channels.base import Busy, Reply
from functions.channels.line.api import LineApi, LineRejected, ReplyTokenRefused
from functions.channels.line.events import CHAT
from functions.channels.line.reply_address import LineReplyAddress
from functions.channels.line.sent_messages import SentMessages
from functions.channels.render.plain import render_parts
from functions.channels.replies.reply_parts import (
    divide_reply,
    take_buttons,
    write_buttons,
    write_file_notes,
)
from functions.events import Button
from functions.texts.languages import find_texts
from sigil.errors import BackendError, UsageError

MESSAGES_MOST: Final = 5
"""Messages of one request, and so of a reply."""
TEXT_UNITS: Final = 5_000
"""UTF-16 code units of a text."""
LABEL_CHARACTERS: Final = 20
BUTTONS_MOST: Final = 10
ALTERNATIVE_CHARACTERS: Final = 400
"""Characters of what a list of chats shows in place of buttons."""
PICTURE_TYPES: Final = frozenset(("image/png", "image/jpeg"))
PREVIEW_BYTES: Final = 1_000_000
"""A picture that is its own preview has so many bytes at most."""
REMEMBERED_MOST: Final = 1_000
_PICTURE_LINE: Final = re.compile(r" {0,3}!\[[^\[\]\n]*\]\((https://[^()\s]+)\)\s*")
_RETRY_KEYS: Final = uuid.UUID("5f1d7c0a-5f0e-4a52-9d0c-0a6f6a3f0b1e")

Fields = dict[str, object]


def make_messages(reply: Reply) -> list[Fields]:
    """Return the messages of a reply: its text, a note for what cannot be sent, and its buttons.

    LINE takes files by their public addresses alone. A picture that has one is a message of its
    own where the text shows it on a line; of all others the address stands in the text.
    """
    room = MESSAGES_MOST - bool(reply.buttons)
    text, buttons = take_buttons(reply, BUTTONS_MOST)
    messages = _show_pictures(text, reply, room)
    notes: list[str] = []
    if not messages:
        noted = [file for file in reply.files if not file.link]
        divided = divide_reply(text, room, _render, len, noted=noted)
        if _list_unshown(reply, divided.messages):
            divided = divide_reply(text, room, _render, len, noted=reply.files)
        messages = [_make_text(text) for text in divided.messages]
        notes = write_file_notes(divided, reply) + _list_unshown(reply, divided.messages)
    if notes:
        messages.append(_make_text(_cut("\n".join(notes))))
    if buttons and messages:
        messages.append(_make_buttons(buttons))
    return messages


def _show_pictures(text: str, reply: Reply, room: int) -> list[Fields]:
    """Return the messages of a reply that shows pictures; none where it shows none, has more than
    text and pictures, or more messages than there is room for.
    """
    shown = {
        file.link
        for file in reply.files
        if file.link and file.type in PICTURE_TYPES and 0 < file.size <= PREVIEW_BYTES
    }
    if not shown or not all(file.link for file in reply.files):
        return []
    messages: list[Fields] = []
    lines: list[str] = []
    has_pictures = False
    for line in [*text.split("\n"), None]:
        picture = _PICTURE_LINE.fullmatch(line) if line is not None else None
        if line is not None and not (picture and picture[1] in shown):
            lines.append(line)
            continue
        divided = divide_reply("\n".join(lines), room, _render, len)
        if divided.files:
            return []
        messages += [_make_text(text) for text in divided.messages]
        lines = []
        if picture:
            has_pictures = True
            messages.append(_make_image(picture[1]))
    return messages if has_pictures and len(messages) <= room else []


def _list_unshown(reply: Reply, texts: Sequence[str]) -> list[str]:
    """Return the addresses of files that none of these texts shows: they stand in a table, or in
    what is cut off.
    """
    linked = [file for file in reply.files if file.link]
    return [
        f"{file.name}: {file.link}"
        for file in linked
        if not any(file.link in text for text in texts)
    ]


def _render(markdown: str, most: int) -> list[str]:
    return render_parts(markdown, TEXT_UNITS, count_units, most)


def count_units(text: str) -> int:
    """Return the length of a text as LINE counts it."""
    return len(text.encode("utf-16-le")) // 2


def _cut(text: str) -> str:
    return text.encode("utf-16-le")[: 2 * TEXT_UNITS].decode("utf-16-le", "ignore")


def _make_text(text: str) -> Fields:
    # a text of this type mentions nobody, whatever it says
    return {"type": "text", "text": text}


def _make_image(link: str) -> Fields:
    return {"type": "image", "originalContentUrl": link, "previewImageUrl": link}


def _make_buttons(buttons: Sequence[Button]) -> Fields:
    """Return a message with buttons, which stay until somebody needs them."""
    rows = []
    for button in buttons:
        label = button.label[:LABEL_CHARACTERS]
        action = {"type": "postback", "label": label, "data": button.command, "displayText": label}
        rows.append({"type": "button", "style": "secondary", "height": "sm", "action": action})
    body = {"type": "box", "layout": "vertical", "spacing": "sm", "contents": rows}
    shown = " · ".join(button.label for button in buttons)[:ALTERNATIVE_CHARACTERS]
    return {"type": "flex", "altText": shown, "contents": {"type": "bubble", "body": body}}


@dataclass(slots=True)
class ReplyKeys:
    """The keys of the last replies of which we know something. Safe to share between threads."""

    _keys: dict[str, None] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, key: str) -> None:
        """Remember a reply."""
        with self._lock:
            self._keys[key] = None
            while len(self._keys) > REMEMBERED_MOST:
                del self._keys[next(iter(self._keys))]

    def __contains__(self, key: str) -> bool:
        with self._lock:
            return key in self._keys


@dataclass(frozen=True, slots=True)
class LineSender:
    """Sends replies to chats.

    `unsure` are those whose answer got no clear response, and `pushed` those whose token was
    refused at the first try.
    """

    api: LineApi
    sent: SentMessages
    unsure: ReplyKeys = field(default_factory=ReplyKeys)
    pushed: ReplyKeys = field(default_factory=ReplyKeys)

    def send(self, reply: Reply) -> None:
        """Send a reply, repaired when LINE refuses it; `UsageError` for a session that is not
        LINE's, all else as `LineApi.call`.
        """
        chat = reply.session.partition(":")[2]
        if not CHAT.fullmatch(chat):
            raise UsageError("EINVAL", "not a session of LINE", source="line")
        messages = make_messages(reply)[reply.start :]
        address = LineReplyAddress.parse(reply.to)
        points = address.quote and not chat.startswith("U") and not reply.start
        if points and messages and messages[0]["type"] == "text":
            messages[0]["quoteToken"] = address.quote
        while messages:
            try:
                self._send(messages, reply, chat, address)
                return
            except LineRejected as problem:
                repaired = _repair(messages, problem, reply)
                if repaired is None:
                    raise
                messages = repaired

    def _send(
        self, messages: list[Fields], reply: Reply, chat: str, address: LineReplyAddress
    ) -> None:
        is_answer = address.token and not reply.start and reply.key not in self.pushed
        if is_answer and time.time() < address.ends:
            try:
                self._answer(messages, reply, address.token)
                return
            except ReplyTokenRefused:
                if reply.is_repeated or reply.key in self.unsure:
                    return
                if reply.key:
                    self.pushed.note(reply.key)
        body: Fields = {"to": chat, "messages": messages}
        key = f"{reply.key}:{reply.start}"
        retry_key = str(uuid.uuid5(_RETRY_KEYS, key)) if reply.key else ""
        self.sent.note(reply.session, self.api.push(body, retry_key), messages)

    def _answer(self, messages: list[Fields], reply: Reply, token: str) -> None:
        body: Fields = {"replyToken": token, "messages": messages}
        try:
            answer = self.api.call("POST", "/v2/bot/message/reply", body)
        except Busy:
            raise
        except BackendError:
            if reply.key:
                self.unsure.note(reply.key)
            raise
        self.sent.note(reply.session, answer, messages)


def _repair(messages: list[Fields], problem: LineRejected, reply: Reply) -> list[Fields] | None:
    """Return the messages to try instead, None when nothing helps: without the message that they
    answer, with the addresses of pictures as texts, with the buttons in words, and then a note in
    place of the text.
    """
    buttons = reply.buttons[:BUTTONS_MOST]
    words = write_buttons("", buttons, is_plain=True)
    note = _make_text("\n\n".join(filter(None, (find_texts(reply.text).part_not_taken, words))))
    is_about_words = bool(problem.properties) or "quote" in problem.message.lower()
    if problem.status != 400 or not is_about_words:
        # the chat is closed to us, and no other words help
        return None
    if "quoteToken" in messages[0]:
        first = {name: value for name, value in messages[0].items() if name != "quoteToken"}
        return [first, *messages[1:]]
    if any(each["type"] == "image" for each in messages):
        return [
            _make_text(str(each["originalContentUrl"])) if each["type"] == "image" else each
            for each in messages
        ]
    if len(messages) > 1 and messages[-1]["type"] == "flex":
        return [*messages[:-1], _make_text(words)]
    return None if messages == [note] else [note]
