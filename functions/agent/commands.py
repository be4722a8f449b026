"""Slash commands: answered at once, never seen by the model, never part of the history."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from functions.agent import status
from functions.agent.app import App
from functions.agent.roles import Role
from functions.agent.session import Document
from functions.agent.toolset import STATIC, in_scope

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_]{0,31})(?:@[A-Za-z0-9_]+)?(?:\s+(.*))?", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True)
class Asked:
    """Who asks, and about what: `session` is the S of the keys."""

    app: App
    session: str
    document: Document
    role: Role


@dataclass(frozen=True, slots=True)
class Effect:
    """What a command did: its reply and the document after it."""

    text: str
    document: Document


def run(text: str, asked: Asked) -> Effect | None:
    """The effect of the command in `text`; None when it is no command."""
    match = _COMMAND.fullmatch(text.strip())
    if match is None:
        return None
    command = COMMANDS.get(match[1].lower())
    if command is None:
        return Effect(f"Unknown command /{match[1].lower()}. /help shows what there is.", asked.document)
    return command[1](asked)


def _help(asked: Asked) -> Effect:
    lines = [f"- /{name}: {meaning}" for name, (meaning, _) in COMMANDS.items()]
    return Effect("\n".join(["Write what you need; I look for a capability, or make one, and use it.", "", *lines]), asked.document)


def _start(asked: Asked) -> Effect:
    text = f"Hello, I am {asked.app.name}. I find, make and use small sandboxed capabilities while we talk. Ask me something, or see /help."
    return Effect(text, asked.document)


def _new(asked: Asked) -> Effect:
    return Effect("New session started.", replace(asked.document, messages=()))


def _control(asked: Asked) -> Effect:
    """Alone it is a control event and does not come here."""
    return Effect("Send it alone, without anything after it.", asked.document)


def _status(asked: Asked) -> Effect:
    return Effect("\n".join(status.lines(asked.session, asked.document, asked.app)), asked.document)


def _tools(asked: Asked) -> Effect:
    offers = in_scope(asked.document.messages)
    names = ", ".join(tool["function"]["name"] for tool in STATIC)
    resident = [f"- `{offer.tool}`: {offer.description}" for offer in offers]
    text = "\n".join([f"Always there: {names}.", "Resident:" if resident else "No capability is resident.", *resident])
    return Effect(text, asked.document)


Command = Callable[[Asked], Effect]
COMMANDS: dict[str, tuple[str, Command]] = {
    "start": ("says hello", _start),
    "help": ("shows this", _help),
    "new": ("starts a new session; the old one is archived", _new),
    "stop": ("ends the turn that is running", _control),
    "tools": ("shows which tools are resident", _tools),
    "status": ("shows how it does: state, failures, budget", _status),
    "halt": ("halts it in every chat, with `here` in this one; for owners", _control),
    "unlock": ("lets it go on after a halt; for owners", _control),
}
