"""A schedule of a chat, whose time passes by one period after the other."""

from __future__ import annotations

import time
from typing import Any

from functions.agent.schedules.schedule import Schedule, Schedules
from functions.agent.schedules.tick import wake_agents
from functions.agent.schedules.when import When
from tests.functions.chats import Chats
from tests.functions.people import OWNER

BY = f"telegram:{OWNER}"


class Wakeups:
    """The schedules of a chat, whose time passes by one period after the other."""

    def __init__(self, chats: Chats, agent: str = "main", **fields: Any) -> None:
        self.chats = chats
        self.schedules = Schedules(chats.runtime.stores.kv, agent)
        self.now = round(time.time(), 3)
        given = {"session": BY, "by": BY, "since": self.now, "text": "look at the mail", **fields}
        when = When(kind="every", every=3600.0, zone="UTC")
        self.made = self.schedules.add(Schedule(id="", when=when, **given))[0]

    def run(self) -> Schedule:
        """Let the next time come, work on all that comes of it, and return the schedule."""
        self.now += 3600.0
        runtime = self.chats.runtime
        wake_agents(runtime.stores.kv, runtime.queue.put, "main", self.now)
        self.chats.work_off()
        found = self.schedules.find(self.made.id)
        assert found
        return found
