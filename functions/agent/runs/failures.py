"""The failures of an agent's runs: whether there were any, and what failed how often."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from itertools import islice
from typing import Final

from functions.agent.runs.run import Run, Step, scan_runs
from sigil.protocol import Json
from sigil.storage.kv import KV

LOOKED_MOST: Final = 500
"""So many of the newest runs are looked at."""
SHOWN_MOST: Final = 20
ENDED_BADLY: Final = ("failed", "given-up", "stopped")
TOLD: Final = "told"
"""Why a run was stopped that a person told to stop."""
NO_FAILURE: Final = ("EAPPROVAL", "EASK", "ESTOPPED")
"""The codes of calls that wait for an owner, or for an answer, or that never began."""


def has_failed_since(kv: KV, agent: str, since: float) -> bool:
    """Return whether a run of an agent has failed since a time, as far as its newest runs tell."""
    return any(is_failed(run) for run in scan_since(kv, agent, since))


def scan_since(kv: KV, agent: str, since: float) -> Iterator[Run]:
    """Yield the newest runs of an agent that began since a time, the newest first."""
    for run in islice(scan_runs(kv, agent), LOOKED_MOST):
        if run.began < since:
            return
        yield run


def is_failed(run: Run) -> bool:
    """Return whether a run ended badly, or a call of it failed."""
    if run.outcome in ENDED_BADLY and run.why != TOLD:
        return True
    # some of its steps may be left out
    return run.failed > sum(map(_is_no_failure, run.steps))


def summarize(runs: Sequence[Run]) -> dict[str, Json]:
    """Return what failed in some runs, the newest of which comes first, without any text of a chat
    and without who it was for.
    """
    failed = [run for run in runs if is_failed(run)]
    times: Counter[tuple[str, str]] = Counter()
    last: dict[tuple[str, str], str] = {}
    for run in failed:
        for step in _list_failed_calls(run):
            failure = (str(step["name"]), str(step["error"]))
            times[failure] += 1
            last.setdefault(failure, _format_time(run.began))
    failures: list[Json] = [
        {"call": call, "error": error, "times": count, "last": last[call, error]}
        for (call, error), count in times.most_common(SHOWN_MOST)
    ]
    shown = [run for run in runs if run.notes or is_failed(run)][:SHOWN_MOST]
    return {
        "runs": len(runs),
        "failed": len(failed),
        "failures": failures,
        "items": [_describe(run) for run in shown],
    }


def _describe(run: Run) -> dict[str, Json]:
    calls = [f"{step['name']} {step['error']}" for step in _list_failed_calls(run)]
    fields: dict[str, Json] = {
        "at": _format_time(run.began),
        "kind": run.kind,
        "behaviour": run.behaviour,
        "outcome": run.outcome,
        "why": run.why,
        "failed": calls[:SHOWN_MOST],
        "noted": list(run.notes),
    }
    return {name: value for name, value in fields.items() if value}


def _list_failed_calls(run: Run) -> list[Step]:
    steps = [step for step in run.steps if step["kind"] == "call" and step.get("error")]
    return [step for step in steps if not _is_no_failure(step)]


def _is_no_failure(step: Step) -> bool:
    """Return whether a step has an error that is no failure of the call's."""
    return step.get("error") in NO_FAILURE or bool(step.get("stopped"))


def _format_time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M} UTC"
