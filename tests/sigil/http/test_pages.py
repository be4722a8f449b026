"""`sigil serve` alone shows its capabilities in a browser, to whoever signs in with a token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from sigil.access.authentication import Authenticator
from sigil.access.tokens import TokenRequest
from sigil.http import app as sigil_http
from sigil.http.page.registry_site import open_site
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry, RegistryRules
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.machine import within
from tests.sigil.serving import served

ADMIN = "an-admin-token-for-tests"
OURS = {"sec-fetch-site": "same-origin", "accept": "text/html"}
OWNER = Caller("main", owner=True)


@pytest.fixture
def registry(sandbox: Sandbox) -> LocalRegistry:
    made = LocalRegistry(MemoryKV(), MemoryArtifacts(), sandbox, rules=RegistryRules(pause=0))
    library = Caller(LIBRARY, author="library")
    made.deploy({"name": "standard", "description": "Of all.", "execute": "return 's';"}, library)
    made.deploy({"name": "mine", "description": "Of one.", "execute": "return 'm';"}, OWNER)
    return made


@pytest.fixture
def url(registry: LocalRegistry) -> Iterator[str]:
    gate = Authenticator(ADMIN, lambda: registry.keys, "main", 6_000)
    app = sigil_http.build_app(
        lambda: registry, gate, open_pages=lambda: open_site(lambda: registry, gate, "main")
    )
    with served(app) as address:
        yield address


@contextmanager
def open_browser(url: str, token: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=url, headers=OURS, timeout=within(60)) as browser:
        assert browser.post("/ui/login", data={"code": token}).status_code == 303
        yield browser


def test_the_admin_finds_runs_and_rolls_back_in_a_browser(url: str) -> None:
    first = httpx.get(url, headers={"accept": "text/html"})
    assert (first.status_code, first.headers["location"]) == (303, "ui")
    assert httpx.get(url).status_code == 404
    stranger = httpx.get(f"{url}/ui/capabilities", headers={"accept": "text/html"})
    assert stranger.headers["location"] == "/ui/login"
    wrong = httpx.post(f"{url}/ui/login", data={"code": "wrong"}, headers=OURS)
    assert (wrong.status_code, 'role="alert"' in wrong.text) == (401, True)
    foreign = httpx.post(
        f"{url}/ui/login", data={"code": ADMIN}, headers={"origin": "http://x.example"}
    )
    assert foreign.status_code == 403

    with open_browser(url, ADMIN) as browser:
        assert browser.get("/ui/").headers["location"] == "/ui/capabilities"
        page = browser.get("/ui/capabilities")
        assert "standard" in page.text
        assert "default-src 'none'" in page.headers["content-security-policy"]
        ran = browser.post("/ui/capabilities/main/mine/run")
        assert ran.status_code == 200
        assert "<pre>m</pre>" in ran.text
        card = browser.get("/ui/capabilities/main/mine")
        assert "return &#39;m&#39;" in card.text
        assert browser.get("/ui/runs").status_code == 404
        left = dict(browser.cookies)
        assert browser.post("/ui/login", data={"code": ADMIN}).status_code == 303
        before = httpx.get(f"{url}/ui/capabilities", headers=OURS, cookies=left)
        assert before.headers["location"] == "/ui/login", "the sign-in before is over"
        out = browser.post("/ui/logout")
        assert (out.status_code, out.headers["clear-site-data"]) == (303, '"cache", "storage"')
        assert browser.get("/ui/capabilities").status_code == 303


def test_a_token_sees_and_runs_what_it_reaches_until_it_is_revoked(
    url: str, registry: LocalRegistry
) -> None:
    request = TokenRequest("invoke", "mine", ("run:main/mine",))
    made = registry.keys.create(request, OWNER)
    with open_browser(url, made["token"]) as browser:
        page = browser.get("/ui/capabilities", headers={"accept": "application/json"}).json()
        assert [row["capability"] for row in page["items"]] == ["mine"]
        assert "<pre>m</pre>" in browser.post("/ui/capabilities/main/mine/run").text
        assert browser.get("/ui/capabilities/library/standard").status_code in (403, 404)
        assert browser.post("/ui/capabilities/library/standard/run").status_code in (403, 404)
        assert "return" not in browser.get("/ui/capabilities/main/mine").text
        assert (
            browser.post("/ui/capabilities/main/mine/revoke", data={"sure": "yes"}).status_code
            == 403
        )
        registry.keys.revoke(made["id"], OWNER)
        assert browser.get("/ui/capabilities").headers["location"] == "/ui/login"
