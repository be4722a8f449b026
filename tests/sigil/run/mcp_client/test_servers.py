"""The official SDK's own servers as capabilities: on a pipe and over HTTP, with sessions and
without, before and after the handshake.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from sigil.errors import ToolError
from tests.selection import thorough
from tests.servers import mcp_sdk
from tests.sigil.tool_importer import OWNER, ToolImporter


@pytest.fixture(
    params=["old on a pipe", "new stateless", *thorough("new on a pipe", "old stateful")]
)
def place(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    age, _, kind = request.param.partition(" ")
    sdk = mcp_sdk.NEW if age == "new" else mcp_sdk.OLD
    if kind == "on a pipe":
        yield {"name": "work", "command": mcp_sdk.command(sdk)}
        return
    with mcp_sdk.server(sdk, kind) as url:
        yield {"name": "work", "url": url}


def test_its_tools_are_capabilities_that_run(place: dict[str, Any], importer: ToolImporter) -> None:
    assert importer.import_tools(place, timeout=1_500) == [
        "work-add",
        "work-fail",
        "work-picture",
        "work-read-notes",
        "work-repeat",
        "work-wait",
    ]
    inspected = importer.registry.inspect("work-add", OWNER)
    assert inspected["kind"] == inspected["lang"] == "mcp"
    assert inspected["description"] == "Add two numbers. (a tool of the MCP server work)"

    assert importer.run("work-add", first=1, second=41) == {"result": 42}
    assert importer.run("work-read-notes", topic="cats") == {"result": "notes on cats"}
    assert importer.run("work-picture") == (
        "here it is\n[picture.png, image/png, 400 bytes: kept as a file]"
    )
    with pytest.raises(ToolError, match="fail") as failed:
        importer.run("work-fail", why="no luck")
    assert failed.value.code == "EREMOTE"
    with pytest.raises(
        ToolError, match=r"answers with 300,0\d\d bytes, at most 262,144 are taken"
    ) as large:
        importer.run("work-repeat", text="abc", times=100_000)
    assert large.value.code == "ETOOBIG"
    with pytest.raises(ToolError, match="did not answer in time") as late:
        importer.run("work-wait", seconds=2)
    assert (late.value.code, late.value.source) == ("ETIMEDOUT", "work-wait")
