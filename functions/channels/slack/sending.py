"""Messages and files are sent to a chat, and repaired when Slack refuses them."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Final

from functions.channels.base import AttachedFile, Reply
from functions.channels.render.slack import SlackPart, escape_text, make_notice, render_parts
from functions.channels.replies.reply_parts import divide_reply, take_buttons, write_buttons
from functions.channels.slack.about import ABOUT
from functions.channels.slack.api import SlackApi, SlackRejected
from functions.channels.slack.reply_address import SlackReplyAddress
from functions.channels.visible_text import clean_text
from functions.events import Button
from functions.texts.languages import find_texts
from sigil.errors import BackendError, UsageError
from sigil.json_fields import as_mapping, as_string

MESSAGES_MOST = 10
"""Messages of one reply; the last of them is a file when there would be more."""
_LABEL_CHARACTERS = 75
BUTTONS_MOST: Final = 25
"""Those that are left stand in words below the text."""
_SESSION = re.compile(
    r"[a-z][a-z0-9-]*:(?:([CDG][A-Z0-9]{1,30})|[TE][A-Z0-9]{1,30}\.([UW][A-Z0-9]{1,30}))"
    r"(?::([0-9]{1,12}\.[0-9]{1,9}))?",
    re.ASCII,
)
_CONTENT_ERRORS: Final = (
    "invalid_blocks",
    "invalid_blocks_format",
    "msg_blocks_too_long",
    "msg_too_long",
    "no_text",
    "invalid_arguments",
    "cannot_parse_attachment",
    "block_mismatch",
    "invalid_attachments",
    "markdown_text_conflict",
    "attachment_payload_limit_exceeded",
)
"""Slack's words about what a message says; all others are about the chat."""
_RESPONSE_OVER: Final = 5
"""So many messages an address for responses takes."""


@dataclass(frozen=True, slots=True)
class SlackChat:
    """A channel, or a person with whom we are alone (`user`); `thread` is a place in either."""

    channel: str
    user: str
    thread: str = ""

    @classmethod
    def parse(cls, session: str) -> SlackChat:
        """Return the chat of a session; `UsageError` for one that is none of Slack's."""
        match = _SESSION.fullmatch(session)
        if not match:
            raise UsageError("EINVAL", "not a session of Slack", source="slack")
        return cls(match[1] or "", match[2] or "", match[3] or "")

    def params(self) -> dict[str, object]:
        """Return the fields that say where a message goes."""
        place: dict[str, object] = {
            "channel": self.channel or self.user,
            "unfurl_links": False,
            "unfurl_media": False,
        }
        if self.thread:
            place["thread_ts"] = self.thread
        return place


@dataclass(frozen=True, slots=True)
class SlackMessage:
    """One message, with `buttons` below it. `gave_up`: a note is in place of the text."""

    part: SlackPart
    buttons: tuple[Button, ...] = ()
    gave_up: bool = False

    def params(self) -> dict[str, object]:
        """Return the fields of the message."""
        blocks = [*self.part.blocks]
        if self.buttons:
            if not blocks:
                plain = {"type": "plain_text", "text": self.part.text[:3_000], "emoji": False}
                blocks.append({"type": "section", "text": plain})
            keys = [
                {
                    "type": "button",
                    "action_id": f"command-{number}",
                    "text": {"type": "plain_text", "text": button.label[:_LABEL_CHARACTERS]},
                    "value": button.command,
                }
                for number, button in enumerate(self.buttons)
            ]
            blocks.append({"type": "actions", "elements": keys})
        text = make_notice(self.part.text) if blocks else escape_text(self.part.text)
        params: dict[str, object] = {"text": text, "mrkdwn": False}
        if blocks:
            params["blocks"] = blocks
        return params

    def repair(self, problem: SlackRejected) -> SlackMessage | None:
        """Return the message to try instead, None when nothing helps: without its styles and with
        its buttons in words, or a note in place of a text that is refused.
        """
        if problem.error not in _CONTENT_ERRORS or self.gave_up:
            return None
        if self.part.blocks or self.buttons:
            text = write_buttons(self.part.text, self.buttons, ABOUT.command_sign, is_plain=True)
            return replace(self, part=SlackPart(text), buttons=())
        note = SlackPart(find_texts(self.part.text).part_not_taken)
        return SlackMessage(note, gave_up=True)


@dataclass(frozen=True, slots=True)
class SlackFile:
    """A file below a reply. `instead`: what a chat reads that takes no files."""

    name: str
    content: bytes
    comment: str
    instead: str


SlackOutgoing = SlackMessage | SlackFile | AttachedFile


def make_parts(reply: Reply) -> list[SlackOutgoing]:
    """Return the messages and files of a reply."""
    text, buttons = take_buttons(reply, BUTTONS_MOST, ABOUT.command_sign)
    divided = divide_reply(
        text,
        MESSAGES_MOST,
        render_parts,
        lambda part: len(part.text),
        file_name=reply.file_name,
        draw=reply.draw,
    )
    parts: list[SlackOutgoing] = []
    for number, message in enumerate(divided.messages, 1):
        below = buttons if number == len(divided.messages) else ()
        parts.append(SlackMessage(message, below))
    for made in divided.files:
        parts.append(SlackFile(made.name, made.content, made.caption, made.instead))
    parts.extend(reply.files)
    return parts


def make_editable(text: str) -> dict[str, object]:
    """Return the fields of a message that can be changed later."""
    [part, *_] = render_parts(text, 1)
    return SlackMessage(part).params()


def make_attachment(attached: AttachedFile, text: str) -> SlackFile | SlackMessage:
    """Return a kept file as Slack gets it, or a note when it is gone; `text` is the reply that it
    belongs to.
    """
    texts = find_texts(text)
    try:
        body = attached.read()
    except UsageError:
        return SlackMessage(SlackPart(texts.file_is_gone.format(name=attached.name)))
    if not body:
        # Slack takes no file without a byte
        return SlackMessage(SlackPart(f"({attached.name}: 0 B)"))
    name = PurePath(clean_text(attached.name)).name or "file"
    return SlackFile(name, body, "", texts.no_picture)


class SlackSender:
    """Sends the parts of one reply to a chat, by the address of a command where there is one.

    `now` returns seconds since 1970.
    """

    def __init__(
        self, api: SlackApi, chat: SlackChat, to: SlackReplyAddress, now: Callable[[], float]
    ) -> None:
        self._api = api
        self._chat = chat
        self._to = to
        self._now = now
        self._responses = 0

    def send(self, part: SlackOutgoing, text: str, number: int) -> None:
        """Send the part with this number of the reply `text`. Errors as `SlackApi.call`."""
        ready = make_attachment(part, text) if isinstance(part, AttachedFile) else part
        if isinstance(ready, SlackFile):
            self._send_file(ready)
        else:
            self._send_message(ready, number)

    def _send_message(self, message: SlackMessage, number: int) -> None:
        while True:
            try:
                self._post(message, number)
            except SlackRejected as problem:
                repaired = message.repair(problem)
                if repaired is None:
                    raise
                message = repaired
            else:
                return

    def _post(self, message: SlackMessage, number: int) -> None:
        params = message.params()
        if self._may_respond(number):
            response = {"response_type": "in_channel", "replace_original": False}
            try:
                self._api.respond(self._to.url, params | response)
            except SlackRejected as problem:
                if problem.error in _CONTENT_ERRORS:
                    raise
                # the address is over before its time
                self._to = replace(self._to, url="")
            else:
                return
        self._api.call("chat.postMessage", params | self._chat.params())

    def _may_respond(self, number: int) -> bool:
        """Return whether the address of a command takes this part of the reply."""
        to = self._to
        return (
            bool(to.url)
            and number < _RESPONSE_OVER
            and self._now() < to.ends
            and self._api.trusts(to.url)
        )

    def _send_file(self, file: SlackFile) -> None:
        """Upload a file, or send what a chat that takes none reads instead."""
        try:
            self._upload(file)
        except SlackRejected:
            self._send_message(SlackMessage(SlackPart(file.instead)), _RESPONSE_OVER)
        except BackendError as problem:
            if "files:write" not in problem.suggestion:
                raise
            self._send_message(SlackMessage(SlackPart(file.instead)), _RESPONSE_OVER)

    def _upload(self, file: SlackFile) -> None:
        """https://docs.slack.dev/messaging/working-with-files#upload."""
        size = {"filename": file.name, "length": len(file.content)}
        place, _ = self._api.call("files.getUploadURLExternal", size)
        url = as_string(place.get("upload_url"))
        id = as_string(place.get("file_id"))
        self._api.upload(url, file.content)
        params: dict[str, object] = {
            "files": [{"id": id, "title": file.name}],
            "channel_id": self._find_channel(),
        }
        if self._chat.thread:
            params["thread_ts"] = self._chat.thread
        if file.comment:
            params["initial_comment"] = escape_text(file.comment)
        self._api.call("files.completeUploadExternal", params)

    def _find_channel(self) -> str:
        """Return the channel's id: a file takes no person's id instead, as a message does."""
        if self._chat.channel:
            return self._chat.channel
        if self._to.channel:
            return self._to.channel
        opened, _ = self._api.call("conversations.open", {"users": self._chat.user})
        return as_string(as_mapping(opened.get("channel")).get("id"))
