"""Lambda's runtime API, as https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html has it: a
function asks for the next event and posts its answer. One that takes too long is killed, and the
next event starts it anew.
"""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.machine import within

_WARDEN = Path(__file__).with_name("warden.py")
_VERSION = "/2018-06-01/runtime"
_ARN = "arn:aws:lambda:us-east-1:012345678912:function:test_function"
_LOOK_SECONDS = 0.2


@dataclass
class _Call:
    """An event on its way through the function."""

    body: bytes
    deadline: float
    id: str = field(default_factory=lambda: str(uuid.uuid4()))
    taken: bool = False
    is_over: bool = False
    answer: tuple[int, bytes] | None = None


class RuntimeApi:
    """The runtime API of one function, whose `command` it starts at the first call, in `folder`;
    what that writes goes into `log`. A call may take `timeout` seconds.
    """

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        folder: Path,
        log: Path,
        timeout: float,
    ) -> None:
        self._command, self._environment = list(command), dict(environment)
        self._folder, self._log, self._timeout = folder, log, timeout
        self._changed = threading.Condition()
        self._call: _Call | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._starts = 0
        self._closed = False

    def start(self) -> None:
        """Listen; the function is not started yet."""
        self._log.touch()
        api = self

        class Handler(_Handler):
            owner = api

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": _LOOK_SECONDS}, daemon=True
        )
        self._thread.start()

    def post(self, body: bytes) -> tuple[int, bytes]:
        """Return the status and the body of the answer to an event."""
        if self._process is None or self._process.poll() is not None:
            self._start_function()
        end = time.monotonic() + self._timeout
        call = _Call(body, time.time() + self._timeout)
        with self._changed:
            self._call = call
            self._changed.notify_all()
            while call.answer is None:
                ended = self._process is None or self._process.poll() is not None
                if ended or call.is_over or time.monotonic() > end:
                    break
                self._changed.wait(min(_LOOK_SECONDS, max(end - time.monotonic(), 0.0)))
            self._call = None
            if call.answer is not None:
                return call.answer
        self._kill()
        if ended:
            return 200, json.dumps({"errorType": "Runtime.ExitError"}).encode()
        return 200, f"Task timed out after {self._timeout:.2f} seconds".encode()

    def expire(self) -> None:
        """Let the time of the call that is under way be over now."""
        with self._changed:
            if self._call is not None:
                self._call.is_over = True
                self._changed.notify_all()

    def process(self) -> int:
        """The process id of the function; 0 before the first call and after a kill."""
        return next(iter(children(self._process.pid)), 0) if self._process else 0

    def stop(self) -> None:
        """End the function with everything that it started."""
        with self._changed:
            self._closed = True
            self._changed.notify_all()
        self._kill()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def take(self) -> _Call | None:
        """Wait for the next event; None when there will be none."""
        with self._changed:
            asked_by = self._starts  # a process that was killed meanwhile gets nothing
            self._changed.wait_for(
                lambda: (
                    self._closed
                    or self._starts != asked_by
                    or (self._call is not None and not self._call.taken)
                )
            )
            if self._closed or self._starts != asked_by or self._call is None:
                return None
            self._call.taken = True
            return self._call

    def end(self, identity: str, body: bytes) -> None:
        """Answer the event that is under way; "" for whichever waits, as the function did not
        start.
        """
        with self._changed:
            if self._call is not None and identity in ("", self._call.id):
                self._call.answer = (200, body)
                self._changed.notify_all()

    def _start_function(self) -> None:
        address = f"127.0.0.1:{self._server.server_address[1]}"
        with self._changed:
            self._starts += 1
            self._changed.notify_all()
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(_WARDEN), *self._command],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={**self._environment, "AWS_LAMBDA_RUNTIME_API": address},
                cwd=self._folder,
            )

    def _kill(self) -> None:
        """Kill the function and all that it started."""
        if self._process is not None:
            assert self._process.stdin is not None
            self._process.stdin.close()
            self._process.wait(within(60.0))
            self._process = None


class _Handler(BaseHTTPRequestHandler):
    """A request of the function to its `owner`."""

    owner: RuntimeApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        call = self.owner.take() if self.path == f"{_VERSION}/invocation/next" else None
        if call is None:
            self._answer(404, b"")
            return
        headers = {
            "Content-Type": "application/json",
            "Lambda-Runtime-Aws-Request-Id": call.id,
            "Lambda-Runtime-Deadline-Ms": str(round(call.deadline * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": _ARN,
        }
        self._answer(200, call.body, headers)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = self._read_chunks()
        words = self.path.removeprefix(f"{_VERSION}/").split("/")
        if words == ["init", "error"]:
            self.owner.end("", body)
        elif len(words) == 3 and words[0] == "invocation" and words[2] in ("response", "error"):
            self.owner.end(words[1], body)
        else:
            self._answer(404, b"")
            return
        self._answer(202, b'{"status": "OK"}')

    def _read_chunks(self) -> bytes:
        whole = b""
        while size := int(self.rfile.readline(), 16):
            whole += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return whole

    def _answer(self, status: int, body: bytes, headers: Mapping[str, str] | None = None) -> None:
        self.send_response_only(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def children(pid: int) -> list[int]:
    """The processes that a process has started, whichever of its threads did."""
    return [
        int(child)
        for told in Path(f"/proc/{pid}/task").glob("*/children")
        for child in told.read_text().split()
    ]
