"""The sign-in at an MCP server, which is stored beside the access token that came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from sigil.errors import Refused, UsageError
from sigil.network.urls import Target
from sigil.storage.stored import Stored

PREFIX = "MCP_"
_NAME_CHARACTERS = 63

ClientAuthentication = Literal["none", "client_secret_basic", "client_secret_post"]


@dataclass(frozen=True, slots=True)
class SignIn(Stored):
    """What renews an access token: `refresh_token` is empty for one that cannot be renewed.

    `server` is the address of the MCP server, `resource` its name at the authorization server.
    Times are seconds since the epoch, 0 when nobody said them: the token is renewed from `renew_at`
    on and ends at `expires_at`. Until `renewing_until` one process renews it, and others wait.
    """

    server: str
    resource: str
    issuer: str
    token_url: str
    client_id: str
    client_secret: str = ""
    client_auth: ClientAuthentication = "none"
    refresh_token: str = ""
    renew_at: float = 0.0
    expires_at: float = 0.0
    renewing_until: float = 0.0


def name_token_secret(server: str) -> str:
    """Return the name of the secret that holds the access token of a server: `MCP_MY_MAIL` for
    `my-mail`; `UsageError` ENAME for a name that is too long.
    """
    name = f"{PREFIX}{server.replace('-', '_').upper()}"
    if len(name) > _NAME_CHARACTERS:
        most = _NAME_CHARACTERS - len(PREFIX)
        message = f"a server to sign in at has a name of at most {most} characters"
        raise UsageError("ENAME", message, source=server, suggestion="choose a shorter --name")
    return name


def server_of_secret(secret: str) -> str:
    """Return the name of the server whose access token the secret holds."""
    return secret.removeprefix(PREFIX).replace("_", "-").lower()


def how_to_set(secret: str, option: str = "") -> str:
    """Return the command that sets a secret, and for one of such a name the sign-in too."""
    command = f"`sigil secret set {secret}{option}`"
    if secret.startswith(PREFIX):
        return f"`sigil mcp login {server_of_secret(secret)}`, or {command}"
    return command


def ended_sign_in(secret: str, sign_in: SignIn | None) -> Refused:
    """Return the error for a token that is no longer good for anything."""
    server = server_of_secret(secret)
    place = Target.parse(sign_in.server).authority if sign_in else server
    command = f"sigil mcp login {server}"
    message = f"the sign-in at {place} has ended: `{command}`"
    return Refused("EPERM", message, source=server, suggestion=command)
