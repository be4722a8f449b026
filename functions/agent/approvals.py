"""Approvals: an owner is asked about a call, decides, and the call goes on in its own chat."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import orjson

from functions.agent.access.roles import Role
from functions.agent.app import App
from functions.agent.conversation.messages import RUNTIME_ORIGIN, Message, ToolCall
from functions.agent.growth.change import Change, find_change
from functions.agent.growth.parts import open_part
from functions.agent.language import choose_texts_for, load_texts_for
from functions.agent.policy.act import Act
from functions.agent.policy.gate import Asked
from functions.agent.policy.proposals import (
    AskedCall,
    Proposal,
    make_approval,
    make_notice,
    make_proposal,
    require_id,
)
from functions.agent.posts import ASKS, Post
from functions.agent.safety import locks
from functions.agent.sanitize import escape_unseen, sanitize_text
from functions.agent.session.document import Turn
from functions.agent.workspace.difference import LINE_CHARACTERS, compare_texts
from functions.events import PRESSED, Button, Event, Sender
from functions.texts.en import Texts
from functions.texts.languages import load_texts
from functions.time.time_zone import format_clock
from sigil.errors import Conflict, UsageError, one_line
from sigil.protocol import Json
from sigil.storage.kv import keys
from sigil.storage.stored import row

SHOWN_CHARACTERS: Final = 3_000
DIFFERENCE_CHARACTERS: Final = 100_000
STEP: Final = "approved"
APPROVED: Final = (
    "An owner approved proposal {id}, which you made here: {acts}. It is called now, once, with the"
    " arguments that were shown. Tell the person what came of it."
)
"""The runtime's line above the call that an owner has approved."""


def ask_owners(app: App, event: Event, role: Role, acts: Sequence[Act], call: AskedCall) -> Asked:
    """Propose a call to the owners, and return the proposal with what tells them of it.

    An owner who asks in their own chat reads of it there.
    """
    wanted = make_proposal(event, app.name, acts, call)
    change = find_change(wanted)
    if change:
        wanted = replace(wanted, before=_read_base(app, change))
    from functions.agent.shares import find_holder

    holder = find_holder(event, role, app.people)
    proposal, is_new = app.proposals.propose(wanted, holder)
    if not is_new or (role == "owner" and event.private):
        return Asked(proposal)
    posts = []
    for owner in app.people.list_owner_chats(app.private_chats):
        texts = load_texts_for(choose_texts_for(replace(event, text="")).code, owner)
        pattern = texts.grant_for_owner if proposal.is_grant else texts.proposal_for_owner
        text = describe_proposal(proposal, pattern, app, app.zone, texts=texts)
        data: dict[str, Json] = {"from": "approval", ASKS: proposal.id}
        posts.append(Post("say", app.root, owner, text, data=data))
    return Asked(proposal, tuple(posts))


def _read_base(app: App, change: Change) -> str:
    """Return the text that a change was made from, which is the newest."""
    current = open_part(app, change.target).read()
    if current.version != change.base:
        raise Conflict(f"{change.target} was changed meanwhile")
    return current.text


def find_approval(app: App, event: Event) -> Proposal | None:
    """Return the approved proposal that an event lets go on, None when it is no such event, or
    nothing is approved any more.
    """
    id = event.data.get("proposal")
    if event.kind != "mail" or not isinstance(id, str):
        return None
    found = app.proposals.find(id)
    if found is None or found.state != "approved" or found.round != event.data.get("round"):
        return None
    same = (found.agent, found.session, found.by) == (app.name, event.session, event.by)
    return found if same else None


def find_asker_role(app: App, proposal: Proposal, limited: Role) -> Role:
    """Return the role with which an approved call runs: that which the person who asked has now.

    `limited` is that of work that nobody typed.
    """
    if proposal.own_work:
        return limited
    asker = replace(make_approval(proposal), kind="message", sender=Sender(proposal.by), by="")
    return app.people.find_role(asker)


def make_approved_call(proposal: Proposal) -> ToolCall:
    """Return the call of an approved proposal."""
    return ToolCall(f"approved-{proposal.id}-{proposal.round}", proposal.tool, proposal.arguments)


def make_approved_message(proposal: Proposal, now: float) -> Message:
    """Return the runtime's message before the call of an approved proposal; it has its tool."""
    acts = sanitize_text(", ".join(proposal.acts))
    content = APPROVED.format(id=proposal.id, acts=acts)
    loads = (proposal.offer,) if proposal.offer else ()
    return Message("user", content, at=now, origin=RUNTIME_ORIGIN, loads=loads)


def list_waiting(app: App, turn: Turn) -> list[Proposal]:
    """Return what a turn has asked owners about and nobody has decided on, to be shown below its
    answer; nothing where work of the agent's own is reported to an owner, who was told already.
    """
    ids = [row["proposal"] for row in turn.trace if row.get("proposal")]
    now = app.clock.now()
    if (
        ids
        and turn.event.is_own_work
        and turn.event.data.get("home") in app.people.list_owner_chats(app.private_chats)
    ):
        return []
    found = [app.proposals.find(id) for id in dict.fromkeys(map(str, ids))]
    return [each for each in found if each and each.state_at(now) == "open"]


def describe_waiting(
    app: App, proposals: Iterable[Proposal], session: str, zone: str, texts: Texts
) -> list[str]:
    """Return what a chat that has asked for proposals reads of each; one that another chat asked
    for first is done there alone.
    """
    told = []
    for each in proposals:
        pattern = texts.grant_waits if each.is_grant else texts.proposal_waits
        described = describe_proposal(each, pattern, app, zone, texts=texts)
        if each.session != session:
            described = f"{described} {texts.grant_asked_before}"
        told.append(described)
    return told


def make_buttons(
    ids: Iterable[str], texts: Texts, *, is_question: bool = False
) -> tuple[Button, ...]:
    """Return the buttons that approve or deny proposals and plans, as yes and no where a single one
    `is_question`.
    """
    yes, no = texts.button_approve, texts.button_deny
    if is_question:
        yes, no = texts.button_yes, texts.button_no
    buttons = []
    for id in ids:
        if PRESSED.fullmatch(f"/deny {id}"):
            buttons.append(Button(yes.format(id=id), f"/approve {id}"))
            buttons.append(Button(no.format(id=id), f"/deny {id}"))
    return tuple(buttons)


def mention_approval(trace: Sequence[Mapping[str, Json]], text: str, texts: Texts) -> str:
    """Return a turn's text below the line that says what was approved, if something was."""
    for step in trace:
        if step.get("kind") == STEP:
            said = texts.proposal_approved.format(id=step.get("id"), acts=step.get("acts"))
            return "\n\n".join(filter(None, (said, text)))
    return text


def end_approval(app: App, turn: Turn) -> None:
    """Write down what became of the proposal that a turn let go on.

    A change that was refused when it was to be applied has changed nothing.
    """
    proposal = find_approval(app, turn.event)
    if proposal is None:
        return
    id = make_approved_call(proposal).id
    made = [row for row in turn.trace if row.get("kind") == "call" and row.get("id") == id]
    errors = [row.get("error") for row in made]
    is_refused = bool(find_change(proposal)) and any(errors)
    app.proposals.end(proposal, "lapsed" if is_refused or not made else "applied")
    if is_refused and errors == ["EAPPROVAL"]:
        # it was proposed anew, and that waits in the same chat
        app.proposals.settle(proposal.id)


def approve(app: App, id: str, by: str, message: str = "") -> tuple[Proposal, Event]:
    """Approve a proposal, in a message where one has this id, and return it with the event that
    lets its call go on.

    `UsageError` EINVAL while a halt would keep it from that.
    """
    _require_unhalted(app, id)
    proposal = app.proposals.decide(id, "approved", by, message)
    return proposal, make_approval(proposal)


def _require_unhalted(app: App, id: str) -> None:
    require_id(id)
    proposal = app.proposals.find(id)
    if proposal is None or proposal.state != "open":
        return
    session = keys.session_of(proposal.agent, proposal.session)
    for whom in dict.fromkeys((keys.escape(app.root), keys.escape(proposal.agent), session)):
        if locks.read_lock(app.kv, whom).closed:
            raise UsageError(
                "EINVAL",
                f"the agent is halted, so nothing would come of proposal {id}",
                suggestion="unlock it first (`/unlock`, or `uncaged unlock`), then approve",
            )


def deny(app: App, id: str, by: str, message: str = "") -> tuple[Proposal, Event | None]:
    """Deny a proposal, in a message where one has this id, and return it with the event that says
    so in its chat, None where that is nobody's.
    """
    proposal = app.proposals.decide(id, "denied", by, message)
    return proposal, make_notice(proposal, load_texts(proposal.language))


def settle(app: App, proposal: Proposal) -> None:
    """Note that nothing is left to do for a proposal that was denied; one that was approved is not
    done yet.
    """
    if proposal.state == "denied":
        app.proposals.settle(proposal.id)


def describe_proposal(
    proposal: Proposal,
    pattern: str,
    app: App,
    zone: str,
    *,
    texts: Texts,
    most: int = SHOWN_CHARACTERS,
) -> str:
    """Return a proposal in the words of a pattern: its id, its acts, the very arguments, who asks
    and until when it waits. It says how many characters of the arguments it leaves out above
    `most`, so that nobody approves what they could not see without knowing it.
    """
    difference = describe_difference(proposal, most)
    shown = proposal.arguments
    if difference:
        shown = describe_change(proposal)
    whole = escape_unseen(shown).replace("`", "ˋ")
    arguments = one_line(whole, most)
    left_out = len(whole) - len(arguments)
    described = pattern.format(
        id=proposal.id,
        acts=describe_acts(proposal, texts),
        name=proposal.offer.name if proposal.offer else "",
        reach=describe_permissions(proposal.permissions, texts),
        arguments=arguments,
        by=proposal.by or "nobody",
        session=proposal.session,
        # with its date: a day from now, the time alone would be taken for that of today
        time=format_clock(proposal.until, zone, 0.0),
    )
    if difference:
        return f"{described}\n\n```diff\n{difference}\n```\n"
    if not left_out:
        return described
    return f"{described} {texts.proposal_more.format(count=left_out, id=proposal.id)}"


def describe_acts(proposal: Proposal, texts: Texts) -> str:
    """Return what a proposal asks for; of a grant also what may be reached with it."""
    acts = ", ".join(proposal.acts)
    reach = describe_permissions(proposal.permissions, texts)
    return f"{acts} ({reach})" if reach else acts


def describe_permissions(permissions: Iterable[str], texts: Texts) -> str:
    """Return what a capability may do with these permissions, in the language of the texts."""
    told = []
    for permission in permissions:
        kind, _, target = permission.partition(":")
        pattern = texts.permission_meanings.get(kind, "`{target}`")
        told.append(pattern.format(target=escape_unseen(target or kind).replace("`", "ˋ")))
    return "; ".join(told)


def make_row(proposal: Proposal, now: float) -> dict[str, object]:
    """Return a proposal as programs see it, with the difference that a change makes, all of it."""
    difference = describe_difference(proposal, DIFFERENCE_CHARACTERS)
    shown = {"difference": difference} if difference else {}
    return {**row(proposal), "state": proposal.state_at(now), **shown}


def describe_change(proposal: Proposal) -> str:
    """Return the arguments of a change without its text, all of which its difference says."""
    parsed = orjson.loads(proposal.arguments)
    return orjson.dumps({name: parsed[name] for name in parsed if name != "text"}).decode()


def describe_difference(proposal: Proposal, most: int = SHOWN_CHARACTERS) -> str:
    """Return what a proposed change does to the version that it was made from.

    It is empty for any other call, and where not all of it would be shown: the arguments are shown
    then.
    """
    change = find_change(proposal)
    before = proposal.before
    if change is None or before is None:
        return ""
    lines = [*before.splitlines(), *change.text.splitlines()]
    if "\n".join(lines) != f"{before}\n{change.text}".strip("\n") or any(
        len(line) > LINE_CHARACTERS for line in lines
    ):
        return ""
    names = (f"version {change.base}", "proposed")
    difference = compare_texts(before, change.text, *names)
    text = "\n".join(map(escape_unseen, difference.lines)).replace("`", "ˋ")
    return "" if difference.left_out or len(text) > most else text
