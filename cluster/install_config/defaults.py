"""The defaults that the installer sets for unset fields before it validates.

Source: openshift/installer pkg/types/defaults/{installconfig,machinepools}.go, baremetal/defaults/platform.go.
Two of the installer's defaults are missing here, because they are not deterministic: VIPs from a DNS lookup (here the
file must name them), and random MACs of the bootstrap VM (`plan` derives one from the cluster's name).
"""

from typing import Any

from cluster.install_config.platform import DISABLED, MANAGED, BareMetal, Host
from cluster.install_config.schema import (
    ClusterNetwork,
    InstallConfig,
    MachineNetwork,
    MachinePool,
    Networking,
    with_baremetal,
)
from cluster.values.address import Network, parse_cidr

REPLICAS = 3
PROVISIONING_NETWORK = "172.22.0.0/24"


def with_defaults(config: InstallConfig) -> InstallConfig:
    """Return the config with all defaults set."""
    compute = config.compute
    if not any(pool.name == "worker" for pool in compute):
        compute = (*compute, MachinePool(name="worker"))
    control_plane = config.control_plane.changed(name=config.control_plane.name or "master")
    config = config.changed(
        networking=_networking(config.networking),
        control_plane=_pool(control_plane),
        compute=tuple(_pool(pool) for pool in compute),
        arbiter=config.arbiter and _pool(config.arbiter),
        publish=config.publish or "External",
        additional_trust_bundle_policy=config.additional_trust_bundle_policy or "Proxyonly",
        cpu_partitioning_mode=config.cpu_partitioning_mode or "None",
    )
    return config if config.platform.baremetal is None else with_baremetal(config, **_baremetal(config.baremetal))


def _networking(networking: Networking) -> Networking:
    default_clusters = (ClusterNetwork(cidr="10.128.0.0/14", host_prefix=23),)
    return networking.changed(
        network_type=networking.network_type or "OVNKubernetes",
        machine_network=networking.machine_network or (MachineNetwork(cidr="10.0.0.0/16"),),
        cluster_network=networking.cluster_network or default_clusters,
        service_network=networking.service_network or ("172.30.0.0/16",),
    )


def _pool(pool: MachinePool) -> MachinePool:
    replicas = 0 if pool.name in ("edge", "arbiter") else REPLICAS
    return pool.changed(
        replicas=replicas if pool.replicas is None else pool.replicas,
        hyperthreading=pool.hyperthreading or "Enabled",
        architecture=pool.architecture or "amd64",
    )


def _baremetal(written: BareMetal) -> dict[str, Any]:
    mode = written.provisioning_network or MANAGED
    filled: dict[str, Any] = {
        "libvirt_uri": written.libvirt_uri or "qemu:///system",
        "external_bridge": written.external_bridge or "baremetal",
        "provisioning_network": mode,
        "dns_records_type": written.dns_records_type or "Internal",
        "hosts": None if written.hosts is None else _hosts(written.hosts),
    }
    return filled if mode == DISABLED else {**filled, **_provisioning(written, mode)}


def _provisioning(written: BareMetal, mode: str) -> dict[str, Any]:
    cidr = written.provisioning_network_cidr or PROVISIONING_NETWORK
    parsed = parse_cidr(cidr)
    network = parsed.network if parsed else None
    dhcp = written.provisioning_dhcp_range
    if not dhcp and mode == MANAGED and network and network.num_addresses > 12:  # noqa: PLR2004
        dhcp = f"{_nth(network, 10)},{_nth(network, -2)}"
    return {
        "provisioning_network_cidr": cidr,
        "provisioning_bridge": written.provisioning_bridge or "provisioning",
        "bootstrap_provisioning_ip": written.bootstrap_provisioning_ip or _nth(network, 2),
        "cluster_provisioning_ip": written.cluster_provisioning_ip or _nth(network, 3),
        "provisioning_dhcp_range": dhcp,
    }


def _nth(network: Network | None, index: int) -> str:
    """Return an address of a network by its number. A negative number counts from the end."""
    if network is None or abs(index) >= network.num_addresses:
        return ""
    return str(network.network_address + index if index >= 0 else network.broadcast_address + index + 1)


def _hosts(hosts: tuple[Host, ...]) -> tuple[Host, ...]:
    """Set the defaults of hosts. Unlike the installer, keep the file's order: faults name a host by its index."""
    return tuple(host.changed(boot_mode=host.boot_mode or "UEFI") for host in hosts)
