"""The webhook as a function of AWS Lambda.

All that a request needs is opened while the function starts, where it has a whole processor:
neither a library nor a client is loaded for the first time while a platform waits.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from mangum import Mangum
from starlette.applications import Starlette

from functions.base_path import without_base_path
from functions.ingress.ingress import open_ingress
from functions.webhook import build_routes
from sigil.errors import SigilError

if TYPE_CHECKING:
    from starlette.types import Receive, Scope, Send

app = Starlette(routes=build_routes(open_ingress))


async def serve(scope: Scope, receive: Receive, send: Send) -> None:
    """Serve a request under the path of its route."""
    await app(without_base_path(scope), receive, send)


handler = Mangum(serve, lifespan="off")

with suppress(SigilError):  # the first request tries again, and answers what is wrong
    open_ingress()
