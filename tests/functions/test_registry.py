"""The registry's HTTP API as a deployed function."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mangum import Mangum

from functions import registry as registry_function
from sigil.errors import BackendError, Refused, UsageError
from sigil.protocol import Caller
from sigil.registry import LocalRegistry
from sigil.settings import Settings
from sigil.wiring import LazyOpener, local_registry, open_stores
from tests.sigil.mcp.messages import SHOUT, call
from tests.sigil.mcp.messages import ask as message

ROOT = Path(__file__).parents[2]


def event(
    method: str, path: str, body: Any = None, token: str = "t", query: str = ""
) -> dict[str, Any]:
    """A request as API Gateway's HTTP API (payload 2.0) and function URLs hand it over."""
    http = {
        "method": method,
        "path": path,
        "protocol": "HTTP/1.1",
        "sourceIp": "127.0.0.1",
        "userAgent": "test",
    }
    headers = {
        "authorization": f"Bearer {token}",
        "host": "sigil.example.com",
        "x-forwarded-proto": "https",
    }
    return {
        "version": "2.0",
        "rawPath": path,
        "rawQueryString": query,
        "headers": headers,
        "requestContext": {"http": http, "stage": "$default"},
        "body": None if body is None else json.dumps(body),
        "isBase64Encoded": False,
    }


@pytest.fixture
def data(tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    compiled.mkdir(exist_ok=True)
    (tmp_path / "compiled").symlink_to(compiled, target_is_directory=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("UNCAGED_STORE", raising=False)
    for name, value in {
        "UNCAGED_DATA": str(tmp_path),
        "UNCAGED_LIBRARY": "none",
        "UNCAGED_TOKEN": "t",
        "SIGIL_RUNNERS": "1",
    }.items():
        monkeypatch.setenv(name, value)
    return tmp_path


@pytest.fixture
def handler(data: Path) -> Iterator[Mangum]:
    built = registry_function.LazyApp(registry_function.build)
    yield Mangum(built, lifespan="off")
    built.close()


def ask(handler: Mangum, *request: Any, **options: Any) -> tuple[int, Any]:
    answer = handler(event(*request, **options), None)  # type: ignore[arg-type]
    return answer["statusCode"], json.loads(answer["body"])


def test_a_capability_is_deployed_found_and_run_through_the_function(handler: Mangum) -> None:
    status, made = ask(
        handler,
        "POST",
        "/_api/deploy",
        {"name": "add", "description": "Add one.", "execute": "return {n: +input.n + 1};"},
    )
    assert (status, made["capability"]) == (201, "add")
    assert made["url"] == "https://sigil.example.com/run/add"
    assert ask(handler, "GET", "/run/add", query="n=1") == (200, {"n": 2})
    assert ask(handler, "GET", "/_api/query", query="q=add+one")[1]["total"] == 1
    mapped = event("GET", "/bot/run/add", query="n=2")
    mapped |= {"routeKey": "GET /run/{ref+}", "pathParameters": {"ref": "add"}}
    assert json.loads(handler(mapped, None)["body"]) == {"n": 3}  # type: ignore[arg-type]
    assert ask(handler, "GET", "/run/nothing")[0] == 404
    assert ask(handler, "GET", "/run/add", token="wrong")[0] == 401


def test_health_opens_nothing(handler: Mangum, data: Path) -> None:
    assert ask(handler, "GET", "/health", token="")[0] == 200
    assert not (data / "uncaged.db").exists()


def test_without_a_token_or_a_place_to_keep_one_the_api_is_closed(
    handler: Mangum, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (data / "file").touch()
    monkeypatch.delenv("UNCAGED_TOKEN")
    monkeypatch.setenv("UNCAGED_DATA", str(data / "file" / "folder"))
    assert ask(handler, "GET", "/_api/list", token="")[0] == 401
    assert ask(handler, "GET", "/health")[0] == 200


def test_a_wrong_setting_of_the_server_is_not_the_callers_fault(
    handler: Mangum, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_STORE", "nowhere://")
    status, body = ask(handler, "GET", "/_api/list")
    assert (status, body["error"]["code"]) == (503, "EUNAVAILABLE")


def test_a_registry_that_could_not_be_opened_is_tried_again() -> None:
    tries = []

    def opening() -> LocalRegistry:
        tries.append(1)
        raise UsageError("ESETTING", "not yet")

    later = LazyOpener(opening)
    for _ in range(2):
        with pytest.raises(BackendError):
            later()
    assert len(tries) == 2
    later.close()


def test_importing_the_door_is_cheap() -> None:
    script = "import sys, functions.registry; print(*sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", script], env=environment, capture_output=True, check=True, text=True
    )
    assert not set(done.stdout.split()) & {
        "fastapi",
        "pydantic",
        "wasmtime",
        "redis",
        "httpx",
        "sqlite3",
        "sigil.registry",
        "sigil.http.app",
    }


def test_while_a_secret_that_is_kept_elsewhere_does_not_come_requests_are_told_to_come_again() -> (
    None
):
    def closed() -> None:
        raise BackendError("EUNAVAILABLE", "parameter /token: it cannot be reached")

    answer = Mangum(registry_function.LazyApp(closed), lifespan="off")(
        event("GET", "/_api/query"), None
    )  # type: ignore[arg-type]

    assert answer["statusCode"] == 503
    assert json.loads(answer["body"])["error"]["code"] == "EUNAVAILABLE"


def test_the_function_describes_itself_and_knows_what_is_known(handler: Mangum, data: Path) -> None:
    for path, kind in {"/_api/openapi.json": "application/json", "/_api/docs": "text/html"}.items():
        answer = handler(event("GET", path, token=""), None)  # type: ignore[arg-type]
        assert (answer["statusCode"], answer["headers"]["content-type"].partition(";")[0]) == (
            200,
            kind,
        )
        again = event("GET", path, token="")
        again["headers"]["if-none-match"] = answer["headers"]["etag"]
        assert handler(again, None)["statusCode"] == 304  # type: ignore[arg-type]
        assert len(answer["body"]) < 1_000_000
    assert not (data / "uncaged.db").exists()


def test_a_request_has_the_number_that_the_gateways_log_has(handler: Mangum) -> None:
    asked = event("GET", "/health")
    asked["requestContext"]["requestId"] = "JKJaXmPLvHcESHA="
    asked["headers"]["x-request-id"] = "another"
    assert handler(asked, None)["headers"]["x-request-id"] == "JKJaXmPLvHcESHA="  # type: ignore[arg-type]


def test_the_answer_to_a_head_has_no_body_whatever_carries_it(handler: Mangum) -> None:
    full, head = (handler(event(method, "/health"), None) for method in ("GET", "HEAD"))  # type: ignore[arg-type]
    assert (head["statusCode"], head["body"]) == (200, "")
    assert head["headers"]["content-length"] == str(len(full["body"]))


def test_the_function_answers_mcp(handler: Mangum) -> None:
    ask(handler, "POST", "/_api/deploy", SHOUT)
    status, said = ask(
        handler, "POST", "/mcp", call(1, "sigil_run", capability="shout", input={"text": "hi"})
    )

    assert (status, said["result"]["content"][0]["text"]) == (200, "HI")
    assert ask(handler, "POST", "/mcp", message(1, "tools/list"), token="wrong")[0] == 401


def test_a_function_starts_no_programs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_LAMBDA_FUNCTION_NAME", "registry")
    monkeypatch.setenv("SIGIL_PROGRAMS", "yes")
    monkeypatch.setenv("UNCAGED_STORE", "memory://")
    monkeypatch.setenv("UNCAGED_LIBRARY", "none")
    settings = Settings.read()
    registry = local_registry(settings, open_stores(settings))
    try:
        with pytest.raises(Refused, match="starts no programs"):
            registry.importing.tools(
                {"name": "local", "command": ["/bin/cat"]}, Caller("main", owner=True)
            )
    finally:
        registry.close()
