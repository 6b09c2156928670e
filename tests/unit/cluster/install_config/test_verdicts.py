"""Whose fault it is: openshift-install's, or of this program only. The ids are rows of a run of the real one."""

from collections.abc import Callable
from typing import Any

import pytest

from base.errors import Fault, Stricter
from cluster.install_config import read
from cluster.install_config.releases import Release
from testing import plans
from testing.certificates import authority
from testing.install_configs import Change, arm64, bare, by_http, from_network, host

BARE = "platform.baremetal"
PEM = authority("ca").pem
GATEWAY = "provisioningNetworkGateway"


def network(**keys: Any) -> Change:
    return lambda c: c["networking"].update(keys)


def platform(**keys: Any) -> Change:
    return lambda c: bare(c).update(keys)


def of_host(**keys: Any) -> Change:
    return lambda c: host(c).update(keys)


def bmc(address: str, mode: str = "Disabled", **keys: Any) -> Change:
    def change(config: dict[str, Any]) -> None:
        bare(config)["provisioningNetwork"] = mode
        host(config)["bmc"]["address"] = address
        host(config).update(keys)

    return change


def put(**keys: Any) -> Change:
    return lambda c: c.update(keys)


def renamed(old: str, new: str) -> Change:
    return lambda c: bare(c).update({new: bare(c).pop(old)})


def kinds(change: Change, release: Release | None = None) -> dict[str, type[Fault]]:
    """Return by path whose fault it is."""
    config = plans.install_config()
    change(config)
    return {fault.where: type(fault) for fault in read(plans.written(config), release=release).faults}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        pytest.param(network(machineCIDR=""), "networking.machineCIDR", id="old-machinecidr-empty"),
        pytest.param(network(serviceCIDR="172.30.0.0"), "networking.serviceCIDR", id="old-servicecidr-not-a-network"),
        pytest.param(
            network(clusterNetworks=[{"cidr": "x"}]), "networking.clusterNetworks[0].cidr", id="old-clusternetworks"
        ),
        pytest.param(
            network(ovnKubernetesConfig={"ipv4": {"internalJoinSubnet": ""}}),
            "networking.ovnKubernetesConfig.ipv4.internalJoinSubnet",
            id="join-subnet-empty",
        ),
        pytest.param(
            platform(provisioningNetworkCIDR=""), f"{BARE}.provisioningNetworkCIDR", id="cidr-empty-disabled"
        ),
        pytest.param(
            from_network(provisioningNetworkCIDR=""), f"{BARE}.provisioningNetworkCIDR", id="provisioning-cidr-empty"
        ),
        pytest.param(put(kind=1), "kind", id="kind-1"),
        pytest.param(put(apiVersion=1), "apiVersion", id="apiversion-1"),
        pytest.param(
            lambda c: c["metadata"].update(creationTimestamp="now"), "metadata.creationTimestamp", id="timestamp"
        ),
        pytest.param(put(noSuchKey=None), "noSuchKey", id="unknown-null"),
        pytest.param(
            of_host(networkConfig={"interfaces": [{"name": "eno1", "mtu": None}]}),
            f"{BARE}.hosts[0].networkConfig.interfaces[0].mtu",
            id="mtu-null",
        ),
        pytest.param(
            from_network(mode="Unmanaged", **{GATEWAY: "192.0.2.1"}),
            f"{BARE}.{GATEWAY}",
            id="unmanaged-gateway-outside",
        ),
        pytest.param(
            from_network(mode="Unmanaged", **{GATEWAY: "172.22.0.3"}),
            f"{BARE}.{GATEWAY}",
            id="unmanaged-gateway-is-cluster-ip",
        ),
        pytest.param(
            from_network(mode="Unmanaged", **{GATEWAY: "172.22.0.255"}), f"{BARE}.{GATEWAY}", id="gateway-broadcast"
        ),
        pytest.param(bmc("redfish-virtualmedia://my_bmc/1"), f"{BARE}.hosts[0].bmc.address", id="bmc-underscore"),
        pytest.param(bmc("redfish-virtualmedia://bmc.lab./1"), f"{BARE}.hosts[0].bmc.address", id="bmc-final-dot"),
        pytest.param(bmc("ilo4+http://bmc"), f"{BARE}.hosts[0].bmc.address", id="bmc-ilo4-http"),
        pytest.param(
            bmc("ibmc://bmc", "Managed", bootMode="UEFISecureBoot"),
            f"{BARE}.hosts[0].bootMode",
            id="secure-boot-ibmc",
        ),
        pytest.param(
            put(imageDigestSources=[{"source": "ocp/release"}]), "imageDigestSources[0].source", id="short-name"
        ),
        pytest.param(put(imageDigestSources=[{"source": "a" * 64}]), "imageDigestSources[0].source", id="identifier"),
        pytest.param(
            put(imageDigestSources=[{"source": "docker.io/a"}]), "imageDigestSources[0].source", id="not-canonical"
        ),
        pytest.param(put(additionalTrustBundle=f"{PEM} "), "additionalTrustBundle", id="blank-after-the-bundle"),
        pytest.param(put(pullSecret='{"auths": {"r": {"auth": NaN}}}'), "pullSecret", id="nan-in-the-pull-secret"),
        pytest.param(platform(libvirtURI="qemu://a b/system"), f"{BARE}.libvirtURI", id="libvirt-uri"),
        pytest.param(
            network(clusterNetwork=[{"cidr": "10.128.0.0/14", "hostPrefix": 2**40}]),
            "networking.clusterNetwork[0].hostPrefix",
            id="more-than-32-bits",
        ),
    ],
)
def test_what_openshift_install_refuses_is_invalid(change: Change, path: str) -> None:
    assert kinds(change) == {path: Fault}


@pytest.mark.parametrize(
    ("change", "path"),
    [
        pytest.param(renamed("apiVIPs", "apivips"), f"{BARE}.apivips", id="letter-case"),
        pytest.param(lambda c: c["metadata"].update(generation=1), "metadata.generation", id="metadata-generation"),
        pytest.param(
            of_host(rootDeviceHints={"serialNumber": ""}), f"{BARE}.hosts[0].rootDeviceHints.serialNumber", id="hint"
        ),
        pytest.param(bmc("redfish-virtualmedia://u@bmc/1"), f"{BARE}.hosts[0].bmc.address", id="bmc-login"),
        pytest.param(bmc("nonsense://bmc", "Managed"), f"{BARE}.hosts[0].bmc.address", id="bmc-type-managed"),
        pytest.param(of_host(role="Master"), f"{BARE}.hosts[0].role", id="role"),
        pytest.param(of_host(bootMACAddress="00:00:00:00:00:00"), f"{BARE}.hosts[0].bootMACAddress", id="mac-zeros"),
        pytest.param(
            of_host(bootMACAddress="52-54-00-11-10-16"), f"{BARE}.hosts[1].bootMACAddress", id="mac-in-two-spellings"
        ),
        pytest.param(platform(apiVIPs=["192.168.111.255"]), f"{BARE}.apiVIPs[0]", id="vip-broadcast"),
        pytest.param(platform(dnsRecordsType="x"), f"{BARE}.dnsRecordsType", id="dns-records"),
        pytest.param(platform(bmcVerifyCA="x"), f"{BARE}.bmcVerifyCA", id="bmc-ca"),
        pytest.param(put(cpuPartitioningMode="x"), "cpuPartitioningMode", id="cpu-partitioning"),
        pytest.param(put(pullSecret='{"Auths": {"r": {"auth": "eDp5"}}}'), "pullSecret", id="auths-in-another-case"),
        pytest.param(put(proxy={"httpProxy": "http://p:70000"}), "proxy.httpProxy", id="proxy-port"),
        pytest.param(put(baseDomain=f"{'a' * 64}.test"), "baseDomain", id="dns-label"),
        pytest.param(lambda c: c["controlPlane"].update(name="x"), "controlPlane.name", id="pool-name"),
        pytest.param(put(platform={"none": {}}), "platform", id="platform-none"),
        pytest.param(
            put(additionalTrustBundle=f"{PEM.replace('MII', '!', 1)}{PEM}"),
            "additionalTrustBundle",
            id="malformed-block-before-a-good-one",
        ),
        pytest.param(
            from_network(clusterProvisioningIP="172.22.0.9", **{GATEWAY: "::ffff:172.22.0.9"}),
            f"{BARE}.{GATEWAY}",
            id="gateway-in-another-spelling",
        ),
        pytest.param(
            lambda c: c["controlPlane"].update(replicas=3.0), "controlPlane.replicas", id="whole-number-with-a-point"
        ),
    ],
)
def test_what_only_this_program_refuses_is_never_called_invalid(change: Change, path: str) -> None:
    assert kinds(change) == {path: Stricter}


@pytest.mark.parametrize("mode", ["Disabled", "Managed", "Unmanaged"])
def test_ilo4_virtual_media_is_valid_in_every_mode(mode: str) -> None:
    assert kinds(bmc("ilo4-virtualmedia://198.51.100.21", mode)) == {}


PKI = put(
    featureSet="TechPreviewNoUpgrade",
    pki={"signerCertificates": {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}},
)


def by_bgp(**keys: Any) -> Change:
    return lambda c: (bare(c).update(bgpVIPConfig={"localASN": 64512}), c.update(keys))


@pytest.mark.parametrize(
    ("change", "release", "wanted"),
    [
        pytest.param(PKI, None, {}, id="pki-newest"),
        pytest.param(PKI, Release(4, 22), {"pki": Fault}, id="pki-rsa"),
        pytest.param(PKI, Release(4, 21), {}, id="pki-ignored-with-a-warning"),
        pytest.param(put(osImageStream="rhel-9"), None, {}, id="rhel-9-newest"),
        pytest.param(
            put(osImageStream="rhel-9"), Release(4, 22), {"osImageStream": Fault}, id="osimagestream-rhel-9"
        ),
        pytest.param(
            put(osImageStream="rhel-9", featureSet="TechPreviewNoUpgrade"),
            Release(4, 22),
            {},
            id="rhel-9-by-its-gate",
        ),
        pytest.param(
            put(osImageStream="centos-10"), Release(4, 22), {"osImageStream": Fault}, id="osimagestream-centos-10"
        ),
        pytest.param(put(featureSet="OKD"), Release(4, 21), {"featureSet": Fault}, id="okd-4.21"),
        pytest.param(
            put(capabilities={"baselineCapabilitySet": "v4.18"}),
            Release(4, 17),
            {"capabilities.baselineCapabilitySet": Fault},
            id="v4.18-in-4.17",
        ),
        pytest.param(
            lambda c: c["controlPlane"].update(diskSetup=[{"type": "swap", "swap": {"platformDiskID": "s"}}]),
            None,
            {"controlPlane.diskSetup": Stricter},
            id="swap",
        ),
        pytest.param(by_bgp(), None, {f"{BARE}.bgpVIPConfig": Fault}, id="bgp-without-its-gate"),
        pytest.param(by_bgp(featureSet="DevPreviewNoUpgrade"), None, {}, id="bgp-by-its-gate"),
        pytest.param(
            by_bgp(featureSet="DevPreviewNoUpgrade"), Release(5, 0), {f"{BARE}.bgpVIPConfig": Fault}, id="bgp-5.0"
        ),
    ],
)
def test_the_verdict_is_that_of_the_release(
    change: Change, release: Release | None, wanted: dict[str, type[Fault]]
) -> None:
    assert kinds(change, release) == wanted


@pytest.mark.parametrize(
    ("release", "notice"),
    [
        pytest.param(None, "pki: only openshift-install 5.0 and newer know it", id="not-known"),
        pytest.param(Release(4, 20), "pki: openshift-install 4.20 ignores it; only 5.0 and newer know it", id="old"),
    ],
)
def test_a_notice_says_which_releases_know_a_key(release: Release | None, notice: str) -> None:
    config = plans.install_config()
    PKI(config)
    assert [str(found) for found in read(plans.written(config), release=release).notices] == [notice]


@pytest.mark.parametrize(
    ("change", "notice"),
    [
        pytest.param(by_http(0, 1), f"{BARE}.hosts[0].bmc.address: no openshift-install knows", id="bmc-uefihttp"),
        pytest.param(arm64, "compute[0].architecture: arm64 beside amd64 needs a release image", id="compute-arm64"),
    ],
)
def test_a_notice_says_what_no_release_or_not_every_image_can(change: Change, notice: str) -> None:
    config = plans.install_config()
    change(config)
    reading = read(plans.written(config))
    assert reading.faults == ()
    (line,) = map(str, reading.notices)
    assert line.startswith(notice)


def test_the_release_is_that_of_a_version() -> None:
    of: Callable[[str], Release | None] = Release.of
    assert [of(text) for text in ("4.21.0-okd-scos.3", "v5.0.1", "unreleased")] == [
        Release(4, 21),
        Release(5, 0),
        None,
    ]
