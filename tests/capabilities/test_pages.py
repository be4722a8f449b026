"""`read-page` in the sandbox, against a real server and through the whole guard of `fetch`."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import orjson
import pytest

from sigil.deploy.golden_tests import GoldenTestServices
from sigil.errors import SigilError
from sigil.network.http_transport import GuardedTransport
from sigil.protocol import Caller, Json
from sigil.run.executor import Executor
from sigil.run.host_calls.context import Runnable
from tests.capabilities.conftest import FOLDER, Library
from tests.fakes.server import Answer, Recorded, RecordingServer

HTML = {"content-type": "text/html"}
Read = Callable[..., Json]
SITE = """<!doctype html><html lang="en"><head><title>The harbour paper</title>
<meta property="article:published_time" content="2024-03-04T10:00:00Z">
<meta name="description" content="What the harbour says."></head><body>
<header><div class="logo">THE PAPER</div><ul class="menu"><li><a href="/">Home</a><li><a href="/s">Sport</a></ul></header>
<div id="page"><div class="sidebar"><h3>Most read</h3><ul><li><a href="/1">One thing</a><li><a href="/2">Two things</a></ul></div>
<div class="content"><h1>Tea is back</h1><p>{first}</p><p>Second paragraph of the story, which is about <a href="/ships">ships</a>
and what they carry over the sea.</p><div class="share">Share this on everything</div>
<h2>Prices</h2><table><tr><th>kind<th>price</tr><tr><td>green<td>3</tr></table><p>{second}</p></div>
<div class="related"><p>Related: <a href="/9">a story that nobody asked for, with a long headline of many words</a></p></div></div>
<div class="cookie-consent"><p>We value your privacy and that of our 800 partners, who would like to store cookies.</p></div>
<footer><p>© The Paper, all rights reserved, imprint, terms and conditions, contact and so on.</p></footer></body></html>"""


class Site(RecordingServer):
    """Answers each path with what `pages` maps it to."""

    def __init__(self) -> None:
        super().__init__()
        self.pages: dict[str, Answer] = {}

    def answer(self, request: Recorded) -> Answer:
        return self.pages.get(request.path, Answer(404, b"no such page", HTML))


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with Site() as made:
        yield made


@pytest.fixture(scope="module")
def read(library: Library, site: Site) -> Iterator[Read]:
    line = GuardedTransport(loopback=True)
    manifest, program = library.members["read-page"]

    def called(path: str, **arguments: Json) -> Json:
        run = Executor(library.sandbox, GoldenTestServices(line)).run(  # type: ignore[arg-type]
            Runnable("tests", manifest, "", program),
            {"url": f"{site.url}{path}", **arguments},
            Caller("tests"),
        )
        return orjson.loads(run.output)

    yield called
    line.close()


def test_of_a_page_the_story_is_read_and_not_what_stands_around_it(read: Read, site: Site) -> None:
    words = "The harbour has tea again, and people queue for it since the early morning. " * 4
    html = SITE.replace("{first}", words).replace("{second}", words)
    site.pages["/story"] = Answer(200, html.encode(), HTML)
    page = read("/story", links=True)
    assert (page["title"], page["published"], page["language"]) == (
        "The harbour paper",
        "2024-03-04T10:00:00Z",
        "en",
    )
    assert page["description"] == "What the harbour says."
    assert page["text"].startswith("# Tea is back\n\nThe harbour has tea again")
    assert "## Prices\n\nkind | price\ngreen | 3\n\n" in page["text"]
    for other in ("Most read", "Share this", "Related", "privacy", "rights reserved", "Sport"):
        assert other not in page["text"]
    assert page["links"] == [{"text": "ships", "url": f"{site.url}/ships"}]


def test_a_page_that_is_a_list_of_links_is_read_as_one(read: Read, site: Site) -> None:
    items = "".join(f"<li><a href=/{n}>Headline number {n} of today</a></li>" for n in range(30))
    site.pages["/list"] = Answer(200, f"<title>x</title><ul>{items}</ul>".encode(), HTML)
    page = read("/list", links=True)
    assert page["text"].count("- Headline number") == len(page["links"]) == 30


def test_a_long_page_comes_in_parts_which_together_are_the_whole(read: Read, site: Site) -> None:
    paragraphs = [f"Paragraph {n} says {'something ' * 30}".strip() for n in range(100)]
    html = "".join(f"<p>{text}" for text in paragraphs)
    site.pages["/long"] = Answer(200, f"<main>{html}</main>".encode(), HTML)
    first = read("/long")
    count = first["parts"]
    parts = [first["text"], *(read("/long", part=n)["text"] for n in range(2, count + 1))]
    assert "\n\n".join(parts) == "\n\n".join(paragraphs)
    assert max(map(len, parts)) <= 6_000
    with pytest.raises(SigilError, match=f"the page has {count} parts"):
        read("/long", part=count + 1)


@pytest.mark.parametrize(
    ("kind", "body", "text"),
    [
        ("text/html; charset=gb2312", "<p>港口又有茶了。</p>".encode("gbk"), "港口又有茶了。"),
        ("text/html", b"<meta charset=windows-1251><p>" + "чай".encode("cp1251"), "чай"),
        ("text/markdown", b"# Tea\n\n- green", "# Tea\n\n- green"),
        ("application/xml", b"<a><b>1</b></a>", "<a><b>1</b></a>"),
        ("application/octet-stream+json", b"[1]", "[1]"),
        ("text/plain", b"<!doctype html><p>sniffed", "sniffed"),
    ],
)
def test_other_charsets_and_other_texts_are_read_too(
    read: Read, site: Site, kind: str, body: bytes, text: str
) -> None:
    site.pages["/other"] = Answer(200, body, {"content-type": kind})
    assert read("/other")["text"] == text


HOSTILE = {
    "a bomb": (b"<p>hello<script>" + b"x" * 20_000_000, "the page goes on"),
    "a tower": (b"<p>hello</p>" + b"<div>" * 100_000 + b"deep", "the page goes on"),
    "one word": (b"x" * 100_000, ""),
    "no end": (b"hello" + b"<!--" * 20_000, ""),
    "attributes": (b"<p " + b"a=b " * 10_000 + b">hello", ""),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_page_costs_a_bounded_time_and_says_what_is_missing(
    read: Read, site: Site, name: str
) -> None:
    body, note = HOSTILE[name]
    headers = {**HTML, "content-encoding": "gzip"} if name == "a bomb" else HTML
    site.pages["/hostile"] = Answer(200, gzip.compress(body) if name == "a bomb" else body, headers)
    page = read("/hostile")
    assert note in page.get("note", "")
    assert page["text"] == "hello" or (name == "one word" and len(page["text"]) <= 6_000)


@pytest.mark.parametrize(
    ("answer", "code", "words"),
    [
        (Answer(404), "ENOENT", "has no such page"),
        (Answer(403, b"no"), "EACCES", "does not show this page to programs"),
        (Answer(503, b"busy"), "ENET", "try again later"),
        (Answer(429, b"busy"), "ENET", "asked too often"),
        (Answer(cut=True), "ENET", "the connection failed"),
        (Answer(200, b"%PDF", {"content-type": "application/pdf"}), "EINVAL", "is no text"),
        (Answer(302, b"", {"location": "http://10.0.0.1/"}), "EPERM", "public internet"),
        (Answer(302, b"", {"location": "/refused"}), "ENET", "more than 5 redirects"),
    ],
)
def test_a_page_that_cannot_be_read_is_told_apart(
    read: Read, site: Site, answer: Answer, code: str, words: str
) -> None:
    site.pages["/refused"] = answer
    with pytest.raises(SigilError, match=words) as caught:
        read("/refused")
    assert caught.value.code == code


@pytest.mark.thorough  # npm installs and bundles the packages
def test_its_parser_is_what_the_pinned_packages_make(tmp_path: Path) -> None:
    source = (FOLDER / "read-page" / "main.js").read_bytes()
    assert source.count(b"\nvar htmlparser2=") == 1
    script = FOLDER.parent / "scripts" / "build-htmlparser"
    subprocess.run([script, tmp_path / "made.js"], check=True, capture_output=True)
    assert (tmp_path / "made.js").read_bytes() == source
