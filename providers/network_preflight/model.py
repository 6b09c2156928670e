"""Inputs and outputs of `NetworkPreflight`, and the protocol of its probes."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal, Protocol, Self, get_args

from base.spec import Model, Outs, Spec
from cluster.option_types import Transport
from cluster.options import NetworkFindings
from cluster.values.balancer import Balancer
from cluster.values.phase import Phase
from cluster.values.platform import ClusterPlatform
from wires.segment.dhcp import Offer
from wires.segment.vrrp import Advert

if TYPE_CHECKING:
    from cluster.plan import ClusterPlan
    from cluster.plan.model import Machine, Vip

FIELDS = {"api": "apiVIPs", "ingress": "ingressVIPs", "provisioning": "clusterProvisioningIP"}
"""The field of each VIP, by its option in `vrids`."""
Mode = Literal["Managed", "Unmanaged"]
"""Values of `provisioningNetwork` with such a network. A provider loads no cluster.install_config for two words."""


class VipClaim(Model):
    """A VIP, and the machines of the cluster that may hold it."""

    what: str
    """Name in messages: API VIP or Ingress VIP."""
    option: str
    """Key of its VRID in the option `vrids`."""
    vips: tuple[str, ...]
    """One address per family."""
    router_id: int
    """Its VRID, by the name that it has in the state."""
    transport: Transport | None = None
    """How those machines reach each other by VRRP; None in a state of an earlier release."""
    holders: dict[str, tuple[str, ...]]
    """Addresses of each machine that may hold it, by name."""
    macs: tuple[str, ...] = ()
    """MACs of those machines, as far as the plan knows them."""

    @property
    def field(self) -> str:
        """The key of `platform.baremetal` that has the VIPs."""
        return FIELDS[self.option]

    @classmethod
    def of(cls, what: str, option: str, vip: "Vip", holders: Iterable["Machine"], macs: tuple[str, ...] = ()) -> Self:
        """Build the claim of a planned VIP."""
        return cls(
            what=what,
            option=option,
            vips=tuple(map(str, vip.addresses)),
            router_id=vip.vrid,
            transport=vip.transport,
            holders={machine.name: tuple(map(str, machine.addresses)) for machine in holders},
            macs=macs,
        )


class ProvisioningSegment(Model):
    """The provisioning network, and the servers that boot from it."""

    mode: Mode
    bridge: str
    macs: tuple[str, ...]
    """MACs of those servers."""
    is_ipv6: bool = False

    @classmethod
    def of(cls, plan: "ClusterPlan") -> Self | None:
        """Return that of a plan. None: no server boots from the network."""
        network = plan.provisioning
        macs = tuple(server.boot_mac for server in plan.booted_from_network)
        if network.mode not in get_args(Mode) or not network.bridge or not macs:
            return None
        values = {"mode": network.mode, "bridge": network.bridge, "macs": macs, "is_ipv6": plan.boots_over_ipv6}
        return cls.model_validate(values)


class NetworkPreflightSpec(Spec):
    """The VIPs, names and provisioning network of a cluster; a changed input repeats the probes."""

    phase: Phase
    domain: str
    """Domain of the cluster."""
    balancer: Balancer = Balancer.CLUSTER
    """If it is the site's, the VIPs are its addresses, and no machine of the cluster holds them."""
    platform: ClusterPlatform = ClusterPlatform.NONE
    api: VipClaim
    ingress: VipClaim
    provisioning: ProvisioningSegment | None = None
    provisioning_vip: VipClaim | None = None
    """The address at which compute boots from the network. It is compared only with that of the state."""
    severity: NetworkFindings

    @classmethod
    def of(cls, plan: "ClusterPlan") -> Self:
        """Build the spec of a plan."""
        first, boots = (plan.bootstrap, *plan.control_plane), plan.provisioning_vip
        return cls(
            phase=plan.options.phase,
            domain=plan.domain,
            balancer=plan.balancer,
            platform=plan.platform,
            api=VipClaim.of("API VIP", "api", plan.api, first, (plan.bootstrap.mac,)),
            ingress=VipClaim.of("Ingress VIP", "ingress", plan.ingress, plan.of(plan.ingress_role)),
            provisioning=ProvisioningSegment.of(plan),
            provisioning_vip=(
                VipClaim.of("provisioning VIP", "provisioning", boots, plan.control_plane) if boots else None
            ),
            severity=plan.options.network_preflight,
        )

    def left_since(self, old: Self, outs: "NetworkPreflightOuts") -> dict[str, tuple[str, ...]]:
        """Return the addresses of the compute that has left the install-config by now, or in an earlier update."""
        known = {**outs.leaving, **old.ingress.holders}
        return {name: addresses for name, addresses in known.items() if name not in self.ingress.holders}

    def before_leaving(self, leaving: Mapping[str, tuple[str, ...]]) -> Self:
        """Return the same with compute that has left, which may hold the Ingress VIP until it is drained."""
        return self.changed(ingress=self.ingress.changed(holders={**leaving, **self.ingress.holders}))

    def claims_since(self, old: "NetworkPreflightSpec") -> Iterator[tuple[VipClaim, VipClaim]]:
        """Yield each VIP of an earlier spec that this one has, too: before and now."""
        yield old.api, self.api
        yield old.ingress, self.ingress
        if old.provisioning_vip and self.provisioning_vip:
            yield old.provisioning_vip, self.provisioning_vip


class NetworkPreflightOuts(Outs):
    """Findings of the preflight."""

    warnings: list[str] = []
    """Findings that did not stop `up`, one line each."""
    unseen: list[str] = []
    """Things that the preflight could not probe, and why."""
    leaving: dict[str, tuple[str, ...]] = {}
    """Addresses of the compute that has left the install-config, by name: until it is drained, it runs on."""


class NetworkProbe(Protocol):
    """Probes of the network; they change nothing."""

    def macs_of(self, address: str) -> frozenset[str]:
        """Return the MACs that answer an address.

        Raises:
            SegmentError: This machine cannot probe its segment.
        """
        ...

    def unanswered(self, address: str, port: int) -> str | None:
        """Return why no host answers a TCP connection, or None: it was accepted or refused."""
        ...

    def adverts(self, addresses: Collection[str]) -> Collection[Advert]:
        """Return the VRRP adverts on the segments of these addresses.

        Raises:
            SegmentError: This machine cannot receive VRRP there.
        """
        ...

    def dhcp_offers(self, interface: str, mac: str) -> Collection[Offer]:
        """Return what DHCP servers offer to a PXE client with this MAC on the segment of an interface.

        Raises:
            SegmentError: This machine cannot ask there.
        """
        ...

    def resolve(self, name: str, version: int) -> frozenset[str]:
        """Return the addresses of a name, of IP version 4 or 6, that this machine's resolver answers.

        Raises:
            OSError: The resolver has none.
        """
        ...
