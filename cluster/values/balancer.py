"""Who balances the API and Ingress of a cluster."""

from enum import StrEnum


class Balancer(StrEnum):
    """Who balances the API and Ingress of a cluster."""

    CLUSTER = "ours"  # its word in the state and in the plan's JSON, which stay
    """keepalived and haproxy of this program, on the machines."""
    OPERATOR = "operator"
    """Those of the machine-config operator on the nodes, and keepalived of this program on the bootstrap VM."""
    SITE = "site"
    """A load balancer of the site: `loadBalancer.type: UserManaged`. Its addresses are the VIPs."""
