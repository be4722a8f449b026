"""A receiver of traces by OTLP over HTTP, which decodes what comes and refuses what real ones
refuse.
"""

from __future__ import annotations

import gzip
from typing import Any, Final

from google.protobuf.message import DecodeError
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span

from tests.fakes.server import Answer, Recorded, RecordingServer

PATH: Final = "/v1/traces"
KIND: Final = "application/x-protobuf"


class TraceReceiver(RecordingServer):
    """Keeps the spans of good requests; the answers in `next` come first, one for each request."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: list[Span] = []
        self.resources: list[dict[str, Any]] = []
        self.next: list[Answer] = []

    def answer(self, request: Recorded) -> Answer:
        if self.next:
            return self.next.pop(0)
        if request.path != PATH:
            return Answer(404)
        if request.method != "POST":
            return Answer(405)
        if request.headers.get("content-type") != KIND:
            return Answer(415)
        try:
            sent = ExportTraceServiceRequest.FromString(_unpack(request))
        except (DecodeError, OSError):
            return Answer(400)
        spans = [
            span
            for resource in sent.resource_spans
            for scope in resource.scope_spans
            for span in scope.spans
        ]
        if any(len(span.trace_id) != 16 or len(span.span_id) != 8 for span in spans):
            return Answer(400)
        with self.changed:
            self.spans += spans
            self.resources += [read_attributes(each.resource) for each in sent.resource_spans]
            self.changed.notify_all()
        return Answer(200, ExportTraceServiceResponse().SerializeToString(), {"content-type": KIND})

    def wait_for_spans(self, count: int, timeout: float = 10) -> list[Span]:
        """The spans, as soon as there are `count` of them."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.spans) >= count, timeout), (
                f"{len(self.spans)} spans, not {count}"
            )
            return list(self.spans)


def read_attributes(of: Any) -> dict[str, Any]:
    """The attributes of a span or a resource."""
    return {each.key: _read_value(each.value) for each in of.attributes}


def _read_value(value: AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_read_value(each) for each in value.array_value.values]
    return getattr(value, kind) if kind else None


def _unpack(request: Recorded) -> bytes:
    packed = request.headers.get("content-encoding") == "gzip"
    return gzip.decompress(request.body) if packed else request.body
