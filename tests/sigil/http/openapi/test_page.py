"""The page for people: whole, without a script, and true to the description."""

from __future__ import annotations

import base64
import hashlib
import re
import shlex
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import pytest

from functions.wiring import AgentRuntime
from sigil.http.openapi import curl
from sigil.http.openapi.examples import load_examples
from tests.functions.serving import serving
from tests.sigil.http.openapi.conftest import Stage

VOID = {"meta", "link", "br", "hr", "img", "input"}


class Parsed(HTMLParser):
    """Tags that are open and closed in turn, and what they carry."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.attributes: set[str] = set()
        self.tags: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.tags.add(tag)
        self.attributes |= given.keys()
        self.ids += [given["id"]] if given.get("id") else []  # type: ignore[list-item]
        self.links += [given["href"]] if given.get("href") else []  # type: ignore[list-item]
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page(stage: Stage) -> httpx.Response:
    return httpx.get(f"{stage.url}/_api/docs")


@pytest.fixture(scope="module")
def parsed(page: httpx.Response) -> Parsed:
    made = Parsed()
    made.feed(page.text)
    made.close()
    assert not made.open
    return made


def test_the_page_asks_for_no_token_and_nothing_from_anywhere(
    page: httpx.Response, parsed: Parsed
) -> None:
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert not parsed.tags & {"script", "img", "iframe", "form", "object", "base"}
    assert not [name for name in parsed.attributes if name.startswith("on") or name == "style"]
    assert {link for link in parsed.links if not link.startswith("#")} == {"openapi.json", "data:,"}


def test_the_browser_is_told_to_show_this_style_and_run_nothing(page: httpx.Response) -> None:
    style = re.findall(r"<style>(.*?)</style>", page.text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style[0].encode()).digest()).decode()
    policy = page.headers["content-security-policy"].split("; ")
    assert len(style) == 1
    assert {
        "default-src 'none'",
        f"style-src 'sha256-{digest}'",
        "frame-ancestors 'none'",
        "form-action 'none'",
    } <= set(policy)


def test_every_operation_and_every_shape_has_its_place_and_every_link_leads_there(
    parsed: Parsed, document: dict[str, Any]
) -> None:
    names = {
        each["operationId"] for methods in document["paths"].values() for each in methods.values()
    }
    assert names | document["components"]["schemas"].keys() <= set(parsed.ids)
    assert len(parsed.ids) == len(set(parsed.ids))
    assert {link[1:] for link in parsed.links if link.startswith("#")} <= set(parsed.ids)


def test_it_is_for_phones_and_for_the_dark_too(page: httpx.Response) -> None:
    assert 'name="viewport" content="width=device-width' in page.text
    assert "prefers-color-scheme: dark" in page.text
    assert "max-width: 40rem" in page.text


def test_the_commands_that_it_shows_work_in_a_shell(stage: Stage, tmp_path: Path) -> None:
    shown = [
        (
            example,
            curl.write_command(example, example.route.partition(" ")[2].replace(":path}", "}")),
        )
        for example in load_examples()
    ]
    good = [
        (example, command)
        for example, command in shown
        if example.route in ("GET /run/{ref:path}", "GET /_api/query", "POST /_api/grant")
    ]
    for example, command in good:
        environment = {
            "SIGIL_URL": stage.url,
            "SIGIL_TOKEN": stage.tokens[example.token],
            "PATH": "/usr/bin:/bin",
        }
        line = f"{command} --silent --output /dev/null --write-out '%{{http_code}}'"
        done = subprocess.run(
            ["sh", "-c", line],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == str(example.status), command
    assert all(shlex.split(command)[0] == "curl" for _, command in shown)


def test_both_are_served_beside_the_agent_as_well(runtime: Any) -> None:
    made: AgentRuntime = runtime()
    with serving(made) as server:
        for path in ("openapi.json", "docs"):
            answer = httpx.get(f"{server.url}/_api/{path}")
            assert answer.status_code == 200
            assert (
                httpx.get(
                    f"{server.url}/_api/{path}", headers={"If-None-Match": answer.headers["etag"]}
                ).status_code
                == 304
            )
        assert httpx.get(f"{server.url}/health").json().keys() == {"ok", "version"}


def test_json_on_the_page_is_as_short_as_it_can_be() -> None:
    assert curl.format_json({"a": [1, 2], "b": {}}) == '{"a": [1, 2], "b": {}}'
    assert curl.format_json({"text": "x" * 90, "ö": ["y" * 95, 1]}) == (
        '{\n  "text": "' + "x" * 90 + '",\n  "ö": [\n    "' + "y" * 95 + '",\n    1\n  ]\n}'
    )
