"""/pair and /whoami: who may talk to the agent, and its answers to those who may not."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from functions.agent.access import pairing_code
from functions.agent.access.members import format_person, quote
from functions.agent.access.pairing import SECONDS, CodeUsed
from functions.agent.access.pairing_code import EDGES
from functions.agent.access.roles import PERSON
from functions.agent.app import App
from functions.agent.commands import links
from functions.agent.commands.command import Command, CommandCall, CommandResult, Commands
from functions.agent.language import choose_texts_for, load_texts_for
from functions.agent.safety.failure_codes import describe_refusal
from functions.agent.session.document import Outgoing
from functions.events import Event
from functions.texts.en import TEXTS as ENGLISH
from functions.texts.en import Texts
from sigil.errors import Refused, SigilError, UsageError

if TYPE_CHECKING:
    from functions.agent.management.people import PeopleChange

PAIR: Final = "pair"
LINK: Final = "link"
SHOWN = 30
"""A chat is shown so many people; the machine's own command shows them all."""
MINUTES = round(SECONDS / 60)
_SHOWN_CODE: Final = "[0-9A-Z]{4}(?:-[0-9A-Z]{4}){1,2}"
_CODE: Final = re.compile(_SHOWN_CODE, re.IGNORECASE | re.ASCII)
SENT_CODE = re.compile(
    rf"[{EDGES}]*(?:(?:[/!]|/?uncaged\s+)(pair|link)(?:@[A-Za-z0-9_]+)?\s+(.+)"
    rf"|({_SHOWN_CODE})[{EDGES}]*)",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
"""Three groups: the command and what follows it, as any platform types it, for codes are carried to
another one, and people copy it with the quotes around it; or a code alone, as it was shown.
"""
_WHOAMI = re.compile(r"[/!](?:uncaged\s+)?whoami(?:@[A-Za-z0-9_]+)?", re.IGNORECASE | re.ASCII)
_ME = re.compile(r"(.+?)\s+me", re.IGNORECASE | re.ASCII | re.DOTALL)
_CONFIRM = re.compile(r"confirm(?:\s+(.*))?", re.IGNORECASE | re.ASCII | re.DOTALL)
_DECIDE = re.compile(
    rf"(accept|refuse)\s+({PERSON.pattern})\s+as\s+({PERSON.pattern})", re.IGNORECASE | re.ASCII
)
_MEMBER = re.compile(rf"({PERSON.pattern})\s+member", re.IGNORECASE | re.ASCII)
_REMOVE = re.compile(r"remove(?:\s+(.*))?", re.IGNORECASE | re.ASCII | re.DOTALL)


def answer_stranger(event: Event, app: App) -> str:
    """Return the answer to somebody who may not talk; empty for silence.

    In groups, and to scheduled work, there is only silence, and so to ids that the settings know
    to be nobody's.
    """
    if event.kind != "message" or not event.private or app.rules.find_named_role(event):
        return ""
    texts = choose_texts_for(event)
    sent = SENT_CODE.fullmatch(event.text.strip())
    is_pairing = sent is not None and (sent[1] or PAIR).lower() == PAIR
    code = (sent[2] or sent[3]) if sent and is_pairing else ""
    reply = _try_owner_code(code, event, app, texts) if code else ""
    reply = reply or _offer_code(event, app, texts)
    if not _WHOAMI.fullmatch(event.text.strip()):
        return reply
    who = texts.you_are_unpaired.format(who=event.sender.id, platform=event.platform)
    known = texts.owners_talk if app.rules.access == "owners" else texts.code_still_valid
    return f"{who} {reply or known.format(minutes=MINUTES, id=event.sender.id)}"


def answer_code(call: CommandCall, sent: re.Match[str]) -> CommandResult | None:
    """Answer a message that is a code of pairing alone, or `/pair` or `/link` as somebody has
    copied it; None for the first two in a group, for a code that is none of the open ones, and for
    other words behind our name.
    """
    event = call.event
    code = (sent[2] or sent[3]).rstrip(EDGES)
    if sent[2] and not sent[0].lstrip(EDGES).startswith(("/", "!")) and not _CODE.fullmatch(code):
        return None  # somebody speaks to us by our name
    call = replace(call, text=code)
    if sent[1] and sent[1].lower() == LINK:
        return replace(links.run_link(call), name=LINK)
    if not event.private or event.quotes or event.attachments:
        return None
    if sent[3]:
        claimed = _claim_ownership(call)
        if claimed:
            return call.reply(claimed)
        if call.role != "owner" or not call.app.pairing.is_open(code):
            return None
    return replace(run_pair(call), name=PAIR)


def run_pair(call: CommandCall) -> CommandResult:
    """Let somebody in, take somebody out, or show who is in and who waits."""
    event, app = call.event, call.app
    texts = call.texts
    if call.role != "owner":
        if not event.private:
            return call.reply(texts.owners_only)
        own = _ME.fullmatch(call.text)
        if own and call.role == "member":
            return _ask_to_link(call, own[1])
        if call.text or call.role == "member":
            return call.reply(_claim_ownership(call) or texts.owners_only)
        # a guest, where guests may talk
        offered = _offer_code(event, app, texts)
        return call.reply(offered or texts.code_still_valid.format(minutes=MINUTES))
    if not call.text:
        return call.reply(
            list_people(app, texts, asker=event.sender.id) if event.private else texts.ask_privately
        )
    reply = _claim_ownership(call)
    if reply:
        return call.reply(reply)
    from functions.agent.management import people

    who = event.sender.id
    try:
        removal = _REMOVE.fullmatch(call.text)
        if removal:
            change = people.remove(app, removal[1] or "", who)
            return _answer_change(call, change, texts.guest_again)
        by_id = _MEMBER.fullmatch(call.text)
        if by_id:
            change = people.let_in_by_id(app, by_id[1], who)
            return _answer_change(call, change, texts.may_talk_now)
        own = _ME.fullmatch(call.text)
        if own:
            return _ask_to_link(call, own[1])
        confirmation = _CONFIRM.fullmatch(call.text)
        if confirmation:
            return _confirm_link(call, confirmation[1] or "")
        decision = _DECIDE.fullmatch(call.text)
        if decision:
            return _decide_link(call, decision[1].lower(), decision[2], decision[3])
        change = people.let_in(app, call.text, who, event.id)
    except (UsageError, Refused, CodeUsed) as problem:
        return call.reply(_explain_refusal(problem, texts))
    return _answer_change(call, change, texts.may_talk_now)


def _ask_to_link(call: CommandCall, code: str) -> CommandResult:
    """Ask that the id that got the code is linked to the sender: owners, or an owner once more."""
    app = call.app
    texts = call.texts
    event = call.event
    if not event.private:
        return call.reply(texts.ask_privately)
    from functions.agent.management.people import open_link_requests

    requests = open_link_requests(app)
    try:
        asked = requests.ask(
            code, event.sender.id, event.id, session=event.session, language=texts.code
        )
    except (UsageError, Refused, CodeUsed) as problem:
        return call.reply(_explain_refusal(problem, texts))
    request = asked.request
    person = format_person(request.id, request.name)
    if asked.code:
        return call.reply(
            texts.link_confirm.format(
                person=person, code=asked.code, minutes=round(request.seconds / 60)
            )
        )
    hours = round(request.seconds / 3600)
    code = choose_texts_for(replace(event, text="")).code
    now = app.clock.now()
    outbox = []
    for number, chat in enumerate(app.people.list_owner_chats(app.private_chats)):
        told = load_texts_for(code, chat).link_asked.format(
            who=format_person(request.by, event.sender.name),
            person=person,
            id=quote(request.id),
            first=quote(request.first),
            hours=hours,
        )
        outbox.append(Outgoing(f"pair:{event.id}:{number}", chat, told, at=now))
    return CommandResult(
        texts.link_waits.format(person=person, hours=hours),
        replace(call.document, outbox=(*call.document.outbox, *outbox)),
    )


def _confirm_link(call: CommandCall, code: str) -> CommandResult:
    """Link the owner's own id, whose request has this second code."""
    from functions.agent.management import people

    if not call.event.private:
        return call.reply(call.texts.ask_privately)
    change = people.confirm_link(call.app, code, call.event.sender.id, call.event.id)
    return _answer_change(call, change, call.texts.linked_now)


def _decide_link(call: CommandCall, verb: str, who: str, first: str) -> CommandResult:
    """Accept or refuse what a member asked, and tell them in the chat where they did."""
    from functions.agent.management import people

    decide = people.accept_link if verb == "accept" else people.refuse_link
    change = decide(call.app, who, first, call.event.sender.id, call.event.id)
    pattern = call.texts.link_accepted if verb == "accept" else call.texts.link_refused
    return _answer_change(call, change, pattern, first)


def _answer_change(
    call: CommandCall, change: PeopleChange, pattern: str, first: str = ""
) -> CommandResult:
    """Return the answer to an act of the sender, with what others and the ledger are told of it."""
    text = pattern.format(person=format_person(change.id, change.name), first=quote(first))
    outbox = (*call.document.outbox, *change.notices)
    return CommandResult(text, replace(call.document, outbox=outbox), entries=(change.entry,))


def _explain_refusal(problem: SigilError, texts: Texts) -> str:
    told = describe_refusal(problem, texts)
    if ":" not in told.partition(" ")[0]:  # an id has the letters that it has
        told = told[:1].upper() + told[1:]
    return texts.refused_because.get(problem.code) or f"{told}."


def run_whoami(call: CommandCall) -> CommandResult:
    """Tell the sender who they are, since when, and what they may use today."""
    who = call.event.sender.id
    person = call.app.people.find_member(who) if call.role == "member" else None
    texts = call.texts
    allowances = call.app.make_allowances(call.app.find_zone(call.document))
    since = ""
    if person:
        since = texts.since_day.format(day=_format_day(person.at), by=quote(person.by))
    lines = [
        texts.you_are.format(who=who, role=texts.role_names[call.role], since=since),
        texts.this_chat.format(session=call.event.session),
        allowances.describe_usage(call.payer or who, call.role, texts),
    ]
    return call.reply("\n".join(filter(None, lines)))


def list_people(app: App, texts: Texts = ENGLISH, most: int = SHOWN, *, asker: str = "") -> str:
    """Return who waits and who is in, for owners; the one who asks knows of themselves.

    Codes are not shown: the person who gives one to an owner proves with it who they are.
    """
    from functions.agent.management.people import open_link_requests

    now = app.clock.now()
    waiting = [
        texts.waiting_line.format(
            person=format_person(one.id, one.name), minutes=round(one.seconds_left(now) / 60)
        )
        for one in app.pairing.list_waiting()
    ]
    asking = [
        texts.link_asked_line.format(
            person=format_person(one.id, one.name), id=quote(one.id), first=quote(one.first)
        )
        for one in open_link_requests(app).list_open()
    ]
    people = []
    for person in app.people.list_members():
        if person.id == asker:
            continue
        who = format_person(person.id, person.name)
        since = _format_day(person.at)
        role = texts.role_names[person.role]
        form = texts.same_line if person.same else texts.let_in_line
        first = quote(person.same)
        people.append(
            form.format(person=who, role=role, day=since, by=quote(person.by), first=first)
        )
    owners = ", ".join(f"`{quote(owner)}`" for owner in sorted(app.rules.owners))
    lines = [
        *_list_section(texts.waiting_head, waiting, most, texts),
        *_list_section(texts.link_asked_head, asking, most, texts),
        *_list_section(texts.let_in_head, people, most, texts),
    ]
    if owners:
        lines.append(texts.settings_owners.format(owners=owners))
    if not lines:
        lines.append(texts.nobody)
    lines.append(texts.pair_how)
    return "\n".join(lines)


def _claim_ownership(call: CommandCall) -> str:
    """Try the first owner's code for somebody who may talk; empty when it is none.

    An owner may send it, too: the event made them one before a crash, and comes again.
    """
    if call.app.rules.find_named_role(call.event):
        return ""
    return _try_owner_code(call.text, call.event, call.app, call.texts)


def _try_owner_code(text: str, event: Event, app: App, texts: Texts) -> str:
    """Return the reply to a try of the first owner's code; empty when it is none."""
    outcome = app.claim.try_code(text, event)
    if outcome is None:
        return ""
    if outcome.right:
        return texts.now_owner
    if outcome.left < 0:
        return texts.no_tries_left
    if not outcome.left:
        return texts.last_wrong_code
    return texts.wrong_code.format(tries=texts.count_tries(outcome.left))


def _offer_code(event: Event, app: App, texts: Texts) -> str:
    """Return the answer to a stranger, once for each code, however much they write."""
    lets_in = app.rules.access != "owners"
    code = app.pairing.offer_code(event, lets_in=lets_in, language=texts.code)
    if code is None:
        return ""
    if app.people.has_owner():
        text = {
            "open": texts.your_code,
            "members": texts.stranger.replace("{your_code}", texts.your_code),
            "owners": texts.owners_talk,
        }[app.rules.access]
    else:
        text = f"{texts.no_owner[app.rules.access]} {texts.at_the_machine}"
        if lets_in:
            text = f"{text} {texts.let_yourself_in}"
    return text.format(code=pairing_code.format_code(code), minutes=MINUTES, id=event.sender.id)


def _list_section(title: str, lines: Sequence[str], most: int, texts: Texts) -> list[str]:
    if not lines:
        return []
    more = len(lines) - most
    section = [title, *lines[:most]]
    if more > 0:
        section.append(texts.more_people.format(count=more))
    return section


def _format_day(at: float) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(at))


COMMANDS: Final[Commands] = {
    "whoami": Command(run_whoami),
    "pair": Command(run_pair, arguments="[CODE [me] | ID member | remove ID]", for_owners=True),
}
