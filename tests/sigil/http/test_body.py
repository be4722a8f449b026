"""A body is read by its type and length, and refused when it is not what it says."""

from __future__ import annotations

import pytest

from tests.sigil.web import TOKEN, Web, error, raw
from tests.tables import each_row

AUTH = f"Authorization: Bearer {TOKEN}\r\n".encode()


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


@each_row(
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
