"""A member of a team is at work, idle or shut down.

What changes of a teammate is an item of its own beside its record, so that the agent is not made
anew whenever it begins or ends something. An idle teammate costs nothing: it shuts down by being
read, `idle_seconds` after it became idle, and no event has to come for that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from hashlib import sha256
from itertools import islice
from typing import Annotated, Final, Literal, TypeVar

from msgspec import Meta

from functions.agent.agents.record import LOOKED_MOST, is_name
from functions.agent.sanitize import clean_text
from sigil.errors import UsageError, one_line
from sigil.protocol import Json
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import scan_all, update
from sigil.storage.stored import NewerFormat, Shape, Stored, damaged, dumps, later

Status = Literal["working", "idle", "shutdown"]
TROUBLE_CHARACTERS: Final = 300
NAME_SHOWN: Final = 40
FOREVER: Final = 1e10
"""A time that no clock shows: whatever keeps somebody from work until then has no end of its own.
"""
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Member(Stored):
    """What changes of a teammate.

    `since` is when it came to its `status` (seconds since 1970). `generation` counts how often one
    of this name was spawned: what was meant for an earlier one does not concern it. `task` is the
    number of the task of the board that it works on, 0 for none. One that `stay`s is idle for as
    long as it takes, and one with `recall` comes back when there is work for it. `trouble` says why
    its last piece of work came to nothing. `call` is the call that spawned it. `stopping` is the
    request to shut down that it obeys before anything else. `role` is the one of its record, by
    which it may take tasks.

    `stopped` has a hash of the person who stopped it, and is empty where nobody did: nothing but a
    person's word lets it work again. `held` is until when a halt or a limit keeps it from work, in
    seconds since 1970, 0 for not at all; it stays idle meanwhile, and after that until it has
    looked for work. `left` is the work of no task that this has ended: it is the first to go on.
    `waiting` is the plan whose answer it waits for together with its task.
    """

    status: Status
    since: Annotated[float, Meta(ge=0, lt=1e11)]
    generation: int = 1
    task: int = 0
    stay: bool = False
    recall: bool = False
    trouble: str = ""
    call: str = ""
    stopping: str = ""
    role: str = ""
    stopped: str = later("")
    held: Annotated[float, Meta(ge=0, lt=1e11)] = later(0.0)
    left: Mapping[str, Json] = later(default_factory=dict, hash=False)
    waiting: str = later("")

    def find_status(self, now: float, idle_seconds: float) -> Status:
        """Return its status at a time. One that is idle shuts down after `idle_seconds`, with 0
        never.
        """
        if self.stopped and not self.stopping:
            return "shutdown"
        waits = self.stay or self.held or idle_seconds <= 0
        if self.status == "idle" and not waits and now > self.since + idle_seconds:
            return "shutdown"
        return self.status

    def is_held(self, now: float) -> bool:
        """Return whether a halt or a limit keeps it from work at a time."""
        return now < self.held

    def stop(self, who: str) -> Member:
        """Return it when a person has stopped it: what it was at is not gone on with."""
        return replace(self, stopped=hash_person(who), held=0.0, left={})


_MEMBER: Final = Shape[Member](Member, required=("status", "since"))


class Members:
    """The members of the team of one root."""

    def __init__(self, kv: KV, root: str) -> None:
        self._kv = kv
        self._root = root

    def read(self, name: str) -> Member | None:
        """Return what changes of a teammate; None where nobody of this name was spawned."""
        item = self._kv.get(keys.team_member(self._root, name))
        return read_member(item, name) if item else None

    def find(self, name: str) -> Member | None:
        """Return the same where it can be read, for what must not fail for want of it."""
        item = self._kv.get(keys.team_member(self._root, name))
        try:
            return _MEMBER.read(item.value) if item else None
        except (ValueError, NewerFormat):
            return None

    def scan(self) -> Iterator[tuple[str, Member]]:
        """Yield the names of all teammates and what changes of them, but for what is damaged."""
        for sort, item in scan_all(self._kv, keys.team_member(self._root, "").partition):
            try:
                yield keys.unescape(sort), _MEMBER.read(item.value)
            except (ValueError, NewerFormat):
                continue

    def change(self, name: str, decide: Callable[[Member | None], tuple[Member | None, _T]]) -> _T:
        """Change a teammate by compare-and-set; `decide` returns what becomes of it, None for no
        change, and the answer.
        """
        key = keys.team_member(self._root, name)

        def decide_value(value: bytes | None) -> tuple[bytes | None, _T]:
            found = read_member(Item(value, ""), name) if value is not None else None
            changed, answer = decide(found)
            return (dumps(changed) if changed else None), answer

        return update(self._kv, key, decide_value)

    def put_idle(self, name: str, seen: Member, now: float) -> None:
        """Write down that a teammate works on nothing, unless it has changed since it was seen."""
        idle = replace(seen, status="idle", since=now, task=0, waiting="")
        self.change(name, lambda found: (idle if found == seen else None, None))

    def remove(self, name: str) -> None:
        """Forget what changes of a teammate."""
        self._kv.delete(keys.team_member(self._root, name))


def hash_person(who: str) -> str:
    """Return what a member's record has of the person who stopped it."""
    return sha256(who.encode(errors="replace")).hexdigest()[:16]


def list_member_keys(agent: str, *, own_work: bool) -> list[Key]:
    """Return the key of what changes of an agent below a root; none for its chats or for a root."""
    root = keys.root_of(agent)
    if agent == root or not own_work:
        return []
    return [keys.team_member(root, agent.removeprefix(f"{root}."))]


def read_member(item: Item, name: str) -> Member:
    """Return the member in an item; `BackendError` EDAMAGED when it cannot be read."""
    try:
        return _MEMBER.read(item.value)
    except ValueError:
        raise damaged(f"what is known of the teammate {name} cannot be read", source=name) from None


def is_known(kv: KV, root: str, name: str) -> bool:
    """Return whether a root has, or had, a teammate or another agent of this short name."""
    found = get_many(kv, [keys.team_member(root, name), keys.agent_record(root, name)])
    return any(found)


def parse_owner(kv: KV, root: str, text: str) -> str:
    """Return the name of whoever is to do a task, empty for anybody; a teammate may be spawned
    later. `UsageError` EINVAL for a name that nobody can have, with the ones that are almost it.
    """
    name = text.strip().removeprefix("@").lower()
    if not name or is_name(name):
        return name
    shown = one_line(clean_text(text), NAME_SHOWN)
    members = (member for member, _ in islice(Members(kv, root).scan(), LOOKED_MOST))
    near = get_close_matches(shown.lower(), members, n=3)
    meant = f"did you mean {' or '.join(near)}? " if near else ""
    raise UsageError(
        "EINVAL",
        f"{shown!r} is no name of a teammate",
        source="task",
        suggestion=f"{meant}a name begins with a letter from a to z, and has at most 32 of a-z,"
        " 0-9 and -, such as alice",
        reason="no-name",
    )


def require_teammate(found: Member | None, name: str) -> Member:
    """Return a member; `UsageError` ENOENT when there is none of this name."""
    if found is None:
        raise UsageError(
            "ENOENT",
            f"Error: there is no teammate '{name}'",
            suggestion="list-teammates names them; spawn-teammate starts one",
            reason="no-teammate",
        )
    return found
