"""Discord's gateway as a local server: it checks what the gateway checks, keeps sessions, and sends
again what came after the number with which a session is resumed.

`with DiscordServer() as discord, DiscordGateway(discord) as gateway: …`
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Self
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed
from websockets.sync.server import ServerConnection

from tests.fakes.discord import APPLICATION, DiscordServer, make_user
from tests.fakes.server import Answer, Recorded, json_answer
from tests.fakes.websocket_server import WebsocketServer

BOT = 880000000000000009
PRIVILEGED = {1 << 1: "members", 1 << 8: "presences", 1 << 15: "content"}
ALL_INTENTS = (1 << 26) - 1


@dataclass(slots=True)
class Session:
    """A session, with all that was dispatched in it."""

    id: str
    intents: int
    events: list[dict[str, Any]] = field(default_factory=list)


class DiscordGateway(WebsocketServer):
    """`interval` is that of heartbeats, in ms; `answers_beats`: whether they are acknowledged.

    `switched_on`: the privileged intents that the owner has switched on. `remaining`: how many
    sessions may begin today. `roles`: those of the bot, by server. `sends_again`: after a number
    that a bot resumes with, what came after this one is sent nevertheless.
    """

    def __init__(self, discord: DiscordServer) -> None:
        super().__init__()
        self.discord = discord
        self.interval: Any = 45_000
        self.answers_beats = True
        self.switched_on = {"content"}
        self.total, self.remaining, self.reset_after = 1000, 1000, 3_600_000
        self.told_url: str | None = None
        self.resume_url: str | None = None
        self.roles: dict[int, list[int]] = {}
        self.sends_again: int | None = None
        self.sessions: dict[str, Session] = {}
        self.current: Session | None = None
        self._ready: ServerConnection | None = None
        self._numbers = itertools.count(1)
        discord.gateway = self

    def __enter__(self) -> Self:
        super().__enter__()
        return self

    def answer(self, request: Recorded, path: str) -> Answer | None:
        """The answer of the API to what concerns the gateway."""
        if path == "/gateway/bot":
            limit = {
                "total": self.total,
                "remaining": self.remaining,
                "reset_after": self.reset_after,
                "max_concurrency": 1,
            }
            url = self.told_url or self.url
            return json_answer({"url": url, "shards": 1, "session_start_limit": limit})
        steps = path.strip("/").split("/")
        if steps[0] == "guilds" and steps[2:] == ["members", str(BOT)]:
            roles = self.roles.get(int(steps[1]))
            if roles is not None:
                return json_answer({"user": {"id": str(BOT)}, "roles": [str(id) for id in roles]})
        return None

    # ---- for tests

    def emit(self, kind: str, data: Mapping[str, Any], session: Session | None = None) -> None:
        """Dispatch an event; it waits when nobody is connected."""
        current = session or self.current
        assert current
        with self.changed:
            event = {"op": 0, "t": kind, "s": len(current.events) + 1, "d": data}
            current.events.append(event)
            if self._ready and current is self.current:
                with suppress(ConnectionClosed):
                    self._ready.send(json.dumps(event))

    def message(
        self,
        text: str,
        *,
        user: int = 42,
        called: str = "Ada",
        channel: int = 5,
        guild: int = 0,
        mentions: tuple[int, ...] = (),
        **fields: Any,
    ) -> dict[str, Any]:
        """A message of a person, in a channel of a server or in the private chat with the bot."""
        person = make_user(user, called.lower(), called)
        made: dict[str, Any] = {
            "id": str(self.discord.snowflake()),
            "channel_id": str(channel),
            "channel_type": 0 if guild else 1,
            "author": person,
            "content": text,
            "timestamp": "2026-11-28T10:00:00.000000+00:00",
            "type": 0,
            "flags": 0,
            "edited_timestamp": None,
            "tts": False,
            "pinned": False,
            "mention_everyone": False,
            "mentions": [
                make_user(id, "sigil" if id == BOT else f"user{id}", bot=id == BOT)
                for id in mentions
            ],
            "mention_roles": [],
            "attachments": [],
            "embeds": [],
        }
        if guild:
            made |= {"guild_id": str(guild), "member": {"nick": None, "roles": []}}
        return made | fields

    def say(self, text: str, **fields: Any) -> dict[str, Any]:
        """Let a person write a message, and return it."""
        made = self.message(text, **fields)
        self.emit("MESSAGE_CREATE", made)
        return made

    def send(self, message: object) -> None:
        """Send a frame as it is, which need not be one of the gateway."""
        assert self.live
        raw = message if isinstance(message, str | bytes) else json.dumps(message)
        self.live.send(raw)

    def close(self, code: int) -> None:
        """Close the connection."""
        assert self.live
        self.live.close(code)

    def of_kind(self, kind: int) -> list[Any]:
        """The frames of an opcode that came."""
        return [frame["d"] for frame in list(self.frames) if frame["op"] == kind]

    def wait_for_session(self, count: int = 1) -> None:
        """Wait until so many sessions have begun."""
        self.wait_until(lambda: len(self.sessions) >= count, f"{count} sessions")

    # ---- the server

    def converse(self, connection: ServerConnection) -> None:
        assert connection.request
        query = parse_qs(urlsplit(connection.request.path).query)
        assert query == {"v": ["10"], "encoding": ["json"]}, query
        session: Session | None = None
        connection.send(json.dumps({"op": 10, "d": {"heartbeat_interval": self.interval}}))
        try:
            for message in connection:
                if len(message) > 4096:
                    connection.close(4002)
                frame = self.record(message)
                kind, data = frame["op"], frame["d"]
                if kind == 1:
                    last = len(session.events) if session else 0
                    assert data is None or (type(data) is int and 0 <= data <= last), data
                    if self.answers_beats:
                        connection.send(json.dumps({"op": 11}))
                elif kind == 2 and session is None:
                    session = self._identify(connection, data)
                elif kind == 6 and session is None:
                    session = self._resume(connection, data)
                else:
                    connection.close(4005 if session else 4003)
        finally:
            with self.changed:
                if self._ready is connection:
                    self._ready = None
            received = connection.protocol.close_rcvd
            if session and received and received.code in (1000, 1001):
                self.sessions.pop(session.id, None)

    def _identify(self, connection: ServerConnection, data: Any) -> Session | None:
        with self.changed:
            assert self.remaining > 0, "the bot's token is taken away"
            self.remaining -= 1
        if data["token"] != self.discord.token:
            connection.close(4004, "Authentication failed.")
            return None
        intents = data["intents"]
        if type(intents) is not int or intents & ~ALL_INTENTS:
            connection.close(4013, "Invalid intent(s).")
            return None
        for bit, name in PRIVILEGED.items():
            if intents & bit and name not in self.switched_on:
                connection.close(4014, "Disallowed intent(s).")
                return None
        assert set(data["properties"]) == {"os", "browser", "device"}
        session = Session(f"session-{next(self._numbers)}", intents)
        ready = {
            "v": 10,
            "user": make_user(BOT, "sigil", bot=True),
            "application": {"id": str(APPLICATION), "flags": 0},
            "session_id": session.id,
            "resume_gateway_url": self.resume_url or self.url,
            "guilds": [{"id": "900", "unavailable": True}],
        }
        with self.changed:
            self.sessions[session.id] = session
            self.current, self._ready = session, connection
            self.emit("READY", ready)
            self.emit("GUILD_CREATE", {"id": "900", "name": "house", "roles": []})
            self.changed.notify_all()
        return session

    def _resume(self, connection: ServerConnection, data: Any) -> Session | None:
        assert data["token"] == self.discord.token
        session = self.sessions.get(data["session_id"])
        if session is None:
            connection.send(json.dumps({"op": 9, "d": False}))
            return None
        if data["seq"] > len(session.events):
            connection.close(4007)
            return None
        with self.changed:
            with suppress(ConnectionClosed):
                known = data["seq"]
                if self.sends_again is not None:
                    known = min(known, self.sends_again)
                for event in session.events[known:]:
                    connection.send(json.dumps(event))
            self.current, self._ready = session, connection
            self.emit("RESUMED", {})
        return session
