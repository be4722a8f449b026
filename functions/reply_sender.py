"""Every reply leaves here: to its chat platform, or to the HTTP client that fetches it.

A turn's replies are kept in the outbox of its session until they have left (`send_outbox`). The
answer to an inquiry belongs to no turn and has a record of its own (`answer_inquiry`). A notice,
such as the answer to `/stop`, has no record and is sent at once (`send_notice`).

A reply to a platform leaves in parts, and each part that left is marked in the store before the
next one is sent. The process remembers what left while the store does not take the mark. So only a
crash between the two, or a worker that stalls there, can repeat a part. To make that rare, the mark
is encoded before the part leaves, which for a long history takes longer than to write it, and
nothing else is done between the two.

An answer that names files leaves in pieces, each with the files that stand below it. A platform
that takes files by their addresses alone gets it whole, with these in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import Final

from functions import log
from functions.agent.app import App
from functions.agent.commands import table
from functions.agent.session.document import Outgoing
from functions.agent.session.store import SessionHandle
from functions.channels.base import (
    AttachedFile,
    Channel,
    ChatClosed,
    ChatEncrypted,
    LinksFiles,
    MessagesUsedUp,
    Reply,
)
from functions.events import Event
from functions.queues.dead_letters import count_untold, note_sender_told
from functions.sent_parts import WHOLE
from functions.status_alerts import (
    alert_chat_closed,
    alert_chat_encrypted,
    alert_messages_used_up,
    alert_model_failures,
    alert_session_status,
)
from functions.wiring import AgentRuntime
from sigil.errors import BackendError, Conflict, Refused, SigilError, UsageError
from sigil.protocol import Caller, file_row
from sigil.storage.kv import keys
from sigil.storage.stored import Shape, Stored, dumps

LONG_CHARACTERS: Final = 600
"""A longer reply may have several parts: on WeCom one has 2,048 bytes."""
PIECE_PARTS: Final = 1_000
"""The parts of each piece of an answer are counted from so many times its number on."""
DRAWING: Final = "<svg"
"""Stands in a reply that has drawings."""
PNG: Final = "image/png"
PLACED_CHARACTERS: Final = 12_000
"""The files of a longer answer stand below it: in pieces, it could be very many messages."""
UNSENT_SECONDS = 3600.0
UNSENT_TRIES = 6
"""For so many seconds, and for so many tries, a reply that the platform does not take is tried
again: its age alone may be a clock that was set.
"""


def send_outbox(opened: SessionHandle, runtime: AgentRuntime) -> SessionHandle:
    """Send every reply in the outbox of a session, and the alerts about it.

    The alerts are sent even when the platform does not answer. `BackendError` when a reply has to
    stay in the outbox, `Conflict` when another worker has the session by now.
    """
    try:
        while opened.document.outbox:
            reply = opened.document.outbox[0]
            removal = runtime.app.sessions.encode_removal(opened)
            opened, has_left = _send_first_reply(opened, runtime)
            opened = runtime.app.sessions.remove_first_reply(opened, removal)
            runtime.sent_parts.forget(opened.key)
            if has_left:
                log.note("sent", event=reply.event, session=reply.session)
    except Conflict:
        raise
    except BackendError:
        alert_session_status(runtime.app.sessions.open(opened.key), runtime)
        alert_model_failures(runtime)
        raise
    alert_model_failures(runtime)
    return alert_session_status(opened, runtime)


def _send_first_reply(opened: SessionHandle, runtime: AgentRuntime) -> tuple[SessionHandle, bool]:
    """Send the first reply in the outbox, or log why it never leaves, and return whether it has
    left for a platform.
    """
    reply = opened.document.outbox[0]
    channel = runtime.channels.get(reply.session.partition(":")[0])
    if not runtime.app.sessions.still_holds(opened):
        raise Conflict("another worker has the session")
    if channel is None:
        # a reply to another chat is for those who look there
        _keep_for_http(reply, runtime.app.name_chat(reply.session), runtime)
        return opened, False
    # what the store changes in a reply while it waits is no part of which reply it is
    noted = replace(reply, at=0.0, sent=0, tries=0)
    left = runtime.sent_parts.count(opened.key, noted)
    if left == WHOLE:
        return opened, False
    sessions = runtime.app.sessions
    start = max(reply.sent, left)
    marks: dict[int, bytes] = {}
    if reply.files or len(reply.text) > LONG_CHARACTERS:
        marks[start + 1] = sessions.encode_mark(opened, start + 1)

    def mark_sent(parts: int) -> None:
        nonlocal opened
        runtime.sent_parts.note(opened.key, noted, parts)
        opened = sessions.mark_sent(opened, parts, marks.pop(parts, None))
        marks[parts + 1] = sessions.encode_mark(opened, parts + 1)

    pieces = _divide(reply, channel, runtime)
    first, done = divmod(start, PIECE_PARTS) if len(pieces) > 1 else (0, start)
    last_words = max(number for number, piece in enumerate(pieces) if piece.text or not number)
    try:
        for number, piece in enumerate(pieces[first:], first):
            base = number * PIECE_PARTS
            if number > first:
                mark_sent(base)
            name = f"{reply.text}\0{number}" if number else reply.text
            channel.send(
                Reply(
                    reply.session,
                    piece.text,
                    reply.reply_to,
                    piece.files,
                    reply.buttons if number == last_words else (),
                    key=_make_key(reply.event, reply.session, name),
                    start=done if number == first else 0,
                    is_repeated=reply.tries > 0,
                    draw=partial(_draw, runtime.app),
                    file_name=reply.file_name,
                    goes_on=number > 0,
                    answer=reply.text if len(pieces) > 1 else "",
                ),
                partial(_mark_part, mark_sent, base),
            )
    except Refused as problem:
        log.note("unanswerable", event=reply.event, session=reply.session, code=problem.code)
        _alert_refusal(problem, reply.session, runtime)
    except Conflict:
        raise
    except BackendError as problem:
        # a reply to another chat does not hold this one up
        is_own_chat = opened.key == keys.session_of(runtime.app.name, reply.session)
        is_young = abs(runtime.app.clock.now() - reply.at) <= UNSENT_SECONDS
        if is_own_chat and (is_young or reply.tries < UNSENT_TRIES):
            raise
        log.note("unsendable", event=reply.event, session=reply.session, code=problem.code)
    else:
        runtime.sent_parts.note(opened.key, noted, WHOLE)
        return opened, True
    return opened, False


def _mark_part(mark_sent: Callable[[int], None], base: int, parts: int) -> None:
    """Note that parts of a piece have left, whose own count begins at `base`."""
    mark_sent(base + parts)


@dataclass(frozen=True, slots=True)
class _Piece:
    """A part of an answer's text, and the files below it."""

    text: str
    files: tuple[AttachedFile, ...] = ()


def _divide(reply: Outgoing, channel: Channel, runtime: AgentRuntime) -> list[_Piece]:
    """Return a reply in the pieces in which it leaves, the same ones each time: mostly one."""
    if not reply.files and DRAWING not in reply.text:
        return [_Piece(reply.text)]
    if isinstance(channel, LinksFiles):
        return [_link_files(_keep_drawings(reply, runtime), channel.picture_types, runtime)]
    if not reply.files:
        return [_Piece(reply.text)]
    from functions.agent.conversation import named_files

    attached = dict(zip(reply.files, attach_files(reply, runtime.app), strict=True))
    if reply.file_name or len(reply.text) > PLACED_CHARACTERS:
        text = named_files.write_words_of(reply.text, reply.files)
        return [_Piece(text, tuple(attached.values()))]
    return [
        _Piece(text, tuple(attached[file] for file in files))
        for text, files in named_files.divide_at_files(reply.text, reply.files)
    ]


def _keep_drawings(reply: Outgoing, runtime: AgentRuntime) -> Outgoing:
    """Return a reply with the drawings of its text as pictures that have addresses, the same ones
    each time; as it is where there are no addresses, or a drawing cannot be made or kept.
    """
    if DRAWING not in reply.text or not runtime.settings.public_url:
        return reply
    from functions.agent.conversation.named_files import SIGN
    from functions.channels.render.pictures import take_pictures
    from sigil.storage.kept_files import FileContent, KeptFiles

    app = runtime.app
    keeper = KeptFiles(app.kv, app.artifacts, app.clock.now)
    caller = app.make_caller(reply.session)
    text, drawings = take_pictures(reply.text)
    pictures = []
    for number, drawing in enumerate(drawings):
        id = _make_key(reply.event, reply.session, f"{number}\0{drawing}")
        picture = keeper.find(id, caller)
        if picture is None:
            png = _draw(app, drawing)
            if png is None:
                return reply
            try:
                picture = keeper.keep(FileContent("picture.png", PNG, png), caller, id)
            except Refused:  # too much was kept today
                return reply
        pictures.append(picture)
    marks = [f"![{each.name}]({SIGN}{each.id})" for each in pictures]
    text = "\n\n".join(filter(None, (text.strip("\n"), *marks)))
    return replace(reply, text=text, files=(*reply.files, *pictures))


def _link_files(reply: Outgoing, shown: Collection[str], runtime: AgentRuntime) -> _Piece:
    """Return a reply whose text has the public addresses of its files, where there are any, those
    that it does not name below it; and all its files.
    """
    from functions.agent.conversation import named_files

    app = runtime.app
    links: dict[str, str] = {}
    public = runtime.settings.public_url
    if public:
        from functions.file_links import FileLinks

        maker = FileLinks(app.kv, app.artifacts, app.clock.now)
        caller = app.make_caller(reply.session)
        links = {file.id: maker.make(public, file.id, caller) for file in reply.files}
    types = {file.id: file.type for file in reply.files}
    names = {file.id: file.name for file in reply.files}
    named = named_files.list_targets(reply.text)

    def write(mark: named_files.FileMark) -> str | None:
        if mark.target not in types:
            return None
        sign = "!" if mark.is_picture and types[mark.target] in shown else ""
        link = links.get(mark.target)
        words = mark.words if mark.words.strip() else names[mark.target]
        return f"{sign}[{words}]({link})" if link else words

    lines = [named_files.rewrite_marks(reply.text, write)]
    for file in reply.files:
        if links.get(file.id) and file.id not in named:
            sign = "!" if file.type in shown else ""
            lines.append(f"{sign}[{file.name}]({links[file.id]})")
    attached = attach_files(reply, app)
    files = [
        replace(each, link=links.get(file.id, ""))
        for file, each in zip(reply.files, attached, strict=True)
    ]
    return _Piece("\n\n".join(lines), tuple(files))


def _alert_refusal(problem: Refused, session: str, runtime: AgentRuntime) -> None:
    """Send an alert when a session's channel refused a reply for a reason that owners can do
    something about.
    """
    if isinstance(problem, MessagesUsedUp):
        alert_messages_used_up(session, runtime)
    elif isinstance(problem, ChatClosed):
        alert_chat_closed(session, runtime)
    elif isinstance(problem, ChatEncrypted):
        alert_chat_encrypted(session, runtime)


def _draw(app: App, svg: str) -> bytes | None:
    """Return a PNG of an SVG document, None where it cannot be made: then it leaves as it is."""
    try:
        return app.helpers.reader.draw(svg).data
    except SigilError:
        return None


def attach_files(reply: Outgoing, app: App) -> list[AttachedFile]:
    """Return the files of a reply, which were kept for its chat."""
    caller = app.make_caller(reply.session)
    attached = []
    for file in reply.files:
        read = partial(read_kept_file, file.id, caller, app)
        attached.append(AttachedFile(file.name, file.type, read, size=file.size))
    return attached


def read_kept_file(id: str, caller: Caller, app: App) -> bytes:
    """Return a file that was kept for a chat: by the registry, or by the agent itself.
    `UsageError` ENOENT when there is none.
    """
    try:
        return app.registry.read_file(id, caller)
    except UsageError:
        from sigil.storage.kept_files import KeptFiles

        return KeptFiles(app.kv, app.artifacts, app.clock.now).read(id, caller).body


def _make_reply(event: Event, text: str, start: int = 0) -> Reply:
    """Return a reply to an event that is in no outbox."""
    key = _make_key(event.id, event.session, text)
    return Reply(event.session, text, event.reply_to, key=key, start=start)


def _make_key(event: str, session: str, text: str) -> str:
    """Return the key of a reply: one event may cause several, also to other chats."""
    raw = "\0".join((event, session, text)).encode(errors="replace")
    return sha256(raw).hexdigest()[:32]


def send_notice(event: Event, text: str, runtime: AgentRuntime) -> None:
    """Send a text to the session of an event, once and without a record of it.

    A chat that never gets it is not worth an error; `BackendError` when the platform does not
    answer.
    """
    channel = runtime.channels.get(event.platform)
    if not text:
        return
    if channel is None:
        session = runtime.app.name_chat(event.session)
        _keep_for_http(Outgoing(event.id, event.session, text), session, runtime)
        return
    try:
        channel.send(_make_reply(event, text), lambda _: None)
    except Refused:
        channel.end_waiting(event)


def try_to_send_notice(event: Event, text: str, runtime: AgentRuntime) -> None:
    """Send a text to the session of an event; one that does not leave is only logged."""
    try:
        send_notice(event, text, runtime)
    except SigilError as problem:
        log.trouble("unsent", event, code=problem.code)


def notify_sender_of_dead_letter(
    event: Event, text: str, runtime: AgentRuntime, since: float
) -> None:
    """Tell the sender of an event that it was given up, and note that they were told.

    A crash between the two tells them twice rather than never. `since`: when the event was given
    up (seconds since the epoch). `BackendError` when the platform does not take the notice, for
    `UNSENT_SECONDS` and `UNSENT_TRIES`; later the sender is not told.
    """
    try:
        send_notice(event, text, runtime)
    except BackendError as problem:
        tries = count_untold(runtime.stores.kv, event)
        if tries < UNSENT_TRIES or abs(runtime.app.clock.now() - since) <= UNSENT_SECONDS:
            raise
        log.trouble("unsendable", event, code=problem.code)
        channel = runtime.channels.get(event.platform)
        if channel:
            channel.end_waiting(event)
    note_sender_told(runtime.stores.kv, event)


@dataclass(frozen=True, slots=True)
class _InquiryAnswer(Stored):
    """The record of an inquiry's answer, made at `at` (seconds since the epoch).

    `parts` of it have left; `done`: all of it has, or never will. `tries` counts how often the
    platform did not take it.
    """

    text: str
    at: float
    parts: int = 0
    done: bool = False
    tries: int = 0


_ANSWER: Final = Shape[_InquiryAnswer](_InquiryAnswer, required=("parts", "done"))


def answer_inquiry(event: Event, runtime: AgentRuntime) -> None:
    """Answer an inquiry, unless that is done.

    The answer is kept in a record while it leaves, so that the next try goes on with the same text.
    `BackendError` when the platform does not take it, for `UNSENT_SECONDS` and `UNSENT_TRIES`.
    """
    kv = runtime.stores.kv
    now = runtime.app.clock.now()
    session = keys.session_of(event.agent, event.session)
    key = keys.inquiry_answer(session, event.id)
    item = kv.get(key)
    if item:
        try:
            answer = _ANSWER.read(item.value)
        except ValueError:
            return  # damaged: the sender can ask again, and gets an answer of that moment
    else:
        answer = _InquiryAnswer(table.answer_inquiry(event, runtime.app), now)
    if answer.done:
        return
    channel = runtime.channels.get(event.platform)
    if channel is None:
        _keep_for_http(Outgoing(event.id, event.session, answer.text), session, runtime)
    elif not answer.text:
        channel.end_waiting(event)
    elif runtime.sent_parts.count(event.id, answer.text) != WHOLE:
        if item is None:
            kv.put(key, dumps(answer), ttl=keys.SEEN_TTL)

        def mark_sent(parts: int) -> None:
            nonlocal answer
            runtime.sent_parts.note(event.id, answer.text, parts)
            answer = replace(answer, parts=parts)
            kv.put(key, dumps(answer), ttl=keys.SEEN_TTL)

        try:
            start = max(answer.parts, runtime.sent_parts.count(event.id, answer.text))
            reply = replace(_make_reply(event, answer.text, start), is_repeated=item is not None)
            channel.send(reply, mark_sent)
            runtime.sent_parts.note(event.id, answer.text, WHOLE)
        except Refused as problem:
            log.trouble("unanswerable", event, code=problem.code)
            channel.end_waiting(event)
            _alert_refusal(problem, event.session, runtime)
        except BackendError as problem:
            answer = replace(answer, tries=answer.tries + 1)
            if answer.tries < UNSENT_TRIES or abs(now - answer.at) <= UNSENT_SECONDS:
                kv.put(key, dumps(answer), ttl=keys.SEEN_TTL)
                raise
            log.trouble("unsendable", event, code=problem.code)
            channel.end_waiting(event)
    kv.put(key, dumps(_InquiryAnswer("", answer.at, done=True)), ttl=keys.SEEN_TTL)
    runtime.sent_parts.forget(event.id)


def make_reply_row(reply: Outgoing) -> dict[str, object]:
    """Return a reply as HTTP clients and programs read it."""
    name = reply.session.rpartition(":")[2]
    text = reply.text
    if reply.files:
        from functions.agent.conversation import named_files

        addresses = {file.id: f"/chat/{name}/files/{file.id}" for file in reply.files}
        text = named_files.point_at(text, addresses)
    row: dict[str, object] = {
        "reply": text,
        "rounds": reply.rounds,
        "tools": list(reply.tools),
        "usage": {
            "prompt_tokens": reply.usage.prompt,
            "completion_tokens": reply.usage.completion,
            "estimated": reply.usage.estimated,
        },
    }
    if reply.failed:
        row["failed"] = True
    if reply.files:
        row["files"] = [{**file_row(file), "url": addresses[file.id]} for file in reply.files]
    return row


def _keep_for_http(reply: Outgoing, session: str, runtime: AgentRuntime) -> None:
    """Keep a reply of no platform for the HTTP client that waits for it or polls."""
    runtime.replies.keep(session, reply.event, make_reply_row(reply))
