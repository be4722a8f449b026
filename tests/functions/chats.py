"""An agent on a platform whose events are worked off one by one, in this process."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import orjson

from functions import worker
from functions.agent.session.document import Document
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.functions.people import OWNER, update


@dataclass(frozen=True)
class Chats:
    """An agent on a platform, whose events are worked off one by one."""

    runtime: AgentRuntime
    bot: BotApi

    def write(self, number: int, text: str, sender: int = OWNER, **message: Any) -> None:
        body = orjson.dumps(update(number, text, sender, **message))
        for event in self.runtime.channels["telegram"].read_update(body).events:
            self.runtime.queue.put(event)

    def take_next(self) -> str:
        """Work on the next event, of a chat or of the agent's own, and return its number; empty
        when nothing waits.
        """
        for side in filter(None, (self.runtime.queue, self.runtime.work)):
            delivery = side.take(0.0)
            if delivery:
                worker.process(delivery, replace(self.runtime, queue=side))
                return delivery.event.id.rpartition(":")[2]
        return ""

    def work_off(self) -> list[str]:
        return list(iter(self.take_next, ""))

    def document(self, chat: int = OWNER) -> Document:
        session = keys.session_of("main", f"telegram:{chat}")
        return self.runtime.app.sessions.open(session).document

    def list_history(self, chat: int = OWNER) -> list[str]:
        return [message.content for message in self.document(chat).messages]

    def list_texts(self) -> list[str]:
        return [message["text"] for message in self.bot.messages]
