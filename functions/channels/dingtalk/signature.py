"""What DingTalk posts is verified, and decrypted where its robot has a key
(https://open.dingtalk.com/document/orgapp/receive-message).

The signature covers the time and nothing else: whoever sees one request can send others with its
headers, for an hour. Only the key proves what a body says, and when it was said.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
from collections.abc import Mapping
from typing import Final

import orjson

from functions.channels.base import PlatformRequest
from sigil.errors import Refused, UsageError
from sigil.json_fields import as_integer, as_string
from sigil.protocol import Json

STALE_SECONDS: Final = 3600.0
_TIME: Final = re.compile(r"[0-9]{13}", re.ASCII)


def check_head(request: PlatformRequest, secret: str, key: bytes, now: float) -> None:
    """Refuse a request that is not signed with the app's secret, or was not signed lately. With a
    key that decrypts its body the secret may be empty.
    """
    time = request.headers.get("timestamp", "")
    signature = request.headers.get("sign", "")
    if not (secret or key) or request.method != "POST" or not _TIME.fullmatch(time):
        raise _refusal()
    if secret:
        expected = sign(time, secret).encode()
        if not hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), expected):
            raise _refusal()
    _require_lately(int(time), now)


def sign(time: str, secret: str) -> str:
    """Return the signature of a time in milliseconds."""
    digest = hmac.digest(secret.encode(), f"{time}\n{secret}".encode(), hashlib.sha256)
    return base64.b64encode(digest).decode()


def open_body(body: bytes, key: bytes, now: float) -> Mapping[str, Json]:
    """Return what the body of a signed request says, with `key` what is encrypted in it.

    `Refused` EAUTH for what is not encrypted with the key, or was not written lately; `UsageError`
    EINVAL for no JSON object.
    """
    if not key:
        return _read_json(body)
    from functions.channels.callback_encryption import decrypt

    try:
        encrypted = as_string(_read_json(body).get("encrypt"))
    except UsageError:
        encrypted = ""
    opened = decrypt(encrypted, key)
    if opened is None:
        raise _refusal()
    message = _read_json(opened.content)
    written = as_integer(message.get("createAt"), 0)
    if not written:
        raise UsageError("EINVAL", "the message tells no time", source="dingtalk")
    _require_lately(written, now)
    return message


def _require_lately(milliseconds: int, now: float) -> None:
    if abs(now - milliseconds / 1000) > STALE_SECONDS:
        raise Refused("EAUTH", "the request is out of date", source="dingtalk")


def _read_json(body: bytes) -> Mapping[str, Json]:
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        payload = None
    if not isinstance(payload, dict):
        raise UsageError("EINVAL", "the message is no JSON object", source="dingtalk")
    return payload


def _refusal() -> Refused:
    return Refused("EAUTH", "the request is not DingTalk's", source="dingtalk")
