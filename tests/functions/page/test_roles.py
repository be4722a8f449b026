"""Who may call which page: every route as everybody, and what of a chat somebody may see."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

import pytest

from functions.agent.access.roles import Rules
from functions.agent.access.web_codes import WebCodes
from functions.agent.management.ledger import scan_entries
from functions.events import Event, Sender, find_web_person
from functions.page import pages
from functions.page.access import reach
from functions.page.access.viewer import RANKS, Viewer
from functions.page.frame import PageRequest
from functions.wiring import AgentRuntime
from sigil.access.tokens import TokenRequest, Tokens
from sigil.errors import UsageError
from tests.functions.page.browsing import Browser
from tests.functions.serving import serving
from tests.tables import each_row

ADA, OWNER = "telegram:66", "telegram:42"


@pytest.fixture
def agent(runtime: Callable[..., AgentRuntime]) -> AgentRuntime:
    made = runtime(owners=(OWNER,))
    made.app.people.let_in(ADA, "member", "Ada", "test")
    return made


def test_every_route_is_for_its_roles_alone(agent: AgentRuntime) -> None:
    """A page that is not for somebody answers a stranger with the sign-in, and others with 403;
    whoever may see it gets anything but these.
    """
    codes = WebCodes(agent.stores.kv, "main", agent.app.clock.now)
    key, _ = Tokens(agent.stores.kv).create(TokenRequest("invoke", "ci"), "main")
    wrong = []
    with serving(agent) as server:
        browsers = {role: Browser(server.url) for role in RANKS}
        for route in pages.ROUTES:
            signed = {
                "owner": codes.make(OWNER, "owner"),
                "member": codes.make(ADA, "member"),
                "reader": key,
            }
            path = re.sub(r"\{[^}]*\}", "no-such-thing", route.path)
            for role, browser in browsers.items():
                if role in signed and not browser.client.cookies:
                    assert browser.sign_in(signed[role]).status_code == 303
                if route.method == "GET":
                    answer = browser.peek(path)
                else:
                    answer = browser.post(path)
                is_sent_away = (
                    answer.headers.get("location") == "/ui/login" or answer.status_code == 401
                )
                refused = is_sent_away if role == "stranger" else answer.status_code == 403
                is_sign_in = route.path.startswith(("/login", "/logout"))
                if not is_sign_in and refused == (role in route.roles):
                    wrong.append((route.method, route.path, role, answer.status_code))
                if is_sign_in:
                    browser.client.cookies.clear()
        for browser in browsers.values():
            browser.client.close()
    assert len(pages.ROUTES) >= 6
    assert not wrong


MINE, HERS = "web:telegram:42:main", "web:telegram:66:main"


@each_row(
    ("viewer", "chat", "seen"),
    [
        (("owner", OWNER), MINE, "texts"),
        (("owner", OWNER), "telegram:42", "texts"),
        (("owner", OWNER), "telegram:-100", "texts"),
        (("owner", OWNER), "web:http:admin:main", "texts"),
        (("owner", OWNER), "terminal:main", "texts"),
        (("owner", OWNER), "own:main", "texts"),
        (("owner", OWNER), HERS, "numbers"),
        (("owner", OWNER), "telegram:66", "numbers"),
        (("owner", OWNER), "telegram:66:7", "numbers"),
        (("owner", OWNER), "telegram:66#alice", "numbers"),
        (("owner", OWNER), "telegram:77", "numbers"),
        (("owner", "http:admin"), HERS, "numbers"),
        (("member", ADA), HERS, "texts"),
        (("member", ADA), "telegram:66", "texts"),
        (("member", ADA), MINE, "nothing"),
        (("member", ADA), "telegram:42", "nothing"),
        (("member", ADA), "telegram:-100", "nothing"),
        (("member", ADA), "web:telegram:666:main", "nothing"),
        (("member", ADA), "own:main", "nothing"),
        (("reader", "key:1"), MINE, "numbers"),
        (("reader", "key:1"), "telegram:-100", "numbers"),
    ],
)
def test_how_much_of_a_chat_somebody_sees(
    agent: AgentRuntime, viewer: tuple[str, str], chat: str, seen: str
) -> None:
    role, person = viewer
    assert reach.find_reach(agent.app, Viewer(person, role, "", "x"), chat) == seen  # type: ignore[arg-type]


def test_owners_read_the_chats_of_others_only_by_a_setting_and_the_ledger_says_so(
    agent: AgentRuntime,
) -> None:
    from functions.page.frame import PageDeps

    def look(role: str, person: str, chat: str, texts: str) -> str:
        deps = (
            made
            if texts == "own"
            else replace(made, settings=replace(made.settings, web_texts="all"))
        )
        page = PageRequest(
            deps,
            Viewer(person, role, "", "x" * 64),
            None,
            None,
            {},
            {},
            {},
            (),
            "en",
            "",  # type: ignore[arg-type]
        )
        return reach.require_chat(page, chat)

    made = PageDeps(
        app=agent.app,
        settings=agent.settings,
        kv=agent.stores.kv,
        artifacts=agent.stores.artifacts,
        notifier=agent.notifier,
        gate=None,  # type: ignore[arg-type]
        agents=agent.agents,
        queue=agent.queue,
        turns=None,  # type: ignore[arg-type]
        replies=agent.replies,
        put=agent.queue.put,
    )
    assert look("owner", OWNER, HERS, "own") == "numbers"
    assert not list(scan_entries(agent.app, "main", 0.0))
    assert look("owner", OWNER, HERS, "all") == "texts"
    assert look("owner", OWNER, HERS, "all") == "texts"
    assert look("owner", OWNER, MINE, "all") == "texts"
    [entry] = scan_entries(agent.app, "main", 0.0)
    assert (entry["what"], entry["by"]) == ("read", f"web:{OWNER}")
    assert HERS not in str(entry)
    with pytest.raises(UsageError) as refused:
        look("member", ADA, MINE, "all")
    assert refused.value.code == "ENOENT"


@each_row(
    ("session", "sender", "role"),
    [
        (MINE, OWNER, "owner"),
        (HERS, ADA, None),
        (MINE, ADA, "guest"),
        (HERS, OWNER, "guest"),
        ("web:telegram:42", OWNER, "guest"),
        ("web:telegram:42:a/b", OWNER, "guest"),
        ("web:telegram:42:a:b", OWNER, "guest"),
        ("web::main", OWNER, "guest"),
        ("webx:telegram:42:main", OWNER, "guest"),
        ("slack:web:telegram:42:main", OWNER, "guest"),
        ("telegram:42", OWNER, "owner"),
    ],
)
def test_an_id_speaks_in_its_own_chats_on_the_page(
    session: str, sender: str, role: str | None
) -> None:
    event = Event("web:1", "message", "main", session, Sender(sender), "hi", 0.0, "0", private=True)
    assert Rules(owners=(OWNER,)).find_named_role(event) == role


@each_row(
    ("session", "person"),
    [
        (MINE, OWNER),
        ("web:matrix:@ada:b.org:8448:work", "matrix:@ada:b.org:8448"),
        ("web:telegram:42:", ""),
        ("web:telegram:42:-x", ""),
        ("telegram:42:main", ""),
    ],
)
def test_whose_chat_on_the_page_a_session_is(session: str, person: str) -> None:
    assert find_web_person(session) == person


def test_nobody_outside_can_name_a_chat_of_the_page(agent: AgentRuntime) -> None:
    with serving(agent) as server:
        for name in (MINE, "../web:telegram:42:main", "web:x"):
            refused = server.post("/chat", json={"session": name, "text": "/whoami"})
            assert refused.status_code == 400
        answer = server.post("/chat", json={"session": "web", "text": "/whoami"})
        assert "http:admin" in answer.json()["reply"]
