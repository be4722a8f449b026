"""What Feishu posts is verified, and decrypted where the app has an encrypt key
(https://open.feishu.cn/document/event-subscription-guide/event-subscriptions/event-subscription-configure-/encrypt-key-encryption-configuration-case).

With the key everything is encrypted and signed; only the challenge at the set-up has no signature.
Without it the verification token in the body is all that proves the sender.
"""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

import orjson

from functions.channels.base import PlatformRequest
from sigil.errors import Refused, UsageError
from sigil.json_fields import as_mapping, as_string
from sigil.protocol import Json

Payload = Mapping[str, Json]
CHALLENGE = "url_verification"
STALE_SECONDS = 8 * 3600
"""Feishu repeats an event for a good seven hours; whether with a new time is not documented."""
EARLY_SECONDS = 300
"""Our clock may be behind by so much."""
_TIME = re.compile(r"[0-9]{1,16}", re.ASCII)
_NOT_FEISHU = "the request is not Feishu's"


@dataclass(frozen=True, slots=True)
class WebhookSecrets:
    """The encrypt key of the app, which may be empty, and its verification token, without which
    nothing passes.
    """

    encrypt_key: str = field(repr=False)
    verification_token: str = field(repr=False)


def open_body(request: PlatformRequest, secrets: WebhookSecrets, now: float) -> Payload:
    """Return what a request says.

    `Refused` EAUTH unless Feishu sent it; `UsageError` EINVAL when Feishu sent no JSON object.
    """
    if secrets.encrypt_key:
        payload = _open_encrypted(request, secrets.encrypt_key, now)
    else:
        payload = _read_json(request.body)
    if payload is None:
        # only what is signed can come so far without being read
        if secrets.encrypt_key:
            raise UsageError("EINVAL", "the event is no JSON object", source="feishu")
        raise _refusal()
    return _require_token(payload, secrets)


def _open_encrypted(request: PlatformRequest, key: str, now: float) -> Payload | None:
    """Return what is encrypted in a request; None for what is signed and cannot be read.

    A challenge at the set-up has no signature: it is known by its token.
    """
    from functions.channels.feishu.encryption import decrypt

    is_signed = _check_signature(request, key, now)
    outer = _read_json(request.body) or {}
    payload = _read_json(decrypt(as_string(outer.get("encrypt")), key))
    if is_signed:
        return payload
    if payload is None or payload.get("type") != CHALLENGE:
        raise _refusal()
    return payload


def _check_signature(request: PlatformRequest, key: str, now: float) -> bool:
    """Return whether the request is signed; refuse a signature that is wrong or out of date."""
    signature = request.headers.get("x-lark-signature", "")
    if not signature:
        return False
    time = request.headers.get("x-lark-request-timestamp", "")
    nonce = request.headers.get("x-lark-request-nonce", "")
    expected = sign(time, nonce, key, request.body).encode()
    if not hmac.compare_digest(signature.encode("utf-8", "surrogatepass"), expected):
        raise _refusal()
    if not _TIME.fullmatch(time):
        raise _refusal()
    age = now - int(time)
    if not -EARLY_SECONDS <= age <= STALE_SECONDS:
        raise Refused("EAUTH", "the request is out of date", source="feishu")
    return True


def sign(time: str, nonce: str, key: str, body: bytes) -> str:
    """Return the signature of a body."""
    beginning = f"{time}{nonce}{key}".encode("utf-8", "surrogatepass")
    return hashlib.sha256(beginning + body).hexdigest()


def _read_json(body: bytes) -> Payload | None:
    try:
        payload = orjson.loads(body)
    except orjson.JSONDecodeError:
        return None
    return payload if isinstance(payload, dict) else None


def _require_token(payload: Payload, secrets: WebhookSecrets) -> Payload:
    """Return the payload if its verification token is ours; only a signed event may have none."""
    token = as_string(as_mapping(payload.get("header")).get("token") or payload.get("token"))
    needs_token = not secrets.encrypt_key or payload.get("type") == CHALLENGE
    expected = secrets.verification_token
    matches = hmac.compare_digest(token.encode("utf-8", "surrogatepass"), expected.encode())
    if not expected or not (matches or (not token and not needs_token)):
        raise _refusal()
    return payload


def _refusal() -> Refused:
    return Refused("EAUTH", _NOT_FEISHU, source="feishu")
