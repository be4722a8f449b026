"""What WeCom posts is verified and decrypted
(https://developer.work.weixin.qq.com/document/path/90238).
"""

from __future__ import annotations

import hashlib
import hmac
import re
from typing import Final

from functions.channels.base import PlatformRequest
from functions.channels.callback_encryption import decrypt
from functions.channels.wecom.xml_fields import read_fields
from sigil.errors import Refused, UsageError

STALE_SECONDS: Final = 3600.0
_TIME: Final = re.compile(r"[0-9]{10}", re.ASCII)


class Callback:
    """The secrets of an app's API for receiving messages: its `token`, without which nothing
    passes, its `key`, and the `corp_id` of those for whom messages are.
    """

    def __init__(self, token: str, key: bytes, corp_id: str) -> None:
        self._token = token
        self._key = key
        self._corp_id = corp_id

    def check_head(self, request: PlatformRequest, now: float) -> None:
        """Refuse a request without a signature, or of another time."""
        time = request.query.get("timestamp", "")
        if not self._token or not self._key or not request.query.get("msg_signature"):
            raise _refusal()
        if not _TIME.fullmatch(time):
            raise _refusal()
        if abs(now - int(time)) > STALE_SECONDS:
            raise Refused("EAUTH", "the request is out of date", source="wecom")

    def open_challenge(self, request: PlatformRequest, now: float) -> bytes:
        """Return what WeCom waits for when the address is set; `Refused` for anybody else."""
        self.check_head(request, now)
        return self._open(request, request.query.get("echostr", ""))

    def open_body(self, request: PlatformRequest, now: float) -> dict[str, str]:
        """Return the fields of a message; `Refused` EAUTH unless WeCom sent it, `UsageError` EINVAL
        when it cannot be read.
        """
        self.check_head(request, now)
        encrypted = read_fields(request.body).get("Encrypt", "")
        fields = read_fields(self._open(request, encrypted))
        if not fields:
            raise UsageError("EINVAL", "the message is no XML of WeCom's", source="wecom")
        return fields

    def _open(self, request: PlatformRequest, encrypted: str) -> bytes:
        query = request.query
        expected = sign(
            self._token, query.get("timestamp", ""), query.get("nonce", ""), encrypted
        ).encode()
        given = query.get("msg_signature", "").encode("utf-8", "surrogatepass")
        if not encrypted or not hmac.compare_digest(given, expected):
            raise _refusal()
        opened = decrypt(encrypted, self._key)
        if opened is None or opened.receiver != self._corp_id.encode():
            raise _refusal()
        return opened.content


def sign(*parts: str) -> str:
    """Return the signature of the token, the time, the nonce and what is encrypted."""
    text = "".join(sorted(parts)).encode("utf-8", "surrogatepass")
    return hashlib.sha1(text, usedforsecurity=False).hexdigest()


def _refusal() -> Refused:
    return Refused("EAUTH", "the request is not WeCom's", source="wecom")
