"""The pages of what there is: agents, board, safety, use, people, documents. Each says what its
twin says, takes forms without a script, and loses nothing that two people type.
"""

from __future__ import annotations

import re
from typing import Any

import pytest

from functions.agent.agents.lifecycle import create_agent
from functions.agent.agents.record import make_record, read_agent
from functions.agent.conversation.messages import Usage
from functions.agent.management import knowledge
from functions.agent.management.files import FileEditor
from functions.agent.policy.proposals import Proposal
from functions.agent.runs.run import save_run
from functions.agent.safety import locks
from functions.agent.team.board import Board, NewTask
from functions.agent.workspace.scope import find_scopes_of_agent
from functions.page.words import owner_words, run_words
from functions.queues import dead_letters
from functions.wiring import AgentRuntime
from sigil.http.page import capability_words
from sigil.storage.kv import keys
from tests.fakes.model import ScriptedModel
from tests.functions.agent.talk import event, tell
from tests.functions.agent.team.waiting import let_wait
from tests.functions.page.browsing import Browser
from tests.functions.page.parsed import HOSTILE, Parsed
from tests.functions.page.test_runs import MEMBER, let_in, make_run, opened

FIELD = re.compile(r"\{[a-z]+\}")


@pytest.fixture
def filled(home: AgentRuntime) -> AgentRuntime:
    """An agent with something of everything, by hostile names where a name may be any."""
    app = home.app
    now = app.clock.now()
    board = Board(app.kv, app.root, app.clock.now)
    for name in ("Dig a hole", *(each[:100] for each in HOSTILE)):
        text = name.encode("utf-8", "replace").decode()
        board.add(NewTask(subject=text, description=text))
        knowledge.add_document(app, {"title": text[:80], "text": text, "source": "x"})
    for number in range(3):
        usage = Usage(prompt=1_000, completion=number)
        began = now - 60 - number * 86_400
        save_run(app.kv, make_run(number, by=MEMBER, began=began, usage=usage), 90)
    for name in ("alice", "bob"):
        fields = {
            "kind": "agent",
            "state": "enabled",
            "since": now,
            "by": HOSTILE[0],
            "role": HOSTILE[1],
        }
        create_agent(app.kv, app.root, name, make_record(fields), most=50)
    let_in(home)
    app.people.let_in("telegram:67", "member", HOSTILE[0], "terminal:local")
    dead_letters.give_up(app.kv, event(HOSTILE[1], session="telegram:5"), HOSTILE[2], now)
    return home


PATHS = (
    "/overview",
    "/runs",
    "/agents",
    "/agents/main",
    "/agents/alice",
    "/agents/alice/archive",
    "/board",
    "/board?status=ended",
    "/board/new",
    "/board/3",
    "/board/3/change",
    "/safety",
    "/safety/halt",
    "/safety/chats",
    "/policy",
    "/policy/edit",
    "/memory",
    "/documents?name=soul",
    "/documents/edit?name=soul",
    "/settings",
    "/people/person?id=telegram:67",
    "/people/role?id=telegram:67&role=owner",
    "/people/link?id=telegram:67",
    "/people/erase?id=telegram:67",
    "/usage",
    "/usage?verify=1",
    "/people",
    "/people/let-in",
    "/people/remove?id=telegram:67",
    "/knowledge",
    "/knowledge?scope=team",
    "/files",
    "/chats",
    "/capabilities",
    "/capabilities?q=a+wish",
)


def test_every_page_is_harmless_and_has_a_twin(
    filled: AgentRuntime, subtests: pytest.Subtests
) -> None:
    with opened(filled) as sign_in:
        owner, chinese = sign_in(), sign_in(language="zh")
        for path in PATHS:
            with subtests.test(path=path):
                answer = owner.get(path)
                assert answer.status_code == 200, answer.text
                assert len(answer.content) < 200_000
                page = Parsed(answer.text)
                page.require_harmless()
                assert len(page.find_all("h1")) == 1
                # every field has its label, and no two elements one id
                ids = [each.attributes["id"] for each in page.elements if "id" in each.attributes]
                assert len(ids) == len(set(ids)), ids
                labels = {
                    each.attributes["for"]
                    for each in page.find_all("label")
                    if "for" in each.attributes
                }
                for field in page.find_all("input"):
                    if field.attributes.get("type") not in ("hidden", "checkbox"):
                        assert field.attributes["id"] in labels
                assert owner.get_json(path).headers["content-type"].startswith("application/json")
                Parsed(chinese.get(path).text).require_harmless()


def test_the_numbers_of_the_pages_are_those_of_their_twins(filled: AgentRuntime) -> None:
    with opened(filled) as sign_in:
        owner = sign_in()
        usage: Any = owner.get_json("/usage").json()
        page = Parsed(owner.get("/usage").text)
        assert usage["total"]["tokens"] == 3_003
        assert page.facts()["The last 30 days"] == "3,003"
        assert [each["tokens"] for each in usage["days"][-3:]] == [1_002, 1_001, 1_000]
        said = [each.text for each in page.find_all("title")[1:]]
        assert len(said) == 30
        assert said[-1].endswith("1,000")
        first: Any = owner.get_json("/overview").json()
        facts = Parsed(owner.get("/overview").text).facts()
        assert facts["People"] == str(first["people"]) == "2"
        safety: Any = owner.get_json("/safety").json()
        assert len(safety["dead_letters"]) == first["waiting"]["dead_letters"] == 1
        listed: Any = owner.get_json("/board").json()
        rows = Parsed(owner.get("/board").text).find_all("tr")
        assert len(rows) == len(listed["items"]) + 1 == len(HOSTILE) + 2


def test_a_member_sees_their_own_use_alone(filled: AgentRuntime) -> None:
    with opened(filled) as sign_in:
        member, other = sign_in(MEMBER, "member"), sign_in("telegram:67", "member")
        assert member.get_json("/usage").json()["total"]["tokens"] == 3_003
        assert other.get_json("/usage").json()["total"]["tokens"] == 0
        assert "by_person" not in member.get_json("/usage").json()
        assert "No token was spent" in other.get("/usage").text


def find_form(browser: Browser, path: str) -> dict[str, str]:
    """Return what a form has in its fields before somebody types."""
    page = Parsed(browser.get(path).text)
    fields = {
        each.attributes["name"]: each.attributes.get("value", "")
        for each in page.find_all("input")
        if each.attributes.get("type") != "checkbox"
    }
    return fields | {
        each.attributes["name"]: each.text.removeprefix("\n") for each in page.find_all("textarea")
    }


def test_an_edit_of_the_board_reaches_the_agent(filled: AgentRuntime, model: ScriptedModel) -> None:
    with opened(filled) as sign_in:
        owner = sign_in()
        wrong = owner.post(
            "/board/new", {"a-subject": "", "a-priority": "7", "a-description": "kept"}
        )
        assert wrong.status_code == 400
        page = Parsed(wrong.text)
        assert len(page.find_all("p", "error")) == 2
        assert page.find_all("textarea")[0].text.strip() == "kept"
        made = owner.post(
            "/board/new", {"a-subject": "Paint the fence", "a-due": "2030-01-01T12:00:00Z"}
        )
        assert made.status_code == 303
        path = made.headers["location"].removeprefix("/ui")
        form = Parsed(owner.get(f"{path}/change").text)
        states = {each.attributes["value"]: each.text for each in form.find_all("option")}
        assert states["completed"] == "done"
        fields = find_form(owner, f"{path}/change")
        assert fields["a-subject"] == "Paint the fence"
        changed = owner.post(f"{path}/change", {**fields, "a-subject": "Paint it blue"})
        assert (changed.status_code, changed.headers["location"]) == (303, f"/ui{path}")
        # the same form again is of a revision that stands no more: both are shown
        late = owner.post(f"{path}/change", {**fields, "a-subject": "Paint it red"})
        assert late.status_code == 412
        shown = Parsed(late.text)
        assert "Paint it blue" in shown.text
        assert "Paint it red" in shown.text
        again = {
            each.attributes["name"]: each.attributes.get("value", "")
            for each in shown.find_all("input")
        }
        assert again["a-subject"] == "Paint it red"
        assert owner.post(f"{path}/change", {**fields, **again}).status_code == 303
        assert owner.get_json(path).json()["subject"] == "Paint it red"
        assert owner.get_json(path).json()["by"] == "web:http:admin"
    tell(filled, "what is new?", session="telegram:42")
    assert "Paint it red" in str(model.chats[-1]["messages"])


def test_two_who_edit_one_file_lose_nothing(home: AgentRuntime, model: ScriptedModel) -> None:
    app = home.app
    there = app.open_workspace(find_scopes_of_agent(app.name).own)
    FileEditor(app.kv, there, "terminal:local").write("plan.md", b"# Plan\n\nfirst </textarea>\n")
    Board(app.kv, app.root, app.clock.now).add(NewTask(subject="Dig", description="a hole"))
    with opened(home) as sign_in:
        ada, bob = sign_in(), sign_in()
        path = "/edit?path=plan.md"
        first, second = find_form(ada, path), find_form(bob, path)
        assert first["a-text"] == "# Plan\n\nfirst </textarea>\n"
        done = ada.post(path, {**first, "a-text": "Ada's words"})
        assert (done.status_code, done.headers["location"]) == (303, "/ui/files/plan.md")
        late = bob.post(path, {**second, "a-text": "Bob's words"})
        assert late.status_code == 412
        shown = Parsed(late.text)
        shown.require_harmless()
        assert "Ada's words" in shown.text
        [field] = shown.find_all("textarea")
        assert field.text.strip() == "Bob's words"
        [tag] = [each for each in shown.find_all("input") if each.attributes["name"] == "tag"]
        both = {"tag": tag.attributes["value"], "a-text": "Ada's words\r\nBob's words"}
        assert bob.post(path, both).status_code == 303
        difference = Parsed(bob.get("/files/plan.md?diff=2..3").text)
        assert [each.text.strip() for each in difference.find_all("span", "plus")][
            -1
        ] == "+Bob's words"
        assert ada.get("/edit?path=../etc/passwd").status_code == 400
        # a form that does not say what it was made from overwrites nothing
        for tag in ({}, {"tag": ""}, {"tag": "²"}, {"tag": "9" * 99}):
            assert ada.post(path, {"a-text": "Eve's words", **tag}).status_code == 400
            assert ada.post("/board/1/change", {"a-subject": "Eve's", **tag}).status_code == 400
    tell(home, "what is new?", session="http:admin:main")
    assert "plan.md" in str(model.chats[-1]["messages"])


def test_what_is_dangerous_shows_before_and_after_first(filled: AgentRuntime) -> None:
    app = filled.app
    with opened(filled) as sign_in:
        owner = sign_in()
        asked = owner.post(
            "/agents/alice/archive", find_form(owner, "/agents/alice/archive") | {"sure": ""}
        )
        assert asked.status_code == 200
        assert "Beforeenabled Afterarchived" in Parsed(asked.text).text
        assert read_agent(app.kv, app.root, "alice").state == "enabled"
        form = find_form(owner, "/agents/alice/archive")
        assert owner.post("/agents/alice/archive", {**form, "sure": "yes"}).status_code == 303
        assert read_agent(app.kv, app.root, "alice").state == "archived"
        # somebody else was faster: the step is none any more
        assert owner.post("/agents/alice/archive", {**form, "sure": "yes"}).status_code == 400

        assert owner.post("/safety/halt", {"sure": "yes"}).status_code == 303
        lock = locks.read_lock(app.kv, keys.escape(app.root))
        assert (lock.closed, lock.by) == (True, "web:http:admin")
        assert "halted" in Parsed(owner.get("/overview").text).find_all("div", "state")[0].text
        assert owner.post("/safety/unlock", {"sure": "yes"}).status_code == 303
        assert not locks.read_lock(app.kv, keys.escape(app.root)).closed

        [letter] = owner.get_json("/safety").json()["dead_letters"]
        path = f"/safety/dead/drop?id={letter['event']}"
        assert owner.post(path).status_code == 200
        assert owner.post(path, {"sure": "yes"}).status_code == 303
        assert owner.get_json("/safety").json()["dead_letters"] == []
        assert owner.post("/people/remove?id=telegram:67", {"sure": "yes"}).status_code == 303
        assert app.people.find_member("telegram:67") is None


def test_an_agent_without_anything_says_what_to_type(home: AgentRuntime) -> None:
    with opened(home) as sign_in:
        owner = sign_in()
        for path, type in (
            ("/runs", "uncaged chat"),
            ("/agents", "uncaged agent new alice"),
            ("/board", "/tasks add"),
            ("/usage", "uncaged chat"),
            ("/people", "uncaged channel pair"),
            ("/knowledge", "uncaged kb add"),
            ("/files", "uncaged files put"),
            ("/chats", "uncaged chat"),
            ("/capabilities", "sigil deploy"),
            ("/safety", "uncaged inbox dead"),
            ("/safety/chats", "/status all"),
            ("/memory", "remember that the bins"),
            ("/documents?name=user", "uncaged agent doc edit user"),
            ("/settings", "uncaged hook add builds"),
        ):
            assert type in Parsed(owner.get(path).text).text, path


def test_an_owner_decides_on_what_waits(home: AgentRuntime) -> None:
    app = home.app
    text = HOSTILE[0]
    for number in (1, 2):
        app.proposals.propose(
            Proposal(
                id="",
                digest=f"{number}" * 64,
                agent="main",
                session="http:admin:main",
                by="http:admin",
                acts=(f"call {text}",),
                tool="cap_pay",
                arguments=f'{{"to": "{text}"}}',
            )
        )
    plan = let_wait(app, "mend the lexer")
    with opened(home) as sign_in:
        owner = sign_in()
        page = Parsed(owner.get("/safety").text)
        page.require_harmless()
        assert text in page.text
        assert owner.get_json("/overview").json()["waiting"]["proposals"] == 3
        asked = Parsed(owner.get("/safety/proposals/111111/approve").text)
        asked.require_harmless()
        assert '"to"' in asked.text
        for id, verb, state in (("111111", "approve", "approved"), ("222222", "deny", "denied")):
            assert owner.post(f"/safety/proposals/{id}/{verb}").status_code == 200
            assert app.proposals.find(id).state == "open"
            assert owner.post(f"/safety/proposals/{id}/{verb}", {"sure": "yes"}).status_code == 303
            decided = app.proposals.find(id)
            assert (decided.state in (state, "applied", "lapsed"), decided.decided_by) == (
                True,
                "web:http:admin",
            )
        answer = {"sure": "yes", "a-words": "go on"}
        assert owner.post(f"/safety/proposals/{plan}/approve", answer).status_code == 303
        assert owner.get_json("/safety").json()["proposals"] == []
        assert owner.post("/safety/proposals/333333/approve", {"sure": "yes"}).status_code == 404


def test_a_store_that_is_away_is_a_sentence(home: AgentRuntime) -> None:
    with opened(home) as sign_in:
        owner = sign_in()
        home.stores.kv.close()
        for path in ("/runs", "/overview"):
            answer = owner.get(path)
            assert answer.status_code == 503
            page = Parsed(answer.text)
            page.require_harmless()
            assert page.find_all("div", "notice")[0].text.strip()


def test_every_language_says_everything() -> None:
    for words in (run_words.LANGUAGES, owner_words.LANGUAGES, capability_words.LANGUAGES):
        english = type(words["en"])
        names = {name for name, value in vars(english).items() if isinstance(value, str | dict)}
        for code in ("de", "zh"):
            own = vars(type(words[code]))
            assert names - {"__module__", "__doc__"} - own.keys() == set(), code
            for name in names:
                said, meant = own.get(name), vars(english)[name]
                if isinstance(meant, dict):
                    assert said.keys() == meant.keys(), (code, name)
                elif not name.startswith("__"):
                    assert set(FIELD.findall(said)) == set(FIELD.findall(meant)), (code, name)
