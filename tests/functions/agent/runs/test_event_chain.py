"""The record of a chain counts each turn once, whatever was written before."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import orjson
import pytest

from functions.agent.conversation.messages import Usage
from functions.agent.runs.event_chain import (
    MAILS_MOST,
    RUNS_MOST,
    ChainBudget,
    ChainRun,
    EventChain,
    load_chain,
)
from functions.agent.runs.run import Run, save_run
from functions.agent.runs.tree import build_tree, describe_tree, format_tree
from functions.agent.session.document import Turn, name_run
from functions.events import Event, Sender, order_of
from sigil.errors import ToolError
from sigil.protocol import Json
from sigil.storage.kv import KV, keys
from sigil.storage.kv.memory import MemoryKV
from sigil.storage.stored import dumps
from tests.sigil.stores import Place, place, pytest_generate_tests

__all__ = ["place", "pytest_generate_tests"]

FIRST = "telegram:1:1"
NOW = 1_800_000_000.0


def make_turn(number: int, tokens: int = 0, **fields: object) -> Turn:
    """Return the turn of a chain's event; number 0 is the one that began it."""
    event = Event(
        id=f"mail:{number}" if number else FIRST,
        kind="mail" if number else "message",
        agent="main.alice",
        session="own:main",
        sender=Sender("agent:main"),
        text="",
        at=NOW,
        order=order_of(NOW, number),
        cause=FIRST if number else "",
        root=FIRST if number else "",
        by="telegram:42",
    )
    turn = Turn(event, began=NOW + number, usage=Usage(prompt=tokens))
    return replace(turn, **fields)  # type: ignore[arg-type]


def open_budget(kv: KV, turn: Turn, most: int = 1_000) -> ChainBudget:
    return ChainBudget(kv, "main.alice", turn.event, most)


def load(kv: KV) -> EventChain:
    found = load_chain(kv, "main", FIRST)
    assert found is not None
    return found


def test_a_turn_that_is_written_down_again_counts_once() -> None:
    kv = MemoryKV()
    for tokens in (100, 200, 200):
        turn = make_turn(1, tokens)
        assert open_budget(kv, turn).find_excess(turn) is None
    open_budget(kv, turn).close(turn, ())
    open_budget(kv, turn).close(turn, ())
    assert (load(kv).events, load(kv).tokens) == (1, 200)
    assert load(kv).runs == (ChainRun(name_run("mail:1", NOW + 1), "main.alice", 200),)


def test_a_turn_that_knows_less_after_a_crash_takes_nothing_back_before_its_end() -> None:
    kv = MemoryKV()
    before = make_turn(1, 500)
    open_budget(kv, before).find_excess(before)
    again = make_turn(1, 200)
    open_budget(kv, again).find_excess(again)
    assert load(kv).tokens == 500
    open_budget(kv, again).close(again, ())
    assert load(kv).tokens == 200


def test_a_turn_whose_event_comes_again_at_another_time_is_the_same_one() -> None:
    kv = MemoryKV()
    first = make_turn(1, 100)
    open_budget(kv, first).close(first, ())
    later = replace(first, began=NOW + 90)
    open_budget(kv, later).close(later, ())
    assert (load(kv).events, load(kv).tokens) == (1, 100)
    assert load(kv).runs[0].run == name_run("mail:1", NOW + 90)


def test_a_turn_alone_writes_nothing() -> None:
    kv = MemoryKV()
    alone = make_turn(0, 100)
    budget = open_budget(kv, alone, most=1)
    assert budget.find_excess(alone) is None
    budget.close(alone, ())
    assert load_chain(kv, "main", FIRST) is None


def test_the_first_turn_is_counted_before_its_first_post_leaves() -> None:
    kv = MemoryKV()
    first = make_turn(0, 100)
    budget = open_budget(kv, first)
    budget.follow(first)
    budget.require_room()
    assert load(kv).tokens == 100
    full = replace(first, usage=Usage(prompt=1_000), posted=1)
    budget.follow(full)
    with pytest.raises(ToolError, match=r"1,000 tokens together \(UNCAGED_CHAIN_TOKENS\)"):
        budget.require_room()
    excess = budget.find_excess(full)
    assert excess is not None
    assert excess.tokens == 1_000


def test_the_mail_of_one_sender_is_counted_over_its_turns_and_once_after_a_crash() -> None:
    kv = MemoryKV()

    def send(turn: Turn, count: int) -> None:
        budget = open_budget(kv, turn)
        budget.follow(turn)
        for _ in range(count):
            budget.count_mail()
        if count == MAILS_MOST // 2:
            budget.close(replace(turn, usage=Usage(prompt=9)), ())

    send(make_turn(1, 7), 7)  # killed before its round was saved
    send(make_turn(1, 7), MAILS_MOST // 2)
    step: dict[str, Json] = {"kind": "call", "sent": [["mail", "main.bob"]]}
    before = MAILS_MOST // 2 - 1
    send(make_turn(2, 5, trace=(step,) * before), 1)
    with pytest.raises(ToolError, match="at most 30 mails for the same cause"):
        send(make_turn(3, 5), 1)
    chain = load(kv)
    assert chain.mails == {"main.alice": MAILS_MOST}
    assert [run.mails for run in chain.runs] == [MAILS_MOST // 2, MAILS_MOST // 2]
    other = ChainBudget(kv, "main.bob", make_turn(4).event, 1_000)
    other.follow(make_turn(4, 5))
    other.count_mail()
    assert load(kv).mails["main.bob"] == 1


def test_the_oldest_runs_leave_the_record_and_stay_counted() -> None:
    kv = MemoryKV()
    working = make_turn(1, 7)
    open_budget(kv, working).find_excess(working)
    for number in range(2, RUNS_MOST + 52):
        turn = make_turn(number, 10)
        open_budget(kv, turn).close(turn, ())
    chain = load(kv)
    assert (chain.events, chain.tokens, chain.left_out) == (251, 2_507, 51)
    # the one that is at work stays, however old it is
    assert [each.event for each in chain.runs if each.open] == ["mail:1"]
    assert chain.runs[0].event == "mail:251"
    # a crash before the session knew of its end: it closes again
    again = make_turn(2, 10)
    open_budget(kv, again).close(again, ())
    working = make_turn(1, 9)
    open_budget(kv, working).close(working, ())
    assert (load(kv).events, load(kv).tokens) == (251, 2_509)
    assert len(dumps(load(kv))) < 40_000


def test_a_record_that_cannot_be_read_stops_its_chain_and_is_left_as_it_is() -> None:
    kv = MemoryKV()
    for damage in (b"{", b"[]", b'{"events":1}', b'{"events":0,"tokens":0,"format":2}'):
        key = keys.event_chain("main", FIRST)
        kv.put(key, damage)
        turn = make_turn(1, 1)
        assert open_budget(kv, turn).find_excess(turn)
        open_budget(kv, turn).close(turn, ())
        item = kv.get(key)
        assert item is not None
        assert item.value == damage
        assert open_budget(kv, turn, most=0).find_excess(turn) is None


def test_what_a_later_release_adds_is_kept() -> None:
    kv = MemoryKV()
    key = keys.event_chain("main", FIRST)
    run = {"run": name_run("mail:1", NOW + 1), "agent": "main.alice", "tokens": 5, "new": 1}
    kv.put(key, orjson.dumps({"events": 1, "tokens": 5, "runs": [run], "newer": [1]}))
    turn = make_turn(2, 6)
    open_budget(kv, turn).close(turn, ())
    item = kv.get(key)
    assert item is not None
    stored = orjson.loads(item.value)
    assert (stored["tokens"], stored["newer"], stored["runs"][1]["new"]) == (11, [1], 1)


def test_turns_side_by_side_are_all_counted(place: Place) -> None:
    stores = [place.open() for _ in range(8)]
    failures: list[BaseException] = []

    def work(kv: KV, number: int) -> None:
        try:
            turn = make_turn(number)
            budget = open_budget(kv, turn, most=10**9)
            for step in range(1, 6):
                turn = replace(turn, usage=Usage(prompt=step * number))
                budget.find_excess(turn)
            budget.close(turn, ())
        except BaseException as failure:
            failures.append(failure)

    threads = [
        threading.Thread(target=work, args=(kv, number)) for number, kv in enumerate(stores, 1)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    chain = load(stores[0])
    assert (chain.events, chain.tokens) == (8, 5 * sum(range(1, 9)))
    assert not any(each.open for each in chain.runs)


def save(kv: KV, number: int, cause: str) -> None:
    """Write down the run of a chain's event."""
    event = make_turn(number).event
    run = Run(
        event.id,
        event.session,
        "main.alice",
        event.kind,
        event.kind,
        "said",
        NOW + number,
        cause=cause,
        root=event.root,
        posts=1,
    )
    save_run(kv, run, 1.0)


def test_the_tree_of_more_runs_than_the_record_has_shows_the_newest() -> None:
    kv = MemoryKV()
    for number in range(RUNS_MOST + 50):
        turn = make_turn(number, 10, posted=1)
        open_budget(kv, turn).close(turn, ())
        # each sets off the next one
        save(kv, number, f"mail:{number - 1}" if number > 1 else FIRST * number)
    first = Run(FIRST, "telegram:42", "main", "message", "message", "said", NOW, posts=1)
    tree = build_tree(kv, ["main"], first)
    shown = list(tree.walk())
    assert [run.event for run in shown[:2]] == [FIRST, "mail:50"]
    assert len(shown) == 1 + RUNS_MOST
    assert format_tree(tree)[-1].endswith("more than 200, the newest are shown: 50 are not")
    described = describe_tree(tree)
    expected = {"event": FIRST, "events": 250, "at_work": 0, "tokens": 2_500}
    assert described["chain"] == expected
    assert described["left_out"] == 50


class _ScanRefusing(MemoryKV):
    def scan(self, *arguments: object, **options: object) -> list[object]:  # type: ignore[override]
        raise AssertionError("the tree of a chain is read by its ids")


def test_a_tree_reads_its_runs_by_their_ids() -> None:
    kv = _ScanRefusing(time.time)
    for number in range(3):
        turn = make_turn(number, 10, posted=1)
        open_budget(kv, turn).close(turn, ())
        save(kv, number, FIRST if number else "")
    first = Run(FIRST, "own:main", "main.alice", "message", "message", "said", NOW, posts=2)
    assert [run.event for run in build_tree(kv, [], first).walk()] == [FIRST, "mail:1", "mail:2"]
    alone = replace(first, event="telegram:1:2", posts=0)
    assert list(build_tree(kv, [], alone).walk()) == [alone]
