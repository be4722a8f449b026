"""A receiver of traces, the log's lines, and the samples at /metrics."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from functions import log
from tests.fakes.otlp import TraceReceiver
from tests.functions.serving import Served


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """What was logged so far."""
    stream = io.StringIO()
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    log.start(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture
def receiver() -> Iterator[TraceReceiver]:
    with TraceReceiver() as server:
        yield server


def read_samples(text: str) -> dict[tuple[str, ...], float]:
    """The samples of a text, each by its name and the values of its labels."""
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def read_metrics(server: Served, token: str = "") -> dict[tuple[str, ...], float]:
    """The samples at /metrics, read with this token, or with the admin's."""
    given = {"authorization": f"Bearer {token}"} if token else server.client.headers
    answer = httpx.get(f"{server.url}/metrics", headers=given)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    return read_samples(answer.text)
