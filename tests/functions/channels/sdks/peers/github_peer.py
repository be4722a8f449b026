"""gidgethub, a library for GitHub's webhooks and API."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx
from gidgethub.httpx import GitHubAPI
from gidgethub.sansio import Event
from loopback import answer, read_body, verdicts


def receive(requests: list[dict[str, Any]], secret: str) -> dict[str, list[Any]]:
    """Return which requests the library takes for GitHub's, and what these say."""
    events: list[dict[str, Any]] = []

    def verify(request: dict[str, Any]) -> bool:
        event = Event.from_http(request["headers"], read_body(request), secret=secret)
        data = event.data
        events.append(
            {
                "kind": event.event,
                "id": data["comment"]["id"],
                "text": data["comment"]["body"],
                "sender": data["sender"]["id"],
                "repository": data["repository"]["full_name"],
                "number": data["issue"]["number"],
            }
        )
        return True

    return {"taken": verdicts(verify, requests), "events": events}


def call(base: str, token: str, requests: list[list[Any]]) -> None:
    """Send requests as the library does, each given as its method, path and body."""
    asyncio.run(_call(base, token, requests))


async def _call(base: str, token: str, requests: list[list[Any]]) -> None:
    async with httpx.AsyncClient() as client:
        api = GitHubAPI(client, "uncaged", oauth_token=token, base_url=base)
        for method, path, body in requests:
            match method:
                case "GET":
                    await api.getitem(path)
                case "POST":
                    await api.post(path, data=body)
                case "PATCH":
                    await api.patch(path, data=body)
                case "DELETE":
                    await api.delete(path)
                case _:
                    raise ValueError(method)


if __name__ == "__main__":
    answer(receive, call)
