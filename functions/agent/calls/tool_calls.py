"""Tool calls of a round run side by side and are answered in order, each once, never by an
exception.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field
from functools import partial
from math import ceil, inf

import orjson

from functions.agent.behaviours.pins import IDLE, PINNED_ONLY, find_pins, pick_offers
from functions.agent.conversation import tokens
from functions.agent.conversation.messages import CallResult, ToolCall
from functions.agent.conversation.toolset import DEPLOY, QUERY, by_tool, is_capability
from functions.agent.ledger.entry import Entry
from functions.agent.memory.thing import Remembered
from functions.agent.model.base import UNNAMED
from functions.agent.policy.act import Act, list_chats
from functions.agent.policy.gate import Gate, PolicyRefusal
from functions.agent.policy.proposals import AskedCall
from functions.agent.posts import ServiceAnswer
from functions.agent.safety.retry import NO_RETRY, Retry
from functions.agent.sanitize import sanitize_result
from functions.agent.skills import result as skill_result
from functions.agent.skills.catalog import SkillEntry
from functions.agent.skills.search import FindSkills, FoundSkills, find_no_skills
from functions.agent.skills.skill import PREFIX, can_be_capability
from sigil import builtin_tools
from sigil.builtin_tools import read_arguments
from sigil.errors import BackendError, Refused, SigilError, ToolError, UsageError, one_line
from sigil.json_fields import as_mapping, as_sequence
from sigil.protocol import Caller, Found, Hit, Json, Offer, Registry, capability_of, tool_of
from sigil.running_call import CallProgress, RunningCall, run_as
from sigil.storage.evolve import evolve
from sigil.strict_json import dumps

RECALL = "recall"
REMEMBERED = "remembered"
"""The field of a query's result with what this chat remembers of what was asked for."""
NEAR = "near"
"""The field with what it remembers of something like that, which leaves some of it open."""
ALSO_REMEMBERED = "also_remembered"
"""The field with all else that it remembers, where the query is a question."""
JUDGE_IT = (
    "what is in near is about something like it: answer with that only where it says exactly what"
    " was asked; else say that you were not told, or: "
)
LOOK_THROUGH = "if something in also_remembered says it, answer with that; else: "
QUERY_OTHER = "; if one in weak fits better, query its name"
"""Stands behind which tool to call where something that was found is only named."""
ANSWER_IT = "answer with what is remembered where it says it; otherwise call what fits"
FILES_NOTE = "they stand below your answer, or where you write ![words](file:ID)"
DRAWING_NOTE = "[words](file:picture.svg) in an answer hands it out as SVG, too"
MOST = 16
"""So many calls of a round are run."""
RESULT_CHARACTERS = 16_000
MORE_CHARACTERS = 150
"""A skill that is cut says where to read on, in so many characters."""
RESULT_LEAST = 200
"""The model gets so many characters of a result, however full its window is."""
PAIN_CHARACTERS = 600
"""About so many characters of a guide are added below a failure."""
HEAD_SHARE = 0.75
"""The part of a cut result that comes from its beginning; the rest comes from its end."""
BEST_SHARE = 0.75
"""The part of a round's room that the best capabilities of the queries may take."""
LOADS_SHARE = 0.5
"""The part of it that all paged-in capabilities may take; the rest is for the results."""
GRACE_SECONDS = 0.5
"""A call gets so much more than its time, to report itself that it timed out."""
LOOK_SECONDS = 1.0
"""A turn that waits for its calls checks so often whether it should stop."""


Serve = Callable[[Offer, str, dict[str, Json]], ServiceAnswer]
"""Answers a call of one of the agent's own services, offered as a capability of kind `host`. The
text names the call within its turn, `SEQ:POSITION`.
"""


def refuse_service(offer: Offer, place: str, arguments: dict[str, Json]) -> ServiceAnswer:
    """Raise `ToolError` ENOTOOL: the agent has no services here."""
    raise ToolError("ENOTOOL", f"{offer.name} does not run here", source=offer.name)


ListActs = Callable[[Offer, str, Mapping[str, Json]], Sequence[Act]]
"""Returns what a call of one of the agent's own services does, beside the call. The text names the
call within its turn.
"""


def list_no_acts(offer: Offer, place: str, arguments: Mapping[str, Json]) -> Sequence[Act]:
    """Return nothing: no service does anything."""
    return ()


FindRemembered = Callable[[str], Remembered]
"""Returns what this chat remembers that a query asks for, the best first, perhaps nothing."""


def find_nothing(query: str) -> Remembered:
    """Return nothing: this chat remembers nothing."""
    return Remembered()


ReportProgress = Callable[[Mapping[ToolCall, CallProgress], float], None]
"""Gets how far the running calls of a round have come, and the seconds since it began."""


def report_nothing(calls: Mapping[ToolCall, CallProgress], seconds: float) -> None:
    """Do nothing: nobody wants to know."""


StartCall = Callable[[ToolCall, Offer, str], ServiceAnswer]
"""Makes a call of a tool that may outlive the turn into a task, and returns what the model reads.
The text names the call within its turn.
"""


IN_ORDER = frozenset({tool_of("create-task")})
"""Of these the calls of one round are answered one after the other, so that the numbers that they
give out are in the order of the calls.
"""


@dataclass(frozen=True, slots=True)
class ToolCallContext:
    """The context in which a turn's calls are answered.

    `caller` is on whose behalf they run, `may_deploy` whether this chat may make capabilities, and
    `never_deploys` whether that is so for everybody in it.
    `stopped` says whether the turn was told to stop or is halted, `retry` how long transient
    failures are waited for, `serve` answers calls of the agent's own services, and `list_acts` says
    what these do.
    `find_remembered` says what a query finds in memory, beside capabilities, and `find_skills` what
    it finds among the agent's skills; `resident_skills` are those whose texts the history has, as
    NAME@VERSION. `places` has the name of each call within the turn by its
    id: ids alone may come again in the next round. `gate` lets through what the policy allows.
    `report` gets how far the running calls have come, each second when there is something new.
    `start` makes tasks of calls that may outlive the turn; None where all are made within it. With
    `is_patient` a silent call may take as long as one that tells how far it has come.
    """

    registry: Registry
    caller: Caller
    may_deploy: bool
    pool: ThreadPoolExecutor
    gate: Gate
    never_deploys: bool = False
    stopped: Callable[[], bool] = lambda: False
    retry: Retry = NO_RETRY
    serve: Serve = refuse_service
    list_acts: ListActs = list_no_acts
    find_remembered: FindRemembered = find_nothing
    find_skills: FindSkills = find_no_skills
    resident_skills: frozenset[str] = frozenset()
    places: Mapping[str, str] = field(default_factory=dict)
    report: ReportProgress = report_nothing
    start: StartCall | None = None
    is_patient: bool = False


def answer_calls(
    context: ToolCallContext, calls: Sequence[ToolCall], offers: Sequence[Offer], room: int
) -> list[CallResult]:
    """Run the calls and return their results, in order.

    `offers` are those in scope when the round began; `room` are the characters that all results and
    paged-in tools share.
    """
    began = time.monotonic()
    over = began + context.retry.seconds + GRACE_SECONDS
    started: list[_StartedCall] = []
    last: dict[str, Future[CallResult]] = {}
    for position, call in enumerate(calls):
        before = last.get(call.name)
        running = RunningCall(context.retry.seconds, is_patient=context.is_patient)
        with run_as(running):
            answer = partial(_answer_after, before, context, call, offers, position)
            future = context.pool.submit(copy_context().run, answer)
        started.append(_StartedCall(call, running, future))
        if call.name in IN_ORDER:
            last[call.name] = future
    is_stopped = _wait_for_calls(context, started, began, over)
    results: list[CallResult] = []
    for each in started:
        if is_stopped:
            results.append(_take_stopped(each, began))
        else:
            results.append(_take_result(each, context.retry.seconds))
    results, taken = page_in(keep_first_ending(results), offers, room)
    failures = [result for result in results if result.error]
    room -= taken + sum(len(result.content) + PAIN_CHARACTERS for result in failures)
    share = max(room // max(len(results) - len(failures), 1), RESULT_LEAST)
    return [_shorten_result(result, min(RESULT_CHARACTERS, share)) for result in results]


@dataclass(frozen=True, slots=True)
class _StartedCall:
    """A call of a round that was given to the pool."""

    call: ToolCall
    running: RunningCall
    future: Future[CallResult]


def _answer_after(
    before: Future[CallResult] | None,
    context: ToolCallContext,
    call: ToolCall,
    offers: Sequence[Offer],
    position: int,
) -> CallResult:
    """Return the result of a call, which is run once another one has ended, if there is one.

    That one was given to the pool before, so it has a thread.
    """
    if before:
        wait([before])
    return answer_call(context, call, offers, position)


def keep_first_ending(results: Sequence[CallResult]) -> list[CallResult]:
    """Return the results with the first end of the turn alone: the others have failed."""
    kept: list[CallResult] = []
    for result in results:
        if result.ending and any(other.ending for other in kept):
            late = ToolError(
                "ELIMIT", "another call of this step has ended the run already", reason="run-ended"
            )
            kept.append(evolve(fail_call(result.call, late), ms=result.ms))
        else:
            kept.append(result)
    return kept


def page_in(
    results: Sequence[CallResult], offers: Sequence[Offer], room: int
) -> tuple[list[CallResult], int]:
    """Return the results with the loads for which there is room, and the characters that these
    take in the next request.

    The best load of each result comes first. A result names the loads that it had to leave out.
    """
    if not any(result.loads for result in results):
        return list(results), 0
    sizes = {tool: _count_characters(offer) for tool, offer in by_tool(offers).items()}
    kept: set[tuple[int, int]] = set()
    taken = 0
    ranked = [
        (rank, number) for number, result in enumerate(results) for rank in range(len(result.loads))
    ]
    for rank, number in sorted(ranked):
        offer = results[number].loads[rank]
        size = _count_characters(offer)
        more = max(size - sizes.get(offer.tool, 0), 0)
        share = LOADS_SHARE if rank else BEST_SHARE
        if not more or taken + more <= room * share:
            kept.add((number, rank))
            sizes[offer.tool] = size
            taken += more
    paged = []
    for number, result in enumerate(results):
        ranks = [rank for rank in range(len(result.loads)) if (number, rank) in kept]
        if result.listed is None or len(ranks) == len(result.loads):
            paged.append(result)
            continue
        loads = tuple(result.loads[rank] for rank in ranks)
        left_out = {offer.tool for offer in result.loads if offer not in loads}
        listed = skill_result.drop_tools(result.listed, left_out)
        listed = builtin_tools.without_tools(listed, left_out)
        paged.append(_list_anew(result, listed, loads))
    return paged, taken


def _count_characters(offer: Offer) -> int:
    """Return the characters that an offer takes as a tool of a request."""
    return ceil(tokens.of_offer(offer) * tokens.CHARACTERS_A_TOKEN)


def _shorten_result(result: CallResult, share: int) -> CallResult:
    """Return a result of at most `share` characters; failures stay whole.

    A listing is not cut but told in fewer words, for half a line of JSON says nothing. The
    descriptions go first, with what is only near the query and what to do next; then the names that
    brought no tool, the last ones first. The names of its tools stay. The text of a skill is cut
    before all that: the rest of it can be read.
    """
    if result.error or len(result.content) <= share:
        return result
    listed = result.listed
    if listed is None:
        return cut_result(result, share)
    if skill_result.SKILL in listed:
        listed = skill_result.shorten_skill(listed, len(result.content) - share + MORE_CHARACTERS)
        shorter = _list_anew(result, listed, result.loads)
        if len(shorter.content) <= share:
            return shorter
    if "items" not in listed:
        return result
    if listed["items"]:
        listed = {name: value for name, value in listed.items() if name not in ("weak", "next")}
    listed = {name: value for name, value in listed.items() if name != ALSO_REMEMBERED}
    items = []
    for item in map(as_mapping, as_sequence(listed["items"])):
        items.append({name: item[name] for name in ("capability", "tool", "tools") if name in item})
    while True:
        shorter = _list_anew(result, {**listed, "items": items}, result.loads)
        unpaged = [
            number for number, item in enumerate(items) if not item.keys() & {"tool", "tools"}
        ]
        if len(shorter.content) <= share:
            return shorter
        near = as_sequence(listed.get(NEAR))
        remembered = as_sequence(listed.get(REMEMBERED))
        if unpaged:
            del items[unpaged[-1]]
        elif near:
            listed = {**listed, NEAR: list(near[:-1])}
        elif remembered:
            listed = {**listed, REMEMBERED: list(remembered[:-1])}
        else:
            return shorter


def cut_result(result: CallResult, share: int) -> CallResult:
    """Return a result of at most `share` characters, its head and its tail."""
    length = len(result.content)
    if length <= share:
        return result
    head = int(share * HEAD_SHARE)
    tail = length - (share - head)
    cut = length - share
    mark = f"[… {cut:,} of {length:,} characters are left out here …]"
    content = f"{result.content[:head]}\n{mark}\n{result.content[tail:]}"
    return evolve(result, content=content, cut=cut)


def _wait_for_calls(
    context: ToolCallContext, started: Sequence[_StartedCall], began: float, over: float
) -> bool:
    """Wait until all calls have ended, or it is `over`; return whether the turn was told to stop
    before that.
    """
    futures = [each.future for each in started]
    while True:
        left = over - time.monotonic()
        running = wait(futures, max(min(left, LOOK_SECONDS), 0.0)).not_done
        if not running or left <= LOOK_SECONDS:
            return False
        found = {}
        for each in started:
            if each.running.progress and each.future in running:
                found[each.call] = each.running.progress
        if found:
            context.report(found, time.monotonic() - began)
        # a store that does not answer now stops nothing: it is asked again in a second
        with suppress(BackendError):
            if context.stopped():
                return True


def _take_result(started: _StartedCall, seconds: float) -> CallResult:
    """Return the result of a call, or that it timed out after `seconds`.

    A call that takes longer is cancelled.
    """
    future = started.future
    call = started.call
    if future.done():
        return future.result()
    late = f"timed out after {seconds * 1000:.0f} ms"
    if future.cancel():
        never_began = BackendError(
            "EBUSY", f"{late}: it never began", suggestion="try again later", reason="no-room"
        )
        return evolve(fail_call(call, never_began), ran=False)
    started.running.cancel()
    timed_out = ToolError(
        "ETIMEDOUT",
        f"{late}; whether it took effect is unknown",
        suggestion="give it less to do",
    )
    return fail_call(call, timed_out)


def _take_stopped(started: _StartedCall, began: float) -> CallResult:
    """Return the result of a call of a turn that was told to stop, or that the call was cut off.

    Such a call is cancelled. Where that does not end it, nobody takes its result: the history has
    an answer.
    """
    future = started.future
    call = started.call
    if future.cancel():
        return _refuse_stopped(call)
    if future.done():
        return future.result()
    started.running.cancel()
    ms = (time.monotonic() - began) * 1000
    return evolve(interrupt_call(call), ms=ms, stopped=True)


def _refuse_stopped(call: ToolCall) -> CallResult:
    """Return the result of a call that never began, because the turn was told to stop."""
    stopped = ToolError("ESTOPPED", "the turn was stopped before this call began")
    return evolve(fail_call(call, stopped), ran=False)


def answer_call(
    context: ToolCallContext, call: ToolCall, offers: Sequence[Offer], position: int = 0
) -> CallResult:
    """Run one call, `position` of its round, and return its result, whatever happens."""
    started = time.monotonic()
    try:
        refusal = None
        if position >= MOST:
            refusal = ToolError(
                "ELIMIT",
                f"at most {MOST} calls a step are run",
                suggestion="call it again in the next step",
                reason="turn",
            )
        if refusal:
            result = evolve(fail_call(call, refusal), ran=False)
        elif context.stopped():
            result = _refuse_stopped(call)
        elif is_safe_to_repeat(context, call, offers):
            attempt = partial(_run_call, context, call, offers)
            result = context.retry.run(attempt, context.stopped)
        else:
            result = _run_call(context, call, offers)
    except PolicyRefusal as refused:
        result = _answer_refusal(context, call, refused)
    except SigilError as problem:
        result = fail_call(call, problem)
    except MemoryError:
        message = "the machine has no memory left for this call"
        result = fail_call(call, BackendError("EHOSTMEM", message))
    except Exception as unexpected:  # noqa: BLE001  entry point: the model gets an answer and the turn goes on
        message = f"the runtime failed: {type(unexpected).__name__}"
        result = fail_call(call, BackendError("EINTERNAL", message))
    return evolve(result, ms=(time.monotonic() - started) * 1000)


def fail_call(call: ToolCall, problem: SigilError) -> CallResult:
    """Return the result of a call that failed, as the model reads it: one line of JSON."""
    fields = {**problem.as_dict(), "source": one_line(problem.source or call.name, 64)}
    content = sanitize_result(orjson.dumps({"error": fields}).decode())
    return CallResult(
        call, content, error=problem.code, why=fields["message"], reason=problem.reason
    )


def interrupt_call(call: ToolCall) -> CallResult:
    """Return the result of a call that a stop cut off, or a crash where it is not safe to run
    again.
    """
    interrupted = ToolError(
        "EINTERRUPTED",
        "the call was interrupted; whether it took effect is unknown",
        suggestion="check before calling it again",
    )
    return fail_call(call, interrupted)


def describe_call(result: CallResult) -> Entry:
    """Return the ledger's entry of a call that was answered, which has no text of it."""
    facts: dict[str, Json] = {"call": result.call.id, "name": result.call.name}
    if result.ms:
        facts["ms"] = round(result.ms, 1)
    if result.error:
        facts["error"] = result.error
    if not result.ran:
        facts["ran"] = False
    return Entry("call", facts)


def is_safe_to_repeat(context: ToolCallContext, call: ToolCall, offers: Sequence[Offer]) -> bool:
    """Return whether a call whose result was lost may simply run again.

    One that is made a task may: it is the same task again.
    """
    if call.name in (QUERY, DEPLOY):
        return True
    offer = by_tool(offers).get(call.name)
    return offer is not None and (offer.pure or bool(offer.background and context.start))


def _run_call(context: ToolCallContext, call: ToolCall, offers: Sequence[Offer]) -> CallResult:
    """Run a call and return its result; raises `SigilError` when it fails."""
    if call.name == QUERY:
        asked = read_arguments(call.arguments, builtin_tools.QUERY_SCHEMA)
        text, limit = builtin_tools.read_query(asked)
        return _answer_query(context, call, text, limit)
    if call.name == DEPLOY:
        if not context.may_deploy:
            raise Refused(
                "EPERM", "this chat may not create capabilities", suggestion="ask an owner to do it"
            )
        given = read_arguments(call.arguments, builtin_tools.DEPLOY_SCHEMA)
        spec = builtin_tools.read_spec(given)
        act = Act("deploy", str(spec.get("name") or ""))
        context.gate.require_call((act,), AskedCall(call.name, call.arguments))
        deployed = context.registry.deploy(spec, context.caller)
        return _list_loads(call, builtin_tools.deployed_row(deployed), (deployed.offer,))
    offer = by_tool(offers).get(call.name)
    if offer is None and call.name == tool_of(IDLE):
        offer = PINNED_ONLY[IDLE]  # the lead of a team is never offered it, and reads why
    if offer is None:
        raise _explain_missing_tool(context, call.name)
    from sigil.tool_schemas.clean import original_arguments

    arguments = original_arguments(offer.schema, read_arguments(call.arguments, offer.schema))
    asked_call = AskedCall(call.name, call.arguments, offer)
    context.gate.grant_approved(context.registry, asked_call, context.caller)
    acts = _list_acts(context, call, offer, arguments)
    context.gate.require_call(acts, asked_call)
    if offer.kind == "host":
        place = context.places.get(call.id, call.id)
        answer = context.serve(offer, place, arguments)
        served = dumps({"ok": answer.result}, source=offer.name)
        return CallResult(
            call,
            sanitize_result(served.decode()),
            posts=answer.posts,
            place=place,
            entries=answer.entries,
            ending=answer.ending,
            note=answer.note,
            taken=answer.taken,
        )
    if offer.background and context.start:
        # nobody can be asked within the task
        context.gate.ask_for_grant(context.registry, asked_call, acts, context.caller)
        place = context.places.get(call.id, call.id)
        started = context.start(call, offer, place)
        content = sanitize_result(dumps({"ok": started.result}, source=offer.name).decode())
        return CallResult(call, content, posts=started.posts, place=place, is_started=True)
    try:
        ran = context.registry.run(f"{offer.name}@{offer.digest}", arguments, context.caller)
    except SigilError as problem:
        context.gate.ask_for_grant(context.registry, asked_call, acts, context.caller, problem)
        raise
    if not ran.files:
        output = ran.output.decode()
        note = f',"note":"{DRAWING_NOTE}"' if "</svg>" in output else ""
        return CallResult(call, sanitize_result(f'{{"ok":{output}{note}}}'))
    # hardly any call returns files
    from functions.agent.conversation.named_files import name_file

    files = []
    for file in ran.files:
        row = {"id": name_file(file.id), "name": file.name, "type": file.type}
        files.append({**row, "bytes": file.size})
    note = dumps({"files": files, "note": FILES_NOTE}).decode().removeprefix("{")
    content = sanitize_result(f'{{"ok":{ran.output.decode()},{note}')
    return CallResult(call, content, files=ran.files)


def _list_acts(
    context: ToolCallContext, call: ToolCall, offer: Offer, arguments: Mapping[str, Json]
) -> Sequence[Act]:
    """Return what a call does as the policy names it, and all that it leads to."""
    acts = [Act("call", offer.name)]
    if offer.kind == "host":
        acts += context.list_acts(offer, context.places.get(call.id, call.id), arguments)
    elif not context.gate.denies("call", offer.name):
        acts += context.gate.list_reached_acts(context.registry, offer, context.caller)
    return acts


def _answer_refusal(context: ToolCallContext, call: ToolCall, refusal: PolicyRefusal) -> CallResult:
    """Return the result of a call that the policy refused; it never ran."""
    facts: dict[str, Json] = {"act": refusal.act, "rule": refusal.rule, "code": refusal.code}
    if refusal.proposal:
        facts["proposal"] = refusal.proposal
    return evolve(
        fail_call(call, refusal),
        ran=False,
        posts=refusal.posts,
        place=context.places.get(call.id, call.id),
        entries=(Entry("policy", facts, names=list_chats([refusal.act])),),
        proposal=refusal.proposal,
    )


def _answer_query(context: ToolCallContext, call: ToolCall, text: str, limit: int) -> CallResult:
    """Return the capabilities that a query finds, and what is remembered of what it asks for.

    With the latter comes `recall`, which finds more.
    """
    allowed = _leave_out_denied(context.registry.query(text, context.caller, limit=limit), context)
    skills = _find_skills(context, text, allowed.hits)
    found = allowed.keep_near()
    is_shortened = len(found.hits) < len(allowed.hits)
    hits = list(found.hits)
    remembered = context.find_remembered(text)
    others = remembered.others if remembered.is_own or not hits else ""
    if (remembered.things or remembered.near or others) and RECALL not in [
        offer.name for hit in hits for offer in hit.loads
    ]:
        for hit in context.registry.query(RECALL, context.caller, limit=1).hits:
            found_names = [offer.name for offer in hit.loads]
            if RECALL in found_names and context.gate.may_find(RECALL):
                hits.append(hit)
                weak = tuple(each for each in found.weak if each.name != RECALL)
                found = evolve(found, hits=tuple(hits), total=found.total + 1, weak=weak)
    listed = builtin_tools.found_row(found, may_deploy=context.may_deploy)
    if is_shortened:
        listed["next"] = f"{listed['next']}{QUERY_OTHER}"
    offers, missing = _find_skill_tools(context, skills, (*hits, *allowed.hits))
    is_resident = skills.reference in context.resident_skills
    listed = _list_skills(listed, skills, offers, missing, is_resident=is_resident)
    if others:
        listed = {**listed, ALSO_REMEMBERED: others, "next": LOOK_THROUGH + str(listed["next"])}
    if remembered.near:
        near: list[Json] = [dict(thing) for thing in remembered.near]
        listed = {NEAR: near, **listed, "next": JUDGE_IT + str(listed["next"])}
    if remembered.things:
        things: list[Json] = [dict(thing) for thing in remembered.things]
        listed = {REMEMBERED: things, **listed, "next": ANSWER_IT}
    if skill_result.needs_reader(skills) and context.gate.may_find(skill_result.READ):
        offers = (*offers, skill_result.READ_SKILL)
    loads = {offer.tool: offer for hit in hits for offer in hit.loads}
    named = {offer.tool: offer for offer in offers}
    result = _list_loads(call, listed, tuple({**named, **loads}.values()))
    return evolve(result, skill=skills.reference if skill_result.has_text(listed) else "")


def _find_skills(context: ToolCallContext, text: str, hits: Sequence[Hit]) -> FoundSkills:
    """Return the skills that a query finds beside these hits, and that the policy lets be found."""
    found = context.find_skills(text, max((hit.score for hit in hits), default=0.0))

    def may_find(entry: SkillEntry) -> bool:
        return context.gate.decide("find", f"{PREFIX}{entry.name}").effect == "allow"

    others = tuple(filter(may_find, found.others))
    if found.entry and not may_find(found.entry):
        return FoundSkills(others=others)
    return evolve(found, others=others)


def _find_skill_tools(
    context: ToolCallContext, skills: FoundSkills, hits: Sequence[Hit]
) -> tuple[tuple[Offer, ...], list[str]]:
    """Return the offers of the tools that a skill names, and the names of those that are not there
    or that the policy denies.
    """
    if skills.entry is None:
        return (), []
    named = skills.entry.tools
    left = [name for name in named if can_be_capability(name) and not pick_offers(name, hits)]
    if len(left) > 1:
        # one search by all names finds most of them, and each search asks the store
        query = " ".join(left)
        limit = builtin_tools.LIMIT_MOST
        hits = (*hits, *context.registry.query(query, context.caller, limit=limit).hits)
    offers: dict[str, Offer] = {}
    missing = []
    for name in named:
        found = pick_offers(name, hits)
        if not found and name in left:
            found, _ = find_pins((name,), context.registry, context.caller, inf)
        found = tuple(offer for offer in found if context.gate.may_find(offer.name))
        offers |= {offer.name: offer for offer in found}
        if not found:
            missing.append(name)
    return tuple(offers.values()), missing


def _list_skills(
    listed: Mapping[str, Json],
    skills: FoundSkills,
    offers: Sequence[Offer],
    missing: Sequence[str],
    *,
    is_resident: bool,
) -> dict[str, Json]:
    """Return a query's result with the skill that it pages in, and the names of others.

    `is_resident`: the history has the text of that skill already.
    """
    row = dict(listed)
    then = str(row.get("next", ""))
    if skills.others:
        row = {skill_result.OTHERS: list(map(skill_result.make_other_row, skills.others)), **row}
        if not skills.entry and not row["items"]:
            row["next"] = skill_result.SEARCH_IT + then
    if skills.entry:
        found = skill_result.make_row(skills, offers, missing, is_resident=is_resident)
        row = {skill_result.SKILL: found, **row}
        follow = skill_result.FOLLOW_IT.format(name=skills.entry.name)
        row["next"] = f"{follow}; for what it leaves open: {then}" if row["items"] else follow
    return row


def _leave_out_denied(found: Found, context: ToolCallContext) -> Found:
    """Return what was found without the capabilities that the policy denies."""
    gate = context.gate
    hits: list[Hit] = []
    for hit in found.hits:
        # of a bundle the members are what the model gets
        offers = tuple(offer for offer in hit.offers if gate.may_find(offer.name))
        if gate.may_find(hit.offer.name) and bool(offers) == bool(hit.offers):
            hits.append(evolve(hit, offers=offers))
    weak = tuple(hit for hit in found.weak if gate.may_find(hit.name))
    total = found.total - len(found.hits) + len(hits)
    if not hits:
        total = 0  # nobody is told how many there are of what they may not find
    return evolve(found, hits=tuple(hits), weak=weak, total=total)


def _explain_missing_tool(context: ToolCallContext, tool: str) -> SigilError:
    """Return the error for a tool that is not in scope.

    It is a page fault when the capability exists; otherwise there is no such tool.
    """
    if tool == UNNAMED:
        return ToolError(
            "ENOTOOL",
            "the call names no tool",
            suggestion="call it again, by the name of a tool that is listed",
        )
    name = capability_of(tool) if is_capability(tool) else None
    if name:
        if context.gate.denies("call", name):
            context.gate.require("call", name)
        try:
            context.registry.inspect(name, context.caller)
        except UsageError:
            pass
        else:
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


def _list_anew(
    result: CallResult, listed: Mapping[str, Json], loads: tuple[Offer, ...]
) -> CallResult:
    """Return the result of a query or a deploy that lists less, or pages in less."""
    skill = result.skill if skill_result.has_text(listed) else ""
    return evolve(_list_loads(result.call, listed, loads), ms=result.ms, skill=skill)


def _list_loads(call: ToolCall, listed: Mapping[str, Json], loads: tuple[Offer, ...]) -> CallResult:
    """Return the result of a call that pages in `loads`, which `listed` names."""
    content = sanitize_result(orjson.dumps({"ok": listed}).decode())
    return CallResult(call, content, loads, listed=listed)
