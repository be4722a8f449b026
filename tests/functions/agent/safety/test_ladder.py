"""When failures are enough."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from functions.agent.conversation.messages import ToolCall
from functions.agent.safety.call_facts import Fact, make_fact
from functions.agent.safety.ladder import Counters, Step
from sigil.storage.stored import Shape, dumps
from tests.selection import examples
from tests.tables import each_row


def operation(code: str = "EINVAL", arguments: str = "{}", result: str = "") -> Fact:
    return make_fact(ToolCall("1", "t", arguments), code, "", result)


def distinct(number: int, code: str = "EINVAL") -> Fact:
    return operation(code, json.dumps({"n": number}), str(number))


NEW = Counters()
FATAL = "EBREACH"


def climbed(*facts: Fact, counters: Counters = NEW) -> tuple[Counters, list[Step]]:
    steps = []
    for fact in facts:
        counters, step = counters.after(fact)
        steps.append(step)
    return counters, steps


def test_one_or_two_failures_are_plain() -> None:
    assert climbed(operation(), operation())[1] == [Step.NONE, Step.NONE]


def test_the_third_failure_of_one_call_is_an_alert() -> None:
    assert climbed(*[operation()] * 3)[1][-1] is Step.ALERT


def test_three_failures_of_different_calls_are_none() -> None:
    assert climbed(*map(distinct, range(3)))[1] == [Step.NONE] * 3


def test_a_call_that_fails_again_and_again_between_others_is_seen() -> None:
    well = [distinct(number, "") for number in range(2)]

    assert climbed(operation(), well[0], operation(), well[1], operation())[1][-1] is Step.ALERT


def test_five_failures_in_a_row_pause_whether_the_same_or_not() -> None:
    assert climbed(*map(distinct, range(5)))[1][-1] is Step.PAUSE
    assert climbed(*[operation()] * 5)[1][-1] is Step.PAUSE


def test_a_success_ends_the_row_but_not_the_window() -> None:
    row = [distinct(number) for number in range(4)] + [distinct(4, "")]
    counters, steps = climbed(*row, *(distinct(number) for number in range(5, 9)))

    assert Step.PAUSE not in steps
    assert steps[-1] is Step.HALT
    assert counters.failed == 8


def test_the_window_is_ten_operations() -> None:
    facts = [
        distinct(0),
        *(distinct(number, "" if number % 3 == 0 else "EINVAL") for number in range(1, 30)),
    ]

    assert Step.HALT not in climbed(*facts)[1]


def test_after_a_pause_a_person_goes_on_with_the_window_as_it_was() -> None:
    counters, _ = climbed(*map(distinct, range(5)))

    assert climbed(*map(distinct, range(5, 8)), counters=counters.resume())[1] == [
        Step.NONE,
        Step.NONE,
        Step.HALT,
    ]


def test_of_one_round_three_failures_enter_the_window_and_all_the_row() -> None:
    facts = [distinct(number) for number in range(6)]
    counters = NEW
    for number, fact in enumerate(facts):
        counters, step = counters.after(fact, unread=facts[:number])
        assert step is Step.NONE

    assert (counters.consecutive, counters.failed, len(counters.failures)) == (6, 3, 6)
    assert counters.after(distinct(6))[1] is Step.PAUSE


def test_what_took_no_place_leaves_with_the_operation_that_it_followed() -> None:
    facts = [distinct(number) for number in range(4)]
    counters = NEW
    for number, fact in enumerate(facts):
        counters, _ = counters.after(fact, unread=facts[:number])
    again, _ = climbed(distinct(9, ""), facts[3], counters=counters)
    others, _ = climbed(*(distinct(number, "") for number in range(10, 18)), counters=again)

    assert again.after(facts[3])[1] is Step.ALERT
    assert others.after(facts[3])[1] is Step.NONE


def test_counters_of_a_version_that_knew_of_no_surplus_go_on() -> None:
    facts = [distinct(number) for number in range(4)]
    counters = NEW
    for number, fact in enumerate(facts):
        counters, _ = counters.after(fact, unread=facts[:number])
    stored = json.loads(dumps(counters))
    shape = Shape[Counters](Counters)

    assert shape.convert(stored) == counters
    del stored["beside"]
    assert shape.convert(stored).after(facts[3])[0].failed == 4


def test_an_unlocked_session_begins_anew_and_still_knows_what_failed() -> None:
    counters, _ = climbed(*map(distinct, range(8)))
    fresh = counters.unlock()

    assert (fresh.consecutive, fresh.window) == (0, ())
    assert fresh.failures == counters.failures


def test_a_fatal_failure_halts_at_once() -> None:
    assert climbed(operation(FATAL))[1] == [Step.HALT]


def test_a_page_fault_is_neither_a_failure_nor_a_success() -> None:
    before, _ = climbed(*map(distinct, range(4)))

    assert before.after(operation("ENOTRESIDENT")) == (before, Step.NONE)


def test_the_same_result_for_the_third_time_is_noticed() -> None:
    same = [operation("", result="42")] * 4

    assert climbed(*same)[1] == [Step.NONE, Step.NONE, Step.REPEATS, Step.REPEATS]
    assert (
        climbed(*(operation("", result=str(number)) for number in range(4)))[1] == [Step.NONE] * 4
    )


def test_counters_survive_being_stored() -> None:
    counters, _ = climbed(*map(distinct, range(7)), distinct(7, ""))

    assert Shape[Counters](Counters).read(dumps(counters)) == counters


@each_row(
    "damage",
    [
        {"consecutive": "3"},
        {"consecutive": -1},
        {"window": [{"fingerprint": "x"}]},
        {"window": [{"fingerprint": "x", "result": "", "failed": "no"}]},
        {"failures": [{"source": 3, "fingerprint": ""}]},
        {"window": None},
    ],
)
def test_damaged_counters_are_told_and_not_guessed(damage: dict[str, object]) -> None:
    with pytest.raises(ValueError):
        Shape[Counters](Counters).convert({"consecutive": 0, "window": [], "failures": []} | damage)


@settings(max_examples=examples(150), deadline=None)
@given(
    some.lists(
        some.tuples(
            some.sampled_from(["", "EINVAL", "EPERM", "ENOTRESIDENT", FATAL]), some.integers(0, 3)
        ),
        max_size=60,
    )
)
def test_the_rules_hold_for_every_sequence(calls: list[tuple[str, int]]) -> None:
    counters, row, outcomes = Counters(), 0, []
    for code, number in calls:
        fact = distinct(number, code)
        counters, step = counters.after(fact)
        if code == "ENOTRESIDENT":
            assert step is Step.NONE
            continue
        row = row + 1 if code else 0
        outcomes.append(bool(code))
        assert counters.consecutive == row
        assert (step is Step.HALT) == ((bool(code) and sum(outcomes[-10:]) >= 8) or code == FATAL)
        assert step is Step.HALT or (step is Step.PAUSE) == (row >= 5)
