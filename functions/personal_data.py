"""Personal data is what the store has of one person: it is found, exported and erased here.

A person is an id on a platform and those whose private chats share its memory. Their private chats
are theirs with everything that belongs to them. Of groups, what they said is theirs.
"""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from itertools import chain
from typing import Final

import orjson

from functions.agent.access.links import LinkedChat
from functions.agent.access.roles import PERSON
from functions.agent.agents.bindings import scan_bindings
from functions.agent.app import App
from functions.agent.conversation.messages import (
    ERASED,
    RUNTIME_ORIGIN,
    Message,
    erase_words,
    is_by,
    names_sender,
)
from functions.agent.knowledge.earlier_versions import DocumentVersion
from functions.agent.knowledge.knowledge_base import KnowledgeBase, StoredDocument
from functions.agent.ledger.chain import LedgerChain
from functions.agent.ledger.entry import hash_name
from functions.agent.ledger.ledger import Ledger
from functions.agent.memory import transcript
from functions.agent.memory.history import History, HistoryEntry
from functions.agent.memory.thing import Thing
from functions.agent.memory.things import Things
from functions.agent.safety.session_usage import list_spenders
from functions.agent.safety.stop_mark import StopMark, write_mark
from functions.agent.schedules.schedule import Schedule, Schedules
from functions.agent.session.document import Document, encode_document, hash_person
from functions.agent.session.overflow import find_bodies
from functions.agent.session.store import ARCHIVE, LAST, SessionHandle
from functions.agent.team.board import Board
from functions.agent.team.task import Comment
from functions.agent.workspace.file import FileContent, read_version
from functions.agent.workspace.path import RECEIVED
from functions.events import Event, Sender
from functions.hooks import Hook, Hooks
from functions.time.clock import SYSTEM, Clock
from sigil.catalog.audit import Audit
from sigil.errors import BackendError, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.artifacts import Artifacts
from sigil.storage.kept_files import KeptFiles
from sigil.storage.kv import KV, Item, Key, keys
from sigil.storage.kv.base import list_partitions
from sigil.storage.kv.update import retry_conflicts, scan_all, update
from sigil.storage.stored import dumps

PASSES: Final = 5
"""So often the store is looked through, until nothing of the person is left."""
LOOK_SECONDS: Final = 0.5
"""Seconds between two looks whether a running turn has ended."""
EVERY: Final = 50
"""Progress is told after so many chats."""
KINDS: Final[Mapping[str, str]] = {
    "session": "conversations",
    "inbox": "waiting events",
    "mail": "mail between agents",
    "seen": "handled events",
    "reply": "replies",
    "unread": "replies",
    "sent": "replies",
    "inquiry": "replies",
    "aside": "damaged conversations",
    "history": "history entries",
    "left": "statements that left a memory",
    "overheard": "overheard messages",
    "file": "files",
    "workspace": "files",
    "workspace-version": "versions of files",
    "workspaces": "marks",
    "ready": "marks",
    "ready!": "marks",
    "ready~work": "marks",
    "claim": "marks",
    "listening": "marks",
    "encrypted": "marks",
    "draft": "marks",
    "watched": "marks",
    "live": "replies",
    "binding": "marks",
    "native-calls": "marks",
    "begun": "marks",
    "doc": "documents",
    "doc-version": "document versions",
    "thing": "things",
    "thing-index": "search index",
    "things": "search index",
    "memory-link": "links",
    "link-tries": "links",
    "link-code": "links",
    "link-request": "access",
    "web-login": "sign-ins",
    "web-code": "sign-ins",
    "web-seen": "marks",
    "person": "access",
    "private-chat": "access",
    "profile": "names",
    "waiting": "access",
    "first-owner-tries": "access",
    "allowance": "usage",
    "received": "usage",
    "usage": "usage",
    "spent": "usage",
    "dead": "dead letters",
    "trace": "traces",
    "run": "traces",
    "chain": "traces",
    "stored": "values of capabilities",
    "wakeup": "schedules",
    "wakeup-run": "schedules",
    "hook": "hooks",
    "proposal": "proposals",
    "board": "tasks",
    "board-done": "tasks",
    "kb": "knowledge documents",
    "kb-chunk": "knowledge documents",
    "kb-version": "knowledge documents",
    "kb-index": "search index",
}
"""What people read for the kinds of records, by the first part of their partition."""
MESSAGES: Final = "messages in groups"
NOTES: Final = "notes on tasks"
NOBODY: Final = Sender("")
BODIES: Final = "large bodies"
Watch = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class PersonFound:
    """A person: their ids, their private chats, and the scopes of the memories only they use.

    `others` are the sessions (S of the keys) of the agent that are not theirs, and `partitions`
    those of all its sessions. `kept_memories` are used by chats that are not theirs. `left` are
    those of the others that were theirs alone until somebody else came in. `agent` is the agent
    that has all this, and `below` has what the agents below it have of the same person.

    `unnamed_origin`: what nobody is named in and comes from there is theirs as well.
    """

    ids: tuple[str, ...]
    chats: tuple[str, ...]
    memories: tuple[str, ...]
    others: tuple[str, ...]
    kept_memories: tuple[str, ...] = ()
    partitions: frozenset[str] = frozenset()
    agent: str = ""
    below: tuple[PersonFound, ...] = ()
    left: frozenset[str] = frozenset()
    unnamed_origin: str = ""

    def look_at(self, session: str) -> PersonFound:
        """Return the person as one of these groups knows them."""
        if session not in self.left:
            return self
        return replace(self, unnamed_origin=_chat_of(session).partition(":")[0])


@dataclass(frozen=True, slots=True)
class PersonalRecord:
    """A record that is a person's as a whole; `chat` is empty where it belongs to none."""

    kind: str
    chat: str
    key: Key
    item: Item


@dataclass(frozen=True, slots=True)
class FoundInGroup:
    """What a group has of a person.

    `history` are their messages in entries of HISTORY that have messages word for word,
    `attachments` those of the messages that its turn in progress answers.
    """

    messages: tuple[Message, ...] = ()
    things: tuple[Thing, ...] = ()
    history: tuple[str, ...] = ()
    attachments: tuple[Mapping[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class Erasure:
    """The result of an erasure: how many records of each kind went.

    `running` says that a turn still ran.
    """

    removed: Mapping[str, int] = field(default_factory=dict)
    kept: tuple[str, ...] = ()
    running: bool = False


def ignore_progress(text: str) -> None:
    """Do nothing with the progress: nobody watches."""


class PersonalData:
    """The personal data in the store of one agent, and of the agents below it when it is the root;
    large bodies are in `artifacts`.

    Running turns are waited for, `patience` seconds at most.
    """

    def __init__(
        self,
        app: App,
        artifacts: Artifacts,
        watch: Watch = ignore_progress,
        *,
        patience: float = 0.0,
        clock: Clock = SYSTEM,
    ) -> None:
        self._app = app
        self._kv: KV = app.kv
        self._artifacts = artifacts
        self._files = KeptFiles(self._kv, artifacts, clock.now)
        self._watch = watch
        self._clock = clock
        self._patience = patience

    def find(self, who: str) -> PersonFound:
        """Return a person by one of their ids; `UsageError` EINVAL when that is nobody's."""
        if not PERSON.fullmatch(who):
            raise UsageError(
                "EINVAL",
                f"{one_line(who, 60)!r} is nobody's id",
                suggestion="PLATFORM:ID, such as telegram:123; /whoami in a chat tells it",
            )
        self._watch("looking for chats")
        partitions = frozenset(list_partitions(self._kv))
        agents = [self, *self._list_below(partitions)]
        ids = {who}
        chats: frozenset[str] = frozenset()
        while True:
            # a chat may be bound to an agent below the root, which alone knows of a link there
            found = [
                agent._find(ids, chats if agent is self else frozenset(), partitions)
                for agent in agents
            ]
            ids_found = {id for each in found for id in each.ids}
            chats_found = frozenset(chat for each in found for chat in each.chats)
            if ids_found == ids and chats_found == chats:
                break
            ids = ids_found
            chats = chats_found
        first, *below = [replace(each, ids=(who, *sorted({*each.ids} - {who}))) for each in found]
        return replace(first, below=tuple(below))

    def _list_below(self, partitions: Collection[str]) -> list[PersonalData]:
        """Return the data of the agents below this one that have a session, mail or a schedule,
        whatever became of their records.
        """
        if not self._app.is_root:
            return []
        scopes = {*map(keys.read_scope, partitions), *list_spenders(self._kv, self._app.root)}
        owners = {scope.partition("#")[0] for scope in scopes if "#" in scope}
        owners |= {name for name in map(keys.read_agent, partitions) if name}
        root = self._app.name
        names = sorted(keys.unescape(owner) for owner in owners if keys.belongs_to(root, owner))
        return [self._open_below(name) for name in names if name != root]

    def _open_below(self, name: str) -> PersonalData:
        """Return the data of an agent below this one, by its full name."""
        return PersonalData(
            replace(self._app, name=name),
            self._artifacts,
            self._watch,
            patience=self._patience,
            clock=self._clock,
        )

    def _find(
        self, known_ids: Collection[str], known_chats: Collection[str], stored: Collection[str]
    ) -> PersonFound:
        """Return what this agent has of the person who has these ids and chats, and those that are
        linked with them. `stored` are all partitions of the store.
        """
        begin = keys.session_of(self._app.name, "")
        partitions = frozenset(name for name in stored if keys.read_scope(name).startswith(begin))
        scopes = set(map(keys.read_scope, partitions))
        spenders = {
            session
            for session in list_spenders(self._kv, self._app.root)
            if session.startswith(begin)
        }
        sessions = {"#".join(scope.split("#")[:2]) for scope in scopes} | spenders
        names = {session: keys.unescape(session.partition("#")[2]) for session in sorted(sessions)}
        ids = {*known_ids}
        chats = {*known_chats}
        known = self._app.private_chats.read_all()
        links = {
            scope: [chat for chat in linked if not known.is_shared(chat.session)]
            for scope, linked in self._read_links().items()
        }
        works: list[Schedule | Hook] = [
            *Schedules(self._kv, self._app.name).scan(),
            *(hook for _, hook in Hooks(self._kv, self._app.root).scan()),
        ]
        while True:
            size = len(ids) + len(chats)
            # a heartbeat's session is the agent's: it has mail of everybody
            wanted = [each for each in works if _wants(each, ids, chats)]
            chats |= {each.own_session for each in wanted if not _is_heartbeat(each)}
            chats |= {name for name in names.values() if known.is_owned(name, ids)}
            for linked in links.values():
                if any(chat.session in chats or chat.who in ids for chat in linked):
                    ids |= {chat.who for chat in linked}
                    chats |= {chat.session for chat in linked}
            if size == len(ids) + len(chats):
                break
        # a conversation that is erased by now does not tell its memory any more
        own = {self._session(chat) for chat in chats}
        memories = {scope for scope in scopes if "#".join(scope.split("#")[:2]) in own} | own
        for scope, linked in links.items():
            if linked and all(chat.session in chats for chat in linked):
                memories.add(scope)
        for session in own:
            with suppress(BackendError):
                memories.add(self._app.sessions.open(session).memory)
        kept = {
            scope
            for scope in memories
            if scope in links
            # a damaged record names nobody: whoever else uses the memory must not lose it
            and (not links[scope] or any(chat.session not in chats for chat in links[scope]))
        }
        return PersonFound(
            tuple(sorted(ids)),
            tuple(sorted(chats)),
            tuple(sorted(memories - kept)),
            tuple(sorted(sessions - own)),
            tuple(sorted(kept)),
            partitions,
            self._app.name,
            left=frozenset(
                session for session, name in names.items() if known.was_owned(name, ids)
            ),
        )

    def export(self, person: PersonFound) -> dict[str, Json]:
        """Return everything that the store has of a person, as JSON.

        The settings' secrets are replaced by their names: the person may be no owner.
        """
        below: list[Json] = [self._open_below(each.agent).export(each) for each in person.below]
        records: list[Json] = []
        for record in self._list_records(person):
            value = self._decode(record)
            if value is None:
                continue
            records.append(
                {
                    "kind": KINDS[record.kind],
                    "chat": record.chat,
                    "partition": record.key.partition,
                    "sort": record.key.sort,
                    "value": value,
                }
            )
        groups: list[Json] = []
        for session in self._watch_each(person.others, "groups"):
            found = self._find_in_group(session, person)
            if found != FoundInGroup():
                groups.append(
                    {
                        "chat": _chat_of(session),
                        "messages": [orjson.loads(dumps(message)) for message in found.messages],
                        "things": [{"id": thing.id, **thing.row()} for thing in found.things],
                        "history": list(found.history),
                        "attachments": orjson.loads(dumps(found.attachments)),
                    }
                )
        shared: list[Json] = [
            {"id": thing.id, **thing.row()}
            for thing in self._list_things(self._app.documents.agent, person)
        ]
        knowledge: list[Json] = []
        for base, document in self._list_documents(person):
            with suppress(BackendError):
                fields = orjson.loads(dumps(document.record))
                text = base.read_text(document.id)
                knowledge.append({"id": document.id, **fields, "text": text})
        for base, version in self._list_earlier_versions(person):
            with suppress(BackendError):
                fields = orjson.loads(dumps(version.record))
                text = base.read_text_of(version.id, version.record)
                knowledge.append({"id": version.id, **fields, "text": text})
        notes: list[Json] = [
            {"task": number, "text": comment.text, "at": comment.at}
            for number, comment in self._list_notes(person)
        ]
        exported: dict[str, Json] = {
            "format": "uncaged-person/1",
            "agent": self._app.name,
            "person": person.ids[0],
            "ids": list(person.ids),
            "chats": list(person.chats),
            "exported_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self._clock.now())),
            "records": records,
            "groups": groups,
            "shared_things": shared,
            "knowledge": knowledge,
            "task_notes": notes,
            **({"agents": below} if below else {}),
        }
        return {name: self._redact(value) for name, value in exported.items()}

    def _redact(self, value: Json) -> Json:
        if isinstance(value, str):
            return self._app.redact(value)
        if isinstance(value, list):
            return [self._redact(each) for each in value]
        if isinstance(value, dict):
            return {self._app.redact(name): self._redact(each) for name, each in value.items()}
        return value

    def count(self, person: PersonFound) -> dict[str, int]:
        """Return how many records there are of each kind."""
        counts: dict[str, int] = {}
        for record in self._list_records(person):
            _add(counts, KINDS[record.kind])
        for session in self._watch_each(person.others, "groups"):
            found = self._find_in_group(session, person)
            _add(counts, MESSAGES, len(found.messages))
            _add(counts, KINDS["thing"], len(found.things))
            _add(counts, KINDS["history"], len(found.history))
        _add(counts, KINDS["thing"], len(self._list_things(self._app.documents.agent, person)))
        _add(counts, KINDS["kb"], len(self._list_documents(person)))
        _add(counts, KINDS["kb"], len(self._list_earlier_versions(person)))
        _add(counts, NOTES, len(self._list_notes(person)))
        for each in person.below:
            for kind, count in self._open_below(each.agent).count(each).items():
                _add(counts, kind, count)
        return counts

    def erase(self, person: PersonFound) -> Erasure:
        """Erase a person, and say what was removed and what stays.

        It begins with the agents below the root. First their chats get a mark that fences running
        turns and lets no event of before run again; then everything goes, links last. Whatever was
        interrupted goes on the next time.
        """
        below = [self._open_below(each.agent).erase(each) for each in person.below]
        removed: dict[str, int] = {}
        sessions = [self._session(chat) for chat in person.chats]
        for session in sessions:
            self._fence(session, person, removed)
        running = not self._wait_for_turns(sessions)
        groups = person.others
        for _ in range(PASSES):
            before = sum(removed.values())
            self._erase_records(person, removed)
            bodies: set[str] = set()
            changed = []
            for session in self._watch_each(groups, "groups"):
                count = sum(removed.values())
                bodies |= self._erase_in_group(session, person, removed)
                if sum(removed.values()) > count:
                    changed.append(session)
            groups = tuple(changed)
            self._erase_waiting_quotes(person, removed)
            if self._app.is_root:
                _add(removed, NOTES, self._board.remove_comments(person.ids))
            self._drop_things(self._app.documents.agent, person, removed)
            for base, document in self._list_documents(person, erasing=True):
                base.drop(document.id)
                _add(removed, KINDS["kb"])
            for base, version in self._list_earlier_versions(person):
                base.drop_version(version.id, version.record)
                _add(removed, KINDS["kb"])
            self._erase_bodies(bodies, removed)
            if sum(removed.values()) == before:
                break
        self._forget_private_chats(person, removed)
        if removed:
            digest = f"sha256:{sha256(person.ids[0].encode()).hexdigest()}"
            Audit(self._kv, self._clock.now).note(
                self._app.root, "erase", person=digest, records=sum(removed.values())
            )
        kept = dict.fromkeys(self._list_kept(person))
        for each in below:
            kept |= dict.fromkeys(each.kept)
            running = running or each.running
            for kind, count in each.removed.items():
                _add(removed, kind, count)
        return Erasure(removed, tuple(kept), running)

    @property
    def _board(self) -> Board:
        """The board of the root."""
        return Board(self._kv, self._app.root, self._clock.now)

    def _list_notes(self, person: PersonFound) -> list[tuple[int, Comment]]:
        """Return what a person said about tasks; the board is the root's."""
        return self._board.list_comments(person.ids) if self._app.is_root else []

    def _session(self, chat: str) -> str:
        return keys.session_of(self._app.name, chat)

    def _read_links(self) -> dict[str, Sequence[LinkedChat]]:
        begin = f"{keys.escape(self._app.name)}#"
        links: dict[str, Sequence[LinkedChat]] = {}
        for scope, _ in scan_all(self._kv, keys.memory_link("").partition, begin):
            links[scope] = self._app.links.list_chats(scope)
        return links

    def _watch_each(self, sessions: Sequence[str], what: str) -> Iterator[str]:
        """Yield the sessions, and tell how far it is after some of them."""
        for number, session in enumerate(sessions):
            if number % EVERY == 0:
                self._watch(f"looking through {what}: {number:,} of {len(sessions):,}")
            yield session

    def _list_records(self, person: PersonFound) -> Iterator[PersonalRecord]:
        """Yield the records that are the person's as a whole, links last."""
        chats = {self._session(chat): chat for chat in person.chats}
        for session in self._watch_each(sorted(chats), "private chats"):
            chat = chats[session]
            for partition in keys.list_session_partitions(session):
                yield from self._scan(partition, chat)
            yield from self._get(keys.list_session_items(session), chat)
            yield from self._list_stored(chat)
            if self._app.is_root:
                yield from self._get([keys.chat_binding(self._app.name, chat)], chat)
        yield from self._list_by_content(person, chats)
        for session in person.others:
            inboxes = [keys.inbox_event(group, "").partition for group in keys.list_groups(session)]
            heard = keys.overheard_message(session, 0).partition
            for partition in person.partitions.intersection((heard, *inboxes)):
                for record in self._scan(partition, _chat_of(session)):
                    if _find_sender(record.item.value) in person.ids:
                        yield record
            for record in self._scan_files(session, person):
                if str(_load(record.item.value).get("path")).startswith(f"{RECEIVED}/"):
                    yield record
        for scope in person.memories:
            for partition in keys.list_memory_partitions(scope):
                yield from self._scan(partition, _chat_of(scope))
        yield from self._list_of_ids(person)
        for scope in person.memories:
            yield from self._get(keys.list_memory_items(scope), _chat_of(scope))

    def _scan_files(self, scope: str, person: PersonFound) -> Iterator[PersonalRecord]:
        """Yield the records of files that were written on behalf of the person in a group."""
        files = keys.workspace_file(scope, "").partition
        versions = keys.workspace_version(scope, "", 0).partition
        for partition in person.partitions.intersection((files, versions)):
            for record in self._scan(partition, _chat_of(scope)):
                if _load(record.item.value).get("by") in person.ids:
                    yield record

    def _list_stored(self, chat: str) -> Iterator[PersonalRecord]:
        """Yield what capabilities stored for a chat."""
        first = keys.stored_home(self._app.make_caller(chat).own)
        for sort, item in list(scan_all(self._kv, first.partition, first.sort)):
            yield from self._scan(keys.stored_partition(sort), chat)
            yield PersonalRecord("stored", chat, Key(first.partition, sort), item)

    def _list_by_content(
        self, person: PersonFound, chats: Mapping[str, str]
    ) -> Iterator[PersonalRecord]:
        """Yield the dead letters, the traces, the runs with their chains, and the usage of their
        chats.
        """
        origins = set()
        for session in chats:
            origins.add(keys.mail(session, 0.0, "").partition)
            origins |= {
                keys.inbox_event(group, "").partition for group in keys.list_groups(session)
            }
        below = {each.agent for each in person.below}
        for record in self._scan(keys.dead_letter("").partition, ""):
            fields = _load(record.item.value)
            event = fields.get("event")
            if isinstance(event, dict):
                agent = str(event.get("agent"))
                # what was for an agent that is not there is the root's
                is_ours = agent == self._app.name or (
                    self._app.is_root
                    and keys.root_of(agent) == self._app.name
                    and agent not in below
                )
                by_them = _find_sender(record.item.value) in person.ids
                is_theirs = is_ours and (by_them or event.get("session") in person.chats)
            else:
                is_theirs = fields.get("partition") in origins
            if is_theirs:
                yield record
        for scope in (keys.escape(self._app.name), *person.others):
            for record in self._scan(keys.mail(scope, 0.0, "").partition, ""):
                if _load(record.item.value).get("by") in person.ids:
                    yield record
        for record in self._scan(keys.proposal(self._app.root, "").partition, ""):
            fields = _load(record.item.value)
            if fields.get("by") in person.ids and fields.get("agent") == self._app.name:
                yield record
        if self._app.is_root:
            for key in (keys.task(self._app.root, 0), keys.ended_task(self._app.root, 0)):
                for record in self._scan(key.partition, ""):
                    fields = _load(record.item.value)
                    home = str(fields.get("home", ""))
                    if fields.get("by") in person.ids or home in person.chats:
                        yield replace(record, chat=home)
        schedules = Schedules(self._kv, self._app.name)
        for schedule in list(schedules.scan()):
            if _wants(schedule, person.ids, person.chats):
                runs = keys.wakeup_run(self._app.name, schedule.id, 0.0)
                begin = f"{keys.escape(schedule.id)}#"
                yield from self._scan(runs.partition, schedule.session, begin)
                record_key = keys.wakeup(self._app.name, schedule.id)
                yield from self._get([record_key], schedule.session)
        if self._app.is_root:
            for key, hook in list(Hooks(self._kv, self._app.root).scan()):
                if _wants(hook, person.ids, person.chats):
                    yield from self._get([key], hook.session)
        for record in self._scan(keys.event_trace("").partition, ""):
            fields = _load(record.item.value)
            if fields.get("agent") == self._app.name and fields.get("session") in person.chats:
                yield replace(record, chat=str(fields["session"]))
        told = (keys.run(self._app.name, "", ""), keys.spent(self._app.name, "", ""))
        for record in chain.from_iterable(self._scan(key.partition, "") for key in told):
            fields = _load(record.item.value)
            if fields.get("session") in person.chats or fields.get("by") in person.ids:
                yield replace(record, chat=str(fields.get("session")))
        if self._app.is_root:
            for record in self._scan(keys.event_chain(self._app.root, "").partition, ""):
                if _load(record.item.value).get("by") in person.ids:
                    yield record
        usage = keys.session_usage(self._app.root, "", "").partition
        for record in self._scan(usage, ""):
            session = keys.session_of_group(keys.split_usage(record.key.sort)[1])
            if session in chats:
                yield replace(record, chat=chats[session])

    def _list_of_ids(self, person: PersonFound) -> Iterator[PersonalRecord]:
        """Yield what is kept by a person's id."""
        name = self._app.name
        for who in person.ids:
            yield from self._get(
                [
                    keys.person(name, who),
                    keys.known_person(name, who),
                    keys.first_owner_tries(name, who),
                    keys.link_tries(name, who),
                    keys.web_seen(name, who),
                ],
                "",
            )
        for record in self._scan(keys.private_chat(name, "").partition, ""):
            if _load(record.item.value).get("who") in person.ids:
                yield replace(record, chat=keys.unescape(record.key.sort))
        escaped = {keys.escape(who) for who in person.ids}
        for partition in (
            keys.pairing_request(name, "", "").partition,
            keys.daily_allowance(name, "", "").partition,
        ):
            for record in self._scan(partition, ""):
                if record.key.sort.rpartition("#")[2] in escaped:
                    yield record
        # the further ids that have the rights of one of these
        for record in self._scan(keys.person(name, "").partition, ""):
            if _load(record.item.value).get("same") in person.ids:
                yield record
        for record in self._scan(keys.link_request(name, "", "").partition, ""):
            if not escaped.isdisjoint(record.key.sort.split("#")):
                yield record
        for record in self._scan(keys.link_code(name, "").partition, ""):
            if _load(record.item.value).get("who") in person.ids:
                yield record
        for partition in (keys.web_login(name, "").partition, keys.web_code(name, "").partition):
            for record in self._scan(partition, ""):
                if _load(record.item.value).get("who") in person.ids:
                    yield record

    def _scan(self, partition: str, chat: str, begin: str = "") -> Iterator[PersonalRecord]:
        for sort, item in scan_all(self._kv, partition, begin):
            key = Key(partition, sort)
            if not _is_fence(key, item):
                yield PersonalRecord(_kind_of(key), chat, key, item)

    def _get(self, wanted: Iterable[Key], chat: str) -> Iterator[PersonalRecord]:
        for key in wanted:
            item = self._kv.get(key)
            if item:
                yield PersonalRecord(_kind_of(key), chat, key, item)

    def _decode(self, record: PersonalRecord) -> Json:
        """Return a record's value as JSON, None where it only leads to others."""
        kind = record.kind
        if kind in ("thing-index", "things"):
            return None
        session = record.key.partition.partition("#")[2]
        if kind == "session" and record.key == keys.session_head(session):
            opened = self._app.sessions.decode_head(session, record.item)
            if opened.unread is None:
                return orjson.loads(dumps(opened.document))
        if kind == "session" and record.key.sort.startswith(ARCHIVE):
            first = int(record.key.sort.removeprefix(ARCHIVE))
            return orjson.loads(dumps(self._app.sessions.load_archived(session, first)))
        if kind == "file":
            fields = _load(record.item.value)
            with suppress(BackendError):
                file = self._files.read_stored(record.key.sort, record.item.value)
                fields["base64"] = b64encode(file.body).decode()
            return fields
        if kind == "workspace-version":
            with suppress(BackendError):
                return self._decode_file_version(session, record.item.value)
        try:
            return orjson.loads(record.item.value)
        except ValueError:
            return {"base64": b64encode(record.item.value).decode()}

    def _decode_file_version(self, scope: str, value: bytes) -> dict[str, Json]:
        """Return a version of a file with its content, which is in Base64 where it is no text."""
        fields = _load(value)
        version = read_version(value)
        body = self._app.open_workspace(scope).read_body(version)
        if version.text is None and body:
            content = FileContent(version, body)
            fields["text"] = content.text
            if content.text is None:
                fields["base64"] = b64encode(body).decode()
        return fields

    def _list_messages(self, session: str) -> list[Message]:
        """Return all messages of a session, archived ones first, and what was said to its memory
        alone; none that cannot be read.
        """
        messages: list[Message] = []
        with suppress(BackendError):
            for _, chunk in self._app.sessions.scan_archive(session, 0, LAST):
                messages.extend(chunk)
            document = self._app.sessions.open(session).document
            messages.extend(document.messages)
            messages.extend(note for note in document.noted if note.content)
        return messages

    def _find_in_group(self, session: str, person: PersonFound) -> FoundInGroup:
        """Return what a person wrote in another chat, and what they told it to remember.

        In the private chat of somebody else they wrote nothing, and its memory is not theirs.
        """
        attachments = self._list_open_attachments(session, person)
        messages = self._list_messages(session)
        person = person.look_at(session)
        if not any(names_sender(message) or _is_theirs(message, person) for message in messages):
            return FoundInGroup(attachments=attachments)
        things: list[Thing] = []
        if keys.thing(session, "").partition in person.partitions:
            things = self._list_things(session, person)
        history: list[str] = []
        for entry in self._list_raw_entries(session, person):
            _, *parts = transcript.split_messages(entry.text)
            told = _list_told(entry, messages)
            if len(parts) == len(told):
                pairs = zip(parts, told, strict=True)
                history += [part for part, message in pairs if _is_theirs(message, person)]
        return FoundInGroup(
            tuple(message for message in messages if _is_theirs(message, person)),
            tuple(things),
            tuple(history),
            attachments,
        )

    def _list_open_attachments(
        self, session: str, person: PersonFound
    ) -> tuple[Mapping[str, object], ...]:
        """Return the attachments of a person's messages that a turn in progress answers."""
        with suppress(BackendError):
            turn = self._app.sessions.open(session).document.turn
            events = turn.events if turn else ()
            by_them = [event for event in events if event.sender.id in person.ids]
            return tuple(file for event in by_them for file in event.attachments)
        return ()

    def _list_raw_entries(self, session: str, person: PersonFound) -> list[HistoryEntry]:
        """Return the entries of HISTORY that have messages word for word."""
        if keys.history_entry(session, 0).partition not in person.partitions:
            return []
        return [entry for entry in History(self._kv, session).scan() if entry.raw]

    def _list_things(self, scope: str, person: PersonFound) -> list[Thing]:
        """Return what a person told in a group, or let all chats share."""
        things = Things(self._kv, scope, self._app.helpers.terms)
        return [thing for thing in things.scan() if thing.by in person.ids]

    def _list_documents(
        self, person: PersonFound, *, erasing: bool = False
    ) -> list[tuple[KnowledgeBase, StoredDocument]]:
        """Return the documents that a person has added to the knowledge bases, that of the team
        with those of the root. `erasing`: also those that are not whole, and what an interrupted
        removal left is removed.
        """
        found = []
        for base in self._list_knowledge_bases():
            if erasing:
                base.sweep()
            for document in base.scan_all_records():
                if document.record.by in person.ids and (erasing or document.record.is_there):
                    found.append((base, document))
        return found

    def _list_earlier_versions(
        self, person: PersonFound
    ) -> list[tuple[KnowledgeBase, DocumentVersion]]:
        """Return the versions by a person of documents in the knowledge bases that say something
        else by now.
        """
        return [
            (base, version)
            for base in self._list_knowledge_bases()
            for version in base.scan_earlier()
            if version.record.by in person.ids
        ]

    def _list_knowledge_bases(self) -> list[KnowledgeBase]:
        own = [self._app.open_knowledge("agent")]
        return [*own, self._app.open_knowledge("team")] if self._app.is_root else own

    def _fence(self, session: str, person: PersonFound, removed: dict[str, int]) -> None:
        """Put a mark in the place of a conversation, and let its running turn stop.

        No turn that was opened before can save any more, and no event of before runs again. What
        is beside the conversation can still be found from it.
        """
        item = self._kv.get(keys.session_head(session))
        now = self._clock.now()
        if item:
            with suppress(BackendError):
                turn = self._app.sessions.decode_head(session, item).document.turn
                if turn:
                    write_mark(self._kv, session, StopMark(turn.event.id))
            if not _is_fence(keys.session_head(session), item):
                _add(removed, KINDS["session"])
            bodies = find_bodies(item.value)
            if bodies:
                noted = orjson.dumps({"spilled": {name: name for name in bodies}})
                self._kv.put(keys.unreadable_session(session, "erasing"), noted)
        fence = Document(erased={hash_person(who): now for who in person.ids})
        self._kv.put(keys.session_head(session), encode_document(fence), ttl=keys.SEEN_TTL)

    def _wait_for_turns(self, sessions: Sequence[str]) -> bool:
        """Wait until no worker works on these sessions; False when one still does."""
        until = self._clock.monotonic() + self._patience
        groups = [group for session in sessions for group in keys.list_groups(session)]
        while any(map(self._is_claimed, groups)):
            if self._clock.monotonic() >= until:
                return False
            self._watch("waiting for a running turn to end")
            self._clock.pause(LOOK_SECONDS)
        return True

    def _is_claimed(self, session: str) -> bool:
        item = self._kv.get(keys.session_claim(session))
        return item is not None and _is_valid(item)

    def _erase_records(self, person: PersonFound, removed: dict[str, int]) -> None:
        """Delete what is the person's as a whole, and the bodies beside it.

        The conversation itself is fenced by now: what is there came later.
        """
        bodies: set[str] = set()
        naming: list[PersonalRecord] = []
        for record in self._list_records(person):
            if record.key.sort == "head" or (record.kind == "claim" and _is_valid(record.item)):
                continue
            if record.kind == "private-chat":
                continue  # it tells whose the rest is, so it goes after all that
            if record.kind in ("session", "aside"):
                bodies.update(find_bodies(record.item.value))
                naming.append(record)  # it names the bodies, so it goes after them
                continue
            if record.kind == "file":
                self._files.remove(record.key, record.item.value)
            elif record.kind == "workspace-version":
                self._drop_file_version(record)
            else:
                self._kv.delete(record.key)
            _add(removed, KINDS[record.kind])
        self._erase_bodies(bodies, removed, naming)
        for record in naming:
            self._kv.delete(record.key)
            _add(removed, KINDS[record.kind])

    def _forget_private_chats(self, person: PersonFound, removed: dict[str, int]) -> None:
        """Forget which chats are a person's. One that others have come into stays a group."""
        if not self._app.is_root:
            return

        def erase_title(value: bytes | None) -> tuple[bytes | None, None]:
            fields = _load(value or b"")
            return (orjson.dumps({**fields, "title": ""}) if fields.get("title") else None), None

        for record in self._scan(keys.session_usage(self._app.root, "", "").partition, ""):
            # the title is the first words of an owner's private chat
            if keys.split_usage(record.key.sort)[1] in person.left:
                update(self._kv, record.key, erase_title)
        for chat, known in list(self._app.private_chats.scan()):
            if known.who in person.ids:
                self._app.private_chats.forget(chat, known.who)
                _add(removed, KINDS["private-chat"])

    def _drop_file_version(self, record: PersonalRecord) -> None:
        scope = record.key.partition.partition("#")[2]
        try:
            version = read_version(record.item.value)
        except BackendError:  # a damaged record names no artifact
            self._kv.delete(record.key)
        else:
            self._app.open_workspace(scope).drop_version(version)

    def _erase_in_group(
        self, session: str, person: PersonFound, removed: dict[str, int]
    ) -> set[str]:
        """Take a person's words out of a group; return the names of bodies that had them."""
        sessions = self._app.sessions
        person = person.look_at(session)
        if self._find_in_group(session, person).things:
            self._drop_things(session, person, removed)
        # what an entry has of whom is known from the messages that it tells of
        self._erase_in_history(session, person, removed)
        bodies: set[str] = set()
        change = partial(_erase_words_of, person=person)
        for first, chunk in sessions.scan_archive(session, 0, LAST):
            if any(change(message) != message for message in chunk):
                bodies.update(sessions.rewrite_archived(session, first, change))
                _add(removed, MESSAGES, sum(_is_theirs(message, person) for message in chunk))
        item = self._kv.get(keys.session_head(session))
        if item is None:
            return bodies

        def rewrite() -> tuple[bool, int]:
            opened = sessions.open(session)
            document = self._erase_in_document(opened, person)
            document = replace(document, ledger=self._forget_in_ledger(document.ledger, person))
            if opened.unread is not None or document == opened.document:
                return False, 0
            sessions.save(opened, document)
            said = (*opened.document.messages, *opened.document.noted)
            return True, sum(_is_theirs(message, person) for message in said)

        is_changed, count = retry_conflicts(rewrite)
        _add(removed, MESSAGES, count)
        if is_changed:
            bodies.update(find_bodies(item.value))
        return bodies

    def _erase_waiting_quotes(self, person: PersonFound, removed: dict[str, int]) -> None:
        """Take a person's words out of what others quote in events that wait or were given up.

        A turn would bring them into its chat again.
        """
        groups = [group for session in person.others for group in keys.list_groups(session)]
        inboxes = {keys.inbox_event(group, "").partition for group in groups}
        places = sorted(person.partitions & inboxes)
        for partition in (*places, keys.dead_letter("").partition):
            for sort, item in scan_all(self._kv, partition):
                fields = _load(item.value)
                event = fields.get("event")
                is_ours = isinstance(event, dict) and event.get("agent") == self._app.name
                if is_ours and _erase_stored_quotes(item.value, person):
                    decide = partial(_decide_on_quotes, person=person)
                    _add(removed, MESSAGES, update(self._kv, Key(partition, sort), decide))

    def _erase_in_history(self, session: str, person: PersonFound, removed: dict[str, int]) -> None:
        """Take a person's words out of the entries that have messages word for word."""
        entries = self._list_raw_entries(session, person)
        messages = self._list_messages(session) if entries else []
        for entry in entries:
            head, *parts = transcript.split_messages(entry.text)
            told = _list_told(entry, messages)
            erased = [_erase_words_of(message, person) for message in told]
            if erased == told:
                continue
            if len(parts) == len(told):
                for place, (before, after) in enumerate(zip(told, erased, strict=True)):
                    if before != after:
                        stamp = parts[place].partition("]")[0]
                        rest = transcript.format_message(after).partition("]")[2]
                        parts[place] = f"{stamp}]{rest}"
            else:
                parts = [ERASED]
            text = "\n".join((head, *parts))
            if text != entry.text:
                History(self._kv, session).replace_text(entry, text)
                _add(removed, KINDS["history"])

    def _erase_in_document(self, opened: SessionHandle, person: PersonFound) -> Document:
        """Return a group's document without a person's words; their events are not taken again."""
        document = opened.document
        messages = tuple(_erase_words_of(message, person) for message in document.messages)
        noted = tuple(_erase_words_of(note, person) for note in document.noted)
        turn = document.turn
        if turn:
            gathered = [
                replace(each, event=_erase_event(each.event, person)) for each in turn.gathered
            ]
            turn = replace(
                turn,
                event=_erase_event(turn.event, person),
                gathered=tuple(gathered),
                payer="" if turn.payer in person.ids else turn.payer,
            )
        posts = tuple(post for post in document.posts if post.behalf not in person.ids)
        changed = replace(document, messages=messages, noted=noted, turn=turn, posts=posts)
        if changed == document:
            return document
        now = self._clock.now()
        marks = {hash_person(who): now for who in person.ids}
        return replace(changed, erased={**document.erased, **marks})

    def _forget_in_ledger(self, end: LedgerChain, person: PersonFound) -> LedgerChain:
        """Return the end of a chain, without its salt where an entry names the person: the entries
        stay, and nobody can find out any more whom they name.
        """
        if not end.salt:
            return end
        hashes = {hash_name(name, end.salt) for name in (*person.ids, *person.chats)}
        waiting = dumps(end).decode()
        is_named = any(each in waiting for each in hashes)
        if not is_named and not Ledger(self._kv, self._app.name).mentions(end.name, hashes):
            return end
        return end.forget_names()

    def _drop_things(self, scope: str, person: PersonFound, removed: dict[str, int]) -> None:
        things = Things(self._kv, scope, self._app.helpers.terms)
        for thing in self._list_things(scope, person):
            things.drop(thing.id)
            _add(removed, KINDS["thing"])

    def _erase_bodies(
        self,
        bodies: set[str],
        removed: dict[str, int],
        gone: Sequence[PersonalRecord] = (),
    ) -> None:
        """Remove bodies that no session names any more, without those in `gone`."""
        if not bodies:
            return
        self._watch("looking for large bodies that others use as well")
        ignored = {record.key for record in gone}
        left = set(bodies)
        for partition in list_partitions(self._kv):
            if partition.partition("#")[0] not in ("session", "aside"):
                continue
            for sort, item in scan_all(self._kv, partition):
                if Key(partition, sort) not in ignored:
                    left.difference_update(find_bodies(item.value))
        for name in sorted(left):
            self._artifacts.delete(name)
            _add(removed, BODIES)

    def _changed_agent(self, person: PersonFound) -> bool:
        """Return whether a document of the agent, or an earlier version, names the person."""
        agent = self._app.documents.agent
        files = (keys.workspace_file(agent, ""), keys.workspace_version(agent, "", 0))
        partitions = [*keys.list_memory_partitions(agent), *(key.partition for key in files)]
        for partition in partitions:
            for _, item in scan_all(self._kv, partition):
                if _load(item.value).get("by") in person.ids:
                    return True
        return False

    def _decided_for_others(self, person: PersonFound) -> bool:
        """Return whether what an owner decided names the person: who may talk, who listens, and
        which agent answers in a chat.
        """
        if any(known.by in person.ids for known in self._app.people.list_members()):
            return True
        bindings = scan_bindings(self._kv, self._app.root)
        if any(chat not in person.chats and bound.by in person.ids for chat, bound in bindings):
            return True
        marks = self._scan(keys.listening("").partition, "")
        return any(
            record.key.sort in person.others and _load(record.item.value).get("by") in person.ids
            for record in marks
        )

    def _list_kept(self, person: PersonFound) -> tuple[str, ...]:
        """Return what stays after an erasure, a sentence each."""
        kept = []
        if person.chats:
            kept.append(
                "a mark without content in each private chat, for 8 days: no event from before"
                " brings anything back"
            )
        made = []
        for chat in person.chats:
            own = self._app.make_caller(chat).own
            made += [sort for sort, _ in scan_all(self._kv, keys.capability(own, "").partition)]
            if self._kv.get(keys.owner_lock(self._session(chat))):
                kept.append(f"an owner's halt of {chat}")
        if made:
            names = ", ".join(sorted(set(made)))
            kept.append(f"capabilities that were made in these chats: {names}")
        for scope in person.kept_memories:
            kept.append(f"a memory that {_chat_of(scope)} left to other chats")
        if self._changed_agent(person):
            kept.append("their id, where they changed the agent's documents or files as an owner")
        if self._decided_for_others(person):
            kept.append(
                "their id, where they let others in, or chose who answers or listens in a group"
            )
        named = [who for who in person.ids if who in self._app.rules.owners]
        if named:
            kept.append(f"UNCAGED_OWNERS, which names {', '.join(named)}")
        if any(True for scope in person.others for _ in self._scan_files(scope, person)):
            kept.append("files of groups that the agent wrote for them, with their id")
        kept.append("values that capabilities of the agent stored, which belong to no chat")
        kept.append("the audit, with hashes of what was deployed, and totals of tokens")
        if person.others:
            kept.append("answers and summaries in groups, which the agent wrote")
            kept.append("files that tools returned in groups, for a week at most")
        return tuple(kept)


def _is_heartbeat(work: Schedule | Hook) -> bool:
    return isinstance(work, Schedule) and work.heartbeat


def _wants(work: Schedule | Hook, ids: Collection[str], chats: Collection[str]) -> bool:
    """Return whether a schedule or a hook was made by somebody, or for a chat of theirs."""
    return work.by in ids or work.session in chats


def _is_theirs(message: Message, person: PersonFound) -> bool:
    if any(is_by(message, who) for who in person.ids):
        return True
    is_unnamed = message.role == "user" and message.origin == person.unnamed_origin != ""
    return is_unnamed and not message.by and message.content != ERASED


def _erase_words_of(message: Message, person: PersonFound) -> Message:
    if _is_theirs(message, person) and not names_sender(message):
        return replace(message, content=ERASED)
    for who in person.ids:
        message = erase_words(message, who)
    return message


def _erase_event(event: Event, person: PersonFound) -> Event:
    """Return an event of a turn in progress without what a person wrote."""
    if event.behalf in person.ids:
        return replace(event, text="", quotes=(), attachments=(), sender=NOBODY, data={})
    quotes = [
        replace(quote, text=ERASED, author="", by="", files=()) if quote.by in person.ids else quote
        for quote in event.quotes
    ]
    return replace(event, quotes=tuple(quotes))


def _decide_on_quotes(value: bytes | None, person: PersonFound) -> tuple[bytes | None, int]:
    """Return the record of an event without what it quotes of a person, and 1 where that is new."""
    changed = _erase_stored_quotes(value, person) if value else b""
    return changed or None, int(bool(changed))


def _erase_stored_quotes(value: bytes, person: PersonFound) -> bytes:
    """Return the record of an event without what it quotes of a person; empty for no such quote.

    What another version wrote beside it stays.
    """
    fields = _load(value)
    event = fields.get("event")
    quotes = event.get("quotes") if isinstance(event, dict) else None
    if not isinstance(event, dict) or not isinstance(quotes, list):
        return b""
    is_changed = False
    for quote in quotes:
        if isinstance(quote, dict) and quote.get("by") in person.ids:
            quote.update(text=ERASED, author="", by="", length=len(ERASED))
            quote.pop("files", None)
            is_changed = True
    return orjson.dumps(fields) if is_changed else b""


def _list_told(entry: HistoryEntry, messages: Sequence[Message]) -> list[Message]:
    """Return those of the messages of which an entry tells, in their order."""
    told = {
        message.seq: message
        for message in messages
        if entry.first <= message.seq <= entry.last and message.origin != RUNTIME_ORIGIN
    }
    return [told[number] for number in sorted(told)]


def _is_valid(claim: Item) -> bool:
    """Return whether a worker may work under this lease."""
    until = _load(claim.value).get("until")
    return isinstance(until, int | float) and until > SYSTEM.now()


def _is_fence(key: Key, item: Item) -> bool:
    """Return whether a record is the mark of an erasure, which stays."""
    if key.sort != "head":
        return False
    fields = _load(item.value)
    erased = fields.get("erased")
    if not isinstance(erased, dict):
        return False
    return bool(fields == orjson.loads(dumps(Document(erased=erased))))


def _kind_of(key: Key) -> str:
    return key.partition.partition("#")[0]


def _chat_of(scope: str) -> str:
    """Return the chat of a session's S, or of the scope of a memory."""
    return keys.unescape(scope.split("#")[1])


def _find_sender(value: bytes) -> str:
    """Return the id of the person behind a stored event or message, empty where there is none.

    That is its sender, or the person on whose behalf the agent works by itself.
    """
    fields = _load(value)
    event = fields.get("event", fields)
    behalf = event.get("by") if isinstance(event, dict) else None
    if isinstance(behalf, str) and behalf:
        return behalf
    sender = event.get("sender") if isinstance(event, dict) else None
    found = sender.get("id") if isinstance(sender, dict) else None
    return found if isinstance(found, str) else ""


def _load(value: bytes) -> dict[str, Json]:
    try:
        fields = orjson.loads(value)
    except ValueError:
        return {}
    return fields if isinstance(fields, dict) else {}


def _add(counts: dict[str, int], kind: str, count: int = 1) -> None:
    if count:
        counts[kind] = counts.get(kind, 0) + count
