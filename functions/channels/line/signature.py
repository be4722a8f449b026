"""What LINE sends to a webhook is signed with the channel's secret
(https://developers.line.biz/en/docs/messaging-api/verify-webhook-signature/).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from base64 import b64encode
from typing import Final

from functions.channels.base import PlatformRequest
from sigil.errors import Refused

SIGNATURE_HEADER: Final = "x-line-signature"
_SIGNATURE: Final = re.compile(r"[A-Za-z0-9+/]{43}=", re.ASCII)


def check_head(request: PlatformRequest) -> None:
    """Refuse with EAUTH a request that has no signature."""
    if request.method != "POST" or not _SIGNATURE.fullmatch(
        request.headers.get(SIGNATURE_HEADER, "")
    ):
        raise _refuse("the request is not signed as LINE signs")


def check_signature(secret: str, request: PlatformRequest) -> None:
    """Refuse with EAUTH a body that was not signed with `secret`; without one nothing passes."""
    given = request.headers.get(SIGNATURE_HEADER, "").encode("utf-8", "surrogatepass")
    if not secret or not hmac.compare_digest(sign(secret, request.body), given):
        raise _refuse("the request is not LINE's, or LINE_SECRET is another channel's")


def sign(secret: str, body: bytes) -> bytes:
    """Return the signature of a body's raw bytes."""
    return b64encode(hmac.digest(secret.encode(), body, hashlib.sha256))


def _refuse(message: str) -> Refused:
    return Refused("EAUTH", message, source="line")
