"""A briefing opens a turn of an agent's own work: when it is, the behaviour, and its tools.

It is a message of the runtime's, and the tools are its typed `loads`: they are a function of the
history like all others, a compaction may evict them, and the next turn's briefing brings them back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from functions.agent.behaviours import chain
from functions.agent.behaviours.behaviour import NAME_CHARACTERS, Behaviour
from functions.agent.behaviours.built_in import ON_TASK, ON_WAKEUP
from functions.agent.conversation.messages import RUNTIME_ORIGIN, Message
from functions.agent.sanitize import delimit_text
from functions.events import Event
from functions.time.stamp import Stamp
from sigil.protocol import Offer

BEHAVIOUR: Final = "BEHAVIOUR"
"""The name of the delimiters around the prompt of a behaviour."""
SURROUNDINGS: Final = "ENVIRONMENT"


def name_usual(*, is_teammate: bool) -> str:
    """Return the behaviour of work of an agent's own that names none, or one that is gone."""
    return ON_TASK if is_teammate else ON_WAKEUP


def name_behaviour(event: Event, *, is_teammate: bool) -> str:
    """Return the behaviour that the turn of an event of the agent's own work is to run. A name that
    is too long for one stays so, and fits into a key.
    """
    wanted = event.data.get(chain.NAME) or name_usual(is_teammate=is_teammate)
    return str(wanted)[: NAME_CHARACTERS + 1]


def is_briefing(message: Message) -> bool:
    """Return whether a message is the briefing of a turn."""
    begin = f"<<{SURROUNDINGS}>>\n"
    return message.origin == RUNTIME_ORIGIN and message.content.startswith(begin)


def make_briefing(
    behaviour: Behaviour, offers: Sequence[Offer], stamp: Stamp, kind: str, now: float
) -> Message:
    """Return the briefing of a turn that an event of this kind sets off `now`."""
    surroundings = delimit_text(SURROUNDINGS, stamp.format(now // 60 * 60, kind))
    prompt = delimit_text(BEHAVIOUR, f"## {behaviour.name}\n\n{behaviour.prompt}")
    content = f"{surroundings}\n{prompt}"
    return Message("user", content, at=now, origin=RUNTIME_ORIGIN, loads=tuple(offers))
