"""The numbers of a turn in the log's line of its end, from which CloudWatch makes metrics.

https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from functions import log
from functions.metrics.turn_numbers import TurnNumbers

NAMESPACE: Final = "Uncaged"
END_STEPS: Final = frozenset(("done", "waits", "given up"))
"""The lines with which a worker leaves an event."""
PENDING_MOST: Final = 100
_UNITS: Final = {
    "seconds": "Seconds",
    **dict.fromkeys(("requests", "tool_calls", "failed_calls", "tool_faults"), "Count"),
    **dict.fromkeys(("evicted_tools", "evicted_messages", "resident_tools"), "Count"),
    **dict.fromkeys(("resident_tokens", "window_tokens"), "Count"),
}
_BY_MODEL: Final = dict.fromkeys(("prompt_tokens", "completion_tokens", "cached_tokens"), "Count")


class LoggedNumbers(logging.Filter):
    """Puts the numbers of runs into the lines that end them; a run without such a line, as of a
    memory's requests, gets one of its own, `counted`.

    What a thread has closed, it also logs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._threads = threading.local()
        logging.getLogger(log.NAME).addFilter(self)

    def add(self, run: str, numbers: TurnNumbers) -> None:
        """Take the numbers of the run with this id, which this thread has just closed."""
        pending = self._pending
        pending[run] = numbers
        while len(pending) > PENDING_MOST:  # nobody logs here
            del pending[next(iter(pending))]

    def filter(self, record: logging.LogRecord) -> bool:
        """Add what a line has to tell; every line is logged."""
        step = record.msg
        if step == "closed":
            facts: dict[str, object] = getattr(record, "facts", {})
            numbers = self._pending.pop(str(facts.get("run")), None)
            if numbers:
                record.facts = {**facts, **make_fields(numbers, record.created)}
        elif step in END_STEPS:
            while self._pending:
                run = next(iter(self._pending))
                numbers = self._pending.pop(run)
                log.note("counted", run=run, **make_fields(numbers, record.created))
        return True

    def close(self) -> None:
        """Leave the log as it was."""
        logging.getLogger(log.NAME).removeFilter(self)

    @property
    def _pending(self) -> dict[str, TurnNumbers]:
        found: dict[str, TurnNumbers] | None = getattr(self._threads, "pending", None)
        if found is None:
            found = self._threads.pending = {}
        return found


def make_fields(numbers: TurnNumbers, at: float) -> dict[str, object]:
    """Return the numbers as fields of a line of the log, with what CloudWatch makes of them; `at`
    is in seconds since 1970.
    """
    fields: dict[str, object] = {"turns": 1, **asdict(numbers)}
    for name in ("agent", "platform", "outcome", "model"):
        # CloudWatch takes dimensions in ASCII alone
        fields[name] = str(fields[name]).encode("ascii", "backslashreplace").decode()
    directives = [
        _make_directive((("agent",), ("agent", "platform")), _UNITS),
        _make_directive((("agent", "outcome"),), {"turns": "Count"}),
        _make_directive((("agent", "model"),), {**_BY_MODEL, "cost": "None"}),
    ]
    fields["_aws"] = {"Timestamp": round(at * 1000), "CloudWatchMetrics": directives}
    return fields


def _make_directive(
    dimensions: Sequence[Sequence[str]], units: dict[str, str]
) -> dict[str, object]:
    metrics = [{"Name": name, "Unit": unit} for name, unit in units.items()]
    return {"Namespace": NAMESPACE, "Dimensions": dimensions, "Metrics": metrics}
