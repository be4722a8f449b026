"""/hooks shows an owner the addresses at which programs hand something to the agent, and drops
them.
"""

from __future__ import annotations

from typing import Final

from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands, always
from functions.hooks import Hook, Hooks
from functions.time.time_zone import format_stamp
from sigil.errors import one_line

SHOWN_CHARACTERS: Final = 80


def run_hooks(call: CommandCall) -> CommandResult:
    """Show the hooks, or drop one of them by its name."""
    texts = call.texts
    if not call.event.private:
        return call.reply(texts.hooks_private)
    hooks = Hooks(call.app.kv, call.app.root)
    action, _, name = call.text.partition(" ")
    if not action:
        lines = [_describe(each, call) for each in hooks.list_all()]
        how = texts.hooks_how if lines else texts.hooks_none
        return call.reply("\n".join([*lines, "", how] if lines else [how]))
    if action.lower() != "drop" or not name.strip():
        return call.reply(texts.hooks_how)
    name = name.strip().lower()
    if not hooks.drop(name):
        shown = one_line(name, SHOWN_CHARACTERS).replace("`", "")
        return call.reply(texts.hook_unknown.format(name=shown))
    return call.reply(texts.hook_dropped.format(name=name))


def _describe(hook: Hook, call: CommandCall) -> str:
    """Return the line of a hook: where it is told, and what became of what came last."""
    texts = call.texts
    parts = [f"`{hook.name}`"]
    if hook.session:
        parts.append(f"→ {one_line(hook.session, SHOWN_CHARACTERS)}")
    if hook.text:
        parts.append(one_line(hook.text, SHOWN_CHARACTERS))
    if hook.paused:
        why = texts.wakeup_pauses.get(hook.paused, hook.paused)
        parts.append(texts.wakeup_pause.format(why=why))
    if hook.last:
        outcome = texts.wakeup_outcomes.get(hook.outcome, hook.outcome)
        time = format_stamp(hook.ended, call.app.find_zone(call.document))
        parts.append(texts.wakeup_last.format(time=time, outcome=outcome))
        if hook.tokens:
            parts.append(texts.wakeup_cost.format(tokens=hook.tokens))
    return " · ".join(parts)


COMMANDS: Final[Commands] = {
    "hooks": Command(
        run_hooks,
        arguments="[drop NAME]",
        changes_agent=always,
        for_owners=True,
        works_for=lambda reader: reader.private,
    ),
}
