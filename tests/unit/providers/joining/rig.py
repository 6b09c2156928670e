"""Two hosts of one role, and a cluster that they join."""

from dataclasses import dataclass, field
from typing import Any

from providers.joining.approvals import Joining
from providers.joining.nodes import SeenNodes
from testing.certificate_requests import FakeCluster
from testing.fakes.clock import FakeClock
from wires.bmc.client import Identity

VIP, AT = "192.0.2.5", "2026-11-22T00:00:00+00:00"
W0, W1 = "192.0.2.31", "192.0.2.32"


@dataclass
class Rig:
    """Two hosts of one role, and a cluster that they join."""

    cluster: FakeCluster = field(default_factory=FakeCluster)
    clock: FakeClock = field(default_factory=FakeClock)
    kubelets: dict[str, str] = field(default_factory=dict)
    """What the kubelet at an address lacks."""
    approves: bool = True
    together: tuple[str, ...] = ()
    in_production: bool = False
    log: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.joining = Joining(
            api=self.cluster,
            nodes=SeenNodes(self.cluster, VIP, self.clock, self.in_production),
            hosts={"w0": [W0], "w1": [W1]},
            approves=self.approves,
            kubelet=self.kubelets.get,
            log=self.log.append,
            warn=self.warnings.append,
            now=lambda: AT,
            together=self.together,
        )

    def missing(self, host: str = "w0", address: str = W0) -> str | None:
        """Ask once the API is polled again."""
        self.clock.sleep(2)
        return self.joining.missing(host, address)

    @property
    def records(self) -> dict[str, list[dict[str, Any]]]:
        return {
            host: [approval.model_dump() for approval in approvals]
            for host, approvals in self.joining.approved.items()
        }


def rig(*requests: dict[str, Any], nodes: tuple[dict[str, Any], ...] = (), **changes: Any) -> Rig:
    return Rig(FakeCluster([{**request} for request in requests], [*nodes]), **changes)


def machine(uuid: str) -> Identity:
    return Identity(uuid.lower(), "SN-1")
