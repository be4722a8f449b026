"""`uncaged proposals`, `approve` and `deny`: what waits for an owner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import BY, Json, open_agent, print_result
from sigil.cli.printing import Printer
from sigil.cli.times import format_time

if TYPE_CHECKING:
    from functions.agent.policy.proposals import Proposal

Id = Annotated[str, typer.Argument(help="The id that `uncaged proposals` shows.", metavar="ID")]


def proposals(
    everything: Annotated[
        bool, typer.Option("--all", help="Those of the last month too that were decided.")
    ] = False,
    json: Json = False,
) -> None:
    """List what waits for an owner's approval.

    Example: uncaged proposals
    """
    from functions.agent.sanitize import escape_unseen

    with open_agent(switch=True) as (app, _):
        now = app.clock.now()
        found = app.proposals.list_open()
        if everything:
            found = sorted(app.proposals.scan(), key=lambda each: (each.at, each.id))
    printer = Printer(json=json)
    if json:
        printer.document([_make_row(each, now) for each in found])
    elif not found:
        printer.note("nothing waits for an approval")
    else:
        for each in found:
            state = each.state_at(now)
            until = f"until {format_time(each.until)}" if state == "open" else state
            acts = ", ".join(each.acts)
            arguments = escape_unseen(each.arguments)
            printer.line(f"{each.id}  {until}  {acts}  {arguments}  {each.session}  {each.by}")


def approve(id: Id, json: Json = False) -> None:
    """Let a proposal happen: its call goes on in its own chat.

    Example: uncaged approve 3f2a9c
    """
    from functions.agent import approvals
    from functions.agent.management.ledger import note_decision
    from functions.wiring import open_ingress_queue

    with open_agent(switch=True) as (app, settings):
        proposal, event = approvals.approve(app, id, BY)
        open_ingress_queue(settings).put(event)
        note_decision(app, proposal)
        now = app.clock.now()
    text = f"approved: {', '.join(proposal.acts)}; it goes on in {proposal.session}"
    print_result(_make_row(proposal, now), text, json)


def deny(id: Id, json: Json = False) -> None:
    """Let a proposal not happen, and say so in its chat.

    Example: uncaged deny 3f2a9c
    """
    from functions.agent import approvals
    from functions.agent.management.ledger import note_decision
    from functions.wiring import open_ingress_queue

    with open_agent(switch=True) as (app, settings):
        proposal, event = approvals.deny(app, id, BY)
        if event:
            open_ingress_queue(settings).put(event)
        approvals.settle(app, proposal)
        note_decision(app, proposal)
        now = app.clock.now()
    print_result(_make_row(proposal, now), f"denied: {', '.join(proposal.acts)}", json)


def _make_row(proposal: Proposal, now: float) -> dict[str, object]:
    from sigil.storage.stored import row

    return {**row(proposal), "state": proposal.state_at(now)}
