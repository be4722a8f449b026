"""The team as people manage it beside the chats: at the machine, and over HTTP."""

from __future__ import annotations

from dataclasses import dataclass

from functions.agent.agents.bundle import collapse_bundle
from functions.agent.agents.record import join_name, read_agent
from functions.agent.app import App
from functions.agent.mailbox import Mail, Mailbox
from functions.agent.posts import Post
from functions.agent.team.leg import OWN_MAIN
from functions.agent.team.member import Member, Members, require_teammate
from functions.agent.team.report import LEAD
from functions.agent.team.roster import list_shown
from functions.agent.team.shutdown import ALL, stop_team
from functions.agent.team.spawning import Order, spawn
from functions.agent.team.template import Template
from functions.agent.team.waking import make_events, require_workable
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from sigil.errors import UsageError, one_line
from sigil.protocol import Json
from sigil.storage.kv import keys


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
        read_agent(app.kv, app.root, name)
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
    now = app.clock.now()
    member = _read_teammate(app, name)
    require_workable(app, name, member, by_person=False)
    if member.find_status(now, app.team_idle) == "shutdown":
        raise UsageError(
            "EINVAL",
            f"Error: '{name}' has shut down, and reads nothing",
            suggestion=f"`uncaged team spawn {name}` starts it again",
        )
    full = join_name(app.root, name)
    Mailbox(app.kv, keys.escape(full)).deliver(Mail(call, LEAD, text, now, by=by))
    record = read_agent(app.kv, app.root, name)
    post = Post("mail", full, OWN_MAIN, data={"home": record.home, "from": name})
    return _arrange(app, f"Sent message to {name}", (post,), by, call)


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
