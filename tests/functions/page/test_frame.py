"""The frame of the pages: who comes in, what every answer has, and what is refused."""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator

import httpx
import pytest

from functions.wiring import AgentRuntime
from tests.functions.page.browsing import Browser
from tests.functions.serving import Served, serving


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
    assert (first.status_code, first.headers["location"]) == (303, "/ui")
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
    assert (right.status_code, right.headers["location"]) == (303, "/ui/")
    cookie = right.headers["set-cookie"]
    port = server.url.rpartition(":")[2]
    assert re.match(rf"uncaged-{port}=[A-Za-z0-9_-]{{43}};", cookie)
    assert {"HttpOnly", "Path=/", "SameSite=strict"} <= set(cookie.split("; "))
    page = browser.get("/")
    assert "Sign out" in page.text or page.headers["location"].startswith("/ui/")

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
    assert style.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert style.headers["content-encoding"] == "gzip"
    assert style.headers["content-type"] == "text/css; charset=utf-8"
    assert len(gzip.compress(style.content)) < 8_000
    changed = browser.get("/static/page.css?v=000000000000")
    assert changed.headers["cache-control"] == "no-cache"
    assert browser.get("/static/../frame.py").status_code == 404
    assert browser.get("/static/nothing.css").status_code == 404
