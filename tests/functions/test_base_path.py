"""A custom domain's API mapping, or a stage with a name: it stands before the path of every request,
in both formats of events.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest
from mangum import Mangum
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from functions import admin
from functions.base_path import without_base_path
from tests.tables import each_row

REQUEST = Path(__file__).parents[1] / "events" / "lambda" / "webhook.json"


async def tell_name(request: Request) -> PlainTextResponse:
    return PlainTextResponse(request.path_params["name"])


def ask_for_name(event: dict[str, Any]) -> dict[str, Any]:
    """Return the answer of a webhook that tells which name it is asked for."""
    app = Starlette(routes=[Route("/webhook/{name}", tell_name, methods=["POST"])])

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        await app(without_base_path(scope), receive, send)

    return Mangum(serve, lifespan="off")(event, None)  # type: ignore[arg-type]


@each_row(
    ("route", "parameters", "path", "status", "body"),
    [
        ("ANY /webhook/{proxy+}", {"proxy": "line"}, "/prod/webhook/line", 200, "line"),
        ("ANY /webhook/{proxy+}", {"proxy": "a%3Ab"}, "/bot/webhook/a%3Ab", 200, "a:b"),
        ("ANY /webhook/{proxy+}", {"proxy": "a:b"}, "/bot/webhook/a%3Ab", 200, "a:b"),
        ("ANY /{proxy+}", {"proxy": "webhook/line"}, "/bot/webhook/line", 200, "line"),
        ("$default", None, "/prod/webhook/line", 200, "line"),
        ("$default", None, "/product/webhook/line", 404, "Not Found"),
        ("ANY /webhook/{proxy+}", {"proxy": "line"}, "/webhook/line", 200, "line"),
        ("ANY /webhook/{proxy+}", {"proxy": "line"}, "/bot/webhook/line", 200, "line"),
        ("ANY /webhook/{proxy+}", {"proxy": "line"}, "/a/b/webhook/line", 200, "line"),
        ("ANY /webhook/{proxy+}", {"proxy": "line"}, "/webhook/webhook/line", 200, "line"),
        ("POST /webhook/{platform}", {"platform": "line"}, "/bot/webhook/line", 200, "line"),
        ("ANY /webhook/{proxy+}", None, "/bot/webhook/line", 404, "Not Found"),
        ("$default", None, "/webhook/line", 200, "line"),
        ("$default", None, "/bot/webhook/line", 404, "Not Found"),
    ],
)
def test_a_request_reaches_its_route_behind_a_base_path(
    route: str, parameters: dict[str, str] | None, path: str, status: int, body: str
) -> None:
    event = orjson.loads(REQUEST.read_bytes())
    event |= {"routeKey": route, "rawPath": path, "pathParameters": parameters}
    event["requestContext"] |= {"stage": "prod"}
    event["requestContext"]["http"]["path"] = path

    answer = ask_for_name(event)

    assert (answer["statusCode"], answer["body"]) == (status, body)


@each_row(
    ("resource", "parameters", "path", "status", "body"),
    [
        ("/webhook/{proxy+}", {"proxy": "line"}, "/webhook/line", 200, "line"),
        ("/webhook/{proxy+}", {"proxy": "line"}, "/prod/webhook/line", 200, "line"),
        ("/webhook/{proxy+}", {"proxy": "line"}, "/bot/webhook/line", 200, "line"),
        ("/webhook/{proxy+}", {"proxy": "a:b"}, "/bot/webhook/a%3Ab", 200, "a:b"),
        ("/webhook/{proxy+}", {"proxy": "line"}, "/webhook/webhook/line", 200, "line"),
        ("/{proxy+}", {"proxy": "webhook/line"}, "/bot/webhook/line", 200, "line"),
        ("$default", None, "/prod/webhook/line", 200, "line"),
        ("$default", None, "/bot/webhook/line", 404, "Not Found"),
    ],
)
def test_a_request_of_a_rest_api_reaches_its_route_behind_a_base_path(
    resource: str, parameters: dict[str, str] | None, path: str, status: int, body: str
) -> None:
    event = orjson.loads(REQUEST.with_name("webhook_rest.json").read_bytes())
    event |= {"resource": resource, "path": path, "pathParameters": parameters}

    for version in ({}, {"version": "1.0"}):  # of a REST API, and of an HTTP API
        answer = ask_for_name(event | version)
        assert (answer["statusCode"], answer["body"]) == (status, body)


def test_the_admin_function_reaches_its_route_behind_a_base_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("UNCAGED_DATA", str(tmp_path))
    event = orjson.loads(REQUEST.with_name("admin_status.json").read_bytes())
    statuses = []
    for path in ("/status", "/bot/status", "/prod/status", "/bot/statuses"):
        event["rawPath"] = event["requestContext"]["http"]["path"] = path
        statuses.append(admin.handler(event, None)["statusCode"])  # type: ignore[arg-type]

    assert statuses == [401, 401, 401, 404]
