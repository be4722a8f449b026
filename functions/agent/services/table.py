"""The table of the agent's own services, by the name of the capability that each answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from functions.agent.behaviours.behaviour import NOTE, PROPOSE
from functions.agent.behaviours.pins import NEXT_BEHAVIOR, SLEEP, TELL
from functions.agent.knowledge.search import INGEST, SEARCH, UPDATE
from functions.agent.policy.act import Act
from functions.agent.posts import Post, ServiceAnswer, sets_off_other
from functions.agent.services import files, growth, knowledge, schedules, team
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
    PAYMENT: request_payment,
    READ: read_policy,
    READ_SKILL: read_skill,
    files.WRITE: files.write_file,
    files.READ: files.read_file,
    files.EDIT: files.edit_file,
    files.LIST: files.list_files,
    files.DIFF: files.diff_file,
    SEARCH: knowledge.search,
    INGEST: knowledge.ingest,
    UPDATE: knowledge.update,
    **team.SERVICES,
}
CHECKS: Final[Mapping[str, Callable[[CallContext, Arguments], None]]] = {
    PAYMENT: check_payment,
    PROPOSE: growth.check_change,
    INGEST: knowledge.check_ingest,
    UPDATE: knowledge.check_update,
}
"""What a service refuses before an owner is asked about a call of it."""


def _name_memory(arguments: Arguments) -> str:
    return "shared" if read_flag(arguments, "shared") else "chat"


def _name_nothing(arguments: Arguments) -> str:
    return ""


def _name_sleep(arguments: Arguments) -> str | None:
    """Return no target where a run only ends; a time for the next look schedules it."""
    return "" if arguments.get("until") else None


ACTS: Final[Mapping[str, tuple[str, Callable[[Arguments], str | None]]]] = {
    "remember": ("ingest", _name_memory),
    schedules.SCHEDULE: ("schedule", _name_nothing),
    SLEEP: ("schedule", _name_sleep),
    PAYMENT: ("spend", name_payee),
    PROPOSE: ("self", growth.name_target),
    team.SPAWN: ("spawn", team.name_teammate),
    files.WRITE: ("write", files.name_path),
    files.EDIT: ("write", files.name_path),
    files.READ: ("read", files.name_path),
    files.DIFF: ("read", files.name_path),
    INGEST: ("ingest", knowledge.name_scope),
    UPDATE: ("ingest", knowledge.name_scope),
}
"""The kind of act that a call of a service is, beside `call`, and what names its target; None where
the call is no such act.
"""


def _read_beside(arguments: Arguments) -> tuple[Act, ...]:
    return (Act("read", files.name_path(arguments)),)


ACTS_BESIDE: Final[Mapping[str, Callable[[Arguments], tuple[Act, ...]]]] = {
    files.EDIT: _read_beside,
    INGEST: knowledge.list_acts_on_file,
    UPDATE: knowledge.list_acts_on_file,
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
    acts: list[Act] = []
    if offer.name in ACTS:
        kind, name_target = ACTS[offer.name]
        target = name_target(arguments)
        if target is not None:
            acts.append(Act(kind, target))
    if offer.name in ACTS_BESIDE:
        acts += ACTS_BESIDE[offer.name](arguments)
    return tuple(acts)


def call_service(
    context: CallContext, offer: Offer, place: str, arguments: dict[str, Json]
) -> ServiceAnswer:
    """Return the answer of the service that was offered; `place` names the call within its turn.

    Every failure carries the capability's name as its source.
    """
    service = SERVICES.get(offer.name)
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
