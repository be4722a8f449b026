"""The servers that are spoken to from this process: one conversation each and agent, kept while it
lasts.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from sigil.errors import BackendError, Refused, ToolError
from sigil.manifest.permissions import MCP
from sigil.network.exchange import WebTransport as Network
from sigil.protocol import Json
from sigil.run.host_calls.fetch import NetworkRights, fetch
from sigil.run.mcp_client.answers import REMOTE, invalid_reply, read_output
from sigil.run.mcp_client.child import IDLE_SECONDS
from sigil.run.mcp_client.document import McpServer, ServerToolDocument, WebAddress
from sigil.run.mcp_client.program import ProgramServer
from sigil.run.mcp_client.web import WebServer
from sigil.strict_json import canonical

KEPT, PROGRAMS_MOST = 200, 20
BUSY_SECONDS = 1.0
MARGIN_SECONDS = 0.25
"""So much earlier than the run ends its call, so that it can still say what happened."""
PAGES_MOST, TOOLS_MOST = 1_000, 20_000


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """What a call goes by: what it may fetch and for whom, over which network, until when (of the
    monotonic clock).
    """

    rights: NetworkRights
    network: Callable[[], Network]
    end: float

    @property
    def left(self) -> float:
        return max(self.end - time.monotonic(), 0.01)

    def fetch(self, server: WebAddress, argument: Json) -> Json:
        """See `services.fetch`; secrets go where the server's document has them. Late is late
        whatever it waits for.
        """
        try:
            return fetch(
                self.network(), self.rights, argument, self.left, frozenset(dict(server.headers))
            )
        except ToolError as problem:
            if problem.code == "ENET" and self.left <= 0.01:
                raise ToolError(
                    "ETIMEDOUT", "the server did not answer in time", source="mcp"
                ) from None
            raise


class Servers:
    """The conversations of this process. `environment`: what programs have of one; None where none
    is started.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, idle: float = IDLE_SECONDS
    ) -> None:
        self._environment = environment
        self._idle = idle
        self._kept: OrderedDict[bytes, WebServer | ProgramServer] = OrderedDict()
        self._asked: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    def call_tool(
        self, document: ServerToolDocument, arguments: Mapping[str, Json], means: ServerAccess
    ) -> Json:
        """What the tool returns; `ToolError` EREMOTE when it fails, ETIMEDOUT, or what the network
        fails with.
        """
        result = self._ask(
            document.server,
            "tools/call",
            {"name": document.tool, "arguments": dict(arguments)},
            means,
        )
        return read_output(result)

    def tools(self, server: McpServer, means: ServerAccess) -> Iterator[Json]:
        """The tools of a server, as it tells them, page by page; `ToolError` when it tells no end
        of them.
        """
        cursor: dict[str, Json] = {}
        count = 0
        for _ in range(PAGES_MOST):
            page = self._ask(server, "tools/list", cursor, means)
            tools = page.get("tools") if isinstance(page, dict) else None
            if not isinstance(tools, list):
                raise invalid_reply("it lists no tools")
            count += len(tools)
            if count > TOOLS_MOST:
                break
            yield from tools
            after = page.get("nextCursor")
            if not isinstance(after, str) or not after:
                return
            if len(after) > 10_000 or {"cursor": after} == cursor:
                raise invalid_reply("its list does not go on")
            cursor = {"cursor": after}
        raise ToolError(REMOTE, f"the server tells no end of tools: more than {count:,}")

    def revoked(self, namespace: str, permissions: Collection[str]) -> None:
        """End the programs of an agent that were started by one of these permissions. A tool that
        still may starts it anew.
        """
        texts = {text.removeprefix(MCP) for text in permissions if text.startswith(MCP)}
        with self._lock:
            programs = (
                [(key, each) for key, each in self._kept.items() if isinstance(each, ProgramServer)]
                if texts
                else []
            )
            meant = [
                each
                for key, each in programs
                if key == _key(namespace, each.server) and not texts.isdisjoint(each.server.mcp)
            ]
            for each in meant:
                del self._kept[_key(namespace, each.server)]
        for each in meant:
            each.retire()

    def close(self) -> None:
        """End every conversation, and the programs."""
        with self._lock:
            kept, self._kept = list(self._kept.values()), OrderedDict()
        for each in kept:
            if isinstance(each, ProgramServer):
                each.close()

    def _ask(
        self, server: McpServer, method: str, params: Mapping[str, Json], means: ServerAccess
    ) -> Json:
        with self._conversation(server, means.rights.namespace) as spoken:
            if isinstance(spoken, ProgramServer):
                return spoken.ask(method, params, means.rights.values(), means.left)
            return spoken.ask(partial(means.fetch, spoken.server), method, params, means.left)

    @contextmanager
    def _conversation(
        self, server: McpServer, namespace: str
    ) -> Iterator[WebServer | ProgramServer]:
        """The conversation with a server, which makes no room for another while it is asked
        something.
        """
        key = _key(namespace, server)
        with self._lock:
            found = self._kept.get(key) or self._opened(server)
            fallen = [] if key in self._kept else self._fallen(found)
            self._kept[key] = found
            self._kept.move_to_end(key)
            self._asked[key] += 1
        try:
            for each in fallen:
                each.close()
            yield found
        finally:
            with self._lock:
                self._asked -= Counter((key,))

    def _opened(self, server: McpServer) -> WebServer | ProgramServer:
        if isinstance(server, WebAddress):
            return WebServer(server)
        if self._environment is None:
            message = (
                "this registry starts no programs; SIGIL_PROGRAMS=yes in its environment would let"
                " it, where you trust its store"
            )
            raise Refused(
                "EPERM", message, source="mcp", suggestion="or add the server by its address"
            )
        return ProgramServer(server, self._environment, self._idle)

    def _fallen(self, new: WebServer | ProgramServer) -> list[ProgramServer]:
        """What was used longest ago, and is asked nothing now, makes room; `BackendError` EBUSY
        when every program is at work.
        """
        idle = [key for key in self._kept if not self._asked[key]]
        programs = [key for key, each in self._kept.items() if isinstance(each, ProgramServer)]
        surplus = max(len(programs) + 1 - PROGRAMS_MOST, 0) if isinstance(new, ProgramServer) else 0
        going = [key for key in programs if key in idle][:surplus]
        if len(going) < surplus:
            message = f"{PROGRAMS_MOST} programs are at work, which is as many as may be"
            raise BackendError(
                "EBUSY",
                message,
                source="mcp",
                suggestion="try again in a moment",
                retry_after=BUSY_SECONDS,
            )
        keys = {*going, *idle[: max(len(self._kept) + 1 - KEPT, 0)]}
        return [each for key in keys if isinstance(each := self._kept.pop(key), ProgramServer)]


def _key(namespace: str, server: McpServer) -> bytes:
    return canonical([namespace, server.row])
