"""A change is another text for a part of an agent: what it is for, and the version before it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import orjson

from functions.agent.behaviours.behaviour import PREFIX as BEHAVIOUR
from functions.agent.behaviours.behaviour import PROPOSE, is_behaviour_name
from functions.agent.behaviours.pins import SELF
from functions.agent.policy.act import Act
from functions.agent.policy.proposals import Proposal
from functions.agent.sanitize import clean_text
from functions.agent.schedules.schedule import is_schedule_id
from functions.agent.skills.skill import PREFIX as SKILL
from functions.agent.skills.skill import is_skill_name
from sigil.errors import Refused, UsageError, one_line
from sigil.protocol import Json, is_name, tool_of

SCHEDULE: Final = "schedule/"
CAPABILITY: Final = "capability/"
EXPLANATION: Final = ("goal", "risk", "benefit")
"""What every change has to be explained with."""
EXPLAINED_CHARACTERS: Final = 200
TARGETS: Final = f"{SELF}, {BEHAVIOUR}NAME, {SKILL}NAME, {SCHEDULE}ID, {CAPABILITY}NAME"
TOOL: Final = tool_of(PROPOSE)


@dataclass(frozen=True, slots=True)
class Change:
    """A new text for a part of an agent, its `target`. It was made from the version `base`, 0 where
    there was none.
    """

    target: str
    base: int
    text: str
    goal: str

    @property
    def name(self) -> str:
        """Return the name of the part within those of its kind."""
        return self.target.partition("/")[2] or self.target


def require_target(target: str) -> str:
    """Return the target of a change; `Refused` EPERM for what no change is about."""
    kind, slash, name = target.partition("/")
    is_known = {
        BEHAVIOUR: is_behaviour_name,
        SKILL: is_skill_name,
        SCHEDULE: is_schedule_id,
        CAPABILITY: is_name,
    }.get(f"{kind}{slash}")
    if target != SELF and not (is_known and is_known(name)):
        raise Refused(
            "EPERM",
            f"{one_line(target, 80)!r} cannot be changed so",
            suggestion=f"it can be {TARGETS}; tell an owner what else should change",
        )
    return target


def list_acts(target: str) -> tuple[Act, ...]:
    """Return what a change of this target does, as a policy names it."""
    kind, slash, name = target.partition("/")
    match f"{kind}{slash}":
        case "behaviour/":
            return (Act("behaviour", name),)
        case "skill/":
            return (Act("skill", name),)
        case "schedule/":
            return (Act("reschedule", name),)
        case "capability/":
            # all chats get it, and code is made for it
            return (Act("publish", name), Act("deploy", name))
    return (Act("self", target),)


def read_change(arguments: Mapping[str, Json]) -> Change:
    """Return the change that the arguments of a call describe.

    `UsageError` EINVAL for one that is not explained, `Refused` EPERM for a target that is none.
    """
    target = require_target(_read_text(arguments, "target"))
    base = arguments.get("base")
    if type(base) is not int or base < 0:
        raise UsageError("EINVAL", "base is the version that the text was made from")
    for name in EXPLANATION:
        if not _explain(arguments, name):
            raise UsageError(
                "EINVAL",
                f"a change is not proposed without its {name}",
                suggestion=f"say {', '.join(EXPLANATION)}, each in a sentence",
            )
    return Change(target, base, _read_text(arguments, "text"), _explain(arguments, "goal"))


def find_change(proposal: Proposal) -> Change | None:
    """Return the change that a proposal is about; None for one of any other call."""
    if proposal.tool != TOOL or proposal.offer is None or proposal.offer.kind != "host":
        return None
    try:
        return read_change(orjson.loads(proposal.arguments))
    except (orjson.JSONDecodeError, AttributeError, UsageError, Refused):
        return None


def _read_text(arguments: Mapping[str, Json], name: str) -> str:
    value = arguments.get(name)
    if not isinstance(value, str):
        raise UsageError("EINVAL", f"{name} is a text")
    return value.strip()


def _explain(arguments: Mapping[str, Json], name: str) -> str:
    return one_line(clean_text(_read_text(arguments, name)), EXPLAINED_CHARACTERS)
