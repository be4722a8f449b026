"""Read a request's body, and check its media type and its conditions."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator

from starlette.requests import ClientDisconnect, Request

from sigil.errors import UsageError

JSON_KINDS = (
    "",
    "application/json",
    "text/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/octet-stream",
)
"""What a JSON body may call itself: JSON, nothing, or what curl and plain clients put there
unasked.
"""
ZIP_KINDS = (
    "",
    "application/zip",
    "application/x-zip-compressed",
    "application/octet-stream",
    "application/x-www-form-urlencoded",
)
_CONDITIONS = ("if-match", "if-unmodified-since")


def require_unconditional(request: Request) -> None:
    """Raise `UsageError` EPRECONDITION for a condition on a change: no header could name what it is
    about, so nothing is done.
    """
    if request.method not in ("GET", "HEAD") and any(
        name in request.headers for name in _CONDITIONS
    ):
        message = "no route checks If-Match or If-Unmodified-Since"
        raise UsageError(
            "EPRECONDITION",
            message,
            source="http",
            suggestion="leave it out; a grant takes the digest it is for",
        )


async def read_checked_body(request: Request, most: int, *, zipped: bool = False) -> bytes:
    """Return the request's body, counted as it arrives: what a header claims about its length is
    believed only when it is too much.

    `UsageError` ETOOBIG, EBODY, or EMEDIA when it says that it is something else than what this
    route takes.
    """
    refuse_claimed_length(request, most)
    body = await read_body(request, most)
    if body:
        _require_media_type(request, ZIP_KINDS if zipped else JSON_KINDS)
    return body


def refuse_claimed_length(request: Request, most: int) -> None:
    """Raise `UsageError` ETOOBIG for a body that is too long by its own header."""
    claimed = request.headers.get("content-length", "")
    if claimed.isascii() and claimed.isdigit() and int(claimed[:20]) > most:
        raise _make_too_big(most)


async def read_body(request: Request, most: int, *, to_end: bool = False) -> bytes:
    """Return the body, counted while it comes in; `UsageError` ETOOBIG, or EBODY when its sender
    left before its end.

    `to_end`: what is too big is read to its end, and forgotten, before that is said: a sender who
    is still sending may read no answer.
    """
    chunks = []
    size = 0
    try:
        async for chunk in request.stream():
            size += len(chunk)
            if size <= most:
                chunks.append(chunk)
            elif not to_end:
                raise _make_too_big(most)
    except ClientDisconnect:
        raise UsageError("EBODY", "the request ended before its body did", source="http") from None
    if size > most:
        raise _make_too_big(most)
    return b"".join(chunks)


async def count_body(request: Request, most: int) -> AsyncGenerator[bytes, None]:
    """Yield the parts of the body as they come; `UsageError` ETOOBIG as soon as they are too big.

    `ClientDisconnect` when its sender left before its end.
    """
    size = 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > most:
            raise _make_too_big(most)
        yield chunk


def _require_media_type(request: Request, known: tuple[str, ...]) -> None:
    """Raise `UsageError` EMEDIA unless the body says that it is one of `known`, in UTF-8 and not
    compressed.
    """
    kind, _, parameters = request.headers.get("content-type", "").lower().partition(";")
    charset = re.search(r"charset=\"?([^\s;\"]*)", parameters)
    expected = known[1]
    if kind.strip() not in known and not (
        known is JSON_KINDS
        and re.fullmatch(r"application/[a-z0-9.-]+\+json", kind.strip(), re.ASCII)
    ):
        raise UsageError(
            "EMEDIA",
            "this route takes no body of that type",
            source="http",
            suggestion=f"send {expected}",
        )
    if charset and charset[1] not in ("utf-8", "utf8", "us-ascii"):
        raise UsageError(
            "EMEDIA", "a body is UTF-8", source="http", suggestion=f"send {expected} in UTF-8"
        )
    if request.headers.get("content-encoding", "identity").strip().lower() not in ("", "identity"):
        raise UsageError(
            "EMEDIA",
            "a body is not compressed",
            source="http",
            suggestion="send it without Content-Encoding",
        )


def _make_too_big(most: int) -> UsageError:
    bound = f"{most >> 20} MiB" if most >= 1 << 20 else f"{most >> 10} KiB"
    return UsageError("ETOOBIG", f"the request's body is over {bound}", source="http")
