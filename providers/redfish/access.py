"""How one BMC is reached."""

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
