"""Slash commands: answered at once, never seen by the model, never part of the history."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from functions.agent.app import App
from functions.agent.session import Document
from functions.agent.toolset import STATIC, in_scope

_COMMAND = re.compile(r"/([A-Za-z][A-Za-z0-9_]{0,31})(?:@[A-Za-z0-9_]+)?(?:\s+(.*))?", re.DOTALL | re.ASCII)


@dataclass(frozen=True, slots=True)
class Effect:
    """What a command did: its reply and the document after it."""

    text: str
    document: Document


def run(text: str, document: Document, app: App) -> Effect | None:
    """The effect of the command in `text`; None when it is no command."""
    match = _COMMAND.fullmatch(text.strip())
    if match is None:
        return None
    command = COMMANDS.get(match[1].lower())
    if command is None:
        return Effect(f"Unknown command /{match[1].lower()}. /help shows what there is.", document)
    return command[1](document, app)


def _help(document: Document, app: App) -> Effect:
    lines = [f"- /{name}: {meaning}" for name, (meaning, _) in COMMANDS.items()]
    return Effect("\n".join(["Write what you need; I look for a capability, or make one, and use it.", "", *lines]), document)


def _start(document: Document, app: App) -> Effect:
    text = f"Hello, I am {app.name}. I find, make and use small sandboxed capabilities while we talk. Ask me something, or see /help."
    return Effect(text, document)


def _new(document: Document, app: App) -> Effect:
    return Effect("New session started.", replace(document, messages=()))


def _stop(document: Document, app: App) -> Effect:
    return Effect("Nothing is running.", document)


def _tools(document: Document, app: App) -> Effect:
    offers = in_scope(document.messages)
    names = ", ".join(tool["function"]["name"] for tool in STATIC)
    resident = [f"- `{offer.tool}`: {offer.description}" for offer in offers]
    return Effect("\n".join([f"Always there: {names}.", "Resident:" if resident else "No capability is resident.", *resident]), document)


Command = Callable[[Document, App], Effect]
COMMANDS: dict[str, tuple[str, Command]] = {
    "start": ("says hello", _start),
    "help": ("shows this", _help),
    "new": ("starts a new session; the old one is archived", _new),
    "stop": ("ends the turn that is running", _stop),
    "tools": ("shows which tools are resident", _tools),
}
