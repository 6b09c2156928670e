"""Private CAs and the certificates that they issue, for tests and lab."""

import datetime
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from ipaddress import IPv4Address, IPv6Address
from typing import Self

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_LIFETIME = datetime.timedelta(days=30)
_CLOCK_SKEW = datetime.timedelta(days=1)  # a guest's clock may be behind


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, PEM."""

    certificate: str
    key: str


@dataclass(frozen=True)
class Authority:
    """A CA for this process only: no file contains its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey

    @classmethod
    def create(cls, name: str) -> Self:
        """Make a self-signed CA."""
        # P-256, since handshakes are slow for emulated guests.
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        builder = _builder(subject, subject, key.public_key()).add_extension(x509.BasicConstraints(True, None), True)
        return cls(builder.sign(key, hashes.SHA256()), key)

    @property
    def pem(self) -> str:
        """The CA's certificate."""
        return self.certificate.public_bytes(Encoding.PEM).decode()

    @property
    def pair(self) -> Pair:
        """The CA's certificate and its key, for a program that issues certificates itself."""
        return Pair(self.pem, _pem(self.key))

    def issue(self, names: Iterable[str], addresses: Iterable[IPv4Address | IPv6Address] = ()) -> Pair:
        """Issue a server certificate for `names` and `addresses`; the first name is its subject."""
        alternatives = [*map(x509.DNSName, names), *map(x509.IPAddress, addresses)]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, str(alternatives[0].value))])
        return self._issue(subject, x509.SubjectAlternativeName(alternatives))

    def issue_client(self, name: str, *groups: str) -> Pair:
        """Issue a certificate by which Kubernetes identifies a client as this user, in these groups."""
        with warnings.catch_warnings(action="ignore"):  # the name of OKD's node-bootstrapper is too long for X.509
            user = x509.NameAttribute(NameOID.COMMON_NAME, name, _validate=False)
        subject = x509.Name([*(x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups), user])
        return self._issue(subject)

    def _issue(self, subject: x509.Name, *extensions: x509.ExtensionType) -> Pair:
        key = ec.generate_private_key(ec.SECP256R1())
        usages = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
        builder = _builder(subject, self.certificate.subject, key.public_key())
        for extension in (*extensions, usages):
            builder = builder.add_extension(extension, False)
        issued = builder.add_extension(x509.BasicConstraints(False, None), True).sign(self.key, hashes.SHA256())
        return Pair(issued.public_bytes(Encoding.PEM).decode(), _pem(key))


def _pem(key: ec.EllipticCurvePrivateKey) -> str:
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()


def _builder(subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _CLOCK_SKEW)
        .not_valid_after(now + _LIFETIME)
    )


@cache
def authority(name: str) -> Authority:
    """Return the CA of this name, the same for all tests of a run."""
    return Authority.create(name)
