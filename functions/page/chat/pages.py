"""The pages of chats: what is shown, what a message, a stop or a file asks for, and the stream of a
chat that goes on.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import uuid
from collections.abc import AsyncGenerator
from hashlib import blake2b
from itertools import count
from typing import Final

import orjson
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response, StreamingResponse

from functions.agent.access.roles import Role
from functions.agent.commands.command import Reader
from functions.agent.commands.table import COMMANDS
from functions.agent.offline_signature import NAME as OFFLINE
from functions.agent.safety.stop_mark import BY_SENDER
from functions.agent.workspace.received import FILES_MOST, OPENED_BYTES
from functions.channels.render.pictures import make_document
from functions.events import TEXT_LIMIT, Event, Sender, order_of
from functions.message_files import UploadedFile, attach_files
from functions.page.access.reach import require_chat
from functions.page.access.viewer import PEOPLE
from functions.page.chat.chat_list import find_session, is_own_chat, list_chats, name_in_address
from functions.page.chat.chat_state import (
    ChatPlace,
    PageReader,
    describe_items,
    drop_answered,
    look_at,
    read_state,
)
from functions.page.frame import (
    Page,
    PageRequest,
    PageRoute,
    answer_json,
    redirect,
    render,
)
from functions.page.live import AskedMessage, stream_chat
from functions.page.words.chat_words import list_script_words, load_words
from functions.texts.languages import load_texts
from sigil.errors import UsageError
from sigil.http.capabilities import file_response
from sigil.run.mcp_client.media import recognize
from sigil.storage.kv import keys

STREAM: Final = "text/event-stream"
STREAM_HEADERS: Final = {"cache-control": "no-store", "x-accel-buffering": "no"}
SEQ_MOST: Final = 10**12
SVG: Final = "image/svg+xml"
SANDBOX: Final = "sandbox; default-src 'none'; style-src 'unsafe-inline'"
"""What an SVG may do that is opened as a page of its own: it is drawn."""
PICTURES: Final = ("image/png", "image/jpeg", "image/gif", "image/webp")
_KEY: Final = re.compile(r"[0-9a-f]{32}")
_NUMBERS: Final = count()


def show_chats(page: PageRequest) -> Response:
    """Lead to the viewer's chat that was at work last, or to a first one."""
    own = next((each for each in list_chats(page) if is_own_chat(each.session, page)), None)
    return redirect(page, f"/chat/{own.name if own else 'main'}")


def show_chat(page: PageRequest) -> Response:
    """Show a chat: its last messages, or those before a number."""
    place = find_place(page)
    view = look_at(page.deps.live, place.session)
    state = read_state(page, place, view)
    if page.wants_json:
        return answer_json(page, describe_items(state))
    words = load_words(page.language)
    return render(
        page,
        "chat.html",
        title=state.title,
        state=state,
        place=place,
        chat=f"/chat/{place.name}",
        says=words,
        script_words=list_script_words(words),
        live=page.deps.is_live and page.deps.live is not None,
        new_name=f"c-{secrets.token_hex(4)}",
        typed="",
        look=_read_number(page.query.get("look", "")),
        is_written="write" in page.query,
        files_most=FILES_MOST,
        bytes_most=min(OPENED_BYTES, page.deps.files_bytes),
        together_most=page.deps.files_bytes,
    )


def find_place(page: PageRequest) -> ChatPlace:
    """Return the chat of an address; `UsageError` ENOENT unless the viewer may read it."""
    session = find_session(page.path["name"], page)
    before = _read_number(page.query.get("before", ""))
    is_own = is_own_chat(session, page)
    name = name_in_address(session, page)
    if not is_own and require_chat(page, session) != "texts":
        raise UsageError("ENOENT", "there is no such chat", source="page")
    return ChatPlace(session, name, is_own, before)


def require_own(page: PageRequest) -> ChatPlace:
    """Return the chat of an address; `UsageError` ENOENT unless the viewer writes there."""
    place = find_place(page)
    if not place.is_own:
        raise UsageError(
            "ENOENT",
            "nothing is sent to this chat from here",
            source="page",
            suggestion="write where its people do",
        )
    return place


def _read_number(text: str) -> int:
    if not (text.isascii() and text.isdecimal()) or len(text) > 12:
        return 0
    return int(text)


def send_message(page: PageRequest) -> Response:
    """Put a message of the viewer into the queue, with its files."""
    place = require_own(page)
    deps = page.deps
    event = _make_event(page, place)
    asked = AskedMessage(event.id, event.text, event.at, tuple(file.name for file in page.files))
    if page.files:
        app = deps.agents.find_route(event, deps.app).app
        files = [UploadedFile(file.name, file.body, file.type) for file in page.files]
        event = attach_files(event, files, app)
    drop_answered(deps, place.session)
    if deps.live is not None:
        deps.live.expect(place.session, asked)
    try:
        deps.replies.expect(deps.app.name_chat(place.session), event.id)
        deps.put(event)
    except Exception:
        if deps.live is not None:
            deps.live.forget_asked(place.session, event.id)
        raise
    if event.looks_like_command:
        deps.chats.keep_command(event.id, event.text)
    deps.chats.forget_list(deps.app)
    if page.wants_json:
        return answer_json(page, {"event": event.id})
    return redirect(page, f"/chat/{place.name}#end")


def _make_event(page: PageRequest, place: ChatPlace) -> Event:
    """Return the event of a message; `UsageError` EINVAL for one that says nothing."""
    text = page.form.get("text", "").replace("\r\n", "\n")
    if not (text.strip() or page.files) or len(text) > TEXT_LIMIT:
        raise UsageError(
            "EINVAL",
            f"a message has 1 to {TEXT_LIMIT:,} characters, or a file",
            source="page",
            suggestion="write something, or attach a file",
        )
    now = page.deps.app.clock.now()
    return Event(
        id=f"web:{_read_key(page)}",
        kind="message",
        agent=page.deps.settings.agent,
        session=place.session,
        sender=Sender(page.viewer.person, page.viewer.name),
        text=text,
        at=now,
        order=order_of(now, next(_NUMBERS)),
        private=True,
        language=page.language,
    )


def _read_key(page: PageRequest) -> str:
    """Return what names a message: what its page calls it, so that one which is sent again is not
    answered again.
    """
    key = page.form.get("key", "")
    return key if _KEY.fullmatch(key) else uuid.uuid4().hex


def stop_turn(page: PageRequest) -> Response:
    """Tell the turn of the viewer's chat to stop."""
    place = require_own(page)
    found = page.deps.turns.find_in(place.session)
    if found:
        page.deps.turns.stop(found, BY_SENDER)
    if page.wants_json:
        return answer_json(page, {"stopped": bool(found)})
    return redirect(page, f"/chat/{place.name}#end")


async def stream(page: PageRequest) -> Response:
    """Return the stream of a chat: what its page shows from now on."""
    place = await run_in_threadpool(find_place, page)
    live = page.deps.live
    if live is None or not page.deps.is_live:
        raise UsageError(
            "ENOENT",
            "nothing is streamed here",
            source="page",
            suggestion="ask for the state instead",
        )
    last = page.request.headers.get("last-event-id", "")
    after = _read_number(last or page.query.get("after", ""))

    parts = stream_chat(live, place.session, PageReader(page, place), after)
    return StreamingResponse(_close_after(parts), media_type=STREAM, headers=STREAM_HEADERS)


async def _close_after(parts: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Yield the parts of a stream, and end it at once where its client has gone."""
    try:
        async for part in parts:
            yield part
    except asyncio.CancelledError:
        pass
    finally:
        await parts.aclose()


def show_state(page: PageRequest) -> Response:
    """Return the whole state of a chat for a page that asks again and again; 304 where it is the
    one that the page has.
    """
    place = find_place(page)
    view = look_at(page.deps.live, place.session)
    state = read_state(page, place, view)
    view = state.view
    row = state.describe(state.find_known(_read_number(page.query.get("after", ""))))
    blocks = view.blocks if state.busy else ()
    row["words"] = {"n": view.number, "put": list(enumerate(blocks))}
    row["asks"] = view.asks if state.busy else None
    body = orjson.dumps(row)
    told = orjson.dumps({**row, "asks": row["asks"] is not None})
    tag = f'"{blake2b(told, digest_size=12).hexdigest()}"'
    headers = {"ETag": tag, "Cache-Control": "no-store"}
    if page.request.headers.get("if-none-match") == tag:
        return Response(status_code=304, headers=headers)
    return Response(body, headers=headers, media_type="application/json")


def show_file(page: PageRequest) -> Response:
    """Return a file of an answer in a chat that the viewer reads."""
    place = find_place(page)
    deps = page.deps
    found = deps.agents.find_current(place.session, deps.app).app
    id = page.path["id"]
    try:
        body = found.registry.read_file(id, found.make_caller(place.session))
    except UsageError:
        if found.is_root:
            raise
        # before the chat was bound to another agent
        body = deps.app.registry.read_file(id, deps.app.make_caller(place.session))
    return answer_file(id, body)


def show_kept(page: PageRequest) -> Response:
    """Return a file that came with a message of a chat that the viewer reads."""
    place = find_place(page)
    deps = page.deps
    app = deps.agents.find_current(place.session, deps.app).app
    files = app.open_workspace(keys.session_of(app.name, place.session))
    path = page.path["path"]
    return answer_file(path.rpartition("/")[2], files.read(path).body)


def answer_file(name: str, body: bytes) -> Response:
    """Return the answer that has a file. Pictures are shown, and an SVG that only draws; everything
    else is saved, whatever it holds.
    """
    kind = recognize(body)[0]
    headers = {"Content-Security-Policy": SANDBOX}
    if kind in PICTURES:
        return Response(body, media_type=kind, headers=headers)
    text = body[:1_000_000].decode(errors="replace")
    document = make_document(text) if "<svg" in text[:2_000] else ""
    if document:
        return Response(document.encode(), media_type=SVG, headers=headers)
    return file_response(name, body)


def list_commands(page: PageRequest) -> Response:
    """Return the commands that the viewer can use in a chat of theirs, each with its meaning."""
    app = page.deps.app
    texts = load_texts(page.language)
    role: Role = "owner" if page.viewer.role == "owner" else "member"
    reader = Reader(role, True, app.model.name != OFFLINE, app.may_listen)
    rows = [
        [name, texts.arguments.get(name, command.arguments), texts.meanings[name]]
        for name, command in COMMANDS.items()
        if command.is_of_use(reader)
    ]
    return answer_json(page, {"commands": rows})


ROUTES: tuple[PageRoute, ...] = (
    PageRoute("/chat", "GET", show_chats, PEOPLE),
    PageRoute("/commands", "GET", list_commands, PEOPLE),
    PageRoute("/chat/{name}", "GET", show_chat, PEOPLE),
    PageRoute("/chat/{name}", "POST", send_message, PEOPLE, reads_form=True, takes_files=True),
    PageRoute("/chat/{name}/stop", "POST", stop_turn, PEOPLE, reads_form=True, takes_files=True),
    PageRoute("/chat/{name}/live", "GET", stream, PEOPLE),
    PageRoute("/chat/{name}/state", "GET", show_state, PEOPLE),
    PageRoute("/chat/{name}/files/{id}", "GET", show_file, PEOPLE),
    PageRoute("/chat/{name}/kept/{path:path}", "GET", show_kept, PEOPLE),
)
PAGES: tuple[Page, ...] = (Page("Chat", "/chat", PEOPLE, {"de": "Chat", "zh": "聊天"}),)
