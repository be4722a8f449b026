"""The pages of runs: the same numbers as programs get, in a tree whose texts only theirs read."""

from __future__ import annotations

import gzip
from base64 import urlsafe_b64encode
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from functions.agent.conversation.messages import Usage
from functions.agent.runs.event_chain import ChainRun, EventChain
from functions.agent.runs.run import Run, save_run
from functions.agent.schedules.schedule import Schedule
from functions.agent.schedules.when import When
from functions.page.access.viewer import Role
from functions.wiring import AgentRuntime
from sigil.http.page.logins import Logins
from sigil.storage.kv import keys
from sigil.storage.stored import dumps
from tests.fakes.model import ScriptedModel, call, say
from tests.fakes.server import Answer
from tests.functions.agent.talk import event, run_event, tell
from tests.functions.page.browsing import Browser
from tests.functions.page.parsed import HOSTILE, Parsed
from tests.functions.people import OWNER, Live
from tests.functions.serving import serving

SEARCH = ("sigil_query", {"query": "a wish of mine"})
MEMBER = "telegram:66"
OWN = "http:admin:lisbon"


@contextmanager
def opened(runtime: AgentRuntime, **given: Any) -> Iterator[Callable[..., Browser]]:
    """Serve an agent; what is yielded signs somebody in, by default the owner."""
    with serving(runtime, **given) as server:
        port = server.url.rpartition(":")[2]
        browsers = []

        def sign_in(person: str = "", role: Role = "owner", language: str = "en") -> Browser:
            browser = Browser(server.url, language)
            browsers.append(browser)
            if person:
                logins = Logins(runtime.stores.kv, runtime.app.root, runtime.app.clock.now)
                browser.client.cookies.set(f"uncaged-{port}", logins.open(person, role, "code"))
            else:
                browser.sign_in()
            return browser

        try:
            yield sign_in
        finally:
            for browser in browsers:
                browser.client.close()


def let_in(runtime: AgentRuntime, who: str = MEMBER) -> None:
    runtime.app.people.let_in(who, "member", "Mia", "terminal:local")


def test_the_pages_of_runs_say_what_their_twins_say(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(call(SEARCH, ("cap_nothing", {})), say("found"))
    tell(home, "go on", session="http:admin:lisbon")
    tell(home, "hello", session="telegram:42")
    with opened(home) as sign_in:
        owner = sign_in()
        listed = owner.get_json("/runs").json()["items"]
        page = Parsed(owner.get("/runs").text)
        page.require_harmless()
        rows = page.find_all("li", "run")
        assert len(rows) == len(listed) == 2
        assert "telegram:42" in rows[0].text
        only = Parsed(owner.get("/runs?session=http:admin:lisbon&reason=message").text)
        assert len(only.find_all("li", "run")) == 1
        assert "No run fits" in Parsed(owner.get("/runs?outcome=given-up").text).text

        row = next(each for each in listed if each["session"] == "http:admin:lisbon")
        run: Any = owner.get_json(f"/runs/{row['id']}").json()
        shown = Parsed(owner.get(f"/runs/{row['id']}").text)
        shown.require_harmless()
        facts = list(shown.facts().items())[:10]
        assert [name for name, _ in facts] == [
            "Took",
            "Tokens in",
            "out",
            "cached",
            "Requests",
            "Calls",
            "failed",
            "Outcome",
            "Model",
            "Money",
        ]
        values = dict(facts)
        assert values["Tokens in"] == f"{run['usage']['prompt']:,}"
        assert values["Calls"] == str(run["calls"]) == "2"
        assert values["failed"] == str(run["failed"]) == "1"
        rows = [each for each in shown.find_all("li") if {"request", "call"} & set(each.classes)]
        made = [each["kind"] for each in run["steps"] if each["kind"] in ("request", "call")]
        assert [each.classes[0] for each in rows] == made
        assert made[:4] == ["request", "call", "call", "request"]
        calls = shown.find_all("li", "call")
        assert "a wish of mine" in calls[0].text
        assert '{"ok"' in calls[0].text
        assert "ENOTOOL" in calls[1].text
        # each bar lies in the picture, in the order in which all of it began
        bars = [
            (int(each.attributes["x"]), int(each.attributes["width"]))
            for each in shown.find_all("rect")
        ]
        assert bars[0][0] == 0
        assert max(x + width for x, width in bars) == 1_000
        starts = [x for x, _ in bars]
        assert starts == sorted(starts)

        step = next(n for n, each in enumerate(run["steps"]) if each["kind"] == "call")
        whole = Parsed(owner.get(f"/runs/{row['id']}?step={step}").text)
        assert "a wish of mine" in whole.text
        assert owner.get("/runs/nothing").status_code == 404
        german = Parsed(sign_in(language="de").get(f"/runs/{row['id']}").text)
        assert "Tokens hinein" in german.text


def test_who_looks_sees_their_own_texts_alone(home: AgentRuntime, model: ScriptedModel) -> None:
    let_in(home)
    for session, who in ((MEMBER, MEMBER), ("telegram:42", "terminal:local")):
        model.then(call(SEARCH), say("found"))
        tell(home, "go on", session=session, sender=who)
    with opened(home) as sign_in:
        owner, member = sign_in(), sign_in(MEMBER, "member")
        reader = sign_in(MEMBER, "reader")
        ids = {each["session"]: each["id"] for each in owner.get_json("/runs").json()["items"]}
        assert len(ids) == 2
        mine = [each["session"] for each in member.get_json("/runs").json()["items"]]
        assert mine == [MEMBER]
        assert "telegram:42" not in member.get("/runs").text
        assert len(reader.get_json("/runs").json()["items"]) == 2

        assert "a wish of mine" in member.get(f"/runs/{ids[MEMBER]}").text
        for path in (f"/runs/{ids['telegram:42']}", "/runs?session=telegram:42"):
            assert member.get(path).status_code == 404
            assert member.get_json(path).status_code == 404
        assert member.post(f"/runs/{ids['telegram:42']}/stop").status_code == 404
        for browser in (owner, reader):
            for answer in (
                browser.get(f"/runs/{ids[MEMBER]}"),
                browser.get_json(f"/runs/{ids[MEMBER]}"),
            ):
                assert answer.status_code == 200
                assert "a wish of mine" not in answer.text
        assert "private words of somebody else" in owner.get(f"/runs/{ids[MEMBER]}").text
        assert reader.post(f"/runs/{ids[MEMBER]}/stop").status_code == 403


def make_run(number: int, name: str = "x", **fields: Any) -> Run:
    steps = (
        {"kind": "request", "n": 1, "at": 0, "ms": 9, "finish": name, "tools": 2, "prompt": 5,
         "completion": 1, "model": name, "failure": name, "detail": name, "late": name},
        {"kind": "call", "at": 9, "ms": 2, "name": name, "id": name, "seq": 2, "size": 3,
         "error": name, "fingerprint": name, "loads": [[name, name]], "sent": [["say", name]]},
        {"kind": name, "at": 10, "name": name, "reason": name},
        {"kind": "evict", "messages": 2, "tools": [name]},
        {"kind": "limit", "limit": name, "end": name},
        {"kind": "end", "behaviour": name},
    )  # fmt: skip
    values: dict[str, Any] = {
        "event": f"telegram:42:{number}",
        "session": "telegram:42",
        "agent": "main",
        "kind": "message",
        "reason": "message",
        "outcome": "said",
        "began": 1_790_000_000.0 + number,
        "seconds": 0.02,
        "usage": Usage(prompt=5, completion=1),
        "requests": 1,
        "steps": steps,
    }
    return Run(**{**values, **fields})


def test_what_an_agent_noted_is_read_by_whoever_reads_its_chat(home: AgentRuntime) -> None:
    """Also in the list, and where another one's run has set it off."""
    let_in(home)
    for number, (session, other) in enumerate(((MEMBER, OWN), (OWN, MEMBER))):
        event = f"telegram:1:{number}"
        first = make_run(number, event=event, session=session, posts=1, notes=(f"of {session}",))
        child = make_run(
            number,
            event=f"say:{number}",
            session=other,
            began=first.began + 1,
            cause=event,
            root=event,
            notes=(f"below, of {other}",),
            steps=({"kind": "request", "n": 1, "at": 0, "ms": 9, "detail": f"why, of {other}"},),
        )
        save_run(home.stores.kv, first, 90)
        save_run(home.stores.kv, child, 90)
    others = {"member": f"of {OWN}", "owner": f"of {MEMBER}", "reader": "below, of"}
    with opened(home) as sign_in:
        signed = {
            "member": sign_in(MEMBER, "member"),
            "owner": sign_in(),
            "reader": sign_in(MEMBER, "reader"),
        }
        for role, browser in signed.items():
            items = browser.get_json("/runs").json()["items"]
            assert len(items) == (2 if role == "member" else 4)
            paths = ["/runs", *(f"/runs/{each['id']}" for each in items)]
            texts = [ask(path).text for path in paths for ask in (browser.get, browser.get_json)]
            assert not [text for text in texts if others[role] in text], role
            if role != "reader":
                own = MEMBER if role == "member" else OWN
                assert any(f"below, of {own}" in text for text in texts)
                assert any(f"why, of {own}" in text for text in texts)


def test_what_is_done_for_a_chat_is_seen_as_that_chat_is(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    let_in(home)
    kv = home.stores.kv
    sessions = []
    for who, chat in ((MEMBER, MEMBER), ("http:admin", OWN)):
        when = When(kind="cron", cron="0 8 * * 1-5", zone="UTC")
        since = home.app.clock.now()
        asked = Schedule(id="", when=when, session=chat, by=who, since=since, text="look")
        made, _ = home.app.schedules.add(asked)
        sessions.append(made.own_session)
        model.then(call(("cap_nothing", {"x": f"words for {chat}"})), say("nothing"))
        tell(home, "go on", session=made.own_session, sender="terminal:local")
        # a call in the background is only known by the chain of events that it belongs to
        sessions.append(f"own:call-{len(sessions):012}")
        first = make_run(1, event=f"telegram:1:{who}", session=chat, by=who)
        save_run(kv, first, 90)
        chain = EventChain(events=1, tokens=1, runs=(ChainRun(first.id, "main"),))
        kv.put(keys.event_chain("main", first.event), dumps(chain))
        asked_for = event("go on", session=sessions[-1])
        model.then(call(("cap_nothing", {"x": f"words for {chat}"})), say("nothing"))
        run_event(home, replace(asked_for, by=who, cause=first.event, root=first.event))
    # in the session of a teammate is what many have asked for
    save_run(kv, make_run(9, session="own:main", by=MEMBER, notes=(f"words for {MEMBER}",)), 90)
    with opened(home) as sign_in:
        member, owner = sign_in(MEMBER, "member"), sign_in()
        ids = {each["session"]: each["id"] for each in owner.get_json("/runs").json()["items"]}
        for place, session in enumerate(sessions):
            path = f"/runs/{ids[session]}"
            chat = urlsafe_b64encode(session.encode()).decode().rstrip("=")
            if place < 2:
                assert f"words for {MEMBER}" in member.get(path).text
                assert f"words for {MEMBER}" not in owner.get(path).text
                assert owner.get(f"/chat/~{chat}").status_code == 404
            else:
                assert f"words for {OWN}" in owner.get(path).text
                assert member.get(path).status_code == 404
                assert owner.get(f"/chat/~{chat}").status_code == 200
        for path in ("/runs", f"/runs/{ids['own:main']}"):
            assert f"words for {MEMBER}" not in owner.get_json(path).text
        assert member.get(f"/runs/{ids['own:main']}").status_code == 404


def test_no_name_in_a_run_becomes_a_part_of_the_page(home: AgentRuntime) -> None:
    for number, name in enumerate(HOSTILE):
        text = name.encode("utf-8", "replace").decode()
        fields = dict.fromkeys(
            (
                "session",
                "reason",
                "outcome",
                "why",
                "by",
                "role",
                "model",
                "cause",
                "task",
                "behaviour",
            ),
            text[:400],
        )
        save_run(home.app.kv, make_run(number, text, notes=(text,), **fields), 90)
    with opened(home) as sign_in:
        owner = sign_in()
        answer = owner.get("/runs")
        page = Parsed(answer.text)
        page.require_harmless()
        links = [each.attributes["href"] for each in page.find_all("a", "what")]
        assert len(links) == len(HOSTILE)
        assert len(answer.content) < 200_000
        for link in links:
            shown = owner.get(link.removeprefix("/ui"))
            assert shown.status_code == 200, shown.text
            Parsed(shown.text).require_harmless()
            assert "{{ 7" in shown.text or "49" not in Parsed(shown.text).find_all("h1")[0].text
        for name in HOSTILE:
            asked = name.encode("utf-8", "replace").decode()
            answer = owner.client.get("/ui/runs", params={"session": asked, "after": asked})
            Parsed(answer.text).require_harmless()


def test_a_tree_of_three_hundred_rows_comes_in_two_light_pages(home: AgentRuntime) -> None:
    began = 1_790_000_000.0
    root = "telegram:42:0"
    save_run(home.app.kv, make_run(0, posts=60), 90)
    for number in range(1, 60):
        child = make_run(number, cause=root, root=root, agent="main", began=began + number)
        save_run(home.app.kv, child, 90)
    with opened(home) as sign_in:
        owner = sign_in()
        first = owner.get(f"/runs/{root}")
        assert len(gzip.compress(first.content, 6)) < 60_000
        assert len(first.content) < 200_000
        page = Parsed(first.text)
        rows = [
            each
            for each in page.find_all("li")
            if {"run", "request", "call", "note"} & set(each.classes)
        ]
        assert len(rows) == 200
        [more] = [each for each in page.find_all("a") if "from=200" in each.attributes["href"]]
        rest = Parsed(owner.get(more.attributes["href"].removeprefix("/ui")).text)
        said = [each.text for each in rest.find_all("p", "pager")]
        assert "Rows 201 to 400 of 420" in said[0]


def test_a_run_at_work_stands_on_top_and_is_stopped(
    live: Callable[..., AbstractContextManager[Live]], model: ScriptedModel
) -> None:
    model.then(Answer(hang=True))
    with live() as agent, Browser(agent.server.url) as owner:
        owner.sign_in()
        agent.write("hello")
        model.wait_for(1)
        page = Parsed(owner.get("/runs").text)
        assert page.find_all("h2")[0].text == "At work"
        [row] = page.find_all("a", "what")
        assert "at work" in row.text
        path = row.attributes["href"].removeprefix("/ui")
        shown = Parsed(owner.get(path).text)
        assert len(shown.find_all("li", "at-work")) == 2
        [form] = [each for each in shown.find_all("form") if "/stop" in each.attributes["action"]]
        waits = f"{path}?stopping=1"
        assert "told to stop" in owner.get(waits).text
        told = owner.post(form.attributes["action"].removeprefix("/ui"))
        assert (told.status_code, told.headers["location"]) == (303, f"/ui{waits}")
        agent.replies(OWNER, 1)
        assert Parsed(owner.get(path).text).facts()["Outcome"] == "stopped"
        again = owner.post(form.attributes["action"].removeprefix("/ui"))
        assert again.status_code == 404
