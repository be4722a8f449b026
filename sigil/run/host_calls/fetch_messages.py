"""A guest's request for the web and the answer that it gets, as they travel between the two."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import Literal, TypedDict

from sigil.errors import ToolError, one_line
from sigil.manifest.permission_rules import METHODS
from sigil.network.exchange import HttpAnswer
from sigil.network.headers import Headers, check_outgoing
from sigil.network.urls import Target
from sigil.protocol import Json

BODY_BYTES = 512 * 1024
_FIELDS = {"url", "method", "headers", "body", "redirect"}

Mode = Literal["follow", "manual", "error"]
_MODES: dict[str, Mode] = {"follow": "follow", "manual": "manual", "error": "error"}


@dataclass(frozen=True, slots=True)
class FetchRequest:
    """A request as the guest wrote it, placeholders and all."""

    method: str
    target: Target
    headers: Headers
    body: bytes
    redirect: Mode


class FetchReply(TypedDict):
    """An answer as the guest reads it; `body` is base64."""

    status: int
    statusText: str
    headers: list[list[str]]
    body: str
    url: str
    redirected: bool


def parse_request(argument: Json) -> FetchRequest:
    """Return the request that a guest's argument describes.

    Raises `ToolError` EINVAL, and `Refused` EPERM for a header that is not the guest's to set.
    """
    if (
        not isinstance(argument, dict)
        or not argument.keys() <= _FIELDS
        or not isinstance(argument.get("url"), str)
    ):
        raise _invalid("a request has a url, and may have method, headers, body and redirect")
    method = argument.get("method") or "GET"
    if not isinstance(method, str) or method.upper() not in METHODS:
        raise _invalid(f"methods are {', '.join(METHODS)}, not {one_line(str(method), 20)!r}")
    text = argument.get("body")
    if text is None:
        text = ""
    if not isinstance(text, str):
        raise _invalid("a body is base64")
    try:
        body = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise _invalid("a body is base64") from None
    if len(body) > BODY_BYTES:
        raise ToolError(
            "ETOOBIG", f"a request's body has at most {BODY_BYTES:,} bytes", source="http"
        )
    if body and method.upper() in ("GET", "HEAD"):
        raise _invalid(f"a {method.upper()} request has no body")
    redirect = argument.get("redirect") or "follow"
    mode = _MODES.get(redirect) if isinstance(redirect, str) else None
    if mode is None:
        raise _invalid("redirect is follow, manual or error")
    return FetchRequest(
        method.upper(),
        Target.parse(argument["url"]),
        check_outgoing(argument.get("headers") or []),
        body,
        mode,
    )


def build_reply(answer: HttpAnswer, url: str, *, redirected: bool) -> FetchReply:
    """Return an answer as the guest reads it."""
    return {
        "status": answer.status,
        "statusText": one_line(answer.reason, 100),
        "headers": [[name, value] for name, value in answer.headers],
        "body": base64.b64encode(answer.body).decode("ascii"),
        "url": url,
        "redirected": redirected,
    }


def _invalid(why: str) -> ToolError:
    return ToolError("EINVAL", why, source="http")
