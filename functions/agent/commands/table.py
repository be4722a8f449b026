"""Slash commands: answered at once, never part of the history. What they change enters through
documents, on the very next turn.
"""

from __future__ import annotations

import re
from dataclasses import replace
from difflib import get_close_matches
from typing import Final

from functions.agent.commands import mem, pairing, remembered, soul, status
from functions.agent.commands.command import ALWAYS, Asked, Command, Commands, Effect
from functions.agent.commands.control import OWNERS_ONLY
from functions.agent.safety.breakers import make_breakers
from functions.agent.safety.status import REASONS, NoticeReader, write_notice
from functions.agent.sanitize import clean
from functions.agent.toolset import STATIC, in_scope
from sigil.errors import one_line
from sigil.storage.kv import keys

_COMMAND = re.compile(
    r"([/\uff0f])([^\W\d_]\w*)(?:@[A-Za-z0-9_]+)?(?:\s+(.*)|([^\w\s/.-].*|[.-]+(?:\s.*)?))?",
    re.DOTALL,
)
"""Its slash, perhaps a wide one; its name; the words, or what follows without a space. A path is
none.
"""
NAME_CHARACTERS: Final = 40
"""Of what is no command, so many are said again."""
NOT_HERE = "In a group only my owner can do that."


def run(asked: Asked) -> Effect | None:
    """The effect of the command in the event's text; None when it is no command. Nothing that
    begins like one reaches the model.
    """
    match = _COMMAND.fullmatch(clean(asked.event.text).strip())
    if match is None:
        return None
    name, words = match[2].lower(), (match[3] or "").strip()
    meant = _meant(name)
    if match[4] and not meant:
        return None
    if meant and (match[4] or name != meant or match[1] != "/"):
        return asked.says(f"Write it as `/{meant}`, with a space before what follows.")
    command = COMMANDS.get(name)
    if command is None:
        return asked.says(_unknown(name))
    if words and not command.takes:
        return asked.says(f"/{name} takes no argument. Send `/{name}` alone.")
    if asked.role != "owner":
        if command.owners and command.owners(words):
            return asked.says(OWNERS_ONLY)
        if not asked.event.private and command.changes and command.changes(words):
            return asked.says(NOT_HERE)
    asks = command.asks and not (command.unasked and command.unasked(words))
    refusal = asked.app.allowances.begins(asked.event, asked.role) if asks else None
    return command.run(replace(asked, text=words)) if refusal is None else asked.says(refusal)


def _meant(name: str) -> str:
    """The command that a name is, or begins with where other letters follow, as they do in a script
    that writes no spaces.
    """
    return (
        name
        if name in COMMANDS
        else next(
            (known for known in COMMANDS if name.startswith(known) and name[len(known)] > "\x7f"),
            "",
        )
    )


def _unknown(name: str) -> str:
    name = one_line(name, NAME_CHARACTERS)
    near = get_close_matches(name, COMMANDS, n=1, cutoff=0.5)
    meant = f" Did you mean /{near[0]}?" if near else ""
    return f"Unknown command /{name}.{meant} /help shows what there is."


def _help(asked: Asked) -> Effect:
    lines = [
        f"- /{name}{f' {command.takes}' if command.takes else ''}: {command.meaning}"
        for name, command in COMMANDS.items()
    ]
    return asked.says(
        "\n".join(
            ["Write what you need; I look for a capability, or make one, and use it.", "", *lines]
        )
    )


def _start(asked: Asked) -> Effect:
    who = asked.app.name
    return asked.says(
        f"Hello, I am {who}. I find, make and use small sandboxed capabilities while we talk. Ask"
        " me something, or see /help."
    )


def _new(asked: Asked) -> Effect:
    """An empty history; what locked the chat stays, and is said again."""
    app, event = asked.app, asked.event
    app.kv.delete(keys.native_calls(asked.session))
    breakers = make_breakers(asked.session, app.kv, app.name, app.limits, app.clock)
    standing = breakers.reopen(asked.document.safety, person=False)
    reason = standing.reason or (
        "halted" if breakers.is_halted() else breakers.find_spent_budget(standing)
    )
    locked = ""
    if reason and REASONS[reason].unlocks:
        reader = NoticeReader(owner=asked.role == "owner", alone=event.private)
        locked = f" It stays locked. {write_notice(replace(standing, reason=reason), reader)}"
    return Effect(f"New session started.{locked}", replace(asked.document, messages=()))


def _control(asked: Asked) -> Effect:
    """As it should be written it is a control event, and does not come here."""
    return asked.says("Send it alone, or with `here` for this chat.")


def _status(asked: Asked) -> Effect:
    return asked.says(
        "\n".join(
            status.lines(asked.session, asked.document, asked.app, all_told=asked.role != "guest")
        )
    )


def _usage(asked: Asked) -> Effect:
    return asked.says(
        "\n".join(
            status.spending(
                asked.session, asked.document, asked.app, all_told=asked.role != "guest"
            )
        )
    )


def _tools(asked: Asked) -> Effect:
    offers = in_scope(asked.document.messages)
    names = ", ".join(tool["function"]["name"] for tool in STATIC)
    resident = [f"- `{offer.tool}`: {offer.description}" for offer in offers]
    text = "\n".join(
        [
            f"Always there: {names}.",
            "Resident:" if resident else "No capability is resident.",
            *resident,
        ]
    )
    return asked.says(text)


_BASIC: Final[Commands] = {
    "start": Command("says hello", _start, takes="[word]"),
    "help": Command("shows what you can send", _help),
    "new": Command("starts a new session; the old one is archived", _new, changes=ALWAYS),
    "tools": Command("shows which tools are resident", _tools),
    "status": Command("shows how I am doing: state, failures, budget", _status),
    "usage": Command("shows the tokens that were used here", _usage),
}
_LAST: Final[Commands] = {
    "stop": Command("ends the turn that is running", _control),
    "halt": Command("halts me in every chat, or only here; for owners", _control, takes="[here]"),
    "unlock": Command("lets me go on after a halt; for owners", _control, takes="[here]"),
}
COMMANDS: Final[Commands] = {
    **_BASIC,
    **pairing.COMMANDS,
    **soul.COMMANDS,
    **mem.COMMANDS,
    **remembered.COMMANDS,
    **_LAST,
}
