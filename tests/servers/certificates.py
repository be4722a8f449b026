"""Certificates for tests, made without any tool: an authority and a server certificate on the curve
P-256.
"""

from __future__ import annotations

import base64
import hashlib
import ipaddress
import secrets
import ssl
from dataclasses import dataclass
from pathlib import Path

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
Point = tuple[int, int] | None

_EC, _CURVE, _ECDSA_SHA256 = "2a8648ce3d0201", "2a8648ce3d030107", "2a8648ce3d040302"
_COMMON_NAME, _SUBJECT_ID, _AUTHORITY_ID, _BASIC, _USAGE, _NAMES = (
    "550403",
    "551d0e",
    "551d23",
    "551d13",
    "551d0f",
    "551d11",
)


@dataclass(frozen=True)
class Authority:
    """Who signs; `certificate` is what clients are told to trust."""

    folder: Path
    key: int
    certificate: Path

    def server(self, *names: str) -> ssl.SSLContext:
        """What a server that is called `names` (hosts or addresses) receives its clients with."""
        key = secrets.randbelow(N - 1) + 1
        certificate = self.folder / f"{names[0]}.pem"
        certificate.write_text(
            _pem("EC PRIVATE KEY", _private(key))
            + _pem("CERTIFICATE", _certificate(names[0], key, self.key, names))
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        return context


def authority(folder: Path) -> Authority:
    """A new one; its files are in `folder`."""
    key = secrets.randbelow(N - 1) + 1
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "authority.pem"
    path.write_text(_pem("CERTIFICATE", _certificate("authority", key, key, ())))
    return Authority(folder, key, path)


def _add(one: Point, other: Point) -> Point:
    if one is None or other is None:
        return one or other
    if one[0] == other[0] and (one[1] + other[1]) % P == 0:
        return None
    if one == other:
        slope = (3 * one[0] * one[0] - 3) * pow(2 * one[1], -1, P) % P
    else:
        slope = (other[1] - one[1]) * pow(other[0] - one[0], -1, P) % P
    x = (slope * slope - one[0] - other[0]) % P
    return x, (slope * (one[0] - x) - one[1]) % P


def _times(number: int) -> tuple[int, int]:
    total: Point = None
    power: Point = G
    while number:
        if number & 1:
            total = _add(total, power)
        power = _add(power, power)
        number >>= 1
    assert total is not None
    return total


def _public(key: int) -> bytes:
    x, y = _times(key)
    return b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")


def _sign(key: int, data: bytes) -> bytes:
    nonce = secrets.randbelow(N - 1) + 1
    r = _times(nonce)[0] % N
    s = pow(nonce, -1, N) * (int.from_bytes(hashlib.sha256(data).digest(), "big") + r * key) % N
    return _sequence(_integer(r), _integer(s))


def _der(tag: int, *parts: bytes) -> bytes:
    data = b"".join(parts)
    size = len(data).to_bytes((len(data).bit_length() + 7) // 8 or 1, "big")
    return bytes([tag]) + (size if len(data) < 128 else bytes([0x80 | len(size)]) + size) + data


def _sequence(*parts: bytes) -> bytes:
    return _der(0x30, *parts)


def _integer(number: int) -> bytes:
    return _der(0x02, number.to_bytes(number.bit_length() // 8 + 1, "big"))


def _identifier(text: str) -> bytes:
    return _der(0x06, bytes.fromhex(text))


def _name(text: str) -> bytes:
    return _sequence(_der(0x31, _sequence(_identifier(_COMMON_NAME), _der(0x0C, text.encode()))))


def _extension(kind: str, value: bytes, *, critical: bool = False) -> bytes:
    return _sequence(_identifier(kind), *([b"\x01\x01\xff"] if critical else []), _der(0x04, value))


def _extensions(key: int, signer: int, names: tuple[str, ...]) -> bytes:
    subject, issuer = (hashlib.sha256(_public(each)).digest()[:20] for each in (key, signer))
    usage, basic = (
        (b"\x03\x02\x07\x80", _sequence())
        if names
        else (b"\x03\x02\x01\x06", _sequence(b"\x01\x01\xff"))
    )
    found = [
        _extension(_BASIC, basic, critical=True),
        _extension(_USAGE, usage, critical=True),
        _extension(_SUBJECT_ID, _der(0x04, subject)),
        _extension(_AUTHORITY_ID, _sequence(_der(0x80, issuer))),
    ]
    if names:
        found.append(_extension(_NAMES, _sequence(*map(_alternative, names))))
    return _der(0xA3, _sequence(*found))


def _alternative(name: str) -> bytes:
    try:
        return _der(0x87, ipaddress.ip_address(name).packed)
    except ValueError:
        return _der(0x82, name.encode())


def _certificate(name: str, key: int, signer: int, names: tuple[str, ...]) -> bytes:
    algorithm = _sequence(_identifier(_ECDSA_SHA256))
    body = _sequence(
        _der(0xA0, _integer(2)),
        _integer(secrets.randbits(120)),
        algorithm,
        _name("authority"),
        _sequence(_der(0x17, b"200101000000Z"), _der(0x17, b"491231235959Z")),
        _name(name),
        _sequence(
            _sequence(_identifier(_EC), _identifier(_CURVE)), _der(0x03, b"\0", _public(key))
        ),
        _extensions(key, signer, names),
    )
    return _sequence(body, algorithm, _der(0x03, b"\0", _sign(signer, body)))


def _private(key: int) -> bytes:
    return _sequence(
        _integer(1),
        _der(0x04, key.to_bytes(32, "big")),
        _der(0xA0, _identifier(_CURVE)),
        _der(0xA1, _der(0x03, b"\0", _public(key))),
    )


def _pem(kind: str, data: bytes) -> str:
    lines = base64.encodebytes(data).decode()
    return f"-----BEGIN {kind}-----\n{lines}-----END {kind}-----\n"
