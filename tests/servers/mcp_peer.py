"""Runs in the environment of the official SDK: its client against a server of ours. One JSON
document in, one out.

`python mcp_peer.py '{"url" | "command", "headers", "environment", "mode", "steps": [["call", NAME,
ARGUMENTS], ["list"], …]}'`
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp import Client, MCPError
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.client.streamable_http import streamable_http_client


@asynccontextmanager
async def connected(wanted: dict[str, Any], heard: list[str]) -> AsyncIterator[Client]:
    async def hear(message: Any) -> None:
        heard.append(getattr(message, "method", type(message).__name__))

    given: dict[str, Any] = {
        "mode": wanted.get("mode", "auto"),
        "message_handler": hear,
        "cache": None,
        "read_timeout_seconds": 30,
    }
    if "url" in wanted:
        http = httpx2.AsyncClient(headers=wanted.get("headers", {}), timeout=30)
        async with (
            http,
            Client(streamable_http_client(wanted["url"], http_client=http), **given) as session,
        ):
            yield session
        return
    command, *arguments = wanted["command"]
    server = StdioServerParameters(command=command, args=arguments, env=wanted.get("environment"))
    async with Client(stdio_client(server), **given) as session:
        yield session


async def step(client: Client, name: str, *given: Any) -> Any:
    match name:
        case "list":
            return [tool.name for tool in (await client.list_tools()).tools]
        case "tools":
            return [
                tool.model_dump(by_alias=True, mode="json", exclude_none=True)
                for tool in (await client.list_tools()).tools
            ]
        case "call":
            result = await client.call_tool(given[0], given[1])
            return {
                "error": result.is_error,
                "text": result.content[0].text,
                "more": len(result.content) - 1,
                "structured": result.structured_content,
            }
        case "ping":
            await client.send_ping()
            return True
        case "changes":  # the latest revision: what is listened for, while a call is made
            async with client.listen(tools_list_changed=True) as changes:
                await client.call_tool(given[0], given[1])
                with anyio.fail_after(10):
                    return type(await anext(changes)).__name__
        case "time":  # milliseconds of each of so many calls
            times = []
            for _ in range(given[0]):
                began = time.perf_counter()
                await client.call_tool(given[1], given[2])
                times.append((time.perf_counter() - began) * 1000)
            return times
    raise ValueError(name)


async def main(wanted: dict[str, Any]) -> dict[str, Any]:
    heard: list[str] = []
    results: list[Any] = []
    async with connected(wanted, heard) as client:
        about = {
            "revision": client.protocol_version,
            "name": client.server_info.name if client.server_info else None,
        }
        for name, *given in wanted["steps"]:
            try:
                results.append(await step(client, name, *given))
            except MCPError as problem:
                results.append({"code": problem.code, "message": str(problem)})
        await anyio.sleep(0.05)  # what was told last may still be on its way
    return {**about, "results": results, "heard": heard}


if __name__ == "__main__":
    print(json.dumps(anyio.run(main, json.loads(sys.argv[1]))))
