"""The state of a chat as its page shows it: the rows of its talk, the working set, and whether a
turn is at work. The page, its stream and whoever polls get the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b
from html import escape
from typing import Final

from markupsafe import Markup

from functions.agent.app import App
from functions.agent.runs.run import load_runs
from functions.agent.session.document import Document, Turn
from functions.agent.session.store import SessionHandle
from functions.metrics.turn_numbers import read_numbers
from functions.page.access.reach import require_chat
from functions.page.chat.chat_list import ListedChat, list_chats
from functions.page.chat.talk import Said, Talk, load_talk
from functions.page.chat.working_set import WorkingSet, read_working_set
from functions.page.chat_cache import TITLE_CHARACTERS
from functions.page.frame import PageDeps, PageRequest
from functions.page.live import AskedMessage, LiveChats, LiveView, show_shared
from functions.page.markdown import render
from functions.page.words.chat_words import ChatWords, load_words
from functions.prices import format_money
from sigil.errors import SigilError, UsageError
from sigil.http.page.filters import write_duration
from sigil.storage.kv import keys

NOTES_MOST: Final = 20
"""So many answers to commands are shown, the last ones."""
NOTES_READ: Final = 200
SAME_CHARACTERS: Final = 40
"""An answer of so many characters is told by its beginning from what commands answer."""
DIGEST_BYTES: Final = 6
RAIL, LINE, CHATS = "rail", "line", "chats"
"""The parts of a state beside its rows."""


@dataclass(frozen=True, slots=True)
class ChatPlace:
    """A chat at which a page looks: its session, its name in addresses, and whether it is one in
    which the viewer writes here. `before` is the number of a message: what stands before is shown.
    """

    session: str
    name: str
    is_own: bool
    before: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the talk: its id, its HTML, the number of its message (0 without one), and whether
    it has left the model's window.
    """

    id: str
    html: str
    seq: int = 0
    is_gone: bool = False

    @property
    def shown(self) -> Markup:
        """Return the row as the page has it."""
        html = self.html.replace('class="', 'class="gone ', 1) if self.is_gone else self.html
        return Markup(html)  # made by templates, which escape


@dataclass(frozen=True, slots=True)
class ChatState:
    """What is shown of a chat. `seq` is the number of the last message of a turn that is over,
    and `first` that of the first message that is shown. `doubt`: the answer may be checked. `view`
    is what its turn shows, in whatever process it runs.
    """

    rows: tuple[Row, ...]
    rail: Markup
    line: str
    chats: Markup
    title: str
    busy: bool
    seq: int
    first: int
    doubt: bool
    key: str
    head: str | None
    document: Document = field(repr=False)
    items: tuple[Said, ...] = field(repr=False)
    working_set: WorkingSet = field(repr=False)
    view: LiveView = field(repr=False)
    digests: Mapping[str, str] = field(repr=False, default_factory=dict)

    def digest(self) -> dict[str, str]:
        """Return the digests of the parts, by their names."""
        return dict(self.digests)

    def find_known(self, after: int) -> dict[str, str]:
        """Return the digests of the rows that a page has which saw all messages to a number."""
        return {row.id: self.digests[row.id] for row in self.rows if 0 < row.seq <= after}

    def describe(self, known: Mapping[str, str]) -> dict[str, object]:
        """Return the state without the parts whose digests are `known`."""
        parts = {**{row.id: row.html for row in self.rows}, **self._parts()}
        return {
            "ids": [[row.id, row.is_gone] for row in self.rows],
            "put": {
                name: html for name, html in parts.items() if known.get(name) != self.digests[name]
            },
            "busy": self.busy,
            "doubt": self.doubt,
            "seq": self.seq,
            "first": self.first,
            "title": self.title,
        }

    def _parts(self) -> dict[str, str]:
        return {RAIL: str(self.rail), LINE: self.line, CHATS: str(self.chats)}

    def with_digests(self) -> ChatState:
        """Return the state with the digests of its parts."""
        parts = {**{row.id: row.html for row in self.rows}, **self._parts()}
        return replace(self, digests={name: _digest(html) for name, html in parts.items()})


def _digest(html: str) -> str:
    return blake2b(html.encode(errors="replace"), digest_size=DIGEST_BYTES).hexdigest()


def read_state(page: PageRequest, place: ChatPlace, view: LiveView) -> ChatState:
    """Return the state of a chat for the viewer of a request, with what `view` shows of its turn.
    `BackendError` when the store fails.
    """
    deps = page.deps
    words = load_words(page.language)
    app = deps.agents.find_current(place.session, deps.app).app
    key = keys.session_of(app.name, place.session)
    opened = app.sessions.open(key)
    document = opened.document
    if not (view.is_fed or place.before):
        view = _look_elsewhere(deps, opened, view)
    runs = load_runs(deps.kv, [(app.name, run) for run in document.runs])
    talk = load_talk(
        app.sessions,
        key,
        document,
        runs=runs,
        redact=app.redact,
        before=place.before,
        progress=view.progress,
    )
    working_set = read_working_set(key, document, app, talk.left)
    notes = [] if place.before else _list_notes(deps, place.session, talk)
    items = _merge(talk.items, notes)
    has_turn = document.turn is not None
    asked = [each for each in view.asked if not _has_begun(each.event, document)]
    drawing = _Drawing(page, place, words, app)
    rows = drawing.draw_talk(talk, items)
    if view.stopped and rows:
        rows.insert(len(rows) - 1, Row("stopped", drawing.draw_stopped(view.stopped)))
    rows += [Row(f"p-{each.event}", drawing.draw_asked(each, waits=has_turn)) for each in asked]
    if not rows:
        rows = [Row("hello", drawing.draw_hello())]
    first = next((item.text for item in items if item.kind == "own"), "")
    begin = first or next((each.text for each in asked), "")
    # what is left of a chat whose person was erased is no chat that somebody looks at
    if document.turn is None and (items or not document.erased):
        last = max((item.at for item in items), default=0.0)
        with suppress(SigilError):  # a store that only reads still shows what was said
            deps.chats.note_look(deps.app, page.viewer.person, place.session, last)
    listed = list_chats(page, place.session, " ".join(begin.split())[:TITLE_CHARACTERS])
    state = ChatState(
        rows=tuple(rows),
        rail=drawing.draw_rail(working_set),
        line=_write_line(working_set, words),
        chats=drawing.draw_chats(listed),
        title=_find_title(listed, place),
        busy=has_turn or bool(asked),
        seq=_find_last_closed(document),
        first=talk.first,
        doubt=document.turn is not None and _may_verify(document.turn),
        key=key,
        head=opened.version,
        document=document,
        items=tuple(items),
        working_set=working_set,
        view=view,
    ).with_digests()
    if deps.live is not None and not place.before:
        deps.live.note_head(place.session, key, opened.version)
    return state


def _look_elsewhere(deps: PageDeps, opened: SessionHandle, view: LiveView) -> LiveView:
    """Return a view with what a turn of another process shows, for a page that asks again and
    again, and tell such turns that it does.
    """
    deps.chats.mark_watched(deps.kv, opened.key, deps.live.watcher if deps.live else "page")
    if opened.document.turn is None:
        return view
    return show_shared(deps.kv, opened.key, opened.version, view)


def _has_begun(event: str, document: Document) -> bool:
    """Return whether the turn of a message has begun, or is over."""
    turn = document.turn
    return event in document.seen or (turn is not None and turn.event.id == event)


def _may_verify(turn: Turn) -> bool:
    """Return whether the answer of a turn may be checked, because its last call failed."""
    rows = [row for row in turn.trace if row["kind"] in ("call", "verify")]
    is_checked = any(row["kind"] == "verify" for row in rows)
    return bool(rows) and not is_checked and bool(rows[-1].get("fingerprint"))


def _find_last_closed(document: Document) -> int:
    """Return the number of the last message of a turn that is over."""
    if document.turn is None:
        return document.next_seq - 1
    start = document.find_turn_start()
    if start < len(document.messages):
        return max(document.messages[start].seq - 1, 0)
    return document.next_seq - 1


def _list_notes(deps: PageDeps, session: str, talk: Talk) -> list[Said]:
    """Return what was answered in a chat beside its history: the answers to commands, and what was
    said below an answer.
    """
    if not session.startswith(("web:", "http:", "terminal:")):
        return []
    key = deps.app.name_chat(session)
    unread = deps.replies.unread.list_from(key, limit=NOTES_READ)[-NOTES_MOST:]
    answers = [item for item in talk.items if item.kind == "answer" and item.text]
    by_event = {item.run.event: item for item in answers if item.run}
    notes: list[Said] = []
    for name, reply in unread:
        answer = by_event.get(reply.event) or _find_same(reply.text.strip(), answers)
        text = _find_more(reply.text, answer.text) if answer else reply.text.strip()
        # what comes before the first message that is shown was said in an earlier part
        is_before = talk.first > 1 and reply.at < talk.messages[0].at
        if not text or (is_before and not answer):
            continue
        command = deps.chats.find_command(reply.event)
        if command:
            notes.append(Said(f"q{name}", "own", 0, command, reply.at))
        id = f"{answer.id}+{name}" if answer else f"n{name}"
        shown = deps.app.redact(text)
        notes.append(Said(id, "answer", 0, shown, reply.at, is_aside=answer is not None))
    return notes


def drop_answered(deps: PageDeps, session: str) -> None:
    """Forget the replies of a chat that stand in its history: what is answered beside it, such as
    to a command, stays, of that the last `NOTES_MOST`. `BackendError` when the store fails.
    """
    unread = deps.replies.unread
    found = unread.list_from(deps.app.name_chat(session))
    if not found:
        return
    app = deps.agents.find_current(session, deps.app).app
    document = app.sessions.open(keys.session_of(app.name, session)).document
    runs = load_runs(deps.kv, [(app.name, run) for run in document.runs])
    asked = {run.event for run in runs if run.requests}
    kept = [name for name, reply in found if reply.event not in asked][-NOTES_MOST:]
    names = [name for name, _ in found if name not in kept]
    unread.drop(deps.app.name_chat(session), names)


def _find_same(text: str, answers: Sequence[Said]) -> Said | None:
    """Return the answer that a reply begins with, of a turn whose run is not known any more, or
    that took up several messages.
    """
    for answer in reversed(answers):
        is_long = len(answer.text) >= SAME_CHARACTERS
        if text == answer.text or (is_long and text.startswith(answer.text)):
            return answer
    return None


def _find_more(text: str, answer: str) -> str:
    """Return what a reply says beside the answer that stands in the history."""
    before, _, after = text.strip().partition(answer.strip())
    more = "\n\n".join(filter(None, (before.strip(), after.strip())))
    # the picture of a call stands below its answer
    return "" if more.startswith("```svg") and more.endswith("```") else more


def _merge(items: Sequence[Said], notes: Sequence[Said]) -> list[Said]:
    """Return the items with the notes where they were written: those to an answer below it, others
    by their time.
    """
    merged = list(items)
    for note in notes:
        above = note.id.partition("+")[0]
        places = [place for place, item in enumerate(merged) if item.id == above]
        if note.is_aside and places:
            merged.insert(places[-1] + 1, note)
            continue
        later = (place for place, item in enumerate(merged) if item.at > note.at)
        merged.insert(next(later, len(merged)), note)
    return merged


def _find_title(listed: Sequence[ListedChat], place: ChatPlace) -> str:
    """Return the name of a chat for people."""
    return next((chat.title for chat in listed if chat.session == place.session), place.session)


def _write_line(found: WorkingSet, words: ChatWords) -> str:
    used = f"{found.used:,}"
    text = words.tools_line_one if found.count == 1 else words.tools_line
    return text.format(count=found.count, tokens=used)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """Draws the rows of one chat in the viewer's language."""

    page: PageRequest
    place: ChatPlace
    words: ChatWords
    app: App

    def draw_talk(self, talk: Talk, items: Sequence[Said]) -> list[Row]:
        """Return the rows of a talk, with the line above which everything has left."""
        rows: list[Row] = []
        if talk.has_earlier:
            rows.append(Row("earlier", self._draw("chat_earlier.html", first=talk.first)))
        gone = [place for place, item in enumerate(items) if item.is_gone]
        for place, item in enumerate(items):
            if gone and place == gone[-1] + 1:
                rows.append(Row("window", self._draw_window(len(talk.left))))
            rows.append(Row(item.id, self._draw_item(item), item.seq, item.is_gone))
        if gone and gone[-1] + 1 == len(items):
            rows.append(Row("window", self._draw_window(len(talk.left))))
        return rows

    def draw_rail(self, found: WorkingSet) -> Markup:
        """Return the working set."""
        total = max(found.window, 1)
        bars: list[tuple[str, float, float]] = []
        start = 0.0
        for name, size in found.parts:
            width = min(size / total, 1.0 - start) * 1_000
            bars.append((name, start * 1_000, width))
            start = min(start + size / total, 1.0)
        parts = [(name, getattr(self.words, f"part_{name}"), size) for name, size in found.parts]
        return Markup(self._draw("chat_rail.html", found=found, bars=bars, parts=parts))

    def draw_chats(self, listed: Sequence[ListedChat]) -> Markup:
        """Return the list of chats."""
        here = self.place.session
        return Markup(self._draw("chat_list.html", listed=listed, here=here))

    def draw_stopped(self, blocks: Sequence[str]) -> str:
        """Return the words of an answer that was given up."""
        return self._draw("chat_stopped.html", body=Markup("".join(blocks)))

    def draw_asked(self, asked: AskedMessage, *, waits: bool) -> str:
        """Return a message whose turn has not begun; it `waits` for another one."""
        return self._draw("chat_asked.html", asked=asked, waits=waits)

    def draw_hello(self) -> str:
        """Return what stands in a chat in which nothing was said."""
        return self._draw("chat_hello.html")

    def _draw_window(self, tools: int) -> str:
        text = self.words.window_left
        if tools:
            text = self.words.window_left_one if tools == 1 else self.words.window_left_tools
        text = escape(text.format(count=tools))
        return f'<li class="window" id="window"><span>{text}</span></li>'

    def _draw_item(self, item: Said) -> str:
        here = self.place
        # its addresses, and whether it can be asked again, differ from viewer to viewer
        place = (here.session, here.name, here.is_own, self.page.language, self.page.base, item.id)
        bare = replace(item, is_gone=False)
        return self.page.deps.chats.draw_row(place, bare, lambda: self._draw_new(bare))

    def _draw_new(self, item: Said) -> str:
        body = render(item.text) if item.kind in ("answer", "said") else item.text
        return self._draw("chat_item.html", item=item, body=body, cost=self._write_cost(item))

    def _write_cost(self, item: Said) -> str:
        run = item.run
        if run is None or not run.requests:
            return ""
        words = self.words
        numbers = read_numbers(run)
        count = words.requests_one if numbers.requests == 1 else words.requests
        tokens = words.cost_tokens.format(
            prompt=f"{numbers.prompt_tokens:,}", completion=f"{numbers.completion_tokens:,}"
        )
        parts = [count.format(count=numbers.requests), tokens, write_duration(numbers.seconds)]
        if numbers.cost:
            parts.append(format_money(numbers.cost, self.app.currency))
        return " · ".join(parts)

    def _draw(self, template: str, **values: object) -> str:
        shared = {
            "words": self.words,
            "url": self.page.url,
            "chat": f"/chat/{self.place.name}",
            "place": self.place,
        }
        return self.page.site.render_text(template, {**shared, **values}).strip()


@dataclass(frozen=True, slots=True)
class PageReader:
    """Reads for the stream of a page what it shows."""

    page: PageRequest
    place: ChatPlace

    @property
    def who(self) -> str:
        """Return the id of the person who looks."""
        return self.page.viewer.person

    def is_admitted(self) -> bool:
        """Return whether the sign-in of the page is still what it was, and may read the chat."""
        page = self.page
        viewer = page.site.parts.visitors.find_viewer(page.request)
        if viewer is None or (viewer.person, viewer.role) != (self.who, page.viewer.role):
            return False
        if self.place.is_own:
            return True
        try:
            return require_chat(page, self.place.session) == "texts"
        except UsageError:
            return False

    def read_state(self, view: LiveView) -> ChatState:
        """Return the state of the chat: one for all streams of its viewer, as long as what they
        wait for has not changed.
        """
        page, place = self.page, self.place
        viewer = page.viewer  # what else there is beside the chat goes by the role
        key = (place, page.language, viewer.person, viewer.role, page.base)
        read = partial(read_state, page, place, view)
        return page.deps.chats.find_state(key, view.version, read)

    def read_chats(self) -> str:
        """Return the list of chats."""
        words = load_words(self.page.language)
        drawing = _Drawing(self.page, self.place, words, self.page.deps.app)
        return str(drawing.draw_chats(list_chats(self.page, self.place.session)))


def look_at(live: LiveChats | None, session: str) -> LiveView:
    """Return what a chat's turn shows in this process; nothing where no turn runs in it."""
    return live.look(session) if live else LiveView()


def describe_items(state: ChatState) -> dict[str, object]:
    """Return a chat as programs get it."""
    shown = state.working_set
    return {
        "title": state.title,
        "busy": state.busy,
        "items": [_describe_item(item) for item in state.items],
        "working_set": {
            "used": shown.used,
            "window": shown.window,
            "parts": dict(shown.parts),
            "tools": [
                {
                    "tool": tool.tool,
                    "tokens": tool.tokens,
                    "query": tool.query,
                    "calls": tool.calls,
                    "leaves": tool.leaves,
                }
                for tool in shown.tools
            ],
            "left": [tool.tool for tool in shown.left],
        },
    }


def _describe_item(item: Said) -> dict[str, object]:
    row: dict[str, object] = {"id": item.id, "kind": item.kind, "at": item.at}
    for name in ("text", "who", "is_gone", "is_draft"):
        value = getattr(item, name)
        if value:
            row[name] = value
    if item.call:
        call = item.call
        row["call"] = {
            "name": call.name,
            "arguments": call.arguments,
            "result": call.result,
            "state": call.state,
            "error": call.error,
            "loads": list(call.loads),
            "ms": call.ms,
        }
    if item.files:
        row["files"] = [{"name": each.name, "id": each.id} for each in item.files]
    if item.run:
        row["run"] = item.run.id
    return row
