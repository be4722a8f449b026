"""The encryption of what DingTalk and WeCom post; only a channel with a key of it loads this
module.

A key is 43 characters of base64. AES-256-CBC with the key's beginning in place of a random one;
plain are 16 random bytes, the length of the message, the message, and for whom it is.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from sigil.errors import UsageError

_START = 16
_HEAD = 20
"""Bytes before the message: random ones, and four of its length."""
_BLOCK = 32


@dataclass(frozen=True, slots=True)
class OpenedMessage:
    """A message, and the id of whom it is for."""

    content: bytes
    receiver: bytes


def read_key(key: str, variable: str = "the key of the encryption") -> bytes:
    """Return the bytes of a key; `UsageError` when the `variable` with it has none."""
    try:
        read = base64.b64decode(f"{key}=", validate=True)
    except (binascii.Error, ValueError):
        read = b""
    if len(key) != 43 or len(read) != 32:
        raise UsageError("ESETTING", f"{variable} has not 43 characters of base64")
    return read


def decrypt(encrypted: str, key: bytes) -> OpenedMessage | None:
    """Return what was encrypted with a key, None for what was not."""
    try:
        data = base64.b64decode(encrypted, validate=True)
    except (binascii.Error, ValueError):
        return None
    if not data or len(data) % 16:
        return None
    decryptor = Cipher(AES(key), CBC(key[:_START])).decryptor()
    padded = decryptor.update(data) + decryptor.finalize()
    padding = padded[-1]
    if not 1 <= padding <= _BLOCK or padded[-padding:] != bytes([padding]) * padding:
        return None
    plain = padded[:-padding]
    end = _HEAD + int.from_bytes(plain[_START:_HEAD])
    if len(plain) < _HEAD or end > len(plain):
        return None
    return OpenedMessage(plain[_HEAD:end], plain[end:])
