"""Answers that are streamed into a thread (https://docs.slack.dev/reference/methods/chat.startStream).

A stream can only be added to, in Slack's own markdown. So the answer ends it with what is left, and
then gives the message the same blocks as a message that is sent at once. While a stream is open,
Slack lets its message neither be changed nor be deleted, and it ends by itself after some minutes.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from functions.channels.base import Busy, Reply
from functions.channels.drafts import DraftForm
from functions.channels.render.pictures import take_pictures
from functions.channels.render.slack import write_stream
from functions.channels.slack.reply_address import SlackReplyAddress
from functions.channels.slack.sending import SlackChat, SlackMessage, SlackOutgoing
from sigil.errors import UsageError
from sigil.json_fields import as_mapping, as_sequence, as_string

if TYPE_CHECKING:
    from functions.channels.growing_messages import GrowingMessage, GrowingNote
    from functions.channels.slack.api import SlackApi

FORM: Final = DraftForm(pace=1.0, characters=3_600, is_replaced=True, only_grows=True)
"""What a message of an answer has room for; Slack takes 100 additions a minute."""
TIMEOUT: Final = 5.0
APPENDED_MOST: Final = 12_000
"""Characters that a stream takes at once."""
LOOKED_AT_MOST: Final = 50
_NOT_STREAMING: Final = "message_not_in_streaming_state"
_STREAMED: Final = "completed"


@dataclass(frozen=True, slots=True)
class SlackStream:
    """The place of an answer in a `thread` of a `channel`, to the `user` of a `team` (both empty
    where nobody has to be named).

    `find_own` returns our own id.
    """

    open_api: Callable[[], SlackApi]
    find_own: Callable[[], str]
    channel: str
    thread: str
    user: str = ""
    team: str = ""

    @classmethod
    def find(
        cls,
        session: str,
        reply_to: str,
        open_api: Callable[[], SlackApi],
        find_own: Callable[[], str],
        sender: str = "",
    ) -> SlackStream | None:
        """Return the place of the answer to a message, None where no stream can be: Slack has them
        in threads alone, and in a channel for a person whose workspace is known.
        """
        to = SlackReplyAddress.decode(reply_to)
        try:
            chat = SlackChat.parse(session)
        except UsageError:
            return None
        if not (chat.thread and to.channel and to.time) or to.url:
            return None
        if chat.user or not sender:
            return cls(open_api, find_own, to.channel, chat.thread)
        team, _, user = sender.partition(":")[2].partition(".")
        if not team.startswith("T") or not user:
            return None
        return cls(open_api, find_own, to.channel, chat.thread, user, team)

    @property
    def takes_over(self) -> bool:
        """Return False: a stream that ended by itself looks broken until it is changed."""
        return False

    def prepare(self, text: str) -> str:
        """Return nothing: Slack names a message when it is there."""
        return ""

    def begin(self, name: str, text: str) -> str:
        """Start the stream, and return the time of its message."""
        params: dict[str, object] = {
            "channel": self.channel,
            "thread_ts": self.thread,
            "markdown_text": write_stream(text)[:APPENDED_MOST],
        }
        if self.user:
            params |= {"recipient_user_id": self.user, "recipient_team_id": self.team}
        answer, _ = self.open_api().call("chat.startStream", params, timeout=TIMEOUT)
        return as_string(answer.get("ts"))

    def continues(self, shown: str, text: str) -> bool:
        """Return whether the text only has more than what was shown."""
        return text.startswith(shown)

    def grow(self, name: str, shown: str, text: str) -> None:
        """Append what is new."""
        from functions.channels.slack.api import SlackRejected

        params = self._point_at(name)
        params["markdown_text"] = write_stream(text)[len(write_stream(shown)) :]
        try:
            self.open_api().call("chat.appendStream", params, timeout=TIMEOUT)
        except SlackRejected as problem:
            if problem.error == _NOT_STREAMING:
                raise Busy("Slack has ended the stream", source="slack") from None
            raise

    def remove(self, note: GrowingNote) -> bool:
        """Delete the message."""
        from functions.channels.slack.api import SlackRejected

        api = self.open_api()
        with suppress(SlackRejected):
            api.call("chat.stopStream", self._point_at(note.name), timeout=TIMEOUT)
        try:
            api.call("chat.delete", self._point_at(note.name), timeout=TIMEOUT)
        except SlackRejected as problem:
            if problem.error != "message_not_found":
                raise
        return True

    def look_for(self, note: GrowingNote) -> str:
        """Return the time of a message of ours below the one that is answered whose stream did not
        come to its end; empty where there is none.
        """
        place = {
            "channel": self.channel,
            "ts": self.thread,
            "oldest": SlackReplyAddress.decode(note.message).time,
            "limit": LOOKED_AT_MOST,
        }
        answer, _ = self.open_api().call("conversations.replies", place, timeout=TIMEOUT)
        own = self.find_own()
        for message in map(as_mapping, as_sequence(answer.get("messages"))):
            state = as_string(message.get("streaming_state"))
            if state not in ("", _STREAMED) and message.get("user") == own:
                return as_string(message.get("ts"))
        return ""

    def complete(
        self, note: GrowingNote, shown: str | None, rest_of: str, message: SlackMessage
    ) -> None:
        """End the stream with the rest of a text that goes on from what it shows (empty: with
        nothing), and give it the blocks of the message.
        """
        from functions.channels.slack.api import SlackRejected

        api = self.open_api()
        params = self._point_at(note.name)
        if shown is not None and rest_of.startswith(shown) and rest_of != shown:
            params["markdown_text"] = write_stream(rest_of)[len(write_stream(shown)) :]
        try:
            api.call("chat.stopStream", params)
        except SlackRejected as problem:
            if problem.error != _NOT_STREAMING:
                raise
        api.call("chat.update", self._point_at(note.name) | message.params())

    def _point_at(self, name: str) -> dict[str, object]:
        return {"channel": self.channel, "ts": name}


def complete_stream(reply: Reply, part: SlackOutgoing, growing: GrowingMessage | None) -> bool:
    """Let the first part of a reply end the stream, and return whether it has left by that."""
    place = growing.place if growing else None
    if not growing or not isinstance(part, SlackMessage) or not isinstance(place, SlackStream):
        return False
    visible = take_pictures(reply.text)[0].strip()
    # what follows in other messages is none of this one
    rest_of = visible if len(visible) <= FORM.characters else ""
    return growing.complete(
        reply.key, lambda note, shown: place.complete(note, shown, rest_of, part)
    )
