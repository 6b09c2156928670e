"""Conversion of deprecated keys, as in openshift/installer pkg/types/conversion/installconfig.go."""

from typing import Any

from base.errors import Fault
from cluster.install_config.platform import UNMANAGED, BareMetal
from cluster.install_config.schema import ClusterNetwork, InstallConfig, MachineNetwork, Networking, with_baremetal
from cluster.values.address import parse_cidr

API_VERSIONS = ("v1", "v1beta3", "v1beta4")
DNS_VIP = Fault("platform.baremetal.dnsVIP", "gone since 4.5: each node has a DNS of its own", "remove it")
REMOVED = {DNS_VIP.where: DNS_VIP}
"""Keys that no installer of today knows, by their path: what took their place is no key."""


def modernize(config: InstallConfig) -> tuple[InstallConfig, list[Fault], list[Fault]]:
    """Move the values of old keys to their new keys.

    Returns:
        The config, a fault for each old key that contradicts its new key, and a notice for each old key.
    """
    networking, notices = _networking(config.networking)
    config = config.changed(networking=networking)
    faults: list[Fault] = []
    if config.platform.baremetal is not None:
        changes, faults, more = _baremetal(config.baremetal)
        config = with_baremetal(config, **changes)
        notices += more
    if config.image_content_sources:
        notices.append(_notice("imageContentSources", "imageDigestSources"))
    return config, faults, notices


def _networking(networking: Networking) -> tuple[Networking, list[Fault]]:
    notices: list[Fault] = []
    changes: dict[str, Any] = {}
    if networking.machine_cidr:
        notices.append(_notice("networking.machineCIDR", "machineNetwork"))
        changes["machine_network"] = networking.machine_network or (MachineNetwork(cidr=networking.machine_cidr),)
    if networking.service_cidr:
        notices.append(_notice("networking.serviceCIDR", "serviceNetwork"))
        changes["service_network"] = networking.service_network or (networking.service_cidr,)
    if networking.cluster_networks:
        notices.append(_notice("networking.clusterNetworks", "clusterNetwork"))
    clusters = networking.cluster_network or networking.cluster_networks
    changes["cluster_network"] = tuple(_host_prefix(network) for network in clusters)
    if any(network.host_subnet_length for network in clusters):
        notices.append(_notice("networking.clusterNetwork.hostSubnetLength", "hostPrefix"))
    if networking.type:
        notices.append(_notice("networking.type", "networkType"))
    kind = networking.network_type or networking.type
    # The installer accepts these two in upper and lower case.
    named = {name.lower(): name for name in ("OVNKubernetes", "OpenShiftSDN")}
    changes["network_type"] = named.get(kind.lower(), kind)
    return networking.changed(**changes), notices


def _host_prefix(network: ClusterNetwork) -> ClusterNetwork:
    cidr = parse_cidr(network.cidr)
    if network.host_prefix or not network.host_subnet_length or cidr is None:
        return network
    return network.changed(host_prefix=cidr.max_prefixlen - network.host_subnet_length)


def _baremetal(old: BareMetal) -> tuple[dict[str, Any], list[Fault], list[Fault]]:
    faults: list[Fault] = []
    notices: list[Fault] = []
    changes: dict[str, Any] = {}
    at = "platform.baremetal"
    for name, new, value, values in (
        ("apiVIP", "apiVIPs", old.api_vip, old.api_vips),
        ("ingressVIP", "ingressVIPs", old.ingress_vip, old.ingress_vips),
        ("provisioningHostIP", "clusterProvisioningIP", old.provisioning_host_ip, old.cluster_provisioning_ip),
    ):
        if not value:
            continue
        notices.append(_notice(f"{at}.{name}", new))
        if values and value not in ((values,) if isinstance(values, str) else values):
            listed = values if isinstance(values, str) else ", ".join(values)
            what = f"{value}, but {new} is {listed}"
            faults.append(Fault(f"{at}.{name}", what, f"keep {new} and remove {name}"))
    changes["api_vips"] = old.api_vips or ((old.api_vip,) if old.api_vip else ())
    changes["ingress_vips"] = old.ingress_vips or ((old.ingress_vip,) if old.ingress_vip else ())
    changes["cluster_provisioning_ip"] = old.cluster_provisioning_ip or old.provisioning_host_ip
    if old.provisioning_dhcp_external:
        notices.append(_notice(f"{at}.provisioningDHCPExternal", "provisioningNetwork: Unmanaged"))
        changes["provisioning_network"] = old.provisioning_network or UNMANAGED
    for name, image in (("bootstrapOSImage", old.bootstrap_os_image), ("clusterOSImage", old.cluster_os_image)):
        if image:
            notices.append(Fault(f"{at}.{name}", "the installer no longer reads it", "remove it"))
    return changes, faults, notices


def _notice(path: str, new: str) -> Fault:
    return Fault(path, "an old spelling", f"write {new}")
