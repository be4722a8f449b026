"""Signing in: what opens the page, for whom, how long, and what is refused with which sentence."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import orjson
import pytest

from functions.agent.access.web_codes import WebCodes
from functions.personal_data import PersonalData
from functions.wiring import AgentRuntime
from sigil.access.tokens import TokenRequest, Tokens
from sigil.http.page.logins import Logins, digest_token
from sigil.storage.kv import keys
from tests.fakes.bot_api import BotApi
from tests.fakes.clock import Clock
from tests.functions.page.browsing import Browser
from tests.functions.people import GROUP, GUEST, Live, private_platform
from tests.functions.serving import TOKEN, serving

ADA = "telegram:66"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def agent(runtime: Callable[..., AgentRuntime], clock: Clock) -> AgentRuntime:
    made = runtime(owners=("telegram:42",))
    return replace(made, app=replace(made.app, clock=replace(made.app.clock, now=clock)))


def make_code(agent: AgentRuntime, who: str, role: str = "owner") -> str:
    return WebCodes(agent.stores.kv, "main", agent.app.clock.now).make(who, role)  # type: ignore[arg-type]


def read_account(browser: Browser) -> dict[str, object]:
    return dict(browser.get_json("/account").json())


def test_a_code_opens_the_page_once_for_ten_minutes_and_says_why_not(
    agent: AgentRuntime, clock: Clock
) -> None:
    with serving(agent) as server, Browser(server.url) as browser:
        code = make_code(agent, "telegram:42")
        assert re.fullmatch(r"([0-9A-HJKMNP-TV-Z]{4}-){2}[0-9A-HJKMNP-TV-Z]{4}", code)
        stored = list(agent.stores.kv.scan("web-code#main"))
        assert code.replace("-", "") not in repr(stored)

        typed = f" {code.lower().replace('0', 'o')} "
        assert browser.sign_in(typed).headers["location"] == "/ui"
        account = read_account(browser)
        assert (account["person"], account["role"]) == ("telegram:42", "owner")

        again = browser.sign_in(code)
        assert (again.status_code, "used already" in again.text) == (401, True)
        late = make_code(agent, "telegram:42")
        clock.advance(600.0)
        assert "too old" in browser.sign_in(late).text
        assert "no such code" in browser.sign_in("ABCD-EFGH-JKMN").text
        assert "not known" in browser.sign_in("sgl_nothing").text
        with Browser(server.url, "de-DE,de;q=0.9") as german:
            assert "Diesen Code gibt es nicht" in german.sign_in("ABCD-EFGH-JKMN").text


def test_ten_tries_a_minute_come_from_one_address(agent: AgentRuntime) -> None:
    with serving(agent) as server, Browser(server.url) as browser:
        statuses = [browser.sign_in("ABCD-EFGH-JKMN").status_code for _ in range(11)]
        assert statuses == [401] * 10 + [429]
        refused = browser.sign_in(make_code(agent, "telegram:42"))
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert "Wait a minute" in refused.text


def test_a_sign_in_ends_with_the_person_the_token_or_the_key_that_opened_it(
    agent: AgentRuntime,
) -> None:
    people = agent.app.people
    people.let_in(ADA, "member", "Ada", "test")
    tokens = Tokens(agent.stores.kv)
    value, holder = tokens.create(TokenRequest("invoke", "ci"), "main")
    with serving(agent) as server, Browser(server.url) as ada, Browser(server.url) as program:
        ada.sign_in(make_code(agent, ADA))
        account = read_account(ada)
        assert (account["person"], account["role"]) == (ADA, "member")
        assert "Ada" in ada.get("/account").text
        program.sign_in(value)
        account = read_account(program)
        assert (account["person"], account["role"]) == (f"key:{holder.id}", "reader")

        people.let_in(ADA, "owner", "Ada", "test")
        assert read_account(ada)["role"] == "owner"
        people.remove_member(ADA)
        tokens.revoke(holder.id)
        for left in (ada, program):
            assert left.get("/account").headers["location"] == "/ui/login"
        assert "may not talk" in ada.sign_in(make_code(agent, ADA)).text
        limited = make_code(agent, "telegram:42", "reader")
        ada.sign_in(limited)
        assert read_account(ada)["role"] == "reader"


def test_a_sign_in_by_the_admin_token_ends_when_the_token_is_another_one(
    agent: AgentRuntime,
) -> None:
    with serving(agent) as server, Browser(server.url) as admin:
        admin.sign_in(TOKEN)
        assert read_account(admin)["person"] == "http:admin"
        kv = agent.stores.kv
        [(digest, item)] = kv.scan("web-login#main")
        assert TOKEN.encode() not in item.value
        of_before = orjson.dumps({**orjson.loads(item.value), "proof": "0" * 64})
        kv.put(keys.web_login("main", digest), of_before)
        assert admin.get("/account").headers["location"] == "/ui/login"


def test_a_sign_in_slides_for_twelve_hours_and_thirty_days_at_most(
    agent: AgentRuntime, clock: Clock
) -> None:
    logins = Logins(agent.stores.kv, "main", clock)
    idle, used = (digest_token(logins.open("http:admin", "owner", "token")) for _ in range(2))
    clock.advance(11 * 3600)
    assert logins.find(used)
    clock.advance(3600)
    assert logins.find(idle) is None
    clock.advance(-3600)
    for _ in range(64):  # 30 days are 65 times 11 hours, and some
        assert logins.find(used)
        clock.advance(11 * 3600)
    assert logins.find(used)
    clock.advance(6 * 3600)
    assert logins.find(used) is None
    # of a clock that was wrong nothing is left: neither what it made ends later, nor what it noted
    right = digest_token(logins.open("http:admin", "owner", "token"))
    clock.advance(2 * 86_400)
    early = digest_token(logins.open("http:admin", "owner", "token"))
    assert logins.find(early)
    clock.advance(-2 * 86_400)
    assert logins.find(early) is None
    assert early not in dict(logins.scan())
    assert logins.find(right)


def test_signing_out_everywhere_ends_the_sign_ins_of_this_person_alone(
    agent: AgentRuntime,
) -> None:
    agent.app.people.let_in(ADA, "member", "Ada", "test")
    with (
        serving(agent) as server,
        Browser(server.url) as one,
        Browser(server.url) as other,
        Browser(server.url) as ada,
    ):
        one.sign_in()
        other.sign_in()
        ada.sign_in(make_code(agent, ADA))
        items = read_account(one)["sign_ins"]
        assert [item["this"] for item in items].count(True) == 1  # type: ignore[attr-defined, index]
        left = one.post("/logout/everywhere")
        assert left.headers["clear-site-data"] == '"cache", "storage"'
        assert other.get("/account").status_code == 303
        assert ada.get("/account").status_code == 200


def test_web_sends_a_code_in_a_private_chat_and_nobody_else_gets_one(
    runtime: Callable[..., AgentRuntime], bot: BotApi
) -> None:
    with serving(runtime(**private_platform(bot))) as server, Browser(server.url) as browser:
        live = Live(server, bot)
        told = live.ask("/web")
        [code] = re.findall(r"(?:[0-9A-Z]{4}-){2}[0-9A-Z]{4}", told)
        assert "10 minutes" in told
        assert browser.sign_in(code).status_code == 303
        assert read_account(browser)["person"] == "telegram:42"
        command = {"type": "bot_command", "offset": 0, "length": len("/web@Sigil_Bot")}
        refused = live.ask("/web@Sigil_Bot", chat=GROUP, entities=[command])
        assert "private chat" in refused
        assert not re.search(r"(?:[0-9A-Z]{4}-){2}[0-9A-Z]{4}", refused)
        assert not re.search(r"(?:[0-9A-Z]{4}-){2}[0-9A-Z]{4}", live.ask("/web", sender=GUEST))


def test_what_is_kept_of_sign_ins_goes_with_an_erased_person(agent: AgentRuntime) -> None:
    agent.app.people.let_in(ADA, "member", "Ada", "test")
    make_code(agent, ADA)
    logins = Logins(agent.stores.kv, "main", agent.app.clock.now)
    mine, others = logins.open(ADA, "member", "code"), logins.open("telegram:42", "owner", "code")
    data = PersonalData(agent.app, agent.stores.artifacts)
    data.erase(data.find(ADA))
    assert logins.find(digest_token(mine)) is None
    assert logins.find(digest_token(others))
    assert not list(agent.stores.kv.scan("web-code#main"))
