"""Entity tags: what a client knows already is not sent again, and what changed always is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.sigil.web import Web, error, web
from tests.tables import each_row

KEPT = (
    "/_api/inspect/one",
    "/_api/list",
    "/_api/query?q=one",
    "/_api/versions/one",
    "/_api/diff/one",
    "/_api/openapi.json",
    "/_api/docs",
)


@pytest.fixture(scope="module")
def place(compiled: Path) -> Iterator[Web]:
    with web(compiled) as made:
        for code in ("return 1;", "return 2;"):
            made.deploy("one", code, description="One of them.")
        yield made


def known(place: Web, path: str, tag: str) -> httpx.Response:
    return place.client.get(path, headers={"If-None-Match": tag})


@pytest.mark.parametrize("path", KEPT)
def test_what_is_known_is_not_sent_again(place: Web, path: str) -> None:
    first = place.client.get(path)
    tag = first.headers["etag"]
    again = known(place, path, tag)
    assert (first.status_code, again.status_code, again.content) == (200, 304, b"")
    assert tag.startswith('"')
    for name in ("etag", "cache-control", "vary"):
        assert again.headers.get(name) == first.headers.get(name)
    assert "content-type" not in again.headers
    assert known(place, path, '"another"').content == first.content


@each_row(
    ("given", "status"),
    [("*", 304), ("W/{}", 304), ('"x", {}', 304), ("{}x", 200), ("", 200), ("x" * 5_000, 200)],
)
def test_a_list_of_tags_a_weak_one_and_a_star_are_understood(
    place: Web, given: str, status: int
) -> None:
    tag = place.client.get("/_api/list").headers["etag"]
    assert (
        known(
            place, "/_api/list", given.replace("{}", tag) if given != "{}x" else f'"{tag[1:-1]}x"'
        ).status_code
        == status
    )


def test_a_call_changes_what_inspect_tells_and_not_the_interface(place: Web) -> None:
    paths = ("/_api/inspect/one", "/_api/inspect/one?view=interface")
    whole, interface = (place.client.get(path).headers["etag"] for path in paths)
    assert place.client.get("/run/one").status_code == 200
    assert known(place, paths[0], whole).json()["calls"] > 0
    assert known(place, paths[1], interface).status_code == 304
    assert "source" not in place.client.get(paths[1]).json()
    place.deploy("one", "return 3;", description="Another.")
    assert known(place, paths[1], interface).json()["description"] == "Another."
    place.deploy("one", "return 2;", description="One of them.")


def test_what_one_token_sees_is_kept_for_no_other(place: Web) -> None:
    answer = place.client.get("/_api/inspect/one")
    assert answer.headers["cache-control"] == "private, no-cache"
    assert {"authorization", "x-sigil-namespace", "x-sigil-session"} <= set(
        answer.headers["vary"].lower().split(", ")
    )
    with place.key("invoke") as other:
        assert (
            other.get(
                "/_api/inspect/one", headers={"If-None-Match": answer.headers["etag"]}
            ).status_code
            == 200
        )


def test_runs_secrets_and_tokens_are_kept_by_nobody(place: Web) -> None:
    for path in (
        "/run/one",
        "/_api/secrets",
        "/_api/keys",
        "/_api/audit",
        "/_api/grants",
        "/_api/whoami",
        "/_api/status",
        "/health",
    ):
        answer = place.client.get(path)
        assert (answer.headers["cache-control"], "etag" in answer.headers) == ("no-store", False)


def test_a_failure_has_no_tag(place: Web) -> None:
    answer = known(place, "/_api/inspect/nothing", "*")
    assert error(answer) == "404 ENOENT"
    assert (answer.headers["cache-control"], "etag" in answer.headers) == ("no-store", False)


def test_a_change_takes_no_condition(place: Web) -> None:
    tag = place.client.get("/_api/inspect/one").headers["etag"]
    for header in (
        {"If-Match": tag},
        {"If-Match": "*"},
        {"If-Unmodified-Since": "Sun, 22 Nov 2026 10:00:00 GMT"},
    ):
        assert (
            error(place.client.request("DELETE", "/_api/remove?name=one", headers=header))
            == "412 EPRECONDITION"
        )
        assert (
            error(place.client.post("/_api/rollback", json={"name": "one"}, headers=header))
            == "412 EPRECONDITION"
        )
    assert place.client.get("/run/one").json() == 2


def test_head_tells_what_get_would_without_its_body(place: Web) -> None:
    for path in (*KEPT, "/health", "/_health", "/run/one", "/_api/whoami", "/_api/nothing"):
        full, head = place.client.get(path), place.client.head(path)
        assert (head.status_code, head.content) == (full.status_code, b"")
        assert head.headers["content-type"] == full.headers["content-type"]
        if path not in (
            "/_health",
            "/_api/nothing",
        ):  # these tell how long a read took, and the method
            assert head.headers["content-length"] == full.headers["content-length"]
    assert (
        place.client.head(
            "/_api/list", headers={"If-None-Match": place.client.get("/_api/list").headers["etag"]}
        ).status_code
        == 304
    )
