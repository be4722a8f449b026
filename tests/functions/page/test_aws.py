"""The page in the function of AWS, behind an API Gateway with and without a base path."""

from __future__ import annotations

import gzip
import threading
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import orjson
import pytest

from functions import admin
from functions.wiring import AgentRuntime
from functions.worker import handle_event
from sigil.access.tokens import TokenRequest, Tokens
from tests.fakes.model import ScriptedModel
from tests.functions.agent.talk import event
from tests.functions.serving import TOKEN
from tests.functions.test_live_turns import Pieces
from tests.machine import until, within

EVENT = Path(__file__).parents[2] / "events" / "lambda" / "admin_status.json"
CACHES = ("_open_settings", "_open_stores", "_open_deps", "_open_pages")


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., dict[str, Any]]]:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    monkeypatch.setenv("UNCAGED_TOKEN", TOKEN)
    for name in CACHES:
        getattr(admin, name).cache_clear()

    def ask(
        method: str,
        base: str,
        path: str,
        *cookies: str,
        form: dict[str, str] | None = None,
        accept: str = "text/html",
    ) -> dict[str, Any]:
        asked = orjson.loads(EVENT.read_bytes())
        asked["rawPath"] = f"{base}/ui{path.partition('?')[0]}"
        asked["rawQueryString"] = path.partition("?")[2]
        asked["routeKey"] = "ANY /ui/{proxy+}" if path else "ANY /ui"
        asked["pathParameters"] = {"proxy": path.partition("?")[0].lstrip("/")}
        asked["requestContext"]["http"] |= {"method": method, "path": asked["rawPath"]}
        asked["headers"] = {
            "host": "abc.execute-api.eu-central-1.amazonaws.com",
            "x-forwarded-proto": "https",
            "accept": accept,
            "accept-encoding": "gzip",
            "sec-fetch-site": "same-origin",
            "content-type": "application/x-www-form-urlencoded",
        }
        asked["cookies"] = [*cookies]
        asked["body"] = b64encode(urlencode(form or {}).encode()).decode()
        asked["isBase64Encoded"] = True
        return dict(admin.handler(asked, None))  # type: ignore[arg-type]

    yield ask
    for name in CACHES:
        getattr(admin, name).cache_clear()


def test_a_page_that_asks_again_shows_the_words_of_a_worker(
    ask: Callable[..., dict[str, Any]], runtime: Callable[..., AgentRuntime], model: ScriptedModel
) -> None:
    pieces = Pieces("It is ", "done.")
    model.then(pieces.answer())
    cookie = ask("POST", "", "/login", form={"code": TOKEN})["cookies"][0].partition(";")[0]

    def read_state() -> dict[str, Any]:
        body = ask("GET", "", "/chat/main/state", cookie)["body"]
        return dict(orjson.loads(gzip.decompress(b64decode(body))))

    assert read_state()["words"] == {"n": 0, "put": []}
    worker = runtime(llm_url=model.url)
    message = event("do it", session="web:http:admin:main", sender="http:admin")
    turn = threading.Thread(target=handle_event, args=(message, worker), daemon=True)
    turn.start()
    until(lambda: read_state()["asks"] is not None, "the model is asked")
    pieces.let_go(0)
    until(lambda: "It is" in str(read_state()["words"]["put"]), "the first words are shown")
    pieces.let_go(1)
    turn.join(within(20))
    state = read_state()
    assert (state["busy"], state["words"]["put"]) == (False, [])
    assert "It is done." in state["put"]["m2"]


@pytest.mark.parametrize("base", ["", "/bot"])
def test_the_function_signs_in_and_shows_pages_with_their_base_path(
    ask: Callable[..., dict[str, Any]], base: str
) -> None:
    first = ask("GET", base, "")
    assert (first["statusCode"], first["headers"]["location"]) == (303, f"{base}/ui/login")
    signed = ask("POST", base, "/login", form={"code": TOKEN})
    assert signed["statusCode"] == 303
    assert signed["headers"]["location"] == f"{base}/ui"
    [cookie] = signed["cookies"]
    assert cookie.startswith("__Host-uncaged=")
    assert "; Secure" in cookie
    page = ask("GET", base, "/account", cookie.partition(";")[0])
    text = gzip.decompress(b64decode(page["body"])).decode()
    assert "http:admin" in text
    style = text.partition('stylesheet" href="')[2].partition('"')[0]
    assert style.startswith(f"{base}/ui/static/page.css?v=")
    file = ask("GET", base, style.removeprefix(f"{base}/ui"))
    assert file["headers"]["cache-control"].endswith("immutable")
    assert b"--paper" in gzip.decompress(b64decode(file["body"]))
    assert ask("GET", base, "/account", "__Host-uncaged=" + "x" * 43)["statusCode"] == 303


@pytest.mark.usefixtures("ask")
def test_the_page_of_a_rest_api_leads_to_itself_under_its_stage() -> None:
    """The path of such a request has no stage, which a browser needs all the same."""
    asked = orjson.loads(EVENT.with_name("webhook_rest.json").read_bytes())
    asked |= {"httpMethod": "GET", "resource": "/ui", "pathParameters": None}
    led = []
    for path, written in (("/ui", "/prod/ui"), ("/bot/ui", "/bot/ui"), ("/ui", "/ui")):
        asked["path"] = path
        asked["requestContext"]["path"] = written
        led.append(admin.handler(asked, None)["headers"]["location"])  # type: ignore[arg-type]
    assert led == ["/prod/ui/login", "/bot/ui/login", "/ui/login"]


def test_an_access_key_shows_numbers(ask: Callable[..., dict[str, Any]]) -> None:
    tokens = Tokens(admin._open_stores().kv)
    key, token = tokens.create(TokenRequest("invoke", "watcher"), "main")
    signed = ask("POST", "", "/login", form={"code": key})
    assert signed["statusCode"] == 303
    cookie = signed["cookies"][0].partition(";")[0]
    account = orjson.loads(ask("GET", "", "/account", cookie, accept="application/json")["body"])
    assert account["role"] == "reader"
    # of two cookies of this name one counts, and never somebody else's words
    assert ask("GET", "", "/account", "__Host-uncaged=x", cookie)["statusCode"] == 200
    assert ask("GET", "", "/people", cookie)["statusCode"] == 403
    tokens.revoke(token.id)
    assert ask("GET", "", "/account", cookie)["statusCode"] == 303


def test_what_the_function_cannot_send_is_said(
    ask: Callable[..., dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    cookie = ask("POST", "", "/login", form={"code": TOKEN})["cookies"][0].partition(";")[0]
    monkeypatch.setattr(admin, "ANSWER_BYTES", 300)
    refused = ask("GET", "", "/people/export", cookie)
    assert refused["statusCode"] == 413
    assert orjson.loads(refused["body"])["error"]["code"] == "ETOOBIG"
