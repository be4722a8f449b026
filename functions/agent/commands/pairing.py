"""/pair and /whoami: who may talk to the agent, and what it says to those who may not."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from functions.agent.access import pairing_code
from functions.agent.access.members import Person
from functions.agent.access.pairing import SECONDS, Used, Waiting
from functions.agent.app import App
from functions.agent.commands.command import Asked, Command, Commands, Effect
from functions.agent.commands.control import OWNERS_ONLY
from functions.agent.session.document import Outgoing
from functions.events import Event
from sigil.errors import Refused, UsageError

SHOWN = 30
"""Of so many people a chat is told; the machine's own command shows them all."""
MINUTES = round(SECONDS / 60)
ASKED = (
    "Your code is `{code}`; it holds for {minutes} minutes. Give it to my owner, who sends me"
    " `/pair {code}`, or runs `uncaged channel pair {code}` on my machine. Your id here is `{id}`."
)
STRANGER = f"I only talk to people whom my owner has let in. {ASKED}"
WAITS = (
    "You have a code that still holds. Give it to my owner; in {minutes} minutes you can get a new"
    " one."
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
    " me `/pair {code}`. That code holds for {minutes} minutes."
)
OWNERS_TALK = "I only talk to my owner. Your id here is `{id}`."
LET_IN = "My owner has let you in. Write what you need; /help shows what I can do."
NOW_OWNER = "You are my owner now. /help shows what I can do, and /pair who else may talk to me."
WRONG = "That is not the code. {left} of your tries are left."
LAST = (
    "That is not the code, and it was your last try. `uncaged serve` prints a new one when it"
    " starts again."
)
PRIVATELY = "Ask me that in a private chat: it names people."
_PAIR = re.compile(r"/pair(?:@[A-Za-z0-9_]+)?\s+(.+)", re.IGNORECASE | re.ASCII | re.DOTALL)
_REMOVE = re.compile(r"remove(?:\s+(.*))?", re.IGNORECASE | re.ASCII | re.DOTALL)


def met(event: Event, app: App) -> str:
    """What somebody who may not talk is told: empty for silence. In groups, and of scheduled work,
    there is nothing but silence.
    """
    if (
        event.kind != "message" or not event.private or app.rules.named(event)
    ):  # the settings say that this is nobody
        return ""
    words = _PAIR.fullmatch(event.text.strip())
    return (_tried(words[1], event, app) if words else "") or _offered(event, app)


def run(asked: Asked) -> Effect:
    """Let somebody in, take somebody out, or show who is in and who waits."""
    if asked.role != "owner":
        return asked.says(_asked_by_others(asked))
    if not asked.text:
        return asked.says(listing(asked.app) if asked.event.private else PRIVATELY)
    claimed = _claimed(asked)
    if claimed:
        return asked.says(claimed)
    try:
        out = _REMOVE.fullmatch(asked.text)
        return asked.says(_removed(out[1] or "", asked.app)) if out else _accepted(asked)
    except (UsageError, Refused, Used) as problem:
        return asked.says(
            f"{problem.message[:1].upper()}{problem.message[1:]}; {problem.suggestion}."
        )


def whoami(asked: Asked) -> Effect:
    """Who the sender is, since when, and what they may use today."""
    who, role = asked.event.sender.id, asked.role
    person = asked.app.people.find(who) if role == "member" else None
    since = f", let in on {_day(person.at)} by `{_plain(person.by)}`" if person else ""
    left = asked.app.allowances.told(who, role)
    return asked.says(
        "\n".join(
            filter(
                None,
                (
                    f"You are `{who}`: {role}{since}.",
                    f"This chat is `{asked.event.session}`.",
                    left,
                ),
            )
        )
    )


def note(waiting: Waiting, event: str, now: float) -> Outgoing:
    """What somebody who was let in is told, in their own chat. It has an id of its own, beside the
    answer to the event.
    """
    return Outgoing(f"pair:{event}", waiting.session, LET_IN, at=now)


def listing(app: App, most: int = SHOWN) -> str:
    """Who waits and who is in, for owners. Codes are not shown: whoever gives one to an owner shows
    with it that they are who they say.
    """
    now, waiting, people = app.clock.now(), app.pairing.waiting(), app.people.all()
    owners = ", ".join(f"`{_plain(owner)}`" for owner in sorted(app.rules.owners))
    lines = [
        *_some(
            "Waiting:",
            (
                f"- {_who(one.id, one.name)}, {one.left(now) / 60:.0f} minutes left"
                for one in waiting
            ),
            most,
        ),
        *_some("Let in:", (f"- {_who(one.id, one.name)}, {_since(one)}" for one in people), most),
        *([f"Owners by the settings: {owners}"] if owners else []),
    ]
    return "\n".join(
        [
            *(lines or ["Nobody waits, and nobody was let in."]),
            "`/pair CODE` lets somebody in, `/pair remove ID` takes them out.",
        ]
    )


def _asked_by_others(asked: Asked) -> str:
    """/pair by a member, or by a guest where guests may talk."""
    event, app = asked.event, asked.app
    if not event.private:
        return OWNERS_ONLY
    if asked.text or asked.role == "member":
        return _claimed(asked) or OWNERS_ONLY
    return _offered(event, app) or WAITS.format(minutes=MINUTES)


def _tried(text: str, event: Event, app: App) -> str:
    """What trying the first owner's code comes to; empty when it is none."""
    tried = app.claim.tried(text, event)
    if tried is None:
        return ""
    return NOW_OWNER if tried.right else WRONG.format(left=tried.left) if tried.left else LAST


def _claimed(asked: Asked) -> str:
    """The same for whoever may talk, but for those whom the settings name. It made an owner of them
    when the event came before a crash.
    """
    event, app = asked.event, asked.app
    return _tried(asked.text, event, app) if not app.rules.named(event) else ""


def _offered(event: Event, app: App) -> str:
    """The answer to a stranger: once for each code, however much they write."""
    lets_in = app.rules.access != "owners"
    made = app.pairing.offer(event, lets_in=lets_in)
    if made is None:
        return ""
    if app.people.owned():
        text = {"open": ASKED, "members": STRANGER, "owners": OWNERS_TALK}[app.rules.access]
    else:
        parts = [
            NO_OWNER[app.rules.access],
            AT_THE_MACHINE,
            *([LET_YOURSELF_IN] if lets_in else []),
        ]
        text = " ".join(parts)
    return text.format(code=pairing_code.shown(made), minutes=MINUTES, id=event.sender.id)


def _accepted(asked: Asked) -> Effect:
    event, now = asked.event, asked.app.clock.now()
    found = asked.app.pairing.accept(asked.text, event.sender.id, event.id)
    told = note(found, event.id, now)
    return Effect(
        f"{_who(found.id, found.name)} may talk to me now.",
        replace(asked.document, outbox=(*asked.document.outbox, told)),
    )


def _removed(who: str, app: App) -> str:
    person = app.people.remove(who)
    return f"{_who(person.id, person.name)} is a guest again."


def _some(title: str, lines: Iterable[str], most: int) -> list[str]:
    every = list(lines)
    more = (
        [f"- and {len(every) - most:,} more: `uncaged channel pair --list`"]
        if len(every) > most
        else []
    )
    return [title, *every[:most], *more] if every else []


def _since(person: Person) -> str:
    return f"{person.role} since {_day(person.at)}, by `{_plain(person.by)}`"


def _who(id: str, name: str) -> str:
    return f"`{_plain(id)}`" + (f" (`{_plain(name)}`)" if name else "")


def _plain(text: str) -> str:
    """Somebody else's words, so that they end no code span."""
    return text.replace("`", "'")


def _day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))


COMMANDS: Final[Commands] = {
    "whoami": Command("shows who you are to me, and what you may use today", whoami),
    "pair": Command(
        "shows who may talk to me; lets somebody in, or takes them out; for owners",
        run,
        takes="[CODE | remove ID]",
    ),
}
