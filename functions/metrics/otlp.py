"""Sends the spans of runs to a receiver by OTLP over HTTP, in a thread of its own.

What waits is bounded. A receiver that is away or slow delays no turn: what does not fit any more is
dropped and counted. It needs the extra `uncaged[otel]`.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Final

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags
from opentelemetry.util.re import parse_env_headers

from functions.agent.management.runs import add_texts
from functions.agent.runs.run import Run, Step
from functions.agent.session.store import Sessions
from functions.metrics import convention as names
from functions.metrics import instruments as known
from functions.metrics.meter import Meter
from functions.metrics.spans import SpanRow, make_spans
from functions.settings import Settings
from sigil.errors import BackendError
from sigil.settings import installed_version
from sigil.storage.setting_secrets import reveal
from sigil.wiring import Stores

WAITING_MOST: Final = 1_000
"""Runs that wait to be sent."""
TOGETHER: Final = 50
"""Runs that are sent with one request."""
SECONDS: Final = 10.0
"""A request may take so long, its tries together."""
CLOSE_SECONDS: Final = 3.0
"""A process that ends waits so long for what waits."""
_TEXTS: Final = ("arguments", "result", "detail")
_SAMPLED: Final = TraceFlags(TraceFlags.SAMPLED)
Prepare = Callable[[Run], list[SpanRow]]


class TraceExporter:
    """Takes runs from any thread, and sends their spans.

    `prepare` makes the spans of a run. `meter` counts the runs that were dropped, because too many
    waited (`full`, more than `waiting_most`) or the receiver did not take them (`refused`).
    """

    def __init__(
        self,
        sender: OTLPSpanExporter,
        resource: Resource,
        prepare: Prepare,
        meter: Meter,
        waiting_most: int,
    ) -> None:
        self._sender = sender
        self._resource = resource
        self._prepare = prepare
        self._meter = meter
        self._waiting: queue.Queue[Run | None] = queue.Queue(waiting_most)
        self._thread = threading.Thread(target=self._run, name="traces", daemon=True)
        self._starting = threading.Lock()

    def put(self, run: Run) -> None:
        """Take a run, or drop it where too many wait."""
        try:
            self._waiting.put_nowait(run)
        except queue.Full:
            self._meter.add(known.TRACES_LOST, ("full",))
            return
        with self._starting:
            if self._thread.ident is None:
                self._thread.start()

    def close(self, seconds: float = CLOSE_SECONDS) -> None:
        """Send what waits, for so many seconds at most."""
        end = time.monotonic() + seconds
        if self._thread.ident is not None:
            with suppress(queue.Full):
                self._waiting.put(None, timeout=seconds)
            self._thread.join(max(end - time.monotonic(), 0.0))
        self._sender.shutdown()  # type: ignore[no-untyped-call]  # it ends the pauses between tries

    def _run(self) -> None:
        is_over = False
        while not is_over:
            runs = [self._waiting.get()]
            with suppress(queue.Empty):
                while len(runs) < TOGETHER:
                    runs.append(self._waiting.get_nowait())
            is_over = None in runs
            self._send([run for run in runs if run])

    def _send(self, runs: Sequence[Run]) -> None:
        """Send these runs; whatever goes wrong costs them alone."""
        if not runs:
            return
        try:
            rows = [row for run in runs for row in self._prepare(run)]
            spans = [_make_span(row, self._resource) for row in rows]
            is_sent = self._sender.export(spans) is SpanExportResult.SUCCESS
        except Exception:  # noqa: BLE001  entry point: one run's failure must not end the sending
            is_sent = False
        if not is_sent:
            self._meter.add(known.TRACES_LOST, ("refused",), len(runs))


def _make_span(row: SpanRow, resource: Resource) -> ReadableSpan:
    linked = [Link(_make_context(row.trace, row.linked))] if row.linked else []
    return ReadableSpan(
        row.name,
        context=_make_context(row.trace, row.id),
        parent=_make_context(row.trace, row.parent) if row.parent else None,
        resource=resource,
        attributes={
            **row.attributes,
            **({names.ERROR_TYPE: row.error} if row.error else {}),
        },
        links=linked,
        kind=SpanKind.CLIENT if row.is_client else SpanKind.INTERNAL,
        status=Status(StatusCode.ERROR if row.error else StatusCode.UNSET),
        start_time=row.begin,
        end_time=row.end,
        instrumentation_scope=InstrumentationScope("uncaged", installed_version()),
    )


def _make_context(trace: int, span: int) -> SpanContext:
    return SpanContext(trace, span, is_remote=False, trace_flags=_SAMPLED)


def open_exporter(
    settings: Settings, stores: Stores, redact: Callable[[str], str], meter: Meter
) -> TraceExporter:
    """Return what sends traces to `UNCAGED_OTEL_URL`; nothing is sent before the first run.

    With `UNCAGED_OTEL_TEXTS` the texts of calls are read from their chats just before that, and
    leave without the secrets that `redact` takes out.
    """
    # its own lines would name the receiver again and again, and what is lost is counted
    logging.getLogger("opentelemetry").setLevel(logging.CRITICAL)
    sender = OTLPSpanExporter(
        endpoint=f"{settings.otel_url.rstrip('/')}/v1/traces",
        headers=parse_env_headers(reveal(settings.otel_headers), liberal=True),
        timeout=SECONDS,
    )
    resource = Resource({names.SERVICE_NAME: "uncaged", names.SERVICE_VERSION: installed_version()})
    if not settings.otel_texts:
        return TraceExporter(sender, resource, make_spans, meter, WAITING_MOST)
    sessions = Sessions(stores.kv, stores.artifacts)

    def redact_step(step: Step) -> Step:
        texts = {name: redact(str(step[name])) for name in _TEXTS if step.get(name)}
        return {**step, **texts}

    def make_spans_with_texts(run: Run) -> list[SpanRow]:
        with suppress(BackendError):  # the trace goes without them
            run = replace(run, steps=add_texts(sessions, run))
        run = replace(run, steps=tuple(map(redact_step, run.steps)))
        return make_spans(run, with_texts=True)

    return TraceExporter(sender, resource, make_spans_with_texts, meter, WAITING_MOST)
