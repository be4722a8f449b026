"""An account without an application service asks for the same events
(https://spec.matrix.org/latest/client-server-api/#syncing).
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterator, Mapping
from typing import Final

import orjson

from functions.channels.listening.updates import Update, Updates
from functions.channels.matrix.api import MatrixApi, MatrixRejected, quote_id
from functions.channels.matrix.identifiers import ROOM, find_id
from sigil.errors import BackendError, UsageError
from sigil.json_fields import as_mapping, as_sequence, as_string
from sigil.protocol import Json

Row = Mapping[str, Json]
GRACE_SECONDS: Final = 10
"""Seconds that an answer may take beyond the time that it waits for something new."""
SYNC_BYTES: Final = 64 << 20
ROOM_EVENTS: Final = 100
"""So many events of a room come with one answer; what is older is asked for."""
PAGES_MOST: Final = 10
_TYPES: Final = (
    "m.room.message",
    "m.sticker",
    "m.poll.start",
    "org.matrix.msc3381.poll.start",
    "m.call.invite",
    "m.room.encrypted",
    "m.room.encryption",
    "m.room.member",
    "m.room.redaction",
)


def fetch_updates(api: MatrixApi, user: str, since: str, seconds: int) -> Updates:
    """Return what is new since a position, and wait `seconds` for it; from the empty position on
    only the invitations that wait, since nobody expects an answer to what was said before.

    `BackendError` when the homeserver does not answer.
    """
    query = {"timeout": str(seconds * 1000), "filter": _make_filter()}
    if since:
        query["since"] = since
    try:
        # the API's client gives half of the time to the wait for an answer
        timeout = 2 * (seconds + GRACE_SECONDS)
        answer = api.call("GET", "/sync", query=query, timeout=timeout, most=SYNC_BYTES)
    except MatrixRejected as problem:
        if since and problem.error in ("M_UNKNOWN", "M_INVALID_PARAM"):
            # the homeserver has forgotten the position
            return fetch_updates(api, user, "", seconds)
        raise BackendError("EUNAVAILABLE", problem.message, source="matrix") from None
    except UsageError as problem:
        raise BackendError("EUNAVAILABLE", problem.message, source="matrix") from None
    following = as_string(answer.get("next_batch"))
    if not following:
        raise BackendError("EUNAVAILABLE", "the homeserver tells no position", source="matrix")
    rooms = as_mapping(answer.get("rooms"))
    rows = [*_list_invitations(as_mapping(rooms.get("invite")), user, since)]
    if since:
        for id, joined in as_mapping(rooms.get("join")).items():
            room = find_id(ROOM, id)
            if room:
                timeline = as_mapping(as_mapping(joined).get("timeline"))
                rows += _read_timeline(api, user, room, timeline, since)
    updates = tuple(Update(orjson.dumps({"events": [row]}), since) for row in rows)
    return Updates(updates, following)


def _make_filter() -> str:
    nothing: dict[str, object] = {"types": []}
    timeline = {"limit": ROOM_EVENTS, "types": _TYPES}
    room = {"timeline": timeline, "state": nothing, "ephemeral": nothing, "account_data": nothing}
    return orjson.dumps({"room": room, "presence": nothing, "account_data": nothing}).decode()


def _list_invitations(invited: Row, user: str, since: str) -> Iterator[Row]:
    """Yield an event for each invitation. What comes with one has no id, and the same one comes
    again as long as the position is the same.
    """
    for room, state in invited.items():
        events = as_sequence(as_mapping(as_mapping(state).get("invite_state")).get("events"))
        for event in map(as_mapping, events):
            content = as_mapping(event.get("content"))
            is_ours = event.get("type") == "m.room.member" and event.get("state_key") == user
            if is_ours and content.get("membership") == "invite":
                digest = hashlib.sha256(f"{room} {since}".encode(errors="replace")).hexdigest()
                own = {"event_id": f"$invite-{digest}", "room_id": room}
                yield {**event, **own, "origin_server_ts": int(time.time() * 1000)}


def _read_timeline(
    api: MatrixApi, user: str, room: str, timeline: Row, since: str
) -> Iterator[Row]:
    """Yield the new events of a room, oldest first. Where we have just come in, what was said
    before somebody invited us is not for us.
    """
    rows = [as_mapping(row) for row in as_sequence(timeline.get("events"))]
    arrival = _find_arrival(rows, user)
    if arrival is not None:
        rows = rows[arrival:]
    elif timeline.get("limited") is True:
        rows = [*_fetch_gap(api, room, as_string(timeline.get("prev_batch")), since), *rows]
    for row in rows:
        # an invitation stands among those that wait
        if not _is_own_membership(row, user):
            yield {**row, "room_id": room}


def _find_arrival(rows: list[Row], user: str) -> int | None:
    """Return where somebody invited us, or else where we came in, if we did so in these events."""
    place: int | None = None
    invited: int | None = None
    for number, row in enumerate(rows):
        if _is_own_membership(row, user):
            before = as_mapping(as_mapping(row.get("unsigned")).get("prev_content"))
            membership = as_string(as_mapping(row.get("content")).get("membership"))
            if membership == "invite":
                invited = number
            elif membership != "join":
                invited = None
            elif before.get("membership") != "join":  # else we have only changed our name
                place = number if invited is None else invited
    return place


def _is_own_membership(row: Row, user: str) -> bool:
    return row.get("type") == "m.room.member" and row.get("state_key") == user


def _fetch_gap(api: MatrixApi, room: str, before: str, since: str) -> list[Row]:
    """Return the events of a room between two positions, oldest first; of more than a thousand, the
    newest.
    """
    rows: list[Row] = []
    for _ in range(PAGES_MOST):
        if not before:
            break
        query = {"dir": "b", "from": before, "to": since, "limit": str(ROOM_EVENTS)}
        query["filter"] = orjson.dumps({"types": _TYPES}).decode()
        path = f"/rooms/{quote_id(room)}/messages"
        try:
            page = api.call("GET", path, query=query, most=SYNC_BYTES)
        except MatrixRejected:
            break  # we have left the room meanwhile
        found = as_sequence(page.get("chunk"))
        rows += map(as_mapping, found)
        before = as_string(page.get("end"))
        if not found:
            break
    return rows[::-1]
