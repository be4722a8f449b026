"""An MCP server that is a program of this machine.

It is started when it is first asked, and again when it has ended.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from sigil.errors import Refused, ToolError
from sigil.mcp.revisions import (
    HANDSHAKE,
    NEWEST_HANDSHAKE,
    STATELESS,
    request_envelope,
    server_info,
)
from sigil.protocol import Json
from sigil.run.host_calls.placeholders import Values
from sigil.run.mcp_client.answers import REMOTE, refused_call
from sigil.run.mcp_client.child import ServerProcess
from sigil.run.mcp_client.document import SECRET, ProgramCommand
from sigil.run.mcp_client.progress import ProgressWatch


class ProgramServer:
    """One program as one agent speaks to it.

    `environment` is what it gets of this process's; it is ended after `idle` seconds without a
    request. It is thread-safe.
    """

    def __init__(self, server: ProgramCommand, environment: Mapping[str, str], idle: float) -> None:
        self.server = server
        self._environment = environment
        self._idle = idle
        self._process: ServerProcess | None = None
        self._variables: dict[str, str] = {}
        self._stateless = False
        self._lock = threading.Lock()

    def ask(
        self,
        method: str,
        params: Mapping[str, Json],
        values: Values,
        seconds: float,
        watch: ProgressWatch | None = None,
    ) -> Json:
        """Return the result of a method; for `watch` see `ServerProcess.ask`.

        `values` are the secrets that the program is given; with others than before it is started
        anew. Raises `ToolError` EREMOTE with what it says, ETIMEDOUT, and `Refused` EPERM when a
        secret is not set.
        """
        end = time.monotonic() + seconds
        process = self._ensure_started(values, end)
        if self._stateless:
            params = {**params, "_meta": request_envelope({})}
        reply = process.ask(method, params, _seconds_left(end), watch)
        if reply.error:
            raise refused_call(reply.error)
        return reply.result

    def retire(self) -> None:
        """End the program as soon as no call waits for its answer."""
        self._idle = 0.0
        process = self._process
        if process:
            process.idle = 0.0

    def close(self) -> None:
        """End the program."""
        with self._lock:
            process = self._process
            self._process = None
        if process:
            process.close()

    def _ensure_started(self, values: Values, end: float) -> ServerProcess:
        """Return the running program, started anew when it ended or gets other secrets."""
        variables: dict[str, str] = {}
        for key, text in self.server.env:
            name = text.removeprefix(SECRET)
            if name == text:
                variables[key] = text
            elif name in values:
                variables[key] = values[name]
            else:
                message = f"the secret {name} is not set: `sigil secret set {name}`"
                raise Refused("EPERM", message)
        if not self._lock.acquire(timeout=_seconds_left(end)):
            raise ToolError("ETIMEDOUT", "the program did not start in time")
        try:
            if self._process and (variables != self._variables or not self._process.alive):
                self._process.close()
                self._process = None
            if self._process is None:
                environment = {**self._environment, **variables}
                process = ServerProcess(self.server.words, environment, self._idle)
                try:
                    self._negotiate_revision(process, end)
                except ToolError:
                    process.close()
                    raise
                self._variables = variables
                self._process = process
            return self._process
        finally:
            self._lock.release()

    def _negotiate_revision(self, process: ServerProcess, end: float) -> None:
        params = {
            "protocolVersion": NEWEST_HANDSHAKE,
            "capabilities": {},
            "clientInfo": server_info(),
        }
        reply = process.ask("initialize", params, _seconds_left(end))
        self._stateless = reply.error is not None
        if reply.error:  # it may know no handshake any more
            params = {"_meta": request_envelope({})}
            found = process.ask("server/discover", params, _seconds_left(end))
            versions = None
            if isinstance(found.result, dict):
                versions = found.result.get("supportedVersions")
            if not isinstance(versions, list) or STATELESS not in versions:
                raise refused_call(reply.error)
            return
        revision = None
        if isinstance(reply.result, dict):
            revision = reply.result.get("protocolVersion")
        if revision not in HANDSHAKE:
            raise ToolError(REMOTE, "the program speaks a revision that is not known here")
        process.notify("notifications/initialized", _seconds_left(end))


def _seconds_left(end: float) -> float:
    return max(end - time.monotonic(), 0.01)
