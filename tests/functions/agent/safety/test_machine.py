"""The failures, halts and budgets of a chat follow the rules whatever happens to it, in whatever
order, and only its bytes last.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as some
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from functions.agent.safety.call_facts import fingerprint
from functions.agent.safety.status import REASONS, SafetyStatus
from functions.agent.session.document import Document, decode_document, encode_document
from functions.events import Event
from tests.functions.agent.safety.damages import DAMAGES, damaged
from tests.functions.agent.safety.rules import STATES, Agent
from tests.functions.agent.safety.rules import fingerprint as ruled
from tests.functions.agent.safety.workers import Twist, deliver, look, outside
from tests.functions.agent.safety.world import DAY, Plan, World
from tests.machine import times
from tests.selection import in_full
from tests.tables import each_row

CHATS = some.sampled_from(["telegram:7", "telegram:8"])
PEOPLE = some.sampled_from(["owner", "member", "guest"])
FAIL = (
    "EINVAL a",
    "EINVAL a",
    "EINVAL b",
    "EPERM",
    "EMYOWN",
    "EUNAVAILABLE",
    "garbled",
    "listed",
    "nobody",
    "act badly",
)
WORK = ("fine a", "fine a", "fine b", "news", "load", "act", "act")
ODD = ("absent", "moody", *["ENOMEM"] * 2, *["EHOSTMEM"] * 2, "load", "act")
MANY = ("news",) * 14
"""With three calls more, the last one is never begun."""
HALTING = [
    ("EINVAL a", "EINVAL b", "EPERM"),
    *[("fine a", "nobody", "EMYOWN", "EPERM")] * 2,
    ("nobody",),
]
"""Eight failures of the last ten operations, of which the model had read seven when it made the
last one.
"""
COSTS = some.sampled_from([10, 10, 300, 1_500])
LAST = some.sampled_from(["ok?", "ok?", "It is done."])
WHAT = (
    "/halt",
    "/halt here",
    "/unlock",
    "/unlock here",
    f"jump {DAY}",
    f"jump -{DAY}",
    *["/stop", "damage"] * 2,
    *["crash", "overtake"] * 3,
)
TWISTS = some.none() | some.builds(
    Twist, some.sampled_from(["ask", "run", "save", "saved"]), some.integers(1, 6), some.sampled_from(WHAT)
)  # fmt: skip
COUNTS: Counter[str] = Counter()
"""What happened in all sequences together: a machine in which nothing happens proves nothing."""
WANTED = (
    # the agent is the root, which has no budget beside that of all
    *(f"told of {reason}" for reason in REASONS if reason != "agent-budget"),
    *(
        "alerts",
        "notices",
        "quiet",
        "answered",
        "stopped",
        "given up",
        "killed",
        "overtaken",
        "damaged",
        "went well",
    ),
    *(
        f"failed: {code}"
        for code in (
            "EINVAL",
            "EJSON",
            "ENOTOOL",
            "EPERM",
            "EMYOWN",
            "EUNAVAILABLE",
            "ENOMEM",
            "EHOSTMEM",
            "ETRAP",
        )
    ),
    *(f"not counted: {code}" for code in ("EINTERRUPTED", "ELIMIT", "ENOTRESIDENT", "ESTOPPED")),
    *(f"in between: {what}" for what in WHAT),
)


def rounds(*acts: str, most: int = 6) -> some.SearchStrategy[list[tuple[str, ...]]]:
    calls = some.lists(some.sampled_from(acts), min_size=1, max_size=4).map(tuple)
    return some.lists(calls, max_size=most)


def plans(*acts: str) -> some.SearchStrategy[Plan]:
    return some.builds(Plan, rounds(*acts), COSTS, LAST)


class Machine(RuleBasedStateMachine):
    """Rules choose what happens; every document that is written is followed by an account of its
    own.
    """

    world: World

    @initialize(
        tokens=some.sampled_from([0, 6_000]),
        own=some.sampled_from([0, 3_000]),
        ticks=some.sampled_from([0, 4, 7, 50]),
    )
    def begin(self, tokens: int, own: int, ticks: int) -> None:
        self.world = World(Agent(tokens, own, ticks), COUNTS)

    @rule(chat=CHATS, who=PEOPLE, plan=plans(*FAIL), twist=TWISTS)
    def failures(self, chat: str, who: str, plan: Plan, twist: Twist | None) -> None:
        deliver(self.world, self.world.planned(chat, who, plan), twist)

    @rule(chat=CHATS, who=PEOPLE, plan=plans(*FAIL, *FAIL, *WORK, *ODD), twist=TWISTS)
    def mixed(self, chat: str, who: str, plan: Plan, twist: Twist | None) -> None:
        deliver(self.world, self.world.planned(chat, who, plan), twist)

    @rule(chat=CHATS, who=PEOPLE, plan=plans(*WORK), twist=TWISTS)
    def successes(self, chat: str, who: str, plan: Plan, twist: Twist | None) -> None:
        deliver(self.world, self.world.planned(chat, who, plan), twist)

    @rule(chat=CHATS, who=PEOPLE, plan=plans("moody", "moody", "EPERM", "fine a"))
    def by_turns(self, chat: str, who: str, plan: Plan) -> None:
        deliver(self.world, self.world.planned(chat, who, plan))

    @rule(
        chat=CHATS,
        who=PEOPLE,
        plan=plans(*WORK, *FAIL),
    )
    def work_goes_on(self, chat: str, who: str, plan: Plan) -> None:
        deliver(self.world, self.world.planned(chat, who, plan, "task"))

    @rule(chat=CHATS, who=PEOPLE, last=rounds(*FAIL, *WORK, most=1))
    def very_many_calls(self, chat: str, who: str, last: list[tuple[str, ...]]) -> None:
        deliver(
            self.world, self.world.planned(chat, who, Plan([(*MANY, *calls) for calls in last]))
        )

    @rule(
        chat=CHATS,
        who=PEOPLE,
        text=some.sampled_from(
            ["/unlock", "/unlock", "admin:unlock", "/halt", "/halt here", "/stop"]
        ),
    )
    def control(self, chat: str, who: str, text: str) -> None:
        deliver(self.world, self.world.event(chat, who, text))

    @rule(
        chat=CHATS,
        word=some.sampled_from(["/unlock", "/unlock here", "/halt here"]),
        round_=some.integers(1, 4),
    )
    def somebody_is_faster_than_the_end(self, chat: str, word: str, round_: int) -> None:
        """Say a word of an owner right after a round was saved: the chat that was closed by it has not
        said so yet.
        """
        plan = Plan(
            [
                ("EINVAL a", "EPERM"),
                ("EINVAL b", "fine a"),
                ("nobody", "EMYOWN"),
                ("EPERM", "listed", "act badly"),
            ]
        )
        deliver(
            self.world,
            self.world.planned(chat, "owner", plan),
            Twist("saved", 1 + 2 * round_, word),
        )

    @rule(chat=CHATS, who=PEOPLE, text=some.sampled_from(["/new", "/tools", "/status"]))
    def command(self, chat: str, who: str, text: str) -> None:
        deliver(self.world, self.world.event(chat, who, text))

    @rule(
        word=some.sampled_from(["/halt", "/unlock", "/unlock", "/unlock"]),
        chat=CHATS | some.just(""),
    )
    def outside(self, word: str, chat: str) -> None:
        outside(self.world, word, chat)

    @precondition(lambda self: self.words())
    @rule(pick=some.integers(0, 9))
    def a_word_comes_again(self, pick: int) -> None:
        deliver(self.world, self.words()[pick % len(self.words())])

    def words(self) -> list[Event]:
        return [
            event
            for event in self.world.events.values()
            if event.is_control and event.sender.id == "owner"
        ]

    @precondition(lambda self: self.world.events)
    @rule(pick=some.integers(0, 99), twist=TWISTS)
    def again(self, pick: int, twist: Twist | None) -> None:
        events = list(self.world.events.values())
        deliver(self.world, events[-1 - pick % len(events)], twist)

    @rule(chat=CHATS, where=some.sampled_from(["ask", "run", "save"]), number=some.integers(1, 3))
    def one_that_kills_whoever_takes_it(self, chat: str, where: str, number: int) -> None:
        event = self.world.planned(chat, "owner", Plan([("act", "EPERM"), ("fine a", "EINVAL b")]))
        for _ in range(3):
            deliver(self.world, event, Twist(where, number, "crash"))

    @rule(seconds=some.sampled_from([1.0, 60.0, DAY, DAY, -30.0, -DAY, 3 * DAY, -3 * DAY]))
    def clock(self, seconds: float) -> None:
        self.world.jump(seconds)

    @rule(chat=CHATS, name=some.sampled_from(list(DAMAGES)))
    def damage(self, chat: str, name: str) -> None:
        self.world.damage(chat, name)

    @rule(chat=CHATS)
    def look(self, chat: str) -> None:
        look(self.world, chat)

    def check_invariants(self, *given: Any, **more: Any) -> None:
        super().check_invariants(*given, **more)
        COUNTS["steps"] += 1
        if hasattr(self, "world"):
            self.world.judge()

    def teardown(self) -> None:
        COUNTS["sequences"] += 1


SEQUENCES = 40 if in_full() else 24
"""Of one run, in which later sequences are mostly changes of earlier ones."""
RUNS = 3
RUNS_MOST = 20
SHARE = 0.6
"""Of what may happen, so much happens in the one run of the suite at least; it is mostly more."""


def test_the_rules_hold_whatever_happens_in_whatever_order() -> None:
    """Play sequences from several beginnings, and go on until everything has happened; in the suite,
    play them from one that is always the same.
    """
    COUNTS.clear()
    if not in_full():
        play_sequences(0)
        assert COUNTS["sequences"] >= times(SEQUENCES)
        assert len(missing()) <= (1 - SHARE) * len(WANTED), missing()
        return
    runs = 0
    while runs < RUNS or (missing() and runs < RUNS_MOST):
        play_sequences(runs)
        runs += 1

    print(runs, dict(sorted(COUNTS.items())))
    assert COUNTS["sequences"] >= runs * times(SEQUENCES)
    assert missing() == []


def missing() -> list[str]:
    """Return what has not happened in any sequence."""
    return [happened for happened in WANTED if not COUNTS[happened]]


def play_sequences(number: int) -> None:
    """Play one run. A change is judged by the same run twice; at home every run of everything is
    another.
    """
    machine = type("Machine", (Machine,), {})
    if "CI" in os.environ or not in_full():
        seed(number)(machine)
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=times(SEQUENCES),
            stateful_step_count=16,
            deadline=None,
            print_blob=True,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_ten_failures_in_a_row_end_in_error_paused_though_somebody_answers_in_between() -> None:
    world = World(Agent(), COUNTS)
    for number in range(10):
        deliver(world, world.planned("telegram:7", "owner", Plan([("EINVAL a",)])))
        world.judge()
        chat = world.agent.chat("telegram:7")
        assert STATES[chat.closed] == (
            "ERROR_PAUSED" if number >= 7 else "PAUSED" if number == 4 else "WAITING_FOR_EVENT"
        )


@pytest.mark.parametrize(
    ("text", "closed"), [("/unlock", "cascade"), ("/halt", ""), ("/halt here", "")]
)
def test_a_word_that_is_delivered_again_changes_nothing(text: str, closed: str) -> None:
    world = World(Agent(), COUNTS)
    word = world.event("telegram:7", "owner", text)
    deliver(world, word)
    outside(world, "/unlock", "telegram:7")
    plan = Plan(HALTING) if closed else Plan()
    for event in (
        world.planned("telegram:7", "owner", plan),
        word,
        world.planned("telegram:7", "owner", Plan()),
    ):
        deliver(world, event)
    world.judge()

    assert world.agent.chat("telegram:7").closed == closed


@pytest.mark.parametrize("jump", [0.0, -DAY, DAY])
@pytest.mark.parametrize("everywhere", [True, False])
def test_an_unlock_opens_what_was_closed_before_it_and_nothing_later_whatever_the_clock_shows(
    jump: float, everywhere: bool
) -> None:
    world = World(Agent(), COUNTS)
    cascade = Plan(HALTING)
    deliver(world, world.planned("telegram:7", "owner", cascade))
    world.jump(jump)
    outside(world, "/unlock", "" if everywhere else "telegram:7")
    look(world, "telegram:7")
    world.jump(-2 * jump)
    deliver(world, world.planned("telegram:7", "owner", cascade))
    look(world, "telegram:7")
    deliver(world, world.planned("telegram:7", "owner", Plan()))
    world.judge()

    assert world.agent.chat("telegram:7").closed == "cascade"


@each_row("name", DAMAGES)
def test_no_damaged_state_is_believed(name: str) -> None:
    whole = json.loads(encode_document(Document()))

    read = decode_document(json.dumps({**whole, "safety": damaged(whole["safety"], name)}).encode())

    assert read == replace(Document(), safety=SafetyStatus(reason="damaged", told=False))


def test_a_document_from_before_there_was_any_safety_is_no_damaged_one() -> None:
    whole = json.loads(encode_document(Document()))
    del whole["safety"]

    assert decode_document(json.dumps(whole).encode()) == Document()


SCALARS = some.none() | some.booleans() | some.integers(-(2**53), 2**53) | some.text(max_size=5)


NESTED = some.recursive(
    SCALARS,
    lambda inner: some.lists(inner) | some.dictionaries(some.text(max_size=3), inner),
    max_leaves=8,
)


@settings(max_examples=times(30))
@given(some.dictionaries(some.text(max_size=5), NESTED, max_size=4))
def test_a_fingerprint_is_blind_to_order_spaces_and_escapes(arguments: dict[str, Any]) -> None:
    ways = [
        json.dumps(turned(arguments)),
        json.dumps(arguments, ensure_ascii=False, indent=1),
        json.dumps(arguments, sort_keys=True),
    ]

    assert {fingerprint("t", way) for way in ways} == {ruled("t", ways[0])}


def turned(value: Any) -> Any:
    """The same value, the keys of all objects the other way round."""
    if isinstance(value, dict):
        return {name: turned(value[name]) for name in reversed(value)}
    return [turned(one) for one in value] if isinstance(value, list) else value
