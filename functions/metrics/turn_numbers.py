"""The numbers of a turn, from the row of its run: whoever shows one shows that."""

from __future__ import annotations

from dataclasses import dataclass

from functions.agent.runs.run import Run, Step
from sigil.json_fields import as_number, as_sequence


@dataclass(frozen=True, slots=True)
class TurnNumbers:
    """What a turn used and did, by its agent, platform, outcome and model, and nobody's name.

    `cached_tokens` are a part of `prompt_tokens`. `cost` is in the currency of the prices.
    `tool_faults` counts the tools that were paged in, `evicted_tools` and `evicted_messages` what
    left the history. `resident_tools` and `window_tokens` are the tools and the tokens of the last
    request, and `resident_tokens` are about those of its tools that had been paged in. A row leaves
    out steps of a long turn: those six are then too small, and the others are right.
    """

    agent: str
    platform: str
    outcome: str
    model: str
    seconds: float
    requests: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    cost: float
    tool_calls: int
    failed_calls: int
    tool_faults: int
    evicted_tools: int
    evicted_messages: int
    resident_tools: int
    resident_tokens: int
    window_tokens: int


def read_numbers(run: Run) -> TurnNumbers:
    """Return the numbers of a run that is closed."""
    requests = [step for step in run.steps if step["kind"] == "request" and "prompt" in step]
    evictions = [step for step in run.steps if step["kind"] == "evict"]
    last: Step = requests[-1] if requests else {}
    return TurnNumbers(
        agent=run.agent,
        platform=run.session.partition(":")[0],
        outcome=run.outcome,
        model=run.model,
        seconds=run.seconds,
        requests=run.requests,
        prompt_tokens=run.usage.prompt,
        completion_tokens=run.usage.completion,
        cached_tokens=run.usage.cached,
        cost=run.usage.cost,
        tool_calls=run.calls,
        failed_calls=run.failed,
        tool_faults=sum(map(count_loads, run.steps)),
        evicted_tools=sum(len(as_sequence(step.get("tools"))) for step in evictions),
        evicted_messages=sum(round(as_number(step.get("messages"))) for step in evictions),
        resident_tools=round(as_number(last.get("tools"))),
        resident_tokens=round(as_number(last.get("tool_tokens"))),
        window_tokens=round(as_number(last.get("prompt"))),
    )


def count_loads(step: Step) -> int:
    """Return how many tools a step paged in."""
    return len(as_sequence(step.get("loads")))
