"""What GitHub sends to a webhook is signed with the webhook's secret
(https://docs.github.com/en/webhooks/using-webhooks/validating-webhook-deliveries).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

from functions.channels.base import PlatformRequest
from sigil.errors import Refused

SIGNATURE_HEADER: Final = "x-hub-signature-256"
_SIGNATURE: Final = re.compile(r"sha256=[0-9a-f]{64}", re.ASCII)


def check_head(request: PlatformRequest) -> None:
    """Refuse with EAUTH a request that has no signature."""
    given = request.headers.get(SIGNATURE_HEADER, "")
    if request.method != "POST" or not _SIGNATURE.fullmatch(given):
        raise Refused("EAUTH", "the request is not signed as GitHub signs", source="github")


def check_signature(secret: str, request: PlatformRequest) -> None:
    """Refuse with EAUTH a body that was not signed with `secret`; without one nothing passes."""
    given = request.headers.get(SIGNATURE_HEADER, "").encode("utf-8", "surrogatepass")
    if not secret or not hmac.compare_digest(sign(secret, request.body).encode(), given):
        raise Refused(
            "EAUTH",
            "the request is not GitHub's, or GITHUB_SECRET is another webhook's",
            source="github",
        )


def sign(secret: str, body: bytes) -> str:
    """Return the signature of a body's raw bytes."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
