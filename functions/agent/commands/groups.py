"""Groups: how the agent greets one, and /listen, with which owners let it read along."""

from __future__ import annotations

from typing import Final

from functions import overheard
from functions.agent.app import App
from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.events import Event
from sigil.storage.kv import keys

GREETING: Final = (
    "Hello, I am {name}. Here I answer whoever addresses me: {mention}reply to one of my messages,"
    " or send a command such as /help. What you say to each other I do not read."
)
MENTION: Final = "write @{name} in your message, "
BY_NAME: Final = "write my name with @ in your message, "
ONLY_MEMBERS: Final = (
    " I only talk to people whom my owner has let in: write to me in a private chat first."
)
ONLY_OWNERS: Final = " I only talk to my owner."
NOW_ON: Final = (
    "From now on I read along in this group. Whoever addresses me lets me see what was said since"
    " my last reply: up to {most} messages, of which I keep none for longer than a day. An owner"
    " ends it with `/listen off`."
)
TELEGRAM_HINT: Final = (
    " Telegram shows me messages to others only when my privacy mode is off (@BotFather,"
    " `/setprivacy`), or when I am an administrator here."
)
NOW_OFF: Final = (
    "I no longer read along in this group, and have deleted what I kept. I answer when I am"
    " addressed."
)
IS_ON: Final = "I read along in this group; an owner ends it with `/listen off`."
IS_OFF: Final = (
    "I do not read along in this group; an owner begins it with `/listen on`. I answer when I am"
    " addressed."
)
PRIVATE: Final = "Here I read everything that you write. `/listen` is for groups."
NOT_POSSIBLE: Final = (
    "I cannot read along where I run: my webhook keeps only messages to me (`UNCAGED_QUEUE`)."
)
USAGE: Final = "Send `/listen on` or `/listen off`."


def write_greeting(event: Event, app: App) -> str:
    """Return the answer to whoever took the agent into a group: how to address it."""
    mention = MENTION.format(name=event.addressed[0]) if event.addressed else BY_NAME
    more = {"open": "", "members": ONLY_MEMBERS, "owners": ONLY_OWNERS}[app.rules.access]
    return GREETING.format(name=app.name, mention=mention) + more


def run_listen(call: CommandCall) -> CommandResult:
    """Begin or end reading along in a group, or say whether it does."""
    event = call.event
    kv = call.app.kv
    words = call.text.lower()
    if event.private:
        return call.reply(PRIVATE)
    if not words:
        item = kv.get(keys.listening(call.session))
        return call.reply(IS_OFF if item is None else IS_ON)
    if words == "on":
        if not call.app.may_listen:
            return call.reply(NOT_POSSIBLE)
        overheard.start_listening(kv, call.session, event.sender.id, event.order)
        hint = TELEGRAM_HINT if event.platform == "telegram" else ""
        return call.reply(NOW_ON.format(most=overheard.SLOTS) + hint)
    if words == "off":
        overheard.stop_listening(kv, call.session)
        return call.reply(NOW_OFF)
    return call.reply(USAGE)


COMMANDS: Final[Commands] = {
    "listen": Command(
        run_listen,
        arguments="[on | off]",
        changes_agent=bool,
    ),
}
