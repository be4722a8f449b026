"""The stream of a chat's page, read by a plain client."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from functions.agent.access.web_codes import WebCodes
from functions.agent.app import TurnStep
from functions.live_turns import COMMENT, LiveTurns
from functions.page.live import (
    ADMIT_SECONDS,
    HEARD_SECONDS,
    STREAMS_EACH,
    STREAMS_MOST,
    AskedMessage,
    LiveChats,
    LiveView,
    stream_chat,
)
from functions.personal_data import PersonalData
from functions.wiring import AgentRuntime
from functions.worker import handle_event
from sigil.errors import BackendError
from sigil.storage.kv import keys
from tests.coroutines import run_apart
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event, run_event
from tests.functions.page.browsing import Browser
from tests.functions.page.hostile import DrawnText
from tests.functions.serving import Served, serving
from tests.functions.test_live_turns import Pieces
from tests.machine import until, within
from tests.selection import thorough
from tests.servers.stores import empty_store
from tests.tables import each_row

CHAT = "web:http:admin:main"


@dataclass(frozen=True, slots=True)
class Shown:
    """An event of a stream."""

    kind: str
    id: str
    data: dict[str, Any]


class Page:
    """What a page shows that does with the events of its stream what the script does."""

    def __init__(self, events: Iterator[Shown]) -> None:
        self._events = events
        self.rows: dict[str, str] = {}
        self.order: list[str] = []
        self.gone: list[str] = []
        self.number = -1
        self.blocks: dict[int, str] = {}
        self.busy = True
        self.asks = False
        self.states = 0
        self.last = ""
        self.ended = ""

    def take(self) -> Shown:
        """Take one event, and show it."""
        shown = next(self._events)
        data = shown.data
        self.last = shown.id
        match shown.kind:
            case "state":
                self.states += 1
                self.rows.update(data["put"])
                self.order = [id for id, _ in data["ids"]]
                self.gone = [id for id, is_gone in data["ids"] if is_gone]
                self.busy = data["busy"]
                self.asks = data["asks"] is not None
                self._write(data["words"])
            case "words":
                self._write(data)
            case "asks":
                self.asks = data["asks"] is not None
            case "end" | "full":
                self.ended = shown.kind
        return shown

    def _write(self, words: dict[str, Any]) -> None:
        if words["n"] != self.number:
            self.number, self.blocks = words["n"], {}
        self.blocks.update((place, html) for place, html in words["put"])
        count = words.get("count", len(words["put"]))
        self.blocks = {place: html for place, html in self.blocks.items() if place < count}

    @property
    def words(self) -> str:
        return DrawnText("".join(self.blocks[place] for place in sorted(self.blocks))).words.strip()

    @property
    def text(self) -> str:
        return " ".join(self.rows[id] for id in self.order if id in self.rows)

    def until(self, holds: Callable[[Page], object]) -> None:
        """Take events until it holds."""
        end = time.monotonic() + within(20)
        while not holds(self):
            assert time.monotonic() < end
            self.take()


@pytest.fixture
def served(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> Iterator[Served]:
    with serving(runtime(llm_url=model.url)) as opened:
        yield opened


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    with empty_store(request.param, request, tmp_path) as setting:
        yield setting


@pytest.fixture
def browser(served: Served) -> Iterator[Browser]:
    with Browser(served.url) as opened:
        opened.sign_in()
        yield opened


@contextmanager
def look(browser: Browser, chat: str = "main", **headers: str) -> Iterator[Page]:
    """Look on at a chat over a connection of its own."""
    cookies = browser.client.cookies
    with (
        httpx.Client(base_url=browser.url, cookies=cookies, timeout=within(40)) as client,
        client.stream("GET", f"/ui/chat/{chat}/live", headers=headers) as response,
    ):
        assert response.status_code == 200
        assert response.headers["content-type"].startswith("text/event-stream")
        assert "content-encoding" not in response.headers
        yield Page(read(response))


def read(response: httpx.Response) -> Iterator[Shown]:
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        if line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value
        elif fields:
            yield Shown(fields["event"], fields["id"], json.loads(fields["data"]))
            fields = {}


def send(browser: Browser, text: str) -> None:
    assert browser.post("/chat/main", {"text": text}).status_code == 303


def test_a_turn_is_seen_while_it_goes_on(
    served: Served, browser: Browser, model: ScriptedModel
) -> None:
    pieces = Pieces("It is ", "**done**. ", "\n\nReally")
    model.then(call(("sigil_query", {"query": "something"}), text="I look."), pieces.answer())

    with look(browser) as page:
        page.take()
        assert (page.order, page.busy) == (["hello"], False)
        send(browser, "do it")
        page.until(lambda page: page.asks)
        page.until(lambda page: "c2-0" in page.order)
        pieces.let_go(0)
        page.until(lambda page: page.words == "It is")
        assert not page.asks
        assert page.order == ["m1", "m2", "c2-0"]
        pieces.let_go(1)
        page.until(lambda page: page.words == "It is done.")
        pieces.let_go(2)
        page.until(lambda page: not page.busy)
        assert page.order == ["m1", "m2", "c2-0", "m4"]
        assert "It is <strong>done</strong>." in page.rows["m4"]
        assert "2 requests" in page.rows["m4"], "what it cost is told with it"
        assert page.blocks == {}
        assert page.last == "4"


def test_whoever_comes_in_the_middle_has_all_of_it_and_whoever_goes_loses_nothing(
    browser: Browser, model: ScriptedModel
) -> None:
    pieces = Pieces("One. ", "Two. ", "Three.")
    model.then(pieces.answer())
    send(browser, "count")
    pieces.let_go(0)

    with look(browser) as first:
        first.until(lambda page: page.words == "One.")
    pieces.let_go(1)
    with look(browser) as second, look(browser) as third:
        second.until(lambda page: page.words == "One. Two.")
        assert "count" in second.text
        pieces.let_go(2)
        for page in (second, third):
            page.until(lambda page: not page.busy)
        assert second.rows["m2"] == third.rows["m2"]
        assert second.order == third.order == ["m1", "m2"]


def test_whoever_comes_again_gets_what_is_new(browser: Browser, model: ScriptedModel) -> None:
    model.then(say("one"), say("two"))
    with look(browser) as page:
        send(browser, "first")
        page.until(lambda page: not page.busy and page.order == ["m1", "m2"])
        last = page.last
    send(browser, "second")
    with look(browser, **{"last-event-id": last}) as page:
        page.until(lambda page: not page.busy and "m4" in page.rows)
        assert page.order == ["m1", "m2", "m3", "m4"]
        assert not {"m1", "m2"} & page.rows.keys(), "the page has them"


def test_words_that_were_taken_back_are_gone(browser: Browser, model: ScriptedModel) -> None:
    """An answer that rests on a failure is a draft, behind which another one comes."""
    draft, answer = Pieces("It is done."), Pieces("It failed.")
    model.then(call(("no_such_tool", {})), draft.answer(), answer.answer())

    with look(browser) as page:
        send(browser, "do it")
        page.until(lambda page: page.busy and "c2-0" in page.order)
        draft.let_go(0)
        page.until(lambda page: "m4" in page.order)
        assert "First draft, then checked" in page.rows["m4"]
        assert page.words == ""
        answer.let_go(0)
        page.until(lambda page: not page.busy)
        assert "It failed." in page.rows["m6"]


def test_what_was_written_of_an_answer_that_was_stopped_stays(
    browser: Browser, model: ScriptedModel
) -> None:
    pieces = Pieces("It is nearly ", "done.")
    model.then(pieces.answer())

    with look(browser) as page:
        send(browser, "do it")
        pieces.let_go(0)
        page.until(lambda page: page.words == "It is nearly")
        began = time.monotonic()
        browser.post("/chat/main/stop")
        page.until(lambda page: not page.busy)
        took = time.monotonic() - began
        pieces.let_go(1)

    assert took < within(0.6)
    assert page.order[-2] == "stopped"
    assert "It is nearly" in page.rows["stopped"]


def test_a_command_is_answered_in_the_stream(browser: Browser) -> None:
    with look(browser) as page:
        send(browser, "/whoami")
        page.until(lambda page: not page.busy and "http:admin" in page.text)
        assert [id[0] for id in page.order] == ["q", "n"]


def test_what_another_process_does_is_seen(
    browser: Browser,
    runtime: Callable[..., AgentRuntime],
    model: ScriptedModel,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    model.then(say("from afar"), say("while nobody looked"))
    other = runtime(llm_url=model.url)
    with look(browser) as page:
        page.take()
        run_event(other, event("hello", session=CHAT, sender="http:admin"))
        began = time.monotonic()
        page.until(lambda page: "from afar" in page.text)
        # the head of a chat at which somebody looks is read once a second
        assert time.monotonic() - began < within(3)

    # nor is what was shown before shown again, once the chat was forgotten
    monkeypatch.setattr("functions.page.live.HEARD_SECONDS", 0.0)
    run_event(other, event("and again", session=CHAT, sender="http:admin"))
    for chat in ("another", "main"):
        with look(browser, chat) as page:
            page.take()
    assert "while nobody looked" in page.text


@pytest.mark.parametrize("store", ["sqlite", *thorough("redis", "dynamodb")], indirect=True)
def test_the_words_of_another_process_come_as_well(
    store: str, runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    """Where somebody looks on; they are gone with the process that wrote them."""
    pieces = Pieces("It is ", "**done**. the-key-of-the-model ", "Really.")
    model.then(say("first"), pieces.answer())
    other = runtime(llm_url=model.url, llm_key="the-key-of-the-model", store=store)
    session = keys.session_of("main", CHAT)
    kv = other.stores.kv
    handle_event(event("unseen", session=CHAT, sender="http:admin"), other)
    assert not kv.get(keys.shared_words(session)), "nobody has looked on"

    with serving(runtime(llm_url=model.url, store=store)) as served, Browser(served.url) as browser:
        browser.sign_in()
        with look(browser) as page:
            page.take()
            until(lambda: kv.get(keys.watched_chat(session)), "the chat is marked")
            asked = event("do it", session=CHAT, sender="http:admin")
            turn = threading.Thread(target=handle_event, args=(asked, other), daemon=True)
            turn.start()
            page.until(lambda page: page.asks)
            for place, words in enumerate(("It is", "It is done. {{UNCAGED_LLM_KEY}}")):
                pieces.let_go(place)
                began = time.monotonic()
                page.until(lambda page, words=words: page.words == words)  # type: ignore[misc]
                assert time.monotonic() - began < within(3), "each is written and read in a second"
            # whoever is killed takes nothing back, and what is damaged is nobody's words
            shown = kv.get(keys.shared_words(session))
            assert shown
            damaged = {**json.loads(shown.value), "asked": "nan", "text": [["word"]]}
            kv.put(keys.shared_words(session), json.dumps(damaged).encode())
            page.until(lambda page: page.words == "" and page.busy)
            pieces.let_go(2)
            page.until(lambda page: not page.busy)
            turn.join()
            assert page.blocks == {}
            assert page.order == ["m1", "m2", "m3", "m4"]


def test_too_many_are_told_to_ask_again_and_again(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("functions.page.live.STREAMS_EACH", STREAMS_MOST)
    with ExitStack() as stack:
        pages = [stack.enter_context(look(browser)) for _ in range(STREAMS_MOST)]
        for page in pages:
            page.take()
        with look(browser) as late:
            late.take()
            assert late.ended == "full"
        assert browser.get_json("/chat/main/state").status_code == 200
    until(lambda: _is_let_in(browser), "a place is free again")


def test_one_person_leaves_streams_for_the_others(
    served: Served, browser: Browser, model: ScriptedModel
) -> None:
    codes = WebCodes(served.runtime.stores.kv, "main", served.runtime.app.clock.now)
    served.runtime.app.people.let_in("telegram:66", "member", "Ada", "test")
    with ExitStack() as stack:
        ada = stack.enter_context(Browser(served.url))
        ada.sign_in(codes.make("telegram:66", "member"))
        pages = [stack.enter_context(look(ada, f"c{each}")) for each in range(STREAMS_EACH)]
        for page in pages:
            page.take()
        late = stack.enter_context(look(ada))
        late.take()
        assert late.ended == "full"
        assert _is_let_in(browser)


@each_row("how", ["signed out", "shown the door", "made a member"])
def test_a_stream_ends_with_its_sign_in(served: Served, model: ScriptedModel, how: str) -> None:
    """Nothing that is written afterwards is sent to it, nor what is no longer theirs to see."""
    app = served.runtime.app
    for who in ("telegram:66", "telegram:42"):
        app.people.let_in(who, "owner", "Ada", "test")
    run_event(served.runtime, event("the owners' talk", session="telegram:42"))
    codes = WebCodes(served.runtime.stores.kv, "main", app.clock.now)
    pieces = Pieces("It is ", f"secret: {how}.")
    model.then(pieces.answer())
    with Browser(served.url) as browser:
        browser.sign_in(codes.make("telegram:66", "owner"))
        with look(browser) as page:
            send(browser, "do it")
            pieces.let_go(0)
            page.until(lambda page: page.words == "It is")
            assert "the owners" in page.rows["chats"]
            if how == "signed out":
                browser.post("/logout")
            elif how == "made a member":
                app.people.change_role("telegram:66", "member")
            else:
                app.people.remove_member("telegram:66")
            time.sleep(ADMIT_SECONDS)  # so long it may still send what comes
            pieces.let_go(1)
            page.until(lambda page: page.ended)
            assert page.ended == "end"
            assert how not in page.words + page.text
        if how == "made a member":
            with look(browser) as page:
                page.take()
                assert "the owners" not in page.rows["chats"]


def test_a_stream_brings_nothing_back_of_whoever_was_erased(
    served: Served, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before it is looked whether its sign-in is over."""
    monkeypatch.setattr("functions.page.live.ADMIT_SECONDS", 60.0)
    monkeypatch.setattr("functions.page.chat_cache.MARKS_SECONDS", 0.0)
    app = served.runtime.app
    app.people.let_in("telegram:66", "member", "Ada", "test")
    pieces = Pieces("It is ", "done.")
    model.then(pieces.answer())
    with Browser(served.url) as browser:
        codes = WebCodes(served.runtime.stores.kv, "main", app.clock.now)
        browser.sign_in(codes.make("telegram:66", "member"))
        with look(browser) as page:
            send(browser, "do it")
            pieces.let_go(0)
            page.until(lambda page: page.words == "It is")
            data = PersonalData(app, served.runtime.stores.artifacts)
            data.erase(data.find("telegram:66"))
            page.until(lambda page: not page.busy)
            pieces.let_go(1)
    assert not served.runtime.stores.kv.get(keys.web_seen("main", "telegram:66"))


def test_a_long_answer_is_drawn_beside_everything_else(served: Served) -> None:
    """While one thread draws it, words are added and others look; it is not drawn all the time."""
    live = LiveChats(LiveTurns(), served.runtime.stores.kv, "main")
    watcher = live.watch(CHAT, lambda: None)
    turn = event("do it", session=CHAT)
    for step in (TurnStep("ask"), TurnStep("words", text="a|b\n-|-\n" + "x\n" * 6_000)):
        live.note_step(turn, step)
    slow = threading.Thread(target=live.look, args=(CHAT,))
    slow.start()
    until(live._chats[CHAT].words._drawing.locked)  # type: ignore[union-attr]
    live.note_step(turn, TurnStep("words", text="y\n"))
    assert live.look(CHAT).lags
    assert slow.is_alive()
    slow.join()
    assert live.look(CHAT).lags, "it rests before it draws again"
    live.leave(CHAT, watcher)


def test_what_nobody_looks_at_is_forgotten(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever asks again and again looks on as well."""
    clock = Seconds()
    monkeypatch.setattr("functions.page.live.time", clock)
    live = LiveChats(LiveTurns(), served.runtime.stores.kv, "main")
    for name in ("web:a:1", "web:a:2"):
        live.expect(name, AskedMessage("e", "hello", clock.time()))
    clock.now += HEARD_SECONDS - 1
    assert live.look("web:a:1").asked
    clock.now += 2
    live.expect("web:a:3", AskedMessage("e", "hello", clock.time()))
    assert live.look("web:a:1").asked
    assert live.look("web:a:2") == LiveView()
    assert live.hears_words(event("hi", session="web:a:1"))
    assert not live.hears_words(event("hi", session="web:a:2"))


def test_a_stream_outlives_a_store_that_is_away(
    served: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It says so, looks again by itself, and ends where nobody can tell who looks."""
    monkeypatch.setattr("functions.page.live.LOOK_SECONDS", 0.01)
    monkeypatch.setattr("functions.page.live.ADMIT_SECONDS", 0.0)
    monkeypatch.setattr("functions.page.live.COMMENT_SECONDS", 0.01)
    live = LiveChats(LiveTurns(), served.runtime.stores.kv, "main")

    async def take() -> list[str]:
        parts = [part async for part in stream_chat(live, CHAT, AwayReader())]
        others = asyncio.all_tasks() - {asyncio.current_task()}
        await asyncio.gather(*others)
        return [part.partition(b"\n")[0].decode() for part in parts if part != COMMENT]

    assert run_apart(take()) == ["event: problem", "event: state", "event: end"]


@dataclass
class AwayReader:
    """The store fails at the first look at a chat, and at the third look at who asks."""

    looks: int = 0
    who: str = "telegram:66"
    busy: bool = False
    seq: int = 0

    def is_admitted(self) -> bool:
        self.looks += 1
        if self.looks == 3:
            raise BackendError("ESTORE", "it is away")
        return True

    def read_state(self, view: LiveView) -> AwayReader:
        if self.looks == 1:
            raise BackendError("ESTORE", "it is away")
        return self

    def read_chats(self) -> str:
        return ""

    def describe(self, known: Mapping[str, str]) -> dict[str, object]:
        return {}

    def digest(self) -> dict[str, str]:
        return {}

    def find_known(self, after: int) -> dict[str, str]:
        return {}


@dataclass
class Seconds:
    """A clock that a test moves."""

    now: float = 1_000.0

    def time(self) -> float:
        return self.now

    monotonic = time


def _is_let_in(browser: Browser) -> bool:
    with look(browser) as page:
        return page.take().kind == "state"


def test_the_streams_end_with_the_server(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    ended: list[str] = []

    def watch(browser: Browser) -> None:
        with look(browser) as page:
            page.take()
            looking.release()
            page.until(lambda page: page.ended)
            ended.append(page.ended)

    looking = threading.Semaphore(0)
    with serving(runtime(llm_url=model.url)) as served, Browser(served.url) as browser:
        browser.sign_in()
        threads = [threading.Thread(target=watch, args=(browser,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        for _ in threads:
            assert looking.acquire(timeout=within(20))
        began = time.monotonic()
    # a server that stops would wait for its streams as long as it lets requests take
    assert time.monotonic() - began < within(2)
    for thread in threads:
        thread.join()
    assert ended == ["end"] * 8


def test_nobody_looks_on_who_may_not(served: Served, browser: Browser) -> None:
    run_event(served.runtime, event("a secret", session="telegram:7", sender="telegram:7"))
    assert browser.get("/chat/~dGVsZWdyYW06Nw/live").status_code == 404
    with Browser(served.url) as stranger:
        assert stranger.get("/chat/main/live").status_code == 303
        assert stranger.get_json("/chat/main/state").status_code == 401
