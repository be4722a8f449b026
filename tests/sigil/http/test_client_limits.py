"""A client that asks too often is told its rate and when to come back."""

from __future__ import annotations

from pathlib import Path

import httpx

from sigil.http.response import failure_response
from tests.sigil.web import Web, error, web


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
        answers = [stranger.get("/_api/whoami")]
        while answers[-1].status_code == 401 and len(answers) < 600:  # one more each second
            answers.append(stranger.get("/_api/whoami"))
    assert {error(answer) for answer in answers} == {"401 EAUTH", "429 ERATE"}
    assert len(answers) > 60
    assert answers[-1].headers["retry-after"] == "1"


def test_every_way_to_429_and_503_says_when_to_come_back(place: Web) -> None:
    """Also when nobody knows: then it is the same few seconds each time."""
    from sigil.errors import BackendError, Halt, Refused

    known = [
        Refused("ERATE", "x", retry_after=0.2),
        Refused("EDEGRADED", "x", retry_after=61.2),
        BackendError("EUNAVAILABLE", "x"),
    ]
    answers = [
        failure_response(problem)
        for problem in (*known, Halt("EBUDGET", "x"), Refused("ERATE", "x"))
    ]
    assert [answer.headers["retry-after"] for answer in answers] == ["1", "62", "5", "5", "5"]
