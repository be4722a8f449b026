"""`uncaged proposals`, `approve` and `deny`: what waits for an owner, and what to take back.

The plans of teammates wait there as well.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from functions.cli.local_agent import BY, Json, Whose, open_agent, print_result
from sigil.cli.printing import Printer
from sigil.cli.times import format_time
from sigil.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from functions.agent.app import App
    from functions.agent.policy.proposals import Proposal
    from functions.settings import Settings

cli = typer.Typer(rich_markup_mode=None)
Words = Annotated[
    str, typer.Argument(help="For a plan: what its teammate is to read.", metavar="[WORDS]")
]
Id = Annotated[str, typer.Argument(help="The id that `uncaged proposals` shows.", metavar="ID")]


@cli.callback(invoke_without_command=True)
def proposals(
    context: typer.Context,
    everything: Annotated[
        bool, typer.Option("--all", help="Those of the last month too that were decided.")
    ] = False,
    agent: Whose = None,
    json: Json = False,
) -> None:
    """List what waits for an owner's approval, look at it, or take a change back.

    Example: uncaged proposals
    """
    from functions.agent.approvals import make_row
    from functions.agent.management.team import list_plans

    if context.invoked_subcommand:
        return
    with open_agent(switch=True, name=agent) as (app, _):
        now = app.clock.now()
        found = app.proposals.list_open()
        if everything:
            found = sorted(app.proposals.scan(), key=lambda each: (each.at, each.id))
        plans = list_plans(app)
        if agent:
            found = [each for each in found if each.agent == app.name]
            plans = [each for each in plans if each["agent"] == app.name]
    printer = Printer(json=json)
    if json:
        printer.document([*(make_row(each, now) for each in found), *plans])
    elif not (found or plans):
        printer.note("nothing waits for an approval")
    else:
        for each in found:
            printer.line(_describe(each, now))
        for plan in plans:
            printer.line(_describe_plan(plan))


@cli.command()
def show(id: Id, json: Json = False) -> None:
    """Show a proposal, of a change with the difference that it makes.

    Example: uncaged proposals show 3f2a9c
    """
    from functions.agent.approvals import make_row
    from functions.agent.management.team import find_plan

    with open_agent(switch=True) as (app, _):
        proposal = app.proposals.find(id)
        plan = None if proposal else find_plan(app, id)
        now = app.clock.now()
    if plan:
        print_result({**plan}, _describe_plan(plan), json)
        return
    if proposal is None:
        raise UsageError(
            "ENOENT", f"there is no proposal {id}", suggestion="`uncaged proposals --all` lists all"
        )
    made = make_row(proposal, now)
    if json:
        Printer(json=True).document(made)
        return
    printer = Printer()
    printer.line(_describe(proposal, now))
    if "difference" in made:
        printer.text(str(made["difference"]))


@cli.command()
def rollback(id: Id, json: Json = False) -> None:
    """Bring back what was there before a change was applied, and say so in its chat.

    Example: uncaged proposals rollback 3f2a9c
    """
    from functions.agent.growth.undoing import roll_back
    from functions.agent.management.ledger import note_decision
    from functions.wiring import open_ingress_queue

    with open_agent(switch=True) as (app, settings):
        proposal, event = roll_back(app, id, BY)
        if event:
            open_ingress_queue(settings).put(event)
        note_decision(app, proposal)
        now = app.clock.now()
    _print_decision(proposal, now, f"rolled back: {', '.join(proposal.acts)}", json=json)


def approve(id: Id, words: Words = "", json: Json = False) -> None:
    """Let a proposal happen: its call goes on in its own chat. Or let a teammate's plan go on.

    Example: uncaged approve 3f2a9c
    """
    from functions.agent import approvals
    from functions.agent.management.ledger import note_decision
    from functions.wiring import open_ingress_queue

    with open_agent(switch=True) as (app, settings):
        if _answer_plan(app, settings, id, words, approve=True, json=json):
            return
        proposal, event = approvals.approve(app, id, BY)
        open_ingress_queue(settings).put(event)
        note_decision(app, proposal)
        now = app.clock.now()
    text = f"approved: {', '.join(proposal.acts)}; it goes on in {proposal.session}"
    _print_decision(proposal, now, text, json=json)


def deny(id: Id, words: Words = "", json: Json = False) -> None:
    """Let a proposal not happen, and say so in its chat. Or deny a teammate's plan, and say why.

    Example: uncaged deny 3f2a9c
    """
    from functions.agent import approvals
    from functions.agent.management.ledger import note_decision
    from functions.wiring import open_ingress_queue

    with open_agent(switch=True) as (app, settings):
        if _answer_plan(app, settings, id, words, approve=False, json=json):
            return
        proposal, event = approvals.deny(app, id, BY)
        if event:
            open_ingress_queue(settings).put(event)
        approvals.settle(app, proposal)
        note_decision(app, proposal)
        now = app.clock.now()
    _print_decision(proposal, now, f"denied: {', '.join(proposal.acts)}", json=json)


def _answer_plan(
    app: App, settings: Settings, id: str, words: str, *, approve: bool, json: bool
) -> bool:
    """Answer the plan of this id, and return whether there is one."""
    from functions.agent.management.team import answer_plan_by_hand, find_plan
    from functions.wiring import open_ingress_queue

    if not find_plan(app, id):
        if words:
            raise UsageError("EUSAGE", "only the answer to a plan has words", source=id)
        return False
    made = answer_plan_by_hand(app, id, words, approve=approve, by=BY)
    queue = open_ingress_queue(settings)
    for event in made.events:
        queue.put(event)
    print_result({**(find_plan(app, id) or {})}, made.text, json)
    return True


def _describe_plan(plan: Mapping[str, object]) -> str:
    """Return the line of a teammate's plan."""
    from functions.agent.sanitize import clean_text

    fields = (plan["id"], plan["state"], f"plan {plan['agent']}", clean_text(str(plan["text"])))
    return "  ".join(map(str, (*fields, plan["session"], plan["by"])))


def _describe(proposal: Proposal, now: float) -> str:
    """Return the line of a proposal; the text of a change stands in its difference."""
    from functions.agent.approvals import (
        DIFFERENCE_CHARACTERS,
        describe_change,
        describe_difference,
    )
    from functions.agent.sanitize import escape_unseen

    state = proposal.state_at(now)
    until = f"until {format_time(proposal.until)}" if state == "open" else state
    has_difference = describe_difference(proposal, DIFFERENCE_CHARACTERS)
    shown = describe_change(proposal) if has_difference else proposal.arguments
    acts = ", ".join(proposal.acts)
    if proposal.permissions:
        acts += f" ({', '.join(proposal.permissions)})"
    fields = (proposal.id, until, acts, escape_unseen(shown))
    return "  ".join((*fields, proposal.session, proposal.by))


def _print_decision(proposal: Proposal, now: float, text: str, *, json: bool) -> None:
    from functions.agent.approvals import make_row

    print_result(make_row(proposal, now), text, json)
