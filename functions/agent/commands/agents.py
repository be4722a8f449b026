"""/agent shows which agent answers in a chat, and lets owners choose another one; /agents lists
those below the root, and brings one into another state.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice
from typing import Final

from functions.agent.agents.bindings import bind
from functions.agent.agents.lifecycle import read_work, scan_live, stop_agent
from functions.agent.agents.record import (
    NEXT_STATES,
    State,
    change_state,
    is_name,
    join_name,
    read_agent,
    scan_agents,
)
from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands, always
from functions.agent.safety.hp import NO_HP_LEFT, enable_work, list_drained
from sigil.errors import BackendError, UsageError, one_line

ENABLE: Final = "enable"
"""`/agent enable` lets the agent of the chat work by itself again."""
SHOWN_MOST: Final = 20
NAME_CHARACTERS: Final = 40
LISTED_MOST: Final = 40
ROLE_CHARACTERS: Final = 60
STOP: Final = "stop"
STEPS: Final[Mapping[str, State]] = {
    ENABLE: "enabled",
    "disable": "disabled",
    "archive": "archived",
}
"""The words of `/agents` that bring an agent into another state."""


def run_agent(call: CommandCall) -> CommandResult:
    """Show the agent of the chat, let another one answer there, or go back to the root."""
    app = call.app
    texts = call.texts
    name = call.text.lower()
    if name == ENABLE and app.hp.most > 0 and not _is_enabled(call, name):
        hp = enable_work(app.kv, app.name, app.hp, app.clock.now())
        text = texts.hp_enabled.format(name=app.short_name, hp=hp, most=app.hp.most)
        return _let_go_on(call, app.short_name, text)
    if not name:
        now = texts.agent_now.format(name=app.short_name)
        return call.reply(f"{now} {_describe_choice(call)}")
    if name == app.root:
        _bind_chat(call, "")
        return call.reply(texts.agent_set.format(name=app.root))
    if not _is_enabled(call, name):
        shown = one_line(name, NAME_CHARACTERS).replace("`", "")
        return call.reply(f"{texts.agent_unknown.format(name=shown)} {_describe_choice(call)}")
    _bind_chat(call, name)
    back = texts.agent_back.format(name=app.root)
    return call.reply(f"{texts.agent_set.format(name=name)} {back}")


def _bind_chat(call: CommandCall, name: str) -> None:
    event = call.event
    bind(call.app.kv, call.app.root, event.session, name, order=event.order, by=event.sender.id)


def _is_enabled(call: CommandCall, name: str) -> bool:
    if not is_name(name):
        return False
    try:
        return read_agent(call.app.kv, call.app.root, name).state == "enabled"
    except (UsageError, BackendError):
        return False


def _describe_choice(call: CommandCall) -> str:
    """Return which agents could answer in the chat, and how one is chosen."""
    app = call.app
    enabled = (
        name
        for name, record in scan_agents(app.kv, app.root)
        if record and record.state == "enabled"
    )
    names = [app.root, *islice(enabled, SHOWN_MOST)]
    if len(names) == 1:
        return call.texts.agent_none
    return call.texts.agent_how.format(names=", ".join(f"`{name}`" for name in names))


def run_agents(call: CommandCall) -> CommandResult:
    """List the agents below the root, or stop, enable, disable or archive one."""
    app = call.app
    texts = call.texts
    step, _, name = call.text.lower().partition(" ")
    name = name.strip()
    if not step:
        return call.reply(_list_agents(call))
    if step not in (STOP, *STEPS) or not is_name(name):
        return call.reply(texts.agents_how)
    now = app.clock.now()
    try:
        if step == STOP:
            state = stop_agent(app.kv, app.root, name, now).state
        else:
            state = change_state(app.kv, app.root, name, STEPS[step], now).state
    except UsageError as problem:
        if problem.code == "ENOENT":
            return call.reply(texts.agents_unknown.format(name=name))
        known = read_agent(app.kv, app.root, name).state
        possible = [word for word, reached in STEPS.items() if reached in NEXT_STATES[known]]
        words = ", ".join(possible) or "–"
        state_word = texts.agent_states[known]
        refused = texts.agents_refused.format(name=name, state=state_word, steps=words)
        return call.reply(refused)
    if step == ENABLE and app.hp.most > 0:
        enable_work(app.kv, join_name(app.root, name), app.hp, now)
    text = texts.agents_changed.format(name=name, state=texts.agent_states[state])
    return _let_go_on(call, name, text) if step == ENABLE else call.reply(text)


def _let_go_on(call: CommandCall, name: str, text: str) -> CommandResult:
    """Return the reply to whoever has enabled an agent, and what takes up the work that waits."""
    from functions.agent.team.resuming import wake_by_hand

    event = call.event
    resumed = wake_by_hand(call.app, [name], by=event.behalf, cause=event.id)
    text = " ".join(filter(None, (text, resumed.describe(call.texts))))
    document = replace(call.document, posts=(*call.document.posts, *resumed.events))
    return CommandResult(text, document)


def _list_agents(call: CommandCall) -> str:
    """Return the agents that are not archived, a line each, and how one is brought elsewhere."""
    app = call.app
    texts = call.texts
    lines = []
    found = list(scan_live(app.kv, app.root))
    running = app.list_working() if found else ()
    drained = list_drained(app.kv, app.root, dict(found), app.hp, app.clock.now())
    for name, record in found:
        is_running = record.state == "enabled" and join_name(app.root, name) in running
        state = texts.agent_states["running" if is_running else read_work(record)]
        if record.state == "enabled" and name in drained:
            state = f"{texts.agent_states['disabled']} ({NO_HP_LEFT})"
        role = f": {one_line(record.role, ROLE_CHARACTERS)}" if record.role else ""
        lines.append(f"`{name}` ({state}){role}")
    if not lines:
        return texts.agent_none
    left_out = len(lines) - LISTED_MOST
    if left_out > 0:
        lines = [*lines[:LISTED_MOST], f"… {left_out}"]
    return "\n".join((*lines, texts.agents_how))


COMMANDS: Final[Commands] = {
    "agent": Command(run_agent, arguments="[NAME | enable]", changes_agent=always, for_owners=True),
    "agents": Command(
        run_agents,
        arguments=f"[{STOP} | enable | disable | archive NAME]",
        changes_agent=always,
        for_owners=True,
    ),
}
