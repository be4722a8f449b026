"""What Meta sends to a webhook is signed with the app's secret, and a webhook is set up with a
token of our own (https://developers.facebook.com/docs/graph-api/webhooks/getting-started).
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
_CHALLENGE: Final = re.compile(r"[A-Za-z0-9_-]{1,256}", re.ASCII)


def check_head(request: PlatformRequest) -> None:
    """Refuse with EAUTH a request that has no signature."""
    if not _SIGNATURE.fullmatch(request.headers.get(SIGNATURE_HEADER, "")):
        raise _refuse("the request is not signed as Meta signs")


def check_signature(secret: str, request: PlatformRequest) -> None:
    """Refuse with EAUTH a body that was not signed with `secret`; without one nothing passes."""
    given = request.headers.get(SIGNATURE_HEADER, "").encode("utf-8", "surrogatepass")
    if not secret or not hmac.compare_digest(sign(secret, request.body).encode(), given):
        raise _refuse("the request is not Meta's, or WHATSAPP_SECRET is another app's")


def sign(secret: str, body: bytes) -> str:
    """Return the signature of a body's raw bytes."""
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


def read_challenge(verify_token: str, request: PlatformRequest) -> bytes:
    """Return what a webhook that is being set up has to answer; refuse with EAUTH who does not know
    the token.
    """
    given = request.query.get("hub.verify_token", "").encode("utf-8", "surrogatepass")
    challenge = request.query.get("hub.challenge", "")
    if not verify_token or not hmac.compare_digest(given, verify_token.encode()):
        raise _refuse("the verify token is not WHATSAPP_VERIFY_TOKEN")
    if request.query.get("hub.mode") != "subscribe" or not _CHALLENGE.fullmatch(challenge):
        raise _refuse("the request is no verification of a webhook")
    return challenge.encode()


def _refuse(message: str) -> Refused:
    return Refused("EAUTH", message, source="whatsapp")
