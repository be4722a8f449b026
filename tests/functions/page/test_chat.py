"""The pages of chats over HTTP, as a browser without a script sees them."""

from __future__ import annotations

import json
import re
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator

import pytest

from functions.agent.access.web_codes import WebCodes
from functions.agent.conversation.messages import Message, ToolCall, make_inbox
from functions.agent.session.document import Document
from functions.channels.visible_text import clean_text
from functions.page import chat_cache
from functions.wiring import AgentRuntime
from sigil.protocol import KeptFile
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.talk import event, run_event
from tests.functions.page.browsing import Browser
from tests.functions.page.hostile import HOSTILE
from tests.functions.page.markup import list_faults
from tests.functions.serving import Served, serving
from tests.machine import until
from tests.pictures import make_png

JSON = {"accept": "application/json", "sec-fetch-site": "same-origin"}


@pytest.fixture
def served(runtime: Callable[..., AgentRuntime], model: ScriptedModel) -> Iterator[Served]:
    with serving(runtime(llm_url=model.url)) as opened:
        yield opened


@pytest.fixture
def browser(served: Served) -> Iterator[Browser]:
    with Browser(served.url) as opened:
        opened.sign_in()
        yield opened


def ask(browser: Browser, text: str, chat: str = "main") -> None:
    """Send a message, and wait until its turn is over."""
    sent = browser.post(f"/chat/{chat}", {"text": text})
    assert (sent.status_code, sent.headers["location"]) == (303, f"/ui/chat/{chat}#end")
    until(lambda: not read(browser, chat)["busy"])


def read(browser: Browser, chat: str = "main") -> dict[str, object]:
    return browser.get_json(f"/chat/{chat}").json()


def texts(browser: Browser, chat: str = "main") -> list[str]:
    return [item.get("text", "") for item in read(browser, chat)["items"]]  # type: ignore[attr-defined]


def test_a_message_is_sent_and_answered_without_a_script(
    browser: Browser, model: ScriptedModel
) -> None:
    model.then(call(("sigil_query", {"query": "something"})), say("It is **done**."))
    assert browser.get("/").headers["location"] == "/ui/chat"
    assert browser.get("/chat").headers["location"] == "/ui/chat/main"
    empty = browser.get("/chat/main").text
    assert "What shall it do?" in empty

    ask(browser, "do it <now>")
    page = browser.get("/chat/main").text
    assert "do it &lt;now&gt;</div>" in page
    assert "It is <strong>done</strong>." in page
    assert re.search(r'<li class="call done" id="c2-0".*?<b>sigil_query</b>', page, re.DOTALL)
    assert re.search(r'<a class="cost" href="/ui/runs/[^"]+web%3A[^"]+">2 requests · ', page)
    assert "<span>do it &lt;now&gt;</span>" in page, "its first words name the chat"
    assert "http-equiv" not in page, "nothing is waited for"


def test_what_was_written_is_kept_where_it_cannot_be_sent(browser: Browser) -> None:
    nothing = browser.post("/chat/main", {"text": "  "})
    long = browser.post("/chat/main", {"text": "long words " * 10_000})

    assert (nothing.status_code, long.status_code) == (400, 400)
    assert "write something, or attach a file" in nothing.text
    refused = browser.post("/chat/main", {"text": ""}, JSON).json()
    assert refused["error"]["code"] == "EINVAL"


def test_a_message_that_is_sent_again_is_answered_once(
    browser: Browser, model: ScriptedModel
) -> None:
    model.then(say("once"), say("twice"))
    for _ in range(2):
        sent = browser.post("/chat/main", {"text": "hi", "key": "a" * 32}, JSON)
        assert sent.json() == {"event": f"web:{'a' * 32}"}
        until(lambda: "once" in texts(browser))
    ask(browser, "and now")

    assert texts(browser) == ["hi", "once", "and now", "twice"]


def test_commands_and_their_answers_stay_where_they_were(
    browser: Browser, model: ScriptedModel
) -> None:
    model.then(say("a"), say("done"))
    ask(browser, "begin")
    browser.post("/chat/main", {"text": "/whoami"})
    until(lambda: len(texts(browser)) == 4)

    ask(browser, "go on")
    begin, first, command, answer, *rest = texts(browser)
    assert (begin, first, command, rest) == ("begin", "a", "/whoami", ["go on", "done"])
    assert "http:admin" in answer
    listed = browser.get_json("/commands").json()["commands"]
    assert ["new", "", "starts a new conversation; what I remember stays"] in listed


def test_files_go_with_a_message_and_are_shown_to_their_chat_alone(
    served: Served, browser: Browser, model: ScriptedModel
) -> None:
    model.then(say("a picture"))
    picture = make_png()
    drawn = b'<svg xmlns="http://www.w3.org/2000/svg"><rect width="4" height="4"/></svg>'
    hidden = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'
    files = [
        ("file", (name, body, "image/png"))
        for name, body in (("a.png", picture), ("b.svg", drawn), ("c.svg", hidden))
    ]
    browser.post("/chat/main", {"text": "look"}, files=files)
    until(lambda: "a picture" in texts(browser))

    page = browser.get("/chat/main").text
    kept = re.findall(r'href="/ui(/chat/main/kept/[^"]+)"', page)
    assert len(kept) == 3
    answers = [browser.get(path) for path in kept]
    assert answers[0].headers["content-type"] in ("image/png", "image/jpeg")
    assert answers[1].headers["content-type"] == "image/svg+xml"
    assert answers[1].headers["content-security-policy"].startswith("sandbox;")
    # what does more than draw is saved, and no page
    assert answers[2].headers["content-disposition"].startswith("attachment")
    assert answers[2].headers["content-type"] != "image/svg+xml"
    other = kept[0].replace("/main/", "/other/")
    assert browser.get(other).status_code == 404
    assert browser.get(kept[0].replace("/main/kept/", "/main/kept/../../")).status_code == 404
    assert browser.get(f"/chat/main/files/{'0' * 64}").status_code == 404
    with Browser(served.url) as stranger:
        assert stranger.get(kept[0]).headers["location"] == "/ui/login"


def test_the_state_is_sent_anew_only_where_it_has_changed(
    browser: Browser, model: ScriptedModel
) -> None:
    model.then(say("one"), say("two"))
    ask(browser, "first")
    state = browser.get("/chat/main/state")
    tag = state.headers["etag"]
    assert [id for id, _ in state.json()["ids"]] == ["m1", "m2"]
    assert browser.get("/chat/main/state", **{"if-none-match": tag}).status_code == 304

    ask(browser, "second")
    after = browser.get("/chat/main/state?after=2", **{"if-none-match": tag})
    assert after.status_code == 200
    assert [id for id, _ in after.json()["ids"]] == ["m1", "m2", "m3", "m4"]
    assert {"m3", "m4", "rail"} <= after.json()["put"].keys()
    assert not {"m1", "m2"} & after.json()["put"].keys()


def test_a_turn_is_stopped(browser: Browser, model: ScriptedModel) -> None:
    from tests.functions.test_live_turns import Pieces

    pieces = Pieces("It is ", "nearly ", "done.")
    model.then(pieces.answer())
    browser.post("/chat/main", {"text": "do it"})
    until(lambda: len(model.chats) == 1)
    # without a script; to an address that differs from this one in more than its #end
    looks = re.compile(r'http-equiv="refresh" content="2; url=/ui(/chat/main\?look=\d)#end"')
    [next] = looks.findall(browser.get("/chat/main").text)
    looked = browser.get(next).text
    assert looks.findall(looked) not in ([], [next])
    assert "<textarea" not in looked, "the next look would take what is typed along"
    [writes] = re.findall(r'href="/ui(/chat/main\?write=1)#text"', looked)
    assert "<textarea" in browser.get(writes).text
    assert "http-equiv" not in browser.get(writes).text
    pieces.let_go(0)
    until(lambda: browser.post("/chat/main/stop", {}, JSON).json() == {"stopped": True})
    until(lambda: not read(browser)["busy"])
    pieces.let_go(1, 2)

    assert "Stopped" in texts(browser)[-1]
    assert browser.post("/chat/main/stop", {}).headers["location"] == "/ui/chat/main#end"


def test_an_owner_reads_the_chats_of_platforms_and_writes_in_none_of_them(
    served: Served, browser: Browser, model: ScriptedModel
) -> None:
    model.then(say("hello group"), say("hello you"))
    app = served.runtime
    run_event(app, event("hi all", session="telegram:-100", private=False))
    run_event(app, event("my secret", session="telegram:7", sender="telegram:7"))
    ask(browser, "mine")

    page = browser.get("/chat/main").text
    [group] = re.findall(r'href="/ui(/chat/~[^"]+)"', page)
    shown = browser.get(group)
    assert "hi all" in shown.text
    assert '<form class="say"' not in shown.text
    assert browser.post(group, {"text": "hi"}).status_code == 404
    # what somebody says in private is theirs
    private = urlsafe_b64encode(b"telegram:7").decode().rstrip("=")
    assert "my secret" not in page
    for name in (f"~{private}", "~_w", "a" * 65, "~" + "A" * 3_000):
        assert browser.get(f"/chat/{name}").status_code == 404, name


def test_a_chat_that_has_answered_since_somebody_looked_is_marked_until_they_look(
    served: Served, browser: Browser, model: ScriptedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_cache, "SCAN_SECONDS", 0.0)
    app = served.runtime
    kv = app.stores.kv

    def list_unread(browser: Browser) -> list[str]:
        shown = browser.get("/chat/main").text
        return re.findall(r'class="unread"><a href="/ui(/chat/[^"]+)"', shown)

    def say_there(text: str) -> None:
        model.then(say("answered"))
        run_event(app, event(text, session="telegram:-100", private=False))

    say_there("of before")
    ask(browser, "mine")
    with Browser(served.url) as other:
        other.sign_in()
        assert list_unread(browser) == list_unread(other) == []
        say_there("hi all")
        [group] = list_unread(browser)
        assert list_unread(other) == [group]
        assert 'aria-label="new"' in other.get("/chat/main").text
        assert browser.get(group).status_code == 200
        assert list_unread(browser) == list_unread(other) == []

        # a look that shows nothing new writes nothing
        [(name, item)] = kv.scan("web-seen#main")
        assert name == keys.escape("http:admin")
        for path in (group, "/chat/main", f"{group}/state"):
            browser.get(path)
        assert kv.get(keys.web_seen("main", "http:admin")).version == item.version
        say_there("hi again")
        assert list_unread(browser) == list_unread(other) == [group]


def test_hostile_words_break_out_of_no_part_of_the_page(served: Served, browser: Browser) -> None:
    """In what people write, in what the model says, and in names, arguments and results of calls."""
    document = Document()
    for number, whole in enumerate(HOSTILE.values()):
        text = clean_text(whole)[:5_000]  # no store holds half a character
        made = ToolCall(f"{number}", text[:60], json.dumps({"query": text[:500]}))
        file = KeptFile("0" * 64, text[:60], "image/png", 1, 0.0)
        document = document.add(
            Message("user", text, at=1.0, origin=f"telegram 42 member · {text[:60]}"),
            Message("assistant", text, at=1.0, calls=(made,)),
            Message("tool", text, at=1.0, call_id=f"{number}", files=(file,)),
            make_inbox([{"from": text[:60], "content": text}], 1.0),
            Message("user", text, at=1.0, origin="runtime"),
            Message("assistant", text, at=1.0),
        )
    sessions = served.runtime.app.sessions
    sessions.save(sessions.open(keys.session_of("main", "web:http:admin:main")), document)

    pages = [browser.get("/chat/main").text]
    while found := re.search(r'href="/ui/chat/main\?before=(\d+)"', pages[-1]):
        pages.append(browser.get(f"/chat/main?before={found[1]}").text)
    assert len(pages) > 1
    for page in pages:
        assert list_faults(page) == []
        links = re.findall(r'<a[^<>]*?href="([^"]*)"', page)
        assert [
            each for each in links if not each.startswith(("/ui", "?", "#", "http", "mailto:"))
        ] == []


def test_an_id_that_begins_like_another_one_is_another_person(
    served: Served, model: ScriptedModel
) -> None:
    model.then(say("hello"))
    people = served.runtime.app.people
    codes = WebCodes(served.runtime.stores.kv, "main", served.runtime.app.clock.now)
    ada, other = "matrix:@ada:example.org:8448", "matrix:@ada:example.org"
    with Browser(served.url) as mine, Browser(served.url) as theirs:
        for who, opened in ((ada, mine), (other, theirs)):
            people.let_in(who, "member", "Ada", "test")
            opened.sign_in(codes.make(who, "member"))
        ask(mine, "my secret")
        name = urlsafe_b64encode(f"web:{ada}:main".encode()).decode().rstrip("=")
        for path in ("", "/state", "/live"):
            assert theirs.get(f"/chat/~{name}{path}").status_code == 404
        assert "my secret" not in theirs.get("/chat/main").text
        assert "my secret" in mine.get(f"/chat/~{name}").text


def test_rows_lead_whoever_looks_to_the_chat_at_which_they_look(
    runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    """What was drawn for one of them is not shown to the other one."""
    model.then(say("hello"))
    made = runtime(llm_url=model.url, web_texts="all")
    codes = WebCodes(made.stores.kv, "main", made.app.clock.now)
    made.app.people.let_in("telegram:66", "member", "Ada", "test")
    with serving(made) as server, Browser(server.url) as ada, Browser(server.url) as owner:
        ada.sign_in(codes.make("telegram:66", "member"))
        owner.sign_in()
        ada.post("/chat/main", {"text": "look"}, files=[("file", ("a.txt", b"hi", "text/plain"))])
        until(lambda: "hello" in texts(ada))
        assert 'href="/ui/chat/main/kept/' in ada.get("/chat/main").text
        name = urlsafe_b64encode(b"web:telegram:66:main").decode().rstrip("=")
        shown = owner.get(f"/chat/~{name}").text
        assert f'href="/ui/chat/~{name}/kept/' in shown
        assert 'data-act="again"' not in shown


def test_what_was_typed_is_shown_to_whoever_is_signed_out(browser: Browser) -> None:
    """The form of a chat has a part for files, in which nobody chose one."""
    browser.client.cookies.clear()
    refused = browser.post(
        "/chat/main", {"text": "a long thought"}, files=[("file", ("", b"", "text/plain"))]
    )
    assert refused.status_code == 401
    assert "a long thought</textarea>" in refused.text
    assert 'href="/ui/login" target="_blank"' in refused.text
    heavy = browser.post(
        "/chat/main", {"text": "hi"}, files=[("file", ("a", b"x" * 2_000_000, "text/plain"))]
    )
    assert heavy.status_code == 401, "nothing large is read of a stranger"


def test_another_site_sends_nothing(browser: Browser) -> None:
    for path in ("/chat/main", "/chat/main/stop"):
        sent = browser.post(path, {"text": "hi"}, {"sec-fetch-site": "cross-site"})
        assert sent.status_code == 403
    assert texts(browser) == []


def test_a_key_of_a_session_is_no_name(served: Served, browser: Browser) -> None:
    """Nothing that stands in an address reaches another person's session."""
    for name in ("telegram:42", "main%23x", "a/b", "%2e%2e%2fx", "x%00"):
        assert browser.get(f"/chat/{name}").status_code == 404, name
    assert not served.runtime.stores.kv.get(
        keys.session_head(keys.session_of("main", "telegram:42"))
    )


def test_the_texts_are_in_the_language_of_the_browser(served: Served) -> None:
    for language, word in (("de", "Neuer Chat"), ("zh-CN", "新聊天"), ("en", "New chat")):
        with Browser(served.url, language) as opened:
            opened.sign_in()
            assert word in opened.get("/chat/main").text
