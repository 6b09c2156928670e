"""The fleet's certificates: one for each host, and bad ones on demand."""

import datetime
import ssl
import tempfile
import warnings
from collections.abc import Callable
from ipaddress import IPv4Address

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from testing.certificates import Authority, Pair

API_NAME = "api.okd.lab.test"
ELSEWHERE = IPv4Address("192.0.2.1")
OLD_TLS = {
    "TLS 1.1": ("DEFAULT:@SECLEVEL=0", ssl.TLSVersion.TLSv1_1),
    "TLS 1.0": ("DEFAULT:@SECLEVEL=0", ssl.TLSVersion.TLSv1),
    "RSA key exchange": ("kRSA", ssl.TLSVersion.TLSv1_2),
}
"""Ciphers and newest version of BMCs that have only old ones, by name."""


class Certificates:
    """Issues certificates of one CA per run."""

    def __init__(self) -> None:
        self._authority = Authority.create("fleet-ca")

    @property
    def pem(self) -> str:
        """The certificate of the CA."""
        return self._authority.pem

    def context(self, address: str, kind: str = "good", tls: str = "") -> ssl.SSLContext:
        """Return the TLS context for the listeners of an address.

        Args:
            kind: `good`, `expired`, `early`, `other name` or `other authority`.
            tls: A name in `OLD_TLS`; empty for what Python offers by itself.
        """
        authority = Authority.create("another-ca") if kind == "other authority" else self._authority
        san = ELSEWHERE if kind == "other name" else IPv4Address(address)
        pair = authority.issue([API_NAME], [san])
        if kind in MOVED:
            pair = MOVED[kind](authority, pair)
        if not tls:
            return _context(pair)
        ciphers, newest = OLD_TLS[tls]
        context = _context(_with_rsa_key(authority, pair))
        context.set_ciphers(ciphers)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # of the versions that are wanted here
            context.minimum_version, context.maximum_version = ssl.TLSVersion.MINIMUM_SUPPORTED, newest
        return context


def expired(authority: Authority, pair: Pair) -> Pair:
    """Return the same certificate, expired last year."""
    return _moved(authority, pair, -365)


def early(authority: Authority, pair: Pair) -> Pair:
    """Return the same certificate, of next year: as for a machine whose clock is slow."""
    return _moved(authority, pair, 365)


def _moved(authority: Authority, pair: Pair, days: int) -> Pair:
    then = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)
    copy = _copy(pair).not_valid_before(then).not_valid_after(then + datetime.timedelta(days=1))
    return Pair(_signed(authority, copy.public_key(_certificate(pair).public_key())), pair.key)


MOVED: dict[str, Callable[[Authority, Pair], Pair]] = {"expired": expired, "early": early}


def _with_rsa_key(authority: Authority, pair: Pair) -> Pair:
    """Return the same certificate for an RSA key: the key exchange of that name has no other."""
    key, good = rsa.generate_private_key(65537, 2048), _certificate(pair)
    copy = _copy(pair).not_valid_before(good.not_valid_before_utc).not_valid_after(good.not_valid_after_utc)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return Pair(_signed(authority, copy.public_key(key.public_key())), pem)


def _certificate(pair: Pair) -> x509.Certificate:
    return x509.load_pem_x509_certificate(pair.certificate.encode())


def _copy(pair: Pair) -> x509.CertificateBuilder:
    """Return the builder of the same certificate, without key and dates."""
    good = _certificate(pair)
    builder = (
        x509.CertificateBuilder()
        .subject_name(good.subject)
        .issuer_name(good.issuer)
        .serial_number(good.serial_number)
    )
    for extension in good.extensions:
        builder = builder.add_extension(extension.value, extension.critical)
    return builder


def _signed(authority: Authority, builder: x509.CertificateBuilder) -> str:
    return builder.sign(authority.key, hashes.SHA256()).public_bytes(Encoding.PEM).decode()


class _AlertingObject(ssl.SSLObject):
    """TLS that tells a client why a handshake fails. asyncio sends what waits to be sent only if it goes on."""

    def do_handshake(self) -> None:
        """Continue the handshake, also once it has failed: the client then ends it."""
        try:
            super().do_handshake()
        except ssl.SSLError as error:
            if error.reason == "HTTP_REQUEST":  # to which OpenSSL has no alert
                raise
            raise ssl.SSLWantReadError(*error.args) from error


def _context(pair: Pair) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.sslobject_class = _AlertingObject
    with tempfile.NamedTemporaryFile("w") as file:  # Python's ssl loads certificates only from files
        file.write(pair.certificate + pair.key)
        file.flush()
        context.load_cert_chain(file.name)
    return context
