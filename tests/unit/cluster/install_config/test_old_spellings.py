"""Old keys alone, or with an equal or a different new key, as in pkg/types/conversion of openshift/installer."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml

from cluster.install_config import InstallConfig, Reading, read
from testing import plans
from testing.install_configs import Change, bare, refused

AT = "platform.baremetal"
NETWORK = "192.168.111.0/24"
OTHER_NETWORK = "192.168.110.0/23"


def changed(change: Change) -> Reading:
    """Read the changed base file."""
    config = plans.install_config()
    change(config)
    return read(yaml.safe_dump(config))


def networking(remove: str, **keys: Any) -> Change:
    """Remove one key from the section networking (none if empty), and add others."""

    def change(config: dict[str, Any]) -> None:
        config["networking"].pop(remove, None)
        config["networking"].update(keys)

    return change


def baremetal(remove: str, **keys: Any) -> Change:
    """Remove one key from the section platform.baremetal, and add others."""

    def change(config: dict[str, Any]) -> None:
        bare(config).pop(remove, None)
        bare(config).update(keys)

    return change


def _machine(config: InstallConfig) -> object:
    return [each.cidr for each in config.networking.machine_network]


def _service(config: InstallConfig) -> object:
    return list(config.networking.service_network)


def _cluster(config: InstallConfig) -> object:
    return [(each.cidr, each.host_prefix) for each in config.networking.cluster_network]


def _kind(config: InstallConfig) -> object:
    return config.networking.network_type


def _api(config: InstallConfig) -> object:
    return list(config.baremetal.api_vips)


def _ingress(config: InstallConfig) -> object:
    return list(config.baremetal.ingress_vips)


def _cluster_ip(config: InstallConfig) -> object:
    return config.baremetal.cluster_provisioning_ip


def _mode(config: InstallConfig) -> object:
    return config.baremetal.provisioning_network


def _old(path: str, new: str) -> str:
    return f"{path}: an old spelling. Fix: write {new}"


MACHINE_CIDR = _old("networking.machineCIDR", "machineNetwork")
SERVICE_CIDR = _old("networking.serviceCIDR", "serviceNetwork")
CLUSTER_NETWORKS = _old("networking.clusterNetworks", "clusterNetwork")
SUBNET_LENGTH = _old("networking.clusterNetwork.hostSubnetLength", "hostPrefix")
TYPE = _old("networking.type", "networkType")
API_VIP = _old(f"{AT}.apiVIP", "apiVIPs")
INGRESS_VIP = _old(f"{AT}.ingressVIP", "ingressVIPs")
HOST_IP = _old(f"{AT}.provisioningHostIP", "clusterProvisioningIP")
DHCP_EXTERNAL = _old(f"{AT}.provisioningDHCPExternal", "provisioningNetwork: Unmanaged")


@pytest.mark.parametrize(
    ("change", "value", "wanted", "notices"),
    [
        pytest.param(
            networking("machineNetwork", machineCIDR=OTHER_NETWORK),
            _machine,
            [OTHER_NETWORK],
            [MACHINE_CIDR],
            id="machineCIDR-alone",
        ),
        pytest.param(
            networking("", machineCIDR=NETWORK), _machine, [NETWORK], [MACHINE_CIDR], id="machineCIDR-agreeing"
        ),
        pytest.param(
            networking("", machineCIDR=OTHER_NETWORK),
            _machine,
            [NETWORK],
            [MACHINE_CIDR],
            id="machineCIDR-disagreeing",
        ),
        pytest.param(
            networking("serviceNetwork", serviceCIDR="172.31.0.0/16"),
            _service,
            ["172.31.0.0/16"],
            [SERVICE_CIDR],
            id="serviceCIDR-alone",
        ),
        pytest.param(
            networking("", serviceCIDR="172.30.0.0/16"),
            _service,
            ["172.30.0.0/16"],
            [SERVICE_CIDR],
            id="serviceCIDR-agreeing",
        ),
        pytest.param(
            networking("", serviceCIDR="172.31.0.0/16"),
            _service,
            ["172.30.0.0/16"],
            [SERVICE_CIDR],
            id="serviceCIDR-disagreeing",
        ),
        pytest.param(
            networking("clusterNetwork", clusterNetworks=[{"cidr": "10.132.0.0/14", "hostPrefix": 24}]),
            _cluster,
            [("10.132.0.0/14", 24)],
            [CLUSTER_NETWORKS],
            id="clusterNetworks-alone",
        ),
        pytest.param(
            networking("", clusterNetworks=[{"cidr": "10.128.0.0/14", "hostPrefix": 23}]),
            _cluster,
            [("10.128.0.0/14", 23)],
            [CLUSTER_NETWORKS],
            id="clusterNetworks-agreeing",
        ),
        pytest.param(
            networking("", clusterNetworks=[{"cidr": "10.132.0.0/14", "hostPrefix": 24}]),
            _cluster,
            [("10.128.0.0/14", 23)],
            [CLUSTER_NETWORKS],
            id="clusterNetworks-disagreeing",
        ),
        pytest.param(
            networking("", clusterNetwork=[{"cidr": "10.128.0.0/14", "hostSubnetLength": 8}]),
            _cluster,
            [("10.128.0.0/14", 24)],
            [SUBNET_LENGTH],
            id="hostSubnetLength-alone",
        ),
        pytest.param(
            networking("", clusterNetwork=[{"cidr": "10.128.0.0/14", "hostPrefix": 23, "hostSubnetLength": 9}]),
            _cluster,
            [("10.128.0.0/14", 23)],
            [SUBNET_LENGTH],
            id="hostSubnetLength-agreeing",
        ),
        pytest.param(
            networking("", clusterNetwork=[{"cidr": "10.128.0.0/14", "hostPrefix": 23, "hostSubnetLength": 8}]),
            _cluster,
            [("10.128.0.0/14", 23)],
            [SUBNET_LENGTH],
            id="hostSubnetLength-disagreeing",
        ),
        pytest.param(
            networking("clusterNetwork", clusterNetworks=[{"cidr": "10.128.0.0/14", "hostSubnetLength": 9}]),
            _cluster,
            [("10.128.0.0/14", 23)],
            [CLUSTER_NETWORKS, SUBNET_LENGTH],
            id="hostSubnetLength-in-clusterNetworks",
        ),
        pytest.param(
            networking("networkType", type="OVNKubernetes"), _kind, "OVNKubernetes", [TYPE], id="type-alone"
        ),
        pytest.param(networking("", type="OVNKubernetes"), _kind, "OVNKubernetes", [TYPE], id="type-agreeing"),
        pytest.param(networking("", type="Calico"), _kind, "OVNKubernetes", [TYPE], id="type-disagreeing"),
        pytest.param(
            baremetal("apiVIPs", apiVIP="192.168.111.5"), _api, ["192.168.111.5"], [API_VIP], id="apiVIP-alone"
        ),
        pytest.param(baremetal("", apiVIP="192.168.111.5"), _api, ["192.168.111.5"], [API_VIP], id="apiVIP-agreeing"),
        pytest.param(
            baremetal("apiVIPs", apiVIPs=[], apiVIP="192.168.111.5"),
            _api,
            ["192.168.111.5"],
            [API_VIP],
            id="apiVIP-beside-an-empty-list",
        ),
        pytest.param(
            baremetal("ingressVIPs", ingressVIP="192.168.111.4"),
            _ingress,
            ["192.168.111.4"],
            [INGRESS_VIP],
            id="ingressVIP-alone",
        ),
        pytest.param(
            baremetal("", ingressVIP="192.168.111.4"),
            _ingress,
            ["192.168.111.4"],
            [INGRESS_VIP],
            id="ingressVIP-agreeing",
        ),
        pytest.param(
            baremetal("", provisioningHostIP="192.168.111.9"),
            _cluster_ip,
            "192.168.111.9",
            [HOST_IP],
            id="provisioningHostIP-alone",
        ),
        pytest.param(
            baremetal("", provisioningHostIP="192.168.111.9", clusterProvisioningIP="192.168.111.9"),
            _cluster_ip,
            "192.168.111.9",
            [HOST_IP],
            id="provisioningHostIP-agreeing",
        ),
        pytest.param(
            baremetal("provisioningNetwork", provisioningDHCPExternal=True),
            _mode,
            "Unmanaged",
            [DHCP_EXTERNAL],
            id="provisioningDHCPExternal-alone",
        ),
        pytest.param(
            baremetal("", provisioningNetwork="Unmanaged", provisioningDHCPExternal=True),
            _mode,
            "Unmanaged",
            [DHCP_EXTERNAL],
            id="provisioningDHCPExternal-agreeing",
        ),
        pytest.param(
            baremetal("", provisioningDHCPExternal=True),
            _mode,
            "Disabled",
            [DHCP_EXTERNAL],
            id="provisioningDHCPExternal-disagreeing",
        ),
        pytest.param(
            baremetal("provisioningNetwork", provisioningDHCPExternal=False),
            _mode,
            "Managed",
            [],
            id="provisioningDHCPExternal-false",
        ),
    ],
)
def test_an_old_key_fills_the_new_one_and_yields_to_it(
    change: Change, value: Callable[[InstallConfig], object], wanted: object, notices: list[str]
) -> None:
    reading = changed(change)
    assert reading.faults == ()
    assert value(reading.config) == wanted
    assert [str(notice) for notice in reading.notices] == notices


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(
            baremetal("", apiVIP="192.168.111.6"),
            f"{AT}.apiVIP: 192.168.111.6, but apiVIPs is 192.168.111.5. Fix: keep apiVIPs and remove apiVIP",
            id="apiVIP",
        ),
        pytest.param(
            baremetal("", ingressVIP="192.168.111.6"),
            f"{AT}.ingressVIP: 192.168.111.6, but ingressVIPs is 192.168.111.4. Fix: keep ingressVIPs and remove ",
            id="ingressVIP",
        ),
        pytest.param(
            baremetal("", provisioningHostIP="192.168.111.9", clusterProvisioningIP="192.168.111.8"),
            f"{AT}.provisioningHostIP: 192.168.111.9, but clusterProvisioningIP is 192.168.111.8. Fix: keep ",
            id="provisioningHostIP",
        ),
    ],
)
def test_an_old_key_that_contradicts_the_new_one_is_refused(change: Change, line: str) -> None:
    refused(change, line)


def test_an_old_vip_may_be_any_of_the_new_ones() -> None:
    def change(config: dict[str, Any]) -> None:
        config["networking"] = {
            "machineNetwork": [{"cidr": NETWORK}, {"cidr": "fd00:111::/64"}],
            "clusterNetwork": [{"cidr": "10.128.0.0/14", "hostPrefix": 23}, {"cidr": "fd01::/48", "hostPrefix": 64}],
            "serviceNetwork": ["172.30.0.0/16", "fd02::/112"],
        }
        bare(config)["apiVIPs"] = ["192.168.111.5", "fd00:111::5"]
        bare(config)["ingressVIPs"] = ["192.168.111.4", "fd00:111::4"]
        bare(config)["apiVIP"] = "fd00:111::5"

    reading = changed(change)
    assert reading.faults == ()
    assert [str(notice) for notice in reading.notices] == [API_VIP]


@pytest.mark.parametrize("written", ["ovnkubernetes", "OVNKUBERNETES", "OVNKubernetes"])
@pytest.mark.parametrize("key", ["networkType", "type"])
def test_the_network_type_is_read_in_any_case(key: str, written: str) -> None:
    reading = changed(networking("networkType", **{key: written}))
    assert reading.faults == ()
    assert reading.config.networking.network_type == "OVNKubernetes"


@pytest.mark.parametrize("key", ["networkType", "type"])
def test_the_removed_network_type_is_refused_in_any_case(key: str) -> None:
    refused(networking("networkType", **{key: "openshiftsdn"}), "networking.networkType: OpenShiftSDN is no longer")


def test_an_unknown_network_type_keeps_its_spelling() -> None:
    assert changed(networking("", networkType="Calico")).config.networking.network_type == "Calico"


def test_a_subnet_length_of_ipv6_counts_from_128_bits() -> None:
    reading = changed(networking("", clusterNetwork=[{"cidr": "fd01::/48", "hostSubnetLength": 64}]))
    assert _cluster(reading.config) == [("fd01::/48", 64)]


def test_a_subnet_length_of_an_invalid_network_is_left_to_the_rules() -> None:
    refused(
        networking("", clusterNetwork=[{"cidr": "nonsense", "hostSubnetLength": 9}]),
        "networking.clusterNetwork[0].cidr: nonsense is not a network",
    )


@pytest.mark.parametrize("name", ["bootstrapOSImage", "clusterOSImage"])
def test_an_ignored_image_causes_a_notice(name: str) -> None:
    reading = changed(baremetal("", **{name: f"https://mirror.test/image.qcow2.gz?sha256={'a' * 64}"}))
    assert reading.faults == ()
    assert [str(notice) for notice in reading.notices] == [
        f"{AT}.{name}: the installer no longer reads it. Fix: remove it"
    ]


def test_image_content_sources_cause_a_notice() -> None:
    sources = [{"source": "release.test/okd", "mirrors": ["mirror.test:5000/okd"]}]
    reading = changed(lambda c: c.update(imageContentSources=sources))
    assert reading.faults == ()
    assert [str(notice) for notice in reading.notices] == [_old("imageContentSources", "imageDigestSources")]
    assert reading.config.image_content_sources[0].mirrors == ("mirror.test:5000/okd",)


@pytest.mark.parametrize("version", ["v1beta3", "v1beta4"])
def test_an_old_version_of_the_file_is_good(version: str) -> None:
    assert changed(lambda c: c.update(apiVersion=version)).faults == ()
