"""The table of slash commands. They are answered at once and are never part of the history.

What they change enters through documents, on the very next turn.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from functions import overheard
from functions.agent.app import App
from functions.agent.commands import groups, memory, pairing, soul, status
from functions.agent.commands.command import (
    Command,
    CommandCall,
    CommandResult,
    Commands,
    always,
)
from functions.agent.commands.control import OWNERS_ONLY
from functions.agent.safety.breakers import make_breakers
from functions.agent.safety.status import REASONS, NoticeReader, write_notice
from functions.agent.sanitize import clean_text
from functions.agent.toolset import STATIC, in_scope
from functions.events import Event
from sigil.errors import one_line
from sigil.storage.kv import keys

_COMMAND = re.compile(
    r"([/\uff0f])([^\W\d_]\w*)(?:@[A-Za-z0-9_]+)?(?:\s+(.*)|([^\w\s/.-].*|[.-]+(?:\s.*)?))?",
    re.DOTALL,
)
"""Four groups: its slash, perhaps a full-width one; its name; the words; or what follows without a
space. A path is no command.
"""
NAME_CHARACTERS: Final = 40
"""An unknown command's name is repeated up to so many characters."""
NOT_HERE = "In a group only my owner can do that."


def run_command(call: CommandCall) -> CommandResult | None:
    """Run the command in the event's text, and return None when it is no command.

    Nothing that begins like a command reaches the model.
    """
    match = _COMMAND.fullmatch(clean_text(call.event.text).strip())
    if match is None:
        return None
    name = match[2].lower()
    words = (match[3] or "").strip()
    attached = match[4]
    intended = _find_command_name(name)
    if attached and not intended:
        return None
    if intended and (attached or name != intended or match[1] != "/"):
        return call.reply(f"Write it as `/{intended}`, with a space before what follows.")
    command = COMMANDS.get(name)
    if command is None:
        name = one_line(name, NAME_CHARACTERS)
        close = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
        hint = f" Did you mean /{close[0]}?" if close else ""
        return call.reply(f"Unknown command /{name}.{hint} /help shows all commands.")
    if words and not command.arguments:
        return call.reply(f"/{name} takes no argument. Send `/{name}` alone.")
    refusal = _find_refusal(command, call, words)
    if refusal is not None:
        return call.reply(refusal)
    return command.run(replace(call, text=words))


def answer_inquiry(event: Event, app: App) -> str:
    """Answer a command that only reads (`/status`, `/help`, …) beside the chat's queue.

    It tells what holds at this moment, so it does not wait. The session's document is only read,
    even while a worker has the session. The answer is empty for silence.
    """
    role = app.people.find_role(event)
    if not app.rules.may_talk(role):
        return pairing.answer_stranger(event, app)
    opened = app.sessions.open(keys.session_of(app.name, event.session))
    result = run_command(CommandCall(app, opened, role, event))
    return app.redact(result.text) if result else ""


def _find_refusal(command: Command, call: CommandCall, words: str) -> str | None:
    """Return why this sender may not run the command now, perhaps empty; None when they may."""
    if call.role != "owner":
        if command.changes_agent and command.changes_agent(words):
            return OWNERS_ONLY
        if not call.event.private and command.changes_chat and command.changes_chat(words):
            return NOT_HERE
    if not command.asks_model or (command.needs_no_model and command.needs_no_model(words)):
        return None
    return call.app.allowances.begin_turn(call.event, call.role)


def _find_command_name(name: str) -> str:
    """Return the command that a name is, or that it begins with where other letters follow.

    They do in a script that writes no spaces. Empty when there is none.
    """
    if name in COMMANDS:
        return name
    for known in COMMANDS:
        if name.startswith(known) and name[len(known)] > "\x7f":
            return known
    return ""


def run_help(call: CommandCall) -> CommandResult:
    """Show every command with its line of help."""
    lines = ["Write what you need; I look for a capability, or make one, and use it.", ""]
    for name, command in COMMANDS.items():
        arguments = f" {command.arguments}" if command.arguments else ""
        lines.append(f"- /{name}{arguments}: {command.meaning}")
    return call.reply("\n".join(lines))


def run_start(call: CommandCall) -> CommandResult:
    """Say hello."""
    return call.reply(
        f"Hello, I am {call.app.name}. I find, make and use small sandboxed capabilities while we"
        " talk. Ask me something, or see /help."
    )


def run_new(call: CommandCall) -> CommandResult:
    """Empty the history. What locked the chat stays, and is said again."""
    app = call.app
    app.kv.delete(keys.native_calls(call.session))
    breakers = make_breakers(call.session, app.kv, app.name, app.limits, app.clock)
    safety = breakers.reopen(call.document.safety, person=False)
    reason = status.find_reason(breakers, safety)
    locked = ""
    if reason and REASONS[reason].unlocks:
        reader = NoticeReader(owner=call.role == "owner", alone=call.event.private)
        locked = f" It stays locked. {write_notice(replace(safety, reason=reason), reader)}"
    if not call.event.private:
        # what people said to each other before is not part of the new session either
        overheard.pass_over(app.kv, call.session, call.event.order)
    return CommandResult(f"New session started.{locked}", replace(call.document, messages=()))


def run_control(call: CommandCall) -> CommandResult:
    """Answer a control command that is not written as it should be.

    As it should be written it is a control event, and does not come here.
    """
    return call.reply("Send it alone, or with `here` for this chat.")


def run_status(call: CommandCall) -> CommandResult:
    """Show the state, the last failures and the budget."""
    in_full = call.role != "guest"
    return call.reply(
        "\n".join(status.format_status(call.session, call.document, call.app, in_full=in_full))
    )


def run_usage(call: CommandCall) -> CommandResult:
    """Show the tokens that were used."""
    in_full = call.role != "guest"
    return call.reply(
        "\n".join(status.format_usage(call.session, call.document, call.app, in_full=in_full))
    )


def run_tools(call: CommandCall) -> CommandResult:
    """Show the tools that are always there, and the resident capabilities."""
    names = ", ".join(tool["function"]["name"] for tool in STATIC)
    resident = [
        f"- `{offer.tool}`: {offer.description}" for offer in in_scope(call.document.messages)
    ]
    title = "Resident:" if resident else "No capability is resident."
    return call.reply("\n".join([f"Always there: {names}.", title, *resident]))


COMMANDS: Final[Commands] = {
    "start": Command("says hello", run_start, arguments="[word]"),
    "help": Command("shows what you can send", run_help),
    "new": Command("starts a new session; the old one is archived", run_new, changes_chat=always),
    "tools": Command("shows which tools are resident", run_tools),
    "status": Command("shows how I am doing: state, failures, budget", run_status),
    "usage": Command("shows the tokens that were used here", run_usage),
    **pairing.COMMANDS,
    **soul.COMMANDS,
    **memory.COMMANDS,
    **groups.COMMANDS,
    "stop": Command("ends the turn that is running", run_control),
    "halt": Command(
        "halts me in every chat, or only here; for owners", run_control, arguments="[here]"
    ),
    "unlock": Command("lets me go on after a halt; for owners", run_control, arguments="[here]"),
}
