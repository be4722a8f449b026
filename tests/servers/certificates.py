"""Certificates for tests: an authority and a server certificate on the curve P-256."""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

_NAME = "authority"


@dataclass(frozen=True)
class Authority:
    """Who signs; `certificate` is what clients are told to trust."""

    folder: Path
    key: ec.EllipticCurvePrivateKey
    certificate: Path

    def server(self, *names: str) -> ssl.SSLContext:
        """What a server that is called `names` (hosts or addresses) receives its clients with."""
        key = _make_key()
        private = key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        )
        certificate = self.folder / f"{names[0]}.pem"
        certificate.write_bytes(private + _certify(names[0], key, self.key, names))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        return context


def authority(folder: Path) -> Authority:
    """A new one; its files are in `folder`."""
    key = _make_key()
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "authority.pem"
    path.write_bytes(_certify(_NAME, key, key, ()))
    return Authority(folder, key, path)


def _make_key() -> ec.EllipticCurvePrivateKey:
    return ec.generate_private_key(ec.SECP256R1())


def _certify(
    name: str,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    names: tuple[str, ...],
) -> bytes:
    """Return the certificate of a server that is called `names`, of an authority without any."""
    is_server = bool(names)
    builder = (
        x509.CertificateBuilder()
        .subject_name(_common_name(name))
        .issuer_name(_common_name(_NAME))
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(datetime(2020, 1, 1, tzinfo=UTC))
        .not_valid_after(datetime(2049, 12, 31, tzinfo=UTC))
        .add_extension(x509.BasicConstraints(not is_server, None), critical=True)
        .add_extension(_usage(is_server=is_server), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key()),
            critical=False,
        )
    )
    if is_server:
        alternatives = x509.SubjectAlternativeName(map(_alternative, names))
        builder = builder.add_extension(alternatives, critical=False)
    return builder.sign(signer, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def _common_name(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _usage(*, is_server: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=is_server,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=not is_server,
        crl_sign=not is_server,
        encipher_only=False,
        decipher_only=False,
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)
