"""A behaviour is a prompt with the tools that it pins and the limits that it works within.

It is kept as the document `behaviour/NAME`: the prompt, and above it, where it needs more, its
front matter. That is TOML between two lines of `+++`, the language of all our other files that
people write: it has no anchors, no tags, and no words that turn into other values by themselves.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from functions.agent.behaviours.built_in import (
    BUILT_IN,
    NOTING,
    ON_COMPACT_MEMORY,
    ON_SELF_IMPROVE,
    ON_TASK,
)
from sigil.errors import UsageError, one_line
from sigil.protocol import is_full_name, is_name

PREFIX: Final = "behaviour/"
"""The names of the documents that hold behaviours begin so."""
FENCE: Final = "+++"
FRONT_CHARACTERS: Final = 2_000
PINS_MOST: Final = 16
PINNED_AT_FIRST: Final = ("sleep", "next-behavior", "tell")
"""What a behaviour pins that does not say what it pins; one of `NOTING` pins `NOTE` as well,
`on_self_improve` what it looks at its own work with, and proposes a change, and
`on_compact_memory` the list of tasks.
"""
PINNED_IN_TEAMS: Final = (
    "idle",
    "shutdown-response",
    "board",
    "send-message",
    "broadcast",
    "read-inbox",
    "plan-approval",
    "write-file",
    "read-file",
)
"""What `on_task` pins that does not say what it pins."""
TEAM_SERVICES: Final = (
    *PINNED_IN_TEAMS,
    "list-teammates",
    "create-task",
    "list-tasks",
    "get-task",
    "update-task",
    "claim-task",
)
"""What a teammate reaches whatever its bundle has."""
NOTE: Final = "note-work"
PROPOSE: Final = "propose-change"
READ_CURRENT: Final = "read-current"
REVIEW: Final = "review-runs"
LIST_TASKS: Final = "list-tasks"
REQUESTS_MOST: Final = 8
HOPS_MOST: Final = 3
SECONDS_LEAST: Final = 5
SECONDS_MOST: Final = 3_600
_NAME = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*", re.ASCII)
NAME_CHARACTERS: Final = 40
_MODEL = re.compile(r"[!-_a-~]{1,100}", re.ASCII)
"""A model's name: visible ASCII without a backquote."""
_KEYS: Final = ("pins", "limits", "model", "next")
_LIMITS: Final[Mapping[str, tuple[int, int]]] = {
    "requests": (1, REQUESTS_MOST),
    "hops": (0, HOPS_MOST),
    "seconds": (SECONDS_LEAST, SECONDS_MOST),
}


@dataclass(frozen=True, slots=True)
class BehaviourLimits:
    """The limits of one run of a behaviour: its requests to the model, how often it may go on with
    another behaviour, and its seconds, 0 for those that every turn has.
    """

    requests: int = REQUESTS_MOST
    hops: int = HOPS_MOST
    seconds: int = 0


NO_LIMITS: Final = BehaviourLimits()
"""The limits of a behaviour that sets none."""
TRIAL_LIMITS: Final = BehaviourLimits(requests=4, hops=1, seconds=60)
"""The most that a behaviour may which the agent has written itself."""


@dataclass(frozen=True, slots=True)
class Behaviour:
    """A behaviour: its prompt, the capabilities that it pins, and its limits.

    `model` is one of the same endpoint, empty for the agent's own. `next` is the behaviour that
    follows when it has answered, empty for none.
    """

    name: str
    prompt: str
    pins: tuple[str, ...] = PINNED_AT_FIRST
    limits: BehaviourLimits = NO_LIMITS
    model: str = ""
    next: str = ""


def limit_trial(behaviour: Behaviour) -> Behaviour:
    """Return a behaviour that the agent has written itself, within the limits of a trial."""
    limits = behaviour.limits
    stricter = BehaviourLimits(
        min(limits.requests, TRIAL_LIMITS.requests),
        min(limits.hops, TRIAL_LIMITS.hops),
        min(limits.seconds or TRIAL_LIMITS.seconds, TRIAL_LIMITS.seconds),
    )
    return replace(behaviour, limits=stricter)


def is_behaviour_name(name: str) -> bool:
    """Return whether a behaviour can have this name."""
    return len(name) <= NAME_CHARACTERS and _NAME.fullmatch(name) is not None


def is_behaviour_document(name: str) -> bool:
    """Return whether a document of this name holds a behaviour."""
    return name.startswith(PREFIX) and is_behaviour_name(name.removeprefix(PREFIX))


def parse_behaviour(name: str, text: str) -> Behaviour:
    """Return the behaviour that a text describes.

    An empty one stands for the built-in behaviour of that name, and so does a prompt that is left
    out below a front matter. Raises `UsageError` EINVAL, which says what to do.
    """
    lines = text.strip().splitlines()
    front: Mapping[str, object] = {}
    prompt = text.strip()
    if lines and lines[0].rstrip() == "---":
        raise _fault(name, "its front matter is YAML", "write it as TOML between two lines of +++")
    if lines and lines[0].rstrip() == FENCE:
        ends = [number for number, line in enumerate(lines) if number and line.rstrip() == FENCE]
        if not ends:
            raise _fault(name, "its front matter has no end", "close it with a line of +++")
        front = _read_front(name, "\n".join(lines[1 : ends[0]]))
        prompt = "\n".join(lines[ends[0] + 1 :]).strip()
    prompt = prompt or BUILT_IN.get(name, "")
    if not prompt:
        raise _fault(name, "it has no prompt", "write below the front matter what is to be done")
    pinned = [*PINNED_AT_FIRST]
    if name in NOTING:
        pinned.append(NOTE)
    if name == ON_SELF_IMPROVE:
        pinned += [REVIEW, READ_CURRENT, PROPOSE]
    if name == ON_COMPACT_MEMORY:
        pinned.append(LIST_TASKS)
    if name == ON_TASK:
        pinned = [*PINNED_IN_TEAMS]
    return Behaviour(
        name,
        prompt,
        _read_pins(name, front.get("pins", pinned)),
        _read_limits(name, front.get("limits", {})),
        _read_model(name, front.get("model", "")),
        _read_next(name, front.get("next", "")),
    )


def _read_front(name: str, text: str) -> Mapping[str, object]:
    if len(text) > FRONT_CHARACTERS:
        hint = f"at most {FRONT_CHARACTERS:,} characters"
        raise _fault(name, f"its front matter has {len(text):,} characters", hint)
    try:
        front = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        why = one_line(str(problem), 200)
        raise _fault(
            name, f"its front matter is no TOML: {why}", 'such as model = "qwen"'
        ) from None
    _require_known(name, front, _KEYS, "")
    return front


def _require_known(
    name: str, found: Mapping[str, object], known: tuple[str, ...], where: str
) -> None:
    for key in found:
        if key not in known:
            hint = f"there are {', '.join(where + each for each in known)}"
            raise _fault(name, f"there is no {one_line(where + key, 40)!r}", hint)


def _read_pins(name: str, found: object) -> tuple[str, ...]:
    hint = 'such as pins = ["sleep", "currency-rates"]'
    if not isinstance(found, list) or not all(isinstance(each, str) for each in found):
        raise _fault(name, "pins is no list of names", hint)
    if len(found) > PINS_MOST:
        raise _fault(name, f"it pins {len(found)} capabilities", f"at most {PINS_MOST}")
    for each in found:
        if not (is_name(each) or is_full_name(each)):
            raise _fault(name, f"{one_line(each, 40)!r} is no name of a capability", hint)
    return tuple(dict.fromkeys(found))


def _read_limits(name: str, found: object) -> BehaviourLimits:
    if not isinstance(found, dict):
        raise _fault(name, "limits is no table", "such as limits = { requests = 4, hops = 0 }")
    _require_known(name, found, tuple(_LIMITS), "limits.")
    for key, value in found.items():
        least, most = _LIMITS[key]
        if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
            hint = f"a whole number from {least} to {most:,}"
            raise _fault(name, f"limits.{key} is {one_line(repr(value), 40)}", hint)
    return BehaviourLimits(**found)


def _read_model(name: str, found: object) -> str:
    if found != "" and not (isinstance(found, str) and _MODEL.fullmatch(found)):
        raise _fault(name, "model is no name of a model", 'such as model = "qwen-max"')
    return str(found)


def _read_next(name: str, found: object) -> str:
    if found != "" and not (isinstance(found, str) and is_behaviour_name(found)):
        raise _fault(name, "next is no name of a behaviour", 'such as next = "on_self_improve"')
    return str(found)


def _fault(name: str, what: str, hint: str) -> UsageError:
    return UsageError("EINVAL", f"behaviour {name}: {what}", suggestion=hint)
