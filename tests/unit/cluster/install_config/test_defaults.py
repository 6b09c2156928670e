"""The defaults of missing keys, as in pkg/types/defaults and baremetal/defaults of the installer."""

from operator import attrgetter
from typing import Any

import pytest

from cluster.install_config.defaults import with_defaults
from cluster.install_config.platform import BareMetal, Host, Platform
from cluster.install_config.schema import (
    ClusterNetwork,
    InstallConfig,
    MachineNetwork,
    MachinePool,
    Networking,
)


def filled(**baremetal: Any) -> BareMetal:
    """Return the platform section with its defaults."""
    return with_defaults(InstallConfig(platform=Platform(baremetal=BareMetal(**baremetal)))).baremetal


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("networking.network_type", "OVNKubernetes", id="networkType"),
        pytest.param("networking.machine_network", (MachineNetwork(cidr="10.0.0.0/16"),), id="machineNetwork"),
        pytest.param(
            "networking.cluster_network",
            (ClusterNetwork(cidr="10.128.0.0/14", host_prefix=23),),
            id="clusterNetwork",
        ),
        pytest.param("networking.service_network", ("172.30.0.0/16",), id="serviceNetwork"),
        pytest.param("control_plane.name", "master", id="controlPlane.name"),
        pytest.param("control_plane.replicas", 3, id="controlPlane.replicas"),
        pytest.param("control_plane.hyperthreading", "Enabled", id="controlPlane.hyperthreading"),
        pytest.param("control_plane.architecture", "amd64", id="controlPlane.architecture"),
        pytest.param("arbiter", None, id="arbiter"),
        pytest.param("publish", "External", id="publish"),
        pytest.param("additional_trust_bundle_policy", "Proxyonly", id="additionalTrustBundlePolicy"),
        pytest.param("cpu_partitioning_mode", "None", id="cpuPartitioningMode"),
        pytest.param("platform.baremetal", None, id="platform"),
    ],
)
def test_a_missing_key_gets_its_default(path: str, value: object) -> None:
    assert attrgetter(path)(with_defaults(InstallConfig())) == value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param("libvirt_uri", "qemu:///system", id="libvirtURI"),
        pytest.param("external_bridge", "baremetal", id="externalBridge"),
        pytest.param("external_mac_address", "", id="externalMACAddress"),
        pytest.param("provisioning_mac_address", "", id="provisioningMACAddress"),
        pytest.param("provisioning_network", "Managed", id="provisioningNetwork"),
        pytest.param("provisioning_bridge", "provisioning", id="provisioningBridge"),
        pytest.param("provisioning_network_cidr", "172.22.0.0/24", id="provisioningNetworkCIDR"),
        pytest.param("bootstrap_provisioning_ip", "172.22.0.2", id="bootstrapProvisioningIP"),
        pytest.param("cluster_provisioning_ip", "172.22.0.3", id="clusterProvisioningIP"),
        pytest.param("provisioning_dhcp_range", "172.22.0.10,172.22.0.254", id="provisioningDHCPRange"),
        pytest.param("dns_records_type", "Internal", id="dnsRecordsType"),
        pytest.param("api_vips", (), id="apiVIPs"),
        pytest.param("ingress_vips", (), id="ingressVIPs"),
        pytest.param("hosts", None, id="hosts"),
        pytest.param("load_balancer", None, id="loadBalancer"),
    ],
)
def test_a_missing_key_of_the_platform_gets_its_default(path: str, value: object) -> None:
    assert attrgetter(path)(filled()) == value


@pytest.mark.parametrize(
    ("said", "path", "value"),
    [
        pytest.param({"provisioning_network": "Unmanaged"}, "provisioning_dhcp_range", "", id="unmanaged-range"),
        pytest.param(
            {"provisioning_network": "Unmanaged"}, "cluster_provisioning_ip", "172.22.0.3", id="unmanaged-address"
        ),
        pytest.param(
            {"provisioning_network": "Unmanaged"}, "provisioning_bridge", "provisioning", id="unmanaged-bridge"
        ),
        pytest.param({"provisioning_network": "Disabled"}, "provisioning_network_cidr", "", id="disabled-network"),
        pytest.param({"provisioning_network": "Disabled"}, "bootstrap_provisioning_ip", "", id="disabled-bootstrap"),
        pytest.param({"provisioning_network": "Disabled"}, "cluster_provisioning_ip", "", id="disabled-cluster"),
        pytest.param({"provisioning_network": "Disabled"}, "provisioning_dhcp_range", "", id="disabled-range"),
        pytest.param({"provisioning_network": "Disabled"}, "provisioning_bridge", "", id="disabled-bridge"),
        pytest.param({"provisioning_network": "Disabled"}, "external_bridge", "baremetal", id="disabled-outside"),
        pytest.param(
            {"provisioning_network_cidr": "172.23.0.0/16"},
            "provisioning_dhcp_range",
            "172.23.0.10,172.23.255.254",
            id="range-of-another-network",
        ),
        pytest.param(
            {"provisioning_network_cidr": "172.23.0.64/28"},
            "provisioning_dhcp_range",
            "172.23.0.74,172.23.0.78",
            id="range-of-the-smallest-network",
        ),
        pytest.param(
            {"provisioning_network_cidr": "172.23.0.64/28"},
            "bootstrap_provisioning_ip",
            "172.23.0.66",
            id="address-of-another-network",
        ),
        pytest.param(
            {"provisioning_network_cidr": "172.23.0.5/24"},
            "bootstrap_provisioning_ip",
            "172.23.0.2",
            id="address-of-a-network-with-host-bits",
        ),
        pytest.param(
            {"provisioning_network_cidr": "fd00:1101::/64"},
            "provisioning_dhcp_range",
            "fd00:1101::a,fd00:1101::ffff:ffff:ffff:fffe",
            id="range-of-an-ipv6-network",
        ),
        pytest.param(
            {"provisioning_network_cidr": "fd00:1101::/64"},
            "cluster_provisioning_ip",
            "fd00:1101::3",
            id="address-of-an-ipv6-network",
        ),
        pytest.param(
            {"provisioning_network_cidr": "172.23.0.0/31"},
            "bootstrap_provisioning_ip",
            "",
            id="no-room-for-an-address",
        ),
        pytest.param(
            {"provisioning_network_cidr": "nonsense"}, "cluster_provisioning_ip", "", id="address-of-no-network"
        ),
        pytest.param(
            {"provisioning_network_cidr": "nonsense"}, "provisioning_dhcp_range", "", id="range-of-no-network"
        ),
    ],
)
def test_the_defaults_of_the_provisioning_network_depend_on_its_mode(
    said: dict[str, Any], path: str, value: object
) -> None:
    assert attrgetter(path)(filled(**said)) == value


def test_a_given_key_keeps_its_value() -> None:
    said: dict[str, Any] = {
        "libvirt_uri": "qemu+ssh://kni@hypervisor.test/system",
        "external_bridge": "br0",
        "external_mac_address": "52:54:00:00:00:01",
        "provisioning_network": "Managed",
        "provisioning_bridge": "br1",
        "provisioning_network_cidr": "172.23.0.0/24",
        "provisioning_dhcp_range": "172.23.0.100,172.23.0.200",
        "bootstrap_provisioning_ip": "172.23.0.20",
        "cluster_provisioning_ip": "172.23.0.30",
        "dns_records_type": "External",
    }
    assert filled(**said) == BareMetal(**said)
    networking = Networking(
        network_type="Calico",
        machine_network=(MachineNetwork(cidr="192.0.2.0/24"),),
        cluster_network=(ClusterNetwork(cidr="10.0.0.0/14"),),
        service_network=("10.4.0.0/16",),
    )
    assert with_defaults(InstallConfig(networking=networking)).networking == networking


@pytest.mark.parametrize(
    ("said", "pools"),
    [
        pytest.param((), [("worker", 3)], id="none"),
        pytest.param((MachinePool(name="worker"),), [("worker", 3)], id="without-replicas"),
        pytest.param((MachinePool(name="worker", replicas=0),), [("worker", 0)], id="of-none"),
        pytest.param((MachinePool(name="edge"),), [("edge", 0), ("worker", 3)], id="another-pool-alone"),
        pytest.param((MachinePool(),), [("", 3), ("worker", 3)], id="without-a-name"),
    ],
)
def test_compute_gets_a_worker_pool_by_default(said: tuple[MachinePool, ...], pools: list[tuple[str, int]]) -> None:
    assert [(pool.name, pool.replicas) for pool in with_defaults(InstallConfig(compute=said)).compute] == pools


def test_an_arbiter_pool_without_replicas_has_none() -> None:
    arbiter = with_defaults(InstallConfig(arbiter=MachinePool(name="arbiter"))).arbiter
    assert arbiter == MachinePool(name="arbiter", replicas=0, hyperthreading="Enabled", architecture="amd64")


def test_hosts_boot_by_uefi_and_keep_the_order_of_the_file() -> None:
    hosts = (Host(name="b", role="worker"), Host(name="a", role="master", boot_mode="legacy"))
    found = filled(hosts=hosts).hosts or ()
    assert [(host.name, host.boot_mode) for host in found] == [("b", "UEFI"), ("a", "legacy")]
