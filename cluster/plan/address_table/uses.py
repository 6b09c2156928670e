"""What an address, network, MAC or BMC is used for, and which two uses may have the same one."""

from collections.abc import Iterable
from enum import StrEnum


class Use(StrEnum):
    """A use, in the words of the messages."""

    API_VIP = "the API VIP"
    INGRESS_VIP = "the Ingress VIP"
    SERVER = "the address of a server"
    BOOTSTRAP = "the address of the bootstrap VM"

    OTHER_CARD = "the address of a server's other card"
    PROVISIONING_VIP = "the VIP on the provisioning network"
    BOOT_SERVER = "the address of the bootstrap VM on the provisioning network"
    RESERVED = "the address that DHCP reserves for a server"

    BALANCER = "the address of the site's balancer"
    BMC = "the address of a BMC"
    MEDIA = "the address of the boot media"
    GATEWAY = "a gateway"
    DNS = "a DNS server"
    NTP = "a time server"
    PROXY = "a proxy"
    REGISTRY = "an image registry"
    WEB_SERVER = "a web server"
    HYPERVISOR = "the hypervisor of the bootstrap VM"

    UNUSABLE = "the first or broadcast address of a machine network"
    ROUTE = "the destination of a route"

    MACHINES = "a machine network"
    PROVISIONING = "the provisioning network"
    PODS = "a network of pods"
    SERVICES = "a network of services"
    OVN = "a network of OVN-Kubernetes"

    CARD = "the MAC of a network card"
    SYSTEM = "the BMC of a server"


ON_MACHINE_NETWORK = frozenset({Use.API_VIP, Use.INGRESS_VIP, Use.SERVER, Use.BOOTSTRAP})
"""What the cluster's machines have on the machine network."""
ON_PROVISIONING = frozenset({Use.PROVISIONING_VIP, Use.BOOT_SERVER, Use.RESERVED})
"""What they have on the provisioning network."""
ON_OTHER_NETWORKS = frozenset({Use.OTHER_CARD, *ON_PROVISIONING})
"""What they have on other networks, which may be separate from those of another cluster."""
PROVISIONER_ONLY = frozenset({Use.WEB_SERVER, Use.HYPERVISOR})
"""What only the provisioner and the BMCs reach."""
SERVICES = frozenset({Use.MEDIA, Use.DNS, Use.NTP, Use.PROXY, Use.REGISTRY, *PROVISIONER_ONLY})
"""What a machine outside the cluster serves."""
SITE = frozenset({*SERVICES, Use.BALANCER, Use.BMC, Use.GATEWAY})
"""What is outside the cluster. One machine may be all of it, such as a helper node or the host of a virtual site."""
CONTAINING = frozenset({Use.MACHINES, Use.PROVISIONING, Use.ROUTE})
"""The networks that addresses are in."""
OVERLAY = frozenset({Use.PODS, Use.SERVICES, Use.OVN})
"""The networks inside a cluster. Its nodes and pods do not reach an address of the site that is in one."""

ADDRESSES = ON_MACHINE_NETWORK | ON_OTHER_NETWORKS | SITE | CONTAINING | OVERLAY | {Use.UNUSABLE}

Pairs = frozenset[frozenset[Use]]


def _pairs(ones: Iterable[Use], others: Iterable[Use]) -> Pairs:
    second = tuple(others)
    return frozenset(frozenset({one, other}) for one in ones for other in second)


IN_ONE_CLUSTER = (
    _pairs(SITE, SITE)
    | _pairs(CONTAINING, ON_MACHINE_NETWORK | ON_OTHER_NETWORKS | SITE | {Use.UNUSABLE})
    | _pairs({Use.ROUTE}, CONTAINING)
    | _pairs(OVERLAY, ON_PROVISIONING)  # the provisioning network itself must not overlap them
    | _pairs(OVERLAY, PROVISIONER_ONLY)
    | _pairs({Use.BALANCER}, {Use.UNUSABLE})
)
"""The pairs of uses that may coincide in one cluster."""

IN_TWO_CLUSTERS = (
    (_pairs(SITE, SITE) - _pairs({Use.BALANCER}, {Use.BALANCER}))
    | _pairs(ON_OTHER_NETWORKS, ON_OTHER_NETWORKS | SITE)
    | _pairs({Use.SERVER}, SERVICES)  # a cluster may serve another one
    | _pairs({Use.INGRESS_VIP}, {Use.PROXY, Use.REGISTRY, *PROVISIONER_ONLY})
    | _pairs({Use.PROVISIONING}, ON_MACHINE_NETWORK | ON_OTHER_NETWORKS | SITE)
    | _pairs({Use.MACHINES, Use.ROUTE, Use.UNUSABLE, *OVERLAY}, Use)
)
"""The pairs of uses that may coincide in two clusters of one layer-2 network."""


def rivals(use: Use, may_coincide: Pairs) -> list[Use]:
    """Return the uses whose value one of this use must not have."""
    comparable = ADDRESSES if use in ADDRESSES else {use}
    return [other for other in Use if other in comparable and frozenset({use, other}) not in may_coincide]
