"""The gateway sends what happens over a websocket, ordinary messages too
(https://discord.com/developers/docs/events/gateway).

Discord numbers its events. Ours is the number up to which all of them are durable: after a broken
connection, or another start of the server, the session is resumed there, and Discord sends again
what came after it. A session that is over is replaced by a new one, of which Discord allows a
thousand a day.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import orjson

from functions.channels.base import Busy, Received
from functions.channels.discord.api import DiscordApi, DiscordRejected
from functions.channels.discord.application import MESSAGE_CONTENT_ADVICE
from functions.channels.discord.incoming_text import RecallName
from functions.channels.discord.interactions import read_interaction
from functions.channels.discord.messages import Reader, read_deletion, read_edit, read_message
from functions.channels.discord.reply_address import InteractionAddress, read_snowflake
from functions.channels.listening.sockets import (
    CannotListen,
    ConnectionLost,
    Listener,
    Message,
    Socket,
    is_own_socket,
)
from sigil.errors import BackendError, SigilError
from sigil.json_fields import as_integer, as_mapping, as_number, as_sequence, as_string
from sigil.protocol import Json
from sigil.storage.stored import Shape, Stored, dumps

Fields = Mapping[str, Json]
_DISPATCH, _HEARTBEAT, _IDENTIFY, _RESUME = 0, 1, 2, 6
_RECONNECT, _INVALID_SESSION, _HELLO, _HEARTBEAT_ACK = 7, 9, 10, 11
INTENTS: Final = 1 << 0 | 1 << 9 | 1 << 12 | 1 << 15
"""What we want to be told: of servers (and so of their threads), of messages in them, of private
messages, and what messages say.
"""
MESSAGE_BYTES: Final = 16 << 20
"""A large server is described in one message when a session begins."""
HELLO_SECONDS: Final = 20.0
BEATS: Final = (1.0, 300.0)
"""The pause between two heartbeats is one of these at least and at most, in seconds."""
INVALID_SECONDS: Final = (1.0, 5.0)
"""So long Discord wants us to wait after it found a session invalid."""
FEW: Final = 0.1
"""When a smaller part is left of the day's sessions, the rest is spread over the day."""
LEAVES_WITH: Final = 4000
"""Any other code than 1000 and 1001, so that a session can be resumed after we left."""
GUILDS_MOST: Final = 5_000
IDS_MOST: Final = 500
_QUIET: Final = (
    "APPLICATION_COMMAND_",
    "CHANNEL_",
    "GUILD_",
    "MESSAGE_REACTION_",
    "PRESENCE_",
    "STAGE_",
    "THREAD_",
    "TYPING_",
    "USER_",
    "VOICE_",
)
"""The names of events begin so to which nobody expects an answer: the state of servers, and what
people do beside writing.
"""
_SESSION_OVER: Final = (4003, 4007, 4009)
_TOKEN_ADVICE: Final = "check DISCORD_TOKEN: the developer portal, Bot, Reset Token"
_FATAL: Final = {
    4004: ("Discord does not know the bot's token", _TOKEN_ADVICE),
    4010: ("Discord refuses the shard", "report this"),
    4011: ("the bot is in too many servers for one connection", "shards are not supported"),
    4012: (
        "Discord has ended this version of its gateway",
        "upgrade: uncaged upgrade --to FILE.whl",
    ),
    4013: ("Discord refuses the intents", "report this"),
    4014: (
        "Discord does not let the bot read messages",
        MESSAGE_CONTENT_ADVICE,
    ),
}
"""The codes of a connection that Discord closes, which it would close again."""


@dataclass(frozen=True, slots=True)
class GatewaySession(Stored):
    """A session of the gateway. `url` is where it is resumed; `sequence` is the number of the last
    event that is durable.
    """

    id: str
    url: str
    sequence: int
    application: int
    user: int


_SESSION: Final = Shape[GatewaySession](GatewaySession)


class Gateway:
    """The gateway for the bot with a token, of the channel `name`. `base`: where the API is,
    `recall`: see `Reader`.
    """

    def __init__(
        self,
        api: DiscordApi,
        base: str,
        token: str,
        name: str,
        agent: str,
        *,
        recall: RecallName,
    ) -> None:
        self._api = api
        self._base = base
        self._token = token
        self._name = name
        self._agent = agent
        self._recall = recall
        self._session: GatewaySession | None = None
        self._saved: GatewaySession | None = None
        self._roles: dict[int, frozenset[int]] = {}
        self._next_session: float | None = None

    def listen(self, listener: Listener) -> None:
        """Receive over one connection, until Discord asks for another one."""
        self._session = self._saved = _read_session(listener.load_state())
        if self._session and not is_gateway(self._session.url, self._base):
            self._session = None
        url = self._session.url if self._session else self._find_url()
        address = f"{url.rstrip('/')}/?v=10&encoding=json"
        try:
            with listener.connect(address, MESSAGE_BYTES, leaves_with=LEAVES_WITH) as socket:
                self._converse(listener, socket)
        except ConnectionLost as problem:
            if problem.closed_with in _FATAL:
                message, advice = _FATAL[problem.closed_with]
                raise CannotListen(message, source=self._name, suggestion=advice) from None
            if problem.closed_with in _SESSION_OVER or problem.is_too_large:
                # the same session would bring the same again
                self._session = None
            raise
        finally:
            self._save(listener)

    def _find_url(self) -> str:
        """Return where a new session begins; `Busy` when Discord allows none now."""
        try:
            told = as_mapping(self._api.call("GET", "/gateway/bot"))
        except DiscordRejected as problem:
            raise BackendError("EUNAVAILABLE", problem.message, source=self._name) from None
        except BackendError as problem:
            if problem.suggestion:  # the token is wrong
                raise CannotListen(
                    _FATAL[4004][0], source=self._name, suggestion=problem.suggestion
                ) from None
            raise
        self._spare_sessions(as_mapping(told.get("session_start_limit")))
        url = as_string(told.get("url"))
        if not is_gateway(url, self._base):
            raise BackendError(
                "EUNAVAILABLE", "Discord names a gateway that is not its own", source=self._name
            )
        return url

    def _spare_sessions(self, limit: Fields) -> None:
        """Raise `Busy` when no session may begin now: with none left Discord would take the bot's
        token away.
        """
        total = as_integer(limit.get("total"), 1) or 0
        left = as_integer(limit.get("remaining"), 0)
        if left is None or left >= total * FEW:
            self._next_session = None
            return
        resets_in = min(max(as_number(limit.get("reset_after")) / 1000, 1.0), 86_400.0)
        now = time.monotonic()
        if left and self._next_session is None:
            self._next_session = now + resets_in / left
        begins = self._next_session if left and self._next_session else now + resets_in
        if now < begins:
            raise Busy(
                f"Discord lets this bot begin {left} more sessions today",
                source=self._name,
                retry_after=begins - now,
            )
        self._next_session = None

    def _converse(self, listener: Listener, socket: Socket) -> None:
        """Resume the session or begin one, and receive its events."""
        interval = self._await_hello(socket)
        socket.send(self._introduce())
        beat = time.monotonic() + interval * random.random()
        is_answered = True
        while True:
            now = time.monotonic()
            if now >= beat:
                if not is_answered:
                    raise ConnectionLost("Discord answers no heartbeats", source=self._name)
                self._save(listener)
                socket.send(self._make_heartbeat())
                is_answered = False
                beat = now + interval
            message = socket.receive(beat - now)
            if message is None:
                continue
            frame = _parse(message)
            kind = frame.get("op")
            if kind == _DISPATCH:
                self._dispatch(listener, frame)
            elif kind == _HEARTBEAT:
                socket.send(self._make_heartbeat())
            elif kind == _HEARTBEAT_ACK:
                is_answered = True
            elif kind == _RECONNECT:
                return
            elif kind == _INVALID_SESSION:
                if frame.get("d") is not True:
                    self._session = None
                socket.receive(random.uniform(*INVALID_SECONDS))
                return
            else:
                listener.note_unreadable("it is no frame of the gateway")

    def _await_hello(self, socket: Socket) -> float:
        """Return the seconds between two heartbeats, from the first message."""
        frame = _parse(socket.receive(HELLO_SECONDS) or "")
        interval = as_number(as_mapping(frame.get("d")).get("heartbeat_interval")) / 1000
        if frame.get("op") != _HELLO or interval <= 0:
            raise ConnectionLost("the gateway says no hello", source=self._name)
        return min(max(interval, BEATS[0]), BEATS[1])

    def _introduce(self) -> str:
        """Return the message that resumes the session, or begins one."""
        if self._session:
            fields: dict[str, object] = {
                "token": self._token,
                "session_id": self._session.id,
                "seq": self._session.sequence,
            }
            return _write(_RESUME, fields)
        properties = {"os": sys.platform, "browser": "uncaged", "device": "uncaged"}
        fields = {"token": self._token, "intents": INTENTS, "properties": properties}
        return _write(_IDENTIFY, fields)

    def _make_heartbeat(self) -> str:
        return _write(_HEARTBEAT, self._session.sequence if self._session else None)

    def _dispatch(self, listener: Listener, frame: Fields) -> None:
        """Make an event durable; then its number counts."""
        kind = frame.get("t")
        data = as_mapping(frame.get("d"))
        number = as_integer(frame.get("s"), 0) or 0
        if kind == "READY":
            self._session = self._read_ready(data, number)
            self._save(listener)
            listener.note_listening()
            return
        session = self._session
        if session is None:
            return  # it tells us who we are first
        if kind == "RESUMED":
            listener.note_listening()
        elif kind == "MESSAGE_CREATE":
            listener.put(lambda: self._read_message(data, session))
        elif kind == "MESSAGE_UPDATE":
            listener.put(lambda: self._read_message(data, session, read_edit))
        elif kind in ("MESSAGE_DELETE", "MESSAGE_DELETE_BULK"):
            listener.put(lambda: read_deletion(data, self._make_reader(session), time.time()))
        elif kind == "INTERACTION_CREATE":
            self._take_interaction(listener, data)
        elif kind == "GUILD_MEMBER_UPDATE":
            self._note_roles(data, session)
        elif isinstance(kind, str) and not kind.startswith(_QUIET):
            ignored = Received(ignored=(kind,))
            listener.put(lambda: ignored)
        self._session = replace(session, sequence=max(number, session.sequence))

    def _read_ready(self, data: Fields, number: int) -> GatewaySession:
        """Return the session that has begun."""
        application = read_snowflake(as_mapping(data.get("application")).get("id"))
        user = read_snowflake(as_mapping(data.get("user")).get("id"))
        id = as_string(data.get("session_id"))
        if application is None or user is None or not id:
            raise ConnectionLost("the gateway does not tell who we are", source=self._name)
        url = as_string(data.get("resume_gateway_url"))
        return GatewaySession(id, url, number, application.number, user.number)

    def _read_message(
        self,
        message: Fields,
        session: GatewaySession,
        read: Callable[[Fields, Reader, Collection[int]], Received] = read_message,
    ) -> Received:
        return read(message, self._make_reader(session), self._find_own_roles(message, session))

    def _make_reader(self, session: GatewaySession) -> Reader:
        return Reader(self._name, self._agent, session.application, session.user, self._recall)

    def _take_interaction(self, listener: Listener, interaction: Fields) -> None:
        """Put the event of an interaction, and answer as the webhook would."""
        body = orjson.dumps(interaction)
        received = listener.put(lambda: read_interaction(body, self._name, self._agent))
        address = InteractionAddress.read(interaction)
        if received and address:
            # it was answered already when it comes once more, and its reply finds its way
            with suppress(SigilError):
                self._api.answer_first(address, orjson.loads(received.answer.body))

    def _find_own_roles(self, message: Fields, session: GatewaySession) -> frozenset[int]:
        """Return the roles that a message mentions and we have.

        People who type the bot's name are often offered the role of the same name.
        """
        guild = read_snowflake(message.get("guild_id"))
        mentioned = _read_ids(message.get("mention_roles"))
        if guild is None or not mentioned:
            return frozenset()
        if guild.number not in self._roles:
            try:
                path = f"/guilds/{guild.number}/members/{session.user}"
                member = as_mapping(self._api.call("GET", path))
            except SigilError:
                return frozenset()
            self._keep_roles(guild.number, member)
        return mentioned & self._roles[guild.number]

    def _note_roles(self, member: Fields, session: GatewaySession) -> None:
        """Keep the roles that we have in a server from now on."""
        user = read_snowflake(as_mapping(member.get("user")).get("id"))
        guild = read_snowflake(member.get("guild_id"))
        if guild and user and user.number == session.user:
            self._keep_roles(guild.number, member)

    def _keep_roles(self, guild: int, member: Fields) -> None:
        if len(self._roles) >= GUILDS_MOST:
            self._roles.clear()
        self._roles[guild] = _read_ids(member.get("roles"))

    def _save(self, listener: Listener) -> None:
        """Keep the session over the end of this process."""
        if self._session != self._saved:
            listener.save_state(dumps(self._session) if self._session else b"")
            self._saved = self._session


def is_gateway(url: str, base: str) -> bool:
    """Return whether a url that Discord tells is one of its gateway's."""
    return "?" not in url and is_own_socket(url, base, (".discord.com",), (".discord.gg",))


def _read_session(state: bytes | None) -> GatewaySession | None:
    """Return the session that was saved; None when there is none, or none that can be read."""
    if not state:
        return None
    with suppress(ValueError, SigilError):
        return _SESSION.read(state)
    return None


def _parse(message: Message) -> Fields:
    """Return a frame, empty for what is none."""
    with suppress(orjson.JSONDecodeError):
        return as_mapping(orjson.loads(message))
    return {}


def _write(kind: int, data: object) -> str:
    return orjson.dumps({"op": kind, "d": data}).decode()


def _read_ids(value: Json) -> frozenset[int]:
    found = map(read_snowflake, as_sequence(value)[:IDS_MOST])
    return frozenset(id.number for id in found if id)
