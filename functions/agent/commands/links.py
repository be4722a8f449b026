"""/link, /unlink and /web: a private chat is told a code, which shows elsewhere that it is the same
person.

With /link the private chats of one person share a memory when they say so, twice: a chat tells a
code, and the other one gets it. The chat that gets it brings its memory along. Nothing else is
shared, and nothing of a private chat is ever in a group. With /web a browser is that person on the
page.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from functions.agent.access.links import (
    CHATS_MOST,
    SECONDS,
    LinkedChat,
    find_linked_memory,
    scope_for_sharing,
)
from functions.agent.access.roles import LOCAL_OWNERS
from functions.agent.commands.command import (
    Command,
    CommandCall,
    CommandResult,
    Commands,
    always,
)
from functions.agent.language import load_texts_for
from functions.agent.session.document import Outgoing
from functions.agent.session.store import SessionHandle
from sigil.errors import Refused, UsageError
from sigil.storage.kv import keys

MINUTES: Final = round(SECONDS / 60)


def run_link(call: CommandCall) -> CommandResult:
    """Tell a code for another chat, or share the memory of the chat whose code it is."""
    texts = call.texts
    links = call.app.links
    if not call.event.private:
        is_withdrawn = links.withdraw_code(call.text, call.event)
        return call.reply(texts.link_withdrawn if is_withdrawn else texts.link_private)
    try:
        if call.text:
            return _join_memory(call)
        code = links.offer_code(call.event)
        opened = _use_sharable_memory(call)
    except UsageError as problem:
        is_own = problem.code == "ESAME"
        return call.reply(texts.link_own_code if is_own else texts.link_no_code)
    except Refused as refusal:
        refused = {
            "ELIMIT": texts.link_too_often,
            "EQUOTA": texts.link_too_large,
            "EFULL": texts.link_too_many.format(most=CHATS_MOST),
        }
        return call.reply(refused[refusal.code])
    others = _list_others(call, links.list_chats(opened.memory))
    shared = texts.link_shared.format(chats=_format_chats(others)) if others else ""
    told = texts.link_code.format(code=code, minutes=MINUTES)
    text = "\n\n".join(filter(None, (shared, told)))
    return CommandResult(text, opened.document, opened)


def _use_sharable_memory(call: CommandCall) -> SessionHandle:
    """Let the chat's memory have a scope that others can use, and return the session.

    Nobody else ever uses the chat's own key. The memory is copied, then the session is saved, and
    only then is the own key emptied: a crash anywhere loses nothing.
    """
    app = call.app
    opened = call.opened
    scope = scope_for_sharing(call.session, call.event.id)
    if call.memory == call.session:
        app.links.join(scope, app.links.describe_chat(call.event))
        app.memories.prepare_move(call.session, scope)
        opened = app.sessions.save(opened, replace(opened.document, memory=scope))
    if opened.memory == scope:
        app.memories.move(call.session, scope)
    return opened


def _join_memory(call: CommandCall) -> CommandResult:
    """Share the memory of the chat whose code the words are, and take this one's along.

    An event that comes again after a crash goes on where it was; the session is saved at its end.
    """
    app = call.app
    links = app.links
    texts = call.texts
    if _list_others(call, links.list_chats(call.memory)):
        return call.reply(texts.link_taken)
    offer = links.take_code(call.text, call.event)
    theirs = app.sessions.open(keys.session_of(app.name, offer.session))
    scope = theirs.memory
    if scope == theirs.key:  # it has left the memory that the code was for
        return call.reply(texts.link_no_code)
    if scope == call.memory:  # it has just taken a code of this chat
        return call.reply(texts.link_taken)
    if not offer.only and not app.people.is_same_person(call.event.sender.id, offer.who):
        code = links.offer_again(offer, call.event)
        other = _format_chat(LinkedChat(offer.session, offer.who, offer.name, offer.at))
        return call.reply(texts.link_other_person.format(chat=other, code=code, minutes=MINUTES))
    document = call.document
    links.join(scope, links.describe_chat(call.event), shared=True)
    if _list_others(call, links.list_chats(call.memory)):
        # the other chat has just taken a code of this one: they join in one way, not in both
        links.leave(scope, call.event.session)
        return call.reply(texts.link_taken)
    try:
        things = app.memories.join(
            call.memory, scope, call.session, document.next_seq, app.clock.now()
        )
    except Refused:
        links.leave(scope, call.event.session)
        raise
    links.leave(call.memory, call.event.session)
    others = _list_others(call, links.list_chats(scope))
    here = links.describe_chat(call.event)
    document = replace(
        document,
        memory=scope,
        next_seq=document.next_seq + 1,
        outbox=(*document.outbox, *_tell(call, others, here, is_linked=True)),
    )
    chats = _format_chats(others)
    came = texts.link_came.format(things=texts.count_things(things)) if things else ""
    text = texts.link_done.format(chats=chats)
    return CommandResult(" ".join(filter(None, (text, came))), document)


def run_unlink(call: CommandCall) -> CommandResult:
    """Give the chat a memory of its own again, with all that both remember until now."""
    texts = call.texts
    if not call.event.private:
        return call.reply(texts.link_private)
    app = call.app
    links = app.links
    opened = call.opened
    scope = call.memory
    if scope == call.session:  # perhaps this event had saved that before a crash
        scope = find_linked_memory(app.kv, call.session)
    others = _list_others(call, links.list_chats(scope)) if scope else []
    if not others:
        return call.reply(texts.unlink_alone)
    if call.memory != call.session:
        app.memories.copy(scope, call.session)
        opened = app.sessions.save(opened, replace(opened.document, memory=""))
    # only now: who reads a memory is in its record, whatever happens in between
    links.leave(scope, call.event.session)
    here = links.describe_chat(call.event)
    document = replace(
        opened.document,
        outbox=(*opened.document.outbox, *_tell(call, others, here, is_linked=False)),
    )
    return CommandResult(texts.unlink_done.format(chats=_format_chats(others)), document, opened)


def _list_others(call: CommandCall, chats: Sequence[LinkedChat]) -> list[LinkedChat]:
    return [chat for chat in chats if chat.session != call.event.session]


def _tell(
    call: CommandCall, chats: Sequence[LinkedChat], here: LinkedChat, *, is_linked: bool
) -> list[Outgoing]:
    """Return a message for each of the other chats, without those that nobody can write to: this
    chat shares their memory from now on, or no more.
    """
    now = call.app.clock.now()
    name = f"{call.event.id}:link"
    told = []
    for number, chat in enumerate(chats):
        if chat.who in LOCAL_OWNERS:
            continue
        texts = load_texts_for(call.texts.code, chat.session)
        pattern = texts.link_told if is_linked else texts.unlink_told
        text = pattern.format(chat=_format_chat(here))
        told.append(Outgoing(f"{name}:{number}", chat.session, text, at=now))
    return told


def _format_chats(chats: Sequence[LinkedChat]) -> str:
    return ", ".join(map(_format_chat, chats))


def _format_chat(chat: LinkedChat) -> str:
    """Return a chat so that its person knows it; its name is the sender's word."""
    session = chat.session.replace("`", "'")
    name = chat.name.replace("`", "'")
    return f"`{session}` (`{name}`)" if name else f"`{session}`"


def run_web(call: CommandCall) -> CommandResult:
    """Tell a member or an owner a code with which they sign in to the page."""
    from functions.agent.access import web_codes

    texts = call.texts
    if not call.event.private:
        return call.reply(texts.web_private)
    if call.role == "guest":
        return call.reply(texts.web_for_members)
    app = call.app
    codes = web_codes.WebCodes(app.kv, app.root, app.clock.now)
    code = codes.make(call.event.sender.id, call.role)
    minutes = round(web_codes.SECONDS / 60)
    return call.reply(texts.web_code.format(code=code, minutes=minutes))


COMMANDS: Final[Commands] = {
    "link": Command(
        run_link,
        arguments="[CODE]",
        changes_chat=lambda words: not words,  # anybody may withdraw a code that a group has seen
        works_for=lambda reader: reader.private or reader.role == "owner",
    ),
    "unlink": Command(run_unlink, changes_chat=always),
    "web": Command(run_web, works_for=lambda reader: reader.private and reader.role != "guest"),
}
