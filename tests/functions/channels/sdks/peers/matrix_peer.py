"""matrix-nio, a library for Matrix clients."""

from __future__ import annotations

import asyncio
import io
from typing import Any

from loopback import answer
from nio import AsyncClient, ErrorResponse, InviteMemberEvent, RoomMessageText


def follow(base: str, user: str, token: str) -> dict[str, Any]:
    """Return what the library reads of a first answer of `/sync`, and of the one after it."""
    return asyncio.run(_follow(base, user, token))


async def _follow(base: str, user: str, token: str) -> dict[str, Any]:
    client = _open(base, user, token)
    try:
        first = _require(await client.sync(timeout=0, sync_filter={"room": {}}))
        later = _require(await client.sync(timeout=1, sync_filter={"room": {}}))
    finally:
        await client.close()
    messages = [
        {
            "id": event.event_id,
            "text": event.body,
            "sender": event.sender,
            "room": room,
            "at": event.server_timestamp / 1000,
        }
        for room, joined in first.rooms.join.items()
        for event in joined.timeline.events
        if isinstance(event, RoomMessageText)
    ]
    invited = [
        [room, event.sender]
        for room, waiting in first.rooms.invite.items()
        for event in waiting.invite_state
        if isinstance(event, InviteMemberEvent) and event.membership == "invite"
    ]
    return {
        "messages": messages,
        "invited": invited,
        "is_later_empty": not later.rooms.join,
        "stands": first.next_batch == later.next_batch,
    }


def call(base: str, user: str, token: str, calls: list[list[Any]]) -> list[str]:
    """Call methods of the library's client with their arguments, and return the kinds of answers
    that it has read.
    """
    return asyncio.run(_call(base, user, token, calls))


async def _call(base: str, user: str, token: str, calls: list[list[Any]]) -> list[str]:
    client = _open(base, user, token)
    kinds = []
    try:
        for name, *given in calls:
            if name == "upload":
                body, kind, filename = given
                content = body.encode()
                answered, _ = await client.upload(
                    io.BytesIO(content), kind, filename, filesize=len(content)
                )
            else:
                answered = await getattr(client, name)(*given)
            kinds.append(type(_require(answered)).__name__)
    finally:
        await client.close()
    return kinds


def _open(base: str, user: str, token: str) -> AsyncClient:
    client = AsyncClient(base, user)
    client.restore_login(user, "ABC", token)
    return client


def _require(answered: Any) -> Any:
    if isinstance(answered, ErrorResponse):
        raise ValueError(str(answered))
    return answered


if __name__ == "__main__":
    answer(follow, call)
