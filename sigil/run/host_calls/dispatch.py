"""Where one run's requests are answered: each operation goes to its service, which looks at what is
granted.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sigil.errors import ToolError, one_line
from sigil.network.exchange import WebTransport
from sigil.protocol import Json
from sigil.run.host_calls.fetch import NetworkRights, fetch
from sigil.run.host_calls.kv_service import KvService

Compose = Callable[[str, Json, float], Json]
Consult = Callable[[Json, float], Json]


@dataclass(frozen=True, slots=True)
class HostCallDispatcher:
    """The services of one run. `web` opens the way to the network when it is needed; `compose(name,
    input, seconds)` runs another.

    `consult(argument, seconds)` asks the MCP server that the capability stands for; None for one
    that stands for none.
    """

    rights: NetworkRights
    web: Callable[[], WebTransport]
    store: KvService
    compose: Compose
    consult: Consult | None = None

    def answer(self, operation: str, argument: Json, seconds: float) -> Json:
        """The answer to one request of the guest; `SigilError` when there is none."""
        if operation == "http.fetch":
            return fetch(self.web(), self.rights, argument, seconds)
        if operation.startswith("kv."):
            return self.store.answer(operation, argument)
        if operation == "call":
            return self.compose(*_call(argument), seconds)
        if operation == "mcp" and self.consult:
            return self.consult(argument, seconds)
        raise ToolError("EINVAL", f"no such operation: {one_line(operation, 40)}")


def _call(argument: Json) -> tuple[str, Json]:
    if (
        not isinstance(argument, dict)
        or not argument.keys() <= {"name", "input"}
        or not isinstance(argument.get("name"), str)
    ):
        raise ToolError("EINVAL", "a call has a name and an input", source="call")
    given = argument.get("input")
    if given is not None and not isinstance(given, dict):
        raise ToolError("EINVAL", "the input of a call is an object", source="call")
    return argument["name"], given or {}
