"""The dispatcher answers the host calls of one run: each operation goes to its service."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from sigil.errors import ToolError, one_line
from sigil.network.exchange import WebTransport
from sigil.protocol import Json
from sigil.run.host_calls.fetch import NetworkRights, fetch
from sigil.run.host_calls.kv_service import KvService

CallCapability = Callable[[str, Mapping[str, Json], float], Json]
"""Calls another capability with a name, an input and the seconds that are left."""
CallServer = Callable[[Json, float], Json]
"""Calls the MCP server to which the capability belongs, within so many seconds."""


@dataclass(frozen=True, slots=True)
class HostCallDispatcher:
    """The services of one run. Each checks what the capability was granted.

    `open_web` opens the network when it is needed. `call_server` is None for a capability that
    belongs to no MCP server.
    """

    rights: NetworkRights
    open_web: Callable[[], WebTransport]
    store: KvService
    call_capability: CallCapability
    call_server: CallServer | None = None

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        """Return the answer to one request of the guest; raise `SigilError` when there is none."""
        if operation == "http.fetch":
            return fetch(self.open_web(), self.rights, argument, seconds)
        if operation.startswith("kv."):
            return self.store.answer(operation, argument)
        if operation == "call":
            if (
                not isinstance(argument, dict)
                or not argument.keys() <= {"name", "input"}
                or not isinstance(argument.get("name"), str)
            ):
                raise ToolError("EINVAL", "a call has a name and an input", source="call")
            arguments = argument.get("input")
            if arguments is not None and not isinstance(arguments, dict):
                raise ToolError("EINVAL", "the input of a call is an object", source="call")
            return self.call_capability(argument["name"], arguments or {}, seconds)
        if operation == "mcp" and self.call_server:
            return self.call_server(argument, seconds)
        raise ToolError("EINVAL", f"no such operation: {one_line(operation, 40)}")
