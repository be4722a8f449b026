"""What the store has of one agent below a root, and how all of it is removed.

`keys.py` says which partitions and items an agent has. The record goes last: while it is there,
its state says that the agent is being removed, so that it works on nothing, and whatever was
interrupted goes on the next time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

import orjson

from functions.agent.agents.bindings import parse_binding
from functions.agent.agents.record import RECORD, AgentRecord, change_state, join_name, scan_agents
from functions.agent.session.overflow import find_bodies
from functions.agent.workspace.file import read_version
from functions.hooks import Hooks
from functions.time.clock import Clock
from sigil.errors import BackendError, Conflict, UsageError
from sigil.storage.artifacts import Artifacts
from sigil.storage.kept_files import KeptFiles
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import list_partitions
from sigil.storage.kv.update import Change, scan_all, update_item
from sigil.storage.stored import dumps

PASSES: Final = 4
"""So often what is left is looked for: a turn that ends meanwhile may have written something."""
LOOK_SECONDS: Final = 0.25
ENDS_SECONDS: Final = 45.0
"""So long after an agent is to be purged no turn of it is at work any more: a call ends after 30
seconds, and its turn after that.
"""


@dataclass(frozen=True, slots=True)
class AgentData:
    """What a store has of an agent below the root, by its short name."""

    kv: KV
    artifacts: Artifacts
    root: str
    name: str
    clock: Clock

    @property
    def agent(self) -> str:
        """Return the agent's full name."""
        return join_name(self.root, self.name)

    def purge(
        self,
        is_at_work: Callable[[str], bool],
        patience: float = ENDS_SECONDS,
        *,
        known: str = "",
    ) -> int:
        """Remove the agent with all that it has, and return how many items that were.

        `is_at_work` tells whether a turn of the agent with this full name is in progress: it ends
        soon by itself, and is waited for `patience` seconds. `UsageError` EINVAL where the agent's
        state does not allow it, and EBUSY when a turn is still at work: the next call goes on then.
        For `known` see `change_state`.
        """
        record = change_state(
            self.kv, self.root, self.name, "purged", self.clock.now(), known=known
        )
        ends = record.changed + ENDS_SECONDS
        until = self.clock.monotonic() + patience
        while self.clock.now() < ends and is_at_work(self.agent):
            if self.clock.monotonic() >= until:
                raise UsageError(
                    "EBUSY",
                    f"{self.name} is being purged, and a turn of it is still at work",
                    suggestion="purge it again in a minute; else the rest goes within a day",
                )
            self.clock.pause(LOOK_SECONDS)
        removed = 0
        for _ in range(PASSES):
            found = self._remove_once(record)
            removed += found
            if not found:
                break
        item = self._find_record(record)
        if item is None:
            return removed  # somebody else has purged it at the same time
        with suppress(Conflict):
            self.kv.delete(keys.agent_record(self.root, self.name), expect=item.version)
            removed += 1
        return removed

    def _find_record(self, record: AgentRecord) -> Item | None:
        """Return the item of the agent's record while it is still the one that is being purged."""
        item = self.kv.get(keys.agent_record(self.root, self.name))
        if item is None:
            return None
        known = RECORD.read(item.value)
        is_same = (known.since, known.generation) == (record.since, record.generation)
        return item if is_same and known.state == "purged" else None

    def _remove_once(self, record: AgentRecord) -> int:
        """Remove what is there now, and return how many items that were.

        Another purge may come to its end meanwhile, and the name go to a new agent, which keeps
        what it has.
        """
        removed = 0
        bodies: set[str] = set()
        partitions = sorted(list_partitions(self.kv))
        for partition in partitions:
            found = list(self._scan(partition))
            if found and self._find_record(record) is None:
                return removed
            for key, item in found:
                bodies.update(self._remove_item(key, item))
                removed += 1
        if self._find_record(record) is None:
            return removed
        removed += self._remove_by_content()
        return removed + self._remove_bodies(bodies)

    def _scan(self, partition: str) -> Iterator[tuple[Key, Item]]:
        """Yield the items of a partition that are the agent's."""
        is_own = keys.is_partition_of(partition, self.agent)
        if not is_own and partition.partition("#")[0] not in keys.AGENT_ITEMS:
            return
        for sort, item in scan_all(self.kv, partition):
            key = Key(partition, sort)
            if is_own or keys.is_item_of(key, self.agent):
                yield key, item

    def _remove_item(self, key: Key, item: Item) -> list[str]:
        """Remove an item with what it alone names, and return the names of bodies that it had."""
        kind = key.partition.partition("#")[0]
        if kind == "file":
            KeptFiles(self.kv, self.artifacts, self.clock.now).remove(key, item.value)
            return []
        if kind == "workspace-version":
            try:
                version = read_version(item.value)
                artifacts = (version.artifact, version.pages)
            except BackendError:  # a damaged record names none
                artifacts = ("", "")
            for artifact in filter(None, artifacts):
                self.artifacts.delete(artifact)
        self.kv.delete(key)
        return find_bodies(item.value) if kind in ("session", "aside") else []

    def _remove_bodies(self, bodies: set[str]) -> int:
        """Remove large bodies that no session names any more."""
        if not bodies:
            return 0
        left = set(bodies)
        for partition in list_partitions(self.kv):
            if partition.partition("#")[0] in ("session", "aside"):
                for _, item in scan_all(self.kv, partition):
                    left.difference_update(find_bodies(item.value))
        for name in left:
            self.artifacts.delete(name)
        return len(left)

    def _remove_by_content(self) -> int:
        """Remove what stands among the root's, and tells by what is in it or by its name that it is
        the agent's: its place in the team, hooks, proposals, dead letters and the bindings of
        chats.
        """
        place = keys.team_member(self.root, self.name)
        removed = int(self.kv.get(place) is not None)
        self.kv.delete(place)
        for key, hook in list(Hooks(self.kv, self.root).scan()):
            if hook.agent == self.agent:
                self.kv.delete(key)
                removed += 1
        for name, item in list(scan_all(self.kv, keys.proposal(self.root, "").partition)):
            if _load(item).get("agent") == self.agent:
                self.kv.delete(keys.unsettled_proposal(self.root, keys.unescape(name)))
                self.kv.delete(keys.proposal(self.root, keys.unescape(name)))
                removed += 1
        for sort, item in list(scan_all(self.kv, keys.dead_letter("").partition)):
            event = _load(item).get("event")
            if isinstance(event, dict) and event.get("agent") == self.agent:
                self.kv.delete(Key(keys.dead_letter("").partition, sort))
                removed += 1
        for name, _ in list(scan_all(self.kv, keys.chat_binding(self.root, "").partition)):
            removed += self._forget_binding(keys.unescape(name))
        return removed

    def _forget_binding(self, session: str) -> int:
        """Take the agent out of the binding of a chat, and return 1 where it was there."""

        def decide(item: Item | None) -> tuple[Change, int]:
            known = parse_binding(item)
            if self.name not in known.known_agents:
                return None, 0
            names = tuple(each for each in known.agents if each != self.name)
            agent = "" if known.agent == self.name else known.agent
            before = "" if known.before == self.name else known.before
            return dumps(replace(known, agent=agent, before=before, agents=names)), 1

        return update_item(self.kv, keys.chat_binding(self.root, session), decide).answer


def finish_purges(kv: KV, artifacts: Artifacts, root: str, clock: Clock) -> list[str]:
    """Go on with the purges that were interrupted, and return whose came to their end."""
    purged = []
    for name, record in list(scan_agents(kv, root)):
        is_over = record and record.changed + ENDS_SECONDS < clock.now()
        if record and record.state == "purged" and is_over:
            AgentData(kv, artifacts, root, name, clock).purge(lambda _: False)
            purged.append(name)
    return purged


def _load(item: Item) -> dict[str, object]:
    try:
        fields = orjson.loads(item.value)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}
