"""Requests for pages and searches of the web, read from words by the offline model."""

from __future__ import annotations

import pytest

from functions.agent.model.offline_library import Request, read_request
from sigil.protocol import Json
from tests.tables import each_row

PAGE = "https://example.com/a?b=1"
NEWS = "month"


@each_row(
    ("words", "arguments"),
    [
        (PAGE, {"url": PAGE}),
        (f"show me part 2 of {PAGE}.", {"url": PAGE, "part": 2}),
        (f"which links are on {PAGE}?", {"url": PAGE, "links": True}),
        (f"读一下 {PAGE}，第2部分", {"url": PAGE, "part": 2}),
        (f"fass mir {PAGE} zusammen", {"url": PAGE}),
        ("open www.example.com", {"url": "www.example.com"}),
    ],
)
def test_a_page_is_asked_for_by_its_address(words: str, arguments: dict[str, Json]) -> None:
    reading = read_request(Request(words))[0]
    assert (reading.capability, reading.arguments) == ("read-page", arguments)


@pytest.mark.parametrize(
    "words",
    [
        f"make a qr code for {PAGE}",
        f"what's the domain in {PAGE}",
        f"how many characters are in {PAGE}",
        f"which query parameters are in the url {PAGE}",
        "tell me a joke about https",
    ],
)
def test_what_is_asked_about_an_address_reads_no_page(words: str) -> None:
    assert "read-page" not in [reading.capability for reading in read_request(Request(words))]


@each_row(
    ("words", "arguments"),
    [
        ("What is new about tea?", {"query": "tea", "recent": NEWS}),
        ("search the web for tea harbours", {"query": "tea harbours"}),
        ("find a tea shop online", {"query": "a tea shop"}),
        ("was gibt es Neues über Tee", {"query": "Tee", "recent": NEWS}),
        ("such im Internet nach Tee", {"query": "Tee"}),
        ("网上搜一下茶", {"query": "茶"}),
        ("what's in the news today", {"query": "news", "recent": "day"}),
        ("今天有什么新闻", {"query": "新闻", "recent": "day"}),
    ],
)
def test_a_search_has_its_subject(words: str, arguments: dict[str, Json]) -> None:
    reading = read_request(Request(words))[0]
    assert (reading.capability, reading.arguments) == ("web-search", arguments)
