"""/pair and /whoami: who may talk to the agent, and its answers to those who may not."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from functions.agent.access import pairing_code
from functions.agent.access.pairing import SECONDS, CodeUsed, Waiting
from functions.agent.app import App
from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.commands.control import OWNERS_ONLY
from functions.agent.session.document import Outgoing
from functions.events import Event
from sigil.errors import Refused, UsageError

SHOWN = 30
"""A chat is shown so many people; the machine's own command shows them all."""
MINUTES = round(SECONDS / 60)
YOUR_CODE = (
    "Your code is `{code}`; it is valid for {minutes} minutes. Give it to my owner, who sends me"
    " `/pair {code}`, or runs `uncaged channel pair {code}` on my machine. Your id here is `{id}`."
)
STRANGER = f"I only talk to people whom my owner has let in. {YOUR_CODE}"
STILL_VALID = (
    "Your code is still valid. Give it to my owner; in {minutes} minutes you can get a new one."
)
NO_OWNER = {
    "open": "I have no owner yet.",
    "members": "I only talk to people whom my owner has let in, and I have no owner yet.",
    "owners": "I only talk to my owner, and I have no owner yet.",
}
AT_THE_MACHINE = (
    "If you run me: start `uncaged serve` in a terminal on my machine and send me `/pair` with the"
    " code that it prints there, or set `UNCAGED_OWNERS={id}` for me and start me again."
)
LET_YOURSELF_IN = (
    "To talk to me without owning me, run `uncaged channel pair {code}` there; an owner would send"
    " me `/pair {code}`. That code is valid for {minutes} minutes."
)
OWNERS_TALK = "I only talk to my owner. Your id here is `{id}`."
LET_IN = "My owner has let you in. Write what you need; /help shows what I can do."
NOW_OWNER = "You are my owner now. /help shows what I can do, and /pair who else may talk to me."
WRONG = "That is not the code. You have {tries} left."
LAST = (
    "That is not the code, and it was your last try. `uncaged serve` prints a new one when it"
    " starts again."
)
PRIVATELY = "Ask me that in a private chat: it names people."
_PAIR = re.compile(r"/pair(?:@[A-Za-z0-9_]+)?\s+(.+)", re.IGNORECASE | re.ASCII | re.DOTALL)
_REMOVE = re.compile(r"remove(?:\s+(.*))?", re.IGNORECASE | re.ASCII | re.DOTALL)


def answer_stranger(event: Event, app: App) -> str:
    """Return the answer to somebody who may not talk; empty for silence.

    In groups, and to scheduled work, there is only silence, and so to ids that the settings know
    to be nobody's.
    """
    if event.kind != "message" or not event.private or app.rules.find_named_role(event):
        return ""
    words = _PAIR.fullmatch(event.text.strip())
    reply = _try_owner_code(words[1], event, app) if words else ""
    return reply or _offer_code(event, app)


def run_pair(call: CommandCall) -> CommandResult:
    """Let somebody in, take somebody out, or show who is in and who waits."""
    event, app = call.event, call.app
    if call.role != "owner":
        if not event.private:
            return call.reply(OWNERS_ONLY)
        if call.text or call.role == "member":
            return call.reply(_claim_ownership(call) or OWNERS_ONLY)
        # a guest, where guests may talk
        return call.reply(_offer_code(event, app) or STILL_VALID.format(minutes=MINUTES))
    if not call.text:
        return call.reply(list_people(app) if event.private else PRIVATELY)
    reply = _claim_ownership(call)
    if reply:
        return call.reply(reply)
    try:
        removal = _REMOVE.fullmatch(call.text)
        if removal:
            person = app.people.remove_member(removal[1] or "")
            return call.reply(f"{_format_person(person.id, person.name)} is a guest again.")
        accepted = app.pairing.accept_code(call.text, event.sender.id, event.id)
    except (UsageError, Refused, CodeUsed) as problem:
        message = problem.message[:1].upper() + problem.message[1:]
        return call.reply(f"{message}; {problem.suggestion}.")
    welcome = write_welcome(accepted, event.id, app.clock.now())
    return CommandResult(
        f"{_format_person(accepted.id, accepted.name)} may talk to me now.",
        replace(call.document, outbox=(*call.document.outbox, welcome)),
    )


def run_whoami(call: CommandCall) -> CommandResult:
    """Tell the sender who they are, since when, and what they may use today."""
    who = call.event.sender.id
    person = call.app.people.find_member(who) if call.role == "member" else None
    since = f", let in on {_format_day(person.at)} by `{_quote(person.by)}`" if person else ""
    lines = [
        f"You are `{who}`: {call.role}{since}.",
        f"This chat is `{call.event.session}`.",
        call.app.allowances.describe_usage(who, call.role),
    ]
    return call.reply("\n".join(filter(None, lines)))


def write_welcome(waiting: Waiting, event: str, now: float) -> Outgoing:
    """Return the message to somebody who was let in, for their own chat.

    It has an id of its own, beside the answer to the event.
    """
    return Outgoing(f"pair:{event}", waiting.session, LET_IN, at=now)


def list_people(app: App, most: int = SHOWN) -> str:
    """Return who waits and who is in, for owners.

    Codes are not shown: the person who gives one to an owner proves with it who they are.
    """
    now = app.clock.now()
    waiting = [
        f"- {_format_person(one.id, one.name)}, {one.seconds_left(now) / 60:.0f} minutes left"
        for one in app.pairing.list_waiting()
    ]
    people = []
    for person in app.people.list_members():
        who = _format_person(person.id, person.name)
        since = _format_day(person.at)
        people.append(f"- {who}, {person.role} since {since}, by `{_quote(person.by)}`")
    owners = ", ".join(f"`{_quote(owner)}`" for owner in sorted(app.rules.owners))
    lines = [
        *_list_section("Waiting:", waiting, most),
        *_list_section("Let in:", people, most),
    ]
    if owners:
        lines.append(f"Owners by the settings: {owners}")
    if not lines:
        lines.append("Nobody waits, and nobody was let in.")
    lines.append("`/pair CODE` lets somebody in, `/pair remove ID` takes them out.")
    return "\n".join(lines)


def _claim_ownership(call: CommandCall) -> str:
    """Try the first owner's code for somebody who may talk; empty when it is none.

    An owner may send it, too: the event made them one before a crash, and comes again.
    """
    if call.app.rules.find_named_role(call.event):
        return ""
    return _try_owner_code(call.text, call.event, call.app)


def _try_owner_code(text: str, event: Event, app: App) -> str:
    """Return the reply to a try of the first owner's code; empty when it is none."""
    outcome = app.claim.try_code(text, event)
    if outcome is None:
        return ""
    if outcome.right:
        return NOW_OWNER
    if not outcome.left:
        return LAST
    return WRONG.format(tries="1 try" if outcome.left == 1 else f"{outcome.left} tries")


def _offer_code(event: Event, app: App) -> str:
    """Return the answer to a stranger, once for each code, however much they write."""
    lets_in = app.rules.access != "owners"
    code = app.pairing.offer_code(event, lets_in=lets_in)
    if code is None:
        return ""
    if app.people.has_owner():
        text = {"open": YOUR_CODE, "members": STRANGER, "owners": OWNERS_TALK}[app.rules.access]
    else:
        text = f"{NO_OWNER[app.rules.access]} {AT_THE_MACHINE}"
        if lets_in:
            text = f"{text} {LET_YOURSELF_IN}"
    return text.format(code=pairing_code.format_code(code), minutes=MINUTES, id=event.sender.id)


def _list_section(title: str, lines: Sequence[str], most: int) -> list[str]:
    if not lines:
        return []
    more = len(lines) - most
    section = [title, *lines[:most]]
    if more > 0:
        section.append(f"- and {more:,} more: `uncaged channel pair --list`")
    return section


def _format_person(id: str, name: str) -> str:
    return f"`{_quote(id)}` (`{_quote(name)}`)" if name else f"`{_quote(id)}`"


def _quote(text: str) -> str:
    """Return somebody else's words so that they end no code span."""
    return text.replace("`", "'")


def _format_day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))


COMMANDS: Final[Commands] = {
    "whoami": Command("shows who you are to me, and what you may use today", run_whoami),
    "pair": Command(
        "shows who may talk to me; lets somebody in, or takes them out; for owners",
        run_pair,
        arguments="[CODE | remove ID]",
    ),
}
