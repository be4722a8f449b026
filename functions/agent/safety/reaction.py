"""What a round's answers lead to: counters that go on, words of the guide below every failure, and
the step of the ladder. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from functions.agent.messages import CallResult
from functions.agent.safety import guides
from functions.agent.safety.facts import Fact, fact_of
from functions.agent.safety.guides import Guide
from functions.agent.safety.ladder import Counters, Operation, Step


@dataclass(frozen=True, slots=True)
class Reaction:
    """`answers` as the model reads them, `facts` one for each, `step` the highest that any of them
    led to.
    """

    answers: tuple[CallResult, ...]
    facts: tuple[Fact, ...]
    counters: Counters
    step: Step
    reason: str = ""
    """The name of why the session does not go on."""


def react(answers: Sequence[CallResult], counters: Counters, guide: Guide) -> Reaction:
    """Take a round's answers in their order. Nothing that failed in it ends anything before the
    model has read it, but what is fatal.
    """
    told: list[CallResult] = []
    facts: list[Fact] = []
    highest, reason = Step.NONE, ""
    for given in answers:
        fact = fact_of(given.call, given.error, given.why, given.content, given.ran)
        counters, step = counters.after(fact, unread=facts)
        if step > highest:
            highest, reason = step, _reason(step, fact)
        told.append(
            replace(given, content="\n".join([given.content, *_words(fact, step, guide, counters)]))
        )
        facts.append(fact)
    return Reaction(tuple(told), tuple(facts), counters, highest, reason)


def _words(fact: Fact, step: Step, guide: Guide, counters: Counters) -> list[str]:
    """What stands below a result: the guide's words, then the system's."""
    if not fact.failed:
        return (
            [guides.REPEATS.format(count=_same(fact, counters.window))]
            if step is Step.REPEATS
            else []
        )
    words = (guides.told(guide, fact), guides.ALERT if counters.repeated(fact) else "")
    return [line for line in words if line]


def _same(fact: Fact, window: Sequence[Operation]) -> int:
    return sum(one.fingerprint == fact.fingerprint and one.result == fact.result for one in window)


def _reason(step: Step, fact: Fact) -> str:
    if step is Step.HALT:
        return "fatal" if fact.failed and fact.kind == "fatal" else "cascade"
    return "frustration" if step is Step.PAUSE else ""
