"""The record of an agent says what it is, what state it is in, and what it does differently from
the root of its deployment.

The root is the agent of the settings, and has no record. All others are its children: `alice` of
the root `main` is called `main.alice`, one level deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from hashlib import sha256
from itertools import islice
from typing import Annotated, Final, Literal, get_args

from msgspec import Meta

from functions.agent.access.roles import Access
from functions.events import ID_CHARACTERS
from sigil.errors import Conflict, UsageError, one_line
from sigil.storage.kv import ABSENT, KV, Item, keys
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import NewerFormat, Shape, Stored, damaged, dumps, later

Kind = Literal["agent", "subagent", "teammate"]
State = Literal["enabled", "disabled", "archived", "purged"]
STATES: Final = get_args(State)
NEXT_STATES: Final[Mapping[State, tuple[State, ...]]] = {
    "enabled": ("disabled", "archived", "purged"),
    "disabled": ("enabled",),
    "archived": ("purged",),
    "purged": (),
}
"""The states that may follow each. An agent that is `purged` is being removed, and its record goes
last.
"""
LIVE: Final[tuple[State, ...]] = ("enabled", "disabled")
"""The states of the agents that count for how many there may be below a root."""
RESERVED: Final = frozenset(
    {"agent", "all", "auto", "everybody", "here", "none", "off", "own", "root", "self"}
)
"""Words that mean something else where an agent is named."""
NAMES_OF_OTHERS: Final = frozenset(
    {"admin", "lead", "owner", "runtime", "system", "user"}
    | {"alle", "anybody", "mute", "niemand", "nobody", "stop", "tell", "unmute", "wake"}
)
"""No new agent is called so: whoever reads a mail or a report of it would think of somebody else,
and in a command it means something else.
"""
TEXT_CHARACTERS: Final = 200
PROMPT_CHARACTERS: Final = 16_000
BUNDLE_MOST: Final = 64
LIMIT_MOST: Final = 10**15
LOOKED_MOST: Final = 200
"""Among so many agents a name is looked for that is almost the one that nobody has."""
Limit = Annotated[int, Meta(ge=0, lt=LIMIT_MOST)]
Name = Annotated[str, Meta(max_length=TEXT_CHARACTERS)]
Time = Annotated[float, Meta(ge=0, lt=1e11)]
_NAME = re.compile(r"[a-z][a-z0-9-]{0,31}")


@dataclass(frozen=True, slots=True)
class TaskLimits(Stored):
    """The limits of one task of an agent, over all of its turns: requests to the model, tokens, and
    seconds since it began. 0 is no limit.
    """

    steps: Limit = 0
    tokens: Limit = 0
    seconds: Limit = 0


@dataclass(frozen=True, slots=True)
class AgentRecord(Stored):
    """What is stored of an agent that is no root.

    `since` is when it was made (seconds since 1970), `by` who made it, or the person on whose
    behalf it was made. `parent` is the full name of the agent above it, empty for the root. What it
    does differently from the settings: `model` is the name of its model at the same endpoint,
    `guide` and `context` those of its guide and strategy, `access` who may talk to it; each is
    empty where the settings hold. `tokens` bound what it may use in a period, beside the root's own
    budget; 0 is no limit of its own. `session_tokens` and `ticks` are those of the settings where
    they are None.

    `role` says in a few words what it is, `prompt` what it is for, and `gist`
    what was said before that in the chat that asked. `behaviour` is how it goes about
    its work, where the event names none. It reaches the capabilities of its `bundle` and no others,
    all where that is empty. `task` bounds each of its tasks. `files` is the part of its parent's
    workspace that it uses, such as `drafts/`; empty where it has a workspace of its own. `home` is
    the chat in which it reports. A `temporary` one is archived when it was idle for long.
    `generation` tells it from others that had its name before, and `changed` is when it came into
    its state. `working` says that a subagent has a task that did not end, and `key` names the call
    which gave it that.
    """

    kind: Kind
    state: State
    since: Time
    by: str
    parent: str = later("")
    model: Name = later("")
    guide: Name = later("")
    context: Name = later("")
    access: Access | None = later(None)
    tokens: Limit = later(0)
    session_tokens: Limit | None = later(None)
    ticks: Limit | None = later(None)
    role: Name = later("")
    prompt: Annotated[str, Meta(max_length=PROMPT_CHARACTERS)] = later("")
    gist: Annotated[str, Meta(max_length=PROMPT_CHARACTERS)] = later("")
    behaviour: Name = later("")
    bundle: Annotated[tuple[Name, ...], Meta(max_length=BUNDLE_MOST)] = later(())
    task: TaskLimits | None = later(None)
    files: Name = later("")
    home: str = later("")
    temporary: bool = later(False)
    generation: Limit = later(0)
    changed: Time = later(0.0)
    working: bool = later(False)
    key: str = later("")

    @property
    def is_live(self) -> bool:
        """Return whether it works, or may work again as it is."""
        return self.state in LIVE


RECORD: Final = Shape[AgentRecord](AgentRecord)


def is_name(name: str) -> bool:
    """Return whether an agent below a root can have this short name."""
    return _NAME.fullmatch(name) is not None and name not in RESERVED


def require_name(root: str, name: str) -> None:
    """Raise `UsageError` EINVAL unless an agent below the root can have this short name."""
    if name == root:
        raise UsageError("EINVAL", f"{name} is the agent of the settings itself")
    if not is_name(name):
        taken = " and is no word with a meaning of its own" if name in RESERVED else ""
        raise UsageError(
            "EINVAL",
            f"{one_line(name, 40)!r} is no name of an agent",
            suggestion="a name begins with a letter from a to z, has at most 32 of a-z, 0-9 and -"
            f"{taken}, such as alice",
        )


def require_new_name(root: str, name: str) -> None:
    """Raise `UsageError` EINVAL unless an agent may be made with this short name."""
    require_name(root, name)
    if name in NAMES_OF_OTHERS:
        raise UsageError(
            "EINVAL",
            f"{name} is what somebody or something else is called",
            suggestion="take a name of its own, such as alice",
        )


def join_name(root: str, name: str) -> str:
    """Return the full name of the root's agent with this short name."""
    return f"{root}.{name}"


def make_did(root: str, name: str) -> str:
    """Return the DID of an agent below a root, by its short name. Nothing resolves it."""
    return f"did:uncaged:{join_name(root, name)}"


def make_record(fields: Mapping[str, object]) -> AgentRecord:
    """Return the record with these fields; `UsageError` EINVAL for values that none can have."""
    try:
        return RECORD.convert(fields)
    except ValueError as problem:
        raise UsageError("EINVAL", one_line(str(problem), TEXT_CHARACTERS)) from None


def add_agent(kv: KV, root: str, name: str, record: AgentRecord) -> None:
    """Store a new agent; `UsageError` EEXIST when there is one of this name, in whatever state."""
    require_name(root, name)
    record = replace(record, by=one_line(record.by, ID_CHARACTERS))
    try:
        kv.put(keys.agent_record(root, name), dumps(record), expect=ABSENT)
    except Conflict:
        raise name_taken(name) from None


def fingerprint_record(record: AgentRecord) -> str:
    """Return what a record is told from by any other one that the agent has had."""
    return sha256(dumps(record)).hexdigest()[:16]


def change_state(
    kv: KV, root: str, name: str, state: State, now: float = 0.0, *, known: str = ""
) -> AgentRecord:
    """Bring an agent into a state at a time (seconds since 1970), and return its record.

    `UsageError` EINVAL with the states that may follow, where this one may not; the state that it
    has already is no change. `known` is the fingerprint that the record must have, EPRECONDITION
    where it has another one.
    """
    require_name(root, name)

    def decide(value: bytes | None) -> tuple[bytes | None, AgentRecord]:
        if value is None:
            raise unknown_agent(kv, root, name)
        record = _read_record(value, name)
        if known and fingerprint_record(record) != known:
            raise UsageError(
                "EPRECONDITION",
                f"{name} is not as it was: it is {record.state}",
                suggestion="read it again, and change what it is now",
            )
        if record.state == state:
            return None, record
        if state not in NEXT_STATES[record.state]:
            possible = " or ".join(NEXT_STATES[record.state])
            suggestion = f"it can become {possible}" if possible else "it stays as it is"
            raise UsageError(
                "EINVAL",
                f"{name} is {record.state} and cannot become {state}",
                suggestion=suggestion,
            )
        changed = replace(record, state=state, changed=max(now, 0.0))
        return dumps(changed), changed

    return update(kv, keys.agent_record(root, name), decide)


def read_agent(kv: KV, root: str, name: str) -> AgentRecord:
    """Return the record of an agent by its short name; `UsageError` ENOENT when there is none."""
    require_name(root, name)
    item = kv.get(keys.agent_record(root, name))
    if item is None:
        raise unknown_agent(kv, root, name)
    return _read_record(item.value, name)


def find_absence(item: Item | None) -> str:
    """Return the state of an agent below a root that does not let its turns go on, by its record;
    empty where it is enabled, or where nobody can tell.
    """
    if item is None:
        return ""
    try:
        state = RECORD.read(item.value).state
    except (ValueError, NewerFormat):
        return ""
    return "" if state == "enabled" else state


def scan_agents(kv: KV, root: str) -> Iterator[tuple[str, AgentRecord | None]]:
    """Yield the short names and records of all agents below a root; None for what is damaged, or
    can be read by a newer version alone.
    """
    for name, item in scan_all(kv, keys.agent_record(root, "").partition):
        try:
            yield name, RECORD.read(item.value)
        except (ValueError, NewerFormat):
            yield name, None


def name_taken(name: str) -> UsageError:
    """Return the error for a name that another agent has."""
    return UsageError(
        "EEXIST",
        f"there is an agent {name} already",
        suggestion="`uncaged agent list` shows all of them",
        reason="name-taken",
    )


def being_purged(name: str) -> UsageError:
    """Return the error for the name of an agent that is being removed."""
    return UsageError(
        "EBUSY",
        f"{name} is being purged, and its name is not free yet",
        suggestion=f"`uncaged agent purge {name}` goes on with it",
        reason="removed",
    )


def unknown_agent(kv: KV, root: str, name: str) -> UsageError:
    """Return the error for a name that no agent has, with the names that are almost the same."""
    known = (each for each, _ in islice(scan_agents(kv, root), LOOKED_MOST))
    near = get_close_matches(name, [root, *known], n=3)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    return UsageError(
        "ENOENT",
        f"there is no agent {one_line(name, 40)}",
        suggestion=f"{meant}`uncaged agent list` shows them",
    )


def _read_record(value: bytes, name: str) -> AgentRecord:
    try:
        return RECORD.read(value)
    except ValueError:
        raise damaged(f"the record of the agent {name} cannot be read", source=name) from None
