"""The crash table: a server is killed at every point of a turn's way, and what was promised still
holds.
"""

from __future__ import annotations

import os
import re
import signal
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal, cast

import orjson
import pytest

from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.conversation.messages import SCHEDULED_NOTE, Message, read_inbox
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.memory.documents import Documents
from functions.agent.runs.event_chain import read_chain
from functions.agent.session.document import Document
from functions.agent.session.store import Sessions
from functions.channels.telegram.channel import Telegram
from functions.events import Event, Kind, Sender, order_of
from functions.hooks import Hook, Hooks
from functions.ingress.hook_endpoint import HookPost, make_event
from functions.queues.store_queue import StoreQueue
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import open_queue
from sigil.storage.kv import keys
from tests.channel_settings import make_settings
from tests.fakes.bot_api import TOKEN
from tests.fakes.model import say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.machine import until, within
from tests.selection import in_full, sample, thorough
from tests.stories.backends import open_stores_of
from tests.stories.servers import PATIENCE, SECRET, Server
from tests.stories.system import OWNER, System, find_newest, text_of, update

AT_ONCE = 6
"""Rows played at the same time: mostly they wait for a lease to end."""
FIRST, NEXT = update(10, "task 1"), update(11, "hello")
EARLIER = update(9, "hello")
ALICE = "main.alice"
HOP: Final = "hop"
CHILD: Final = "child"
"""Work that another agent has set off, in three requests."""
FOLLOWED: Final = "followed"
"""Work whose behaviour names the one that follows in its front matter."""
KINDS_OF_WORK: Final[dict[str, Kind]] = {
    HOP: "wakeup",
    FOLLOWED: "wakeup",
    CHILD: "task",
    "hook": "mail",
}
HOOK = Hook(
    id="0123456789ab",
    name="builds",
    agent=ALICE,
    digest="",
    by=f"telegram:{OWNER}",
    since=0.0,
    session=f"telegram:{OWNER}",
)
OUTCOME = f"answer to {SCHEDULED_NOTE}"
REPLY, FOLLOWING = ("…", "… answer to task 1"), "answer to hello"
IN_FLIGHT, POISON = 6, "poison"
SPIN = 400
"""Long enough for a call to be hit in its middle."""
BASIC = re.compile(
    r"write (inbox 1|head [136]) after|run note 1 during|send 1 after|delete inbox 1 after"
)
"""One point before and behind each thing that a turn must do once: it is taken, its calls are made,
its reply leaves, it ends.
"""
SAMPLED = 2
"""The suite kills at so many points of a table that are not basic."""
BASIC_ELSEWHERE = 3
"""The suite kills at so many basic points of a table that is not SQLite's first: how a turn is taken
up again is that table's matter, and that a store or a queue keeps what was written is theirs.
"""
BOTH_COUNT = re.compile(r"write head \d+ after|delete inbox \d+ (before|after)|send 1 after")
"""The points at which a turn that answers two messages could lose or repeat one of them."""
BASIC_OF_BOTH = re.compile(r"write head [16] after|send 1 after|delete inbox [12] after")
WORK_COUNTS = re.compile(r"(write (head|inbox|chain)|delete (inbox|mail)) \d+ after|send 1 before")
"""The points at which work of the agent's own could lose or repeat its outcome, or count twice what
it used.
"""
BASIC_OF_WORK = re.compile(
    r"write (head 1|inbox [12]|chain 2) after|delete (inbox|mail) 1 after|send 1 before"
)
"""Those of the suite: work is taken, its outcome is put, counted, acknowledged and said."""
WORK_SAMPLED = 3
"""The suite kills work at so many of these points, and what another agent set off at all of them."""
OpenSystem = Callable[..., AbstractContextManager[System]]
Mode = Literal["another process is started", "another process runs already"]
MODES: tuple[Mode, ...] = ("another process is started", "another process runs already")
LEASES: dict[Mode, float] = {MODES[0]: 1.0, MODES[1]: 2.0}
"""Seconds that a row waits on an idle machine; where two servers are there from the start, it must
be more than a turn takes.
"""
MUST_HAVE = (
    r"write inbox 1 after",
    r"write head 1 (before|after)",
    r"request 1 received",
    r"run note 1 during",
    r"run double 1 during",
    r"run note 1 after",
    r"send 1 before",
    r"message 1 received",
    r"send 1 after",
    r"delete inbox 1 before",
)
"""What the issue of crashes is about: points that a clean run must pass."""


def is_any(point: str) -> bool:
    """Return True: the first table has every point."""
    return True


def is_written(point: str) -> bool:
    """Return whether the store has just been written to.

    Whatever else happens until its next write, what stands in it and has to be taken up again is
    the same; what the world saw meanwhile is the first table's matter, and not the store's. How
    often a session is claimed after its first turn depends on when its next event comes.
    """
    return re.fullmatch(r"(write|delete) (?!claim [3-9]).* after", point) is not None


def is_required(point: str) -> bool:
    """Return whether the point is one of a kind that a clean run must pass."""
    return any(re.fullmatch(required, point) for required in MUST_HAVE)


def is_distinct(point: str) -> bool:
    """Return whether the store or the world differs here from what it was at the point before, in
    more than the counts of what was used.
    """
    is_count = re.fullmatch(r"write (usage|usage-total|use|run) .*", point)
    return is_required(point) or (is_written(point) and not is_count)


def is_basic(point: str) -> bool:
    """Return whether the point is one of those at which the store differs most."""
    return BASIC.fullmatch(point) is not None


SHOWN: dict[tuple[str, Mode], tuple[Callable[[str], bool], Callable[[str], bool]]] = {
    ("sqlite", MODES[0]): (is_any, is_distinct),
    ("sqlite", MODES[1]): (is_required, is_basic),
    ("redis", MODES[1]): (is_written, is_basic),
    ("dynamodb", MODES[0]): (is_written, is_basic),
    ("sqs", MODES[0]): (is_required, is_basic),
}
"""Which points each table has, and which of them the suite has. Every store of events and sessions
has all its writes once, and every other way to go on, by a process that runs already or from a
queue beside the store, has each kind of point.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """What came of a crash at `point`. `problems` is empty when all promises were kept."""

    point: str
    replies: str
    notes: int
    doubles: int
    requests: int
    problems: tuple[str, ...]

    def __str__(self) -> str:
        verdict = "; ".join(self.problems) or "kept"
        return (
            f"{self.point:<30} {self.replies:>7} {self.notes:>5} {self.doubles:>7}"
            f" {self.requests:>9}  {verdict}"
        )


@dataclass(frozen=True, slots=True)
class Moment:
    """What stood right after the crash."""

    document: Document
    texts: tuple[str, ...]
    runs: Counter[str]

    @property
    def marked(self) -> int:
        """How many parts of the reply the store knows to have left."""
        if self.document.outbox:
            return self.document.outbox[0].sent
        return len(self.texts) if self.document.seen else 0

    @property
    def recorded(self) -> bool:
        return any(message.call_id == "cap_note-of-1" for message in self.document.messages)


@pytest.mark.parametrize(("open_system", "mode"), SHOWN, indirect=["open_system"])
def test_a_crash_at_any_point_loses_nothing_and_repeats_nothing(
    open_system: OpenSystem, mode: Mode, request: pytest.FixtureRequest
) -> None:
    store = request.node.callspec.params["open_system"]
    points = way_of_a_turn(open_system)
    inbox = any(
        "inbox" in point for point in points
    )  # else events wait in a queue beside the store
    wanted = [point for point in MUST_HAVE if inbox or "inbox" not in point]
    missing = [
        point for point in wanted if not any(re.fullmatch(point, passed) for passed in points)
    ]
    assert not missing, f"a clean run has no such point: {missing}"
    every, of_suite = SHOWN[store, mode]
    points = [point for point in points if every(point) and (in_full() or of_suite(point))]
    others = sample([point for point in points if not is_basic(point)], SAMPLED)
    basic = [point for point in points if is_basic(point)]
    if (store, mode) != ("sqlite", MODES[0]):
        basic = sample(basic, BASIC_ELSEWHERE)
    points = [point for point in points if point in basic or point in others]
    assert len(points) >= 3
    with ThreadPoolExecutor(AT_ONCE) as players:
        rows = list(players.map(lambda point: play(open_system, point, mode), points))
    print(f"\n{mode}\n{'killed at':<30} replies notes doubles  requests  verdict", *rows, sep="\n")
    broken_rows = [str(row) for row in rows if row.problems]
    assert not broken_rows, "\n".join(broken_rows)


def test_a_turn_that_kills_its_server_is_given_up_after_its_third_try_and_the_chat_goes_on(
    open_system: OpenSystem,
) -> None:
    with open_system() as system:
        for once in ("first", "second", "third"):
            server = system.start("model request 1 before", once=once)
            if once == "first":
                system.deliver(server, FIRST)
            system.forker.ended(server)
        survivor = system.start()
        assert survivor.post_update(FIRST)
        assert survivor.post_update(NEXT)
        system.platform.wait_for_texts(FOLLOWING)
        until(system.is_idle, "nothing waits any more")
        assert system.platform.texts == [ENGLISH.gave_up, FOLLOWING]
        assert [letter.id for letter in system.dead_letters()] == ["telegram:4242:42:10"]
        assert not [
            problem for problem in damaged(system) if not problem.startswith("dead letters")
        ]


class Poison:
    """A model whose answer to `poison` kills the server that asks. All six turns are in flight each
    time that this hits others.
    """

    def __init__(self, system: System) -> None:
        self._scene = system
        self._changed = threading.Condition()
        self._waiting: defaultdict[str, set[str]] = defaultdict(set)
        self._killed: set[str] = set()
        self.beside: list[set[str]] = []
        """What was in flight beside the poison at each of its tries."""

    def answer(self, request: Recorded) -> Answer:
        server = request.path.split("/")[1]
        messages = request.json()["messages"]
        text = text_of(messages[find_newest(messages)])
        with self._changed:
            here = self._waiting[server]
            here.add(text)
            self._changed.notify_all()
            takes_all_along = len(self.beside) < 2
            if takes_all_along:
                self._changed.wait_for(
                    lambda: len(here) == IN_FLIGHT or self._scene.model.closing.is_set(), PATIENCE
                )
            if text == POISON:
                self.beside.append(here - {POISON})
                until(
                    lambda: any(started.name == server for started in self._scene.servers),
                    "the server has started",
                )
                self._scene.named(server).signal(signal.SIGKILL)
                self._killed.add(server)
                self._changed.notify_all()
            elif takes_all_along:
                # a turn that is answered before the server is killed is in flight no more
                self._changed.wait_for(
                    lambda: server in self._killed or self._scene.model.closing.is_set(), PATIENCE
                )
            elif server in self._survivors():
                here.remove(text)
        return json_answer(say(f"answer to {text}"))

    def _survivors(self) -> set[str]:
        return {started.name for started in self._scene.servers[2:]}


@pytest.mark.parametrize("open_system", ["sqlite", *thorough("sqs")], indirect=True)
def test_three_crashes_give_up_the_turn_that_caused_them_and_no_other(
    open_system: OpenSystem, monkeypatch: pytest.MonkeyPatch
) -> None:
    innocent = {chat: f"hello {chat}" for chat in range(101, 101 + IN_FLIGHT - 1)}
    with open_system(workers=IN_FLIGHT, guest_turns=0, guest_tokens=0, lease=within(3.0)) as system:
        poison = Poison(system)
        monkeypatch.setattr(system.model, "answer", poison.answer)
        first = system.start()
        assert first.post_update(update(10, POISON))
        for chat, text in innocent.items():
            assert first.post_update(update(chat, text, chat))
        system.forker.ended(first)
        system.forker.ended(system.start())
        system.forker.ended(system.start())
        system.start()
        system.platform.wait_for_texts(
            ENGLISH.gave_up, *(f"answer to {text}" for text in innocent.values())
        )
        for chat in (OWNER, *innocent):
            until(partial(system.is_idle, chat), "nothing waits any more")

        told = {message["chat_id"]: message["text"] for message in system.platform.messages}
        assert told == {
            OWNER: ENGLISH.gave_up,
            **{chat: f"answer to {text}" for chat, text in innocent.items()},
        }
        assert len(system.platform.messages) == IN_FLIGHT
        assert [letter.id for letter in system.dead_letters()] == ["telegram:4242:42:10"]
        assert poison.beside == [set(innocent.values()), set(innocent.values()), set()]


def test_a_crash_in_a_turn_that_answers_two_messages_loses_nothing_and_repeats_nothing(
    open_system: OpenSystem,
) -> None:
    """The first points of a turn are those of the test above: these are where both count."""
    with open_system(lease=60.0) as system:
        put_both(system)
        system.start()
        system.platform.wait_for_texts(*REPLY)
        until(system.is_idle, "the session is given back")
        points = [point for point in system.notes("journal") if BOTH_COUNT.fullmatch(point)]
    assert "delete inbox 2 before" in points
    points = [point for point in points if in_full() or BASIC_OF_BOTH.fullmatch(point)]
    with ThreadPoolExecutor(AT_ONCE) as players:
        rows = list(players.map(lambda point: play_both(open_system, point), points))
    broken_rows = [str(row) for row in rows if row.problems]
    assert not broken_rows, "\n".join(broken_rows)


@pytest.mark.parametrize(
    ("open_system", "kind"),
    [
        ("sqlite", CHILD),
        pytest.param("redis", CHILD, marks=pytest.mark.thorough),
        pytest.param("dynamodb", CHILD, marks=pytest.mark.thorough),
        pytest.param("sqs", "task", marks=pytest.mark.thorough),
        ("sqlite", "mail"),
        ("sqlite", HOP),
        pytest.param("sqlite", FOLLOWED, marks=pytest.mark.thorough),
        ("sqlite", "hook"),
    ],
    indirect=["open_system"],
)
def test_a_crash_in_work_of_another_agents_own_tells_its_chat_once(
    open_system: OpenSystem, kind: str, request: pytest.FixtureRequest
) -> None:
    """Its outcome is an event of its own: killed before the checkpoint, behind it, behind the put
    and before the acknowledgement, it is said once. Mail is shown once, and gone after that. Where
    another behaviour goes on, by a call or by the front matter of the first, each of the two runs
    once. What was posted to a hook is looked at once, however often its sender repeats it. The chain
    of it all has each turn once, with the tokens that it used. A run of two behaviours, and one that
    was set off by another agent, are killed at each write of SQLite.
    """
    on_sqlite = request.node.callspec.params["open_system"] == "sqlite"
    counts = is_written if on_sqlite and kind in (HOP, CHILD) else WORK_COUNTS.fullmatch
    with open_system(lease=60.0) as system:
        put_work(system, kind)
        system.start()
        system.platform.wait_for_texts(OUTCOME)
        until(system.is_idle, "the session is given back")
        points = [point for point in system.notes("journal") if counts(point)]
    assert "write chain 2 after" in points
    assert {"write head 1 after", "write head 3 after", "write head 5 after"} <= set(points)
    points = [point for point in points if in_full() or BASIC_OF_WORK.fullmatch(point)]
    if kind != CHILD:
        points = sample(points, WORK_SAMPLED)
    with ThreadPoolExecutor(AT_ONCE) as players:
        rows = list(players.map(lambda point: play_work(open_system, kind, point), points))
    broken_rows = [str(row) for row in rows if row.problems]
    assert not broken_rows, "\n".join(broken_rows)


def put_work(system: System, kind: str) -> None:
    """Put work of another agent's own into the queue, as the runtime does."""
    now = time.time()
    record = AgentRecord("agent", "enabled", now, f"telegram:{OWNER}")
    add_agent(system.store, "main", "alice", record)
    if kind == FOLLOWED:
        documents = Documents(system.store, ALICE, time.time)
        front = '+++\nnext = "on_self_improve"\n+++\nLook at the mail.'
        documents.write(documents.agent, "behaviour/on_wakeup", front, by="terminal:local")
    if kind == "mail":
        Mailbox(system.store, ALICE).deliver(Mail("1", "alice", "the mail", now))
    events = [make_work(kind, now)]
    if kind == "hook":
        Hooks(system.store, "main").add(HOOK)
        post = HookPost("look at the mail", delivery="1")
        events = [make_event(HOOK, post, time.time()) for _ in range(2)]
    settings = make_settings(**system.settings)
    with open_stores_of(system.settings) as stores:
        for event in events:
            open_queue(settings, stores).chats.put(event)


def make_work(kind: str, now: float) -> Event:
    """Return an event that lets another agent work in its own main session."""
    by_other = kind == CHILD
    return Event(
        id="wakeup:1",
        kind=KINDS_OF_WORK.get(kind, cast("Kind", kind)),
        agent=ALICE,
        session="own:main",
        sender=Sender("runtime:scheduler"),
        text=kind if kind in (HOP, CHILD) else "look at the mail",
        at=now,
        order=order_of(now, 1),
        private=True,
        cause="telegram:4242:42:1" if by_other else "",
        root="telegram:4242:42:1" if by_other else "",
        hops=int(by_other),
        by=f"telegram:{OWNER}",
        data={"home": f"telegram:{OWNER}"},
    )


def list_heard(system: System) -> tuple[str, ...]:
    """Return what the platform has heard until a server was gone, also by its last request."""
    time.sleep(within(0.05))  # it may be on its way still, and nothing tells that none is
    return tuple(system.platform.texts)


def play_work(open_system: OpenSystem, kind: str, point: str) -> Row:
    """Crash at the point in work of the agent's own, and look at what its chat has heard."""
    with open_system(lease=within(LEASES[MODES[0]])) as system:
        try:
            victim = system.start(point)
            put_work(system, kind)
            until(system.fired, f"a server gets to {point}")
            system.forker.ended(victim)
            texts = list_heard(system)
            system.start()
            system.platform.wait_for_texts(OUTCOME)
            # the victim's other lane may have been about to give its own session back
            until(partial(system.is_idle, claims=False), "nothing waits any more")
        except AssertionError as problem:
            return row(system, point, [str(problem)])
        document = system.document(OWNER)
        # what another agent says is its own in the history, and not its chat's
        said = [row for each in document.messages for row in read_inbox(each)]
        speakers = {sender.partition(",")[0] for sender, _ in said}
        problems = []
        outcomes = [OUTCOME] * (2 if kind == FOLLOWED else 1)
        # a part that left and was not marked before the crash leaves once more
        allowed = (outcomes, [*texts[-1:], *outcomes])
        if system.platform.texts not in allowed or [text for _, text in said] != outcomes:
            problems.append(f"sent {system.platform.texts}, in the history {said}")
        if speakers != {"alice"}:
            problems.append(f"said by {speakers}")
        session = HOOK.own_session if kind == "hook" else "own:main"
        own = Sessions(system.store).open(keys.session_of(ALICE, session)).document
        roles = "user user assistant"
        if kind == HOP:
            roles = f"user user assistant tool assistant {roles}"
        elif kind == CHILD:
            roles = "user user assistant tool assistant tool assistant"
        elif kind == FOLLOWED:
            roles = f"{roles} {roles}"
        if [message.role for message in own.messages] != roles.split():
            problems.append(f"its own history: {own.messages}")
        mails = system.store.scan(keys.mail(ALICE, 0.0, "").partition)
        if mails or document.posts or document.outbox or system.dead_letters():
            problems.append("something is left")
        problems += miscount_chain(system, kind, session)
        hook = Hooks(system.store, "main").find(HOOK.name)
        if kind == "hook" and (hook is None or hook.runs != 1):
            problems.append(f"its hook: {hook}")
        return row(system, point, problems)


def miscount_chain(system: System, kind: str, session: str) -> list[str]:
    """What the record of the only chain has otherwise than the session in which the work was done.
    The outcome that is said costs nothing.
    """
    ((_, item),) = system.store.scan(keys.event_chain("main", "").partition)
    chain = read_chain(item)
    own = Sessions(system.store).open(keys.session_of(ALICE, session)).document
    wanted = ({HOP: 3, FOLLOWED: 4}.get(kind, 2), own.usage.counted)
    if chain is None or any(each.open for each in chain.runs):
        return [f"its chain is open: {chain}"]
    sums = {chain.tokens, sum(each.tokens for each in chain.runs)}
    if (chain.events, sums) != (wanted[0], {wanted[1]}) or len(chain.runs) != chain.events:
        return [f"its chain: {chain}, not {wanted}"]
    return []


def put_both(system: System) -> None:
    """Put two messages into the queue, before a server runs."""
    queue = StoreQueue(system.store, "main")
    channel = Telegram(TOKEN, SECRET)
    for happened in (EARLIER, FIRST):
        (event,) = channel.read_update(orjson.dumps(happened)).events
        queue.put(event)


def play_both(open_system: OpenSystem, point: str) -> Row:
    """Crash at the point in a turn that answers two messages, and look at what it all came to."""
    with open_system(lease=within(LEASES[MODES[0]])) as system:
        try:
            put_both(system)
            victim = system.start(point)
            until(system.fired, f"a server gets to {point}")
            system.forker.ended(victim)
            runs = Counter(system.notes("runs"))
            moment = Moment(system.document(), list_heard(system), runs)
            survivor = system.start()
            assert survivor.post_update(EARLIER)
            finish(system, survivor)
        except AssertionError as problem:
            return row(system, point, [str(problem)])
        return row(system, point, [*broken(system, moment), *damaged(system, said=4)])


def way_of_a_turn(open_system: OpenSystem) -> list[str]:
    """Every point that a turn passes when nothing goes wrong, and no lease is renewed because the
    machine is slow.
    """
    with open_system(lease=60.0) as system:
        heard: list[str] = []
        system.model.on_event = system.platform.on_event = lambda server, point: heard.append(point)
        assert system.start().post_update(FIRST)
        system.platform.wait_for_texts(*REPLY)
        until(system.is_idle, "the session is given back")
        assert Counter(system.notes("runs")) == {"note": 1, "double": 1}
        return [*system.notes("journal"), *heard]


def play(open_system: OpenSystem, point: str, mode: Mode) -> Row:
    """Crash at the point, let another process go on, and look at what it all came to."""
    with open_system(lease=within(LEASES[mode])) as system:
        system.model.spin = SPIN if "during" in point else 0
        try:
            survivor, moment = crash(system, point, mode)
            finish(system, survivor)
        except AssertionError as problem:
            servers = [server.describe() for server in system.servers]
            return row(system, point, ["\n".join((str(problem), *servers))])
        return row(system, point, [*broken(system, moment), *damaged(system)])


def crash(system: System, point: str, mode: Mode) -> tuple[Server, Moment]:
    """The first message, delivered until it is taken; one server dies of it, the other one
    lives.
    """
    system.model.on_event = system.platform.on_event = lambda server, heard: (
        kill(system, server) if heard == point else None
    )
    target = system.start(point)
    other = system.start(point) if mode == MODES[1] else None
    taken = target.post_update(FIRST)
    until(system.fired, f"a server gets to {point}")
    victim = target
    if other:
        until(lambda: not all(map(system.forker.lives, (target, other))), "a server dies")
        victim = target if not system.forker.lives(target) else other
    system.forker.ended(victim)
    moment = Moment(system.document(), list_heard(system), Counter(system.notes("runs")))
    survivor = (other if victim is target else target) or system.start()
    assert taken or survivor.post_update(FIRST)
    return survivor, moment


def kill(system: System, server: str) -> None:
    """Kill the server whose request has just arrived, unless one was killed already."""
    if not system.fired():
        (system.folder / "fired").touch()
        os.kill(system.named(server).pid, 9)
        system.forker.ended(system.named(server))


def finish(system: System, survivor: Server) -> None:
    """The first message is answered; it is delivered once more; the next one is answered too."""
    system.platform.wait_for_texts(*REPLY)
    assert survivor.post_update(FIRST)
    assert survivor.post_update(NEXT)
    system.platform.wait_for_texts(FOLLOWING)
    until(system.is_idle, "nothing waits any more")


def broken(system: System, moment: Moment) -> list[str]:
    """The promises about replies and runs that were not kept."""
    problems = []
    more = Counter(system.platform.texts) - Counter([*REPLY, FOLLOWING])
    in_the_gap = Counter(moment.texts[moment.marked :])
    if more - in_the_gap or more.total() > 1:
        problems.append(f"sent twice: {dict(more)}")
    if list(dict.fromkeys(system.platform.texts)) != [*REPLY, FOLLOWING]:
        problems.append("out of order")
    runs = Counter(system.notes("runs"))
    if runs["note"] > 1 or runs["double"] > 2:
        problems.append(f"ran again: {dict(runs)}")
    if moment.recorded and runs != moment.runs:
        problems.append("a recorded call ran again")
    return problems


def damaged(system: System, said: int = 2) -> list[str]:
    """What is wrong with the history, the requests and the store. `said`: the messages that the
    history has of people, and the notes between them.
    """
    requests = enumerate((unpaired(body["messages"]) for body in system.model.bodies), 1)
    problems = [f"request {number}: {problem}" for number, problem in requests if problem]
    document = system.document(OWNER)
    if problem := unpaired([as_sent(message) for message in document.messages]):
        problems.append(f"history: {problem}")
    if sum(message.role == "user" for message in document.messages) != said:
        problems.append("a message stands in the history twice, or never")
    if document.turn or document.outbox:
        problems.append("the turn is not closed")
    if dead := system.dead_letters():
        problems.append(f"dead letters: {dead}")
    return problems


def as_sent(message: Message) -> dict[str, Any]:
    return {
        "role": message.role,
        "tool_call_id": message.call_id,
        "tool_calls": [{"id": call.id} for call in message.calls],
    }


def unpaired(messages: Sequence[dict[str, Any]]) -> str:
    """Which call is not answered exactly once, right behind the message that made it; empty when
    all are.
    """
    open_calls: list[str] = []
    for message in messages:
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                return f"an answer without its call: {message['tool_call_id']}"
            open_calls.remove(message["tool_call_id"])
            continue
        if open_calls:
            return f"calls without an answer: {open_calls}"
        open_calls = [call["id"] for call in message.get("tool_calls") or ()]
    return f"calls without an answer: {open_calls}" if open_calls else ""


def row(system: System, point: str, problems: Sequence[str]) -> Row:
    texts, runs = Counter(system.platform.texts), Counter(system.notes("runs"))
    parts = "+".join(str(texts[text]) for text in (*REPLY, FOLLOWING))
    return Row(
        point, parts, runs["note"], runs["double"], len(system.model.bodies), tuple(problems)
    )
