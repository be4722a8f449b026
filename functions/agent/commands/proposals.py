"""What waits for an owner is shown, and /approve and /deny decide on it, as owners alone do."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from functions.agent.approvals import (
    SHOWN_CHARACTERS,
    approve,
    deny,
    describe_proposal,
    settle,
)
from functions.agent.commands.command import CommandCall, CommandResult
from functions.agent.growth.undoing import roll_back
from functions.agent.ledger.entry import Entry
from functions.agent.policy.proposals import (
    ARGUMENTS_CHARACTERS,
    Proposal,
    describe_decision,
    make_rollback_text,
)
from functions.agent.safety.failure_codes import describe_refusal
from functions.agent.sanitize import ESCAPED_CHARACTERS
from sigil.errors import SigilError

SHOWN_MOST: Final = 20
ROLLBACK: Final = "rollback"


def run_proposals(call: CommandCall) -> CommandResult:
    """Show the proposals that wait, or one of them, or roll one back that was applied."""
    texts = call.texts
    verb, _, id = call.text.lower().partition(" ")
    if verb == ROLLBACK:
        return _roll_back(call, id.strip())
    app = call.app
    zone = app.find_zone(call.document)
    found = app.proposals.list_open()
    if not call.event.private:
        # nobody in a group reads what somebody asks for elsewhere
        found = [each for each in found if each.session == call.event.session]
    most = SHOWN_CHARACTERS
    if call.text:
        found = [each for each in found if each.id == call.text.lower()]
        most = ARGUMENTS_CHARACTERS * ESCAPED_CHARACTERS
    lines = [
        describe_proposal(each, texts.proposal_line, app, zone, texts=texts, most=most)
        for each in found[:SHOWN_MOST]
    ]
    if not lines:
        return call.reply(texts.proposals_none)
    return call.reply("\n".join([*lines, "", texts.proposals_how]))


def run_approve(call: CommandCall) -> CommandResult:
    """Approve a proposal; its call goes on in its own chat."""
    if not call.text:
        return run_proposals(call)
    try:
        decider = call.event.sender.id
        id = call.text.lower()
        proposal, event = approve(call.app, id, decider, call.event.id)
    except SigilError as problem:
        return _refuse(call, problem)
    # it goes out with the write that closes this command, and has the same id if that is repeated
    document = replace(call.document, posts=(*call.document.posts, event))
    acts = ", ".join(proposal.acts)
    text = call.texts.proposal_runs.format(acts=acts, session=proposal.session)
    return CommandResult(text, document, entries=_list_entries(call, proposal))


def run_deny(call: CommandCall) -> CommandResult:
    """Deny a proposal, and say so in its chat."""
    if not call.text:
        return run_proposals(call)
    try:
        decider = call.event.sender.id
        id = call.text.lower()
        proposal, event = deny(call.app, id, decider, call.event.id)
    except SigilError as problem:
        return _refuse(call, problem)
    document = call.document
    if event and event.session != call.event.session:
        document = replace(document, posts=(*document.posts, event))
    settle(call.app, proposal)
    acts = ", ".join(proposal.acts)
    said = call.texts.proposal_dropped.format(acts=acts)
    return CommandResult(said, document, entries=_list_entries(call, proposal))


def _refuse(call: CommandCall, problem: SigilError) -> CommandResult:
    texts = call.texts
    return call.reply(texts.proposal_refused.format(why=describe_refusal(problem, texts)))


def _roll_back(call: CommandCall, id: str) -> CommandResult:
    """Bring back what was there before a proposal was applied, and say so in its chat."""
    try:
        proposal, event = roll_back(call.app, id, call.event.sender.id, call.event.id)
    except SigilError as problem:
        return _refuse(call, problem)
    document = call.document
    if event and event.session != call.event.session:
        document = replace(document, posts=(*document.posts, event))
    said = make_rollback_text(proposal, call.texts)
    return CommandResult(said, document, entries=_list_entries(call, proposal))


def _list_entries(call: CommandCall, proposal: Proposal) -> tuple[Entry, ...]:
    """Return the ledger's entry of a decision, none where it was decided before.

    A message whose turn begins again has decided, and its entry is not written yet.
    """
    is_new = proposal.decided_in == call.event.id
    return (describe_decision(proposal),) if is_new else ()
