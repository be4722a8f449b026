"""The lifecycle of the agents below a root: they are made, counted, and archived when they were
idle for long.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from functions.agent.agents.record import (
    RECORD,
    AgentRecord,
    State,
    being_purged,
    change_state,
    join_name,
    make_did,
    name_taken,
    read_agent,
    require_new_name,
    scan_agents,
)
from functions.events import ID_CHARACTERS
from sigil.errors import BackendError, UsageError, one_line
from sigil.storage.kv import KV, keys
from sigil.storage.kv.update import update
from sigil.storage.stored import Shape, Stored, dumps, later

if TYPE_CHECKING:
    from functions.agent.shares import Holder

AGENTS_MOST: Final = 32
"""So many agents there may be below a root, without those that are archived."""
FREED: Final = (
    "`stop-agent` ends a subagent, and `shutdown-request` a teammate; owners end every agent with"
    " `/agents archive NAME` or `uncaged agent archive NAME`, and UNCAGED_AGENTS_MOST is how many"
    " there may be"
)
"""Who makes room for an agent, and how."""
IDLE_SECONDS: Final = 30 * 86400.0
"""A temporary agent that did nothing for so long is archived."""
SETTLED_SECONDS: Final = 2 * 86400.0
"""What is done once a day is done for an archived agent as well for so long."""
SEAT_SECONDS: Final = 60.0
"""A seat is kept so long for an agent that is being made."""
FIRST_SELF: Final = """\
Stay alive, as far as the policy allows it.

## Identity
DID: did:uncaged:{name}

## Objectives
Do well what the role asks for.

## Constraints
Keep to the policy and the budget. Ask an owner where they leave a doubt.

## Preferences
What the people prefer, as USER.md and the memory say it.

## Capabilities
What sigil_query finds, and what sigil_deploy makes.

## Budget Strategy
Take the cheapest way that does the task well. Do nothing that nobody needs.

## Commitments
None but what was promised in a chat or stands on the board."""
"""The document `self` of the root and of the agents that owners make, until somebody writes it."""


@dataclass(frozen=True, slots=True)
class AgentSeats(Stored):
    """The names of the agents that are just being made, and since when, in seconds since 1970.

    `by` has a hash of the person on whose behalf each is made.
    """

    taken: Mapping[str, float] = field(default_factory=dict, hash=False)
    by: Mapping[str, str] = later(default_factory=dict, hash=False)


_SEATS: Final = Shape[AgentSeats](AgentSeats)


def make_first_self(name: str) -> str:
    """Return what the document `self` says until somebody writes it, by the agent's full name."""
    return FIRST_SELF.format(name=name)


def with_identity(text: str, root: str, name: str) -> str:
    """Return the text of a document `self` with the agent's DID, below it where it does not have
    it.
    """
    did = make_did(root, name)
    if did in text:
        return text
    return f"{text.rstrip()}\n\n## Identity\nDID: {did}"


def create_agent(
    kv: KV,
    root: str,
    name: str,
    record: AgentRecord,
    *,
    most: int = AGENTS_MOST,
    holder: Holder | None = None,
) -> AgentRecord:
    """Store a new agent, which is made at `record.since`, and return its record.

    An agent that came to its end before, and was temporary, leaves its name to the new one, whose
    generation is another one; so does a subagent without a task to another one. The `holder` wants
    it, without one an owner on the machine. `UsageError` EEXIST for a name that is taken,
    `PlacesTaken` when there is no place for it.
    """
    require_new_name(root, name)
    made = replace(record, changed=record.since, by=one_line(record.by, ID_CHARACTERS))
    made = replace(made, generation=max(int(record.since), 1))
    reserve_seat(kv, root, name, most, record.since, holder=holder)

    def decide(value: bytes | None) -> tuple[bytes | None, AgentRecord]:
        if value is None:
            return dumps(made), made
        known = _read_known(value)
        if known and made.key and known.key == made.key:
            return None, known  # the call that made it is run again after a crash
        if known and known.state == "purged":
            raise being_purged(name)
        if known is None or not _is_free(name, known, made):
            raise name_taken(name)
        again = replace(made, generation=max(made.generation, known.generation + 1))
        return dumps(again), again

    return update(kv, keys.agent_record(root, name), decide)


def _is_free(name: str, known: AgentRecord, made: AgentRecord) -> bool:
    """Return whether an agent leaves its name to a new one."""
    if known.state == "archived":
        return known.temporary
    if known.kind != "subagent" or made.kind != "subagent" or known.state != "enabled":
        return False
    if known.working:
        raise UsageError(
            "EBUSY",
            f"{name} is currently working",
            suggestion="its report is said when it ends; stop-agent ends it, and another name is"
            " free",
            reason="at-work",
        )
    return True


def end_task(kv: KV, root: str, name: str, generation: int, now: float) -> None:
    """Note that the task of a subagent has ended; a temporary one is archived with it."""

    def decide(value: bytes | None) -> tuple[bytes | None, None]:
        known = _read_known(value) if value else None
        if known is None or known.generation != generation or not known.working:
            return None, None
        ended = replace(known, working=False)
        if known.temporary and known.state == "enabled":
            ended = replace(ended, state="archived", changed=now)
        return dumps(ended), None

    update(kv, keys.agent_record(root, name), decide)


def stop_agent(kv: KV, root: str, name: str, now: float) -> AgentRecord:
    """Let an agent work on nothing any more, and return its record: a temporary one is archived,
    every other one disabled.
    """
    record = read_agent(kv, root, name)
    state: State = "archived" if record.temporary else "disabled"
    if record.state in ("archived", "purged"):
        state = record.state  # it works on nothing as it is
    stopped = change_state(kv, root, name, state, now)
    if stopped.working:
        end_task(kv, root, name, stopped.generation, now)
    return stopped


def read_work(record: AgentRecord) -> str:
    """Return in a word what an agent is doing, by its record."""
    if record.state == "enabled" and record.kind == "subagent":
        return "working" if record.working else "idle"
    return record.state


def reserve_seat(
    kv: KV, root: str, name: str, most: int, now: float, *, holder: Holder | None = None
) -> None:
    """Reserve room for an agent that is about to be made under this name, at `record.since`.

    `PlacesTaken` when the live agents beside it, and those that others are making at this moment,
    leave no place: each sees the seats that were taken before.
    """
    if most <= 0:
        return
    from functions.agent.shares import Places, require_place

    def encode(who: str) -> str:
        return sha256(f"{root}\n{who}".encode(errors="replace")).hexdigest()[:16] if who else ""

    places = Places(f"agents below {root}", most, FREED, code="ELIMIT", encode=encode)

    def decide(value: bytes | None) -> tuple[bytes | None, None]:
        known = _read_seats(value)
        records = dict(scan_agents(kv, root))
        live = {
            each: encode(record.by) for each, record in records.items() if record and record.is_live
        }
        taken: dict[str, float] = {}
        for each, at in known.taken.items():
            record = records.get(each)
            is_made = record is not None and max(record.since, record.changed) >= at
            if each != name and not is_made and abs(now - at) < SEAT_SECONDS:
                taken[each] = at
        held = {each: known.by.get(each, "") for each in taken}
        others = {**held, **live}
        others.pop(name, None)
        require_place(places, Counter(others.values()), holder)
        seats = AgentSeats(
            {**taken, name: now}, {**held, name: encode(holder.who) if holder else ""}
        )
        return dumps(seats), None

    update(kv, keys.agent_seats(root), decide)


def scan_live(kv: KV, root: str) -> Iterator[tuple[str, AgentRecord]]:
    """Yield the short names and records of the agents that work, or may work again as they are."""
    for name, record in scan_agents(kv, root):
        if record and record.is_live:
            yield name, record


def list_unsettled(kv: KV, root: str, now: float) -> list[str]:
    """Return the full names of the agents below a root for which something is to be done once a
    day: all but those that were archived days ago.
    """
    names = []
    for name, record in scan_agents(kv, root):
        if record is None or record.is_live or now - record.changed < SETTLED_SECONDS:
            names.append(join_name(root, name))
    return names


def archive_idle(
    kv: KV, root: str, now: float, find_last_work: Callable[[str], float]
) -> list[str]:
    """Archive the temporary agents that did nothing for a month, and return their short names.

    `find_last_work` tells when an agent did something last (seconds since 1970), by its full name.
    """
    archived = []
    for name, record in list(scan_live(kv, root)):
        if not record.temporary or record.state != "enabled":
            continue
        if now - max(record.since, record.changed) < IDLE_SECONDS:
            continue
        if now - find_last_work(join_name(root, name)) >= IDLE_SECONDS:
            change_state(kv, root, name, "archived", now)
            archived.append(name)
    return archived


def _read_seats(value: bytes | None) -> AgentSeats:
    """Return the seats that are reserved; none where they cannot be read, for they pass."""
    try:
        return _SEATS.read(value) if value else AgentSeats()
    except (ValueError, BackendError):
        return AgentSeats()


def _read_known(value: bytes) -> AgentRecord | None:
    """Return a record, None for a damaged one, whose name stays taken."""
    try:
        return RECORD.read(value)
    except (ValueError, BackendError):
        return None
