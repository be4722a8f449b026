"""The spans of a run: one for the turn, below it one for each request to the model, and below that
one for each call that the model made then.

They are made from the row of the run when it is closed, so that no span is open in a crash, and
their ids come from the event, so that a row which is written again makes the same spans.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Final

from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.runs.result import ENDPOINT
from functions.agent.runs.run import Run, Step, find_state
from functions.metrics import convention as names
from functions.metrics.turn_numbers import count_loads, read_numbers
from sigil.json_fields import as_number
from sigil.protocol import Json

Attribute = str | int | float | bool | tuple[str, ...]
ROOT: Final = "run"
"""The step of a run that stands for the whole of it."""
FAILED: Final = frozenset(("failed", "timed-out"))


@dataclass(frozen=True, slots=True)
class SpanRow:
    """A span as its row has it, with its times in nanoseconds since 1970.

    `parent` is 0 for the span of the turn, and `error` is empty for what did not fail. `linked` is
    the span of the turn that set this one off, in the same trace; 0 for none.
    """

    name: str
    trace: int
    id: int
    parent: int
    begin: int
    end: int
    attributes: Mapping[str, Attribute]
    is_client: bool = False
    error: str = ""
    linked: int = 0


def name_trace(event: str) -> int:
    """Return the id of the trace of all that an event has set off: the first 16 bytes of its
    SHA-256.
    """
    return int.from_bytes(sha256(event.encode(errors="replace")).digest()[:16])


def name_span(event: str, step: str) -> int:
    """Return the id of the span of a step in the turn of an event: the first 8 bytes of the SHA-256
    of the two, a line each.
    """
    return int.from_bytes(sha256(f"{event}\n{step}".encode(errors="replace")).digest()[:8])


def make_spans(run: Run, *, with_texts: bool = False) -> list[SpanRow]:
    """Return the spans of a run, that of the turn first.

    They have no id of a person, a chat or an event, and no text; `with_texts` they have the run's
    own id, and of its steps the `arguments`, the `result` and the `detail` where these are there.
    """
    trace = name_trace(run.first)
    root = name_span(run.event, ROOT)
    spans = [_make_root(run, trace, root, with_texts=with_texts)]
    asked = root
    for place, step in enumerate(run.steps):
        if step["kind"] == "request":
            asked = name_span(run.event, f"request {step.get('n', place)}")
            spans.append(_make_request(run, step, trace, asked, root, with_texts=with_texts))
        elif step["kind"] == "call":
            id = name_span(run.event, f"call {step.get('seq', place)}")
            spans.append(_make_call(run, step, trace, id, asked, with_texts=with_texts))
    return spans


def _make_root(run: Run, trace: int, id: int, *, with_texts: bool) -> SpanRow:
    numbers = read_numbers(run)
    attributes: dict[str, Attribute] = {
        names.OPERATION_NAME: names.INVOKE_AGENT,
        names.AGENT_NAME: run.agent,
        names.USAGE_INPUT_TOKENS: numbers.prompt_tokens,
        names.USAGE_OUTPUT_TOKENS: numbers.completion_tokens,
        names.USAGE_CACHE_READ_INPUT_TOKENS: numbers.cached_tokens,
        "uncaged.platform": numbers.platform,
        "uncaged.kind": run.kind,
        "uncaged.reason": run.reason,
        "uncaged.outcome": run.outcome,
        "uncaged.requests": numbers.requests,
        "uncaged.tool_calls": numbers.tool_calls,
        "uncaged.failed_calls": numbers.failed_calls,
        "uncaged.paged_in": numbers.tool_faults,
        "uncaged.evicted": numbers.evicted_tools,
        "uncaged.resident": numbers.resident_tools,
        "uncaged.resident_tokens": numbers.resident_tokens,
        "uncaged.window": numbers.window_tokens,
        "uncaged.cost": numbers.cost,
    }
    if run.why:
        attributes["uncaged.why"] = run.why
    if run.model:
        attributes[names.REQUEST_MODEL] = run.model
        attributes[names.PROVIDER_NAME] = name_provider(run.model)
    if with_texts:
        attributes["uncaged.run"] = run.id
    is_bad = run.outcome in ("failed", "given-up")
    return SpanRow(
        f"{names.INVOKE_AGENT} {run.agent}",
        trace,
        id,
        0,
        _find_begin(run),
        _find_begin(run) + round(run.seconds * 1e9),
        attributes,
        error=(run.why or run.outcome) if is_bad else "",
        linked=name_span(run.cause, ROOT) if run.cause else 0,
    )


def _make_request(
    run: Run, step: Step, trace: int, id: int, parent: int, *, with_texts: bool
) -> SpanRow:
    model = str(step.get("model") or run.model)
    attributes: dict[str, Attribute] = {
        names.OPERATION_NAME: names.CHAT,
        names.PROVIDER_NAME: name_provider(model),
        names.REQUEST_MODEL: model,
        names.RESPONSE_FINISH_REASONS: (str(step.get("finish", "")),),
        "uncaged.resident": _as_count(step.get("tools")),
        "uncaged.resident_tokens": _as_count(step.get("tool_tokens")),
    }
    if "prompt" in step:
        attributes[names.USAGE_INPUT_TOKENS] = _as_count(step["prompt"])
        attributes[names.USAGE_OUTPUT_TOKENS] = _as_count(step.get("completion"))
        attributes[names.USAGE_CACHE_READ_INPUT_TOKENS] = _as_count(step.get("cached"))
    if step.get("tries"):
        attributes["uncaged.failed_tries"] = _as_count(step["tries"])
    if with_texts and step.get("detail"):
        attributes["uncaged.detail"] = str(step["detail"])
    error = str(step.get("failure") or step.get("finish")) if find_state(step) in FAILED else ""
    begin, end = _find_times(run, step)
    name = f"{names.CHAT} {model}"
    return SpanRow(name, trace, id, parent, begin, end, attributes, is_client=True, error=error)


def _make_call(
    run: Run, step: Step, trace: int, id: int, parent: int, *, with_texts: bool
) -> SpanRow:
    name = str(step["name"])
    attributes: dict[str, Attribute] = {
        names.OPERATION_NAME: names.EXECUTE_TOOL,
        names.TOOL_NAME: name,
        names.TOOL_TYPE: "function",
        names.TOOL_CALL_ID: str(step.get("id", "")),
        "uncaged.result_characters": _as_count(step.get("size")),
        "uncaged.paged_in": count_loads(step),
    }
    if with_texts:
        texts = (
            ("arguments", names.TOOL_CALL_ARGUMENTS),
            ("result", names.TOOL_CALL_RESULT),
        )
        for field, attribute in texts:
            if step.get(field):
                attributes[attribute] = str(step[field])
    begin, end = _find_times(run, step)
    return SpanRow(
        f"{names.EXECUTE_TOOL} {name}",
        trace,
        id,
        parent,
        begin,
        end,
        attributes,
        error=str(step.get("error") or ""),
    )


def name_provider(model: str) -> str:
    """Return what answers for a model: the offline planner, or an endpoint, as results say it."""
    return OFFLINE if model == OFFLINE else ENDPOINT


def _find_times(run: Run, step: Step) -> tuple[int, int]:
    """Return when a step began and ended, in nanoseconds since 1970."""
    begin = _find_begin(run) + round(as_number(step.get("at")) * 1e6)
    return begin, begin + round(as_number(step.get("ms")) * 1e6)


def _find_begin(run: Run) -> int:
    """Return when a run began, in nanoseconds since 1970; a float has no more than microseconds."""
    return round(run.began * 1e6) * 1_000


def _as_count(value: Json) -> int:
    return round(as_number(value))
