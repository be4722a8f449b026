"""Every route answers its own methods alone, to clients of its own origin, as it is."""

from __future__ import annotations

import pytest

from tests.sigil.web import Web, error
from tests.tables import each_row


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/run/give", "GET, HEAD, POST"),
        ("/_api/keys", "DELETE, GET, HEAD, POST"),
        ("/_api/secrets/KEY", "DELETE, PUT"),
        ("/_api/deploy", "POST"),
        ("/health", "GET, HEAD"),
    ],
)
@each_row("method", ["PATCH", "OPTIONS", "TRACE", "FOO"])
def test_a_wrong_method_is_told_all_the_right_ones(
    place: Web, path: str, allowed: str, method: str
) -> None:
    answer = place.client.request(method, path)
    assert error(answer) == "405 EMETHOD"
    assert answer.headers["allow"] == allowed


@each_row(
    "path",
    [
        "/_api/list/",
        "//_api/list",
        "/_api",
        "/",
        "/_API/list",
        "/_api/list%2f",
        "/favicon.ico",
        "/.env",
    ],
)
def test_a_route_that_is_not_there_is_no_redirect(place: Web, path: str) -> None:
    assert error(place.client.get(path)) == "404 EROUTE"


@pytest.mark.parametrize(
    "ref",
    [
        "%00",
        "%ff",
        "a%0d%0aX:1",
        "..%2f..%2fetc",
        "%F0%9F%98%80",
        "a" * 5_000,
        "alice%2F%2Fb",
        "@1",
        "give@",
        "give@0",
    ],
)
def test_no_name_in_a_path_ends_in_a_mistake_of_ours(place: Web, ref: str) -> None:
    for path in ("/run/", "/_api/inspect/", "/_api/versions/", "/_api/diff/", "/_api/grants/"):
        assert place.client.get(f"{path}{ref}").status_code in (400, 404)


@pytest.mark.parametrize(
    "path", ["/run/give", "/_api/list", "/_api/docs", "/_api/openapi.json", "/health", "/nowhere"]
)
def test_no_page_of_another_origin_is_let_in(place: Web, path: str) -> None:
    asked = {
        "Origin": "https://evil.example",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization",
    }
    for method in ("GET", "OPTIONS"):
        answer = place.client.request(method, path, headers=asked)
        assert not [name for name in answer.headers if name.startswith("access-control")]


def test_answers_are_not_compressed(place: Web) -> None:
    assert (
        "content-encoding"
        not in place.client.get(
            "/_api/openapi.json", headers={"Accept-Encoding": "gzip, br"}
        ).headers
    )
