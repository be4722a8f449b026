"""Serve MCP over a pipe: a message a line in, a message a line out, until the other side closes.

Requests are answered side by side.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import BinaryIO

from sigil.mcp import jsonrpc
from sigil.mcp.jsonrpc import (
    PARAMS,
    PARSE,
    REQUEST,
    Id,
    Message,
    RpcError,
    RpcNotification,
    RpcRequest,
)
from sigil.mcp.methods import Methods, make_internal_error
from sigil.mcp.revisions import SUBSCRIPTION, is_stateless
from sigil.protocol import Json
from sigil.strict_json import dumps

LINE_BYTES = 4 << 20
THREADS = 8
"""Requests that run side by side."""
REQUESTS_MOST = 64
"""Requests that are read before one of them is answered."""
LISTENERS = 16
BATCH = 50
CHANGED = "notifications/tools/list_changed"


class StdioServer:
    """One connection. `announce_change` may be called from any thread."""

    def __init__(self, inlet: BinaryIO, outlet: BinaryIO) -> None:
        self._inlet = inlet
        self._outlet = outlet
        self._writing = threading.Lock()
        self._state = threading.Lock()
        self._free = threading.Semaphore(REQUESTS_MOST)
        self._running: dict[Id, bool] = {}
        self._listening: dict[Id, None] = {}
        self._initialized = False
        self._closed = False

    def serve(self, methods: Methods) -> None:
        """Answer until the other side closes its end; the requests that it had sent by then are
        answered first.
        """
        pool = ThreadPoolExecutor(THREADS, thread_name_prefix="mcp")
        ended = False
        try:
            for value in self._read_messages():
                try:
                    self._handle_message(jsonrpc.parse_message(value), methods, pool)
                except RpcError as problem:
                    self._fail(jsonrpc.id_of(value), problem)
            ended = True
        finally:
            # after Ctrl-C what still runs ends with the sandbox
            pool.shutdown(wait=ended, cancel_futures=not ended)

    def announce_change(self) -> None:
        """Tell the other side that the tools have changed."""
        with self._state:
            initialized = self._initialized
            listening = tuple(self._listening)
        if initialized:
            self._write(jsonrpc.make_notification(CHANGED))
        for id in listening:
            self._write(jsonrpc.make_notification(CHANGED, {"_meta": {SUBSCRIPTION: id}}))

    def _read_messages(self) -> Iterator[Json]:
        """Yield the values of all lines; a line may hold a list of them.

        A line that cannot be read is answered with the failure.
        """
        while not self._closed and (line := self._inlet.readline(LINE_BYTES + 1)):
            if len(line) > LINE_BYTES:
                while line and not line.endswith(b"\n"):
                    line = self._inlet.readline(LINE_BYTES)
                self._fail(None, RpcError(PARSE, f"a message has at most {LINE_BYTES >> 20} MiB"))
                continue
            if not line.strip():
                continue
            try:
                value = jsonrpc.parse_body(line)
                if isinstance(value, list) and not 0 < len(value) <= BATCH:
                    raise RpcError(REQUEST, f"a list has 1 to {BATCH} messages")
            except RpcError as problem:
                self._fail(None, problem)
                continue
            yield from value if isinstance(value, list) else [value]

    def _handle_message(self, message: Message, methods: Methods, pool: ThreadPoolExecutor) -> None:
        """Answer a request, or hand it to a thread that does; heed a notification.

        Raises `RpcError` for a request that is refused before it begins.
        """
        if isinstance(message, RpcNotification):
            id = message.params.get("requestId")
            with self._state:
                if message.method == "notifications/initialized":
                    self._initialized = True
                elif message.method == "notifications/cancelled" and isinstance(id, str | int):
                    self._listening.pop(id, None)
                    if id in self._running:
                        self._running[id] = False
        elif isinstance(message, RpcRequest):
            with self._state:
                if message.id in self._running or message.id in self._listening:
                    raise RpcError(REQUEST, "a request with this id is running already")
            if message.method == "subscriptions/listen" and is_stateless(message.params):
                self._add_listener(message)
                return
            with self._state:
                self._running[message.id] = True
            self._free.acquire()
            if message.method in ("initialize", "ping", "server/discover"):
                # answered here, before the request that was sent right behind it
                self._answer_request(message, methods)
            else:
                pool.submit(self._answer_request, message, methods)

    def _add_listener(self, request: RpcRequest) -> None:
        """Announce changes under the id of this request from now on, if it asks for them."""
        topics = request.params.get("notifications")
        if not isinstance(topics, dict):
            raise RpcError(PARAMS, "notifications is an object that names what to listen for")
        accepted = {"toolsListChanged": True} if topics.get("toolsListChanged") is True else {}
        with self._state:
            if len(self._listening) >= LISTENERS:
                raise RpcError(REQUEST, f"at most {LISTENERS} listen at a time")
            params = {"notifications": accepted, "_meta": {SUBSCRIPTION: request.id}}
            # acknowledged before the first change is announced
            self._write(
                jsonrpc.make_notification("notifications/subscriptions/acknowledged", params)
            )
            if accepted:
                self._listening[request.id] = None

    def _answer_request(self, request: RpcRequest, methods: Methods) -> None:
        try:
            answer = jsonrpc.make_result(request.id, methods.answer(request))
        except RpcError as problem:
            answer = jsonrpc.make_failure(request.id, problem)
        except Exception:  # noqa: BLE001  entry point: whatever a request does, it is answered and the connection goes on
            answer = jsonrpc.make_failure(request.id, make_internal_error())
        with self._state:
            is_wanted = self._running.pop(request.id, False)
        self._free.release()
        if is_wanted:
            self._write(answer)

    def _fail(self, id: Id | None, problem: RpcError) -> None:
        self._write(jsonrpc.make_failure(id, problem))

    def _write(self, message: dict[str, Json]) -> None:
        data = dumps(message) + b"\n"
        with self._writing:
            try:
                self._outlet.write(data)
                self._outlet.flush()
            except (OSError, ValueError):
                self._closed = True  # nobody reads any more; the end of the input follows
