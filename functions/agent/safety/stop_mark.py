"""A mark tells the turn in progress of a session to stop, or to give up one request to the model.

It is written beside the session, so that it waits for no turn. It names nobody: who said it is the
person who had asked, an owner, or the door through which it came.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import orjson

from sigil.storage.kv import KV, Item, keys

MARK_SECONDS: Final = 2 * 3600.0
"""Longer than a turn may wait for its model: a mark has to be there when it goes on."""
BY_SENDER: Final = "sender"
BY_OWNER: Final = "owner"


@dataclass(frozen=True, slots=True)
class StopMark:
    """The turn that is to stop, by its event, and who said so.

    With a `request` only that request of the turn is given up, by its number.
    """

    event: str
    by: str = ""
    request: int = 0

    def stops_turn(self, event: str) -> bool:
        """Return whether it stops the turn of this event."""
        return self.event == event and not self.request

    def stops_request(self, event: str, request: int) -> bool:
        """Return whether it ends this request of the turn of this event."""
        return self.event == event and self.request in (0, request)


def write_mark(kv: KV, session: str, mark: StopMark) -> None:
    """Tell the turn in progress of a session (S of the keys).

    It sees the mark before its next request or call, and within two seconds while it asks the
    model or waits for calls.
    """
    fields: dict[str, object] = {"by": mark.by} if mark.by else {}
    if mark.request:
        # an earlier version knows only `stop`, and must not stop the whole turn for this
        fields |= {"give_up": mark.event, "request": mark.request}
    else:
        fields["stop"] = mark.event
    kv.put(keys.control_mark(session), orjson.dumps(fields), ttl=MARK_SECONDS)


def read_mark(item: Item | None) -> StopMark | None:
    """Return the mark in an item; None without one, and for one that nobody can read."""
    try:
        fields = orjson.loads(item.value) if item else {}
        by = str(fields.get("by", ""))
        if "stop" in fields:
            return StopMark(str(fields["stop"]), by)
        if "give_up" in fields:
            return StopMark(str(fields["give_up"]), by, int(fields["request"]))
    except (ValueError, TypeError, LookupError, AttributeError):
        pass
    return None
