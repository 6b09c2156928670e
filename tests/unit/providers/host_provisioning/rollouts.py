"""A stand-in of the installations of an update."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from base.errors import ProvisioningError
from providers.host_provisioning.installation.adapters import Target
from providers.host_provisioning.installation.engine import Installation
from providers.host_provisioning.provider import HostProvisioningProvider
from tests.unit.providers.host_provisioning.specs import ROLE


@dataclass
class Rollouts:
    """Replaces `install_all`: records the hosts to install, and fails the chosen ones."""

    targets: list[Target] = field(default_factory=list)
    installations: dict[str, Installation] = field(default_factory=dict)
    failing: tuple[str, ...] = ()
    then: Callable[[], object] = bool
    """What happens meanwhile."""

    def __call__(self, installations: Mapping[str, Installation], **_: Any) -> dict[str, Exception]:
        self.targets += [installation.host for installation in installations.values()]
        self.installations.update(installations)
        for installation in installations.values():
            installation.iso_sha256, installation.seconds = "cd", {"media": 2.5}
        self.then()
        return {name: ProvisioningError("no luck") for name in self.failing if name in installations}


def updated(olds: dict[str, Any], **changes: Any) -> dict[str, Any]:
    answer = HostProvisioningProvider().update("test-compute", olds, {**ROLE, **changes})
    outs: dict[str, Any] = answer.outs or {}
    return outs
