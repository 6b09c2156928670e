"""Face of `BmcHost`."""

from dataclasses import dataclass
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from providers.bmc_host.provider import BmcHostProvider


@dataclass(frozen=True, kw_only=True)
class BmcHostArgs:
    """Inputs of `BmcHost`."""

    host: pulumi.Input[str]
    """Name in the install-config."""
    bmc_url: pulumi.Input[str]
    """BMC address as the install-config has it, `redfish-virtualmedia+https://…/redfish/v1/Systems/<id>`."""
    username: pulumi.Input[str]
    password: pulumi.Input[str]
    """Secret."""
    ca: pulumi.Input[str] = ""
    """PEM of the CA that signed the BMC's certificate; empty: the system's CAs."""
    fingerprint: pulumi.Input[str] = ""
    """SHA-256 of the BMC's certificate, 64 hex digits; where given it alone is trusted."""
    verify: pulumi.Input[bool] = True
    """False: any certificate is taken, and every preview warns of it."""
    session: pulumi.Input[bool] = False
    """True: log in by a Redfish session, for a BMC that refuses Basic."""
    consent: pulumi.Input[str] = ""
    """System UUID or serial of the machine whose disk may be wiped; empty fails the preview."""
    deadline_s: pulumi.Input[float] = 300
    """Time for the BMC to answer and to reach a state, in seconds."""
    running: pulumi.Input[bool] = False
    """True: create records the server and leaves it running (a cluster whose state was lost)."""
    urn: pulumi.Input[str] = ""
    """URN of this resource, for progress in its row."""


class BmcHost(Resource, module="baremetal", name="BmcHost"):
    """One server behind its BMC."""

    uuid: pulumi.Output[str]
    """SMBIOS UUID as the BMC reports it, lower case; stable across reinstalls."""
    serial: pulumi.Output[str]
    """Serial number as the BMC reports it."""
    model: pulumi.Output[str]
    """Model as the BMC reports it."""
    manufacturer: pulumi.Output[str]
    """Manufacturer as the BMC reports it."""
    bios_version: pulumi.Output[str]
    """Firmware version of the system."""
    bmc_version: pulumi.Output[str]
    """Firmware version of the BMC."""
    found: pulumi.Output[dict[str, Any]]
    """As found before anything was changed: `override: {target, enabled, mode}` and `media`."""

    def __init__(self, name: str, args: BmcHostArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        outs = dict.fromkeys(("uuid", "serial", "model", "manufacturer", "bios_version", "bmc_version", "found"))
        super().__init__(BmcHostProvider(), name, {**vars(args), **outs}, opts)
        if args.verify is False:
            # From the program and not from `check`, so that it comes once in every preview and in every `up`.
            what = "any certificate is taken for that of its BMC (disableCertificateVerification)"
            pulumi.warn(f"{what}; pin it with the stack option bmc_trust.{name}", self)
