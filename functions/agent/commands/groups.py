"""Groups: how the agent greets one, and /listen, with which owners let it read along."""

from __future__ import annotations

from typing import Final

from functions import overheard
from functions.agent.app import App
from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.language import choose_texts_for
from functions.events import Event
from sigil.storage.kv import keys


def write_greeting(event: Event, app: App) -> str:
    """Return the answer to whoever took the agent into a group: how to address it."""
    texts = choose_texts_for(event)
    mention = texts.group_by_name
    if event.addressed:
        mention = texts.group_mention.format(name=event.addressed[0])
    only = texts.group_only.get(app.rules.access, "")
    return texts.group_greeting.format(name=app.short_name, mention=mention) + only


def run_listen(call: CommandCall) -> CommandResult:
    """Begin or end reading along in a group, or say whether it does."""
    event = call.event
    kv = call.app.kv
    texts = call.texts
    words = call.text.lower()
    if event.private:
        return call.reply(texts.listen_private)
    if not words:
        item = kv.get(keys.listening(call.chat))
        return call.reply(texts.listen_is_off if item is None else texts.listen_is_on)
    if words == "on":
        if not call.app.may_listen:
            return call.reply(texts.listen_impossible)
        overheard.start_listening(kv, call.chat, event.sender.id, event.order)
        hint = texts.listen_hints.get(event.platform.partition("-")[0], "")
        return call.reply(texts.listen_begins.format(most=overheard.SLOTS) + hint)
    if words == "off":
        overheard.stop_listening(kv, call.chat)
        return call.reply(texts.listen_ends)
    return call.reply(texts.listen_how)


COMMANDS: Final[Commands] = {
    "listen": Command(
        run_listen,
        arguments="[on | off]",
        changes_agent=bool,
        works_for=lambda reader: reader.may_listen and not reader.private,
    ),
}
