"""A program of this machine that speaks MCP on its standard input and output: ended when it is
idle, or misbehaves.
"""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path

from sigil.errors import BackendError, ToolError, one_line
from sigil.mcp import jsonrpc
from sigil.mcp.jsonrpc import METHOD, Message, RpcError, RpcReply, RpcRequest
from sigil.protocol import Json
from sigil.run.mcp_client.answers import REMOTE
from sigil.strict_json import dumps

SUPERVISOR = Path(__file__).with_name("supervisor.py")
LINE_BYTES, PIECE = 4 << 20, 64 << 10
COMPLAINT_BYTES = 2_000
IDLE_SECONDS, LOOK_SECONDS = 300.0, 5.0
END_SECONDS = 2.0


class ServerProcess:
    """One running program. `environment`: all that it has of one. `idle`: seconds after which
    nobody needs it. Thread-safe.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], idle: float = IDLE_SECONDS
    ) -> None:
        self.idle = idle
        self._numbers = count(1)
        self._lock = threading.Condition()
        self._writing = threading.Lock()
        self._answers: dict[int, RpcReply | None] = {}
        self._used = time.monotonic()
        self._complaint = b""
        self._over = False
        self._process, self._life = _started(command, environment)
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        self._inlet, self._outlet, self._complaints = (pipe for pipe in pipes if pipe)
        threading.Thread(target=self._pump, name="mcp-child", daemon=True).start()

    @property
    def alive(self) -> bool:
        """Whether it may be asked."""
        return not self._over

    def ask(self, method: str, params: Mapping[str, Json], seconds: float) -> RpcReply:
        """The answer to a request; `ToolError` ETIMEDOUT when there is none in time, EREMOTE when
        the program ended.
        """
        end = time.monotonic() + seconds
        with self._lock:
            id = next(self._numbers)
            self._answers[id] = None
            self._used = time.monotonic()
        try:
            self._write(jsonrpc.make_request(id, method, params), end)
            return self._answer(id, end)
        finally:
            with self._lock:
                del self._answers[id]
                self._used = time.monotonic()

    def tell(self, method: str, seconds: float, params: Mapping[str, Json] | None = None) -> None:
        """Send what wants no answer."""
        self._write(jsonrpc.make_notification(method, params), time.monotonic() + seconds)

    def close(self) -> None:
        """End the program and all that it started."""
        with self._lock:
            if self._over:
                return
            self._over = True
            self._lock.notify_all()
        os.close(self._life)  # the supervisor ends it
        with (
            self._writing,
            suppress(OSError),
        ):  # nobody may be about to write to a number that another file has by then
            self._inlet.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _answer(self, id: int, end: float) -> RpcReply:
        with self._lock:
            while self._answers[id] is None and not self._over:
                if not self._lock.wait(max(end - time.monotonic(), 0)):
                    break
            reply, over = self._answers[id], self._over
        if reply:
            return reply
        if over:
            raise ToolError(REMOTE, f"the program ended{self._said()}")
        with suppress(ToolError):
            self.tell("notifications/cancelled", LOOK_SECONDS / 10, {"requestId": id})
        raise ToolError("ETIMEDOUT", "the program did not answer in time")

    def _said(self) -> str:
        lines = self._complaint.decode("utf-8", "replace").strip().splitlines()
        if lines:
            return f": {one_line(lines[-1], 160)}"
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(END_SECONDS)
            return f" with exit code {code}, and said nothing" if code > 0 else ""
        return ""

    def _write(self, message: dict[str, Json], end: float) -> None:
        """Send a message; a program that does not read is ended, since half of it may have been
        sent.
        """
        if not self._writing.acquire(timeout=max(end - time.monotonic(), 0)):
            raise ToolError(
                "ETIMEDOUT", "the program did not read in time"
            )  # what another call says is not all sent yet
        try:
            read = self._sent(memoryview(dumps(message) + b"\n"), end)
        finally:
            self._writing.release()
        if not read:
            self.close()
            raise ToolError("ETIMEDOUT", "the program did not read in time")

    def _sent(self, data: memoryview, end: float) -> bool:
        """Whether the program read all of it in time, or is gone."""
        try:
            number = self._inlet.fileno()
            while data:
                _, ready, _ = select.select([], [number], [], max(end - time.monotonic(), 0))
                if not ready:
                    return False
                data = data[os.write(number, data[:PIECE]) :]
        except (OSError, ValueError):
            pass  # whoever waits for its answer is told that it ended
        return True

    def _pump(self) -> None:
        """Read what it says until it ends, it says too much, or nobody has needed it for long."""
        out, complaints = self._outlet, self._complaints
        kept, open_pipes = b"", [out, complaints]
        while (
            out in open_pipes
            and len(kept) <= LINE_BYTES
            and not self._over
            and not self._forgotten()
        ):
            ready, _, _ = select.select(open_pipes, [], [], LOOK_SECONDS)
            for pipe in ready:
                piece = os.read(pipe.fileno(), PIECE)
                if not piece:
                    open_pipes.remove(pipe)
                elif pipe is out:
                    *lines, kept = (
                        (kept + piece).split(b"\n") if b"\n" in piece else (kept + piece,)
                    )
                    for line in lines:
                        self._take(line)
                else:
                    self._complaint = (self._complaint + piece)[-COMPLAINT_BYTES:]
        if len(kept) > LINE_BYTES:
            self._complaint = b"it wrote a line without an end"
        elif complaints in open_pipes and select.select([complaints], [], [], 0.1)[0]:
            self._complaint = (self._complaint + os.read(complaints.fileno(), PIECE))[
                -COMPLAINT_BYTES:
            ]
        self.close()
        out.close()
        complaints.close()

    def _forgotten(self) -> bool:
        with self._lock:
            return not self._answers and time.monotonic() - self._used > self.idle

    def _take(self, line: bytes) -> None:
        try:
            message: Message = jsonrpc.parse_message(jsonrpc.parse_body(line))
        except RpcError:
            return  # programs that print on their standard output are common
        if isinstance(message, RpcReply) and isinstance(message.id, int):
            with self._lock:
                if message.id in self._answers:
                    self._answers[message.id] = message
                    self._lock.notify_all()
        elif isinstance(message, RpcRequest):
            self._refuse(message)

    def _refuse(self, request: RpcRequest) -> None:
        """What it asks of us, but whether we are there, we never said that we can."""
        pong = jsonrpc.make_result(request.id, {})
        refusal = jsonrpc.make_failure(request.id, RpcError(METHOD, "this client has none of that"))
        with suppress(ToolError):
            self._write(
                pong if request.method == "ping" else refusal, time.monotonic() + LOOK_SECONDS / 10
            )


def _started(
    command: Sequence[str], environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int]:
    """The program under its supervisor, and the pipe whose end tells the supervisor that nobody
    wants it any more.
    """
    theirs, ours = os.pipe()
    try:
        process = subprocess.Popen(
            [sys.executable, "-I", "-S", str(SUPERVISOR), str(theirs), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=dict(environment),
            cwd=environment.get("HOME") or "/",
            pass_fds=(theirs,),
            start_new_session=True,
        )
    except OSError as problem:
        os.close(ours)
        raise BackendError(
            "EUNAVAILABLE", f"the program cannot be started: {problem.strerror}", source="mcp"
        ) from None
    finally:
        os.close(theirs)
    return process, ours
