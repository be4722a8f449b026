"""The discovery of an MCP server's tools, before any of them becomes a capability."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from sigil.catalog.owner import require_owner
from sigil.errors import Refused
from sigil.manifest.permission_rules import parse_http_rule, parse_secret_rule
from sigil.network.exchange import WebTransport
from sigil.protocol import Caller, Json
from sigil.run.host_calls.fetch import NetworkRights
from sigil.run.host_calls.placeholders import Values, scrub
from sigil.run.mcp_client import document
from sigil.run.mcp_client.servers import ServerAccess, Servers
from sigil.run.mcp_client.sign_ins import SignIns
from sigil.run.mcp_client.tools import clean_tools
from sigil.strict_json import dumps, loads

if TYPE_CHECKING:
    from sigil.rows import ServerToolRow

LIST_SECONDS = 30.0


class ServerToolLister:
    """Lists the tools of MCP servers for owners; the commands of `sigil mcp` use it."""

    def __init__(self, servers: Servers, secrets: SignIns, web: Callable[[], WebTransport]) -> None:
        self._servers = servers
        self._secrets = secrets
        self._web = web

    def tools(self, server: Json, caller: Caller, only: Sequence[str] = ()) -> list[ServerToolRow]:
        """Return a row for each tool of a server: the capability that it can become, or a problem.

        The owner who asks lets this one request go there, with the secrets that the server is to
        have. Raises `Refused` EPERM unless an owner asks; a program is started only for a caller in
        this process.
        """
        require_owner(caller)
        parsed = document.parse_server(server)
        if parsed.mcp and caller.token:
            raise Refused(
                "EPERM",
                "it starts a program of this machine, so it can be added on this machine only",
                source=parsed.name,
                suggestion="run `sigil mcp add -- COMMAND` there",
            )
        secrets = tuple(map(parse_secret_rule, parsed.secrets))
        names = {rule.name for rule in secrets}
        for text in parsed.mcp:
            names.update(document.list_secrets(text))

        values: dict[str, str] = {}
        end = time.monotonic() + LIST_SECONDS

        def read_values() -> Values:
            for name in sorted(names - values.keys()):
                own = [rule for rule in secrets if rule.name == name]
                value = self._secrets.read_value(caller.namespace, name, own, end)
                if value is not None:
                    values[name] = value
            return values

        def replace_rejected(name: str) -> bool:
            rejected = read_values().get(name, "")
            value = self._secrets.replace_rejected(caller.namespace, name, rejected, end)
            if value is not None:
                values[name] = value
            return value is not None

        http = tuple(map(parse_http_rule, parsed.http))
        rights = NetworkRights(parsed.name, http, (), secrets, (), read_values, caller.namespace)
        access = ServerAccess(rights, self._web, end, replace_rejected)
        tools = clean_tools(self._servers.list_tools(parsed, access), parsed.name, only)
        scrubbed = scrub(dumps([tool.row for tool in tools]), rights.values())
        # the same rows as above, with the secrets' values taken out of their strings
        return cast("list[ServerToolRow]", loads(scrubbed))
