"""Lists in pages: every one has the same shape, stays steady while others write, and refuses a
place where no page ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.sigil.web import Web, error, web
from tests.tables import each_row

NAMES = [f"cap-{number:02}" for number in range(7)]
ASKS = {"secrets": ["API_KEY@api.example.com"]}
LISTS = {
    "/_api/list": "capability",
    "/_api/versions/cap-00": "version",
    "/_api/grants": "capability",
    "/_api/secrets": "secret",
    "/_api/keys": "id",
    "/_api/audit?after=0": "number",
}


@pytest.fixture(scope="module")
def place(compiled: Path) -> Iterator[Web]:
    with web(compiled) as made:
        for name in NAMES:
            made.deploy(name, permissions=ASKS)
        for number in range(2, 5):
            made.deploy(NAMES[0], f"return {number};", permissions=ASKS)
        for number in range(4):
            made.client.put(f"/_api/secrets/KEY_{number}", json={"value": "a-value-of-some-length"})
            made.key("invoke").close()
        yield made


def turned(place: Web, path: str, limit: int) -> Iterator[httpx.Response]:
    """The pages of a list, by its links."""
    url = f"{path}{'&' if '?' in path else '?'}limit={limit}"
    for _ in range(100):
        answer = place.client.get(url)
        assert answer.status_code == 200, answer.text
        yield answer
        if "next" not in answer.links:
            return
        url = answer.links["next"]["url"]
    raise AssertionError("no end of it")


@pytest.mark.parametrize(("path", "field"), LISTS.items())
@pytest.mark.parametrize("limit", [1, 2, 500])
def test_every_list_is_told_whole_page_by_page(
    place: Web, path: str, field: str, limit: int
) -> None:
    pages = list(turned(place, path, limit))
    rows = [row[field] for page in pages for row in page.json()["items"]]
    assert rows == [row[field] for row in place.client.get(path).json()["items"]]
    assert len(rows) >= 4
    assert all(len(page.json()["items"]) == limit for page in pages[:-1])
    for page in pages:
        following = page.links.get("next", {}).get("url", "")
        assert ("next" in page.json()) is bool(following)
        assert not following or httpx.URL(following).params["after"] == page.json()["next"]
        assert not following or httpx.URL(following).params["limit"] == str(limit)


def test_what_stands_all_the_while_is_told_once_whatever_comes_and_goes(place: Web) -> None:
    seen: list[str] = []
    for number, page in enumerate(turned(place, "/_api/list", 2)):
        seen += [row["capability"] for row in page.json()["items"]]
        place.deploy(f"aaa-{number}", "return 0;")
        place.client.delete(f"/_api/remove?name=aaa-{number - 1}")
    for number in range(10):
        place.client.delete(f"/_api/remove?name=aaa-{number}")
    assert [name for name in seen if not name.startswith("aaa")] == [*NAMES, "standard"]


def test_the_last_entries_of_the_audit_come_without_a_place_and_the_next_ones_after_them(
    place: Web,
) -> None:
    last = place.client.get("/_api/audit?limit=3").json()
    assert (len(last["items"]), "next" in last) == (3, False)
    end = last["items"][-1]["number"]
    assert place.client.get(f"/_api/audit?after={end}").json() == {"items": []}
    place.deploy("later")
    assert [
        entry["name"] for entry in place.client.get(f"/_api/audit?after={end}").json()["items"]
    ] == ["later"]
    place.client.delete("/_api/remove?name=later")


PLACES: dict[str, list[str]] = {
    "/_api/list": [
        "x",
        "9:cap-00",
        "0:",
        "0:CAP",
        "0:../x",
        "-1:a",
        "0:a%00",
        "0:a%0A",
        "٣:a",
        "0:" + "a" * 5_000,
    ],
    "/_api/versions/cap-00": ["x", "0", "-1", "1.5", "9" * 5_000, "٣"],
    "/_api/grants": ["x", "0:cap-00", "0:cap-00:sha256:x:waits", "0:cap-00:sha256:00:stands:%00"],
    "/_api/secrets": ["x", "key", "%00", "KEY 1"],
    "/_api/keys": ["x", "0" * 11, "0" * 13, "%2e%2e"],
    "/_api/audit": ["x", "-1", "1e3", "9" * 13],
}


@each_row(("path", "after"), [(path, after) for path, places in PLACES.items() for after in places])
def test_a_place_where_no_page_ends_is_refused(place: Web, path: str, after: str) -> None:
    assert error(place.client.get(f"{path}?after={after}")) == "400 EINVAL"


@pytest.mark.parametrize("path", [path.partition("?")[0] for path in LISTS])
@each_row("limit", ["0", "-1", "501", "x", "", "1.0", "9" * 5_000])
def test_a_page_has_1_to_500_rows(place: Web, path: str, limit: str) -> None:
    assert error(place.client.get(f"{path}?limit={limit}")) == "400 EINVAL"


def test_a_link_keeps_what_else_was_asked(place: Web) -> None:
    link = place.client.get(
        "/_api/audit", params={"after": "0", "limit": "1", "namespace": "main", "odd": "a b&c>"}
    ).links["next"]["url"]
    given: Any = httpx.URL(link).params
    assert (given["namespace"], given["odd"], given["after"]) == ("main", "a b&c>", "1")
    assert link.startswith(f"{place.url}/_api/audit?")


@pytest.mark.parametrize(
    "host", ["evil>;x", "a b", "[", "[::1", "x:99999999", "ü", "a@b", "a/b?c#d", '"', ""]
)
def test_no_name_of_the_host_ends_in_a_mistake_of_ours(place: Web, host: str) -> None:
    answer = place.client.get("/_api/list?limit=1", headers={"Host": host.encode()})
    assert answer.status_code in (200, 400)
