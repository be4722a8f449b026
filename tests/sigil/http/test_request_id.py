"""Every request has an id, which its answer and the log carry."""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from sigil.http import app as sigil_http
from tests.sigil.serving import served
from tests.sigil.web import TOKEN, Web, error
from tests.tables import each_row


def test_every_answer_has_the_number_of_its_request(place: Web) -> None:
    paths = ("/health", "/run/give", "/_api/list", "/run/nothing", "/nowhere", "/_api/docs")
    numbers = [place.client.get(path).headers["x-request-id"] for path in paths]
    numbers += [
        httpx.get(f"{place.url}/_api/list").headers["x-request-id"],
        place.client.patch("/run/give").headers["x-request-id"],
    ]
    assert all(re.fullmatch("[0-9a-f]{32}", number) for number in numbers)
    assert len(set(numbers)) == len(numbers)


@each_row(
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
