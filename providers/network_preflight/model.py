"""What is wanted of the network, and how it is probed."""

from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING, Protocol, Self

from cluster.options import NetworkFindings, Phase
from providers.base.spec import Model, Spec
from wires.segment.vrrp import Advert

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan
    from cluster.plan.model import Machine, Vip


class VipClaim(Model):
    """A VIP, and which machines of the cluster may have it."""

    what: str
    """For people: API VIP, Ingress VIP."""
    option: str
    """Its key in `vrids`."""
    vips: tuple[str, ...]
    """One per family."""
    router_id: int
    holders: dict[str, tuple[str, ...]]
    """Addresses of each machine that may hold it, by name."""
    macs: tuple[str, ...] = ()
    """Of those of them whose MAC is known beforehand."""

    @classmethod
    def of(cls, what: str, option: str, vip: "Vip", holders: Iterable["Machine"], macs: tuple[str, ...] = ()) -> Self:
        """The claim of a planned VIP."""
        return cls(
            what=what,
            option=option,
            vips=tuple(map(str, vip.addresses)),
            router_id=vip.router_id,
            holders={each.name: tuple(map(str, each.addresses)) for each in holders},
            macs=macs,
        )


class NetworkPreflightSpec(Spec):
    """What is wanted of the network; a changed input has it probed again."""

    phase: Phase
    domain: str
    """The cluster's."""
    api: VipClaim
    ingress: VipClaim
    severity: NetworkFindings

    @classmethod
    def of(cls, plan: "ClusterPlan") -> Self:
        """What a plan wants."""
        first = (plan.bootstrap, *plan.control_plane)
        return cls(
            phase=plan.options.phase,
            domain=plan.domain,
            api=VipClaim.of("API VIP", "api", plan.api, first, (plan.bootstrap.mac,)),
            ingress=VipClaim.of("Ingress VIP", "ingress", plan.ingress, plan.of(plan.ingress_role)),
            severity=plan.options.network_preflight,
        )


class NetworkProbe(Protocol):
    """What the judgement asks of the world; nothing is changed."""

    def macs_of(self, address: str) -> frozenset[str]:
        """MACs that answer an address.

        Raises:
            SegmentError: It cannot be asked from here.
        """
        ...

    def adverts(self, addresses: Collection[str]) -> Collection[Advert]:
        """What VRRP advertises on the networks of these addresses.

        Raises:
            SegmentError: It cannot be received here.
        """
        ...

    def resolve(self, name: str, version: int) -> frozenset[str]:
        """Addresses of a name, of IP version 4 or 6, as this machine's resolver has them.

        Raises:
            OSError: It has none.
        """
        ...
