"""The front matter of a behaviour is strict and bounded, and every fault says what to do."""

from __future__ import annotations

import pytest

from functions.agent.behaviours.behaviour import (
    FRONT_CHARACTERS,
    NOTE,
    PINNED_AT_FIRST,
    PINNED_IN_TEAMS,
    Behaviour,
    BehaviourLimits,
    parse_behaviour,
)
from functions.agent.behaviours.built_in import BUILT_IN, NOTING
from sigil.errors import UsageError
from tests.tables import each_row

WHOLE = """\
+++
pins = ["currency-rates", "sleep", "sleep", "alice/look-up"]
model = "qwen-max"
next = "on_self_improve"
[limits]
requests = 4
hops = 0
seconds = 60
+++

Look at the rates.
+++ is no fence here
"""


def front(lines: str) -> str:
    return f"+++\n{lines}\n+++\ndo it"


def test_a_behaviour_is_read_whole() -> None:
    assert parse_behaviour("rates", WHOLE) == Behaviour(
        "rates",
        "Look at the rates.\n+++ is no fence here",
        ("currency-rates", "sleep", "alice/look-up"),
        BehaviourLimits(4, 0, 60),
        "qwen-max",
        "on_self_improve",
    )
    plain = parse_behaviour("rates", "Look at the rates.\r\n")
    assert plain == Behaviour("rates", "Look at the rates.")
    assert plain.pins == ("sleep", "next-behavior", "tell")
    assert plain.limits == BehaviourLimits(8, 3, 0)


def test_a_built_in_one_needs_no_prompt() -> None:
    for name, prompt in BUILT_IN.items():
        pins = (*PINNED_AT_FIRST, NOTE) if name in NOTING else PINNED_AT_FIRST
        if name == "on_self_improve":
            pins = (*pins, "review-runs", "read-current", "propose-change")
        if name == "on_compact_memory":
            pins = (*pins, "list-tasks")
        if name == "on_task":
            pins = PINNED_IN_TEAMS
        assert parse_behaviour(name, "") == Behaviour(name, prompt, pins)
        changed = parse_behaviour(name, '+++\nmodel = "small"\n+++')
        assert changed == Behaviour(name, prompt, pins, model="small")


@each_row(
    ("text", "fault", "advice"),
    [
        ("", "no prompt", "below the front matter"),
        ("+++\n+++\n \n", "no prompt", "below the front matter"),
        ("+++\nmodel = 'x'\n", "no end", "a line of +++"),
        ("---\nmodel: x\n---\ndo it", "YAML", "TOML between two lines of +++"),
        (front("model: x"), "no TOML", "such as model"),
        (front("model = 'x'\nmodel = 'y'"), "no TOML", "such as model"),
        (front(f"pins = {'[' * 900}"), "no TOML", "such as model"),
        (front(f"pins = {'[' * 900}{']' * 900}"), "", ""),
        (front(f"x = '{'y' * FRONT_CHARACTERS}'"), "characters", "at most 2,000"),
        (front("pin = ['sleep']"), "no 'pin'", "pins, limits, model, next"),
        (front("pins = 'sleep'"), "no list", 'pins = ["sleep"'),
        (front("pins = [1]"), "no list", 'pins = ["sleep"'),
        (front("pins = ['Sleep']"), "'Sleep' is no name", 'pins = ["sleep"'),
        (front("pins = ['../sleep']"), "no name", 'pins = ["sleep"'),
        (front(f"pins = {['sleep'] * 17}"), "17 capabilities", "at most 16"),
        (front("limits = 3"), "no table", "limits = {"),
        (front("limits = { steps = 3 }"), "no 'limits.steps'", "limits.requests, limits.hops"),
        (front("limits = { requests = 0 }"), "requests is 0", "from 1 to 8"),
        (front("limits = { requests = 9 }"), "requests is 9", "from 1 to 8"),
        (front("limits = { requests = true }"), "requests is True", "from 1 to 8"),
        (front("limits = { requests = 2.0 }"), "requests is 2.0", "from 1 to 8"),
        (front("limits = { hops = 4 }"), "hops is 4", "from 0 to 3"),
        (front("limits = { seconds = 4 }"), "seconds is 4", "from 5 to 3,600"),
        (front("limits = { seconds = inf }"), "seconds is inf", "from 5 to 3,600"),
        (front("model = 'two words'"), "no name of a model", "such as model"),
        (front("model = 1"), "no name of a model", "such as model"),
        (front("next = 'On Wakeup'"), "no name of a behaviour", "such as next"),
        (front("next = ['a']"), "no name of a behaviour", "such as next"),
    ],
)
def test_a_fault_says_what_is_wrong_and_what_to_do(text: str, fault: str, advice: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_behaviour("mine", text)
    assert caught.value.code == "EINVAL"
    assert caught.value.message.startswith("behaviour mine: ")
    assert fault in caught.value.message
    assert advice in caught.value.suggestion
    assert len(caught.value.message) < 400
