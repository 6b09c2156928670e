"""The fleet's certificates: one for each host, and bad ones on demand."""

import datetime
import ssl
import tempfile
from ipaddress import IPv4Address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.serialization import Encoding

from testing.certificates import Authority, Pair

API_NAME = "api.okd.lab.test"
ELSEWHERE = IPv4Address("192.0.2.1")


class Certificates:
    """Issues certificates of one CA per run."""

    def __init__(self) -> None:
        self._authority = Authority.create("fleet-ca")

    @property
    def pem(self) -> str:
        """The certificate of the CA."""
        return self._authority.pem

    def context(self, address: str, kind: str = "good") -> ssl.SSLContext:
        """Return the TLS context for the listeners of an address.

        Args:
            kind: `good`, `expired`, `other name` or `other authority`.
        """
        authority = Authority.create("another-ca") if kind == "other authority" else self._authority
        san = ELSEWHERE if kind == "other name" else IPv4Address(address)
        pair = authority.issue([API_NAME], [san])
        return _context(_expired(authority, pair) if kind == "expired" else pair)


def _expired(authority: Authority, pair: Pair) -> Pair:
    """Return the same certificate, expired last year."""
    good = x509.load_pem_x509_certificate(pair.certificate.encode())
    then = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=365)
    builder = (
        x509.CertificateBuilder()
        .subject_name(good.subject)
        .issuer_name(good.issuer)
        .public_key(good.public_key())
        .serial_number(good.serial_number)
        .not_valid_before(then)
        .not_valid_after(then + datetime.timedelta(days=1))
    )
    for extension in good.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    signed = builder.sign(authority.key, hashes.SHA256())
    return Pair(signed.public_bytes(Encoding.PEM).decode(), pair.key)


def _context(pair: Pair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile("w") as file:  # Python's ssl loads certificates only from files
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context
