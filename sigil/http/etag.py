"""Give answers an entity tag, and 304 to a client that knows it already (RFC 9110, 13)."""

from __future__ import annotations

import hashlib
import re

from starlette.responses import Response

OWN = "private, no-cache"
"""A client may keep the answer and has to ask each time: a token's answer is for that token alone,
and may change at any moment.
"""
VARY = "Authorization, X-Sigil-Namespace, X-Sigil-Session, X-Sigil-Author, X-Sigil-Owner"
_TAG = re.compile(r'(?:W/)?("[\x21\x23-\x7e]*")', re.ASCII)
_ALONG = ("cache-control", "vary", "etag")


def add_etag(response: Response, known: str, *, own: bool = True) -> Response:
    """Return a good answer with its strong ETag, or 304 when `known`, the request's
    `If-None-Match`, names it.

    The tag covers the very bytes, so that it is true of counts and health too. `own`: it is the
    token's alone; any cache else.
    """
    if response.status_code != 200:
        return response
    tag = f'"{hashlib.sha256(bytes(response.body)).hexdigest()[:32]}"'
    if own:
        response.headers.update({"Cache-Control": OWN, "Vary": VARY})
    response.headers["ETag"] = tag
    if known.strip() != "*" and tag not in _TAG.findall(known[:4_000]):
        return response
    return Response(
        status_code=304,
        headers={name: response.headers[name] for name in _ALONG if name in response.headers},
    )
