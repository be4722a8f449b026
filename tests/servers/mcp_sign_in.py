"""Runs in the environment of the official SDK: an MCP server that wants a sign-in, and its
authorization server, both of the SDK's making. `python mcp_sign_in.py PORT CERTIFICATE`

`POST /control` sets how it behaves (`seconds`, `deny`, `issuer`, `revoke`, `forget`,
`strangers` for that it forgets its clients, and a `client` that
is registered by hand), and answers with what it was asked for (`refreshed`, `registered`).
"""

from __future__ import annotations

import secrets
import sys
import time
from typing import Any

import uvicorn
from mcp.server.auth.provider import (
    AccessToken,
    AuthorizationCode,
    AuthorizationParams,
    RefreshToken,
    TokenError,
    construct_redirect_uri,
)
from mcp.server.auth.settings import AuthSettings, ClientRegistrationOptions
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull, OAuthToken
from starlette.requests import Request
from starlette.responses import JSONResponse

PORT, CERTIFICATE = int(sys.argv[1]), sys.argv[2]
ORIGIN = f"https://127.0.0.1:{PORT}"


class Provider:
    """Lets everybody in at once, and gives each refresh token for one use."""

    def __init__(self) -> None:
        self.behaviour: dict[str, Any] = {"seconds": 3600, "deny": False, "issuer": f"{ORIGIN}/"}
        self.refreshed = 0
        self.clients: dict[str, OAuthClientInformationFull] = {}
        self.codes: dict[str, AuthorizationCode] = {}
        self.access: dict[str, AccessToken] = {}
        self.refresh: dict[str, RefreshToken] = {}

    async def get_client(self, client_id: str) -> OAuthClientInformationFull | None:
        return self.clients.get(client_id)

    async def register_client(self, client: OAuthClientInformationFull) -> None:
        self.clients[client.client_id] = client

    async def authorize(
        self, client: OAuthClientInformationFull, params: AuthorizationParams
    ) -> str:
        where = str(params.redirect_uri)
        issuer = self.behaviour["issuer"]
        if self.behaviour["deny"]:
            return construct_redirect_uri(
                where, error="access_denied", error_description="no\n!", state=params.state
            )
        code = AuthorizationCode(
            code=secrets.token_urlsafe(24),
            scopes=params.scopes or [],
            expires_at=time.time() + 60,
            client_id=client.client_id,
            code_challenge=params.code_challenge,
            redirect_uri=params.redirect_uri,
            redirect_uri_provided_explicitly=params.redirect_uri_provided_explicitly,
            resource=params.resource,
        )
        self.codes[code.code] = code
        return construct_redirect_uri(where, code=code.code, state=params.state, iss=issuer)

    async def load_authorization_code(
        self, client: OAuthClientInformationFull, code: str
    ) -> AuthorizationCode | None:
        return self.codes.get(code)

    async def exchange_authorization_code(
        self, client: OAuthClientInformationFull, code: AuthorizationCode
    ) -> OAuthToken:
        del self.codes[code.code]
        return self._give(client, code.scopes, code.resource)

    async def load_refresh_token(
        self, client: OAuthClientInformationFull, token: str
    ) -> RefreshToken | None:
        return self.refresh.get(token)

    async def exchange_refresh_token(
        self, client: OAuthClientInformationFull, token: RefreshToken, scopes: list[str]
    ) -> OAuthToken:
        if self.refresh.pop(token.token, None) is None:
            raise TokenError("invalid_grant", "used twice")
        self.refreshed += 1
        return self._give(client, scopes, token.resource)

    async def load_access_token(self, token: str) -> AccessToken | None:
        return self.access.get(token)

    async def revoke_token(self, token: AccessToken | RefreshToken) -> None:
        self.access.pop(token.token, None)

    def _give(
        self, client: OAuthClientInformationFull, scopes: list[str], resource: str | None
    ) -> OAuthToken:
        seconds = self.behaviour["seconds"]
        access = AccessToken(
            token=secrets.token_urlsafe(24),
            client_id=client.client_id,
            scopes=scopes,
            expires_at=int(time.time() + seconds),
            resource=resource,
        )
        refresh = RefreshToken(
            token=secrets.token_urlsafe(24),
            client_id=client.client_id,
            scopes=scopes,
            resource=resource,
        )
        self.access[access.token] = access
        self.refresh[refresh.token] = refresh
        return OAuthToken(
            access_token=access.token,
            expires_in=seconds,
            scope=" ".join(scopes),
            refresh_token=refresh.token,
        )


provider = Provider()
server = MCPServer(
    "mailbox",
    auth_server_provider=provider,
    auth=AuthSettings(
        issuer_url=ORIGIN,
        resource_server_url=f"{ORIGIN}/mcp",
        validate_token_resource=True,
        required_scopes=["mail"],
        client_registration_options=ClientRegistrationOptions(
            enabled=True, valid_scopes=["mail"], default_scopes=["mail"]
        ),
    ),
)


@server.tool()
def unread() -> int:
    """Count the messages that nobody has read."""
    return 7


@server.custom_route("/control", methods=["POST"])
async def control(request: Request) -> JSONResponse:
    wanted = await request.json()
    if wanted.pop("revoke", False):
        provider.access.clear()
    if wanted.pop("strangers", False):
        provider.clients.clear()
    if wanted.pop("forget", False):
        provider.refresh.clear()
    client = wanted.pop("client", None)
    if client:
        provider.clients[client["client_id"]] = OAuthClientInformationFull(**client, scope="mail")
    provider.behaviour.update(wanted)
    return JSONResponse({"refreshed": provider.refreshed, "registered": len(provider.clients)})


if __name__ == "__main__":
    provider.behaviour["issuer"] = ORIGIN
    uvicorn.run(
        server.streamable_http_app(stateless_http=True),
        host="127.0.0.1",
        port=PORT,
        ssl_certfile=CERTIFICATE,
        log_level="warning",
    )
