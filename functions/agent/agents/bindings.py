"""A binding lets an agent below the root answer in one chat of the root's channels.

An owner binds a chat, in it or on the machine. The turns of a bound chat run in a session of its
agent's own, and their replies leave through the root's channel.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from functions.events import ID_CHARACTERS, Event
from functions.texts.en import Texts
from sigil.errors import one_line
from sigil.protocol import Json
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.update import Change, scan_all, update_item
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps, later


@dataclass(frozen=True, slots=True)
class Binding(Stored):
    """The agent of a chat by its short name, empty for the root.

    It answers the events whose order is beyond `since`; those up to it go to `before`, so that an
    event that is handed out again goes where it went. `by` bound the chat. `told` is the event
    whose sender was told that the agent is away. `agents` are more agents below the root that have
    answered there, or have something scheduled there.
    """

    agent: str
    before: str
    since: str
    by: str
    told: str = later("")
    agents: tuple[str, ...] = later(())

    @property
    def known_agents(self) -> tuple[str, ...]:
        """Return the short names of all agents below the root that have to do with the chat."""
        names = dict.fromkeys((*self.agents, self.before, self.agent))
        return tuple(filter(None, names))[-AGENTS_MOST:]

    def find_agent(self, order: str) -> str:
        """Return the short name of the agent that an event of this order goes to."""
        return self.agent if order > self.since else self.before


AGENTS_MOST: Final = 32
"""Of so many agents it is known that they have to do with a chat: the last ones."""
AWAY: Final = "away"
"""The row of a turn's trace that says why the agent of the chat does not answer."""
UNBOUND: Final = Binding("", "", "", "")
_BINDING: Final = Shape[Binding](Binding)


@dataclass(frozen=True, slots=True)
class Bound:
    """What a worker takes for the binding of an event's chat.

    `agent` is the short name of the agent that it names, empty for the root. `away` says why that
    agent does not answer, so that the root does.
    """

    agent: str = ""
    away: str = ""


class BoundElsewhere(Exception):
    """The chat of an event is bound to another agent than the worker took for it.

    Nothing was changed so far.
    """

    def __init__(self, agent: str) -> None:
        super().__init__(agent)
        self.agent = agent


def parse_binding(item: Item | None) -> Binding:
    """Return the binding in an item; one that cannot be read binds nothing."""
    if item is None:
        return UNBOUND
    try:
        return _BINDING.read(item.value)
    except ValueError:
        return UNBOUND


def read_binding(kv: KV, root: str, session: str) -> Binding:
    """Return the binding of a chat of the root, by its name such as `telegram:42`."""
    return parse_binding(kv.get(keys.chat_binding(root, session)))


def bind(kv: KV, root: str, session: str, agent: str, *, order: str, by: str) -> Binding:
    """Let an agent (its short name, empty for the root) answer what comes to a chat after the event
    of this order, and return the binding before.
    """

    def decide(item: Item | None) -> tuple[Change, Binding]:
        known = parse_binding(item)
        if known.agent == agent:
            return None, known
        # what went somewhere by the binding before goes there again
        since = max(order, known.since)
        before = known.find_agent(since)
        changed = replace(
            known,
            agent=agent,
            before=before,
            since=since,
            agents=known.known_agents,
            by=one_line(by, ID_CHARACTERS),
            told="",
        )
        return dumps(changed), known

    return update_item(kv, keys.chat_binding(root, session), decide).answer


def note_agent(kv: KV, root: str, session: str, agent: str) -> None:
    """Remember that an agent (its short name) has something scheduled in a chat, whoever answers
    there.
    """

    def decide(item: Item | None) -> tuple[Change, None]:
        known = parse_binding(item)
        if agent in known.known_agents:
            return None, None
        return dumps(replace(known, agents=(*known.known_agents, agent))), None

    update_item(kv, keys.chat_binding(root, session), decide)


def must_tell_absence(bound: Bound, event: Event, root: str, kv: KV) -> bool:
    """Return whether the sender of this event is the one who is told that the agent of the chat is
    away. It stays that one, should the event be handed out again.
    """
    if not bound.away or event.kind != "message":
        return False

    def decide(item: Item | None) -> tuple[Change, bool]:
        known = parse_binding(item)
        if item is None or known.told:
            return None, known.told == event.id
        return dumps(replace(known, told=event.id)), True

    return update_item(kv, keys.chat_binding(root, event.session), decide).answer


def scan_bindings(kv: KV, root: str) -> Iterator[tuple[str, Binding]]:
    """Yield the chats of a root that are bound to an agent below it."""
    for name, item in scan_all(kv, keys.chat_binding(root, "").partition):
        try:
            binding = parse_binding(item)
        except NewerFormat:
            continue
        if binding.agent:
            yield keys.unescape(name), binding


def mention_absence(trace: Sequence[Mapping[str, Json]], text: str, texts: Texts) -> str:
    """Return a reply with the sentence that the root answers instead of the chat's own agent, where
    the turn's trace says so.
    """
    name = next((row["name"] for row in trace if row.get("kind") == AWAY), "")
    if not name:
        return text
    return "\n\n".join(filter(None, (text, texts.agent_away.format(name=name))))
