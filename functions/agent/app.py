"""An app is one agent: the store, the model, the registry and the rules that its turns work with.

The wiring makes it once for a process.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from typing import Literal, Protocol

from functions.agent.access.daily_limits import Allowances
from functions.agent.access.first_owner import OwnerClaim
from functions.agent.access.links import Links
from functions.agent.access.members import People
from functions.agent.access.pairing import Pairing
from functions.agent.access.private_chats import PrivateChats
from functions.agent.access.roles import Role, Rules
from functions.agent.agents.bundle import shorten_names
from functions.agent.agents.identity import TeamIdentity, make_identity
from functions.agent.agents.lifecycle import AGENTS_MOST, make_first_self
from functions.agent.agents.record import AgentRecord
from functions.agent.behaviours.behaviour import (
    PREFIX,
    TEAM_SERVICES,
    Behaviour,
    is_behaviour_name,
    limit_trial,
    parse_behaviour,
)
from functions.agent.behaviours.built_in import BUILT_IN, ON_MESSAGE
from functions.agent.context import (
    PREAMBLE_SHARE,
    Preamble,
    build_preamble,
    count_available_tokens,
    count_overhead,
)
from functions.agent.conversation.compaction import Strategy, load_strategy
from functions.agent.knowledge.knowledge_base import KnowledgeBase
from functions.agent.knowledge.search import Scope
from functions.agent.memory.documents import FIRST, Documents
from functions.agent.memory.helpers import ServiceHelpers
from functions.agent.memory.joining import Memories
from functions.agent.memory.outline import Outline
from functions.agent.model.base import Failure, Model
from functions.agent.policy.act import make_actor
from functions.agent.policy.document import list_policy_keys, open_versions, read_policies
from functions.agent.policy.gate import Gate
from functions.agent.policy.proposals import Proposals
from functions.agent.policy.rules import Policy
from functions.agent.safety.breakers import Breakers, make_breakers
from functions.agent.safety.budget import SafetyLimits, find_period_end
from functions.agent.safety.guides import Guide, load_guide
from functions.agent.safety.hp import HpAccount, HpLimits, load_account
from functions.agent.schedules.chat_schedules import ChatSchedules
from functions.agent.schedules.schedule import Schedules
from functions.agent.session.document import Document
from functions.agent.session.store import Sessions
from functions.agent.skills.catalog import decode_head
from functions.agent.skills.search import SkillSearch
from functions.agent.skills.skills import Skills
from functions.agent.workspace.files import Workspace
from functions.channels.platforms import find_command_sign
from functions.prices import DOLLARS
from functions.time import time_zone, weather
from functions.time.clock import SYSTEM, Clock
from functions.time.stamp import TEMPLATE, Stamp
from sigil.builtin_tools import DEPLOY
from sigil.errors import BackendError, UsageError, one_line
from sigil.protocol import LIBRARY, Caller, Registry
from sigil.storage.artifacts import Artifacts, MemoryArtifacts
from sigil.storage.evolve import evolve
from sigil.storage.kv import ABSENT, KV, Item, Key, keys
from sigil.storage.kv.base import Read, get_many

CALLERS = 16
FAILURES_MOST = 100


@dataclass(frozen=True, slots=True)
class TurnStep:
    """A step that a turn just took, for a terminal or a log; it took `ms` milliseconds.

    With `ask` the model is about to be asked, and `words` are those of its answer while they come.
    Words of which `facts` say `anew` take back those before them since the last `ask`. The text of
    `save` is the version of the session's document that was saved.
    """

    kind: Literal[
        "open",
        "ask",
        "words",
        "request",
        "call",
        "progress",
        "answer",
        "load",
        "evict",
        "save",
        "note",
    ]
    name: str = ""
    text: str = ""
    ms: float = 0.0
    error: str = ""
    facts: Mapping[str, object] = field(default_factory=dict)


Watch = Callable[[TurnStep], None]


class WordsWatch(Protocol):
    """A watch that wants the words of an answer while they come, as long as `hears_words` is true;
    any other watch wants none.
    """

    @property
    def hears_words(self) -> bool: ...

    def __call__(self, step: TurnStep) -> None: ...


class SharesWords(WordsWatch, Protocol):
    """A watch that lets pages of other processes have the words, and then wants them as well."""

    def share_words(self, find_watcher: Callable[[], str], event: str, head: str) -> None:
        """Share the next answer, to an event, with the process that `find_watcher` names at each
        moment, empty for none; `head` is the version of the document that the answer goes on from.
        """


def hears_words(watch: Watch) -> bool:
    """Return whether a watch is a `WordsWatch` that wants words now."""
    return getattr(watch, "hears_words", False)


def ignore_step(step: TurnStep) -> None:
    """Do nothing with the step: nobody watches."""


def keep_text(text: str) -> str:
    """Return the text: there is no secret to take out of it."""
    return text


def list_none() -> frozenset[str]:
    """Return no name: nothing here knows which agents are at work."""
    return frozenset()


def wake_nobody() -> None:
    """Do nothing: no scheduler runs in this process."""


@dataclass(frozen=True, slots=True)
class App:
    """One agent: the root of the settings, or one below it, whose name has the root's before a dot.
    Stamps are times of `clock.now`, deadlines of `clock.monotonic`.

    `started` is the monotonic time at which its process began, 0.0 where nobody knows; `version`
    tells that of the software. `failures` are those of its model, each with its session (S of the
    keys), until an alert has told the people who look after the agent.
    """

    name: str
    kv: KV
    sessions: Sessions
    model: Model
    registry: Registry
    rules: Rules = field(default_factory=Rules)
    clock: Clock = SYSTEM
    turn_seconds: float = 120.0
    started: float = 0.0
    version: Callable[[], str] = lambda: ""
    run_days: float = 90.0
    """For so many days it is kept what its turns did."""
    look_seconds: float = 0.25
    """A turn relies for so long on what it last read about halts, stops and the budget. It reads
    them again before it acts on the model's answer. With 0 it reads them before every request and
    call, and writes down what it spent after each.
    """
    guide: Guide = field(default_factory=lambda: load_guide("default"))
    limits: SafetyLimits = SafetyLimits()
    hp: HpLimits = HpLimits()
    """What it may do by itself."""
    record: AgentRecord | None = None
    """What is stored of it; None for the root."""
    agents_most: int = AGENTS_MOST
    """So many agents there may be below the root; 0 for no limit."""
    strategy: Strategy = field(default_factory=lambda: load_strategy("window"))
    helpers: ServiceHelpers = field(default_factory=ServiceHelpers)
    skill_search: SkillSearch = field(default_factory=SkillSearch)
    """Searches the skills of the agents of this process."""
    stamp: str = TEMPLATE
    """The template of the stamp above each message."""
    currency: str = DOLLARS
    """In which money the model's tokens are paid."""
    redact: Callable[[str], str] = keep_text
    """Takes the secrets of the settings out of a text that is sent."""
    may_listen: bool = True
    """Whether the webhook can keep what people of a group say to each other."""
    artifacts: Artifacts = field(default_factory=MemoryArtifacts)
    """Where the large files of its workspace are."""
    failures: deque[tuple[str, Failure]] = field(
        default_factory=lambda: deque(maxlen=FAILURES_MOST)
    )
    wake_scheduler: Callable[[], None] = wake_nobody
    """Lets the scheduler of this process look anew at what is due."""
    list_working: Callable[[], Collection[str]] = list_none
    """Returns the full names of the agents of its root that have a turn in progress."""
    team_idle: float = 60.0
    """A teammate of its team that was idle for so many seconds has shut down; 0 for never."""
    pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(CALLERS, thread_name_prefix="call")
    )
    background_pool: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(CALLERS, thread_name_prefix="background-call")
    )
    """The threads for the tool calls of what it does by itself: no chat's call waits for them."""

    @property
    def root(self) -> str:
        """Return the name of the agent whose people, channels and budget it shares: its own for
        the agent of the settings.
        """
        return keys.root_of(self.name)

    @property
    def short_name(self) -> str:
        """Return the name by which people know it: what is behind the dot, or the whole."""
        return self.name.rpartition(".")[2]

    @property
    def is_root(self) -> bool:
        """Return whether it is the agent of the settings."""
        return self.name == self.root

    @property
    def is_teammate(self) -> bool:
        """Return whether it finds its own work on the task board of its team."""
        return self.record is not None and self.record.kind == "teammate"

    @property
    def identity(self) -> TeamIdentity | None:
        """Return who it is in its team; None for an agent that is no teammate."""
        if self.record is None or not self.is_teammate:
            return None
        return make_identity(self.root, self.short_name, self.record.role)

    @property
    def bundle(self) -> tuple[str, ...]:
        """Return the capabilities that it reaches, as NAMESPACE/NAME; empty for all that the root's
        chats reach. Those of a teammate come with the services of its team.
        """
        found = self.record.bundle if self.record else ()
        if found and self.is_teammate:
            return (*found, *(f"{LIBRARY}/{name}" for name in TEAM_SERVICES))
        return found

    @property
    def documents(self) -> Documents:
        """Return the documents of the agent and of its chats."""
        first = FIRST
        if self.record is None or self.record.kind == "agent":
            first = _make_first_documents(self.name)
        return Documents(self.kv, self.name, self.clock.now, first=first)

    @property
    def skills(self) -> Skills:
        """Return its skills."""
        return Skills(self.kv, self.name, self.clock.now)

    @property
    def policy_versions(self) -> Documents:
        """Return the versions of its policy."""
        return open_versions(self.kv, self.name, self.clock.now)

    def load_policies(self) -> tuple[Policy, ...]:
        """Return the policies that bind it, as they are stored now."""
        return read_policies(get_many(self.kv, list_policy_keys(self.name)))

    @property
    def proposals(self) -> Proposals:
        """Return what its owners are asked to approve, with that of the agents below the root."""
        return Proposals(self.kv, self.root, self.clock.now)

    def make_gate(
        self, policies: tuple[Policy, ...], role: Role, *, private: bool, own_work: bool = False
    ) -> Gate:
        """Return the gate for what is done on behalf of somebody with this role.

        `private`: nobody else writes there; `own_work`: nobody typed it.
        """
        below_root = not self.is_root
        actor = make_actor(role, private=private, own_work=own_work, below_root=below_root)
        bundle = None
        if self.bundle:
            bundle = frozenset(shorten_names(self.bundle))
        has_wallet = not (self.record and self.record.kind == "subagent")
        gate = Gate(policies, actor, self.load_policies)
        return evolve(gate, bundle=bundle, has_wallet=has_wallet)

    @property
    def people(self) -> People:
        """Return the people who may talk to it."""
        return People(self.kv, self.root, self.rules, self.clock.now)

    @property
    def private_chats(self) -> PrivateChats:
        """Return what is known of whose the chats of its channels are."""
        return PrivateChats(self.kv, self.root, self.clock.now)

    @property
    def pairing(self) -> Pairing:
        """Return the codes that let people in."""
        return Pairing(self.kv, self.root, self.people, self.clock.now)

    @property
    def claim(self) -> OwnerClaim:
        """Return the code that makes the first owner."""
        return OwnerClaim(self.kv, self.root, self.people, self.clock.now)

    @property
    def links(self) -> Links:
        """Return the links between the chats of one person."""
        return Links(self.kv, self.name, self.clock.now)

    @property
    def schedules(self) -> Schedules:
        """Return its schedules."""
        return Schedules(self.kv, self.name, self.wake_scheduler)

    def open_chat_schedules(
        self, session: str, agents: Sequence[str] | None = None
    ) -> ChatSchedules:
        """Return what is scheduled in a chat, of all agents. `agents` are those that the chat's
        binding names, where it was just read.
        """
        return ChatSchedules(self.kv, self.name, session, self.wake_scheduler, agents)

    @property
    def memories(self) -> Memories:
        """Return the memories of its chats."""
        return Memories(self.kv, self.documents, self.helpers.terms)

    def open_knowledge(self, scope: Scope) -> KnowledgeBase:
        """Return its own knowledge base, or the one of its team: the root and all agents below."""
        name = keys.team_of(self.root) if scope == "team" else keys.escape(self.name)
        return KnowledgeBase(self.kv, name, self.helpers.ranker, self.clock.now)

    def open_workspace(self, scope: str) -> Workspace:
        """Return the files of the agent (its `escape`d name), or of a chat with it (an S)."""
        return Workspace(self.kv, self.artifacts, scope, self.clock.now)

    @property
    def zone(self) -> str:
        """Return the time zone of the settings."""
        return self.limits.zone

    def load_hp(self) -> HpAccount:
        """Return its HP, as they are stored now."""
        return load_account(self.kv, self.name, self.hp, self.clock.now())

    def make_allowances(self, zone: str) -> Allowances:
        """Return the daily limits of its people, by the days of a time zone."""
        return Allowances(self.kv, self.root, self.rules, self.clock.now, zone)

    def name_chat(self, session: str) -> str:
        """Return the S of a chat as the channels know it, which is that of the root's session."""
        return keys.session_of(self.root, session)

    def make_caller(self, session: str, *, owner: bool = False) -> Caller:
        """Return the caller of the registry in a session.

        An agent below the root reaches what the root's chats reach, and never deploys for the root:
        what it makes is in a namespace of its session alone.
        """
        if self.is_root:
            return Caller(self.name, session, owner, "model")
        caller = Caller(self.root, keys.join_session(session, self.name), author="model")
        if not self.bundle:
            return caller
        reached = [name for name in self.bundle if name != DEPLOY]
        if DEPLOY in self.bundle:
            reached.append(f"{caller.own}/*")
        return replace(caller, only=tuple(reached))

    def find_zone(self, document: Document) -> str:
        """Return the time zone of a chat."""
        return document.zone or self.zone

    def make_stamp(self, document: Document) -> Stamp:
        """Return how the messages of a chat are stamped."""
        stamp = Stamp(self.stamp, self.find_zone(document))
        if not stamp.shows_weather:
            return stamp
        try:
            reports = weather.read_reports(self.kv, self.root)
        except BackendError:  # the weather is no reason to fail
            return stamp
        return replace(stamp, find_weather=partial(weather.find_weather, reports))

    def describe_reset(self, document: Document) -> str:
        """Return the time at which the budget starts again, for the people of a chat."""
        now = self.clock.now()
        end = find_period_end(now, self.limits)
        return time_zone.format_clock(end, self.find_zone(document), now)

    def find_behaviour(self, name: str, known: Read | None = None) -> Behaviour | None:
        """Return one of its behaviours; None when there is none of this name that can be read.

        A built-in one stands in where somebody's own cannot be read. One that the agent has written
        itself is on trial. `known` is its document as it was just read; without it that is read.
        """
        if not is_behaviour_name(name):
            return None
        document = f"{PREFIX}{name}"
        if known is None:
            known = self.kv.get(keys.document(self.documents.agent, document)) or ABSENT
        if known is not ABSENT:
            written = self.documents.decode_behaviour(document, known)
            with suppress(UsageError):
                behaviour = parse_behaviour(name, written.text)
                return limit_trial(behaviour) if written.by == self.name else behaviour
        with suppress(UsageError):
            return parse_behaviour(name, "")
        return None

    def require_behaviour(self, name: str) -> Behaviour:
        """Return one of its behaviours; `UsageError` ENOENT when there is none of this name."""
        behaviour = self.find_behaviour(name)
        if behaviour is None:
            raise UsageError(
                "ENOENT",
                f"there is no behaviour {one_line(name, 40)!r}",
                suggestion=f"there are {', '.join(self.list_behaviours())}",
            )
        return behaviour

    def list_behaviours(self) -> list[str]:
        """Return the names of its behaviours."""
        written = {doc.name.removeprefix(PREFIX) for doc in self.documents.list_behaviours()}
        return [name for name in sorted({*BUILT_IN, *written}) if self.find_behaviour(name)]

    def list_preamble_keys(self, memory: str, behaviour: str = ON_MESSAGE) -> list[Key]:
        """Return the keys of what the system message is made from, in a chat with this memory.

        `memory` is its scope, mostly the chat's own S. Work of the agent's own has another
        `behaviour`, which its briefing says.
        """
        documents = self.documents
        return [
            *self._outline(memory).list_keys(),
            *documents.list_keys(memory),
            keys.document(documents.agent, f"{PREFIX}{behaviour}"),
            keys.skill_head(documents.agent),
        ]

    def build_preamble(
        self,
        memory: str,
        items: Sequence[Item | None] | None = None,
        *,
        own: bool = False,
        chat: str = "",
    ) -> Preamble:
        """Return the system message in a `chat` whose memory has this scope, mostly the chat's own
        S.

        `items` were just read at `list_preamble_keys`; without them they are read. In the agent's
        `own` work the behaviour is said by its briefing, and in a chat the prompt of `on_msg`
        stands in the system message once somebody has written it.
        """
        if items is None:
            items = get_many(self.kv, self.list_preamble_keys(memory))
        outline = self._outline(memory)
        totals = len(outline.list_keys())
        *written, on_message, skills = items
        behaviour = "" if own or not on_message else self.read_behaviour(ON_MESSAGE, on_message)
        return build_preamble(
            self.short_name,
            self.documents.decode_for_prompt(memory, written[totals:]),
            self.model.window * PREAMBLE_SHARE,
            outline.write(written[:totals]),
            behaviour=behaviour,
            own=own,
            skills=decode_head(skills),
            identity=self.identity,
            sign=find_command_sign(chat),
        )

    def find_briefed(self, name: str, items: Sequence[Item | None]) -> Behaviour | None:
        """Return the behaviour of work of the agent's own, as `find_behaviour` does. `items` were
        just read at `list_preamble_keys` of this behaviour.
        """
        return self.find_behaviour(name, items[-2] or ABSENT)

    def read_behaviour(self, name: str, item: Item | None = None) -> str:
        """Return the prompt of a behaviour as somebody has written it; empty for a built-in one, or
        when it cannot be read.

        `item` was just read of its document; without it that is read.
        """
        document = f"{PREFIX}{name}"
        item = item or self.kv.get(keys.document(self.documents.agent, document))
        text = self.documents.decode_behaviour(document, item).text if item else ""
        with suppress(UsageError):
            return parse_behaviour(name, text).prompt if text else ""
        return ""

    def _outline(self, memory: str) -> Outline:
        return Outline(self.kv, memory, self.documents.agent, self.helpers.terms)

    def count_room(self, preamble: Preamble, ratio: float) -> float:
        """Return the estimated tokens that history and tools may take; `ratio` corrects them."""
        return count_available_tokens(self.model.window, count_overhead(preamble), ratio)

    def make_breakers(self, session: str, *, beside: bool = False) -> Breakers:
        """Return the breakers of a turn in a session (S of the keys), or of work beside its
        turns.
        """
        return make_breakers(
            session,
            self.kv,
            self.name,
            self.limits,
            self.clock,
            fresh_seconds=self.look_seconds,
            defers=self.look_seconds > 0,
            beside=beside,
        )


@lru_cache(maxsize=64)
def _make_first_documents(name: str) -> Mapping[str, str]:
    """Return what the documents of an agent with this full name say until somebody writes them."""
    return {**FIRST, "self": make_first_self(name)}
