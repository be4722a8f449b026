"""The library's capabilities for the web, in a registry: granted, with keys, through the real guard.

Every public name leads to one server with TLS on this machine, whose certificate is trusted.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import sigil
from sigil.deploy.library import update_library
from sigil.errors import SigilError, UsageError
from sigil.network.http_transport import GuardedTransport, open_trusted_transport
from sigil.network.searxng import SearxngTransport, parse_searxng_address
from sigil.protocol import LIBRARY, Caller
from sigil.registry import LocalRegistry, RegistryRules
from sigil.sandbox.pool import Sandbox
from sigil.storage.artifacts import MemoryArtifacts
from sigil.storage.kv.memory import MemoryKV
from tests.fakes.server import Answer, json_answer
from tests.servers.certificates import Authority
from tests.sigil.conftest import Scripted
from tests.sigil.run.host_calls.test_fetch_web import PUBLIC, OneServer

CAPABILITIES = Path(sigil.__file__).parents[1] / "capabilities"
OWNER = Caller("main", owner=True)
MODEL = Caller("main", "telegram:1", owner=True, author="model")
HOSTS = ("news.example.com", "en.wikipedia.org", "api.gdeltproject.org", "api.search.brave.com")
KEY = "brave-key-123456"
PAGE = Answer(200, b"<title>News</title><p>Tea is back.", {"content-type": "text/html"})
NEWS = json_answer(
    {"articles": [{"title": "Tea!", "url": "https://a.example/1", "seendate": "20240304T101500Z"}]}
)
ARTICLES = json_answer(
    {"query": {"search": [{"title": "Tea (drink)", "snippet": "<i>leaves</i>"}]}}
)
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A library of these two alone."""
    made = tmp_path_factory.mktemp("library")
    for name in ("read-page", "web-search"):
        (made / name).symlink_to(CAPABILITIES / name)
    return made


@pytest.fixture
def world(secure: Callable[..., Scripted]) -> Scripted:
    return secure(*HOSTS)


@pytest.fixture
def open_registry(
    sandbox: Sandbox, folder: Path, world: Scripted, trust: Authority
) -> Iterator[Callable[..., LocalRegistry]]:
    opened: list[LocalRegistry] = []

    def make(searxng: str = "", **rules: Any) -> LocalRegistry:
        context = ssl.create_default_context(cafile=str(trust.certificate))
        line = GuardedTransport(
            resolve=lambda host, port: [PUBLIC], inner=OneServer(world.port), context=context
        )
        registry = LocalRegistry(
            MemoryKV(),
            MemoryArtifacts(),
            sandbox,
            rules=RegistryRules(**rules),
            web=lambda: SearxngTransport(line, open_trusted_transport(), searxng),
        )
        update_library(registry, folder, Caller(LIBRARY, author="library"), lambda line: None)
        opened.append(registry)
        return registry

    yield make
    for registry in opened:
        registry._live_services.network.close()


def run(registry: LocalRegistry, name: str, **arguments: Any) -> Any:
    return json.loads(registry.run(name, arguments, MODEL).output)


def failure(registry: LocalRegistry, name: str, **arguments: Any) -> SigilError:
    with pytest.raises(SigilError) as caught:
        registry.run(name, arguments, MODEL)
    return caught.value


def test_a_page_is_read_after_one_grant_until_the_day_is_used_up_or_it_is_revoked(
    open_registry: Callable[..., LocalRegistry], world: Scripted
) -> None:
    registry = open_registry(web_requests_per_day=2)
    world.says["/tea"] = PAGE
    url = "https://news.example.com/tea"
    waiting = failure(registry, "read-page", url=url)
    assert (waiting.code, "`sigil grant read-page`" in waiting.message) == ("EPERM", True)
    assert not world.requests

    asked = registry.granting.grant("read-page", OWNER)
    assert asked["asked"] == asked["granted"] == ["web"]
    assert run(registry, "read-page", url=url)["text"] == "Tea is back."
    assert failure(registry, "read-page", url="https://news.example.com:8443/").code == "EPERM"
    run(registry, "read-page", url=url)
    assert failure(registry, "read-page", url=url).code == "ERATE"
    registry.granting.revoke("read-page", OWNER)
    assert failure(registry, "read-page", url=url).code == "EPERM"
    assert len(world.requests) == 2


def test_a_search_without_an_engine_says_what_its_results_are(
    open_registry: Callable[..., LocalRegistry], world: Scripted
) -> None:
    registry = open_registry()
    assert "`sigil grant web-search`" in failure(registry, "web-search", query="tea").message
    registry.granting.grant("web-search", OWNER)
    world.says["/api/v2/doc/doc"] = NEWS
    world.says["/w/api.php"] = ARTICLES
    found = run(registry, "web-search", query="tea")
    assert found["engine"] == "none"
    assert found["results"] == [
        {
            "title": "Tea!",
            "url": "https://a.example/1",
            "snippet": "",
            "published": "2024-03-04",
            "source": "news",
        },
        {
            "title": "Tea (drink)",
            "url": "https://en.wikipedia.org/wiki/Tea_(drink)",
            "snippet": "leaves",
            "source": "Wikipedia",
        },
    ]
    assert "not the whole web" in found["note"]
    assert "sigil secret set BRAVE_API_KEY" in found["note"]

    world.says["/api/v2/doc/doc"] = Answer(200, b"Please limit requests to one every 5 seconds")
    found = run(registry, "web-search", query="tea")
    assert [result["source"] for result in found["results"]] == ["Wikipedia"]
    assert "GDELT answered with something else than results" in found["note"]
    world.says["/w/api.php"] = Answer(503, b"busy")
    assert failure(registry, "web-search", query="tea").code == "ENET"


def test_a_key_goes_to_its_own_engine_alone(
    open_registry: Callable[..., LocalRegistry], world: Scripted
) -> None:
    registry = open_registry()
    registry.granting.grant("web-search", OWNER)
    registry.secrets.set("BRAVE_API_KEY", KEY, OWNER)
    world.says["/res/v1/web/search"] = json_answer(
        {"web": {"results": [{"title": f"echo {KEY}", "url": "https://a.example/"}]}}
    )
    found = run(registry, "web-search", query="tea", recent="week")
    assert (found["engine"], "note" in found) == ("Brave", False)
    assert KEY not in json.dumps(found)
    (sent,) = world.requests
    assert sent.headers["x-subscription-token"] == KEY
    assert sent.path == "/res/v1/web/search?q=tea&count=6&freshness=pw"

    world.says["/res/v1/web/search"] = Answer(401, b"{}")
    world.says["/api/v2/doc/doc"] = NEWS
    found = run(registry, "web-search", query="tea", recent="week")
    assert (found["engine"], "Brave refused the key (401)" in found["note"]) == ("none", True)
    for other in world.requests[2:]:
        assert KEY not in f"{other.path}{other.headers}"


def test_the_operators_searxng_may_be_inside_and_is_asked_for_searches_alone(
    open_registry: Callable[..., LocalRegistry], server: Scripted, world: Scripted
) -> None:
    registry = open_registry(searxng=f"{server.url}/searx/")
    registry.granting.grant("web-search", OWNER)
    registry.granting.grant("read-page", OWNER)
    server.says["/searx/search"] = json_answer(
        {"results": [{"title": "Tea", "url": "https://a.example/", "content": "hot"}]}
    )
    found = run(registry, "web-search", query="tea & milk", language="en")
    assert found == {
        "query": "tea & milk",
        "engine": "SearXNG",
        "results": [{"title": "Tea", "url": "https://a.example/", "snippet": "hot"}],
    }
    (sent,) = server.requests
    assert sent.path == "/searx/search?q=tea%20%26%20milk&format=json&language=en"
    for url in ("https://searxng.invalid/config", "https://searxng.invalid/"):
        assert failure(registry, "read-page", url=url).code == "EPERM"
    server.says["/searx/search"] = Answer(302, b"", {"location": "http://127.0.0.1/admin"})
    failure(registry, "read-page", url="https://searxng.invalid/search?q=x")
    assert len(server.requests) == 2
    server.says["/searx/search"] = Answer(cut=True)
    cut = failure(registry, "read-page", url="https://searxng.invalid/search?q=x")
    assert "searxng.invalid" in cut.message
    assert "127.0.0.1" not in cut.message
    assert not world.requests


@pytest.mark.parametrize(
    "text", ["searx.example", "ftp://a.example", "http://a/?q=1", "http://a b/"]
)
def test_an_address_that_is_none_is_told_from_the_setting(text: str) -> None:
    with pytest.raises(UsageError, match="SIGIL_SEARXNG"):
        parse_searxng_address(text)
