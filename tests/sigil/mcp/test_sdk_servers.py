"""The official SDK's own servers as capabilities: on a pipe and over HTTP, with sessions and
without, before and after the handshake.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sigil.errors import ToolError
from tests.sigil.mcp import peers
from tests.sigil.mcp.conftest import OWNER, Ground


@pytest.fixture(params=["new on a pipe", "old on a pipe", "new stateless", "old stateful"])
def place(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    age, _, kind = request.param.partition(" ")
    sdk = peers.NEW if age == "new" else peers.OLD
    if kind == "on a pipe":
        yield {"name": "work", "command": peers.command(sdk)}
        return
    with peers.server(sdk, kind) as url:
        yield {"name": "work", "url": url}


def test_its_tools_are_capabilities_that_run(place: dict[str, Any], ground: Ground) -> None:
    assert ground.bring(place, timeout=1_500) == [
        "work-add",
        "work-fail",
        "work-picture",
        "work-read-notes",
        "work-repeat",
        "work-wait",
    ]
    inspected = ground.registry.inspect("work-add", OWNER)
    assert inspected["kind"] == inspected["lang"] == "mcp"
    assert inspected["description"] == "Add two numbers. (a tool of the MCP server work)"

    assert ground.run("work-add", first=1, second=41) == {"result": 42}
    assert ground.run("work-read-notes", topic="cats") == {"result": "notes on cats"}
    assert ground.run("work-picture") == "here it is\n[image, image/png, 402 bytes, left out]"
    with pytest.raises(ToolError, match="fail") as failed:
        ground.run("work-fail", why="no luck")
    assert failed.value.code == "EREMOTE"
    with pytest.raises(
        ToolError, match=r"answers with 300,0\d\d bytes, at most 262,144 are taken"
    ) as large:
        ground.run("work-repeat", text="abc", times=100_000)
    assert large.value.code == "ETOOBIG"
    with pytest.raises(ToolError, match="did not answer in time") as late:
        ground.run("work-wait", seconds=2)
    assert (late.value.code, late.value.source) == ("ETIMEDOUT", "work-wait")
