"""The certificate by which the media server serves over TLS: made for one run, and held in memory only."""

import datetime
import os
import ssl
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Self

from wires.redfish.bmc import MEDIA_CERTIFICATE

LIFETIME = datetime.timedelta(days=3650)
SINCE = datetime.datetime(2000, 1, 1, tzinfo=datetime.UTC)  # a BMC's clock may be years behind
KEY_BITS = 2048  # RSA: TLS clients of older BMCs know no elliptic curves


@dataclass(frozen=True)
class ServerCertificate:
    """A self-signed certificate of one address, and the TLS context of a server that shows it."""

    pem: str
    context: ssl.SSLContext = field(repr=False)

    @classmethod
    def of(cls, address: str) -> Self:
        """Make a key, and its certificate for an IP address."""
        # Imported here, because only an installation needs it (docs/explanation/rooms.md).
        from cryptography import x509  # noqa: PLC0415
        from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415
        from cryptography.hazmat.primitives.asymmetric import rsa  # noqa: PLC0415

        key = rsa.generate_private_key(65537, KEY_BITS)
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, MEDIA_CERTIFICATE)])
        usage = dict.fromkeys(
            (
                "content_commitment",
                "data_encipherment",
                "key_agreement",
                "crl_sign",
                "encipher_only",
                "decipher_only",
            ),
            False,
        )
        extensions: list[tuple[x509.ExtensionType, bool]] = [
            (x509.BasicConstraints(ca=True, path_length=0), True),
            (x509.KeyUsage(digital_signature=True, key_encipherment=True, key_cert_sign=True, **usage), True),
            (x509.ExtendedKeyUsage([x509.oid.ExtendedKeyUsageOID.SERVER_AUTH]), False),
            (x509.SubjectAlternativeName([x509.IPAddress(ip_address(address))]), False),
            (x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False),
        ]
        builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        builder = builder.not_valid_before(SINCE).not_valid_after(datetime.datetime.now(datetime.UTC) + LIFETIME)
        for extension, critical in extensions:
            builder = builder.add_extension(extension, critical)
        pem = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
        secret = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        return cls(pem.decode(), _context(pem + secret))


def _context(certificate_and_key: bytes) -> ssl.SSLContext:
    """Return the context of a server. Python's ssl reads keys only from files: this one has no name on any disk."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    descriptor = os.memfd_create("certificate")
    try:
        os.write(descriptor, certificate_and_key)
        context.load_cert_chain(f"/proc/self/fd/{descriptor}")
    finally:
        os.close(descriptor)
    return context
