"""The signature of Slack's requests
(https://docs.slack.dev/authentication/verifying-requests-from-slack).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping

from sigil.errors import Refused

SIGNATURE = "x-slack-signature"
TIMESTAMP = "x-slack-request-timestamp"
WINDOW_SECONDS = 300
"""An older request may have been recorded by somebody, and sent again."""
_SIGNATURE = re.compile(r"v0=[0-9a-f]{64}", re.ASCII)
_TIMESTAMP = re.compile(r"[0-9]{1,12}", re.ASCII)


def check_head(headers: Mapping[str, str], now: float) -> None:
    """Refuse with EAUTH a request without a signature, or with the time of another hour."""
    timestamp = headers.get(TIMESTAMP, "")
    if not _TIMESTAMP.fullmatch(timestamp) or not _SIGNATURE.fullmatch(headers.get(SIGNATURE, "")):
        raise _refuse("the request is not signed as Slack signs")
    if abs(now - int(timestamp)) > WINDOW_SECONDS:
        raise _refuse("the request is not of these minutes: is this machine's clock right?")


def check_signature(secret: str, headers: Mapping[str, str], body: bytes) -> None:
    """Refuse with EAUTH a body that was not signed with `secret`; without one nothing passes."""
    signed = sign(secret, headers.get(TIMESTAMP, ""), body).encode()
    given = headers.get(SIGNATURE, "").encode("utf-8", "surrogatepass")
    if not secret or not hmac.compare_digest(signed, given):
        raise _refuse("the request is not Slack's, or SLACK_SECRET is another app's")


def sign(secret: str, timestamp: str, body: bytes) -> str:
    """Return the signature of a body: the raw bytes, and the time at which they were sent."""
    base = b"v0:" + timestamp.encode() + b":" + body
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


def _refuse(message: str) -> Refused:
    return Refused("EAUTH", message, source="slack")
