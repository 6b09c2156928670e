"""Certificates and keys as PEM.

`cryptography` is imported by the first call: a preview reads no payload, and need not wait for the library.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cryptography import x509

Certificates = tuple["x509.Certificate", ...]


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


def check_pair(certificate: bytes, key: bytes) -> None:
    """Check that the key belongs to the certificate.

    Raises:
        ValueError: It does not, or one of the two cannot be read.
    """
    from cryptography.hazmat.primitives import serialization  # noqa: PLC0415

    as_bytes = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    owner = certificates_of(certificate)[0].public_key()
    own = serialization.load_pem_private_key(key, password=None).public_key()
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
