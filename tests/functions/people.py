"""People who write to a served agent over the webhook, and what they get back."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from functions.agent.safety.call_facts import Fact
from functions.agent.safety.ladder import Counters
from functions.agent.safety.status import NoticeReader, SafetyStatus, write_notice
from tests.fakes.bot_api import BotApi
from tests.functions.serving import Served
from tests.machine import within

SECRET = "a-secret-of-the-webhook"
OWNER, GUEST, STRANGER = 42, 66, 77
GROUP = {"id": -100, "type": "supergroup"}
_NUMBERS = itertools.count(1)


NO_TOOL = Fact("no_such_tool", "", "ENOTOOL", "there is no such tool")


def sentence(name: str, fact: Fact = NO_TOOL, *, owner: bool = True, guest: bool = False) -> str:
    """Return the notice in a chat that does not go on, to its owner alone or to somebody else;
    `fact`: what failed last.
    """
    standing = SafetyStatus(reason=name, counters=Counters(failures=(fact,)))
    reader = NoticeReader(owner=owner and not guest, guest=guest, alone=True)
    return write_notice(standing, reader)


def reason(name: str, fact: Fact = NO_TOOL, *, owner: bool = False, guest: bool = False) -> str:
    """The same as a platform shows it, to somebody else unless `owner`."""
    return sentence(name, fact, owner=owner, guest=guest).replace("`", "")


def update(
    number: int, text: str, sender: int = 42, chat: dict[str, Any] | None = None, **message: Any
) -> dict[str, Any]:
    return {
        "update_id": number,
        "message": {
            "message_id": number,
            "date": 1_780_000_000 + number,
            "from": {"id": sender, "is_bot": False, "first_name": "Ada"},
            "chat": chat or {"id": sender, "type": "private"},
            "text": text,
            **message,
        },
    }


def post_update(
    server: Served, body: object, secret: str | None = SECRET, channel: str = "telegram"
) -> httpx.Response:
    headers = {"x-telegram-bot-api-secret-token": secret} if secret is not None else {}
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return server.post(f"/webhook/{channel}", content=content, headers=headers)


def private_platform(bot: BotApi) -> dict[str, Any]:
    """The settings of an agent that `OWNER` owns, who lets in whoever else talks to it."""
    return {
        "telegram_token": bot.token,
        "telegram_secret": SECRET,
        "telegram_api": bot.url,
        "owners": (f"telegram:{OWNER}",),
    }


def platform(bot: BotApi) -> dict[str, Any]:
    """The settings of an agent that everybody may talk to and that `OWNER` owns."""
    return {**private_platform(bot), "access": "open", "guest_turns": 0, "guest_tokens": 0}


@dataclass(frozen=True)
class Live:
    """A served agent, and the platform that its people sit at."""

    server: Served
    bot: BotApi

    def write(self, text: str, sender: int = OWNER, **message: Any) -> int:
        """Send it, into the sender's private chat unless `chat` says otherwise; the chat's id."""
        assert (
            post_update(self.server, update(next(_NUMBERS), text, sender, **message)).status_code
            == 200
        )
        return int(message.get("chat", {"id": sender})["id"])

    def list_texts(self, chat: int) -> list[str]:
        """Return the texts that the chat got so far."""
        with self.bot.changed:
            return [message["text"] for message in self.bot.messages if message["chat_id"] == chat]

    def replies(self, chat: int, count: int, seconds: float | None = None) -> list[str]:
        """Return the texts that the chat got, as soon as those are `count`."""
        self.until(lambda: len(self.list_texts(chat)) >= count, seconds)
        return self.list_texts(chat)

    def ask(
        self, text: str, sender: int = OWNER, seconds: float | None = None, **message: Any
    ) -> str:
        """The next reply in the chat that it is written to."""
        chat = message.get("chat", {"id": sender})["id"]
        before = len(self.list_texts(chat))
        self.write(text, sender, **message)
        return self.replies(chat, before + 1, seconds)[before]

    def until(self, holds: Callable[[], bool], seconds: float | None = None) -> None:
        """Return once `holds`, looked at whenever the platform is written to."""
        with self.bot.changed:
            assert self.bot.changed.wait_for(holds, seconds or within(20)), [
                message["text"] for message in self.bot.messages
            ]

    def status(self, chat: int = OWNER) -> dict[str, Any]:
        """Return what GET /status says of a chat."""
        answer = self.server.client.get("/status", params={"session": f"telegram:{chat}"})
        assert answer.status_code == 200, answer.text
        return dict(answer.json())

    def state(self, chat: int = OWNER) -> str:
        return str(self.status(chat)["state"])
