"""Certificates and keys as PEM.

`cryptography` is imported by the first call: a preview reads no payload, and need not wait for the library.
"""

import re
import ssl
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

Certificates = tuple["x509.Certificate", ...]
_BLOCK = re.compile(
    r"-----BEGIN CERTIFICATE-----(?:[^-]++|-(?!----(?:BEGIN|END) CERTIFICATE-----))++-----END CERTIFICATE-----\n?"
)


def certificates_of(pem: bytes) -> Certificates:
    """Return all certificates of a PEM file.

    Raises:
        ValueError: There is none, or one cannot be read.
    """
    from cryptography import x509  # noqa: PLC0415

    return tuple(x509.load_pem_x509_certificates(pem))


def pem_of(certificates: Certificates) -> str:
    """Return certificates as one PEM file."""
    from cryptography.hazmat.primitives.serialization import Encoding  # noqa: PLC0415

    return "".join(certificate.public_bytes(Encoding.PEM).decode() for certificate in certificates)


def certificates_in_text(pem: bytes) -> str:
    """Return the certificates of a PEM file without its comments: Python's ssl refuses them unless they are ASCII."""
    return "".join(_BLOCK.findall(pem.decode(errors="replace")))


def system_authorities() -> str:
    """Return the PEM of the CAs that this machine trusts; empty if there are none.

    Python loads those of a folder only when a server shows its certificate, so its contexts cannot list them.
    """
    paths = ssl.get_default_verify_paths()  # with SSL_CERT_FILE and SSL_CERT_DIR
    files = [Path(paths.cafile)] if paths.cafile else sorted(Path(paths.capath or "/nonexistent").glob("*.[0-9]"))
    return "".join(certificates_in_text(file.read_bytes()) for file in files if file.is_file())


def check_pair(certificate: bytes, key: bytes) -> None:
    """Check that the key belongs to the certificate.

    Raises:
        ValueError: It does not, or one of the two cannot be read, or has a kind of key that nobody signs with.
    """
    from cryptography.exceptions import UnsupportedAlgorithm  # noqa: PLC0415
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    as_bytes = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    try:
        owner = certificates_of(certificate)[0].public_key()
        own = serialization.load_pem_private_key(key, password=None).public_key()
    except UnsupportedAlgorithm:
        raise ValueError("a key of an unknown kind") from None
    if owner.public_bytes(*as_bytes) != own.public_bytes(*as_bytes):
        raise ValueError("the key belongs to another certificate")


def is_issued_by(certificate: "x509.Certificate", authority: "x509.Certificate") -> bool:
    """Return whether the authority's key has signed the certificate."""
    from cryptography.exceptions import InvalidSignature  # noqa: PLC0415

    try:
        certificate.verify_directly_issued_by(authority)
    except (InvalidSignature, ValueError, TypeError):
        return False
    return True


def names_of(certificate: "x509.Certificate") -> list[str]:
    """Return the DNS names that a server's certificate is for."""
    from cryptography import x509  # noqa: PLC0415

    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
    except x509.ExtensionNotFound:
        return []
    return extension.value.get_values_for_type(x509.DNSName)
