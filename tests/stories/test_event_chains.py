"""Agents that set each other off end at a common limit, and whoever meets it is told."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from functions import worker
from functions.agent.agents.record import AgentRecord, add_agent
from functions.agent.conversation.messages import Message
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.management.runs import show_run
from functions.agent.posts import Post, ServiceAnswer
from functions.agent.runs.event_chain import EventChain, load_chain
from functions.agent.runs.run import Run, format_run, scan_runs
from functions.agent.runs.tree import build_tree, find_run, format_tree, list_agents
from functions.agent.services import table
from functions.agent.services.call_context import Arguments, CallContext
from functions.agent.session.document import Document
from functions.agent.turn.loop import ROUNDS
from functions.cli.commands.trace import show_runs
from functions.events import HOPS_MOST, Event, Sender, order_of
from functions.queues.dead_letters import scan_dead_letters
from functions.wiring import AgentRuntime
from sigil.storage.kv import keys
from sigil.storage.stored import dumps
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, offered, results, say
from tests.fakes.server import Answer, Recorded, json_answer
from tests.functions.chats import Chats
from tests.functions.people import OWNER, platform
from tests.library import add_service
from tests.machine import within
from tests.selection import thorough
from tests.servers.stores import empty_store

NAME = "pass-on"
HOME = f"telegram:{OWNER}"
FIRST = "telegram:4242:42:1"
RING = tuple(f"agent-{number}" for number in range(1, 10))
TOKENS = 1_000
"""What each request of the model uses."""
STORES = ("memory", "sqlite", *thorough("redis", "dynamodb"))
CHILDREN = 8


def pass_on(context: CallContext, arguments: Arguments) -> ServiceAnswer:
    """Mail the next agent of the ring."""
    name = context.app.short_name
    following = RING[(RING.index(name) + 1) % len(RING)] if name in RING else RING[0]
    to = f"main.{following}"
    context.posts.take(1, to=to)
    now = context.app.clock.now()
    Mailbox(context.app.kv, to).deliver(Mail(context.call, name, "pass it on", now, by=context.by))
    return ServiceAnswer(
        f"{following} has it", (Post("mail", to, "own:main", data={"home": context.home}),)
    )


class PassingModel(ScriptedModel):
    """Passes on whatever it reads, and ends when that is refused or done."""

    def answer(self, request: Recorded) -> Answer:
        body = request.json()
        usage = {"prompt_tokens": TOKENS - 10, "completion_tokens": 10}
        return json_answer({"usage": usage, **self.plan(body)})

    def plan(self, body: dict[str, Any]) -> dict[str, Any]:
        if "cap_pass_on" not in offered(body):
            if body.get("tool_choice") == "none":
                return say("no")
            return call(("sigil_query", {"query": "pass it on"}))
        if body["messages"][-1]["role"] == "tool" and "has it" in body["messages"][-1]["content"]:
            return say("I passed it on")
        last = body["messages"][-1]["content"]
        if "ELIMIT" in last or "Your last tool call failed" in last:
            return say("it ends with me")
        return call(("cap_pass_on", {}))


@pytest.fixture
def model() -> Iterator[PassingModel]:
    with PassingModel() as server:
        yield server


@pytest.fixture
def open_ring(
    runtime: Callable[..., AgentRuntime],
    bot: BotApi,
    model: PassingModel,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Callable[..., Chats]:
    """Opens a root with nine agents below it, each of which can mail the next one."""
    monkeypatch.setitem(table.SERVICES, NAME, pass_on)  # type: ignore[arg-type]
    library = add_service(
        tmp_path / "services", NAME, "Pass it on to the next agent.", "pass it on"
    )

    def opened(**settings: Any) -> Chats:
        made = runtime(
            **{
                "llm_url": model.url,
                "library": str(library),
                **platform(bot),
                **settings,
            }
        )
        for name in RING:
            record = AgentRecord("agent", "enabled", 1.0, "terminal:local")
            add_agent(made.stores.kv, "main", name, record)
        return Chats(made, bot)

    return opened


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """The setting of a store of the kind that the test names, empty."""
    with empty_store(request.param, request, tmp_path) as setting:
        yield setting


def list_runs(chats: Chats) -> list[Run]:
    """Return all runs, the newest first."""
    kv = chats.runtime.stores.kv
    runs = [run for agent in list_agents(kv, "main") for run in scan_runs(kv, agent)]
    return sorted(runs, key=lambda run: run.id)


def load(chats: Chats, event: str = FIRST) -> EventChain:
    found = load_chain(chats.runtime.stores.kv, "main", event)
    assert found is not None
    return found


def list_refusals(model: ScriptedModel) -> list[str]:
    """Return what the model was told where a post was refused, once for each time."""
    told = [results(body)[-1] for body in model.bodies if results(body)]
    return list(dict.fromkeys(each for each in told if "ELIMIT" in each))


def assert_nothing_is_left(chats: Chats) -> None:
    kv = chats.runtime.stores.kv
    assert not any(kv.scan(index) for index in keys.READY_INDEXES)
    assert not list(scan_dead_letters(kv))
    assert not any(kv.scan(keys.mail(f"main.{name}", 0.0, "").partition) for name in RING)


def test_nine_agents_that_mail_each_other_for_ever_end_after_sixteen_of_them(
    open_ring: Callable[..., Chats],
    model: PassingModel,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chats = open_ring(tokens_per_day=0)
    chats.write(1, "pass it on")
    chats.work_off()
    runs = list_runs(chats)
    chained = [run for run in runs if run.kind == "mail"]
    assert sorted(run.hops for run in chained) == list(range(1, HOPS_MOST + 1))
    assert [run.agent for run in reversed(chained)] == [
        f"main.{RING[number % len(RING)]}" for number in range(HOPS_MOST)
    ]
    (refused,) = list_refusals(model)
    assert "agents have set each other off 16 times" in refused
    assert_nothing_is_left(chats)
    # each of them reports to the chat that it all began in
    assert chats.list_texts().count("I passed it on") == HOPS_MOST
    assert chats.list_texts()[-1].startswith("it ends with me\n\n(pass-on failed:")

    chain = load(chats)
    assert chain.events == len(runs) == 1 + 2 * HOPS_MOST
    assert chain.tokens == sum(run.usage.counted for run in runs) == TOKENS * len(model.bodies)
    assert {each.run for each in chain.runs} == {run.id for run in runs}
    assert not any(each.open for each in chain.runs)
    kv = chats.runtime.stores.kv
    agents = list_agents(kv, "main")
    top = find_run(kv, agents, FIRST)
    assert top is not None
    tree = build_tree(kv, agents, top)
    assert {run.id for run in tree.walk()} == {run.id for run in runs}
    lines = "\n".join(format_tree(tree))
    assert "the limit of chain-hops: it may set off no other agent" in lines
    served = show_run(chats.runtime.app, FIRST, with_texts=False)
    counted = {"event": FIRST, "events": len(runs), "at_work": 0, "tokens": chain.tokens}
    assert served["chain"] == counted
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    show_runs(FIRST, follow=False, json=False)
    shown = capsys.readouterr().out
    assert f"{len(runs)} runs, {chain.tokens:,} tokens in all" in shown
    spent = f"{len(runs)} events, {chain.tokens:,} of 500,000 tokens"
    assert f"the chain of {FIRST}: {spent}" in shown


def test_a_chain_that_has_used_its_tokens_ends_and_its_senders_read_the_limit(
    open_ring: Callable[..., Chats], model: PassingModel
) -> None:
    chats = open_ring(tokens_per_day=0, chain_tokens=13 * TOKENS)
    chats.write(1, "pass it on")
    chats.work_off()
    chain = load(chats)
    assert chain.tokens == TOKENS * len(model.bodies) == 13 * TOKENS
    assert_nothing_is_left(chats)
    (refused,) = list_refusals(model)
    assert "13,000 tokens together (UNCAGED_CHAIN_TOKENS), and this has used 11,000" in refused
    assert {run.outcome for run in list_runs(chats)} == {"said"}
    assert chats.list_texts()[-1].startswith("it ends with me")
    # the next message is another cause
    asked = len(model.bodies)
    chats.write(2, "again")
    chats.work_off()
    assert len(model.bodies) == asked + 13


def test_work_that_comes_when_its_chain_has_used_its_tokens_says_so_and_asks_nothing(
    open_ring: Callable[..., Chats], model: PassingModel
) -> None:
    chats = open_ring(tokens_per_day=0, chain_tokens=12 * TOKENS)
    kv = chats.runtime.stores.kv
    kv.put(keys.event_chain("main", FIRST), dumps(EventChain(events=1, tokens=12 * TOKENS)))
    Mailbox(kv, "main.agent-1").deliver(Mail("1", "agent-9", "pass it on", time.time()))
    chats.runtime.queue.put(replace(make_child(1), kind="mail", text=""))
    chats.work_off()
    assert not model.bodies
    assert_nothing_is_left(chats)
    (stopped,) = [run for run in list_runs(chats) if run.kind == "mail"]
    assert (stopped.outcome, stopped.why) == ("stopped", "chain")
    lines = "\n".join(format_tree(build_tree(kv, ["main"], stopped)))
    assert "the limit of chain ends it: safe_stop (12,000 of 12,000 tokens, " in lines
    assert "UNCAGED_CHAIN_TOKENS)" in lines
    assert chats.list_texts() == [
        "I stop here (ELIMIT): everything that one cause sets off may use 12,000 tokens together,"
        " and this has used 12,000. The setting is UNCAGED_CHAIN_TOKENS."
    ]
    # the agent's history has the mail, with why nothing came of it
    session = keys.session_of("main.agent-1", "own:main")
    *_, mail, told = chats.runtime.app.sessions.open(session).document.messages
    assert "<inbox>" in mail.content
    assert "ELIMIT" in told.content


def test_a_post_beyond_the_budget_is_refused_before_it_changes_anything(
    open_ring: Callable[..., Chats], model: PassingModel
) -> None:
    chats = open_ring(tokens_per_day=0, chain_tokens=11 * TOKENS)
    chats.write(1, "pass it on")
    chats.work_off()
    assert_nothing_is_left(chats)
    (run,) = [run for run in list_runs(chats) if "refused" in str(run.steps)]
    assert "the limit of chain: it may set off no other agent" in "\n".join(format_run(run))
    assert (run.outcome, run.why) == ("stopped", "chain")
    # the sender's history has it, for its next turn
    sender = keys.session_of(run.agent, run.session)
    *_, refused, told = chats.runtime.app.sessions.open(sender).document.messages
    assert '"ELIMIT"' in refused.content
    assert (
        "everything that one cause sets off may use 11,000 tokens together (UNCAGED_CHAIN_TOKENS),"
        " and this has used 11,000"
    ) in refused.content
    assert chats.list_texts()[-1] == told.content.replace("`", "")
    assert "I stop here (ELIMIT)" in told.content
    assert load(chats).tokens == TOKENS * len(model.bodies)


def test_the_first_turn_of_a_chain_reads_that_it_may_set_off_nothing_and_answers(
    open_ring: Callable[..., Chats], model: PassingModel
) -> None:
    chats = open_ring(tokens_per_day=0, chain_tokens=2 * TOKENS)
    chats.write(1, "pass it on")
    chats.work_off()
    refused = list_refusals(model)[0]
    assert "2,000 tokens together (UNCAGED_CHAIN_TOKENS), and this has used 2,000" in refused
    # what a person asks for alone is bounded by the budget of the day
    assert chats.list_texts()[-1].startswith("it ends with me")
    assert [run.outcome for run in list_runs(chats)] == ["said"]
    assert not any(each.open for each in load(chats).runs)
    assert_nothing_is_left(chats)


def test_an_owner_reads_which_cause_set_off_the_most(
    open_ring: Callable[..., Chats], model: PassingModel
) -> None:
    chats = open_ring(tokens_per_day=0, chain_tokens=12 * TOKENS)
    for number in (1, 2):
        chats.write(number, "pass it on")
        chats.work_off()
    asked = len(model.bodies)
    # a message that set off nothing is none of them
    model.plan = lambda body: say("hello")  # type: ignore[method-assign]
    chats.write(3, "hello")
    chats.work_off()
    side = chats.runtime.control
    assert side is not None
    chats.write(4, "/spent")
    delivery = side.take(0.0)
    assert delivery is not None
    worker.process(delivery, replace(chats.runtime, queue=side))
    told = chats.list_texts()[-1]
    _, chains = told.split("The most that one cause set off, in all agents:")
    assert sorted(chains.split("\n")[1:]) == [
        f"• “pass it on” ({event}): {TOKENS * asked // 2:,} tokens in"
        f" {load(chats, event).events} events"
        for event in (FIRST, "telegram:4242:42:2")
    ]


def test_a_spent_chain_asks_nothing_to_shorten_a_history_either(
    open_ring: Callable[..., Chats], model: PassingModel
) -> None:
    chats = open_ring(tokens_per_day=0, chain_tokens=TOKENS, context="summary", llm_window=8_000)
    kv = chats.runtime.stores.kv
    sessions = chats.runtime.app.sessions
    long = [Message("user", f"{number} {'hens ' * 200}") for number in range(60)]
    session = keys.session_of("main.agent-1", "own:main")
    for root in ("another", FIRST):
        opened = sessions.open(session)
        sessions.save(opened, Document().add(*long))
        spent = EventChain(events=1, tokens=TOKENS if root == FIRST else 0)
        kv.put(keys.event_chain("main", root), dumps(spent))
        chats.runtime.queue.put(replace(make_child(1), id=f"task:{root}", root=root))
        chats.work_off()
        assert len(sessions.open(session).document.messages) < len(long)
    # the chain that had tokens left
    (asked,) = model.bodies
    assert "You keep notes for a chat agent" in str(asked["messages"][0])


def test_a_forged_event_from_beyond_the_last_hop_is_a_dead_letter(
    open_ring: Callable[..., Chats], model: PassingModel
) -> None:
    chats = open_ring(tokens_per_day=0)
    forged = replace(make_child(1), hops=HOPS_MOST + 1)
    chats.runtime.queue.put(forged)
    chats.work_off()
    (letter,) = scan_dead_letters(chats.runtime.stores.kv)
    assert "more than 16 others" in letter.reason
    assert not model.bodies


def test_a_chain_without_a_limit_is_counted_all_the_same(
    open_ring: Callable[..., Chats], model: PassingModel
) -> None:
    chats = open_ring(tokens_per_day=0, chain_tokens=0)
    chats.write(1, "pass it on")
    chats.work_off()
    assert load(chats).tokens == TOKENS * len(model.bodies)
    assert load(chats).events == 1 + 2 * HOPS_MOST


def make_child(number: int) -> Event:
    """Return the event with which a turn of the root has set off a child."""
    now = time.time()
    return Event(
        id=f"task:{FIRST}:{number}",
        kind="task",
        agent=f"main.{RING[number - 1]}",
        session="own:main",
        sender=Sender("agent:main"),
        text="count the hens",
        at=now,
        order=order_of(now, number),
        private=True,
        cause=FIRST,
        root=FIRST,
        hops=1,
        by=HOME,
        data={"home": HOME},
    )


class SearchingModel(ScriptedModel):
    """Searches on and on. The first requests are answered when all children have asked."""

    def __init__(self) -> None:
        super().__init__()
        self._all = threading.Barrier(CHILDREN)
        self._asked = itertools.count()

    def answer(self, request: Recorded) -> Answer:
        if next(self._asked) < CHILDREN:
            self._all.wait(within(60.0))
        usage = {"prompt_tokens": TOKENS - 10, "completion_tokens": 10}
        made = call(("sigil_query", {"query": f"hens {next(self._asked)}"}))
        return json_answer({**made, "usage": usage})


@pytest.mark.parametrize("store", STORES, indirect=True)
def test_eight_children_side_by_side_overshoot_by_at_most_one_request_each(
    open_ring: Callable[..., Chats], store: str
) -> None:
    most = 20 * TOKENS
    with SearchingModel() as model:
        chats = open_ring(
            tokens_per_day=0, chain_tokens=most, store=store, llm_url=model.url, ticks=0
        )
        for number in range(1, CHILDREN + 1):
            chats.runtime.queue.put(make_child(number))
        waiting = chats.runtime.work or chats.runtime.queue
        deliveries = [waiting.take(0.0) for _ in range(CHILDREN)]
        runtime = replace(chats.runtime, queue=waiting)
        threads = [
            threading.Thread(target=worker.process, args=(delivery, runtime))
            for delivery in deliveries
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        spent = TOKENS * len(model.bodies)
    chain = load(chats)
    assert chain.tokens == spent
    assert most <= spent < most + CHILDREN * TOKENS
    runs = [run for run in list_runs(chats) if run.kind == "task"]
    assert len(runs) == CHILDREN
    # one that was far ahead of the others may have had all of its requests before
    assert all(run.why == "chain" or run.requests == ROUNDS + 1 for run in runs)
    assert any(run.why == "chain" for run in runs)
