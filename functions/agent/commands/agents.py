"""/agent shows which agent answers in a chat, and lets owners choose another one."""

from __future__ import annotations

from itertools import islice
from typing import Final

from functions.agent.agents.bindings import bind
from functions.agent.agents.record import is_name, read_agent, scan_agents
from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands, always
from functions.agent.safety.hp import enable_work
from sigil.errors import BackendError, UsageError, one_line

ENABLE: Final = "enable"
"""`/agent enable` lets the agent of the chat work by itself again."""
SHOWN_MOST: Final = 20
NAME_CHARACTERS: Final = 40


def run_agent(call: CommandCall) -> CommandResult:
    """Show the agent of the chat, let another one answer there, or go back to the root."""
    app = call.app
    texts = call.texts
    name = call.text.lower()
    if name == ENABLE and app.hp.most > 0 and not _is_enabled(call, name):
        hp = enable_work(app.kv, app.name, app.hp, app.clock.now())
        return call.reply(texts.hp_enabled.format(name=app.short_name, hp=hp, most=app.hp.most))
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


COMMANDS: Final[Commands] = {
    "agent": Command(run_agent, arguments="[NAME | enable]", changes_agent=always, for_owners=True),
}
