"""The table of the agent's own services, by the name of the capability that each answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from functions.agent.behaviours.behaviour import NOTE, PROPOSE, READ_CURRENT, REVIEW
from functions.agent.behaviours.pins import NEXT_BEHAVIOR, SHUTDOWN_RESPONSE, SLEEP, TELL
from functions.agent.knowledge.search import INGEST, SEARCH, UPDATE
from functions.agent.policy.act import Act
from functions.agent.posts import Post, ServiceAnswer, sets_off_other
from functions.agent.services import agents, board, files, growth, knowledge, schedules, team
from functions.agent.services.call_context import Arguments, CallContext, read_flag
from functions.agent.services.own_work import go_on_with, note_work, sleep, tell
from functions.agent.services.policy import (
    PAYMENT,
    READ,
    check_payment,
    name_payee,
    read_policy,
    request_payment,
)
from functions.agent.services.review_runs import review_runs
from functions.agent.services.search_history import NAME, search_history
from functions.agent.services.skills import read_skill
from functions.agent.services.things import forget, recall, remember
from functions.agent.skills.result import READ as READ_SKILL
from sigil.errors import SigilError, ToolError
from sigil.protocol import Json, Offer

Service = Callable[[CallContext, Arguments], Json | ServiceAnswer]
SERVICES: Final[Mapping[str, Service]] = {
    "remember": remember,
    "recall": recall,
    "forget": forget,
    NAME: search_history,
    schedules.SCHEDULE: schedules.schedule_wakeup,
    schedules.LIST: schedules.list_wakeups,
    schedules.CANCEL: schedules.cancel_wakeup,
    SLEEP: sleep,
    NEXT_BEHAVIOR: go_on_with,
    TELL: tell,
    NOTE: note_work,
    PROPOSE: growth.propose_change,
    READ_CURRENT: growth.read_current,
    REVIEW: review_runs,
    PAYMENT: request_payment,
    READ: read_policy,
    READ_SKILL: read_skill,
    agents.CREATE: agents.create_subagent,
    agents.LIST: agents.list_agents,
    agents.STOP: agents.stop_subagent,
    files.WRITE: files.write_file,
    files.READ: files.read_file,
    files.EDIT: files.edit_file,
    files.LIST: files.list_files,
    files.DIFF: files.diff_file,
    SEARCH: knowledge.search,
    INGEST: knowledge.ingest,
    UPDATE: knowledge.update,
    **team.SERVICES,
    board.CREATE: board.create_task,
    board.UPDATE: board.update_task,
    board.LIST: board.list_tasks,
    board.GET: board.get_task,
    board.CLAIM: board.claim_task,
}
OF_RUNTIME: Final[Mapping[str, Service]] = {files.KEEP: files.keep_file}
"""The services that the runtime calls, and no capability."""
CHECKS: Final[Mapping[str, Callable[[CallContext, Arguments], None]]] = {
    PAYMENT: check_payment,
    PROPOSE: growth.check_change,
    INGEST: knowledge.check_ingest,
    UPDATE: knowledge.check_update,
}
"""What a service refuses before an owner is asked about a call of it."""


NameActs = Callable[[Arguments], Sequence[Act]]


def _name_one(kind: str, name_target: Callable[[Arguments], str]) -> NameActs:
    """Return what names the one act of this kind that a call is."""
    return lambda arguments: (Act(kind, name_target(arguments)),)


def _name_memory(arguments: Arguments) -> str:
    return "shared" if read_flag(arguments, "shared") else "chat"


def _name_nothing(arguments: Arguments) -> str:
    return ""


def _name_sleep(arguments: Arguments) -> Sequence[Act]:
    """Return no act where a run only ends; a time for the next look schedules it."""
    return (Act("schedule"),) if arguments.get("until") else ()


ACTS: Final[Mapping[str, NameActs]] = {
    "remember": _name_one("ingest", _name_memory),
    schedules.SCHEDULE: _name_one("schedule", _name_nothing),
    SLEEP: _name_sleep,
    PAYMENT: _name_one("spend", name_payee),
    PROPOSE: growth.name_acts,
    team.SPAWN: _name_one("spawn", team.name_teammate),
    board.CREATE: _name_one("task", _name_nothing),
    board.UPDATE: _name_one("task", _name_nothing),
    board.CLAIM: _name_one("task", _name_nothing),
    agents.CREATE: _name_one("subagent", agents.name_agent),
    agents.STOP: _name_one("subagent", agents.name_agent),
    files.WRITE: _name_one("write", files.name_path),
    files.EDIT: _name_one("write", files.name_path),
    files.READ: _name_one("read", files.name_path_to_read),
    files.DIFF: _name_one("read", files.name_path_to_read),
    INGEST: _name_one("ingest", knowledge.name_scope),
    UPDATE: _name_one("ingest", knowledge.name_scope),
}
"""What names the acts that a call of a service is, beside `call`."""


def _list_read(context: CallContext, arguments: Arguments) -> tuple[Act, ...]:
    return (Act("read", files.name_path(arguments)),)


ACTS_BESIDE: Final[Mapping[str, Callable[[CallContext, Arguments], Sequence[Act]]]] = {
    files.EDIT: _list_read,
    INGEST: knowledge.list_acts_on_file,
    UPDATE: knowledge.list_acts_on_file,
    team.SEND: team.list_mails,
    team.BROADCAST: team.list_broadcast,
    team.PLAN: team.list_mails_to_lead,
    SHUTDOWN_RESPONSE: team.list_mails_to_lead,
}
"""What a call of a service does beside the act that it is."""


def list_acts(
    context: CallContext, offer: Offer, place: str, arguments: Mapping[str, Json]
) -> tuple[Act, ...]:
    """Return what a call of a service does, beside the call; raises what the service refuses before
    anybody is asked.
    """
    if offer.name in CHECKS:
        CHECKS[offer.name](replace(context, call=f"{context.call}:{place}"), arguments)
    acts = [*ACTS[offer.name](arguments)] if offer.name in ACTS else []
    if offer.name in ACTS_BESIDE:
        acts += ACTS_BESIDE[offer.name](context, arguments)
    return tuple(acts)


def call_service(
    context: CallContext, offer: Offer, place: str, arguments: dict[str, Json]
) -> ServiceAnswer:
    """Return the answer of the service that was offered; `place` names the call within its turn.

    Every failure carries the capability's name as its source.
    """
    service = SERVICES.get(offer.name) or OF_RUNTIME.get(offer.name)
    try:
        if service is None:
            raise ToolError(
                "ENOTOOL",
                "this agent has no such service",
                suggestion="search with sigil_query for another way",
            )
        accepted = context.app.helpers.accept(offer.schema, arguments)
        answer = service(replace(context, call=f"{context.call}:{place}"), accepted)
        if isinstance(answer, ServiceAnswer):
            posts = tuple(_pass_gate(context, post) for post in answer.posts)
            answer = replace(answer, posts=posts)
    except SigilError as problem:
        problem.source = problem.source or offer.name
        raise
    return answer if isinstance(answer, ServiceAnswer) else ServiceAnswer(answer)


def _pass_gate(context: CallContext, post: Post) -> Post:
    """Return what a service posts as it may go out; raises what refuses it."""
    if post.kind == "say":
        context.gate.require("say", post.session)
    elif post.kind == "mail":
        context.gate.require("mail", post.agent)
    is_for_other = sets_off_other(post, context.app.name)
    if is_for_other:
        context.posts.require_reach(post.agent)
    if is_for_other or post.kind == "mail":
        return replace(post, text=context.gate.redact(post.text))
    return post
