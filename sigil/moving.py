"""Capabilities that go from one place to another: from a chat to its agent, into a file, out of one."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence

from sigil import bundle, statistics
from sigil.artifacts import Artifacts
from sigil.audit import Audit
from sigil.bundle import Entry
from sigil.catalog import Catalog
from sigil.deploying import RACES, Deployer
from sigil.errors import Conflict, Refused, UsageError
from sigil.heads import Step
from sigil.kv import KV
from sigil.protocol import Caller, Ref, is_name
from sigil.quotas import SESSION_MARK, Room, claim_of
from sigil.records import Head, Record
from sigil.versions import demand_owner


class Mover:
    """Publishes, exports and imports."""

    def __init__(self, kv: KV, artifacts: Artifacts, deployer: Deployer, clock: Callable[[], float] = time.time, *, room: Room) -> None:
        self._kv = kv
        self._catalog = Catalog(kv, clock)
        self._artifacts = artifacts
        self._deployer = deployer
        self._clock = clock
        self._room = room
        self._audit = Audit(kv, clock)

    def publish(self, name: str, caller: Caller, *, session: str = "", replace: bool = False) -> tuple[Record, bool]:
        """A chat's capability becomes the agent's: same digest, same author, and with its own store, which stays where it began.

        The record, and whether it is new there.

        `session`: the chat; by default the caller's own, or the only one that has it. `replace`: over what somebody else made.
        """
        demand_owner(caller, "publishes")
        if not is_name(name):
            raise UsageError("ENAME", "not a capability's name", source=name)
        source = self._source(name, caller, session)
        if source is None:
            standing = self._catalog.active(caller.namespace, name)
            if standing and standing.session and standing.author == "model":
                return standing, False  # it was published already
            raise UsageError("ENOENT", f"no chat has {name}", source=name, suggestion="`sigil publish NAME --session CHAT`")
        record, created = self._published(source.record, caller, replace)
        self._leave(source)
        return record, created

    def export(self, refs: Sequence[str], caller: Caller) -> bytes:
        """The bundle of what these refs mean."""
        records = [self._catalog.resolve(Ref.parse(ref), caller) for ref in refs]
        return bundle.pack([Entry(record, self._artifacts.get(record.source)) for record in records])

    def import_bundle(self, body: bytes, caller: Caller) -> list[tuple[Record, bool]]:
        """What a bundle holds becomes the caller's own; each record, and whether it is new. Nothing of it runs, and no test either."""
        demand_owner(caller, "imports")
        done = []
        for package in bundle.unpack(body):
            standing = self._deployer.standing(package, caller)
            done.append((standing, False) if standing else (self._deployer.admit(package, caller), True))
        return done

    def _source(self, name: str, caller: Caller, session: str) -> Head | None:
        if session or caller.session:
            return self._live(dataclasses.replace(caller, session=session or caller.session).own, name)
        found = (self._live(namespace, name) for namespace in self._catalog.namespaces(f"{caller.namespace}{SESSION_MARK}"))
        heads = [head for head in found if head]
        if len(heads) > 1:
            chats = ", ".join(sorted(head.record.session for head in heads)[:5])
            raise UsageError("EAMBIGUOUS", f"{len(heads)} chats have {name}: {chats}", source=name, suggestion="say which with --session")
        return heads[0] if heads else None

    def _live(self, namespace: str, name: str) -> Head | None:
        head = self._catalog.head(namespace, name)
        return head if head and self._catalog.runs(head) else None

    def _published(self, record: Record, caller: Caller, over: bool) -> tuple[Record, bool]:
        for _ in range(RACES):
            head = self._catalog.head(caller.namespace, record.name)
            standing = head.record if head and self._catalog.runs(head) else None
            if standing and standing.digest == record.digest:
                return standing, False
            if standing and not over and (standing.author, standing.session) != (record.author, record.session):
                raise Refused(
                    "EEXIST", f"{record.name} stands there already", source=record.name, suggestion="--replace puts it in its place"
                )
            number, store = (head.latest if head else 0) + 1, record.store or record.namespace
            moved = dataclasses.replace(record, namespace=caller.namespace, version=number, store=store)
            try:
                with self._room.taken(caller.namespace, claim_of(moved, head)):
                    self._catalog.save(moved, head, Step(moved.version, self._clock(), caller.author, "publish"))
            except Conflict:
                continue
            facts = {"name": moved.name, "version": moved.version, "digest": moved.digest, "chat": record.session}
            self._audit.note(caller.namespace, "publish", caller=caller, **facts)
            return moved, True
        raise Conflict(f"{record.name} is being deployed by somebody else at this moment")

    def _leave(self, source: Head) -> None:
        try:
            self._catalog.remove(source)
        except Conflict:
            return  # the chat has a newer one by now, which stays its own
        statistics.forget(self._kv, source.record.namespace, source.record.name)
