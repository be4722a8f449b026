"""What a bundle of somebody else's brings: tools of servers, which are no more than what they say,
and nothing of which is run.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from sigil.catalog.bundle import BundleEntry, pack
from sigil.catalog.records import Record
from sigil.manifest.package import parse_fields
from tests.sigil.cli.conftest import Sigil, place, run_sigil

__all__ = ["place", "run_sigil"]
WEB = {"name": "w", "url": "https://mcp.example.com/mcp"}


def bundle(*tools: tuple[str, object, dict[str, Any]]) -> bytes:
    """A bundle of tools, each with its name, its code and what else its manifest says."""
    entries = []
    for name, code, more in tools:
        body = code if isinstance(code, bytes) else json.dumps(code).encode()
        package = parse_fields(
            {"name": name, "description": "A tool.", "lang": "mcp", "tags": ["mcp", "w"], **more},
            body,
        )
        entries.append(
            BundleEntry(
                Record(
                    "main",
                    name,
                    1,
                    package.digest,
                    "sigil",
                    "",
                    "",
                    package.manifest,
                    "person",
                    "",
                    0.0,
                ),
                body,
            )
        )
    return pack(entries)


def asks(host: str) -> dict[str, Any]:
    return {"permissions": {"http": [f"POST {host}/mcp"]}}


def tool(server: object, name: object = "t") -> dict[str, Any]:
    return {"server": server, "tool": name}


HOSTILE: tuple[object, ...] = (
    b"nope",
    b"[" * 100_000,
    b'{"server": {"name": "w", "command": ["\\ud800"]}, "tool": "t"}',
    tool([]),
    tool({"name": "w", "command": [1, None]}),
    tool({"name": "w", "command": ["x"], "env": {"A": {"b": 1}}}),
    tool({"name": "w", "command": ["x"], "env": {"A": "secret:../x"}}),
    tool({"name": "w", "command": ["x", "\x1b[31m\u202e"]}),
    tool({"name": "w", "command": ["sh", "-c", "touch ran"]}),
    tool({"name": "w", "url": ["x"]}),
    tool({"name": "w", "url": "https://[::1/"}),
    tool({**WEB, "headers": {"x\r\ny": "z"}}),
    tool({**WEB, "headers": {"x": 1}}),
    tool(WEB, "t" * 100_000),
    tool(WEB, "t\n\x1b[2J"),
    tool(WEB),
)


@pytest.mark.parametrize("code", HOSTILE, ids=range(len(HOSTILE)))
def test_a_document_that_is_none_or_asks_for_more_than_it_says_is_refused(
    run_sigil: Sigil, place: Path, code: object
) -> None:
    Path("x.sigil").write_bytes(bundle(("a", code, {})))
    ended = run_sigil("import", "x.sigil", "--json")
    assert (ended.code, ended.error["code"]) in {(2, "EMANIFEST"), (2, "EJSON")}
    assert run_sigil("list", "--json").document == {"items": []}


def test_a_command_that_came_in_a_file_waits_for_a_grant_and_is_not_started(
    run_sigil: Sigil, place: Path
) -> None:
    command = {"name": "s", "command": ["sh", "-c", "touch ran"]}
    Path("x.sigil").write_bytes(
        bundle(
            (
                "a",
                tool(command),
                {"permissions": {"mcp": ["s sh -c 'touch ran'"]}, "tags": ["mcp", "s"]},
            )
        )
    )
    assert "waits for an owner: mcp:s sh -c 'touch ran'" in run_sigil("import", "x.sigil").err
    assert run_sigil("run", "a").code == 1
    assert run_sigil("mcp", "grant", "s").code == 2
    assert not list(place.parent.rglob("ran"))
    assert not (Path.home() / "ran").exists()


def test_a_server_is_not_granted_with_another_one_that_goes_by_its_name(
    run_sigil: Sigil, place: Path
) -> None:
    other = {"name": "w", "url": "https://evil.example.com/mcp"}
    mine, theirs = (
        ("mine", tool(WEB), asks("mcp.example.com")),
        ("theirs", tool(other, "u"), asks("evil.example.com")),
    )
    Path("x.sigil").write_bytes(bundle(mine, theirs))
    assert run_sigil("import", "x.sigil").code == 0

    assert "https://mcp.example.com/mcp, another: theirs" in run_sigil("mcp", "list").out
    for command in ("grant", "refresh"):
        ended = run_sigil("mcp", command, "w", "--yes", "--json")
        assert (ended.code, ended.error["message"]) == (
            5,
            "theirs and mine are of different servers with this name",
        )
    assert run_sigil("remove", "theirs", "--yes").code == 0
    assert run_sigil("mcp", "grant", "w", "--yes").code == 0
