"""A reaction is what a round's answers lead to: new counters, the guide's words, a ladder step.

It is pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from functions.agent.conversation.messages import CallResult
from functions.agent.safety import guides
from functions.agent.safety.call_facts import Fact, make_fact
from functions.agent.safety.guides import Guide
from functions.agent.safety.ladder import Counters, Step
from sigil.storage.evolve import evolve


@dataclass(frozen=True, slots=True)
class Reaction:
    """The outcome of a round.

    `answers` are as the model reads them, with one fact each; `step` is the highest that any of
    them led to, and `reason` the key of `REASONS` when the session does not go on.
    """

    answers: tuple[CallResult, ...]
    facts: tuple[Fact, ...]
    counters: Counters
    step: Step
    reason: str = ""


def react(answers: Sequence[CallResult], counters: Counters, guide: Guide) -> Reaction:
    """Return what a round's answers, taken in their order, lead to.

    No failure but a fatal one ends anything before the model has read it.
    """
    answered: list[CallResult] = []
    facts: list[Fact] = []
    highest = Step.NONE
    reason = ""
    for result in answers:
        fact = make_fact(result.call, result.error, result.why, result.content, result.ran)
        counters, step = counters.after(fact, unread=facts)
        if step > highest:
            highest = step
            reason = ""
            if step is Step.PAUSE:
                reason = "frustration"
            elif step is Step.HALT:
                reason = "fatal" if fact.failed and fact.kind == "fatal" else "cascade"
        lines = [result.content]
        if fact.failed:
            words = guides.interpret_fact(guide, fact)
            if words:
                lines.append(words)
            if counters.is_repeated(fact):
                lines.append(guides.ALERT)
        elif step is Step.REPEATS:
            lines.append(guides.REPEATS.format(count=counters.count_same(fact)))
        answered.append(evolve(result, content="\n".join(lines)))
        facts.append(fact)
    return Reaction(tuple(answered), tuple(facts), counters, highest, reason)
