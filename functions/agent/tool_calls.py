"""A round's tool calls: run side by side, answered in order, every id once, and never with an
exception.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial
from math import ceil

import orjson

from functions.agent import tokens
from functions.agent.messages import CallResult, ToolCall
from functions.agent.model.base import UNNAMED
from functions.agent.safety.retry import NO_RETRY, Retry
from functions.agent.sanitize import observed
from functions.agent.toolset import DEPLOY, QUERY, by_tool, is_capability
from sigil import builtin_tools
from sigil.builtin_tools import original_arguments
from sigil.errors import BackendError, Refused, SigilError, ToolError, UsageError, one_line
from sigil.protocol import Caller, Json, Offer, Registry, capability_of
from sigil.strict_json import dumps

MOST = 16
RESULT_CHARACTERS = 16_000
RESULT_LEAST = 200
"""Characters of a result that the model gets however full its window is."""
PAIN_CHARACTERS = 600
"""What a guide's words below a failure take, about."""
HEAD_SHARE = 0.75
BEST_SHARE, LOADS_SHARE = 0.75, 0.5
"""Of the room that a round has: what the best of each query, and what all that it pages in may
take. The rest is for what is said.
"""
GRACE_SECONDS = 0.5
"""What a call gets beyond its time to say itself that it is up."""


Serve = Callable[[Offer, ToolCall, dict[str, Json]], Json]
"""Answers a call of one of the agent's own services, offered as a capability of kind `host`."""


def nowhere(offer: Offer, call: ToolCall, arguments: dict[str, Json]) -> Json:
    """No service of the agent's is here."""
    raise ToolError("ENOTOOL", f"{offer.name} does not run here", source=offer.name)


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a turn's calls are answered: the registry, in whose name, whether this chat may deploy,
    whether it was told to stop, how long it may wait for what passes, and what answers a call of
    the agent's own services.
    """

    registry: Registry
    caller: Caller
    may_deploy: bool
    pool: ThreadPoolExecutor
    stopped: Callable[[], bool] = lambda: False
    retry: Retry = NO_RETRY
    serve: Serve = nowhere


def answer_all(
    desk: Desk, calls: Sequence[ToolCall], offers: Sequence[Offer], room: int
) -> list[CallResult]:
    """The answers to `calls`, in order. `offers` is this round's snapshot; `room` the characters
    that all results and page-ins share.
    """
    over = time.monotonic() + desk.retry.seconds + GRACE_SECONDS
    futures = [
        desk.pool.submit(copy_context().run, answer, desk, call, offers, position)
        for position, call in enumerate(calls)
    ]
    answers = [
        _awaited(future, call, desk, over) for future, call in zip(futures, calls, strict=True)
    ]
    answers, taken = page_in(answers, offers, room)
    room -= taken + sum(len(given.content) + PAIN_CHARACTERS for given in answers if given.error)
    share = min(
        RESULT_CHARACTERS,
        max(room // max(sum(not given.error for given in answers), 1), RESULT_LEAST),
    )
    return [
        given if given.error else _shorter(given, share) if given.listed else fit(given, share)
        for given in answers
    ]


def page_in(
    answers: Sequence[CallResult], offers: Sequence[Offer], room: int
) -> tuple[list[CallResult], int]:
    """The answers with the loads for which there is room, and the characters that these take in the
    next request.

    The best of each answer goes first. What is not paged in is told in the answer that would have
    brought it.
    """
    sizes = {tool: _size(offer) for tool, offer in by_tool(offers).items()}
    kept: set[tuple[int, int]] = set()
    taken = 0
    ranked = [
        (rank, number) for number, given in enumerate(answers) for rank in range(len(given.loads))
    ]
    for rank, number in sorted(ranked):
        offer = answers[number].loads[rank]
        more = max(_size(offer) - sizes.get(offer.tool, 0), 0)
        if not more or taken + more <= room * (LOADS_SHARE if rank else BEST_SHARE):
            kept.add((number, rank))
            sizes[offer.tool] = _size(offer)
            taken += more
    return [
        _with_loads(given, [(number, rank) in kept for rank in range(len(given.loads))])
        for number, given in enumerate(answers)
    ], taken


def _size(offer: Offer) -> int:
    """The characters that an offer takes as a tool of a request."""
    return ceil(tokens.of_offer(offer) * tokens.CHARACTERS_A_TOKEN)


def _with_loads(given: CallResult, kept: Sequence[bool]) -> CallResult:
    """The answer with the loads that are kept, and told what the others are."""
    if all(kept) or given.listed is None:
        return given
    loads = tuple(offer for offer, stays in zip(given.loads, kept, strict=True) if stays)
    out = {offer.tool for offer, stays in zip(given.loads, kept, strict=True) if not stays}
    return replace(
        _listing(given.call, builtin_tools.without_tools(given.listed, out), loads), ms=given.ms
    )


def _shorter(given: CallResult, share: int) -> CallResult:
    """A listing that is too long, told in fewer words: half a line of JSON says nothing.

    What a tool says of itself goes first, then the names that brought no tool, the last ones first.
    The names of its tools stay.
    """
    if given.listed is None or "items" not in given.listed or len(given.content) <= share:
        return given
    items = [
        {name: item[name] for name in ("capability", "tool") if name in item}
        for item in given.listed["items"]
    ]
    while True:
        given = replace(
            _listing(given.call, {**given.listed, "items": items}, given.loads), ms=given.ms
        )
        unpaged = [number for number, item in enumerate(items) if "tool" not in item]
        if len(given.content) <= share or not unpaged:
            return given
        del items[unpaged[-1]]


def _awaited(future: Future[CallResult], call: ToolCall, desk: Desk, over: float) -> CallResult:
    """The answer that a call gives in its time. One that does not is left alone: no thread can be
    ended from outside.
    """
    try:
        return future.result(max(over - time.monotonic(), 0.0))
    except TimeoutError:
        if future.done():  # the call's own
            return future.result()
    late = f"timed out after {desk.retry.seconds * 1000:.0f} ms"
    if future.cancel():
        return replace(
            refusal(
                call, BackendError("EBUSY", f"{late}: it never began", suggestion="try again later")
            ),
            ran=False,
        )
    return refusal(
        call,
        ToolError(
            "ETIMEDOUT",
            f"{late}; whether it took effect is unknown",
            suggestion="give it less to do",
        ),
    )


def answer(desk: Desk, call: ToolCall, offers: Sequence[Offer], position: int = 0) -> CallResult:
    """The answer to one call."""
    started = time.monotonic()
    try:
        if position >= MOST:
            many = ToolError(
                "ELIMIT",
                f"at most {MOST} calls a step are run",
                suggestion="call it again in the next step",
            )
            return replace(refusal(call, many), ran=False)
        if desk.stopped():
            return replace(
                refusal(call, ToolError("ESTOPPED", "the turn was stopped before this call began")),
                ran=False,
            )
        attempt = partial(_run, desk, call, offers)
        given = desk.retry.run(attempt, desk.stopped) if safe_to_repeat(call, offers) else attempt()
    except SigilError as problem:
        given = refusal(call, problem)
    except MemoryError:
        given = refusal(
            call, BackendError("EHOSTMEM", "the machine has no memory left for this call")
        )
    except Exception as problem:  # noqa: BLE001  a door: whatever a call does, the model gets an answer and the turn goes on
        given = refusal(
            call, BackendError("EINTERNAL", f"the runtime failed: {type(problem).__name__}")
        )
    return replace(given, ms=(time.monotonic() - started) * 1000)


def refusal(call: ToolCall, problem: SigilError) -> CallResult:
    """A failure as the model reads it: one line of JSON."""
    fields = {**problem.as_dict(), "source": one_line(problem.source or call.name, 64)}
    return CallResult(
        call,
        observed(orjson.dumps({"error": fields}).decode()),
        error=problem.code,
        why=fields["message"],
    )


def interrupted(call: ToolCall) -> CallResult:
    """The answer to a call that a crash cut off and that is not safe to run again."""
    why = "the call was interrupted; whether it took effect is unknown"
    return refusal(call, ToolError("EINTERRUPTED", why, suggestion="check before calling it again"))


def fit(given: CallResult, share: int) -> CallResult:
    """An answer whose content keeps its head and its tail when it is longer than `share`
    characters.
    """
    length = len(given.content)
    if length <= share:
        return given
    head = int(share * HEAD_SHARE)
    cut = length - share
    content = (
        f"{given.content[:head]}\n[… {cut:,} of {length:,} characters are left out here"
        f" …]\n{given.content[length - (share - head) :]}"
    )
    return replace(given, content=content, cut=cut)


def safe_to_repeat(call: ToolCall, offers: Sequence[Offer]) -> bool:
    """Whether a call whose answer was lost may simply run again."""
    offer = by_tool(offers).get(call.name)
    return call.name in (QUERY, DEPLOY) or bool(offer and offer.pure)


def _run(desk: Desk, call: ToolCall, offers: Sequence[Offer]) -> CallResult:
    if call.name == QUERY:
        return _query(desk, call)
    if call.name == DEPLOY:
        return _deploy(desk, call)
    offer = by_tool(offers).get(call.name)
    if offer is None:
        raise _absent(desk, call.name)
    arguments = original_arguments(offer.schema, _arguments(call))
    if offer.kind == "host":
        return CallResult(
            call,
            observed(dumps({"ok": desk.serve(offer, call, arguments)}, source=offer.name).decode()),
        )
    ran = desk.registry.run(f"{offer.name}@{offer.digest}", arguments, desk.caller)
    return CallResult(call, observed(f'{{"ok":{ran.output.decode()}}}'))


def _arguments(call: ToolCall) -> dict[str, Json]:
    try:
        arguments = orjson.loads(call.arguments or "{}")
    except orjson.JSONDecodeError as problem:
        message = f"the arguments are not JSON: {problem.msg} (column {problem.colno})"
        raise ToolError("EJSON", message, suggestion="send one JSON object") from None
    if not isinstance(arguments, dict):
        raise ToolError(
            "EJSON", "the arguments are not a JSON object", suggestion="send one JSON object"
        )
    return arguments


def _absent(desk: Desk, tool: str) -> SigilError:
    """A page fault when the capability exists but is not resident; else there is no such tool."""
    if tool == UNNAMED:
        return ToolError(
            "ENOTOOL",
            "the call names no tool",
            suggestion="call it again, by the name of a tool that is listed",
        )
    name = capability_of(tool) if is_capability(tool) else None
    if name and _exists(desk, name):
        return ToolError(
            "ENOTRESIDENT",
            f"{tool} is not loaded",
            suggestion=f'call sigil_query with "{name}", then use it in the next step',
        )
    return ToolError(
        "ENOTOOL",
        "there is no such tool",
        suggestion="use the tools that are listed, or search with sigil_query",
    )


def _exists(desk: Desk, name: str) -> bool:
    try:
        desk.registry.inspect(name, desk.caller)
    except UsageError:
        return False
    return True


def _query(desk: Desk, call: ToolCall) -> CallResult:
    text, limit = builtin_tools.read_query(_arguments(call))
    found = desk.registry.query(text, desk.caller, limit=limit)
    return _listing(call, builtin_tools.found_row(found), tuple(hit.offer for hit in found.hits))


def _deploy(desk: Desk, call: ToolCall) -> CallResult:
    if not desk.may_deploy:
        raise Refused(
            "EPERM", "this chat may not create capabilities", suggestion="ask an owner to do it"
        )
    done = desk.registry.deploy(builtin_tools.read_spec(_arguments(call)), desk.caller)
    return _listing(call, builtin_tools.deployed_row(done), (done.offer,))


def _listing(call: ToolCall, listed: Mapping[str, Json], loads: tuple[Offer, ...]) -> CallResult:
    return CallResult(call, observed(orjson.dumps({"ok": listed}).decode()), loads, listed=listed)
