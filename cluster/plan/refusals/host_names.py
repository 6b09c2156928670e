"""Host names that openshift-install accepts, and with which a node does not work."""

import re
from collections.abc import Iterator

from base.errors import Fault
from cluster.install_config import InstallConfig
from cluster.plan.intent import roles
from cluster.values.role import Role

LONGEST = 63
"""Characters of a node's label `kubernetes.io/hostname`, which has the whole name. Linux takes 64."""
NUMBER = re.compile(r"(0x[0-9a-f]+|[0-9]+)(\.(0x[0-9a-f]+|[0-9]+))*")
"""What inet_aton(3), and with it every resolver, takes for an address: 1 is 0.0.0.1."""
ETCD_BOOTSTRAP = "etcd-bootstrap"
"""The member that the bootstrap VM has in etcd (cluster-etcd-operator, bootstrapteardowncontroller.go)."""
FIX = "choose another name before this host is installed"


def refused_names(config: InstallConfig) -> Iterator[Fault]:
    """Yield the names of servers that a node cannot have, or that something else of the cluster has in DNS."""
    domain = f"{config.metadata.name}.{config.base_domain.removesuffix('.')}"
    owners = {
        f"api.{domain}": "the API VIP",
        f"api-int.{domain}": "the API VIP",
        f"bootstrap.{domain}": "the bootstrap VM",
        f"{config.metadata.name}-bootstrap": "the bootstrap VM",
    }
    for index, (host, role) in enumerate(zip(config.baremetal.hosts or (), roles(config), strict=True)):
        if role is None:
            continue
        # The names for which each node's CoreDNS answers the host's addresses.
        names = (host.name, f"{host.name}.{domain}")
        taken = next((f"{name} is the name of {owners[name]}" for name in names if name in owners), "")
        if what := _unusable(host.name, role) or _below_apps(names, domain) or taken:
            yield Fault(f"platform.baremetal.hosts[{index}].name", what, FIX)
        owners = {**dict.fromkeys(names, f"hosts[{index}]"), **owners}


def _unusable(name: str, role: Role) -> str:
    if len(name) > LONGEST:
        return f"has {len(name)} characters, and the name of a node has at most {LONGEST}"
    if NUMBER.fullmatch(name):
        return f"{name} is a number, which every resolver takes for an address"
    if "localhost" in name:  # machine-config-operator 125ab1509, usr-local-bin-mco-hostname.yaml: wait_localhost
        return f"{name} contains localhost, and a node waits for a name without it before it starts its kubelet"
    if name == ETCD_BOOTSTRAP and role.holds_etcd:
        return f"{name} is the bootstrap VM's member of etcd, and OKD removes the member of that name"
    return ""


def _below_apps(names: tuple[str, ...], domain: str) -> str:
    apps = f"apps.{domain}"
    below = next((name for name in names if f".{name}".endswith(f".{apps}")), "")
    return f"DNS answers the Ingress VIP for {below}, as for all names below {apps}" if below else ""
