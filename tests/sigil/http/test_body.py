"""What comes in over HTTP, and the manners of what goes out: types, lengths, methods, numbers,
rates and origins.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sigil.http import app as sigil_http
from sigil.http.request import AuthorizedRequest
from tests.sigil.serving import served
from tests.sigil.web import TOKEN, Web, error, raw, web

AUTH = f"Authorization: Bearer {TOKEN}\r\n".encode()


@pytest.fixture(scope="module")
def place(compiled: Path) -> Iterator[Web]:
    with web(compiled) as made:
        made.deploy("give", "return input;")
        yield made


# -- bodies
# -----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "kind",
    [
        "application/json",
        "application/json; charset=utf-8",
        'Application/JSON; charset="UTF-8"',
        "application/vnd.api+json",
        "text/plain",
        "application/x-www-form-urlencoded",  # what curl -d says of everything
        "application/octet-stream",
        None,
    ],
)
def test_json_may_call_itself_json_or_what_plain_clients_call_everything(
    place: Web, kind: str | None
) -> None:
    headers = {} if kind is None else {"Content-Type": kind}
    assert place.client.post("/run/give", content=b'{"a": 1}', headers=headers).json() == {"a": 1}


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Type": "multipart/form-data; boundary=x"},
        {"Content-Type": "application/xml"},
        {"Content-Type": "text/html"},
        {"Content-Type": "image/png"},
        {"Content-Type": "application/zip"},
        {"Content-Type": "application/x+json"[:-5] + "+yaml"},
        {"Content-Type": "application/json; charset=utf-16"},
        {"Content-Type": "application/json; charset=latin1"},
        {"Content-Type": "application/json", "Content-Encoding": "gzip"},
        {"Content-Encoding": "br"},
    ],
    ids=str,
)
def test_a_body_that_says_it_is_something_else_is_refused(
    place: Web, headers: dict[str, str]
) -> None:
    assert (
        error(place.client.post("/run/give", content=b'{"a": 1}', headers=headers)) == "415 EMEDIA"
    )


def test_a_bundle_is_a_zip_and_nothing_else(place: Web) -> None:
    bundle = place.client.post("/_api/export", json={"refs": ["give"]})
    assert bundle.headers["content-type"] == "application/zip"
    for kind, status in {
        "application/zip": 200,
        "application/octet-stream": 200,
        "application/json": 415,
        "text/plain": 415,
    }.items():
        assert (
            place.client.post(
                "/_api/import", content=bundle.content, headers={"Content-Type": kind}
            ).status_code
            == status
        )


def test_nothing_is_asked_of_the_type_of_no_body(place: Web) -> None:
    assert place.client.post("/run/give", headers={"Content-Type": "image/png"}).json() == {}


def test_of_two_equal_keys_the_last_counts(place: Web) -> None:
    assert place.client.post("/run/give", content=b'{"a": 1, "a": 2}').json() == {"a": 2}
    place.client.post(
        "/_api/deploy", content=b'{"name": "no", "name": "last-one", "execute": "return 1;"}'
    )
    assert (
        place.client.post("/_api/yank", content=b'{"ref": "give@9", "ref": "last-one@1"}').json()[
            "capability"
        ]
        == "last-one"
    )


@pytest.mark.parametrize(
    "number", ["1e400", "-1e400", "1" * 400, "NaN", "Infinity", "0x1", "01", "+1", "1."]
)
def test_a_number_that_is_none_is_refused(place: Web, number: str) -> None:
    assert (
        error(place.client.post("/run/give", content=f'{{"a": {number}}}'.encode())) == "400 EJSON"
    )


def test_a_number_is_a_64_bit_integer_or_a_double(place: Web) -> None:
    numbers = {
        "18446744073709551615": 2**64 - 1,
        "18446744073709551616": 2.0**64,
        "-0.0": -0.0,
        "1" * 100: float("1" * 100),
    }
    for text, value in numbers.items():
        assert place.client.post("/run/give", content=f'{{"a": {text}}}'.encode()).json() == {
            "a": pytest.approx(value, rel=1e-15)
        }


def test_a_whole_number_may_be_written_as_a_fraction(place: Web) -> None:
    for number, status in {
        "1": 200,
        "1.0": 200,
        "1.5": 400,
        '"1"': 400,
        "true": 400,
        "0": 400,
        "1e9": 400,
    }.items():
        answer = place.client.post(
            "/_api/rollback", content=f'{{"name": "give", "version": {number}}}'.encode()
        )
        assert answer.status_code == status, number


def test_a_length_that_is_a_lie_stops_nothing_but_itself(place: Web) -> None:
    head = b"POST /run/give HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + AUTH
    told = raw(place.url, head + b"Content-Length: 99999999999999999999\r\n\r\n{}")
    assert told.startswith(b"HTTP/1.1 413 ")
    assert b'"ETOOBIG"' in told
    for lie in (b"-1", b"x", b"1, 2", b"\xb2"):
        assert raw(place.url, head + b"Content-Length: " + lie + b"\r\n\r\n{}").startswith(
            b"HTTP/1.1 400 "
        )
    assert raw(place.url, head + b"Content-Length: 2\r\n\r\n{}{}{}").startswith(b"HTTP/1.1 200 ")
    assert raw(
        place.url, head + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n"
    ).startswith(b"HTTP/1.1 200 ")
    assert place.client.get("/health").status_code == 200


def test_a_body_where_none_is_taken_is_ignored(place: Web) -> None:
    assert (
        place.client.request("GET", "/_api/whoami", content=b"x" * 3_000_000).json()["kind"]
        == "admin"
    )


# -- methods and routes
# --------------------------------------------------------------------------------------------------------------


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
@pytest.mark.parametrize("method", ["PATCH", "OPTIONS", "TRACE", "FOO"])
def test_a_wrong_method_is_told_all_the_right_ones(
    place: Web, path: str, allowed: str, method: str
) -> None:
    answer = place.client.request(method, path)
    assert error(answer) == "405 EMETHOD"
    assert answer.headers["allow"] == allowed


@pytest.mark.parametrize(
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


def test_what_is_accepted_decides_a_text_and_nothing_else(place: Web) -> None:
    kinds = {
        "text/html": "application/json",
        "application/xml": "application/json",
        "text/plain;q=0, application/json": "application/json",
        "text/plain; q=0.0": "application/json",
        "*/*;q=0.1": "text/plain",
        "text/*": "text/plain",
    }
    for accept, kind in kinds.items():
        answer = place.client.get("/run/standard", headers={"Accept": accept})
        assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (
            200,
            kind,
        ), accept
    assert place.client.get("/_api/list", headers={"Accept": "image/png"}).status_code == 200


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


# -- numbers
# ----------------------------------------------------------------------------------------------------------------------


def test_every_answer_has_the_number_of_its_request(place: Web) -> None:
    paths = ("/health", "/run/give", "/_api/list", "/run/nothing", "/nowhere", "/_api/docs")
    numbers = [place.client.get(path).headers["x-request-id"] for path in paths]
    numbers += [
        httpx.get(f"{place.url}/_api/list").headers["x-request-id"],
        place.client.patch("/run/give").headers["x-request-id"],
    ]
    assert all(re.fullmatch("[0-9a-f]{32}", number) for number in numbers)
    assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("job-17.3_a~", True),
        ("x" * 64, True),
        ("x" * 65, False),
        ("a b", False),
        ("ä", False),
        ("", False),
    ],
)
def test_a_number_that_the_client_gives_is_kept_if_it_is_one(
    place: Web, given: str, kept: bool
) -> None:
    told = place.client.get("/health", headers={"X-Request-Id": given.encode()}).headers[
        "x-request-id"
    ]
    assert (told == given) is kept


def test_a_mistake_of_ours_is_logged_with_the_number_that_its_answer_tells(
    caplog: pytest.LogCaptureFixture, compiled: Path
) -> None:
    class Broken:
        def list(self, caller: object) -> Iterator[object]:
            raise RuntimeError("the inside")

    with (
        served(sigil_http.build_registry_app(Broken(), TOKEN)) as url,
        caplog.at_level(logging.ERROR, "uncaged.sigil"),
    ):  # type: ignore[arg-type]
        answer = httpx.get(
            f"{url}/_api/list",
            headers={"Authorization": f"Bearer {TOKEN}", "X-Request-Id": "the-one"},
        )
    assert error(answer) == "500 EBUG"
    assert answer.headers["x-request-id"] == "the-one"
    assert "the-one" in answer.json()["error"]["suggestion"]
    told = [
        getattr(record, "facts", {}) for record in caplog.records if record.name == "uncaged.sigil"
    ]
    assert told == [{"request": "the-one", "kind": "RuntimeError"}]


# -- rates
# ------------------------------------------------------------------------------------------------------------------------


def test_a_token_is_told_its_rate_what_is_left_and_when_to_come_back(compiled: Path) -> None:
    with web(compiled, rate=3) as place, place.key("invoke") as token:
        left = [token.get("/_api/whoami").headers for _ in range(3)]
        assert {headers["ratelimit-policy"] for headers in left} == {'"token";q=3;w=60'}
        assert [headers["ratelimit"].partition(";t=")[0] for headers in left] == [
            '"token";r=2',
            '"token";r=1',
            '"token";r=0',
        ]
        assert [round(int(headers["ratelimit"].partition(";t=")[2]), -1) for headers in left] == [
            20,
            40,
            60,
        ]
        over = token.get("/_api/whoami")
        assert error(over) == "429 ERATE"
        assert 1 <= int(over.headers["retry-after"]) <= 20
        for path in ("/health", "/_api/docs", "/_api/openapi.json"):
            assert token.get(path).status_code == 200
        assert token.get("/_health").json().keys() == {"ok", "version"}
        admin = place.client.get("/_api/whoami")
        assert (admin.status_code, "ratelimit" in admin.headers) == (200, False)


def test_wrong_tokens_are_told_when_to_come_back(compiled: Path) -> None:
    with (
        web(compiled) as place,
        httpx.Client(base_url=place.url, headers={"Authorization": "Bearer wrong"}) as stranger,
    ):
        answers = [stranger.get("/_api/whoami") for _ in range(62)]
    assert {error(answer) for answer in answers} == {"401 EAUTH", "429 ERATE"}
    assert all(
        answer.headers["retry-after"] == "1" for answer in answers if answer.status_code == 429
    )


def test_every_way_to_429_and_503_says_when_to_come_back(place: Web) -> None:
    """Also when nobody knows: then it is the same few seconds each time."""
    from sigil.errors import BackendError, Halt, Refused

    known = [
        Refused("ERATE", "x", retry_after=0.2),
        Refused("EDEGRADED", "x", retry_after=61.2),
        BackendError("EUNAVAILABLE", "x"),
    ]
    answers = [
        sigil_http.failure_response(problem)
        for problem in (*known, Halt("EBUDGET", "x"), Refused("ERATE", "x"))
    ]
    assert [answer.headers["retry-after"] for answer in answers] == ["1", "62", "5", "5", "5"]


def test_a_parameter_is_whole_or_refused() -> None:
    ask = AuthorizedRequest(
        None, None, None, "GET", "", "", {"a": ["1"], "b": [""], "c": ["x", "2"]}, "", b""
    )  # type: ignore[arg-type]
    assert (ask.read_number("a", 5), ask.read_number("c", 5), ask.read_number("d", 5)) == (1, 2, 5)
    assert (ask.read_flag("a"), ask.read_flag("d"), ask.read_choice("d", ("x", "y"))) == (
        True,
        False,
        "x",
    )
