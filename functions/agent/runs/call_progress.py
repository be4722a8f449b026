"""How far the calls of a turn say that they have come: shown at once to whoever watches the turn,
and kept beside its session for other processes.

Only calls that take long are kept, and not often, so that an ordinary turn writes nothing for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

import orjson

from functions.agent.conversation.messages import ToolCall
from functions.time.clock import Clock
from sigil.errors import BackendError
from sigil.json_fields import as_mapping, as_number
from sigil.protocol import Json
from sigil.running_call import CallProgress, read_progress
from sigil.storage.kv import KV, keys

LONG_SECONDS: Final = 5.0
"""The progress of a round of calls is kept once it has taken longer."""
PAUSE_SECONDS: Final = 3.0
"""Between two writes."""
KEPT_SECONDS: Final = 3600.0


@dataclass(slots=True)
class ProgressReporter:
    """Shows and keeps the progress of the calls in the turn of an event.

    `session` is that of the keys (S). `show` gets what is new at once.
    """

    kv: KV
    session: str
    event: str
    clock: Clock
    show: Callable[[ToolCall, CallProgress], None]
    _written: float = field(default=-PAUSE_SECONDS)
    _shown: dict[str, CallProgress] = field(default_factory=dict)
    _kept: dict[str, CallProgress] = field(default_factory=dict)

    def report(self, calls: Mapping[ToolCall, CallProgress], seconds: float) -> None:
        """Take the progress of the calls that run, for so many seconds by now."""
        found = {call.id: progress for call, progress in calls.items()}
        for call, progress in calls.items():
            if self._shown.get(call.id) != progress:
                self.show(call, progress)
        self._shown = found
        now = self.clock.monotonic()
        if seconds < LONG_SECONDS or found == self._kept or now - self._written < PAUSE_SECONDS:
            return
        self._written = now
        self._kept = found
        rows = {id: make_row(progress) for id, progress in found.items()}
        kept = {"event": self.event, "at": self.clock.now(), "calls": rows}
        with suppress(BackendError):  # the calls go on without it
            self.kv.put(keys.call_progress(self.session), orjson.dumps(kept), ttl=KEPT_SECONDS)


def read_call_progress(
    kv: KV, session: str, event: str, since: float
) -> dict[str, dict[str, Json]]:
    """Return the progress of the calls in the turn of an event, by their ids, as programs get it.

    Calls that began before `since` (seconds since 1970) may have had the same ids.
    """
    try:
        item = kv.get(keys.call_progress(session))
        kept = as_mapping(orjson.loads(item.value)) if item else {}
    except (BackendError, ValueError):
        return {}
    if kept.get("event") != event or as_number(kept.get("at")) < since:
        return {}
    found = {}
    for id, row in as_mapping(kept.get("calls")).items():
        progress = read_row(row)
        if progress:
            found[id] = make_row(progress)
    return found


def make_row(progress: CallProgress) -> dict[str, Json]:
    """Return a progress as programs get it."""
    row: dict[str, Json] = {"done": progress.done}
    if progress.total is not None:
        row["total"] = progress.total
    if progress.message:
        row["message"] = progress.message
    return row


def read_row(row: Json) -> CallProgress | None:
    """Return the progress that a row has; None for none."""
    fields = as_mapping(row)
    return read_progress(fields.get("done"), fields.get("total"), fields.get("message"))
