"""The log: one line of JSON a step, with the event's ids and never its text."""

from __future__ import annotations

import logging
import sys
import time
from typing import Any, TextIO

import orjson

from functions.events import Event

NAME = "uncaged"
_log = logging.getLogger(NAME)


class _Lines(logging.Formatter):
    """A record as one object: `{"at", "level", "step", …}`."""

    def format(self, record: logging.LogRecord) -> str:
        stamp = (
            time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
            + f".{int(record.msecs):03d}Z"
        )
        facts: dict[str, Any] = getattr(record, "facts", {})
        line = {
            "at": stamp,
            "level": record.levelname.lower(),
            "step": record.getMessage(),
            **facts,
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return orjson.dumps(line, default=str).decode()


def start(stream: TextIO = sys.stderr) -> None:
    """Send the log to `stream`; other libraries' warnings come the same way."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_Lines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    _log.setLevel(logging.INFO)


def step(name: str, event: Event, /, **facts: Any) -> None:
    """Something happened to an event."""
    _log.info(name, extra={"facts": {"event": event.id, "session": event.session, **facts}})


def trouble(name: str, event: Event, /, **facts: Any) -> None:
    """Something went wrong with an event, and what is done about it."""
    _log.warning(name, extra={"facts": {"event": event.id, "session": event.session, **facts}})


def failure(name: str, /, **facts: Any) -> None:
    """An exception that nobody expected; it is being handled right now."""
    _log.error(name, exc_info=True, extra={"facts": facts})


def note(name: str, /, **facts: Any) -> None:
    """Something about the process itself."""
    _log.info(name, extra={"facts": facts})
