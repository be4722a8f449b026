"""The stored records that a turn begins with, read by one request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from functions import overheard
from functions.agent.access.members import Standing
from functions.agent.agents.bindings import Bound, BoundElsewhere, parse_binding
from functions.agent.app import App
from functions.agent.behaviours.briefing import name_behaviour
from functions.agent.language import choose_texts_for, mentions_time
from functions.agent.ledger.journal import adopt_journal
from functions.agent.policy.document import list_policy_keys, read_policies
from functions.agent.policy.rules import Policy
from functions.agent.runs import event_chain
from functions.agent.runs.event_chain import ChainBudget
from functions.agent.safety import hp
from functions.agent.safety.breakers import Breakers
from functions.agent.safety.hp import HpAccount
from functions.agent.session.memory_progress import adopt_progress
from functions.agent.session.store import SessionHandle
from functions.agent.team.member import Member, list_member_keys, read_member
from functions.agent.turn.takeover import flush_ledger
from functions.agent.turn.turn_context import is_bounded, open_chain
from functions.agent.workspace.edit_notice import list_record_keys
from functions.events import Event
from functions.time.time_zone import DEFAULT
from sigil.storage.evolve import evolve
from sigil.storage.kv import ABSENT, Item, Key, keys
from sigil.storage.kv.base import get_many


@dataclass(frozen=True, slots=True)
class TurnRecords:
    """The stored records that a turn begins with, read by one request.

    `seen` says that the event was handled before, or that nothing of it may be left. `standing` is
    the sender's, `breakers` know of halts and the budget, `prompt` are the items that the system
    message is made from. `private_chat` tells whose the event's chat is, where its name does not.
    `policies`, `listens_since`, `asks_zone`, `hp`, `chain` and `workspaces` are as in
    `TurnContext`.
    """

    opened: SessionHandle
    seen: bool
    standing: Standing
    breakers: Breakers
    prompt: Sequence[Item | None]
    private_chat: Sequence[Item | None]
    policies: tuple[Policy, ...]
    listens_since: str
    asks_zone: bool
    hp: HpAccount | None
    chain: ChainBudget
    workspaces: Sequence[Item | None]
    member: Member | None = None


def read_turn_records(
    event: Event, app: App, opened: SessionHandle | None = None, bound: Bound | None = None
) -> TurnRecords:
    """Read all that a turn of `event` has to know before its first request to the model.

    Raises `BoundElsewhere` when the event's chat is not `bound` as it says; None for work that no
    chat's binding decides.

    A session that is `opened` already is not read again. Its document adopts what consolidations
    came to beside its turns. One of the agent's own has the time zone and the language of the chat
    that the work is for.
    """
    session = keys.session_of(app.name, event.session)
    chat = app.name_chat(event.session)
    home = _find_home(event, app)
    breakers = app.make_breakers(session)
    people = app.people
    memory = opened.memory if opened else app.sessions.guess_memory(session)
    groups: tuple[Sequence[Key], ...] = (
        [] if opened else [keys.session_head(session)],
        [keys.memory_progress(session)],
        [keys.begun_requests(session), keys.begun_requests(keys.memory_of(session))],
        [keys.seen_event(session, event.id)],
        breakers.list_keys(),
        people.list_keys(event),
        app.private_chats.list_keys(event),
        _list_prompt_keys(event, app, memory),
        [keys.listening(chat)] if event.kind == "message" and not event.private else [],
        [keys.zone_asked(session)] if _needs_zone(event, app) else [],
        [keys.chat_binding(app.root, event.session)] if bound else [],
        list_policy_keys(app.name),
        [keys.session_head(home)] if home else [],
        [keys.hp(app.name)] if is_bounded(event, app) else [],
        event_chain.list_keys(event, app.root),
        list_record_keys(event, app.name) if event.kind != "say" else [],
        list_member_keys(app.name, own_work=event.is_own_work) if app.is_teammate else [],
    )
    items = iter(get_many(app.kv, [key for group in groups for key in group]))
    (
        head,
        progress,
        begun,
        seen,
        safety,
        person,
        private_chat,
        prompt,
        listening,
        asked,
        binding,
        policies,
        homes,
        account,
        chained,
        workspaces,
        members,
    ) = ([next(items) for _ in group] for group in groups)
    if bound:
        known = parse_binding(binding[0])
        agent = known.find_agent(event.order)
        if agent != bound.agent:
            raise BoundElsewhere(agent)
    breakers.use_items(safety)
    if opened is None:
        opened = app.sessions.decode_head(session, head[0])
    if opened.document.turn is None:
        # whoever closed the last turn may have crashed before it wrote down what it did
        opened = flush_ledger(opened, app)
    document = adopt_progress(session, opened.document, progress[0])
    ledger = adopt_journal(document.ledger, begun[0], is_over=True)
    document = evolve(document, ledger=adopt_journal(ledger, begun[1], is_over=False))
    if event.is_own_work and event.kind != "continue":
        # its days, hours and words are those of whoever it is for, as they are now
        zone = language = ""
        if home:
            asker = app.sessions.decode_head(home, homes[0]).document
            zone = asker.zone
            language = choose_texts_for(event, asker).code
        document = evolve(document, zone=zone, language=language)
    opened = opened.with_document(document)
    if bound:
        opened = evolve(opened, agents=known.known_agents)
    if opened.memory != memory:
        prompt = get_many(app.kv, _list_prompt_keys(event, app, opened.memory))
    return TurnRecords(
        opened,
        (seen[0] is not None and not opened.document.is_at_work_on(event))
        or event.id in opened.document.seen
        or opened.document.was_erased(event),
        people.take_standing(event, person),
        breakers,
        prompt,
        private_chat,
        read_policies(policies),
        overheard.find_start(listening[0]) if listening else "",
        asks_zone=asked == [None] and not opened.document.zone,
        hp=hp.read_account(account[0], app.hp, app.clock.now()) if account else None,
        chain=open_chain(event, app, (chained[0] or ABSENT) if chained else None),
        workspaces=workspaces,
        member=read_member(members[0], app.short_name) if members and members[0] else None,
    )


def _find_home(event: Event, app: App) -> str:
    """Return the session (S of the keys) of the chat that work of the agent's own is for; empty
    where there is none.
    """
    home = event.data.get("home")
    if not (event.is_own_work and isinstance(home, str) and home):
        return ""
    return keys.session_of(str(event.data.get("home_agent") or app.root), home)


def _list_prompt_keys(event: Event, app: App, memory: str) -> list[Key]:
    """Return the keys of what the system message and the briefing of a turn are made from; none for
    a text that is only said.
    """
    if event.kind == "message":
        return app.list_preamble_keys(memory)
    if event.kind == "say":
        return []
    if event.is_own_work:
        behaviour = name_behaviour(event, is_teammate=app.is_teammate)
        return app.list_preamble_keys(memory, behaviour)
    return app.list_preamble_keys(memory)


def _needs_zone(event: Event, app: App) -> bool:
    """Return whether an event speaks of a time, and no setting says where its writer is."""
    return event.kind == "message" and app.zone == DEFAULT and mentions_time(event.text)
