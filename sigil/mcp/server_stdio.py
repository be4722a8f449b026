"""MCP over a pipe: a message a line in, a message a line out, until the other side closes; requests
are answered side by side.
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
from sigil.mcp.methods import Methods, mistake
from sigil.mcp.revisions import SUBSCRIPTION, is_stateless
from sigil.protocol import Json
from sigil.strict_json import dumps

LINE_BYTES = 4 << 20
AT_ONCE, WAITING = 8, 64
"""Requests that run side by side, and that are read at all before one of them is answered."""
LISTENERS, BATCH = 16, 50
CHANGED = "notifications/tools/list_changed"


class StdioServer:
    """One connection. `changed` may be called from any thread."""

    def __init__(self, inlet: BinaryIO, outlet: BinaryIO) -> None:
        self._inlet = inlet
        self._outlet = outlet
        self._writing = threading.Lock()
        self._state = threading.Lock()
        self._room = threading.Semaphore(WAITING)
        self._running: dict[Id, bool] = {}
        self._listening: dict[Id, None] = {}
        self._shaken = False
        self._closed = False

    def serve(self, methods: Methods) -> None:
        """Answer until the other side closes its end; what it had asked by then is answered
        first.
        """
        threads, ended = ThreadPoolExecutor(AT_ONCE, thread_name_prefix="mcp"), False
        try:
            for line in self._lines():
                for value in self._values(line):
                    self._take(value, methods, threads)
            ended = True
        finally:
            threads.shutdown(
                wait=ended, cancel_futures=not ended
            )  # after Ctrl-C what still runs ends with the sandbox

    def changed(self) -> None:
        """Tell the other side that the tools are others now."""
        with self._state:
            shaken, listening = self._shaken, tuple(self._listening)
        if shaken:
            self._write(jsonrpc.make_notification(CHANGED))
        for id in listening:
            self._write(jsonrpc.make_notification(CHANGED, {"_meta": {SUBSCRIPTION: id}}))

    def _lines(self) -> Iterator[bytes]:
        while not self._closed and (line := self._inlet.readline(LINE_BYTES + 1)):
            if len(line) > LINE_BYTES:
                while line and not line.endswith(b"\n"):
                    line = self._inlet.readline(LINE_BYTES)
                self._fail(None, RpcError(PARSE, f"a message has at most {LINE_BYTES >> 20} MiB"))
            elif line.strip():
                yield line

    def _values(self, line: bytes) -> list[Json]:
        try:
            value = jsonrpc.parse_body(line)
            if isinstance(value, list) and not 0 < len(value) <= BATCH:
                raise RpcError(REQUEST, f"a list has 1 to {BATCH} messages")
        except RpcError as problem:
            self._fail(None, problem)
            return []
        return value if isinstance(value, list) else [value]

    def _take(self, value: Json, methods: Methods, threads: ThreadPoolExecutor) -> None:
        try:
            message: Message = jsonrpc.parse_message(value)
            if isinstance(message, RpcNotification):
                self._note(message)
            elif isinstance(message, RpcRequest):
                self._asked(message, methods, threads)
        except RpcError as problem:
            self._fail(jsonrpc.id_of(value), problem)

    def _note(self, note: RpcNotification) -> None:
        named = note.params.get("requestId")
        with self._state:
            if note.method == "notifications/initialized":
                self._shaken = True
            elif note.method == "notifications/cancelled" and isinstance(named, str | int):
                self._listening.pop(named, None)
                if named in self._running:
                    self._running[named] = False

    def _asked(self, request: RpcRequest, methods: Methods, threads: ThreadPoolExecutor) -> None:
        with self._state:
            if request.id in self._running or request.id in self._listening:
                raise RpcError(REQUEST, "a request with this id is under way")
        if request.method == "subscriptions/listen" and is_stateless(request.params):
            self._listen(request)
            return
        with self._state:
            self._running[request.id] = True
        self._room.acquire()
        if request.method in (
            "initialize",
            "ping",
            "server/discover",
        ):  # before whatever was sent right behind it
            self._answer(request, methods)
        else:
            threads.submit(self._answer, request, methods)

    def _listen(self, request: RpcRequest) -> None:
        wanted = request.params.get("notifications")
        if not isinstance(wanted, dict):
            raise RpcError(PARAMS, "notifications says what to listen for")
        heard = {"toolsListChanged": True} if wanted.get("toolsListChanged") is True else {}
        with self._state:
            if len(self._listening) >= LISTENERS:
                raise RpcError(REQUEST, f"at most {LISTENERS} listen at a time")
            said = {"notifications": heard, "_meta": {SUBSCRIPTION: request.id}}
            self._write(
                jsonrpc.make_notification("notifications/subscriptions/acknowledged", said)
            )  # before the first change is told
            self._listening.update({request.id: None} if heard else {})

    def _answer(self, request: RpcRequest, methods: Methods) -> None:
        try:
            said = jsonrpc.result(request.id, methods.answer(request))
        except RpcError as problem:
            said = jsonrpc.make_failure(request.id, problem)
        except Exception:  # noqa: BLE001  a door: whatever a request does, it is answered and the connection goes on
            said = jsonrpc.make_failure(request.id, mistake())
        with self._state:
            wanted = self._running.pop(request.id, False)
        self._room.release()
        if wanted:
            self._write(said)

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
