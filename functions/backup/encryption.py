"""Encrypt the secrets of a backup with a passphrase.

The result is a JSON document that names everything but the passphrase, so that any program with
scrypt and ChaCha20-Poly1305 can open it. It is bound to the rest of its backup: who changes a grant
there cannot have these secrets restored beside it.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from base64 import b64decode, b64encode

import orjson

from sigil.errors import BackendError, Refused, UsageError
from sigil.json_fields import as_mapping

SHORTEST = 12
"""Characters of a passphrase for a new backup."""
LONGEST = 1_024
COST = 1 << 17
"""scrypt's N, which with r = 8 takes 128 MiB and a third of a second."""
COST_MOST = 1 << 19
BLOCK = 8
KEY_BYTES = 32
SALT_BYTES = 16
NONCE_BYTES = 12


def encrypt(body: bytes, passphrase: str, bound_to: bytes) -> bytes:
    """Return a document that only the passphrase opens, beside the same `bound_to` alone."""
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    salt = os.urandom(SALT_BYTES)
    nonce = os.urandom(NONCE_BYTES)
    cipher = ChaCha20Poly1305(_derive_key(passphrase, salt, COST))
    sealed: bytes = cipher.encrypt(nonce, body, _bind(COST, salt, bound_to))
    return orjson.dumps(
        {
            "cipher": "ChaCha20-Poly1305",
            "key": {
                "derived_by": "scrypt",
                "n": COST,
                "r": BLOCK,
                "p": 1,
                "salt": b64encode(salt).decode(),
            },
            "nonce": b64encode(nonce).decode(),
            "text": b64encode(sealed).decode(),
        },
        option=orjson.OPT_INDENT_2,
    )


def decrypt(document: bytes, passphrase: str, bound_to: bytes) -> bytes:
    """Return what was encrypted; `Refused` EAUTH for another passphrase, or when the backup beside
    it was changed.
    """
    from cryptography.exceptions import InvalidTag
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    try:
        fields = as_mapping(orjson.loads(document))
        key = as_mapping(fields["key"])
        cost = key["n"]
        salt = b64decode(str(key["salt"]), validate=True)
        nonce = b64decode(str(fields["nonce"]), validate=True)
        text = b64decode(str(fields["text"]), validate=True)
        if (fields["cipher"], key["derived_by"]) != ("ChaCha20-Poly1305", "scrypt"):
            raise ValueError("another way to encrypt")
        # the file decides how much memory is used, so there is a bound
        if not isinstance(cost, int) or not 2 <= cost <= COST_MOST or cost & (cost - 1):
            raise ValueError("a cost that no backup has")
        if (key["r"], key["p"]) != (BLOCK, 1) or len(nonce) != NONCE_BYTES or len(salt) > 64:
            raise ValueError("parameters that no backup has")
    except (ValueError, KeyError, TypeError):
        raise BackendError(
            "EDAMAGED", "the secrets of the backup cannot be read", source="backup"
        ) from None
    try:
        cipher = ChaCha20Poly1305(_derive_key(passphrase, salt, cost))
        body: bytes = cipher.decrypt(nonce, text, _bind(cost, salt, bound_to))
    except InvalidTag:
        raise Refused(
            "EAUTH",
            "the passphrase is wrong, or the backup was changed since it was made",
            suggestion="type it again; without --secrets the rest is restored",
        ) from None
    return body


def require_passphrase(passphrase: str) -> str:
    """Return a passphrase for a new backup; `UsageError` EINVAL for one that is soon guessed."""
    if not SHORTEST <= len(passphrase) <= LONGEST:
        raise UsageError(
            "EINVAL",
            f"a passphrase has {SHORTEST} to {LONGEST:,} characters",
            suggestion="five or six random words are good and can be typed",
        )
    return passphrase


def _derive_key(passphrase: str, salt: bytes, cost: int) -> bytes:
    # the same words typed on another keyboard are the same passphrase
    typed = unicodedata.normalize("NFKC", passphrase).encode(errors="surrogateescape")
    return hashlib.scrypt(
        typed,
        salt=salt,
        n=cost,
        r=BLOCK,
        p=1,
        maxmem=2 * 128 * BLOCK * cost,
        dklen=KEY_BYTES,
    )


def _bind(cost: int, salt: bytes, bound_to: bytes) -> bytes:
    return b"\n".join((b"uncaged-backup", b"%d" % cost, salt.hex().encode(), bound_to))
