"""A request is read with its parameters and with what it accepts."""

from __future__ import annotations

from sigil.http.request import AuthorizedRequest
from tests.sigil.web import Web


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
