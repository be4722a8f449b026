"""Undoing brings back what was there before an owner approved a change of the agent."""

from __future__ import annotations

from dataclasses import replace

from functions.agent.app import App
from functions.agent.growth.change import Change, find_change
from functions.agent.growth.parts import open_part
from functions.agent.policy.proposals import Proposal, make_notice
from functions.events import Event
from functions.texts.languages import load_texts
from sigil.errors import Conflict, UsageError, one_line


def roll_back(app: App, id: str, by: str, message: str = "") -> tuple[Proposal, Event | None]:
    """Bring back what was there before a proposal was applied, in a message where one has this id,
    and return it with the event that says so in its chat, None where that is nobody's.

    Doing it again changes nothing. `UsageError` for one that has changed nothing, or whose part was
    changed since.
    """
    proposal = app.proposals.find(id)
    if proposal is None:
        raise UsageError("ENOENT", f"there is no proposal {one_line(id, 20)}")
    change = find_change(proposal)
    if change is None:
        raise UsageError("EINVAL", f"the proposal {proposal.id} is no change of the agent")
    if not proposal.rolled_back_at:
        state = proposal.state_at(app.clock.now())
        if state != "applied" or not proposal.version:
            raise UsageError("EINVAL", f"the proposal {proposal.id} is {state}: it changed nothing")
        # it may be of an agent below this one
        _restore(replace(app, name=proposal.agent), proposal, change, by)
        proposal = app.proposals.note_rollback(proposal, by, message)
    return proposal, make_notice(proposal, load_texts(proposal.language))


def _restore(app: App, proposal: Proposal, change: Change, by: str) -> None:
    part = open_part(app, change.target)
    why = f"rolled back proposal {proposal.id}"
    current = part.read()
    before = proposal.before or ""
    if current.version != proposal.version and current.text == before:
        return  # it is back: whoever did it may have crashed before the proposal said so
    try:
        if current.version != proposal.version:
            raise Conflict
        part.restore(change, before, proposal.version, by=by, why=why)
    except Conflict:
        raise UsageError(
            "EINVAL",
            f"{change.target} was changed since, and is at version {part.read().version}",
            suggestion="bring back one of its versions by hand",
        ) from None
