"""The schedules of one chat, of whichever agents: those of an agent that answered there before go
on to speak there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from functions.agent.agents.record import join_name, scan_agents
from functions.agent.schedules.schedule import Schedule, Schedules, list_agents_of_chat, tell_nobody
from sigil.storage.kv import KV


@dataclass(frozen=True, slots=True)
class ChatSchedule:
    """A schedule of a chat among the `schedules` of the agent that it belongs to, whose short name
    is `agent`; empty for the one that answers.
    """

    schedules: Schedules
    schedule: Schedule
    agent: str = ""


def list_everywhere(
    kv: KV, root: str, moved: Callable[[], None] = tell_nobody
) -> list[ChatSchedule]:
    """Return what is scheduled in all chats, of a root and of all agents below it, by person."""
    found = []
    for name in (root, *(join_name(root, each) for each, _ in scan_agents(kv, root))):
        schedules = Schedules(kv, name, moved)
        short = "" if name == root else name.rpartition(".")[2]
        found += [ChatSchedule(schedules, each, short) for each in schedules.list_of_chat()]
    return sorted(found, key=lambda each: (each.schedule.by, each.schedule.session))


class ChatSchedules:
    """The schedules of all agents whose home is one chat.

    `agent` is the full name of the one that answers there. `agents` are the short names of those
    below the root that have to do with the chat, where they were just read.
    """

    def __init__(
        self,
        kv: KV,
        agent: str,
        session: str,
        moved: Callable[[], None] = tell_nobody,
        agents: Sequence[str] | None = None,
    ) -> None:
        self._kv = kv
        self._agent = agent
        self._session = session
        self._moved = moved
        self._agents = agents

    def scan(self) -> Iterator[ChatSchedule]:
        """Yield all that this version can read, those that are over as well."""
        for name in list_agents_of_chat(self._kv, self._agent, self._session, self._agents):
            schedules = Schedules(self._kv, name, self._moved)
            short = "" if name == self._agent else name.rpartition(".")[2]
            for each in schedules.scan():
                if each.session == self._session and not each.collects:
                    yield ChatSchedule(schedules, each, short)

    def list(self) -> list[ChatSchedule]:
        """Return those that are not over, by number."""
        found = [each for each in self.scan() if not each.schedule.is_over]
        return sorted(found, key=lambda each: (each.schedule.number, each.schedule.since))

    def find_numbered(self, number: int) -> ChatSchedule | None:
        """Return the one that has this number and is not over."""
        return next((each for each in self.list() if each.schedule.number == number), None)

    def find(self, id: str) -> ChatSchedule | None:
        """Return the one of an id that is not over; of two agents that of the one that answers."""
        found = [each for each in self.list() if each.schedule.id == id]
        return min(found, key=lambda each: bool(each.agent), default=None)
