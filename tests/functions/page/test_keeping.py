"""The pages on which owners keep what the agent knows, who it knows, and what it may: each change
has a version, a name and a reason, nothing that two people type is lost, and no secret is shown.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import orjson
import pytest

from functions.agent.agents.lifecycle import create_agent
from functions.agent.agents.record import make_record
from functions.agent.app import App
from functions.agent.management import knowledge
from functions.agent.management.files import FileEditor
from functions.agent.memory.thing import Thing
from functions.agent.memory.things import Things
from functions.agent.policy.proposals import Proposal
from functions.agent.team.board import Board, NewTask
from functions.agent.workspace.files import Writer
from functions.agent.workspace.scope import find_scopes_of_agent
from functions.cli import doctor
from functions.hooks import Hook, Hooks, make_token
from functions.page import pages
from functions.page.access.viewer import OWNERS, PEOPLE, VIEWERS, WATCHERS
from functions.queues import dead_letters
from functions.texts.de import TEXTS as GERMAN
from functions.texts.en import TEXTS as ENGLISH
from functions.wiring import AgentRuntime
from sigil.access.tokens import TokenRequest
from sigil.protocol import Caller
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.model import ScriptedModel, call, say
from tests.functions.agent.access.people import code_of
from tests.functions.agent.talk import event, tell
from tests.functions.page.browsing import Browser
from tests.functions.page.parsed import HOSTILE, Parsed
from tests.functions.page.test_lists import find_form
from tests.functions.page.test_runs import MEMBER, let_in, opened
from tests.functions.people import private_platform
from tests.functions.serving import serving
from tests.machine import until, within

SURE = {"sure": "yes"}
OWNER, EVE, PHONE = "telegram:42", "telegram:67", "slack:T1.U1"


def edit(browser: Browser, path: str, text: str, why: str = "") -> int:
    """Write a text by its form, and return the status."""
    form = find_form(browser, path)
    return browser.post(path, {**form, "a-text": text, "a-why": why}).status_code


def test_a_document_is_edited_by_two_and_goes_back(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    path = "/documents/edit?name=soul"
    with opened(home) as sign_in:
        ada, bob = sign_in(), sign_in()
        first, second = find_form(ada, path), find_form(bob, path)
        assert first["a-text"].startswith("# Soul")
        sent = ada.post(path, {**first, "a-text": "Speak like a pirate", "a-why": HOSTILE[0]})
        assert (sent.status_code, sent.headers["location"]) == (303, "/ui/documents?name=soul")
        late = bob.post(path, {**second, "a-text": "Speak like a poet"})
        assert late.status_code == 409
        shown = Parsed(late.text)
        shown.require_harmless()
        assert "Speak like a pirate" in shown.text
        assert shown.find_all("textarea")[0].text.strip() == "Speak like a poet"
        assert edit(bob, path, "Speak like a poet") == 303

        page = Parsed(ada.get("/documents?name=soul").text)
        page.require_harmless()
        twin = ada.get_json("/documents?name=soul").json()
        assert [(each["version"], each["by"]) for each in twin["versions"]] == [
            (2, "web:http:admin"),
            (1, "web:http:admin"),
        ]
        assert twin["versions"][1]["why"] in page.text
        difference = Parsed(ada.get("/documents?name=soul&diff=1..2").text)
        added = [each.text.strip() for each in difference.find_all("span", "plus")]
        assert added[-1] == "+Speak like a poet"

        back = "/documents/rollback?name=soul&version=1"
        asked = ada.post(back, {**find_form(ada, back), "sure": ""})
        assert "BeforeSpeak like a poet AfterSpeak like a pirate" in Parsed(asked.text).text
        old = find_form(ada, back)
        assert edit(bob, path, "Speak like a judge") == 303
        assert ada.post(back, {**old, **SURE}).status_code == 409
        assert ada.post(back, {**find_form(ada, back), **SURE}).status_code == 303
        assert ada.get_json("/documents?name=soul").json()["text"] == "Speak like a pirate"
        # a text of the most characters that there may be has room in a form
        assert edit(ada, "/documents/edit?name=memory", "字" * 12_000) == 303
        assert edit(ada, "/documents/edit?name=memory", "字" * 12_001) == 400
        assert ada.get("/documents?name=nothing").status_code == 404
    tell(home, "hello", session="telegram:42")
    assert "Speak like a pirate" in str(model.chats[-1]["messages"][0])


@pytest.mark.parametrize("kind", ["knowledge", "file"])
def test_documents_and_files_have_versions_and_a_way_back(home: AgentRuntime, kind: str) -> None:
    app = home.app
    if kind == "file":
        there = app.open_workspace(find_scopes_of_agent(app.name).own)
        FileEditor(app.kv, there, "terminal:local").write("a b/edit.md", b"The shop opens at nine.")
        path = "/files/a%20b/edit.md"
        forms = "/{verb}?path=a+b%2Fedit.md"
    else:
        fields = {
            "title": "Hours",
            "text": "The shop opens at nine.",
            "source": "x",
            "author": "HR",
        }
        id = knowledge.add_document(app, fields)[0]["id"]
        path, forms = f"/knowledge/{id}", f"/knowledge/{id}/{{verb}}?"
    change = forms.format(verb="edit")
    back = forms.format(verb="rollback") + "&version=1"
    with opened(home) as sign_in:
        ada, bob = sign_in(), sign_in(language="zh")
        late = find_form(bob, change)
        assert edit(ada, change, "The shop opens at eight.", HOSTILE[0]) == 303
        refused = bob.post(change, {**late, "a-text": "The shop opens at ten."})
        assert refused.status_code in (409, 412)
        for said in ("at eight.", "at ten."):
            assert said in Parsed(refused.text).text
        page = Parsed(ada.get(path).text)
        page.require_harmless()
        Parsed(bob.get(path).text).require_harmless()
        twin = ada.get_json(path).json()
        newest, _ = twin["versions"]
        assert (newest["version"], newest["by"]) == (2, "web:http:admin")
        assert newest["why"] in page.text
        difference = Parsed(ada.get(f"{path}?diff=1..2").text)
        assert [each.text.strip() for each in difference.find_all("span", "plus")][-1] == (
            "+The shop opens at eight."
        )
        assert ada.get_json(f"{path}?version=1").json()["text"] == "The shop opens at nine."
        asked = Parsed(ada.post(back).text)
        assert "BeforeThe shop opens at eight. AfterThe shop opens at nine." in asked.text
        assert ada.post(back, {**find_form(ada, back), **SURE}).status_code == 303
        newest = ada.get_json(path).json()
        assert (newest["text"], newest["version"]) == ("The shop opens at nine.", 3)
        assert newest["by"] == "web:http:admin"
        if kind == "file":
            there.remove("a b/edit.md", Writer("telegram:7"))
            assert "was removed" not in ada.get(path).text
            assert ada.post(back, {**find_form(ada, back), **SURE}).status_code == 303
            assert ada.get_json(path).json()["text"] == "The shop opens at nine."
        else:
            assert newest["author"] == "HR"
            knowledge.change_document(app, id, {}, {"text": "x" * 100_001, "source": "x"})
            assert "edit" not in Parsed(ada.get(path).text).text.casefold()
            for answer in (ada.get(change), ada.post(change, {"a-text": "short", "tag": "4"})):
                assert (answer.status_code, "uncaged kb update" in answer.text) == (400, True)
            assert ada.post(f"{path}/delete", SURE).status_code == 303
            assert ada.get(f"{path}?version=1").status_code == 404


def test_what_is_remembered_is_forgotten_and_stays_private(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    app = home.app
    let_in(home)
    for session in (MEMBER, "http:admin:main"):
        tell(home, "hello", session=session, sender=MEMBER if session == MEMBER else "http:admin")
    scope = keys.session_of(app.name, "http:admin:main")
    thing = Thing("fact", ("Ada", "likes", "green tea"), "user", 1.0, app.clock.now())
    Things(app.kv, scope, app.helpers.terms).save(thing)
    app.documents.write(scope, "memory", "- Ada likes green tea\n- the bins: Tuesday", by="x")
    with opened(home) as sign_in:
        owner = sign_in()
        for path in ("/memory", "/documents"):
            refused = owner.get(f"{path}?chat={MEMBER}&name=memory")
            assert refused.status_code == 403
            assert "private words" in Parsed(refused.text).text
        place = "/memory?chat=http:admin:main"
        page = Parsed(owner.get(place).text)
        assert "Ada likes green tea" in page.text
        assert "A thing has no versions" in page.text
        [row] = owner.get_json(place).json()["things"]
        forget = f"/memory/forget?chat=http:admin:main&id={row['id']}"
        assert "Ada likes green tea" in Parsed(owner.get(forget).text).text
        assert owner.post(forget, SURE).status_code == 303
        assert owner.get_json(place).json()["things"] == []
        text = owner.get_json("/documents?chat=http:admin:main&name=memory").json()["text"]
        assert text == "- the bins: Tuesday"
        assert owner.get(forget).status_code == 404
        assert "remember that the bins" in Parsed(owner.get("/memory").text).text


def test_a_skill_is_edited_pinned_and_removed(home: AgentRuntime) -> None:
    text = '---\nname: report\ndescription: "how reports look"\n---\n\nOne page.\n'
    with opened(home) as sign_in:
        owner = sign_in()
        client = owner.client
        headers = {"authorization": "Bearer admin-token-of-the-tests"}
        files = {"references/a.md": "beside it"}
        made = client.put("/skills/report", json={"text": text, "files": files}, headers=headers)
        assert made.is_success
        path = "/skills/report/edit"
        assert edit(owner, path, text.replace("One page", "Two pages"), "longer") == 303
        assert edit(owner, path, text.replace("name: report", "name: other")) == 400
        assert edit(owner, path, "no skill at all") == 400
        twin = owner.get_json("/skills/report").json()
        newest = twin["versions"][0]
        assert (newest["version"], newest["why"]) == (2, "longer")
        assert "references/a.md" in [each["path"] for each in twin["files"]]
        assert owner.post("/skills/report/pin", SURE).status_code == 303
        assert owner.get_json("/skills/report").json()["pinned"]
        form = find_form(owner, "/skills/report/remove")
        assert owner.post("/skills/report/remove", {**form, **SURE}).status_code == 303
        assert owner.get_json("/knowledge").json()["skills"] == []
        back = "/skills/report/rollback?version=1"
        assert owner.post(back, {**find_form(owner, back), **SURE}).status_code == 303
        assert "One page" in owner.get_json("/skills/report").json()["text"]
        assert owner.get("/skills/nothing").status_code == 404


def test_a_person_is_made_an_owner_exported_and_erased(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    app = home.app
    let_in(home)
    let_in(home, "telegram:67")
    tell(home, "my secret wish", session=MEMBER, sender=MEMBER)
    with opened(home) as sign_in:
        owner, member = sign_in(), sign_in(MEMBER, "member")
        card = owner.get_json(f"/people/person?id={MEMBER}").json()
        assert (card["role"], [each["session"] for each in card["chats"]]) == ("member", [MEMBER])
        assert "my secret wish" not in owner.get(f"/people/person?id={MEMBER}").text

        # what is kept of somebody is theirs; an owner exports it on the machine
        mine = member.get("/people/export")
        assert mine.headers["content-disposition"] == 'attachment; filename="telegram-66.json"'
        assert "my secret wish" in str(orjson.loads(mine.content))
        refused = owner.get(f"/people/export?id={MEMBER}")
        assert refused.status_code == 403
        assert f"uncaged people export {MEMBER}" in Parsed(refused.text).text
        assert member.get("/people/export?id=telegram:67").status_code == 403
        often = [member.get("/people/export").status_code for _ in range(6)]
        assert (often[0], often[-1]) == (200, 429)
        assert member.get(f"/people/erase?id={MEMBER}").status_code == 403

        role = "/people/role?id=telegram:67&role=owner"
        assert "Beforemember Afterowner" in Parsed(owner.get(role).text).text
        assert owner.post(role, SURE).status_code == 303
        assert app.people.find_member("telegram:67").role == "owner"
        assert owner.get(role).status_code == 400

        erase = f"/people/erase?id={MEMBER}"
        asked = Parsed(owner.get(erase).text)
        assert "conversations" in asked.text
        assert "After0" in asked.text
        assert owner.post(erase).status_code == 200
        assert app.people.find_member(MEMBER)
        done = owner.client.post(
            f"/ui{erase}",
            data=SURE,
            headers={"accept": "application/json", "sec-fetch-site": "same-origin"},
        ).json()
        assert done["removed"]["conversations"] == 1
        assert not done["running"]
        assert app.people.find_member(MEMBER) is None
        assert member.get("/chat/main").status_code == 303
        assert owner.get("/people/person?id=nobody").status_code == 400


def read_ledger(server: Any) -> list[tuple[str, dict[str, Any]]]:
    """Return who did what with a person, in order."""
    token = {"authorization": "Bearer admin-token-of-the-tests"}
    rows = server.client.get("/ledger", headers=token).json()["items"]
    return [(row["by"], row["facts"]) for row in rows if row["what"] == "person"]


def told(bot: BotApi, count: int) -> list[tuple[str, str]]:
    """Return the first `count` messages that left: to whom, and their text."""
    found = bot.wait_for_messages(count)
    return [(f"telegram:{each['chat_id']}", each["text"]) for each in found]


def test_who_is_let_in_or_gets_another_role_is_told_and_has_it_at_the_next_request(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, **{**private_platform(bot), "owners": ()})
    people = home.app.people
    people.let_in(OWNER, "owner", "Ada", "test")
    code = code_of(home, MEMBER, "hallo, ich bin neu hier")
    with opened(home) as sign_in:
        owner = sign_in(OWNER)
        let_in = owner.post("/people/let-in", {"a-code": code})
        assert let_in.status_code == 303
        assert told(bot, 1) == [(MEMBER, GERMAN.let_in.replace("`", ""))]
        mia = sign_in(MEMBER)
        assert mia.get("/people").status_code == 403

        # nobody is left without an owner, and nobody raises themselves
        step = f"/people/role?id={OWNER}&role=member"
        for path in (step, f"/people/remove?id={OWNER}", f"/people/erase?id={OWNER}"):
            refused = owner.post(path, SURE)
            assert refused.status_code == 403, path
            assert "the last owner" in Parsed(refused.text).text
        raising = mia.post(f"/people/role?id={MEMBER}&role=owner", SURE)
        assert raising.status_code == 403

        card = Parsed(owner.get(f"/people/person?id={MEMBER}").text).text
        assert "Make an owner" in card
        path = f"/people/role?id={MEMBER}&role=owner"
        assert "Beforemember Afterowner" in Parsed(owner.get(path).text).text
        assert owner.post(path).status_code == 200  # it is asked first
        assert people.find_member(MEMBER).role == "member"
        assert owner.post(path, SURE).status_code == 303
        assert told(bot, 2)[1] == (MEMBER, ENGLISH.now_owner.replace("`", ""))
        assert mia.get("/people").status_code == 200

        assert owner.post(step, SURE).status_code == 303  # another owner is there: one may go
        assert owner.get("/people").status_code == 403
        assert told(bot, 3)[2] == (OWNER, ENGLISH.now_member.replace("`", ""))
        assert read_ledger(owner) == [
            (f"web:{OWNER}", {"act": "let-in", "person": read_ledger(owner)[0][1]["person"]}),
            (f"web:{OWNER}", {**read_ledger(owner)[1][1], "before": "member", "after": "owner"}),
            (f"web:{OWNER}", {**read_ledger(owner)[2][1], "before": "owner", "after": "member"}),
        ]
        assert MEMBER not in str(read_ledger(owner))


def test_ids_are_linked_and_unlinked_by_an_owner_wherever_they_decide(
    runtime: Callable[..., AgentRuntime], bot: BotApi, model: ScriptedModel
) -> None:
    home = runtime(llm_url=model.url, **private_platform(bot))
    app = home.app
    app.people.let_in(MEMBER, "member", "Mia", "test")
    with opened(home) as sign_in:
        owner = sign_in()
        # by the code that the other id was told: it is shown whose that is before it is done
        code = code_of(home, EVE, name="<b>Mia</b>")
        path = f"/people/link?id={OWNER}"
        refused = owner.post(path, {"a-code": "0000-0000"})
        assert refused.status_code == 404
        assert "no such code" in Parsed(refused.text).text
        same = owner.post(path, {"a-code": code, **SURE})
        assert (same.status_code, app.people.find_member(EVE)) == (403, None)
        assert "two people" in Parsed(same.text).text
        code = code_of(home, PHONE)
        asked = Parsed(owner.post(f"/people/link?id={MEMBER}", {"a-code": code}).text)
        asked.require_harmless()
        assert f"Ada ({PHONE}) Beforeguest Aftermember, same as {MEMBER}" in asked.text
        assert app.people.find_member(PHONE) is None
        assert owner.post(f"/people/link?id={MEMBER}", {"a-code": code, **SURE}).status_code == 303
        assert app.people.find_member(PHONE).same == MEMBER

        phone = sign_in(PHONE, "member")
        assert phone.get("/account").status_code == 200
        card = Parsed(owner.get(f"/people/person?id={MEMBER}").text)
        assert PHONE in card.text
        assert "Unlink" in card.text
        unlink = f"/people/remove?id={PHONE}"
        assert "Beforemember Afterguest" in Parsed(owner.get(unlink).text).text
        assert owner.post(unlink, SURE).headers["location"].endswith("id=telegram%3A66")
        assert phone.get("/account").headers["location"] == "/ui/login"
        assert app.people.find_member(MEMBER).role == "member"

        # by what its person asked for in a chat, who is told what came of it
        for verb, who, said in (
            ("refuse", "discord:9", ENGLISH.link_refused),
            ("accept", "slack:T2.U1", ENGLISH.linked_now),
        ):
            tell(home, f"/pair {code_of(home, who)} me", session=MEMBER, sender=MEMBER)
            asked = Parsed(owner.get("/people").text)
            assert who in asked.text
            path = f"/people/links/{verb}?id={who}&same={MEMBER}"
            assert owner.post(path).status_code == 200
            assert app.people.find_member(who) is None
            assert owner.post(path, SURE).status_code == 303
            assert owner.post(path, SURE).status_code == 404
            person = f"{who} (Ada)"
            wanted = (MEMBER, said.format(person=person, first=MEMBER).replace("`", ""))
            until(lambda wanted=wanted: wanted in told(bot, 0), "whoever asked is told")
        assert app.people.find_member("slack:T2.U1").same == MEMBER
        acts = [facts["act"] for _, facts in read_ledger(owner)]
        assert acts == ["link", "unlink", "refuse-link", "link"]


@pytest.mark.parametrize("act", ["role?role=member&", "remove?", "erase?"])
def test_of_two_owners_who_unseat_each_other_at_once_one_stays(
    home: AgentRuntime, act: str
) -> None:
    people = home.app.people
    pair = (MEMBER, "telegram:67")
    for who in pair:
        people.let_in(who, "owner", "Mia", "terminal:local")
    both_passed = threading.Barrier(2)
    require = people.require_other_owner

    def require_together(who: str) -> None:
        require(who)
        with suppress(threading.BrokenBarrierError):
            both_passed.wait(within(1))

    with opened(home) as sign_in, pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(people), "require_other_owner", lambda _, who: require_together(who))
        with ThreadPoolExecutor(2) as pool:
            asked = [
                pool.submit(sign_in(by).post, f"/people/{act}id={who}", SURE)
                for by, who in (pair, pair[::-1])
            ]
            statuses = [each.result().status_code for each in asked]
    assert 403 in statuses
    assert people.has_owner()


def test_programs_do_the_same_with_people(home: AgentRuntime) -> None:
    people = home.app.people
    with serving(home) as server:
        code = code_of(home, MEMBER)
        for verb, fields in (
            ("let-in", {"code": code}),
            ("let-in-id", {"id": EVE}),
            ("role", {"id": MEMBER, "role": "owner"}),
            ("link", {"id": EVE, "code": code_of(home, PHONE)}),
        ):
            done = server.post(f"/people/{verb}", json=fields)
            assert done.status_code == 200, done.text
        listed = server.client.get("/people").json()
        rows = [(each["id"], each["role"], each["same"]) for each in listed["people"]]
        assert rows == [(PHONE, "member", EVE), (MEMBER, "owner", ""), (EVE, "member", "")]
        for verb, fields, status, code in (
            ("role", {"id": MEMBER, "role": "member"}, 403, "ELAST"),
            ("role", {"id": PHONE, "role": "owner"}, 400, "EINVAL"),
            ("role", {"id": EVE, "role": "reader"}, 400, "EINVAL"),
            ("role", {"id": "telegram:9", "role": "owner"}, 404, "ENOENT"),
            ("remove", {"id": MEMBER}, 403, "ELAST"),
            ("remove", {"id": MEMBER, "x": "y"}, 400, "EINVAL"),
            ("promote", {"id": MEMBER}, 400, "EINVAL"),
        ):
            refused = server.post(f"/people/{verb}", json=fields)
            assert (refused.status_code, refused.json()["error"]["code"]) == (status, code), verb
        assert server.post("/people/remove", json={"id": EVE}).status_code == 200
        assert [each.id for each in people.list_members()] == [MEMBER]
        for header in ({"authorization": ""}, {"authorization": "Bearer wrong"}):
            assert server.client.get("/people", headers=header).status_code == 401


def test_the_settings_show_where_from_and_no_secret(
    runtime: Callable[..., AgentRuntime], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "a-key-that-nobody-may-see"
    monkeypatch.setenv("UNCAGED_LLM_SECONDS", "17")
    made = runtime(
        llm_key=secret,
        llm_url="http://127.0.0.1:9/v1",
        llm_seconds=17.0,
        declared={"TELEGRAM_TOKEN": f"1:{secret}"},
    )
    app = made.app
    caller = Caller(app.root, owner=True)
    token = app.registry.keys.create(TokenRequest("invoke", "laptop", ("run:*",)), caller)
    digest = make_token()[1]
    hook = Hook(id="1", name="builds", agent="main", digest=digest, by="telegram:42", since=1.0)
    Hooks(app.kv, app.root).add(hook)
    let_in(made)
    with opened(made, check=partial(doctor.list_findings, made.settings)) as sign_in:
        owner, member = sign_in(), sign_in(MEMBER, "member")
        answer = owner.get("/settings")
        page = Parsed(answer.text)
        page.require_harmless()
        twin = owner.get_json("/settings")
        for text in (answer.text, twin.text):
            assert secret not in text
            assert digest not in text
            assert token["token"] not in text
        values = {each["name"]: each for each in twin.json()["settings"]}
        assert values["UNCAGED_LLM_KEY"]["value"] == "set"
        assert values["UNCAGED_LLM_SECONDS"]["source"] == "environment"
        assert values["UNCAGED_LLM_SECONDS"]["value"] == "17.0"
        assert [each["name"] for each in twin.json()["hooks"]] == ["builds"]
        [channel] = twin.json()["channels"]
        assert (channel["name"], channel["last"]) == ("telegram", None)

        monkeypatch.setenv("UNCAGED_DATA", made.settings.data)
        assert "checks" not in twin.json()
        checked = owner.post("/settings/checks")
        assert checked.status_code == 200
        shown = Parsed(checked.text)
        shown.require_harmless()
        assert "UNCAGED_LLM_URL" in shown.text, "what helps against a model that is not there"
        assert secret not in checked.text
        assert owner.get("/settings/checks").status_code == 405
        assert member.post("/settings/checks").status_code == 403

        assert member.get("/settings").status_code == 403
        out = f"/settings/sign-out?person={MEMBER}"
        assert owner.post(out).status_code == 200
        assert member.get("/account").status_code == 200
        assert owner.post(out, SURE).status_code == 303
        assert member.get("/account").status_code == 303
        revoke = f"/settings/revoke?id={token['id']}"
        assert owner.post(revoke, SURE).status_code == 303
        assert owner.get(revoke).status_code in (200, 404)
        [left] = owner.get_json("/settings").json()["tokens"] or [{"expired": True}]
        assert left["expired"]


def test_the_policy_is_changed_with_its_versions_and_the_ledger_says_so(
    home: AgentRuntime,
) -> None:
    path = "/policy/edit"
    with opened(home) as sign_in:
        owner = sign_in()
        before = find_form(owner, path)["a-text"]
        wrong = owner.post(path, {**find_form(owner, path), "a-text": "format = 1\nrules = ["})
        assert wrong.status_code == 400
        shown = Parsed(wrong.text)
        assert shown.find_all("div", "notice")[0].text.strip()
        assert shown.find_all("textarea")[0].text.strip() == "format = 1\nrules = ["
        assert owner.get_json("/policy").json()["version"] == 0
        assert edit(owner, path, f"{before}\n# kept", "a note") == 303
        twin = owner.get_json("/policy").json()
        assert (twin["version"], twin["by"], twin["versions"][0]["why"]) == (
            1,
            "web:http:admin",
            "a note",
        )
        back = "/policy/rollback?version=0"
        assert owner.post(back, {**find_form(owner, back), **SURE}).status_code == 303
        assert owner.get_json("/policy").json()["text"] == before
        assert "# kept" in Parsed(owner.get("/policy?diff=1..2").text).text
        entries = owner.client.get(
            "/ledger", headers={"authorization": "Bearer admin-token-of-the-tests"}
        ).json()["items"]
        noted = [each["facts"]["version"] for each in entries if each["what"] == "policy"]
        assert sorted(noted) == [1, 2]


def test_what_failed_in_a_chat_stands_beside_its_name(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    model.then(call(("cap_nothing", {})), say("it failed"))
    tell(home, "do it", session="telegram:42")
    with opened(home) as sign_in:
        owner = sign_in()
        [row] = owner.get_json("/safety/chats").json()["items"]
        assert (row["session"], row["failed"]) == ("telegram:42", 1)
        assert "telegram:42" in Parsed(owner.get("/safety/chats").text).text


def test_a_reader_sees_how_much_there_is_and_nobodys_words(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    app = home.app
    word = "saffron"
    fields = {
        "kind": "agent",
        "state": "enabled",
        "since": app.clock.now(),
        "by": "x",
        "role": f"buys {word}",
    }
    create_agent(app.kv, app.root, "alice", make_record(fields), most=50)
    Board(app.kv, app.root, app.clock.now).add(NewTask(subject=word, description=word))
    model.then(call(("sigil_query", {"query": word}), ("cap_nothing", {"x": word})), say(word))
    tell(home, f"buy {word}", session="telegram:42")
    wait_for_owner(app, word)
    with opened(home) as sign_in:
        reader, owner = sign_in("terminal:local", "reader"), sign_in()
        [run] = reader.get_json("/runs").json()["items"]
        for path in ("/overview", "/agents", "/runs", f"/runs/{run['id']}", "/usage", "/chats"):
            for answer in (reader.get(path), reader.get_json(path)):
                assert answer.status_code == 200, path
                assert word not in answer.text, path
        assert reader.get_json("/overview").json()["waiting"]["proposals"] == 1
        agents = reader.get_json("/agents").json()["items"]
        assert [each["name"] for each in agents] == ["alice"]
        assert word in owner.get("/agents").text
        closed = ("/board", "/agents/alice", "/safety", "/policy", "/people", "/settings")
        for path in (*closed, "/knowledge", "/memory", "/documents?name=soul", "/files", "/chat"):
            assert reader.get(path).status_code == 403, path
        # an owner who looks from a phone is led to what waits
        phone = {"user-agent": "Mozilla/5.0 (Linux; Android 15) Mobile Safari/537.36"}
        assert owner.get("", **phone).headers["location"] == "/ui/overview"
        assert owner.get("").headers["location"] == "/ui/chat"


def wait_for_owner(app: App, word: str) -> None:
    """Let a call wait for an owner's word."""
    app.proposals.propose(
        Proposal(
            id="",
            digest="1" * 64,
            agent="main",
            session="http:admin:main",
            by="http:admin",
            acts=(f"call {word}",),
            tool="cap_pay",
            arguments=word,
        )
    )


ROLES = {
    "all": VIEWERS,
    "owners and members": PEOPLE,
    "owners and readers": WATCHERS,
    "owners": OWNERS,
}


def test_an_owner_finds_no_words_of_a_members_private_chat(
    home: AgentRuntime, model: ScriptedModel
) -> None:
    """Wherever the links of the pages lead."""
    let_in(home)
    word = "saffron"
    model.then(call(("cap_nothing", {"text": word})), say(f"the {word}"))
    for text in (
        f"look for {word}",
        f"/remind tomorrow at nine buy {word}",
        f"/remind every day at 10:30 {word} tea",
        f"/mem remember: likes {word}",
        "/status",
    ):
        tell(home, text, session=MEMBER, sender=MEMBER)
    letter = event(word, session=MEMBER, sender=MEMBER)
    others = replace(event(f"{word} of another agent", session="telegram:42"), agent="other")
    for each in (letter, others):
        dead_letters.give_up(home.app.kv, each, "damaged", home.app.clock.now())
    with opened(home) as sign_in:
        owner = sign_in()
        waiting = [f"/ui{each.path}" for each in pages.PAGES]
        seen: dict[str, str] = {}
        while waiting:
            path = waiting.pop()
            if path in seen or re.search(r"as=json|/export|runs\?|edit", path):
                continue
            seen[path] = owner.get(path.removeprefix("/ui")).text
            seen[f"{path} as JSON"] = owner.get_json(path.removeprefix("/ui")).text
            links = Parsed(seen[path]).find_all("a") if seen[path].startswith("<!doctype") else []
            waiting += [each.attributes["href"].partition("#")[0] for each in links]
        assert {"/ui/agents/main", f"/ui/safety/dead/drop?id={quote(letter.id)}"} <= seen.keys()
        assert not [path for path, text in seen.items() if word in text]


def test_the_documentation_says_for_whom_each_page_is() -> None:
    table = (
        (Path(__file__).parents[3] / "docs/page.md")
        .read_text(encoding="utf-8")
        .partition("## What there is")[2]
    )
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in table.splitlines()
        if line.startswith("| ")
    ]
    told = {row[0]: ROLES[row[-1].partition(":")[0]] for row in rows[1:]}
    assert told == {page.name: page.roles for page in pages.PAGES}
