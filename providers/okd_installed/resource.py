"""The class of `OkdInstalled` in the graph."""

from typing import Any

import pulumi

from providers.base.dynamic import BaremetalResource
from providers.okd_installed.model import OkdInstalledSpec
from providers.okd_installed.provider import OkdInstalledProvider


class OkdInstalled(BaremetalResource, module="baremetal", name="OkdInstalled"):
    """OKD's own report that its installation is complete."""

    version: pulumi.Output[str]
    """The release."""
    operators: pulumi.Output[list[str]]
    """Names of the cluster's operators."""

    def __init__(
        self,
        name: str,
        spec: OkdInstalledSpec,
        opts: pulumi.ResourceOptions | None = None,
        **later: pulumi.Input[Any],
    ) -> None:
        super().__init__(OkdInstalledProvider(), name, spec, opts, **later)
