"""The MCP servers that this process speaks to: one conversation for each server and agent."""

from __future__ import annotations

import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial

from sigil.errors import BackendError, Refused, ToolError
from sigil.manifest.permissions import MCP
from sigil.network.exchange import BodyWatch
from sigil.network.exchange import WebTransport as Network
from sigil.protocol import Json
from sigil.run.host_calls.fetch import NetworkRights, fetch
from sigil.run.host_calls.fetch_messages import FetchReply
from sigil.run.host_calls.placeholders import names_in
from sigil.run.mcp_client.answers import (
    ANSWER_BYTES,
    REMOTE,
    KeepFile,
    invalid_reply,
    keep_nothing,
    read_output,
)
from sigil.run.mcp_client.child import IDLE_SECONDS
from sigil.run.mcp_client.document import McpServer, ServerToolDocument, WebAddress
from sigil.run.mcp_client.program import ProgramServer
from sigil.run.mcp_client.progress import ProgressWatch
from sigil.run.mcp_client.web import WebServer
from sigil.strict_json import canonical

SERVERS_MOST = 200
PROGRAMS_MOST = 20
BUSY_SECONDS = 1.0
MARGIN_SECONDS = 0.25
"""A call ends so much earlier than the run that made it, which can then say what happened."""
PAGES_MOST = 1_000
_UNAUTHORIZED = 401
TOOLS_MOST = 20_000
_EMPTY_CURSOR: Mapping[str, Json] = {"cursor": ""}


def _replace_nothing(name: str) -> bool:
    """Return False: the secrets of this call are what they are."""
    return False


@dataclass(frozen=True, slots=True)
class ServerAccess:
    """The rights and the network of one call, and its `end`, a time of the monotonic clock.

    `replace_rejected` tells if there is another value, by now, for a secret that the server
    rejected. `watch` reads how far a call of a tool has come; it may end that call earlier.
    """

    rights: NetworkRights
    open_network: Callable[[], Network]
    end: float
    replace_rejected: Callable[[str], bool] = _replace_nothing
    watch: ProgressWatch | None = None

    @property
    def seconds_left(self) -> float:
        end = self.watch.end if self.watch else self.end
        return max(end - time.monotonic(), 0.01)

    def fetch(
        self, server: WebAddress, argument: Json, follow: BodyWatch | None = None
    ) -> FetchReply:
        """Send a request as `host_calls.fetch` does; `follow` gets its answer's body as it comes.

        Secrets go only where the server's document has them. A server that answers with status 401
        has done nothing, so it is asked once more where an access token could be renewed. Whatever
        it waits for when its time is over, it raises `ToolError` ETIMEDOUT.
        """
        reply = self._send(server, argument, follow)
        if reply["status"] == _UNAUTHORIZED and self._replace_tokens(server):
            reply = self._send(server, argument, follow)
        return reply

    def _replace_tokens(self, server: WebAddress) -> bool:
        """Return whether a token that the server rejected was renewed."""
        names = names_in(*(value for _, value in server.headers))
        return any(self.replace_rejected(name) for name in sorted(names))

    def _send(self, server: WebAddress, argument: Json, follow: BodyWatch | None) -> FetchReply:
        try:
            return fetch(
                self.open_network(),
                self.rights,
                argument,
                self.seconds_left,
                frozenset(dict(server.headers)),
                reply_bytes=ANSWER_BYTES,
                watch=follow,
            )
        except ToolError as problem:
            if problem.code == "ENET" and self.seconds_left <= 0.01:
                raise ToolError(
                    "ETIMEDOUT", "the server did not answer in time", source="mcp"
                ) from None
            raise


class Servers:
    """The conversations of this process with MCP servers.

    `environment` is that of programs; None where none may be started. A program is ended after
    `idle` seconds without a request.
    """

    def __init__(
        self, environment: Mapping[str, str] | None = None, idle: float = IDLE_SECONDS
    ) -> None:
        self._environment = environment
        self._idle = idle
        self._servers: OrderedDict[bytes, WebServer | ProgramServer] = OrderedDict()
        self._busy: Counter[bytes] = Counter()
        self._lock = threading.Lock()

    def call_tool(
        self,
        document: ServerToolDocument,
        arguments: Mapping[str, Json],
        access: ServerAccess,
        keep: KeepFile = keep_nothing,
    ) -> Json:
        """Return what a tool returns; the files in it are kept.

        Raises `ToolError` EREMOTE when it fails, ETIMEDOUT, and what the network raises.
        """
        params = {"name": document.tool, "arguments": dict(arguments)}
        result = self._send_request(document.server, "tools/call", params, access)
        return read_output(result, keep)

    def list_tools(self, server: McpServer, access: ServerAccess) -> Iterator[Json]:
        """Yield the tools of a server, as it lists them, page by page.

        An empty cursor is one, but some servers mean the end by it: they refuse it, or send it
        again. Raises `ToolError` when the list has no end.
        """
        cursor: dict[str, Json] = {}
        count = 0
        for _ in range(PAGES_MOST):
            try:
                page = self._send_request(server, "tools/list", cursor, access)
            except ToolError as problem:
                if cursor != _EMPTY_CURSOR or problem.code != REMOTE:
                    raise
                return
            if not isinstance(page, dict) or not isinstance(page.get("tools"), list):
                raise invalid_reply("it lists no tools")
            tools = page["tools"]
            count += len(tools)
            if count > TOOLS_MOST:
                break
            yield from tools
            after = page.get("nextCursor")
            if not isinstance(after, str) or {"cursor": after} == cursor == _EMPTY_CURSOR:
                return
            if len(after) > 10_000 or {"cursor": after} == cursor:
                raise invalid_reply("its list does not go on")
            cursor = {"cursor": after}
        raise ToolError(
            REMOTE,
            "the server lists tools without an end: more than"
            f" {TOOLS_MOST:,}, or {PAGES_MOST:,} pages",
        )

    def end_revoked(self, namespace: str, permissions: Collection[str]) -> None:
        """End the programs of an agent that one of these permissions allowed to start.

        A tool that still may starts its program anew.
        """
        texts = {text.removeprefix(MCP) for text in permissions if text.startswith(MCP)}
        if not texts:
            return
        ended = []
        with self._lock:
            for key, server in list(self._servers.items()):
                if not isinstance(server, ProgramServer) or texts.isdisjoint(server.server.mcp):
                    continue
                if key == _make_key(namespace, server.server):
                    ended.append(server)
                    del self._servers[key]
        for server in ended:
            server.retire()

    def close(self) -> None:
        """End every conversation, and the programs."""
        with self._lock:
            servers = list(self._servers.values())
            self._servers = OrderedDict()
        for server in servers:
            if isinstance(server, ProgramServer):
                server.close()

    def _send_request(
        self, server: McpServer, method: str, params: Mapping[str, Json], access: ServerAccess
    ) -> Json:
        """Return the result of a method; the conversation is not evicted while it is in use."""
        key = _make_key(access.rights.namespace, server)
        evicted: list[ProgramServer] = []
        with self._lock:
            known = self._servers.get(key)
            if known is None:
                if isinstance(server, WebAddress):
                    known = WebServer(server)
                elif self._environment is None:
                    raise Refused(
                        "EPERM",
                        "this registry starts no programs; SIGIL_PROGRAMS=yes in its environment"
                        " would let it, where you trust its store",
                        source="mcp",
                        suggestion="or add the server by its address",
                    )
                else:
                    known = ProgramServer(server, self._environment, self._idle)
                evicted = self._evict_for(known)
            self._servers[key] = known
            self._servers.move_to_end(key)
            self._busy[key] += 1
        try:
            for program in evicted:
                program.close()
            if isinstance(known, ProgramServer):
                values = access.rights.values()
                return known.ask(method, params, values, access.seconds_left, access.watch)
            fetch = partial(access.fetch, known.server)
            return known.ask(fetch, method, params, access.seconds_left, access.watch)
        finally:
            with self._lock:
                self._busy -= Counter((key,))

    def _evict_for(self, new: WebServer | ProgramServer) -> list[ProgramServer]:
        """Evict servers until a new one fits, and return the programs that have to be closed.

        Those that were used longest ago and are not in use are evicted. Raises `BackendError` EBUSY
        when all programs are in use.
        """
        idle = [key for key in self._servers if not self._busy[key]]
        leaving: set[bytes] = set(idle[: max(len(self._servers) + 1 - SERVERS_MOST, 0)])
        if isinstance(new, ProgramServer):
            programs = []
            for key, server in self._servers.items():
                if isinstance(server, ProgramServer):
                    programs.append(key)
            surplus = max(len(programs) + 1 - PROGRAMS_MOST, 0)
            idle_programs = [key for key in programs if key in idle][:surplus]
            if len(idle_programs) < surplus:
                raise BackendError(
                    "EBUSY",
                    f"{PROGRAMS_MOST} programs are at work, and no more may run at once",
                    source="mcp",
                    suggestion="try again in a moment",
                    retry_after=BUSY_SECONDS,
                )
            leaving.update(idle_programs)
        evicted = [self._servers.pop(key) for key in leaving]
        return [server for server in evicted if isinstance(server, ProgramServer)]


def _make_key(namespace: str, server: McpServer) -> bytes:
    return canonical([namespace, server.row])
