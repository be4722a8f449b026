"""What a chat hears of its team, and the one message there that shows how the work goes.

A chat hears what comes of the work, and what teammates ask. What they answer each other is not said
there, unless the chat wants to hear everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Annotated, Final

from msgspec import Meta

from functions.agent.agents.record import is_name
from functions.agent.conversation.messages import Message, read_inbox
from functions.agent.session.document import Turn
from functions.agent.team.report import LEAD
from sigil.storage.evolve import evolve
from sigil.storage.kv import KV, Item, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import NewerFormat, Shape, Stored, dumps

MUTE, ALL, NORMAL = "mute", "all", ""
"""What a chat wants to hear."""
AGENT: Final = "agent:"
"""How the sender of an agent's event begins."""


@dataclass(frozen=True, slots=True)
class TeamChat(Stored):
    """What a chat wants to hear of its team, and the message that shows how the work goes.

    With the `mode` MUTE it hears of results and questions alone, with ALL also what teammates
    write to each other. `message` names the message at the chat's platform, empty where none is
    shown. `count` is of those that were begun, and `at` is when one was sent or changed last
    (seconds since 1970). `sending` is since when one is being sent, 0 for none.
    """

    mode: str = NORMAL
    message: str = ""
    count: Annotated[int, Meta(ge=0)] = 0
    at: Annotated[float, Meta(ge=0, lt=1e11)] = 0.0
    sending: Annotated[float, Meta(ge=0, lt=1e11)] = 0.0

    @property
    def is_muted(self) -> bool:
        """Return whether the chat wants to see nothing of work that goes on."""
        return self.mode == MUTE


_CHAT: Final = Shape[TeamChat](TeamChat)


def read_team_chat(kv: KV, root: str, chat: str) -> TeamChat:
    """Return what a chat of a root wants to hear; one that cannot be read hears what most do."""
    return _read(kv.get(keys.team_chat(keys.session_of(root, chat))))


def scan_team_chats(kv: KV, root: str) -> Iterator[tuple[str, TeamChat]]:
    """Yield the chats of a root that show how the work of its team goes."""
    place = keys.team_chat(keys.session_of(root, ""))
    for sort, item in scan_all(kv, place.partition, place.sort):
        found = _read(item)
        if found.message:
            yield keys.unescape(sort.removeprefix(place.sort)), found


def change_team_chat(
    kv: KV, root: str, chat: str, decide: Callable[[TeamChat], TeamChat | None]
) -> TeamChat:
    """Change what is known of a chat by compare-and-set, and return what it is then; `decide`
    returns None for no change.
    """

    def decide_value(value: bytes | None) -> tuple[bytes | None, TeamChat]:
        try:
            found = _CHAT.read(value) if value is not None else TeamChat()
        except ValueError:  # nothing of it is worth keeping
            found = TeamChat()
        changed = decide(found)
        return (dumps(changed), changed) if changed else (None, found)

    return update(kv, keys.team_chat(keys.session_of(root, chat)), decide_value)


def forget_message(kv: KV, root: str, chat: str, shown: TeamChat) -> None:
    """Note that a message is looked after no longer: the next work has one of its own."""

    def forget(found: TeamChat) -> TeamChat | None:
        if found.message != shown.message:
            return None
        return evolve(found, message="", count=found.count + 1)

    change_team_chat(kv, root, chat, forget)


def set_mode(kv: KV, root: str, chat: str, mode: str) -> None:
    """Keep what a chat wants to hear."""
    change_team_chat(kv, root, chat, lambda found: evolve(found, mode=mode))


def _read(item: Item | None) -> TeamChat:
    try:
        return _CHAT.read(item.value) if item else TeamChat()
    except (ValueError, NewerFormat):
        return TeamChat()


def answers_teammates(turn: Turn, messages: tuple[Message, ...]) -> bool:
    """Return whether all mail that the turn of an event `mail` has read is from other teammates, so
    that its answer is for them; `messages` are its history.
    """
    senders = {
        sender
        for message in messages
        if message.seq >= turn.first
        for sender, _ in read_inbox(message)
    }
    if not senders:
        sender = turn.event.sender.id
        return sender.startswith(AGENT) and "." in sender
    return all(is_name(sender) and sender != LEAD for sender in senders)
