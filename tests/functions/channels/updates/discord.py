"""Discord's updates: a sample is an `interaction`, sent to the webhook, or what the gateway
dispatches (`t`, `d`), whose messages need not tell who writes where. A message's id is counted from
when the platform was opened.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from functions.channels.base import PlatformRequest
from functions.channels.discord.channel import Discord
from functions.channels.discord.gateway import GatewaySession
from functions.ingress.socket_listener import ListenedBot, SocketListener
from functions.wiring import AgentRuntime
from sigil.storage.stored import dumps
from tests.fakes.discord import APPLICATION, DiscordServer, make_user, open_discord
from tests.functions.channels.updates.platform import PICTURE, Door

OWNER, BOT = 42, 9
HELLO = {"op": 10, "d": {"heartbeat_interval": 45_000}}
RECONNECT = {"op": 7}
SESSION = GatewaySession("s1", "ws://127.0.0.1:1", 1, APPLICATION, BOT)


class ScriptedSocket:
    """A connection by which these frames come."""

    def __init__(self, frames: Iterable[object]) -> None:
        self._frames = iter(frames)

    def receive(self, seconds: float) -> str:
        return json.dumps(next(self._frames))

    def send(self, message: object) -> None: ...


class ScriptedListener(SocketListener):
    """A listener whose connection is scripted, and all of it but that is real."""

    def __init__(self, bot: ListenedBot, runtime: AgentRuntime, frames: Iterable[object]) -> None:
        super().__init__(bot, runtime)
        self._frames = frames

    @contextmanager
    def connect(
        self, url: str, most: int, *, pings: bool = False, leaves_with: int = 1000
    ) -> Iterator[ScriptedSocket]:
        yield ScriptedSocket(self._frames)

    def load_state(self) -> bytes:
        return dumps(SESSION)


class DiscordUpdates:
    def __init__(self, discord: DiscordServer) -> None:
        self._discord = discord
        self.files = discord.files
        self._said: list[str] = []
        self._first = discord.snowflake()
        self.settings = {
            "discord_token": discord.token,
            "discord_public_key": discord.public_key,
            "discord_api": discord.url,
            "owners": (f"discord:{OWNER}",),
            "access": "open",
            "guest_turns": 0,
            "guest_tokens": 0,
        }

    def deliver(self, sample: Any, door: Door, runtime: AgentRuntime) -> None:
        if "t" in sample:
            self._dispatch(sample, runtime)
            return
        interaction = sample
        if sample["type"] not in (0, 1):
            kind = sample["type"]
            around = self._discord.interact(sample.get("data", {}), kind=kind, user=OWNER)
            interaction = around | sample
        body = json.dumps(interaction).encode()
        answer = door.send(PlatformRequest(self._discord.sign(body), body))
        assert answer.status < 300, answer
        if sample["type"] not in (0, 1):
            self._discord.take_answer(interaction, answer.status, answer.body)

    def _dispatch(self, sample: Any, runtime: AgentRuntime) -> None:
        """Let the gateway tell of something in a session that is resumed."""
        data = sample["d"]
        if sample["t"].startswith("MESSAGE_") and "id" in data:
            data = data | {"id": str(self._first + int(data["id"]))}
        if sample["t"] in ("MESSAGE_CREATE", "MESSAGE_UPDATE"):
            around = {
                "id": str(self._discord.snowflake()),
                "channel_id": "5",
                "channel_type": 0 if "guild_id" in data else 1,
                "type": 0,
                "content": "",
                "author": make_user(OWNER, "ada", "Ada"),
            }
            data = around | data
            if data.get("edited_timestamp"):
                data["edited_timestamp"] = datetime.now(UTC).isoformat()
        channel = open_discord(self._discord)
        frames = (HELLO, {"op": 0, "t": sample["t"], "s": 2, "d": data}, RECONNECT)
        channel.listen(ScriptedListener(ListenedBot("discord", channel), runtime, frames))
        channel.close()

    def list_said(self) -> list[str]:
        # the fake tells them in no order
        self._said += (Counter(self._discord.texts()) - Counter(self._said)).elements()
        return list(self._said)


@contextmanager
def open_platform() -> Iterator[DiscordUpdates]:
    with DiscordServer() as discord, pytest.MonkeyPatch.context() as patch:
        discord.files["attachments/1/2/a.png"] = PICTURE
        # the API's address says nothing of that of the files
        patch.setitem(Discord.__init__.__kwdefaults__, "files", discord.url)
        yield DiscordUpdates(discord)
