"""Where alerts go: an address that takes them, and a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from functions.alerts import Alert
from tests.fakes.server import Answer, Recorded, RecordingServer


class AlertRecorder:
    """Keeps the alerts that it is told."""

    def __init__(self) -> None:
        self.told: list[Alert] = []

    def notify(self, alert: Alert) -> None:
        self.told.append(alert)


class Pager(RecordingServer):
    """An address that takes alerts, or does not."""

    status = 200

    def answer(self, request: Recorded) -> Answer:
        return Answer(self.status, b"")

    @property
    def alerts(self) -> list[dict[str, Any]]:
        return [request.json() for request in self.requests]


@pytest.fixture
def pager() -> Iterator[Pager]:
    with Pager() as server:
        yield server
