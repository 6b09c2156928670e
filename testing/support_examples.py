"""A valid example of each field of an install-config, and of each value that matters, upon the rehearsal's."""

from collections import Counter
from collections.abc import Callable, Mapping
from ipaddress import ip_network
from typing import Any

from cluster.install_config import InstallConfig
from cluster.install_config.platform import Host
from cluster.install_config.rules.vips import user_managed
from cluster.values.address import parse_address
from cluster.values.bmc_url import UEFI_HTTP
from testing import clusters, plans
from testing.certificates import authority


class Absent:
    """Stands for the value of an absent key."""


BARE = "platform.baremetal"
HOST = f"{BARE}.hosts[]"
PREVIEW = {"featureSet": "TechPreviewNoUpgrade"}
SYSTEM = "192.0.2.9/redfish/v1/Systems/1"
MANAGED = {f"{BARE}.provisioningNetwork": "Managed"}
FROM_NETWORK = {f"{BARE}.hosts[*].bmc.address": lambda address: address.replace("redfish-virtualmedia", "redfish")}
CA = authority("bmc-ca").pem


def _without(index: int) -> Callable[[Any], Any]:
    return lambda listed: [item for number, item in enumerate(listed) if number != index]


FENCES = [
    {
        "hostName": f"okd-master-{index}",
        "username": "admin",
        "password": "x",
        "address": f"redfish+https://192.0.2.{index}/redfish/v1/Systems/1",
        "certificateVerification": "Disabled",
    }
    for index in (0, 1)
]
FENCED = {
    "controlPlane.replicas": 2,
    "controlPlane.fencing": {"credentials": FENCES},
    f"{BARE}.hosts": _without(2),
}
ARBITER = {
    "controlPlane.replicas": 2,
    "arbiter": {"name": "arbiter", "replicas": 1},
    f"{BARE}.hosts[2].role": "arbiter",
}
STATIC = {
    f"{BARE}.bootstrapExternalStaticIP": "192.168.111.20",
    f"{BARE}.bootstrapExternalStaticGateway": "192.168.111.1",
    f"{BARE}.bootstrapExternalStaticDNS": "192.168.111.1",
}
MIRROR = [{"source": "quay.io/okd", "mirrors": ["mirror.example.com/okd"]}]
KEY = "pki.signerCertificates.key"
OF_A_NETWORK = {
    "provisioningNetworkInterface": "eno2",
    "provisioningNetworkCIDR": "172.29.99.0/24",
    "provisioningNetworkGateway": "172.22.0.4",
    "provisioningBridge": "br-prov",
    "provisioningMACAddress": "52:54:00:00:00:98",
    "provisioningDHCPRange": "172.22.0.20,172.22.0.40",
    "bootstrapProvisioningIP": "172.22.0.5",
    "clusterProvisioningIP": "172.22.0.6",
    "provisioningHostIP": "172.22.0.7",
}
"""The settings of a provisioning network, of which each row has one."""


def _families(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """Return the networks and VIPs of a variant of the rehearsal."""
    config = plans.install_config()
    change(config)
    bare = config["platform"]["baremetal"]
    return {"networking": config["networking"]} | {f"{BARE}.{key}": bare[key] for key in ("apiVIPs", "ingressVIPs")}


def _with_vips_of(versions: set[int]) -> Callable[[InstallConfig], bool]:
    return lambda config: {vip.version for vip in map(parse_address, config.baremetal.api_vips) if vip} == versions


def _scheme(kind: str) -> Callable[[InstallConfig], bool]:
    return lambda config: any(
        host.bmc.address.partition("://")[0].partition("+")[0] == kind for host in config.baremetal.hosts or ()
    )


def _address(kind: str) -> dict[str, Any]:
    bmc = SYSTEM.partition("/")[0] if kind in IPMI else SYSTEM
    return {**_suiting(kind), f"{HOST}.bmc.address": f"{kind}://{bmc}"}


def _suiting(kind: str) -> dict[str, Any]:
    """Return the other values that a type of BMC's address needs."""
    return MANAGED if kind in NETWORK_BOOT else {f"{HOST}.bootMode": "UEFI"} if kind == UEFI_HTTP else {}


VIRTUAL_MEDIA = ("redfish-virtualmedia", "idrac-virtualmedia", "ilo5-virtualmedia")
IPMI = ("ipmi", "libvirt")
NETWORK_BOOT = ("redfish", "idrac-redfish", "ilo5-redfish", *IPMI)
SCHEMES = {f"`{HOST}.bmc.address`: {kind}": kind for kind in (*VIRTUAL_MEDIA, UEFI_HTTP, *NETWORK_BOOT)}
UNTYPED = f"`{HOST}.bmc.address`, no type"
FAMILIES = {
    f"`{BARE}.apiVIPs`, `{BARE}.ingressVIPs`: {name}": (change, versions)
    for name, change, versions in (
        ("IPv4", lambda _: None, {4}),
        ("IPv6", clusters.ipv6, {6}),
        ("both families", clusters.dual_stack, {4, 6}),
    )
}
SEVERAL_NETWORKS = "`networking.machineNetwork[].cidr`, several of a family"
PLATFORMS = (
    *("aws", "azure", "external", "gcp", "ibmcloud", "none", "nutanix", "openstack", "ovirt", "powervc", "powervs"),
    "vsphere",
)

EXAMPLES: dict[str, Mapping[str, Any]] = {
    "`apiVersion`": {"apiVersion": "v1beta4"},
    "`kind`": {"kind": "InstallConfig"},
    "`baseDomain`": {"baseDomain": "example.com"},
    "`pullSecret`": {"pullSecret": '{"auths": {"x": {"auth": "eDp5"}}}'},
    "`sshKey`": {"sshKey": lambda key: f"{key} again"},
    "`additionalTrustBundle`": {"additionalTrustBundle": CA},
    "`additionalTrustBundlePolicy`": {"additionalTrustBundlePolicy": "Always"},
    "`publish`": {"publish": "External"},
    "`fips`": {"fips": True, "sshKey": Absent},
    "`cpuPartitioningMode`": {"cpuPartitioningMode": "AllNodes"},
    "`credentialsMode`": {"credentialsMode": "Manual"},
    "`featureSet`": PREVIEW,
    "`featureGates`": {"featureSet": "CustomNoUpgrade", "featureGates": ["A=true"]},
    "`osImageStream`": {"osImageStream": "centos-10", "featureSet": "OKD"},
    "`metadata.name`": {"metadata.name": "other"},
    **{f"`metadata.{key}`": {f"metadata.{key}": "x"} for key in ("namespace",)},
    **{f"`metadata.{key}`": {f"metadata.{key}": {"x": "y"}} for key in ("labels", "annotations")},
    "`metadata.creationTimestamp`": {"metadata.creationTimestamp": "2026-01-01T00:00:00Z"},
    "`networking.networkType`": {"networking.networkType": "Calico"},
    "`networking.machineNetwork[].cidr`": {"networking.machineNetwork[].cidr": "192.168.0.0/16"},
    SEVERAL_NETWORKS: {"networking.machineNetwork": [{"cidr": "192.168.111.0/24"}, {"cidr": "192.168.112.0/24"}]},
    "`networking.clusterNetwork[].cidr`": {"networking.clusterNetwork[].cidr": "10.132.0.0/14"},
    "`networking.clusterNetwork[].hostPrefix`": {"networking.clusterNetwork[].hostPrefix": 24},
    "`networking.clusterNetwork[].hostSubnetLength`": {
        "networking.clusterNetwork[].hostPrefix": Absent,
        "networking.clusterNetwork[].hostSubnetLength": 8,
    },
    "`networking.serviceNetwork`": {"networking.serviceNetwork": ["172.31.0.0/16"]},
    "`networking.clusterNetworkMTU`": {"networking.clusterNetworkMTU": 1400},
    "`networking.ovnKubernetesConfig`": {
        "networking.ovnKubernetesConfig": {"ipv4": {"internalJoinSubnet": "100.66.0.0/16"}}
    },
    "`networking.machineCIDR`": {"networking.machineNetwork": Absent, "networking.machineCIDR": "192.168.0.0/16"},
    "`networking.serviceCIDR`": {"networking.serviceNetwork": Absent, "networking.serviceCIDR": "172.31.0.0/16"},
    "`networking.clusterNetworks`": {
        "networking.clusterNetwork": Absent,
        "networking.clusterNetworks": [{"cidr": "10.132.0.0/14", "hostSubnetLength": 8}],
    },
    "`networking.type`": {"networking.networkType": Absent, "networking.type": "Calico"},
    "`controlPlane.name`": {"controlPlane.name": "master"},
    "`controlPlane.replicas`": {
        "controlPlane.replicas": 4,
        "compute[].replicas": 1,
        f"{HOST[:-2]}[3].role": "master",
    },
    "`controlPlane.replicas: 1`": {"controlPlane.replicas": 1},
    "`controlPlane.replicas: 2`": FENCED,
    "`controlPlane.architecture: amd64`, `compute[].architecture: amd64`": {"controlPlane.architecture": "amd64"},
    **{
        f"`controlPlane.architecture: {name}`, `compute[].architecture: {name}`": {
            "controlPlane.architecture": name,
            "compute[].architecture": name,
            f"{BARE}.hosts": lambda hosts: [{**host, "bootMode": "UEFI"} for host in hosts],
        }
        for name in ("arm64", "ppc64le", "s390x")
    },
    "`controlPlane.hyperthreading`": {"controlPlane.hyperthreading": "Disabled"},
    "`controlPlane.platform`": {"controlPlane.platform": {"baremetal": {}}},
    "`controlPlane.fencing`": FENCED,
    "`compute[].fencing`": {"compute[].fencing": {"credentials": FENCES}},
    "`controlPlane.diskSetup`": {
        **PREVIEW,
        "controlPlane.diskSetup": [{"type": "etcd", "etcd": {"platformDiskID": "etcddisk"}}],
    },
    "`controlPlane.management`": {"controlPlane.management": "MachineAPI"},
    "`compute[].name`": {"compute[].name": "worker"},
    "`compute[].replicas`": {"compute[].replicas": 1, f"{BARE}.hosts": _without(4)},
    "`compute[].replicas`, fewer than hosts": {"compute[].replicas": 1},
    "`compute[].hyperthreading`": {"compute[].hyperthreading": "Disabled"},
    "`compute[].platform`": {"compute[].platform": {"baremetal": {}}},
    "`compute[].diskSetup`": {
        **PREVIEW,
        "compute[].diskSetup": [{"type": "swap", "swap": {"platformDiskID": "swapdisk"}}],
    },
    "`compute[].management`": {"compute[].management": "MachineAPI"},
    "`arbiter`": ARBITER,
    f"{', '.join(f'`platform.{name}`' for name in PLATFORMS)}": {"platform.none": {}},
    f"`{BARE}.libvirtURI`": {f"{BARE}.libvirtURI": "qemu:///system"},
    f"`{BARE}.externalBridge`": {f"{BARE}.externalBridge": "br-ex"},
    f"`{BARE}.externalMACAddress`": {f"{BARE}.externalMACAddress": "52:54:00:00:00:99"},
    **{label: _families(change) for label, (change, _) in FAMILIES.items()},
    **{
        f"`{BARE}.loadBalancer.type: {name}`": {f"{BARE}.loadBalancer.type": name}
        for name in ("OpenShiftManagedDefault", "UserManaged")
    },
    f"`{BARE}.dnsRecordsType`": {f"{BARE}.dnsRecordsType": "Internal"},
    f"`{BARE}.bgpVIPConfig`, `{HOST}.bgpPeers`": {
        "featureSet": "DevPreviewNoUpgrade",
        f"{BARE}.bgpVIPConfig": {"localASN": 64512},
    },
    **{f"`{path}`": STATIC for path in STATIC},
    f"`{BARE}.additionalNTPServers`": {f"{BARE}.additionalNTPServers": ["192.0.2.1", "ntp.example.com"]},
    f"`{BARE}.bmcVerifyCA`": {f"{BARE}.bmcVerifyCA": CA},
    f"`{BARE}.defaultMachinePlatform`": {f"{BARE}.defaultMachinePlatform": {}},
    f"`{BARE}.provisioningNetwork: Disabled`": {f"{BARE}.provisioningNetwork": "Disabled"},
    f"`{BARE}.provisioningNetwork: Managed`": {**MANAGED, **FROM_NETWORK},
    f"`{BARE}.provisioningNetwork: Unmanaged`": {f"{BARE}.provisioningNetwork": "Unmanaged", **FROM_NETWORK},
    **{f"`{BARE}.{key}`": {**MANAGED, **FROM_NETWORK, f"{BARE}.{key}": value} for key, value in OF_A_NETWORK.items()},
    f"`{BARE}.apiVIP`": {f"{BARE}.apiVIPs": Absent, f"{BARE}.apiVIP": "192.168.111.9"},
    f"`{BARE}.ingressVIP`": {f"{BARE}.ingressVIPs": Absent, f"{BARE}.ingressVIP": "192.168.111.9"},
    f"`{BARE}.provisioningDHCPExternal`": {
        **FROM_NETWORK,
        f"{BARE}.provisioningNetwork": Absent,
        f"{BARE}.provisioningDHCPExternal": True,
    },
    **{
        f"`{BARE}.{key}`": {f"{BARE}.{key}": f"http://192.0.2.1/a.qcow2.gz?sha256={'0' * 64}"}
        for key in ("bootstrapOSImage", "clusterOSImage")
    },
    f"`{HOST}.name`": {f"{HOST}.name": "other"},
    **{f"`{HOST}.role: {name}`": {f"{HOST}.role": name} for name in ("master",)},
    f"`{HOST}.role: worker`": {
        "controlPlane.replicas": 4,
        "compute[].replicas": 1,
        f"{BARE}.hosts[3].role": "master",
        f"{BARE}.hosts[4].role": "worker",
    },
    f"`{HOST}.role: arbiter`": ARBITER,
    f"`{HOST}.role`, none": {
        "controlPlane.replicas": 4,
        "compute[].replicas": 1,
        f"{BARE}.hosts[*].role": Absent,
    },
    f"`{HOST}.bootMACAddress`": {f"{HOST}.bootMACAddress": "52:54:00:00:00:97"},
    **{f"`{HOST}.bootMode: {name}`": {f"{HOST}.bootMode": name} for name in ("UEFI", "legacy", "UEFISecureBoot")},
    f"`{HOST}.networkConfig`": {f"{HOST}.networkConfig": clusters.nmstate("eno1", "192.168.111.21")},
    f"`{HOST}.hardwareProfile`": {f"{HOST}.hardwareProfile": "default"},
    **{label: _address(kind) for label, kind in SCHEMES.items()},
    UNTYPED: {**MANAGED, f"{HOST}.bmc.address": SYSTEM.partition("/")[0]},
    f"`{HOST}.bmc.username`": {f"{HOST}.bmc.username": "other"},
    f"`{HOST}.bmc.password`": {f"{HOST}.bmc.password": "other"},
    f"`{HOST}.bmc.disableCertificateVerification`": {f"{HOST}.bmc.disableCertificateVerification": True},
    f"`{HOST}.rootDeviceHints.deviceName`": {f"{HOST}.rootDeviceHints": {"deviceName": "/dev/sda"}},
    **{
        f"`{HOST}.rootDeviceHints.{key}`": {f"{HOST}.rootDeviceHints": {key: value}}
        for key, value in {
            "hctl": "0:0:0:0",
            "model": "Disk",
            "vendor": "ATA",
            "serialNumber": "S1",
            "minSizeGigabytes": 100,
            "wwn": "0x5000",
            "wwnWithExtension": "0x50001",
            "wwnVendorExtension": "0x1",
            "rotational": False,
        }.items()
    },
    f"`{HOST}.rootDeviceHints`, none": {f"{HOST}.rootDeviceHints": Absent},
    f"`{HOST}.rootDeviceHints`, several": {f"{HOST}.rootDeviceHints": {"vendor": "ATA", "rotational": False}},
    "`proxy`": {"proxy": {"httpProxy": "http://p:1", "httpsProxy": "http://p:1", "noProxy": "example.com"}},
    "`imageDigestSources`": {"imageDigestSources": MIRROR},
    "`imageContentSources`": {"imageContentSources": MIRROR},
    "`capabilities`": {"capabilities": {"baselineCapabilitySet": "vCurrent"}},
    "`pki`": {**PREVIEW, f"{KEY}.algorithm": "RSA", f"{KEY}.rsa.keySize": 4096},
    "`operatorPublishingStrategy`": {"operatorPublishingStrategy": {"ingress": "Internal"}},
    "`bootstrapInPlace`": {"bootstrapInPlace": {"installationDisk": "/dev/vda"}},
}
"""Values by path, by the row of the table that they stand for; see `testing.support`."""
BESIDE: dict[str, Mapping[str, Any]] = {
    **{f"`{BARE}.{key}`": {**MANAGED, **FROM_NETWORK} for key in OF_A_NETWORK},
    **{label: suiting for label, kind in SCHEMES.items() if (suiting := _suiting(kind))},
    UNTYPED: MANAGED,
}
"""By row: the base of its example in place of the rehearsal's install-config: the network without the field."""


def _has(predicate: Callable[[Host], bool]) -> Callable[[InstallConfig], bool]:
    return lambda config: any(map(predicate, config.baremetal.hosts or ()))


def _spares(config: InstallConfig) -> bool:
    pools = (config.control_plane, *([config.arbiter] if config.arbiter else []), *config.compute)
    return len(config.baremetal.hosts or ()) > sum(pool.replicas or 0 for pool in pools)


def _several_networks(config: InstallConfig) -> bool:
    versions = Counter(ip_network(entry.cidr).version for entry in config.networking.machine_network)
    return max(versions.values()) > 1


def _hints(host: Host) -> int:
    return len(host.root_device_hints.model_fields_set) if host.root_device_hints else 0


USED: dict[str, Callable[[InstallConfig], bool]] = {
    **{label: _with_vips_of(versions) for label, (_, versions) in FAMILIES.items()},
    **{label: _scheme(kind) for label, kind in SCHEMES.items()},
    SEVERAL_NETWORKS: _several_networks,
    UNTYPED: _has(lambda host: "://" not in host.bmc.address),
    "`compute[].replicas`, fewer than hosts": _spares,
    f"`{BARE}.loadBalancer.type: OpenShiftManagedDefault`": lambda config: not user_managed(config),
    f"`{HOST}.role`, none": _has(lambda host: not host.role),
    f"`{HOST}.rootDeviceHints`, none": _has(lambda host: not _hints(host)),
    f"`{HOST}.rootDeviceHints`, several": _has(lambda host: _hints(host) > 1),
}
"""By row without a path of its own: whether an install-config has its setting."""

NO_TWIN: dict[str, str] = {
    "`controlPlane.architecture: arm64`, `compute[].architecture: arm64`": "machines of a twin are amd64",
    **{
        f"`{HOST}.rootDeviceHints.{key}`": "an emulated disk has a WWN of 8 bytes"
        for key in ("wwnWithExtension", "wwnVendorExtension")
    },
}
"""By row: why no rehearsal has it."""
