"""Slack as a channel.

Receiving needs no network, so httpx and the markdown parser are loaded only when something is sent.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace
from hashlib import sha256
from typing import TYPE_CHECKING
from urllib.parse import parse_qsl

import orjson

from functions.channels.about import name_variable
from functions.channels.base import Draft, PlatformAnswer, PlatformRequest, Received, Reply
from functions.channels.first_use import FirstUse
from functions.channels.known_people import KnownPeople, Profile
from functions.channels.platform_api.address import read_address
from functions.channels.slack.about import API
from functions.channels.slack.attachments import FILE_ID, INFO_MOST, is_untold, read_file
from functions.channels.slack.channel_names import ChannelNames
from functions.channels.slack.events import Bot, read_command, read_payload, read_press
from functions.channels.slack.incoming_text import (
    find_channels,
    find_mentions,
    name_channels,
    name_mentions,
    strip_mention,
)
from functions.channels.slack.quotes import USER, quote_first
from functions.channels.slack.reply_address import SlackReplyAddress
from functions.channels.slack.signature import TIMESTAMP, check_head, check_signature
from functions.channels.typed_commands import as_command
from functions.events import Event, Quote, Sender
from functions.overheard import OverheardMessage
from sigil.errors import BackendError, Refused, SigilError, UsageError, one_line
from sigil.json_fields import as_integer, as_mapping, as_sequence, as_string
from sigil.protocol import Json

if TYPE_CHECKING:
    from functions.channels.about import ChannelSettings
    from functions.channels.growing_messages import GrowingMessage, GrowingMessages
    from functions.channels.listening.sockets import Listener
    from functions.channels.platform_api.http_client import Transport
    from functions.channels.slack.answer_streams import SlackStream
    from functions.channels.slack.api import SlackApi
    from sigil.storage.kv import KV

BODY_MOST = 1 << 20
WAITING_TIMEOUT = 5.0
STATUS_SECONDS = 100.0
"""Slack shows a status for two minutes."""
ANSWERED_MOST = 1_000
THREADS_MOST = 10_000
MENTIONS_MOST = 10
"""So many people that a message names are asked for; the others keep their ids."""
CHANNELS_MOST = 5
"""So many channels that a message names are asked for; the others have no name."""
EYES = "eyes"
"""The reaction that says that an answer to a message is on its way."""
SCOPES = (
    "app_mentions:read",
    "channels:history",
    "channels:read",
    "chat:write",
    "commands",
    "files:read",
    "files:write",
    "groups:history",
    "groups:read",
    "im:history",
    "im:write",
    "mpim:history",
    "reactions:write",
    "users:read",
)
EMPTY = PlatformAnswer()
"""Slack shows what else it is answered to a command as a message."""
_TOKEN = re.compile(r"xoxb-[A-Za-z0-9-]{1,250}", re.ASCII)
_APP_TOKEN = re.compile(r"xapp-[A-Za-z0-9-]{1,250}", re.ASCII)
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{1,8}){0,4}")
_CHALLENGE_CHARACTERS = 1_000


class Slack:
    """One bot in one workspace.

    `token` names it to Slack (empty: it only receives), `secret` is what its app signs with
    (empty: every request is refused), `app_token` lets it listen (Socket Mode). `name` is the
    channel's, `agent` whose sessions its chats are. `transport` makes the HTTP transport (None:
    httpx's own), `now` returns seconds since 1970.
    `UsageError` when a token or `api` cannot be right.
    """

    def __init__(
        self,
        token: str,
        secret: str,
        api: str = API,
        agent: str = "main",
        name: str = "slack",
        *,
        app_token: str = "",
        transport: Transport | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        if token and not _TOKEN.fullmatch(token):
            raise UsageError("EINVAL", "SLACK_TOKEN is not of the form xoxb-…", source="slack")
        if app_token and not _APP_TOKEN.fullmatch(app_token):
            raise UsageError("EINVAL", "SLACK_APP_TOKEN is not of the form xapp-…", source="slack")
        self._token = token
        self._secret = secret
        self._app_token = app_token
        self._base = read_address(api, "SLACK_API", source="slack")
        self._bot = Bot(name, agent)
        self._transport = transport
        self._now = now
        self._lock = threading.Lock()
        self._api = FirstUse(self._open_api)
        self._own: tuple[str, str] | None = None
        self._people = KnownPeople(agent, now)
        self._channels = ChannelNames()
        self._answered: set[tuple[str, str]] = set()
        self._threads: dict[tuple[str, str], str] = {}
        self._kv: KV | None = None
        self._streams = FirstUse(self._make_streams)

    @property
    def body_most(self) -> int:
        """Return far more than Slack sends."""
        return BODY_MOST

    @property
    def api(self) -> SlackApi:
        """Return the Web API, opened at its first use."""
        if not self._token:
            raise BackendError(
                "EUNAVAILABLE",
                f"{name_variable(self._bot.name, 'token')} is not set",
                source="slack",
                suggestion="set it",
            )
        return self._api.get()

    def _open_api(self) -> SlackApi:
        from functions.channels.slack.api import SlackApi

        return SlackApi(self._base, self._token, self._transport)

    def use_store(self, kv: KV) -> None:
        """Keep there what Slack tells of people, and which answers are streamed."""
        self._people.use_store(kv)
        self._kv = kv

    def _make_streams(self) -> GrowingMessages:
        from functions.channels.growing_messages import GrowingMessages

        assert self._kv, "nothing grows without a store"
        return GrowingMessages(self._bot.agent, self._kv, self._now)

    def close(self) -> None:
        """Close what is open; a later request opens it again."""
        if opened := self._api.forget():
            opened.close()

    def verify_head(self, request: PlatformRequest) -> bool:
        """Refuse what is not signed, or was signed long ago; the body decides over all else."""
        if not self._secret:
            raise Refused(
                "EAUTH", f"{name_variable(self._bot.name, 'secret')} is not set", source="slack"
            )
        check_head(request.headers, self._now())
        return False

    def receive(self, request: PlatformRequest) -> Received:
        """Return what a request brings, or the answer to Slack's challenge."""
        self.verify_head(request)
        check_signature(self._secret, request.headers, request.body)
        kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind == "application/x-www-form-urlencoded":
            return self._receive_form(request)
        payload = _parse_json(request.body)
        if payload.get("type") == "url_verification":
            challenge = as_string(payload.get("challenge"))[:_CHALLENGE_CHARACTERS]
            answer = orjson.dumps({"challenge": challenge})
            return Received(answer=PlatformAnswer(body=answer))
        return replace(self._read_events(payload), answer=EMPTY)

    def _read_events(self, payload: Mapping[str, Json]) -> Received:
        """Return what the Events API tells of."""
        received = read_payload(payload, self._bot)
        overheard = tuple(map(self._name_overheard, received.overheard))
        return replace(received, overheard=overheard)

    def _receive_form(self, request: PlatformRequest) -> Received:
        """Return the event of a command or of a press of a button."""
        try:
            pairs = parse_qsl(request.body.decode(), keep_blank_values=True, max_num_fields=100)
        except ValueError:
            raise UsageError("EINVAL", "the form cannot be read", source="slack") from None
        form = dict(pairs)
        if "payload" in form:
            received = read_press(_parse_json(form["payload"].encode()), self._bot)
        elif form.get("ssl_check") == "1":
            received = Received()
        else:
            received = read_command(form, int(request.headers[TIMESTAMP]), self._bot)
        return replace(received, answer=EMPTY)

    @property
    def listened_bot(self) -> str:
        """Return a name of the app, made of its token."""
        return sha256(self._app_token.encode()).hexdigest()[:16] if self._app_token else ""

    def listen(self, listener: Listener) -> None:
        """Receive by Socket Mode."""
        from functions.channels.slack import socket_mode
        from functions.channels.slack.api import SlackApi

        with closing(SlackApi(self._base, self._app_token, self._transport)) as api:
            socket_mode.listen(listener, api, self._base, self._read_envelope)

    def _read_envelope(self, kind: str, payload: Mapping[str, Json]) -> Received:
        """Return what an envelope of Socket Mode brings."""
        if kind == "events_api":
            return self._read_events(payload)
        if kind == "interactive":
            return read_press(payload, self._bot)
        if kind == "slash_commands":
            form = {name: as_string(value) for name, value in payload.items()}
            return read_command(form, int(self._now()), self._bot)
        return Received(ignored=(kind,))

    def accept(self, event: Event) -> Event | None:
        """Return the event with the names of those who speak and who are named."""
        if event.addressed:
            own, name = self._fetch_own()
            if own not in event.addressed:
                return None
            shown = (name,) if event.joined else ()
            text = as_command(strip_mention(event.text, own) or event.text)
            event = replace(event, text=text, addressed=shown)
        first = self._quote_thread(event)
        if first:
            event = replace(event, quotes=(first, *event.quotes))
        event = self._ask_for_files(event)
        user = event.sender.id.rpartition(".")[2]
        said = "\n".join([event.text, *(quote.text for quote in event.quotes)])
        named = find_mentions(said)[:MENTIONS_MOST]
        people = self._find_people(event.sender.id, (user, *named))
        names = {id: people[id].name or id for id in named}
        channels: Mapping[str, str] = {}
        if unnamed := find_channels(said)[:CHANNELS_MOST]:
            channels = self._channels.find_all(lambda: self.api, unnamed)

        def name_all(text: str) -> str:
            return name_channels(name_mentions(text, names), channels)

        return replace(
            event,
            sender=Sender(event.sender.id, people[user].name or user),
            text=name_all(event.text),
            quotes=tuple(replace(quote, text=name_all(quote.text)) for quote in event.quotes),
            language=event.language or people[user].language,
        )

    def _ask_for_files(self, event: Event) -> Event:
        """Return the event with what Slack tells only when it is asked of files from another
        workspace. Of one that it does not tell of, nothing is known but that it is there.
        """
        files = (*event.attachments, *event.quoted_files)
        asked = list(filter(is_untold, files))[:INFO_MOST]
        if not asked:
            return event
        told: dict[str, Mapping[str, object]] = {}
        for id in dict.fromkeys(as_string(file["file_id"]) for file in asked):
            with suppress(SigilError):
                answer, _ = self.api.call("files.info", {"file": id}, timeout=WAITING_TIMEOUT)
                told[id] = {**read_file(as_mapping(answer.get("file")), id)}

        def fill(files: Sequence[Mapping[str, object]]) -> tuple[Mapping[str, object], ...]:
            return tuple(told.get(as_string(file["file_id"]), file) for file in files)

        quotes = [replace(quote, files=fill(quote.files)) for quote in event.quotes]
        return replace(event, attachments=fill(event.attachments), quotes=tuple(quotes))

    def _quote_thread(self, event: Event) -> Quote | None:
        """Return the message with which a thread begins, for the first message to us there that
        this process sees; None when Slack does not tell it. Of a person's own chat with us it is
        quoted only for its files: elsewhere such a thread begins with words that are known here.
        """
        to = SlackReplyAddress.decode(event.reply_to)
        thread = find_thread(event.session)
        if not thread or thread == to.time or not to.time:
            return None
        with self._lock:
            if len(self._threads) >= THREADS_MOST:
                self._threads.clear()
            if self._threads.setdefault((to.channel, thread), event.id) != event.id:
                return None
        place = {"channel": to.channel, "ts": thread, "limit": 1}
        try:
            answer, _ = self.api.call("conversations.replies", place, timeout=WAITING_TIMEOUT)
            own, _ = self._fetch_own()
        except SigilError:
            self._threads.pop((to.channel, thread), None)
            return None
        messages = as_sequence(answer.get("messages"))
        message = as_mapping(messages[0] if messages else None)
        user = as_string(message.get("user"))
        if message.get("ts") != thread:
            return None
        is_person = USER.fullmatch(user) and user != own and not message.get("bot_id")
        first = quote_first(message, ours=user == own)
        if first and event.private and not first.files:
            return None
        if first is None or not is_person:
            return first
        home = event.sender.id.rpartition(".")[0]
        author = self._find_people(event.sender.id, (user,))[user].name or user
        return replace(first, author=author, by=f"{home}.{user}")

    def send(self, reply: Reply, sent: Callable[[int], None]) -> None:
        """Send one message a part, then upload each picture and file.

        More than ten messages would be sent as nine, and the whole of it as a file.
        """
        from functions.channels.replies.reply_parts import list_unsent
        from functions.channels.slack import sending
        from functions.channels.slack.answer_streams import complete_stream

        to = SlackReplyAddress.decode(reply.to)
        chat = sending.SlackChat.parse(reply.session)
        parts = sending.make_parts(reply)
        sender = sending.SlackSender(self.api, chat, to, self._now)
        streamed = self._take_stream(reply)
        for number, part in list_unsent(parts, reply.start, sent):
            if number > 0 or not complete_stream(reply, part, streamed):
                sender.send(part, reply.words, number)
        if streamed:
            streamed.settle()
        # a stream that began before the status was shown again does not end it
        self._clear_signs(to, chat.thread, replied=streamed is None)

    def open_draft(self, event: Event) -> Draft | None:
        """Return the stream of the answer to an event in a thread."""
        place = self._find_stream(event.session, event.reply_to, event.sender.id)
        if place is None:
            return None
        from functions.channels.slack.answer_streams import FORM

        return self._streams.get().open(event.session, event.reply_to, place, FORM)

    def _find_stream(self, session: str, reply_to: str, sender: str = "") -> SlackStream | None:
        """Return where the answer to a message is streamed, None where it cannot be."""
        if self._kv is None or not find_thread(session):
            return None
        from functions.channels.slack.answer_streams import SlackStream

        return SlackStream.find(
            session, reply_to, lambda: self.api, lambda: self._fetch_own()[0], sender
        )

    def _take_stream(self, reply: Reply) -> GrowingMessage | None:
        """Return the stream that a reply ends, None where there is none."""
        place = self._find_stream(reply.session, reply.to)
        if place is None:
            return None
        from functions.channels.slack.answer_streams import FORM

        return self._streams.get().take(reply, place, FORM)

    def send_editable(self, session: str, text: str, key: str) -> str:
        """Call `chat.postMessage`; a message has its name within a channel."""
        from functions.channels.slack import sending

        chat = sending.SlackChat.parse(session)
        params = sending.make_editable(text) | chat.params()
        sent, _ = self.api.call("chat.postMessage", params, timeout=WAITING_TIMEOUT)
        return f"{as_string(sent.get('channel'))}/{as_string(sent.get('ts'))}"

    def edit(self, session: str, message: str, text: str) -> None:
        """Call `chat.update`."""
        from functions.channels.slack import sending

        channel, _, ts = message.partition("/")
        params = sending.make_editable(text) | {"channel": channel, "ts": ts}
        self.api.call("chat.update", params, timeout=WAITING_TIMEOUT)

    def fetch(self, attachment: Mapping[str, object], most: int) -> bytes:
        """Return a file that somebody sent."""
        id = as_string(attachment.get("file_id"))
        if not FILE_ID.fullmatch(id):
            raise UsageError("EINVAL", "that is no file of Slack", source="slack")
        answer, _ = self.api.call("files.info", {"file": id})
        file = as_mapping(answer.get("file"))
        if (as_integer(file.get("size"), 0) or 0) > most:
            raise UsageError("ETOOBIG", "the file is too large", source="slack")
        url = as_string(file.get("url_private_download")) or as_string(file.get("url_private"))
        return self.api.download(url, as_string(file.get("mimetype")), most)

    def show_waiting(self, event: Event) -> float:
        """Show a status in a thread, and a reaction on a message that stands in none."""
        thread = find_thread(event.session)
        to = SlackReplyAddress.decode(event.reply_to)
        if not (to.channel and to.time) or (to.channel, to.time) in self._answered:
            return 0.0
        with suppress(SigilError):
            if thread:
                self._set_status(to.channel, thread, "…")
            else:
                self._react("reactions.add", to)
        if (to.channel, to.time) in self._answered:
            # the answer was faster than the sign of it
            self._clear_signs(to, thread)
        return STATUS_SECONDS if thread else 0.0

    def end_waiting(self, event: Event) -> None:
        """Take the status or the reaction away, and what a crash has left of an answer."""
        self._clear_signs(SlackReplyAddress.decode(event.reply_to), find_thread(event.session))
        if event.reply_to and (place := self._find_stream(event.session, event.reply_to)):
            self._streams.get().end(event.session, event.reply_to, place)

    def acknowledge(self, event: Event) -> None:
        """Do nothing: the answer to Slack's request has ended the button's wait."""

    def fetch_bot_name(self) -> str:
        """Return the bot's own name; `BackendError` when Slack does not answer."""
        return self._fetch_own()[1]

    def list_missing_scopes(self) -> tuple[str, ...]:
        """Return the scopes that the app's token lacks; `BackendError` when Slack does not
        answer.
        """
        try:
            _, scopes = self.api.call("auth.test", {})
        except Refused as problem:
            raise BackendError("EUNAVAILABLE", problem.message, source="slack") from None
        granted = {scope.strip() for scope in scopes.split(",")}
        return tuple(scope for scope in SCOPES if scope not in granted)

    def _fetch_own(self) -> tuple[str, str]:
        """Return our own id and name; Slack is asked once.

        Two threads may both ask; the answer is the same.
        """
        if self._own is None:
            try:
                answer, _ = self.api.call("auth.test", {})
            except Refused as problem:
                raise BackendError("EUNAVAILABLE", problem.message, source="slack") from None
            self._own = (
                as_string(answer.get("user_id")),
                one_line(as_string(answer.get("user")), 100),
            )
        return self._own

    def _find_people(self, sender: str, users: Sequence[str]) -> dict[str, Profile]:
        """Return what is known of people by their ids in a workspace.

        Whoever a sender names is taken for a person of the sender's workspace until Slack says
        more.
        """
        home = sender.rpartition(".")[0]
        found = self._people.find_all(
            [f"{home}.{user}" for user in users],
            lambda who: self._fetch_profile(who, is_sender=who == sender),
        )
        return {user: found[f"{home}.{user}"] for user in users}

    def _fetch_profile(self, who: str, *, is_sender: bool) -> Profile:
        """Return what Slack tells of a person, nothing where nobody here knows them."""
        home, _, user = who.rpartition(".")
        params = {"user": user, "include_locale": True}
        try:
            answer, _ = self.api.call("users.info", params, timeout=WAITING_TIMEOUT)
        except Refused:
            return Profile(is_theirs=is_sender)  # a person of another workspace, or who left
        found = as_mapping(answer.get("user"))
        profile = as_mapping(found.get("profile"))
        names = (profile.get("display_name"), profile.get("real_name"), found.get("name"))
        name = next((text for text in map(as_string, names) if text.strip()), "")
        locale = as_string(found.get("locale"))
        is_theirs = is_sender or f"{self._bot.name}:{as_string(found.get('team_id'))}" == home
        return Profile(name, locale if _LANGUAGE.fullmatch(locale) else "", is_theirs)

    def _name_overheard(self, message: OverheardMessage) -> OverheardMessage:
        """Return what people said to each other with the names that are known already.

        Nobody is asked while Slack waits, and nobody is for what may never be read.
        """
        home, _, user = message.sender.id.rpartition(".")
        names: dict[str, str] = {}
        for id in (user, *find_mentions(message.text)):
            known = self._people.recall(f"{home}.{id}")
            if known and known.name:
                names[id] = known.name
        sender = Sender(message.sender.id, names.get(user, user))
        channels = {id: self._channels.recall(id) or "" for id in find_channels(message.text)}
        text = name_channels(name_mentions(message.text, names), channels)
        return replace(message, sender=sender, text=text)

    def _set_status(self, channel: str, thread: str, status: str) -> None:
        params = {"channel_id": channel, "thread_ts": thread, "status": status}
        self.api.call("assistant.threads.setStatus", params, timeout=WAITING_TIMEOUT)

    def _react(self, method: str, to: SlackReplyAddress) -> None:
        eyes = {"channel": to.channel, "timestamp": to.time, "name": EYES}
        self.api.call(method, eyes, timeout=WAITING_TIMEOUT)

    def _clear_signs(self, to: SlackReplyAddress, thread: str, *, replied: bool = False) -> None:
        """Take away what shows that an answer to a message is on its way.

        A reply in a thread does so by itself.
        """
        if not (to.channel and to.time):
            return
        with self._lock:
            if len(self._answered) >= ANSWERED_MOST:
                self._answered.clear()
            self._answered.add((to.channel, to.time))
        with suppress(SigilError):
            if not thread:
                self._react("reactions.remove", to)
            elif not replied:
                self._set_status(to.channel, thread, "")


def find_thread(session: str) -> str:
    """Return the thread of a session; empty when it has none."""
    return session.partition(":")[2].partition(":")[2]


def _parse_json(text: bytes) -> Mapping[str, Json]:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise UsageError("EINVAL", "the request is not JSON", source="slack") from None
    return as_mapping(value)


def open_channel(settings: ChannelSettings) -> Slack:
    """Open the bot that the settings describe."""
    return Slack(
        settings.reveal("token"),
        settings.reveal("secret"),
        settings["api"],
        settings.agent,
        settings.name,
        app_token=settings.reveal("app_token"),
    )
