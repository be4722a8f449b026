"""The back-ends that the settings name, and an agent put together from them."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from threading import Event, Lock, Semaphore
from typing import TYPE_CHECKING, Protocol, runtime_checkable
from unicodedata import normalize
from urllib.parse import urlsplit

from functions.alerts import LogOnly, Notifier, SnsNotifier, WebhookNotifier
from functions.channels.base import Channel
from functions.channels.isolated_channels import IsolatedChannels
from functions.channels.replies.http_replies import HttpReplies
from functions.prices import CACHED_SHARES, PriceList, parse_prices
from functions.queues.base import Queue, QueueSides
from functions.queues.turn_lock import TurnLock
from functions.sent_parts import SentParts
from functions.settings import Settings
from functions.time.clock import SYSTEM
from sigil.errors import MESSAGE_LIMIT, SigilError, UsageError, one_line
from sigil.settings import installed_version
from sigil.storage.kv import KV, keys
from sigil.storage.kv.restoration import require_restored
from sigil.storage.setting_secrets import find_known, reveal
from sigil.wiring import (
    LazyRegistry,
    Stores,
    ignore_progress,
    local_registry,
    open_registry,
    open_stores,
)

if TYPE_CHECKING:
    from functions import events
    from functions.agent.access.roles import Rules
    from functions.agent.agent_directory import AgentDirectory, AgentFactory
    from functions.agent.agents.record import AgentRecord
    from functions.agent.app import App, TurnStep
    from functions.agent.memory.helpers import (
        FileReader,
        FindEntries,
        OpenedDocument,
        Picture,
        ServiceHelpers,
        Transcript,
    )
    from functions.agent.model.base import Model, ModelReply, ModelRequest
    from functions.agent.model.billing import Billing
    from functions.agent.safety.budget import SafetyLimits
    from functions.agent.safety.hp import HpLimits
    from functions.agent.schedules.heartbeat import InputNotes
    from functions.agent.skills.search import SkillRanking
    from functions.media.speech import SpeechClient
    from functions.queues.sqs_batch import SqsBatch
    from sigil.protocol import Json, Registry
    from sigil.search.chunks import ChunkRanker
    from sigil.search.words import Tokenizer


_MARKS = re.compile(r"\\(?=[!-/:-@\[-`{-~])|[*`~\u00ad\u200b-\u200d\u2060\ufeff]")
"""Marks of Markdown, and invisible characters."""
_WORD = re.compile(r"[!-~]*")
SECRET_CHARACTERS = 8
"""A shorter secret could not be told from other text."""
PART_CHARACTERS = 6
"""Nor could a shorter part of one; most words are shorter."""
HOLD_SECONDS = 120.0
"""Seconds beyond a turn's time for which a worker may keep a chat, to finish a turn that another
worker left and to send the replies.
"""
WORK_POLL = 0.5
"""Seconds between two looks for background work that another process has put."""


@runtime_checkable
class Closable(Protocol):
    """A part that holds something open: child processes, connections, files."""

    def close(self) -> None:
        """Release what it holds."""


@runtime_checkable
class Warmable(Protocol):
    """A registry of this process, whose engine has to be compiled once."""

    def warm(self, progress: Callable[[str], None]) -> None:
        """Compile the engine now, unless that is done; `progress` gets lines about it."""


@runtime_checkable
class Lender(Protocol):
    """A store of artifacts from which others can fetch a body for a while."""

    def lend(self, body: bytes) -> AbstractContextManager[str]:
        """Lend a body within the block: its value is the address."""


class Live(Protocol):
    """Shows the turns of a process while they go on. It is called in their threads, and must not
    wait. What it shows is a preview that is kept nowhere: the answer leaves as any other.
    """

    @property
    def watcher(self) -> str:
        """The name by which the pages of this process mark the chats at which they look, empty
        without pages.
        """

    def hears_words(self, event: events.Event) -> bool:
        """Return whether somebody wants the words of the event's answer while they come."""

    def note_step(self, event: events.Event, step: TurnStep) -> None:
        """Show a step that the turn of the event just took."""


class Unseen:
    """Nobody looks on."""

    watcher = ""

    def hears_words(self, event: events.Event) -> bool:
        return False

    def note_step(self, event: events.Event, step: TurnStep) -> None:
        """Do nothing with the step."""


def open_directory(factory: AgentFactory | None = None) -> AgentDirectory:
    """Return the directory of the agents that a factory makes; without one, of the root alone."""
    from functions.agent.agent_directory import AgentDirectory

    return AgentDirectory(factory)


def open_input_notes() -> InputNotes:
    """Return the notes of which agents somebody has written to."""
    from functions.agent.schedules.heartbeat import InputNotes

    return InputNotes()


@dataclass(frozen=True, slots=True)
class AgentRuntime:
    """Everything that a worker needs to process events.

    `app` is the agent that it works for: the root, or for an event of another agent that one.
    `agents` finds the others. `queue` hands out the turns of chats, `control` control events and
    inquiries, and `work` background work, which `queue` does when it is None. `consolidations` lets
    so many workers at once do what nobody waits for. `live` shows the steps of every turn.
    `patient` says that a turn whose model does not answer may wait in the queue. Whoever sets `due`
    wakes the scheduler of this process before its time. `inputs` has the agents whose heartbeats
    are to be told that somebody wrote. `sent_parts` has what left and may not be marked yet.
    """

    settings: Settings
    stores: Stores
    queue: Queue
    control: Queue
    channels: Mapping[str, Channel]
    replies: HttpReplies
    app: App
    notifier: Notifier = field(default_factory=LogOnly)
    turns: TurnLock = field(default_factory=TurnLock)
    consolidations: Semaphore = field(default_factory=Semaphore)
    work: Queue | None = None
    live: Live = Unseen()
    patient: bool = True
    agents: AgentDirectory = field(default_factory=open_directory)
    due: Event = field(default_factory=Event)
    inputs: InputNotes = field(default_factory=open_input_notes)
    sent_parts: SentParts = field(default_factory=SentParts)

    def close(self) -> None:
        """End what this process started: runners, threads, connections."""
        for pool in (self.app.pool, self.app.background_pool):
            pool.shutdown(wait=False, cancel_futures=True)
        parts: tuple[object, ...] = (
            self.queue,
            self.work,
            self.app.registry,
            self.app.model,
            self.app.helpers.transcriber,
            self.agents,
            *self.channels.values(),
            self.stores.kv,
        )
        for part in parts:
            if isinstance(part, Closable):
                part.close()


def open_queue(settings: Settings, stores: Stores) -> QueueSides:
    """Open the queue that `UNCAGED_QUEUE` names."""
    # background work has calls that take longer than a turn of a chat
    longest = max(settings.turn_seconds, settings.task_call_seconds)
    hold = longest + HOLD_SECONDS
    if not settings.queue:
        from functions.queues.store_queue import StoreQueue

        open_side = partial(StoreQueue, stores.kv, settings.agent, lease=settings.lease, hold=hold)
        chats = open_side()
        control = open_side(lane="control", beside=chats)
        return QueueSides(chats, control, open_side(lane="work", beside=chats, poll=WORK_POLL))
    from functions.queues.sqs import SqsQueue, parse_queue_url

    queue = SqsQueue(
        parse_queue_url("UNCAGED_QUEUE", settings.queue),
        work_url=parse_queue_url("UNCAGED_WORK_QUEUE", settings.work_queue),
        kv=stores.kv,
        visibility=settings.lease,
        hold=hold,
    )
    return QueueSides(queue, queue.control, queue.work)


def open_ingress_queue(settings: Settings) -> Queue:
    """Open a queue to put events into; with SQS it needs no store."""
    if settings.queue:
        from functions.queues.sqs import open_sqs_ingress

        return open_sqs_ingress(settings)
    return open_queue(settings, open_stores(settings)).chats


def open_batch(queue: Queue, event: Mapping[str, Json]) -> SqsBatch:
    """Return the records of one Lambda invocation as a queue."""
    from functions.queues.sqs import SqsQueue
    from functions.queues.sqs_batch import SqsBatch

    if not isinstance(queue, SqsQueue):
        raise UsageError(
            "ESETTING",
            "the Lambda worker needs a queue of SQS",
            suggestion="set UNCAGED_QUEUE to sqs:// and the FIFO queue's own address",
        )
    return SqsBatch(queue, event)


def open_notifier(settings: Settings) -> Notifier:
    """Open the destination of alerts that `UNCAGED_ALERTS` names."""
    if settings.alerts.startswith("sns:"):
        return SnsNotifier(settings.alerts.removeprefix("sns:"))
    return WebhookNotifier(settings.alerts) if settings.alerts else LogOnly()


def open_model(settings: Settings, prices: PriceList | None = None, kv: KV | None = None) -> Model:
    """Open the model at `UNCAGED_LLM_URL`, or the offline one.

    `prices` are those of all models, where the model of the settings is not the first one. What its
    endpoint teaches about its models is kept in `kv`.
    """
    if not settings.endpoint:
        from functions.agent.model.offline import OfflineModel

        return OfflineModel(limited=settings.session_tokens > 0)
    from functions.agent.model.client import ModelClient
    from functions.agent.model.dialect import require_known
    from functions.agent.model.lessons import Lessons

    require_known(settings.llm_dialect)
    return ModelClient(
        settings.endpoint,
        reveal(settings.llm_key),
        settings.llm_model,
        settings.llm_window,
        seconds=settings.llm_seconds,
        calls_in_prose=settings.llm_written_calls,
        billing=_make_billing(settings, prices or _read_prices(settings)),
        lessons=Lessons(settings.endpoint, settings.llm_dialect, kv),
        streams=settings.llm_stream != "no" and not _has_phrases(settings),
        images={"yes": True, "no": False}.get(settings.llm_images),
    )


def _has_phrases(settings: Settings) -> bool:
    """Return whether a secret of the settings is more than one word: the words of a stream are
    looked at one by one, so nothing is streamed then.
    """
    secrets = (find_known(value) for facts, value in settings.list_values() if facts.secret)
    return any(
        not _WORD.fullmatch(secret) for secret in secrets if len(secret) >= SECRET_CHARACTERS
    )


def _read_prices(settings: Settings) -> PriceList:
    """Return the prices of the settings, those without a name under that of the model."""
    return parse_prices(settings.llm_prices).name_model(settings.llm_model)


def _make_billing(settings: Settings, prices: PriceList) -> Billing:
    """Return how the tokens of the model at `UNCAGED_LLM_URL` are billed."""
    from functions.agent.model.billing import Billing

    host = urlsplit(settings.endpoint).hostname or ""
    return Billing(prices, CACHED_SHARES.get(host, 1.0))


def _open_model_with_fallback(
    settings: Settings, stores: Stores, prices: PriceList | None = None
) -> Model:
    """Open the agent's model: it learns its window from its endpoint, and a second model, if one is
    set, is used while it gives no answer. `prices`: see `open_model`.
    """
    if not settings.endpoint:
        return open_model(settings)
    from functions.agent.model.fallback import FallbackModel
    from functions.agent.model.window import LearntWindow

    prices = prices or _read_prices(settings)

    def open_with_learned_window(chosen: Settings) -> Model:
        key = keys.context_window(chosen.endpoint, chosen.llm_model, chosen.llm_window)
        return LearntWindow(open_model(chosen, prices, stores.kv), stores.kv, key)

    first = open_with_learned_window(settings)
    if not settings.has_fallback:
        return first
    second = open_with_learned_window(settings.fallback)
    return FallbackModel(first, second, seconds=settings.llm_seconds)


def open_app(
    settings: Settings,
    stores: Stores,
    progress: Callable[[str], None] = ignore_progress,
    *,
    later: bool = False,
    model: Model | None = None,
) -> App:
    """Put the agent of the settings together over a store.

    `later`: its registry is opened by the first turn that needs it. `model` stands in for that of
    the settings.
    """
    from functions.agent.app import App
    from functions.agent.conversation.compaction import load_strategy
    from functions.agent.safety.guides import load_guide
    from functions.agent.session.store import Sessions
    from functions.agent.skills.search import SkillSearch
    from functions.turns_in_progress import open_turns

    registry: Registry
    if later and not settings.registry_url:
        registry = LazyRegistry(partial(local_registry, settings, stores))
    else:
        registry = open_registry(settings, stores, progress)
    sessions = Sessions(stores.kv, stores.artifacts)
    return App(
        name=settings.agent,
        kv=stores.kv,
        sessions=sessions,
        artifacts=stores.artifacts,
        model=model or _open_model_with_fallback(settings, stores),
        registry=registry,
        rules=_make_access_rules(settings),
        turn_seconds=settings.turn_seconds,
        run_days=settings.run_days,
        guide=load_guide(settings.guide),
        strategy=load_strategy(settings.context),
        limits=_make_safety_limits(settings),
        hp=_make_hp_limits(settings),
        agents_most=settings.agents_most,
        list_working=open_turns(sessions, settings, stores.kv).list_working,
        team_idle=settings.team_idle,
        stamp=settings.stamp,
        currency=parse_prices(settings.llm_prices).currency,
        helpers=replace(
            make_helpers(),
            reader=LazyFileReader(settings.media_function, stores.artifacts),
            transcriber=LazyTranscriber(settings),
        ),
        skill_search=SkillSearch(_open_skill_ranking),
        redact=_make_redactor(settings),
        may_listen=settings.may_listen,
        started=SYSTEM.monotonic(),
        version=installed_version,
    )


class AgentMaker:
    """Makes the agents below the root, each from the settings and its record.

    The models that they have are opened once for a process, and closed with it.
    """

    def __init__(self, settings: Settings, stores: Stores) -> None:
        self._settings = settings
        self._stores = stores
        self._models: dict[str, Model] = {}
        self._opening = Lock()

    def make_agent(self, root: App, name: str, record: AgentRecord) -> App:
        """Return the agent of a record; `UsageError` when it names what is not there."""
        from functions.agent.conversation.compaction import load_strategy
        from functions.agent.safety.guides import load_guide

        limits = root.limits
        tokens = record.tokens if self._settings.endpoint else 0
        return replace(
            root,
            name=name,
            model=self._open_model(record.model, root.model),
            rules=replace(root.rules, access=record.access or root.rules.access),
            guide=load_guide(record.guide) if record.guide else root.guide,
            strategy=load_strategy(record.context) if record.context else root.strategy,
            limits=replace(
                limits,
                agent_tokens=tokens,
                session_tokens=_first_of(record.session_tokens, limits.session_tokens),
                ticks=_first_of(record.ticks, limits.ticks),
            ),
            failures=deque(maxlen=root.failures.maxlen),
            record=record,
        )

    def _open_model(self, name: str, default: Model) -> Model:
        settings = self._settings
        if not (name and settings.endpoint) or name == settings.llm_model:
            return default
        with self._opening:
            if name not in self._models:
                self._models[name] = _open_model_with_fallback(
                    replace(settings, llm_model=name), self._stores, _read_prices(settings)
                )
            return self._models[name]

    def close(self) -> None:
        """Close the models that were opened."""
        for model in self._models.values():
            if isinstance(model, Closable):
                model.close()


def _first_of(chosen: int | None, default: int) -> int:
    return default if chosen is None else chosen


class _NoModel:
    """Stands where nobody asks a model."""

    name = "none"

    def __init__(self, window: int) -> None:
        self.window = window

    def chat(self, request: ModelRequest) -> ModelReply:
        raise UsageError("EMODEL", "this function asks no model")


def open_control_app(settings: Settings, stores: Stores) -> App:
    """Open the agent for halts, unlocks and its status, which need neither model nor registry."""
    return open_app(settings, stores, later=True, model=_NoModel(settings.llm_window))


class LazyRanker:
    """The ranking of Sigil's search, which is loaded at its first use."""

    @cached_property
    def _ranker(self) -> ChunkRanker:
        from sigil.search.chunks import ChunkRanker

        return ChunkRanker()

    def list_strengths(
        self, title: str, headings: Sequence[str], tags: Sequence[str], text: str
    ) -> Mapping[str, int]:
        """See `Ranker.list_strengths`."""
        return self._ranker.list_strengths(title, headings, tags, text)

    def rank(
        self, question: str, chunks: int, find: FindEntries, count: int
    ) -> Sequence[tuple[int, float]]:
        """See `Ranker.rank`."""
        return self._ranker.rank(question, chunks, find, count)


class LazyFileReader:
    """The reader of files, which is loaded with the first file: most turns have none.

    `function`: the function of AWS Lambda that opens them, because the worker there comes without
    what does; `artifacts` may lend it large ones.
    """

    def __init__(self, function: str = "", artifacts: object = None) -> None:
        self._function = function
        self._artifacts = artifacts

    @cached_property
    def _reader(self) -> FileReader:
        if self._function:
            from functions.media.lambda_reader import LambdaFileReader

            lender = self._artifacts if isinstance(self._artifacts, Lender) else None
            return LambdaFileReader(self._function, lender.lend if lender else None)
        try:
            from functions.media.file_reader import FileReader
        except ModuleNotFoundError:
            from functions.agent.memory.helpers import NoReader

            return NoReader()
        return FileReader()

    def find_type(self, data: bytes) -> str:
        """See `FileReader.find_type`."""
        return self._reader.find_type(data)

    def scale(self, data: bytes) -> Picture:
        """See `FileReader.scale`."""
        return self._reader.scale(data)

    def read(self, data: bytes, first: int = 1, count: int = 1) -> OpenedDocument:
        """See `FileReader.read`."""
        return self._reader.read(data, first, count)

    def look(self, data: bytes, page: int = 1) -> Picture:
        """See `FileReader.look`."""
        return self._reader.look(data, page)

    def draw(self, svg: str) -> Picture:
        """See `FileReader.draw`."""
        return self._reader.draw(svg)

    def fit(self, data: bytes, width: int, height: int, *, sixel: bool = False) -> bytes:
        """See `FileReader.fit`."""
        return self._reader.fit(data, width, height, sixel=sixel)


class LazyTranscriber:
    """The client of the endpoint that turns speech into text, which is loaded with the first voice
    message.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    @cached_property
    def _client(self) -> SpeechClient:
        from functions.media.speech import SpeechClient

        settings = self._settings
        key = reveal(settings.speech_key)
        return SpeechClient(settings.speech_endpoint, key, settings.stt_model, settings.stt_price)

    @property
    def is_open(self) -> bool:
        """See `Transcriber.is_open`."""
        return bool(self._settings.speech_endpoint) and self._client.is_open

    def hears(self, data: bytes, *, spoken: bool) -> bool:
        """See `Transcriber.hears`."""
        return self._client.hears(data, spoken=spoken)

    def measure(self, data: bytes) -> float:
        """See `Transcriber.measure`."""
        return self._client.measure(data)

    def transcribe(self, data: bytes, language: str = "") -> Transcript:
        """See `Transcriber.transcribe`."""
        return self._client.transcribe(data, language)

    def close(self) -> None:
        """Close the connections, where there are any."""
        client = vars(self).get("_client")
        if client:
            client.close()


def make_helpers() -> ServiceHelpers:
    """Return the helpers that the agent's services take from Sigil; each is loaded at its first
    use.
    """
    from functions.agent.memory.helpers import ServiceHelpers

    @lru_cache(maxsize=1)
    def words() -> Tokenizer:
        from sigil.search.words import Tokenizer

        return Tokenizer()

    def terms(text: str) -> frozenset[str]:
        from sigil.search.words import normalize_phrase

        return words().content_terms(normalize_phrase(text))

    def accept(schema: Mapping[str, Json], arguments: Mapping[str, Json]) -> dict[str, Json]:
        from sigil.manifest import arguments as readers

        return readers.accept(schema, arguments)

    return ServiceHelpers(accept, terms, LazyRanker(), reader=LazyFileReader())


def _open_skill_ranking() -> SkillRanking:
    """Open the ranking of skills, with the first search that an agent with skills makes."""
    from functions.skill_ranking import LibraryRanking

    return LibraryRanking()


def _make_redactor(settings: Settings) -> Callable[[str], str]:
    """Return a function that removes the settings' secrets from a text, in whatever form it has
    them.
    """
    named = {facts.name: value for facts, value in settings.list_values() if facts.secret and value}

    def redact(text: str) -> str:
        if len(text) < PART_CHARACTERS and text.isascii():
            return text
        from sigil.run.host_calls.scrubbing import scrub_text

        known_values = {name: find_known(value) for name, value in named.items()}
        values = {
            name: value for name, value in known_values.items() if len(value) >= SECRET_CHARACTERS
        }
        if not values:
            return text
        scrubbed = scrub_text(text, values)
        # what a platform makes of the text may join what its marks keep apart: `sk\\-live`,
        # `sk-**live**`
        bare = normalize("NFKC", _MARKS.sub("", scrubbed))
        plain = scrub_text(bare, values)
        return scrubbed if plain == bare else plain

    return redact


def _make_access_rules(settings: Settings) -> Rules:
    """Return who may do what. The offline model's tokens cost nothing, so they are not limited."""
    from functions.agent.access.roles import Allowance, Rules

    member_tokens = settings.member_tokens if settings.endpoint else 0
    guest_tokens = settings.guest_tokens if settings.endpoint else 0
    return Rules(
        frozenset(settings.owners),
        settings.access,  # type: ignore[arg-type]
        settings.deploy,  # type: ignore[arg-type]
        Allowance(settings.member_turns, member_tokens),
        Allowance(settings.guest_turns, guest_tokens),
    )


def _make_safety_limits(settings: Settings) -> SafetyLimits:
    """Return what the agent may use; the offline model's tokens cost nothing, so they are not
    limited.
    """
    from functions.agent.safety.budget import SafetyLimits

    tokens = settings.tokens_per_day if settings.endpoint else 0
    return SafetyLimits(
        tokens,
        settings.tokens_period,
        settings.session_tokens,
        settings.ticks,
        settings.call_seconds,
        settings.timezone,
        chain_tokens=settings.chain_tokens if settings.endpoint else 0,
        task_call_seconds=settings.task_call_seconds,
    )


def _make_hp_limits(settings: Settings) -> HpLimits:
    """Return what the agent, and each below it, may do by itself."""
    from functions.agent.safety.hp import HpLimits

    return HpLimits(settings.hp, settings.hp_floor, settings.hp_per_token, settings.hp_per_action)


def _tell_unserved(progress: Callable[[str], None], name: str, problem: SigilError) -> None:
    help = f" ({problem.suggestion})" if problem.suggestion else ""
    progress(one_line(f"warning: {name} is not served: {problem.message}{help}", 2 * MESSAGE_LIMIT))


def open_runtime(
    settings: Settings, progress: Callable[[str], None] = ignore_progress, *, later: bool = False
) -> AgentRuntime:
    """Open everything for a process that works on events.

    `later`: see `open_app`; otherwise the engine is compiled when it returns.
    """
    reload = partial(settings.reload_channel, by_worker=True)
    settings = settings.load_separate_channels(by_worker=True)
    stores = open_stores(settings)
    if settings.is_measured:
        # nothing of it is there where nobody wants it
        from functions.metrics.measured_store import measure_stores

        stores = measure_stores(settings, stores, _make_redactor(settings))
    channels = IsolatedChannels(
        settings.channels,
        reload,
        by_worker=True,
        # a server also receives, for which less is enough
        needs_all=later,
        kv=stores.kv,
        tell=None if later else partial(_tell_unserved, progress),
    )
    if not later:
        require_restored(stores.kv)
    sides = open_queue(settings, stores)
    background_workers = settings.background_workers if sides.work else settings.workers
    due = Event()
    app = open_app(settings, stores, progress, later=later)
    runtime = AgentRuntime(
        settings=settings,
        stores=stores,
        queue=sides.chats,
        control=sides.control,
        work=sides.work,
        channels=channels,
        replies=HttpReplies(stores.kv),
        app=replace(app, wake_scheduler=due.set),
        notifier=open_notifier(settings),
        consolidations=Semaphore(max(background_workers // 2, 1)),
        agents=open_directory(AgentMaker(settings, stores)),
        due=due,
    )
    if isinstance(runtime.app.registry, Warmable):
        runtime.app.registry.warm(progress)
    return runtime
