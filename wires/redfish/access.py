"""How one BMC is reached, and how long it may take."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Access:
    """Address, login and trust.

    Args:
        address: As the install-config has it.
        ca: PEM of the CA that signed the BMC's certificate; empty: the system's CAs.
        fingerprint: SHA-256 of that certificate, 64 hex digits; where given it alone is trusted, whoever signed it.
        verify: False trusts any certificate (`disableCertificateVerification` of the install-config).
        session: Log in by a Redfish session, for a BMC that refuses Basic; it is ended with the connection.
    """

    address: str
    username: str
    password: str = field(repr=False)
    ca: str = ""
    fingerprint: str = ""
    verify: bool = True
    session: bool = False


@dataclass(frozen=True)
class Limits:
    """Of one request.

    Args:
        connect_s: TCP and TLS.
        answer_s: From the first byte sent to the last byte received, however it trickles.
        insert_s: The same for an insert, in which some BMCs download the whole image.
        body_bytes: Of an answer.
    """

    connect_s: float = 10
    answer_s: float = 30
    insert_s: float = 120
    body_bytes: int = 4 * 1024 * 1024


LIMITS = Limits()
