"""The bearer token of a request, and who holds it."""

from __future__ import annotations

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request

from sigil.access.authentication import Authenticator
from sigil.access.tokens import TokenHolder


async def admit_request(request: Request, authenticator: Authenticator) -> TokenHolder:
    """Return the token's holder; `Refused` EAUTH or ERATE when the token is not good."""
    authorization, address = read_credentials(request)
    admin = authenticator.find_admin(authorization, address)
    if admin:
        return admin
    return await run_in_threadpool(authenticator.admit, authorization, address)


def read_credentials(request: Request) -> tuple[str, str]:
    """Return the client's `Authorization` and its address.

    Two tokens are none: they are joined as RFC 9110 does it.
    """
    token = ", ".join(request.headers.getlist("authorization"))
    address = request.client.host if request.client else ""
    return token, address
