"""The class of `BmcHost` in the graph."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.bmc_host.model import BmcHostSpec
from providers.bmc_host.provider import BmcHostProvider


class BmcHost(BaremetalResource, module="baremetal", name="BmcHost"):
    """One server behind its BMC, pinned by the operator's consent."""

    uuid: pulumi.Output[str]
    """System UUID as the BMC reports it, in lower case; a reinstallation keeps it."""
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
    """As found before anything was changed: `override: {target, enabled, mode}`, `media` and `secure_boot`."""

    def __init__(
        self, name: str, spec: BmcHostSpec, opts: pulumi.ResourceOptions | None = None, **later: pulumi.Input[Any]
    ) -> None:
        super().__init__(BmcHostProvider(), name, spec, opts, **later)
        if not spec.bmc.verify:
            # Here rather than in `check`, so that every preview and every `up` shows it once.
            what = "any certificate is accepted from its BMC (disableCertificateVerification)"
            pulumi.warn(f"{what}. Fix: pin it with the stack option bmc_trust.{spec.host}", self)
