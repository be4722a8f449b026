"""The frame of the pages: who comes in, what every answer has, and what is refused."""

from __future__ import annotations

import gzip
import re
import time
from collections.abc import Callable, Iterator
from urllib.parse import quote, urljoin

import httpx
import pytest
from starlette.requests import Request
from starlette.responses import Response
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from functions.agent.access.web_codes import WebCodes
from functions.local import build_app
from functions.wiring import AgentRuntime
from sigil.errors import Conflict
from sigil.http.page.frame import Page, PageRequest, PageRoute, Site, SiteParts
from sigil.http.page.guard import Guard
from sigil.http.page.viewer import OWNERS, Viewer
from tests.coroutines import run_apart
from tests.functions.page.browsing import OURS, Browser
from tests.functions.page.markup import list_faults
from tests.functions.page.parsed import Parsed
from tests.functions.page.ui.hostile import HOSTILE
from tests.functions.serving import TOKEN, Served, serving
from tests.tables import each_row


@pytest.fixture
def server(runtime: Callable[..., AgentRuntime]) -> Iterator[Served]:
    with serving(runtime()) as served:
        yield served


@pytest.fixture
def browser(server: Served) -> Iterator[Browser]:
    with Browser(server.url) as opened:
        yield opened


def test_a_browser_signs_in_looks_and_signs_out(server: Served, browser: Browser) -> None:
    first = httpx.get(server.url, headers={"accept": "text/html,*/*"})
    assert (first.status_code, first.headers["location"]) == (303, "ui")
    assert httpx.get(server.url).json()["error"]["code"] == "EROUTE"

    assert browser.get("").headers["location"] == "/ui/login"
    form = browser.get("/login")
    assert form.status_code == 200
    assert 'name="code"' in form.text
    assert "Sign out" not in form.text

    wrong = browser.sign_in("wrong")
    assert wrong.status_code == 401
    assert 'role="alert"' in wrong.text
    assert not browser.client.cookies

    right = browser.sign_in()
    assert (right.status_code, right.headers["location"]) == (303, "/ui")
    cookie = right.headers["set-cookie"]
    port = server.url.rpartition(":")[2]
    assert re.match(rf"uncaged-{port}=[A-Za-z0-9_-]{{43}};", cookie)
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
    page = browser.get("/")
    assert "Sign out" in page.text or page.headers["location"].startswith("/ui")

    held = browser.client.cookies
    assert browser.post("/logout").headers["location"] == "/ui/login"
    assert browser.get("/").headers["location"] == "/ui/login"
    # what was signed out stays so for whoever kept the cookie
    browser.client.cookies = held
    assert browser.get("/").headers["location"] == "/ui/login"


def test_static_files_are_compressed_and_kept_for_ever_under_their_digest(
    browser: Browser,
) -> None:
    page = browser.get("/login").text
    [address] = re.findall(r'href="/ui(/static/page\.css\?v=[0-9a-f]{12})"', page)
    style = browser.client.get(f"/ui{address}", headers={"accept-encoding": "gzip"})
    assert style.headers["cache-control"] == "max-age=31536000, immutable"
    assert style.headers["content-encoding"] == "gzip"
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert len(gzip.compress(style.content)) < 8_000
    changed = browser.get("/static/page.css?v=000000000000")
    assert changed.headers["cache-control"] == "no-cache"
    assert browser.get("/static/../frame.py").status_code == 404
    assert browser.get("/static/nothing.css").status_code == 404


def test_a_request_from_elsewhere_changes_nothing(server: Served) -> None:
    """SameSite keeps the cookie from other sites; here it is there all the same."""
    port = server.url.rpartition(":")[2]
    rows: list[tuple[dict[str, str], bool]] = [
        ({"sec-fetch-site": "same-origin"}, True),
        ({"sec-fetch-site": "same-origin", "origin": "null"}, True),
        ({"origin": server.url}, True),
        ({"sec-fetch-site": "cross-site"}, False),
        ({"sec-fetch-site": "same-site"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"sec-fetch-site": "cross-site", "origin": server.url}, False),
        ({"origin": "null"}, False),
        ({"origin": "https://evil.example"}, False),
        ({"origin": f"https://127.0.0.1:{port}"}, False),
        ({"origin": "http://127.0.0.1:1"}, False),
        ({"origin": f"http://localhost:{port}"}, False),
        ({}, False),
    ]
    for headers, passes in rows:
        with Browser(server.url) as browser:
            signed = browser.post("/login", {"code": TOKEN}, headers)
            assert (signed.status_code == 303) is passes, headers
            assert bool(browser.client.cookies) is passes, headers
            browser.sign_in()
            browser.post("/logout", headers=headers)
            assert (browser.get("/account").status_code == 303) is passes, headers


def test_the_page_has_its_own_names_alone(
    runtime: Callable[..., AgentRuntime],
) -> None:
    with serving(runtime(web_names=("agent.example.org",))) as server:
        port = server.url.rpartition(":")[2]
        rows = [
            (f"127.0.0.1:{port}", 200),
            (f"localhost:{port}", 200),
            ("LOCALHOST", 200),
            ("uncaged.localhost:1", 200),
            (f"[::1]:{port}", 200),
            ("evil.example", 421),
            (f"evil.example:{port}", 421),
            ("127.0.0.1.evil.example", 421),
            ("localhost.evil.example", 421),
            ("localhost:80@evil.example", 421),
            ("[::1]evil.example", 421),
            ("192.168.1.5:8000", 421),
            ("", 421),
            # known, and yet everybody on the way could read along
            ("agent.example.org", 403),
        ]
        for host, status in rows:
            answer = httpx.get(f"{server.url}/ui/login", headers={"host": host})
            assert answer.status_code == status, host
            assert ("set-cookie" in answer.headers) is False
            if status != 200:
                assert 'role="alert"' in answer.text
                assert 'name="code"' not in answer.text
        # what is behind a bearer token is called as before
        assert httpx.get(f"{server.url}/health", headers={"host": "evil.example"}).is_success


def test_behind_a_proxy_with_tls_the_cookie_is_sealed(
    runtime: Callable[..., AgentRuntime],
) -> None:
    made = runtime(web_names=("agent.example.org",))
    app = ProxyHeadersMiddleware(build_app(made, TOKEN), trusted_hosts=["127.0.0.1"])
    sent = {"host": "agent.example.org", "x-forwarded-proto": "https", **OURS}
    for believed in (True, False):
        client = ("127.0.0.1" if believed else "10.0.0.1", 1)
        transport = httpx.ASGITransport(app, client=client)

        async def sign_in(transport: httpx.ASGITransport = transport) -> httpx.Response:
            async with httpx.AsyncClient(transport=transport, base_url="http://x") as http:
                return await http.post("/ui/login", data={"code": TOKEN}, headers=sent)

        answer = run_apart(sign_in())
        assert answer.status_code == (303 if believed else 403)
        cookie = answer.headers.get("set-cookie", "")
        assert cookie.startswith("__Host-uncaged=") is believed
        assert ("; Secure" in cookie) is believed
        assert "domain" not in cookie.lower()


def test_a_proxy_may_take_a_path_away(runtime: Callable[..., AgentRuntime]) -> None:
    made = runtime(web_names=("example.org/agent", 'x.org/"><b>', "y.org/../z"))
    app = ProxyHeadersMiddleware(build_app(made, TOKEN), trusted_hosts=["127.0.0.1"])
    transport = httpx.ASGITransport(app)
    sent = {"host": "example.org", "x-forwarded-proto": "https", "accept": "text/html", **OURS}

    async def visit() -> None:
        async with httpx.AsyncClient(transport=transport, base_url="https://example.org") as http:
            first = await http.get("/", headers=sent)
            assert urljoin("https://example.org/agent/", first.headers["location"]) == (
                "https://example.org/agent/ui"
            )
            signed = await http.post("/ui/login", data={"code": TOKEN}, headers=sent)
            assert signed.headers["location"].startswith("/agent/ui")
            for path in ("/ui/chat/main", "/ui/knowledge", "/ui/board/new", "/ui/usage"):
                page = Parsed((await http.get(path, headers=sent)).text)
                links = [
                    each.attributes[name]
                    for each in page.elements
                    for name in ("href", "src", "action", "data-chat")
                    if each.attributes.get(name, "").startswith("/")
                ]
                assert len(links) > 5
                for link in links:
                    assert link.startswith("/agent/ui"), link
                    found = await http.get(link.removeprefix("/agent"), headers=sent)
                    assert found.status_code in (200, 303, 405), link
            # on this machine itself nothing is taken away, and a name that is none is not known
            near = await http.get("/ui/login", headers={**sent, "host": "localhost"})
            assert "/agent" not in near.text
            for host in ("x.org", "y.org"):
                odd = await http.get("/ui/login", headers={**sent, "host": host})
                assert odd.status_code == 421

    run_apart(visit())


def test_every_answer_has_the_headers_that_keep_others_out(browser: Browser) -> None:
    browser.sign_in()
    for answer in (
        browser.get("/account"),
        browser.get("/no-such-page"),
        browser.get_json("/account"),
        browser.post("/account"),
        browser.post("/logout", headers={}),
        browser.get("/static/no-such.css"),
    ):
        headers = answer.headers
        policy = dict(
            part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";")
        )
        assert policy == {
            "default-src": "'none'",
            "script-src": "'self'",
            "style-src": "'self'",
            "img-src": "'self' data:",
            "connect-src": "'self'",
            "form-action": "'self'",
            "base-uri": "'none'",
            "frame-ancestors": "'none'",
        }
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cross-origin-opener-policy"] == "same-origin"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "microphone=(self)" in headers["permissions-policy"]
        assert headers["cache-control"] in ("no-store", "no-cache")
    style = browser.get("/static/page.css").headers
    assert style["content-security-policy"] == "default-src 'none'"
    assert style["x-content-type-options"] == "nosniff"
    assert style["cross-origin-resource-policy"] == "same-origin"
    assert "<script" not in re.sub(
        r'<script type="module" src="[^"]+"></script>', "", browser.get("/account").text
    )
    assert " style=" not in browser.get("/account").text


def test_forms_requests_and_methods_have_bounds(server: Served, browser: Browser) -> None:
    big = browser.post("/login", {"code": "x" * (64 << 10)})
    assert big.status_code == 413
    kind = browser.client.post(
        "/ui/login", content=b"{}", headers={**OURS, "content-type": "application/json"}
    )
    assert kind.status_code == 415
    cut = browser.client.post(
        "/ui/login",
        content=b"--x\r\nContent-Disposition: form-data; name=code\r\n\r\nabc",
        headers={**OURS, "content-type": "multipart/form-data; boundary=x"},
    )
    assert cut.status_code == 400
    whole = browser.client.post(
        "/ui/login",
        files={"code": (None, TOKEN)},
        headers=OURS,
    )
    assert whole.status_code == 303
    assert browser.post("/account").status_code == 405
    assert browser.client.head("/ui/account").status_code == 200
    refused = browser.get_json("/no-such-page")
    assert (refused.status_code, refused.json()["error"]["code"]) == (404, "EROUTE")


@each_row(
    ("charset", "code"),
    [("undefined", "x"), ("punycode", "-" + "a" * 60_000), ("utf-7", "+2AA-"), ("UTF-16", "x")],
)
def test_a_form_is_utf_8_whatever_it_says(browser: Browser, charset: str, code: str) -> None:
    """Python knows encodings that fail in a way of their own, make half characters, or are slow."""
    began = time.process_time()
    answer = browser.client.post(
        "/ui/login",
        content=f"--x\r\nContent-Disposition: form-data; name=code\r\n\r\n{code}\r\n--x--\r\n",
        headers={**OURS, "content-type": f"multipart/form-data; boundary=x; charset={charset}"},
    )
    assert answer.status_code == 401
    assert time.process_time() - began < 0.3  # punycode takes as long for each 60,000 characters


def test_a_sign_in_makes_so_many_requests_a_minute(runtime: Callable[..., AgentRuntime]) -> None:
    with (
        serving(runtime(rate=5)) as server,
        Browser(server.url) as browser,
        Browser(server.url) as other,
    ):
        browser.sign_in()
        other.sign_in()
        answers = [browser.get_json("/account") for _ in range(6)]
        assert [answer.status_code for answer in answers] == [200] * 5 + [429]
        assert int(answers[-1].headers["retry-after"]) >= 1
        assert other.get("/account").status_code == 200


def test_a_server_without_pages_has_none(runtime: Callable[..., AgentRuntime]) -> None:
    app = build_app(runtime(), TOKEN, has_page=False)

    async def look() -> list[int]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            headers = {"accept": "text/html"}
            return [
                (await http.get(path, headers=headers)).status_code
                for path in ("/", "/ui", "/ui/login")
            ]

    assert run_apart(look()) == [404, 404, 404]


def test_what_strangers_and_models_write_is_only_text(browser: Browser, server: Served) -> None:
    people = server.runtime.app.people
    codes = WebCodes(server.runtime.stores.kv, "main", server.runtime.app.clock.now)
    people.let_in("telegram:66", "member", "Ada", "test")
    browser.sign_in(codes.make("telegram:66", "member"))
    for text in HOSTILE:
        people.remove_member("telegram:66")
        people.let_in("telegram:66", "member", text, "test")
        for page in (browser.get("/account"), browser.get(f"/{quote(text[:200])}")):
            assert page.status_code in (200, 404)
            assert list_faults(page.text) == [], text[:60]


def test_a_form_that_fails_says_why_and_keeps_what_was_typed() -> None:
    def fail(page: PageRequest[None]) -> Response:
        raise Conflict(page.form["note"])

    class Everybody:
        def find_viewer(self, request: Request) -> Viewer:
            return Viewer("telegram:42", "owner", "Ada", "x" * 64)

    site = Site(
        lambda: None,
        SiteParts(
            routes=(PageRoute("/fail", "POST", fail, reads_form=True),),
            pages=(Page("Chat", "/chat", OWNERS), Page("Runs", "/runs", frozenset())),
            visitors=Everybody(),
            guard=Guard(),
            describe=lambda _: {"name": "main"},
        ),
    )

    async def send(fields: dict[str, str], **headers: str) -> httpx.Response:
        transport = httpx.ASGITransport(site)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.post("/ui/fail", data=fields, headers={**OURS, **headers})

    for text in HOSTILE:
        fields = {"note": text, "new_secret": "hidden-value"}
        page = run_apart(send({name: value[:9_000] for name, value in fields.items()}))
        assert page.status_code == 409
        assert list_faults(page.text) == [], text[:60]
        assert "hidden-value" not in page.text
        assert page.text.count("<li>") == 1
    page = run_apart(send({"note": "two words"}))
    assert ">\ntwo words</textarea>" in page.text
    said = run_apart(send({"note": "two words"}, accept="application/json")).json()
    assert (said["error"]["code"], said["error"]["message"]) == ("ECONFLICT", "two words")


def test_a_link_on_another_site_leads_to_the_page_of_whoever_has_signed_in(
    browser: Browser,
) -> None:
    """The browser sends the cookie only with what comes from a page of ours."""
    first = browser.get("/account?x=%22%3E1", **{"sec-fetch-site": "cross-site"})
    assert first.status_code == 200
    assert 'content="0;url=/ui/account?x=%22%3E1"' in first.text
    again = browser.get("/account", **{"sec-fetch-site": "same-origin"})
    assert again.headers["location"] == "/ui/login"
    for path in ("/%22%3E%3Cscript%3E", "//evil.example", "/account?x=\u2028"):
        page = browser.get(path, **{"sec-fetch-site": "cross-site"})
        assert "<script>" not in page.text
        assert "url=//" not in page.text


def test_what_was_typed_stays_when_the_sign_in_ended_meanwhile() -> None:
    class Nobody:
        def find_viewer(self, request: Request) -> None:
            return None

    site = Site(
        lambda: None,
        SiteParts(
            routes=(PageRoute("/note", "POST", lambda page: Response(), OWNERS, reads_form=True),),
            pages=(),
            visitors=Nobody(),
            guard=Guard(),
            describe=lambda _: {},
        ),
    )

    async def send() -> httpx.Response:
        transport = httpx.ASGITransport(site)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as http:
            return await http.post("/ui/note", data={"text": "a long thought"}, headers=OURS)

    refused = run_apart(send())
    assert refused.status_code == 401
    assert "a long thought</textarea>" in refused.text
