"""Address, login and trust of one BMC, and the limits of its requests."""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pydantic import ConfigDict

from base.spec import Model
from cluster.values.bmc_url import BmcUrl, parse_bmc_url
from cluster.values.boot_method import BootMethod
from wires.bmc.client import LEGACY, UEFI

if TYPE_CHECKING:
    from cluster.options import BmcOptions
    from cluster.plan.model import PlannedFence, PlannedHost


ANY_LOGIN = "bmc_credentials.<host>, else bmc.username and bmc.password in install-config.yaml"
"""The places where a login may be written, for messages where `BmcAccess.login` is empty."""


class BmcAccess(Model):
    """Address, login and trust of one BMC, without the password."""

    model_config = ConfigDict(extra="ignore")

    address: str
    """As in the install-config: `redfish-virtualmedia+https://…/redfish/v1/Systems/<id>`."""
    username: str
    ca: str = ""
    """PEM of the CA that signed the BMC's certificate. Empty: the system's CAs."""
    fingerprint: str = ""
    """SHA-256 of that certificate, 64 hex digits. If set, only this certificate is trusted, with any signer."""
    verify: bool = True
    """False: any certificate is trusted (`disableCertificateVerification` of the install-config)."""
    legacy_tls: bool = False
    """Whether the BMC may use TLS below 1.2 and RSA key exchange."""
    session: bool = False
    """Whether to log in with a Redfish session, for a BMC that refuses Basic. It ends with the connection."""
    boot_mode: str = UEFI
    """How the server has to boot: UEFI, Legacy or UEFISecureBoot."""
    boot_mac: str = ""
    """The host's `bootMACAddress`, by which a consent names the server of a nameless IPMI BMC; empty for Redfish."""
    login: str = ""
    """Where username and password are written, for messages; empty in the state of an older release."""

    @property
    def url(self) -> BmcUrl:
        """The parsed address."""
        return parse_bmc_url(self.address)

    @property
    def boot_method(self) -> BootMethod:
        """How the server gets to its boot ISO."""
        return BootMethod.of(self.url, self.boot_mode)

    @property
    def without_place(self) -> Self:
        """The same access, without the place of its login: a login that was only moved is the same."""
        return self.changed(login="")

    @classmethod
    def of(cls, options: "BmcOptions", host: "PlannedHost", *, ca: str) -> Self:
        """Return the access to a planned host's BMC: the options' trust for that BMC, else `ca`."""
        login, trust = options.bmc_credentials.get(host.name), options.bmc_trust.get(host.name)
        written = f"the bmc of {host.name} in install-config.yaml"
        return cls(
            address=host.bmc.address,
            username=host.bmc.username,
            ca=trust.ca if trust and trust.ca else ca,
            fingerprint=trust.sha256 if trust else "",
            verify=host.bmc.verify_tls or trust is not None,
            legacy_tls=trust is not None and trust.legacy_tls,
            session=login is not None and login.session,
            boot_mac=host.boot_mac if host.bmc.url.speaks_ipmi else "",
            boot_mode=LEGACY if host.boot_mode == "legacy" else host.boot_mode,
            login=f"bmc_credentials.{host.name}" if login and login.password else written,
        )

    @classmethod
    def of_fence(cls, fence: "PlannedFence") -> Self:
        """Return the access by which one server fences another."""
        return cls(
            address=fence.address,
            username=fence.username,
            ca=fence.ca,
            verify=fence.verify_tls,
            login=f"{fence.where} in install-config.yaml",
        )


@dataclass(frozen=True)
class Limits:
    """The limits of requests, in seconds and bytes.

    Args:
        connect_s: For TCP and TLS to connect.
        answer_s: From the first byte sent to the last byte received, even if the answer trickles in.
        insert_s: As `answer_s`, for an insert, during which some BMCs download the whole image.
        body_bytes: Largest body of an answer.
        whole_s: For all requests together, of which the first without an answer is the last. `inf`: there may be
            any number, and each may be repeated.
        reads: Number of GETs that are sent. `inf`: any.
    """

    connect_s: float = 10
    answer_s: float = 30
    insert_s: float = 120
    body_bytes: int = 4 * 1024 * 1024
    whole_s: float = math.inf
    reads: float = math.inf


LIMITS = Limits()
CHECK_LIMITS = Limits(whole_s=120)
"""The limits of a check: for 20 requests, as many as one may take, to a BMC that takes 6 s for each."""
