"""A process that runs an MCP server and speaks with it over standard input and output.

It is ended when it is idle or misbehaves.
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
from sigil.mcp.jsonrpc import METHOD, Message, RpcError, RpcNotification, RpcReply, RpcRequest
from sigil.protocol import Json
from sigil.run.mcp_client.answers import ANSWER_BYTES, REMOTE, require_few_values
from sigil.run.mcp_client.progress import ProgressWatch, ask_for_progress, is_about
from sigil.running_call import current_call, interrupted_error
from sigil.strict_json import dumps

SUPERVISOR = Path(__file__).with_name("supervisor.py")
PIECE_BYTES = 64 << 10
COMPLAINT_BYTES = 2_000
IDLE_SECONDS, LOOK_SECONDS = 300.0, 5.0
END_SECONDS = 2.0
EXIT_SECONDS = 0.5
"""So long a program may take from the end of its output to its own."""


class ServerProcess:
    """One running program, with no other environment than `environment`.

    It is ended after it was not asked anything for `idle` seconds. It is thread-safe.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], idle: float = IDLE_SECONDS
    ) -> None:
        self.idle = idle
        self._numbers = count(1)
        self._lock = threading.Condition()
        self._writing = threading.Lock()
        self._answers: dict[int, RpcReply | None] = {}
        self._watches: dict[int, ProgressWatch] = {}
        self._used = time.monotonic()
        self._complaint = b""
        self._over = False
        self._process, self._life = _start_process(command, environment)
        pipes = self._process.stdin, self._process.stdout, self._process.stderr
        self._inlet, self._outlet, self._complaints = (pipe for pipe in pipes if pipe)
        threading.Thread(target=self._read_output, name="mcp-child", daemon=True).start()

    @property
    def alive(self) -> bool:
        """Return whether it can be asked: it has not ended, seen from its output or its exit."""
        return not self._over and self._process.poll() is None

    def ask(
        self,
        method: str,
        params: Mapping[str, Json],
        seconds: float,
        watch: ProgressWatch | None = None,
    ) -> RpcReply:
        """Return the answer to a request; with a `watch` the program is asked how far it has come,
        which may give it more time.

        Raises `ToolError` ETIMEDOUT when there is none in time, EREMOTE when the program ended, and
        EINTERRUPTED when the call is cancelled, which the program is told.
        """
        end = time.monotonic() + seconds
        call = current_call()
        with self._lock:
            id = next(self._numbers)
            self._answers[id] = None
            self._used = time.monotonic()
            if watch:
                self._watches[id] = watch
                params = ask_for_progress(params, id)
        try:
            with call.cancelling(self._wake):
                self._write(jsonrpc.make_request(id, method, params), end)
                with self._lock:
                    while self._answers[id] is None and not self._over and not call.is_cancelled:
                        # progress may move the end meanwhile
                        left = (watch.end if watch else end) - time.monotonic()
                        if left <= 0:
                            break
                        self._lock.wait(left)
                    reply = self._answers[id]
                    over = self._over
        finally:
            with self._lock:
                del self._answers[id]
                self._watches.pop(id, None)
                self._used = time.monotonic()
        if reply:
            return reply
        if over:
            raise ToolError(REMOTE, f"the program ended{self._describe_end()}")
        with suppress(ToolError):
            self.notify("notifications/cancelled", LOOK_SECONDS / 10, {"requestId": id})
        if call.is_cancelled:
            raise interrupted_error()
        raise ToolError("ETIMEDOUT", "the program did not answer in time")

    def notify(self, method: str, seconds: float, params: Mapping[str, Json] | None = None) -> None:
        """Send a message that has no answer."""
        self._write(jsonrpc.make_notification(method, params), time.monotonic() + seconds)

    def _wake(self) -> None:
        """Have the calls that wait look whether they are cancelled."""
        with self._lock:
            self._lock.notify_all()

    def close(self) -> None:
        """End the program and all that it started."""
        with self._lock:
            if self._over:
                return
            self._over = True
            self._lock.notify_all()
        os.close(self._life)  # then the supervisor ends the program
        # The lock: no thread may be about to write to a number that another file has by then.
        with self._writing, suppress(OSError):
            self._inlet.close()
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def _describe_end(self) -> str:
        """Return the last line that the program wrote to standard error, or its exit code."""
        lines = self._complaint.decode("utf-8", "replace").strip().splitlines()
        if lines:
            return f": {one_line(lines[-1], 160)}"
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(END_SECONDS)
            if code > 0:
                return f" with exit code {code} and without a message"
        return ""

    def _write(self, message: dict[str, Json], end: float) -> None:
        """Send a message.

        A program that does not read it is ended, since half of it may have been sent.
        """
        if not self._writing.acquire(timeout=max(end - time.monotonic(), 0)):
            # The message of another call is not all sent yet.
            raise ToolError("ETIMEDOUT", "the program did not read in time")
        is_read = True
        data = memoryview(dumps(message) + b"\n")
        try:
            # A program that is gone counts as one that read: the wait for its answer says so.
            with suppress(OSError, ValueError):
                number = self._inlet.fileno()
                while data and is_read:
                    _, ready, _ = select.select([], [number], [], max(end - time.monotonic(), 0))
                    if ready:
                        data = data[os.write(number, data[:PIECE_BYTES]) :]
                    else:
                        is_read = False
        finally:
            self._writing.release()
        if not is_read:
            self._complaint = b"it did not read what it was sent"
            self.close()
            raise ToolError("ETIMEDOUT", "the program did not read in time")

    def _read_output(self) -> None:
        """Read what the program writes, until it ends, writes too much, or is idle."""
        out = self._outlet
        complaints = self._complaints
        open_pipes = [out, complaints]
        rest = bytearray()
        while out in open_pipes and len(rest) <= ANSWER_BYTES:
            with self._lock:
                is_idle = not self._answers and time.monotonic() - self._used > self.idle
                if self._over or is_idle:
                    break
            ready, _, _ = select.select(open_pipes, [], [], LOOK_SECONDS)
            for pipe in ready:
                piece = os.read(pipe.fileno(), PIECE_BYTES)
                if not piece:
                    open_pipes.remove(pipe)
                elif pipe is complaints:
                    self._complaint = (self._complaint + piece)[-COMPLAINT_BYTES:]
                elif b"\n" in piece:
                    *lines, begin = piece.split(b"\n")
                    rest += lines[0]
                    self._handle_line(bytes(rest))
                    for line in lines[1:]:
                        self._handle_line(line)
                    rest = bytearray(begin)
                else:
                    rest += piece
        if len(rest) > ANSWER_BYTES:
            self._complaint = b"it wrote a line without an end"
        elif complaints in open_pipes and select.select([complaints], [], [], 0.1)[0]:
            piece = os.read(complaints.fileno(), PIECE_BYTES)
            self._complaint = (self._complaint + piece)[-COMPLAINT_BYTES:]
        if out not in open_pipes:
            # A program's pipes are at their end before it is; ended now, it has no exit code.
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(EXIT_SECONDS)
        self.close()
        out.close()
        complaints.close()

    def _handle_line(self, line: bytes) -> None:
        """Take an answer or progress, or refuse a request of the program's own but for a ping."""
        if not line.lstrip().startswith(b"{"):
            return  # programs that print on their standard output are common
        try:
            require_few_values(line)
            message: Message = jsonrpc.parse_message(jsonrpc.parse_body(line))
        except (RpcError, ToolError):
            return
        if isinstance(message, RpcReply) and isinstance(message.id, int):
            with self._lock:
                if message.id in self._answers:
                    self._answers[message.id] = message
                    self._lock.notify_all()
        elif isinstance(message, RpcNotification):
            for id, watch in tuple(self._watches.items()):
                if is_about(message, id):
                    watch.read(message.params)
        elif isinstance(message, RpcRequest):
            if message.method == "ping":
                reply = jsonrpc.make_result(message.id, {})
            else:
                problem = RpcError(METHOD, "this client has none of that")
                reply = jsonrpc.make_failure(message.id, problem)
            with suppress(ToolError):
                self._write(reply, time.monotonic() + LOOK_SECONDS / 10)


def _start_process(
    command: Sequence[str], environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int]:
    """Start the program under its supervisor.

    Returns the process and a pipe; closing it tells the supervisor to end the program.
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
