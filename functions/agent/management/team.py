"""The team as people manage it beside the chats: at the machine, and over HTTP."""

from __future__ import annotations

from dataclasses import dataclass

from functions.agent.agents.bundle import collapse_bundle
from functions.agent.agents.record import join_name, read_agent
from functions.agent.app import App
from functions.agent.posts import Post
from functions.agent.sanitize import clean_text
from functions.agent.team.member import Member, Members, require_teammate
from functions.agent.team.request import find_request
from functions.agent.team.roster import list_shown
from functions.agent.team.shutdown import ALL, stop_team
from functions.agent.team.spawning import Order, spawn
from functions.agent.team.template import Template
from functions.agent.team.waking import make_events
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from sigil.errors import UsageError, one_line
from sigil.protocol import Json


@dataclass(frozen=True, slots=True)
class Arranged:
    """What somebody arranged for a team: what is said about it, and the events to put."""

    text: str
    events: tuple[Event, ...] = ()


def describe_team(app: App) -> dict[str, Json]:
    """Return the team as a row of the API, with how far the work of each has come."""
    from functions.agent.team.progress import read_progress

    team = list_shown(app, app.clock.now())
    found = read_progress(app, [each.name for each in team if each.status == "working"])
    items: list[Json] = []
    for each in team:
        progress = found.get(each.name)
        items.append({**each.describe(), "progress": progress.describe() if progress else None})
    return {"team": app.root, "items": items}


def spawn_by_hand(
    app: App, name: str, template: Template, *, home: str, by: str, call: str
) -> Arranged:
    """Start a teammate as a template describes it. What it does is said in the chat `home`."""
    order = Order(
        name=name,
        role=template.role,
        prompt=template.prompt,
        bundle=template.bundle,
        model=template.model,
        home=home,
        by=by,
        call=call,
        stay=template.stay,
        recall=template.recall,
    )
    post = spawn(app, order)
    return _arrange(app, f"Spawned '{name}' (role: {template.role})", (post,), by, call)


def stop_by_hand(app: App, name: str, *, by: str, call: str, graceful: bool = False) -> Arranged:
    """Stop a teammate, or `all` of them, until a person spawns or wakes them."""
    if name != ALL:
        _read_teammate(app, name)
    stopped = stop_team(app, name, person=by, home="", call=call, graceful=graceful)
    lines = [f"Shutdown request sent to '{each}'" for each in stopped.end]
    lines += [f"'{each}' had shut down, and is not woken" for each in stopped.down]
    text = "\n".join(lines) or "there is no teammate"
    return _arrange(app, text, stopped.posts, by, call)


def wake_team(app: App, name: str, *, by: str, call: str) -> Arranged:
    """Let a teammate, or `all` of them, work again."""
    from functions.agent.team.resuming import wake_by_hand

    names = [each for each, _ in Members(app.kv, app.root).scan()]
    if name != ALL:
        _read_teammate(app, name)
        names = [name]
    resumed = wake_by_hand(app, names, by=by, cause=call)
    text = " ".join(filter(None, (f"Woken: {', '.join(names)}.", resumed.describe(ENGLISH))))
    return Arranged(text, resumed.events)


def mail_by_hand(app: App, name: str, text: str, *, by: str, call: str) -> Arranged:
    """Write to a teammate."""
    from functions.agent.team.telling import tell_teammate

    _read_teammate(app, name)
    home = read_agent(app.kv, app.root, name).home
    post = tell_teammate(app, name, text, by=by, key=call, home=home)
    return _arrange(app, f"Sent message to {name}", (post,), by, call)


def find_plan(app: App, id: str) -> dict[str, Json] | None:
    """Return a plan as a row of the API; None when there is none with this id."""
    from functions.agent.team.plan import describe_plan

    found = find_request(app.kv, app.root, id)
    return describe_plan(id, found, app.root) if found and found.kind == "plan" else None


def list_plans(app: App) -> list[dict[str, Json]]:
    """Return the plans that wait for an answer as rows of the API."""
    from functions.agent.team import plan

    return [plan.describe_plan(*found, app.root) for found in plan.list_plans(app.kv, app.root)]


def answer_plan_by_hand(app: App, id: str, words: str, *, approve: bool, by: str) -> Arranged:
    """Answer a plan as an owner, and note that in the ledger."""
    from functions.agent.management.ledger import add_entries
    from functions.agent.team.plan import PlanAnswer, answer_plan

    words = app.redact(clean_text(words))
    answered = answer_plan(app, PlanAnswer(id, approve, by, owner=True, words=words))
    add_entries(app, [answered.entry], by, f"machine:plan:{id}")
    word = "approved" if approve else "rejected"
    text = f"{word}: the plan of {answered.request.sender}, who goes on now"
    return _arrange(app, text, (answered.post,), answered.request.by, f"plan:{app.root}:{id}")


def save_template(app: App, name: str) -> Template:
    """Return the template of a teammate, from which others can be spawned elsewhere."""
    record = read_agent(app.kv, app.root, name)
    member = _read_teammate(app, name)
    return Template(
        record.prompt,
        record.role,
        collapse_bundle(app.registry, join_name(app.root, name), record.bundle),
        record.model,
        stay=member.stay,
        recall=member.recall,
    )


def _read_teammate(app: App, name: str) -> Member:
    """Return what changes of a teammate; `UsageError` ENOENT says what a person types."""
    try:
        return require_teammate(Members(app.kv, app.root).read(name), one_line(name, 40))
    except UsageError as problem:
        problem.suggestion = "`uncaged team list` names them, and `uncaged team spawn` starts one"
        raise


def _arrange(app: App, text: str, posts: tuple[Post, ...], by: str, call: str) -> Arranged:
    events = make_events(posts, by, app.clock.now(), call)
    return Arranged(text, tuple(events))
