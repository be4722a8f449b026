"""A round's tool calls: run side by side, answered in order, every id once, and never with an exception."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson

from functions.agent.cleaning import observed
from functions.agent.messages import ToolCall
from functions.agent.model import UNNAMED
from functions.agent.patience import NONE, Patience
from functions.agent.toolset import DEPLOY, QUERY, by_tool, is_capability
from sigil import statics
from sigil.errors import BackendError, Refused, SigilError, ToolError, UsageError, one_line
from sigil.protocol import Caller, Json, Offer, Registry, capability_of
from sigil.strict import dumps

MOST = 16
RESULT_CHARACTERS = 16_000
HEAD_SHARE = 0.75
GRACE_SECONDS = 0.5
"""What a call gets beyond its time to say itself that it is up."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a call came to: `content` for the model, `loads` what it paged in, `error` and `why` the code and message of its failure.

    `ran`: whether it began at all.
    """

    call: ToolCall
    content: str
    loads: tuple[Offer, ...] = ()
    error: str = ""
    ms: float = 0.0
    cut: int = 0
    why: str = ""
    ran: bool = True


Serve = Callable[[Offer, ToolCall, dict[str, Json]], Json]
"""Answers a call of one of the agent's own services, offered as a capability of kind `host`."""


def nowhere(offer: Offer, call: ToolCall, arguments: dict[str, Json]) -> Json:
    """No service of the agent's is here."""
    raise ToolError("ENOTOOL", f"{offer.name} does not run here", source=offer.name)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a turn's calls are answered: the registry, in whose name, whether this chat may deploy, whether it was told to stop, how
    long it may wait for what passes, and what answers a call of the agent's own services."""

    registry: Registry
    caller: Caller
    may_deploy: bool
    pool: ThreadPoolExecutor
    stopped: Callable[[], bool] = lambda: False
    patience: Patience = NONE
    serve: Serve = nowhere


def answer_all(desk: Desk, calls: Sequence[ToolCall], offers: Sequence[Offer], room: int) -> list[Answer]:
    """The answers to `calls`, in order. `offers` is this round's snapshot; `room` the characters that all results share."""
    share = min(RESULT_CHARACTERS, max(room // max(len(calls), 1), 500))
    over = time.monotonic() + desk.patience.seconds + GRACE_SECONDS
    futures = [desk.pool.submit(copy_context().run, answer, desk, call, offers, position) for position, call in enumerate(calls)]
    return [fit(_awaited(future, call, desk, over), share) for future, call in zip(futures, calls, strict=True)]


def _awaited(future: Future[Answer], call: ToolCall, desk: Desk, over: float) -> Answer:
    """The answer that a call gives in its time. One that does not is left alone: no thread can be ended from outside."""
    try:
        return future.result(max(over - time.monotonic(), 0.0))
    except TimeoutError:
        if future.done():  # the call's own
            return future.result()
    late = f"timed out after {desk.patience.seconds * 1000:.0f} ms"
    if future.cancel():
        return replace(refusal(call, BackendError("EBUSY", f"{late}: it never began", suggestion="try again later")), ran=False)
    return refusal(call, ToolError("ETIMEDOUT", f"{late}; whether it took effect is unknown", suggestion="give it less to do"))


def answer(desk: Desk, call: ToolCall, offers: Sequence[Offer], position: int = 0) -> Answer:
    """The answer to one call."""
    started = time.monotonic()
    try:
        if position >= MOST:
            many = ToolError("ELIMIT", f"at most {MOST} calls a step are run", suggestion="call it again in the next step")
            return replace(refusal(call, many), ran=False)
        if desk.stopped():
            return replace(refusal(call, ToolError("ESTOPPED", "the turn was stopped before this call began")), ran=False)
        attempt = partial(_run, desk, call, offers)
        content, loads = desk.patience.tried(attempt, desk.stopped) if safe_to_repeat(call, offers) else attempt()
        given = Answer(call, observed(content), loads)
    except SigilError as problem:
        given = refusal(call, problem)
    except MemoryError:
        given = refusal(call, BackendError("EHOSTMEM", "the machine has no memory left for this call"))
    except Exception as problem:  # noqa: BLE001  a door: whatever a call does, the model gets an answer and the turn goes on
        given = refusal(call, BackendError("EINTERNAL", f"the runtime failed: {type(problem).__name__}"))
    return replace(given, ms=(time.monotonic() - started) * 1000)


def refusal(call: ToolCall, problem: SigilError) -> Answer:
    """A failure as the model reads it: one line of JSON."""
    fields = {**problem.as_dict(), "source": one_line(problem.source or call.name, 64)}
    return Answer(call, observed(orjson.dumps({"error": fields}).decode()), error=problem.code, why=fields["message"])


def interrupted(call: ToolCall) -> Answer:
    """The answer to a call that a crash cut off and that is not safe to run again."""
    why = "the call was interrupted; whether it took effect is unknown"
    return refusal(call, ToolError("EINTERRUPTED", why, suggestion="check before calling it again"))


def fit(given: Answer, share: int) -> Answer:
    """An answer whose content keeps its head and its tail when it is longer than `share` characters."""
    length = len(given.content)
    if length <= share:
        return given
    head = int(share * HEAD_SHARE)
    cut = length - share
    content = (
        f"{given.content[:head]}\n[… {cut:,} of {length:,} characters are left out here …]\n{given.content[length - (share - head) :]}"
    )
    return replace(given, content=content, cut=cut)


def safe_to_repeat(call: ToolCall, offers: Sequence[Offer]) -> bool:
    """Whether a call whose answer was lost may simply run again."""
    offer = by_tool(offers).get(call.name)
    return call.name in (QUERY, DEPLOY) or bool(offer and offer.pure)


def _run(desk: Desk, call: ToolCall, offers: Sequence[Offer]) -> tuple[str, tuple[Offer, ...]]:
    handler = _HANDLERS.get(call.name)
    if handler:
        return handler(desk, _arguments(call))
    offer = by_tool(offers).get(call.name)
    if offer is None:
        raise _absent(desk, call.name)
    if offer.kind == "host":
        return dumps({"ok": desk.serve(offer, call, _arguments(call))}, source=offer.name).decode(), ()
    ran = desk.registry.run(f"{offer.name}@{offer.digest}", _arguments(call), desk.caller)
    return f'{{"ok":{ran.output.decode()}}}', ()


def _arguments(call: ToolCall) -> dict[str, Json]:
    try:
        arguments = orjson.loads(call.arguments or "{}")
    except orjson.JSONDecodeError as problem:
        message = f"the arguments are not JSON: {problem.msg} (column {problem.colno})"
        raise ToolError("EJSON", message, suggestion="send one JSON object") from None
    if not isinstance(arguments, dict):
        raise ToolError("EJSON", "the arguments are not a JSON object", suggestion="send one JSON object")
    return arguments


def _absent(desk: Desk, tool: str) -> SigilError:
    """A page fault when the capability exists but is not resident; else there is no such tool."""
    if tool == UNNAMED:
        return ToolError("ENOTOOL", "the call names no tool", suggestion="call it again, by the name of a tool that is listed")
    name = capability_of(tool) if is_capability(tool) else None
    if name and _exists(desk, name):
        return ToolError(
            "ENOTRESIDENT", f"{tool} is not loaded", suggestion=f'call sigil_query with "{name}", then use it in the next step'
        )
    return ToolError("ENOTOOL", "there is no such tool", suggestion="use the tools that are listed, or search with sigil_query")


def _exists(desk: Desk, name: str) -> bool:
    try:
        desk.registry.inspect(name, desk.caller)
    except UsageError:
        return False
    return True


def _query(desk: Desk, arguments: dict[str, Json]) -> tuple[str, tuple[Offer, ...]]:
    text, limit = statics.read_query(arguments)
    found = desk.registry.query(text, desk.caller, limit=limit)
    result = {"items": [statics.hit_row(hit) for hit in found.hits], "total": found.total}
    return orjson.dumps({"ok": result}).decode(), tuple(hit.offer for hit in found.hits)


def _deploy(desk: Desk, arguments: dict[str, Json]) -> tuple[str, tuple[Offer, ...]]:
    if not desk.may_deploy:
        raise Refused("EPERM", "this chat may not create capabilities", suggestion="ask an owner to do it")
    done = desk.registry.deploy(statics.read_spec(arguments), desk.caller)
    return orjson.dumps({"ok": statics.deployed_row(done)}).decode(), (done.offer,)


_HANDLERS: dict[str, Callable[[Desk, dict[str, Any]], tuple[str, tuple[Offer, ...]]]] = {QUERY: _query, DEPLOY: _deploy}
