"""What a keeper asks of MCP servers: which tools one has, before any of them becomes a
capability.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sigil.access.secret_store import SecretStore
from sigil.catalog.owner import require_owner
from sigil.errors import Refused
from sigil.manifest.permission_rules import parse_http_rule, parse_secret_rule
from sigil.network.exchange import WebTransport
from sigil.protocol import Caller, Json
from sigil.run.host_calls.fetch import NetworkRights
from sigil.run.host_calls.placeholders import Values, scrub
from sigil.run.mcp_client import document
from sigil.run.mcp_client.servers import ServerAccess, Servers
from sigil.run.mcp_client.tools import clean_tools
from sigil.strict_json import dumps, loads

if TYPE_CHECKING:
    from sigil.rows import ServerToolRow

LIST_SECONDS = 30.0


class ServerToolLister:
    """The verbs behind `sigil mcp`; an owner's."""

    def __init__(
        self, servers: Servers, secret_store: SecretStore, web: Callable[[], WebTransport]
    ) -> None:
        self._servers = servers
        self._secrets = secret_store
        self._web = web

    def tools(self, server: Json, caller: Caller, only: Sequence[str] = ()) -> list[ServerToolRow]:
        """The tools of a server, each with the capability that it can become, or why it cannot: see
        `Tool.row`.

        The owner who asks lets this one question go there, with the secrets that the server is to
        have. A program is started for somebody in this process alone.
        """
        require_owner(caller)
        wanted = document.parse_server(server)
        if wanted.mcp and caller.token:
            message = "what starts a program of this machine is added on this machine alone"
            raise Refused(
                "EPERM",
                message,
                source=wanted.name,
                suggestion="run `sigil mcp add -- COMMAND` there",
            )
        rights = self._rights(wanted, caller)
        means = ServerAccess(rights, self._web, time.monotonic() + LIST_SECONDS)
        rows = dumps(
            [
                tool.row
                for tool in clean_tools(self._servers.tools(wanted, means), wanted.name, only)
            ]
        )
        told: list[ServerToolRow] = loads(scrub(rows, rights.values()))
        return told

    def _rights(self, wanted: document.McpServer, caller: Caller) -> NetworkRights:
        http, secrets = (
            tuple(map(parse_http_rule, wanted.http)),
            tuple(map(parse_secret_rule, wanted.secrets)),
        )
        names = {rule.name for rule in secrets} | {
            name for text in wanted.mcp for name in document.list_secrets(text)
        }

        def values() -> Values:
            found = {name: self._secrets.read_value(caller.namespace, name) for name in names}
            return {name: value for name, value in found.items() if value is not None}

        return NetworkRights(wanted.name, http, (), secrets, (), values, caller.namespace)
