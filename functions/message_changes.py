"""A message that waits for its turn is answered as its sender has changed it, and not at all once
they have deleted it; one whose turn has begun stays as it was.

The change cannot reach into every queue. So it is an event of its own, which waits for no turn, and
the message as it is now becomes another event, which takes the place of the first. The record of
handled events says so: whoever takes the first one finds it there, as each turn looks whether its
event was handled, and lets it be. One of the two is answered, whichever comes first and whoever
crashes in between.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final, Literal, Self

from functions import log
from functions.agent.app import App
from functions.agent.language import choose_texts_for
from functions.agent.sanitize import sanitize_text
from functions.agent.session.document import Document
from functions.agent.session.store import SessionHandle
from functions.channels.base import Busy
from functions.events import DELETED, EDIT, EDITED, WRITTEN, Event
from functions.overheard import change_message, make_overheard
from functions.reply_sender import send_notice
from functions.wiring import AgentRuntime
from sigil.errors import Conflict
from sigil.json_fields import as_number, as_sequence, as_string
from sigil.storage.kv import ABSENT, KV, Key, keys
from sigil.storage.kv.base import get_many
from sigil.storage.kv.update import update

TOO_OLD_SECONDS: Final = 7 * 86_400.0
"""A message that was written so long ago may have been answered, and nobody knows it any more."""
TOLD_SECONDS: Final = 86_400.0
"""So often a chat is told at most that what changes later is not looked at again."""
TRIES: Final = 5
STUCK_SECONDS: Final = 30.0
"""Seconds until a change is looked at again while the platform does not take the chat's replies.
"""
_Outcome = Literal["replaced", "begun", "overtaken", "nothing new"]
"""What came of a change: it takes the place of the message; the turn of the message has begun; the
message was deleted or changed again since; or the change has no words that are new.
"""


@dataclass(frozen=True, slots=True)
class _Replacement:
    """The record of a message that waits no more: the id of the event that took its place, empty
    where it was deleted, and the one that had waited till then.
    """

    event: str
    waited: str = ""

    def encode(self) -> bytes:
        """Return the record; version 0.1.0 reads it as that of a handled event."""
        return f"{self.event}\n{self.waited}".encode(errors="replace")

    @classmethod
    def decode(cls, value: bytes) -> Self | None:
        """Return what a record of a handled event says; None for one that was handled."""
        event, found, waited = value.decode(errors="replace").partition("\n")
        return cls(event, waited) if found else None


def take_edit(event: Event, accepted: Event | None, runtime: AgentRuntime) -> None:
    """Let the changed message take the place of the one that waits; where its turn has begun, say
    that it is not looked at again, once a chat and day.

    `event` says how a message was changed, and `accepted` is that as a turn should see it, None
    when it is for somebody else. What people of a group say to each other is changed where it is
    kept. `BackendError` when the store or the platform does not answer, `Conflict` while replies of
    the chat are on their way, `Busy` while the platform does not take them.
    """
    app = runtime.app
    message = as_string(event.data.get(EDITED))
    written = as_number((accepted or event).data.get(WRITTEN))
    said = make_overheard(replace(accepted or event, id=message, at=written))
    if accepted is None:
        change_message(app.kv, said)
        return
    if not accepted.private:
        # it was said to us in the end
        change_message(app.kv, replace(said, text=""))
    role = app.people.find_role(accepted)
    if app.rules.access != "open" and not app.rules.may_talk(role):
        log.step("not replaced", event, reason="stranger")
        return
    is_old = app.clock.now() - written > TOO_OLD_SECONDS
    data = {name: accepted.data[name] for name in accepted.data if name not in (EDITED, WRITTEN)}
    changed = replace(
        event,
        id=event.id.removeprefix(EDIT),
        session=accepted.session,
        at=accepted.at,
        order=accepted.order,
        data=data,
    )
    session = keys.session_of(app.name, changed.session)
    outcome: _Outcome = "begun"
    if not is_old:
        outcome = _replace_waiting(session, message, changed.id, app)
    if outcome == "replaced":
        runtime.queue.put(changed)
        log.step("replaced", event)
        return
    opened = app.sessions.open(session)
    if outcome == "begun" and (not accepted.text or _was_read(accepted, opened.document)):
        outcome = "nothing new"
    log.step("not replaced", event, reason=outcome)
    if outcome == "begun":
        _tell_once(accepted, opened, runtime)


def drop_deleted(event: Event, app: App) -> None:
    """Let the messages that an event names not be answered where they wait; a turn that has begun
    goes on.
    """
    session = keys.session_of(app.name, event.session)
    for each in map(as_string, as_sequence(event.data.get(DELETED))):
        waiting = _mark_deleted(app.kv, session, each)
        if waiting:
            _mark_deleted(app.kv, session, waiting)
    log.step("deleted", event)


def _mark_deleted(kv: KV, session: str, message: str) -> str:
    """Note that an event is not to be handled, and return the one that had taken its place."""

    def decide(value: bytes | None) -> tuple[bytes | None, str]:
        known = _Replacement("") if value is None else _Replacement.decode(value)
        if known is None:
            return None, ""
        return _Replacement("").encode(), known.event

    return update(kv, keys.seen_event(session, message), decide, ttl=keys.SEEN_TTL)


def _replace_waiting(session: str, message: str, by: str, app: App) -> _Outcome:
    """Note that another event takes the place of a message, and return whether it does: not when a
    turn has begun with the message, or when it was deleted or changed again since.

    The note comes first, and then the session is written once more where nobody is at work on it.
    So whoever looked for the note before it was there cannot begin the message's turn any more, and
    looks again.
    """
    note = keys.seen_event(session, message)
    for _ in range(TRIES):
        item = app.kv.get(note)
        known = _Replacement.decode(item.value) if item else _Replacement(message)
        if known is None:
            return "begun"
        comes_again = known.event == by
        waited = known.waited if comes_again else known.event
        if not waited or waited > by:
            return "overtaken"
        if any(get_many(app.kv, _list_answer_keys(session, waited))):
            return "begun"
        if not comes_again:
            try:
                if waited != message:
                    app.kv.put(
                        keys.seen_event(session, waited),
                        _Replacement(by).encode(),
                        expect=ABSENT,
                        ttl=keys.SEEN_TTL,
                    )
                app.kv.put(
                    note,
                    _Replacement(by, waited).encode(),
                    expect=item.version if item else ABSENT,
                    ttl=keys.SEEN_TTL,
                )
            except Conflict:
                if waited != message and _was_handled(app.kv, session, waited, by):
                    return "begun"
                continue
        return "replaced" if _fence(session, message, waited, app) else "begun"
    raise Conflict("the message is changed all the time")


def _list_answer_keys(session: str, message: str) -> list[Key]:
    """Return the keys of what says that a message was a control event or an inquiry, and obeyed
    or answered.
    """
    control = keys.seen_event(keys.control_of(session), message)
    return [control, keys.inquiry_answer(session, message)]


def _was_handled(kv: KV, session: str, waited: str, by: str) -> bool:
    """Return whether an event was handled, or gave its place to another than `by`."""
    item = kv.get(keys.seen_event(session, waited))
    known = _Replacement.decode(item.value) if item else _Replacement(by)
    return known is None or known.event != by


def _fence(session: str, message: str, waited: str, app: App) -> bool:
    """Keep the turn of an event that gave its place from beginning, and return whether it has not
    begun yet; if it has, nothing takes its place.
    """
    for _ in range(TRIES):
        opened = app.sessions.open(session)
        document = opened.document
        begun = [each.id for each in document.turn.events] if document.turn else []
        if waited in document.seen or waited in begun[:1]:
            for each in (message, waited):
                app.sessions.mark_seen(session, each)
            return False
        if waited in begun:
            # the turn has gathered it, and when that is given up, it has one of its own
            app.kv.delete(keys.seen_event(session, waited))
            if waited != message:
                known = _Replacement(waited, message).encode()
                app.kv.put(keys.seen_event(session, message), known, ttl=keys.SEEN_TTL)
            return False
        if document.turn or opened.unread is not None:
            return True
        if document.outbox or document.posts:
            # a write would keep their sender from noting that they have left
            if any(reply.tries for reply in document.outbox):
                # many changes must not be looked at twice a second for an hour
                raise Busy("the platform takes no replies", retry_after=STUCK_SECONDS)
            raise Conflict("replies are on their way")
        try:
            app.sessions.save(opened, document)
        except Conflict:
            continue
        return True
    raise Conflict("the session changes all the time")


def _was_read(event: Event, document: Document) -> bool:
    """Return whether the history has the words already: some platforms tell of changes that change
    nothing.
    """
    said = f"\n{sanitize_text(event.text)}\n"
    return any(
        message.role == "user" and said in f"\n{message.content}\n" for message in document.messages
    )


def _tell_once(event: Event, opened: SessionHandle, runtime: AgentRuntime) -> None:
    """Say that what changes later is not looked at again, unless the chat was told within a day.

    The mark of it comes last: after a crash the chat is told twice rather than never.
    """
    mark = keys.edit_told(opened.key)
    if runtime.app.kv.get(mark):
        return
    texts = choose_texts_for(event, opened.document)
    send_notice(event, texts.changed_too_late, runtime)
    runtime.app.kv.put(mark, b"true", ttl=TOLD_SECONDS)
