"""The encryption of what Feishu posts; only an app with an encrypt key loads this module."""

from __future__ import annotations

import base64
import binascii
import hashlib

from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

_BLOCK = 16


def decrypt(encrypted: str, key: str) -> bytes:
    """Return what was encrypted with the encrypt key (AES-256-CBC, PKCS #7); empty for what was
    not.
    """
    try:
        data = base64.b64decode(encrypted, validate=True)
    except (binascii.Error, ValueError):
        return b""
    if len(data) < 2 * _BLOCK or len(data) % _BLOCK:
        return b""
    cipher = Cipher(AES(hashlib.sha256(key.encode()).digest()), CBC(data[:_BLOCK]))
    decryptor = cipher.decryptor()
    padded = decryptor.update(data[_BLOCK:]) + decryptor.finalize()
    length = padded[-1]
    if not 1 <= length <= _BLOCK or padded[-length:] != bytes([length]) * length:
        return b""
    return padded[:-length]
