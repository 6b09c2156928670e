"""How one BMC is reached, and how long it may take."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pydantic import ConfigDict

from providers.base.spec import Model

if TYPE_CHECKING:
    from cluster.options import Options
    from cluster.plan import Server


class BmcAccess(Model):
    """Address, login and trust of one BMC, all but the password."""

    model_config = ConfigDict(extra="ignore")

    address: str
    """As the install-config has it: `redfish-virtualmedia+https://…/redfish/v1/Systems/<id>`."""
    username: str
    ca: str = ""
    """PEM of the CA that signed the BMC's certificate; empty: the system's CAs."""
    fingerprint: str = ""
    """SHA-256 of that certificate, 64 hex digits; where given it alone is trusted, whoever signed it."""
    verify: bool = True
    """False trusts any certificate (`disableCertificateVerification` of the install-config)."""
    session: bool = False
    """Log in by a Redfish session, for a BMC that refuses Basic; it is ended with the connection."""

    @classmethod
    def of(cls, options: "Options", server: "Server", *, ca: str) -> Self:
        """A planned server's BMC: by what the options say of that one, else with the CA of all."""
        login, trust = options.bmc_credentials.get(server.name), options.bmc_trust.get(server.name)
        return cls(
            address=server.bmc.address,
            username=server.bmc.username,
            ca=trust.ca if trust and trust.ca else ca,
            fingerprint=trust.sha256 if trust else "",
            verify=server.bmc.verify_tls or trust is not None,
            session=login is not None and login.session,
        )


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
