"""Who balances the API and Ingress of a cluster."""

from enum import StrEnum

from cluster.values.platform import ClusterPlatform


class Balancer(StrEnum):
    """Who balances the API and Ingress of a cluster."""

    CLUSTER = "ours"  # its word in the state and in the plan's JSON, which stay
    """keepalived and haproxy of this program, on the machines."""
    OPERATOR = "operator"
    """Those of the machine-config operator on the nodes, and keepalived of this program on the bootstrap VM."""
    SITE = "site"
    """A load balancer of the site: `loadBalancer.type: UserManaged`. Its addresses are the VIPs."""


def needs_api_int(balancer: Balancer, platform: ClusterPlatform) -> bool:
    """Return whether the site's DNS must answer api-int, for a server's first boot.

    It asks the API VIP itself, except where that is the site's balancer, which answers no DNS. On platform baremetal,
    it needs no name.
    """
    return balancer is Balancer.SITE and platform is ClusterPlatform.NONE
