"""The files of a message become those of its chat: a channel's when the message has its turn, and
what comes in at the terminal or over HTTP before the message waits in the queue.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from functions import log
from functions.agent.app import App
from functions.agent.conversation import unopened
from functions.agent.conversation.messages import Message, Usage
from functions.agent.session.store import SessionHandle
from functions.agent.shares import find_holder
from functions.agent.workspace.daily_bytes import DailyBytes
from functions.agent.workspace.path import RECEIVED
from functions.agent.workspace.received import (
    BYTES_MOST,
    CAUSE,
    FILES_MOST,
    OPENED_BYTES,
    SPOKEN,
    Fetch,
    keep_received,
    refuse_received,
)
from functions.agent.workspace.voice_notes import CLOSED, VoiceNotes, take_transcripts
from functions.events import Event
from sigil.errors import UsageError, one_line
from sigil.storage.evolve import evolve
from sigil.storage.kv import keys

if TYPE_CHECKING:
    from functions.channels.base import Attachment

NAME_CHARACTERS: Final = 200
MEGABYTE: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class UploadedFile:
    """A file that comes in with its message: its name, its content, and the type that its sender
    states, which decides nothing but that a sound is no video.
    """

    name: str
    body: bytes
    type: str = ""


def keep_files(event: Event, app: App, fetch: Fetch) -> Event:
    """Return a message whose files are those of its chat, and whose sounds are words, where its
    sender may read files. What was heard is counted as spent.

    Doing it again writes and hears nothing anew.
    """
    role = app.people.find_role(event)
    gate = app.make_gate(app.load_policies(), role, private=event.private)
    if gate.denies("read", f"{RECEIVED}/x"):
        return refuse_received(event) if role == "guest" else event
    session = keys.session_of(app.name, event.session)
    opened = app.sessions.open(session)
    if app.sessions.was_seen(opened, event):
        return event  # nothing of it may come again
    files = app.open_workspace(session)
    holder = None if event.private else find_holder(event, role, app.people)
    voice_notes = VoiceNotes(app.helpers.transcriber, opened.document.language)
    reader = app.helpers.reader
    daily = None
    if role == "member":
        daily = DailyBytes(app.kv, session, app.find_zone(opened.document), app.clock.now)
    kept = keep_received(
        event, files, fetch, reader, voice_notes=voice_notes, holder=holder, daily=daily
    )
    for file in (*kept.attachments, *kept.quoted_files):
        if file.get("problem"):
            cause = {CAUSE: str(file[CAUSE])} if file.get(CAUSE) else {}
            log.step("unopened", event, reason=str(file["problem"]), **cause)
    if voice_notes.cost:
        _count_cost(opened, app, voice_notes.cost)
    return _tell_closed_once(take_transcripts(kept), opened.document.messages)


def attach_files(event: Event, files: Sequence[UploadedFile], app: App) -> Event:
    """Return a message with files that came in with it, which are kept before it waits in a queue:
    a crash loses none, and no queue carries them. `app` is the agent that answers it.

    `UsageError` ETOOBIG for too many files, or too large ones.
    """
    require_bounded([(file.name, len(file.body)) for file in files])
    attachments = tuple(_describe_file(number, file) for number, file in enumerate(files))

    def fetch(attachment: Mapping[str, object], most: int) -> bytes:
        return files[int(str(attachment["file_id"]))].body

    return keep_files(replace(event, attachments=attachments), app, fetch)


def require_bounded(files: Sequence[tuple[str, int]]) -> None:
    """Raise `UsageError` ETOOBIG unless a message may bring so many files of so many bytes, each
    with its name.
    """
    if len(files) > FILES_MOST:
        raise UsageError(
            "ETOOBIG",
            f"a message brings at most {FILES_MOST} files, and these are {len(files)}",
            suggestion="send them in several messages",
        )
    for name, size in files:
        if size > OPENED_BYTES:
            raise UsageError(
                "ETOOBIG",
                f"{one_line(name, 80)} has more than {OPENED_BYTES // MEGABYTE} MB",
                suggestion="send a smaller file, or a part of it",
            )
    if sum(size for _, size in files) > BYTES_MOST:
        raise UsageError(
            "ETOOBIG",
            f"the files of a message have at most {BYTES_MOST // MEGABYTE} MB together",
            suggestion="send them in several messages",
        )


def _describe_file(number: int, file: UploadedFile) -> Attachment:
    return {
        "kind": "audio" if file.type.startswith("audio/") else "document",
        "file_id": str(number),
        "name": one_line(file.name, NAME_CHARACTERS),
        "size": len(file.body),
        "mime": "",
    }


def _tell_closed_once(event: Event, messages: Sequence[Message]) -> Event:
    """Return an event whose sounds have no reason for not being heard where the chat was told it
    before: it is the same for all.
    """
    if not any(file.get("problem") == CLOSED for file in event.attachments):
        return event
    told = (unopened.read_told(message.content, message.at) for message in messages)
    if not any(each and each.kinds & SPOKEN for each in told):
        return event
    files = [
        {**file, "problem": ""} if file.get("problem") == CLOSED else file
        for file in event.attachments
    ]
    return replace(event, attachments=tuple(files))


def _count_cost(opened: SessionHandle, app: App, cost: float) -> None:
    """Add what was paid for speech to what the chat and everybody together have spent."""
    usage = Usage(cost=cost)
    breakers = app.make_breakers(opened.key, beside=True)
    document = opened.document
    app.sessions.save(opened, evolve(document, usage=document.usage + usage))
    for budget in breakers.budgets:
        budget.add_to_total(breakers.current_period(), 0, cost, None)
