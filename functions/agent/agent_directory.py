"""The directory finds the agent that an event is for, and the one that answers in a chat."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Protocol

from functions.agent.agents.bindings import Bound, read_binding
from functions.agent.agents.record import RECORD, AgentRecord, is_name, join_name
from functions.agent.app import App
from functions.events import Event
from sigil.errors import UsageError, one_line
from sigil.storage.kv import keys

BOUND_MOST: Final = 10_000
"""So many chats are known to be bound before that is found out anew."""
NAME_CHARACTERS: Final = 80


@dataclass(frozen=True, slots=True)
class AbsentAgent:
    """An agent that works on no event, and why; `is_away` says that it may come back as it is."""

    reason: str
    is_away: bool = False


@dataclass(frozen=True, slots=True)
class Route:
    """The agent that answers an event of a chat, and what the chat's binding says."""

    app: App
    bound: Bound = Bound()


class AgentFactory(Protocol):
    """Makes the agents below the root."""

    def make_agent(self, root: App, name: str, record: AgentRecord) -> App:
        """Return the agent of a record; `UsageError` when it names what is not there."""

    def close(self) -> None:
        """Close what the agents have open beside what is the root's."""


class AgentDirectory:
    """The agents of one deployment: its root, and those that have a record below it.

    What the factory made is kept as long as the record stays as it is; it is read for every event
    of such an agent, and for none of the root. Without a factory there is the root alone.
    """

    def __init__(self, factory: AgentFactory | None = None) -> None:
        self._factory = factory
        # the agents that were made, each with the version of its record
        self._made: dict[str, tuple[str, App]] = {}
        # what the bindings of chats said when they were last read here
        self._bound: dict[str, str] = {}

    def find(self, name: str, root: App) -> App | AbsentAgent:
        """Return the agent with this full name, the root or one below it, or why it works on
        nothing.

        Raises `NewerFormat` when only a newer version can read its record.
        """
        if name == root.name:
            return root
        short = name.removeprefix(f"{root.name}.")
        shown = one_line(name, NAME_CHARACTERS)
        if name == short or not is_name(short) or not self._factory:
            return AbsentAgent(f"there is no agent {shown!r} here")
        item = root.kv.get(keys.agent_record(root.name, short))
        if item is None:
            return AbsentAgent(f"there is no agent {shown!r} here")
        made = self._made.get(short)
        if made and made[0] == item.version:
            return made[1]
        try:
            record = RECORD.read(item.value)
        except ValueError:
            return AbsentAgent(f"the record of the agent {shown!r} is damaged")
        if record.state != "enabled":
            is_away = record.state == "disabled"
            return AbsentAgent(f"the agent {shown!r} is {record.state}", is_away=is_away)
        try:
            app = self._factory.make_agent(root, name, record)
        except UsageError as problem:  # such as a guide of a package that is not installed any more
            return AbsentAgent(f"the agent {shown!r} cannot be opened: {problem.message}")
        self._made[short] = (item.version, app)
        return app

    def guess_route(self, session: str, root: App) -> Route:
        """Return the agent that answers in a chat, by what this process knows of its binding.

        Whoever reads the binding together with the session saves a request, and tells by
        `note_binding` when it says otherwise.
        """
        return self._make_route(self._bound.get(session, ""), root)

    def find_route(self, event: Event, root: App) -> Route:
        """Return the agent that answers an event of a chat, by the binding as it is stored."""
        binding = read_binding(root.kv, root.name, event.session)
        agent = binding.find_agent(event.order)
        self.note_binding(event.session, agent)
        return self._make_route(agent, root)

    def find_current(self, session: str, root: App) -> Route:
        """Return the agent that answers what comes to a chat from now on."""
        return self._make_route(read_binding(root.kv, root.name, session).agent, root)

    def note_binding(self, session: str, agent: str) -> None:
        """Remember the short name of the agent that a chat is bound to, empty for the root."""
        if not agent:
            self._bound.pop(session, None)
            return
        if len(self._bound) >= BOUND_MOST:
            self._bound.clear()
        self._bound[session] = agent

    def close(self) -> None:
        """Close what the agents have open."""
        if self._factory:
            self._factory.close()

    def _make_route(self, agent: str, root: App) -> Route:
        if not agent:
            return Route(root)
        found = self.find(join_name(root.name, agent), root)
        if isinstance(found, AbsentAgent):
            return Route(root, Bound(agent, found.reason))
        return Route(found, Bound(agent))
