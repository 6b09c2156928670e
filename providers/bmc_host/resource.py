"""The class of `BmcHost` in the graph."""

from typing import Any

import pulumi

from providers.bmc_host.model import BmcHostSpec
from providers.bmc_host.provider import BmcHostProvider
from providers.pulumi.dynamic import BaremetalResource


class BmcHost(BaremetalResource[BmcHostSpec], provider=BmcHostProvider):
    """One server behind its BMC, pinned by the operator's consent."""

    uuid: pulumi.Output[str]
    serial: pulumi.Output[str]

    def __init__(
        self, name: str, spec: BmcHostSpec, opts: pulumi.ResourceOptions | None = None, **later: pulumi.Input[Any]
    ) -> None:
        super().__init__(name, spec, opts, **later)
        if not spec.bmc.verify and not spec.bmc.url.speaks_ipmi:
            # Here rather than in `check`, so that every preview and every `up` shows it once.
            what = "any certificate is accepted from its BMC (disableCertificateVerification)"
            pulumi.warn(f"{what}. Fix: pin it with the stack option bmc_trust.{spec.host}", self)
