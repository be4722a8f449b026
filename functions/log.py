"""The log: one JSON line a step, with the event's ids and never its text."""

from __future__ import annotations

import logging
import sys
import time
from typing import TextIO

import orjson

from functions.events import Event

NAME = "uncaged"
_log = logging.getLogger(NAME)
# in a terminal, where no log is started, Python itself would print the warnings
_log.addHandler(logging.NullHandler())


class _JsonFormatter(logging.Formatter):
    """Formats a record as one JSON object: `{"at", "level", "step", …}`."""

    def format(self, record: logging.LogRecord) -> str:
        second = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        stamp = f"{second}.{int(record.msecs):03d}Z"
        facts: dict[str, object] = getattr(record, "facts", {})
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
    """Send the log to `stream`; other libraries' warnings go there too."""
    handler = logging.StreamHandler(stream)
    handler.setFormatter(_JsonFormatter())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    _log.setLevel(logging.INFO)


def step(name: str, event: Event, /, **facts: object) -> None:
    """Log a step of an event."""
    _log.info(name, extra={"facts": {"event": event.id, "session": event.session, **facts}})


def trouble(name: str, event: Event, /, **facts: object) -> None:
    """Log that something went wrong with an event, and what is done about it."""
    _log.warning(name, extra={"facts": {"event": event.id, "session": event.session, **facts}})


def failure(name: str, /, **facts: object) -> None:
    """Log the unexpected exception that is being handled right now, with its traceback."""
    _log.error(name, exc_info=True, extra={"facts": facts})


def note(name: str, /, **facts: object) -> None:
    """Log something about the process itself."""
    _log.info(name, extra={"facts": facts})
