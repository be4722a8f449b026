"""A server that is a program of this machine: started when it is first asked, and again when it has
ended.
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


class ProgramServer:
    """One program as one agent speaks to it. `environment`: what it has of ours; `idle`: seconds
    after which it is ended. Thread-safe.
    """

    def __init__(self, server: ProgramCommand, environment: Mapping[str, str], idle: float) -> None:
        self.server = server
        self._environment = environment
        self._idle = idle
        self._child: ServerProcess | None = None
        self._given: dict[str, str] = {}
        self._stateless = False
        self._lock = threading.Lock()

    def ask(self, method: str, params: Mapping[str, Json], values: Values, seconds: float) -> Json:
        """The result of a method. `values`: the secrets that it is given; with others than before
        it is started anew.

        `ToolError` EREMOTE with what it says, ETIMEDOUT; `Refused` EPERM when a secret is not set.
        """
        end = time.monotonic() + seconds
        child = self._ready(values, end)
        given = {**params, "_meta": request_envelope({})} if self._stateless else params
        reply = child.ask(method, given, _left(end))
        if reply.error:
            raise refused_call(reply.error)
        return reply.result

    def retire(self) -> None:
        """End the program as soon as nobody waits for its answer."""
        self._idle = 0.0
        child = self._child
        if child:
            child.idle = 0.0

    def close(self) -> None:
        """End the program."""
        with self._lock:
            child, self._child = self._child, None
        if child:
            child.close()

    def _ready(self, values: Values, end: float) -> ServerProcess:
        own = {key: _value(value, values) for key, value in self.server.env}
        if not self._lock.acquire(timeout=_left(end)):
            raise ToolError("ETIMEDOUT", "the program did not start in time")
        try:
            if self._child and (own != self._given or not self._child.alive):
                self._child.close()
                self._child = None
            self._child = self._child or self._started(own, end)
            return self._child
        finally:
            self._lock.release()

    def _started(self, own: dict[str, str], end: float) -> ServerProcess:
        child = ServerProcess(self.server.words, {**self._environment, **own}, self._idle)
        try:
            self._shake(child, end)
        except ToolError:
            child.close()
            raise
        self._given = own
        return child

    def _shake(self, child: ServerProcess, end: float) -> None:
        said = {
            "protocolVersion": NEWEST_HANDSHAKE,
            "capabilities": {},
            "clientInfo": server_info(),
        }
        reply = child.ask("initialize", said, _left(end))
        self._stateless = reply.error is not None
        if reply.error:  # it may know no handshake any more
            found = child.ask("server/discover", {"_meta": request_envelope({})}, _left(end))
            known = (
                found.result.get("supportedVersions") if isinstance(found.result, dict) else None
            )
            if not isinstance(known, list) or STATELESS not in known:
                raise refused_call(reply.error)
            return
        if (
            not isinstance(reply.result, dict)
            or reply.result.get("protocolVersion") not in HANDSHAKE
        ):
            raise ToolError(REMOTE, "the program speaks a revision that is not known here")
        child.tell("notifications/initialized", _left(end))


def _left(end: float) -> float:
    return max(end - time.monotonic(), 0.01)


def _value(text: str, values: Values) -> str:
    """A variable's value, with the secret in it that it stands for."""
    name = text.removeprefix(SECRET)
    if name == text:
        return text
    if name not in values:
        raise Refused("EPERM", f"the secret {name} is not set: `sigil secret set {name}`")
    return values[name]
