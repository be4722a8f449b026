"""The result of a run as programs read it: what it came to, what it used, and what comes next."""

from __future__ import annotations

from dataclasses import fields
from typing import Final, Literal, TypedDict

from functions.agent.conversation.messages import Usage
from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.runs.run import RUNNING, WAITING, Run, Step, find_state
from sigil.json_fields import as_number
from sigil.protocol import Json
from sigil.storage.stored import row

ENDPOINT = "openai-compatible"
_SUMMARY: Final = tuple(field.name for field in fields(Run) if field.name not in ("steps", "_rest"))
_USAGE: Final = tuple(field.name for field in fields(Usage) if field.name != "_rest")


class Failed(TypedDict):
    """Why a run has no result, in a word."""

    Error: str


class TokenUsage(TypedDict):
    prompt: int
    completion: int
    total: int


class Action(TypedDict):
    """A call that the model made: its tool, its place in the turn, and the code of its failure."""

    name: str
    seq: int
    ms: float
    error: str


class Output(TypedDict):
    """The way in which a run came to its chat. Its words are in the chat and not here."""

    outcome: str
    files: int


class Track(TypedDict):
    trace_id: str
    model: str
    provider: str
    latency_ms: float
    errors: list[str]


class LLMResult(TypedDict):
    """The result of a run of a behaviour.

    `next_behavior` went on after it; `is_sleep` says that nothing did, and that it ended by itself.
    """

    result: Literal["OK"] | Failed
    token_usage: TokenUsage
    actions: list[Action]
    output: Output
    track: Track
    next_behavior: str | None
    is_sleep: bool


def describe(run: Run) -> dict[str, object]:
    """Return a run as programs get it, with its id and its result."""
    fields = row(run)
    fields["steps"] = [describe_step(step, run) for step in run.steps]
    result = None if run.is_running else make_result(run)
    return {"id": run.id, **fields, "result": result}


def summarize(run: Run) -> dict[str, object]:
    """Return a run as programs get it, without its steps."""
    # lists have many of them, and most of what a copy of all fields costs is that of the steps
    plain = {name: getattr(run, name) for name in _SUMMARY}
    usage = {name: getattr(run.usage, name) for name in _USAGE}
    result = None if run.is_running else make_result(run)
    return {"id": run.id, **plain, "usage": usage, "result": result}


def describe_step(step: Step, run: Run) -> dict[str, object]:
    """Return a step of a run as programs get it: a request to the model or a call has its `state`
    as well, and where it is over the `end` of it, in milliseconds after the run began.

    A request has an `id`, and its `model`.
    """
    fields: dict[str, object] = dict(step)
    state = find_state(step)
    if not state:
        return fields
    fields["state"] = state
    if "ms" in step and state not in (RUNNING, WAITING):
        fields["end"] = round(as_number(step.get("at")) + as_number(step["ms"]))
    if step["kind"] == "request":
        if "n" in step:
            fields["id"] = name_request(run, step["n"])
        fields.setdefault("model", run.model)
    return fields


def name_request(run: Run, number: Json) -> str:
    """Return the id of a request of a run: `INV~EVENT/NUMBER`."""
    return f"{run.id}/{number}"


def make_result(run: Run) -> LLMResult:
    """Return the result of a run."""
    actions: list[Action] = []
    errors: list[str] = []
    after = ""
    for step in run.steps:
        error = str(step.get("error") or step.get("failure") or "")
        if error:
            errors.append(error)
        if step["kind"] == "call":
            action: Action = {
                "name": str(step["name"]),
                "seq": round(as_number(step.get("seq"))),
                "ms": as_number(step.get("ms")),
                "error": error,
            }
            actions.append(action)
        elif step["kind"] == "end":
            after = str(step["behaviour"])
    is_done = run.outcome in ("said", "silent")
    usage = run.usage
    provider = OFFLINE if run.model == OFFLINE else ENDPOINT
    return {
        "result": "OK" if is_done else {"Error": run.why or run.outcome},
        "token_usage": {
            "prompt": usage.prompt,
            "completion": usage.completion,
            "total": usage.total,
        },
        "actions": actions,
        "output": {"outcome": run.outcome, "files": run.files},
        "track": {
            "trace_id": run.id,
            "model": run.model,
            "provider": provider if run.model else "",
            "latency_ms": round(run.seconds * 1000, 1),
            "errors": errors,
        },
        "next_behavior": after or None,
        "is_sleep": is_done and not after,
    }
