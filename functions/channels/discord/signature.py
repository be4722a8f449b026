"""Discord signs what it sends with Ed25519
(https://discord.com/developers/docs/interactions/overview#validating-security-request-headers).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from functions.channels.base import PlatformRequest
from sigil.errors import Refused, UsageError

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

SIGNATURE_HEADER: Final = "x-signature-ed25519"
TIME_HEADER: Final = "x-signature-timestamp"
OLDEST_SECONDS: Final = 300.0
"""A request that was signed so long ago is somebody's copy. Nobody waits for its answer either."""
_KEY: Final = re.compile(r"[0-9a-fA-F]{64}")
_SIGNATURE: Final = re.compile(r"[0-9a-f]{128}")
_TIME: Final = re.compile(r"[1-9][0-9]{0,11}")


def load_public_key(text: str) -> Ed25519PublicKey:
    """Return the application's public key; `UsageError` when the text is none."""
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    if not _KEY.fullmatch(text):
        raise UsageError(
            "ESETTING",
            "DISCORD_PUBLIC_KEY has to be 64 digits of 0-9 a-f",
            source="discord",
            suggestion="copy it from the developer portal: General Information, Public Key",
        )
    return Ed25519PublicKey.from_public_bytes(bytes.fromhex(text))


def verify_headers(request: PlatformRequest, now: float) -> tuple[bytes, bytes]:
    """Return the signature of a request, and its time as it was signed; refuse with EAUTH what
    cannot be right whatever the body says.
    """
    signature = request.headers.get(SIGNATURE_HEADER, "")
    time = request.headers.get(TIME_HEADER, "")
    if not _SIGNATURE.fullmatch(signature) or not _TIME.fullmatch(time):
        raise Refused("EAUTH", "the request has no signature of Discord's", source="discord")
    if abs(now - int(time)) > OLDEST_SECONDS:
        raise Refused(
            "EAUTH",
            "the request was signed too long ago, or this machine's clock is wrong",
            source="discord",
        )
    return bytes.fromhex(signature), time.encode()


def verify_signature(request: PlatformRequest, key: Ed25519PublicKey, now: float) -> None:
    """Refuse with EAUTH a request that Discord has not signed, or too long ago."""
    from cryptography.exceptions import InvalidSignature

    signature, time = verify_headers(request, now)
    try:
        key.verify(signature, time + request.body)
    except InvalidSignature:
        raise Refused("EAUTH", "the request is not Discord's", source="discord") from None
