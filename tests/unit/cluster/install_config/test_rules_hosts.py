"""The servers: their number, names, MACs, BMCs, and how each boots."""

from typing import Any

import pytest

from testing.install_configs import Change, bare, fine, host, refused

AT = "platform.baremetal.hosts"
ADDRESS, BOOT_MODE, BOOT_MAC = f"{AT}[0].bmc.address", f"{AT}[0].bootMode", f"{AT}[0].bootMACAddress"
HINTS = f"{AT}[0].rootDeviceHints"
DEVICE = f"{HINTS}.deviceName"
SYSTEM = "/redfish/v1/Systems/1"


def given(**keys: object) -> Change:
    """Set keys of the first host."""
    return lambda c: host(c).update(keys)


def bmc(address: str, mode: str = "Disabled", **keys: object) -> Change:
    """Set the first host's BMC address, the mode of the provisioning network, and other keys of that host."""

    def change(config: dict[str, Any]) -> None:
        bare(config)["provisioningNetwork"] = mode
        host(config)["bmc"]["address"] = address
        host(config).update(keys)

    return change


def bmc_without(*keys: str) -> Change:
    def change(config: dict[str, Any]) -> None:
        for key in keys:
            del host(config)["bmc"][key]

    return change


def both(first: str, second: str, mode: str = "Disabled") -> Change:
    """Set the BMC addresses of the first two hosts, and the mode of the provisioning network."""

    def change(config: dict[str, Any]) -> None:
        bare(config)["provisioningNetwork"] = mode
        for index, address in enumerate((first, second)):
            host(config, index)["bmc"]["address"] = address

    return change


def roles(*roles: str, **replicas: int) -> Change:
    """Set one host per role, and the replicas of controlPlane, arbiter and compute."""

    def change(config: dict[str, Any]) -> None:
        hosts = bare(config)["hosts"]
        bare(config)["hosts"] = [{**each, "role": role} for each, role in zip(hosts, roles, strict=False)]
        config["controlPlane"]["replicas"] = replicas.get("masters", 3)
        config["compute"][0]["replicas"] = replicas.get("workers", 2)
        if "arbiters" in replicas:
            config["arbiter"] = {"name": "arbiter", "replicas": replicas["arbiters"]}
            config["featureSet"] = "TechPreviewNoUpgrade"

    return change


def mtu(value: object) -> Change:
    return given(networkConfig={"interfaces": [{"name": "eth0", "mtu": 9000}, {"name": "eth1", "mtu": value}]})


def no_hosts(config: dict[str, Any]) -> None:
    del bare(config)["hosts"]


def fenced(address: str) -> Change:
    """Set a control plane of two that fence each other, the first with this BMC address."""

    def change(config: dict[str, Any]) -> None:
        host(config)["bmc"]["address"] = address
        host(config, 2)["role"] = "worker"
        login = {"username": "admin", "password": "rehearsal-only"}
        config["controlPlane"]["replicas"] = 2
        config["controlPlane"]["fencing"] = {
            "credentials": [
                {"hostName": f"okd-master-{index}", "address": f"redfish+https://192.0.2.{index}{SYSTEM}", **login}
                for index in range(2)
            ]
        }
        config["featureSet"] = "TechPreviewNoUpgrade"

    return change


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(roles("", "", "", "", ""), id="no-roles"),
        pytest.param(roles("", "worker", "master", "", "master"), id="roleless-fill-in"),
        pytest.param(roles("master", "", "", "master", "", arbiters=1, masters=2), id="roleless-arbiter"),
        pytest.param(roles("master", "arbiter", "master", arbiters=1, masters=2, workers=0), id="arbiter"),
        pytest.param(roles("master", "master", "master", "worker", "worker", workers=1), id="more-than-needed"),
        pytest.param(given(name="a"), id="short-name"),
        pytest.param(given(name="okd-master-0.lab.test"), id="name-with-dots"),
        pytest.param(given(bootMACAddress="52-54-00-AB-CD-EF"), id="mac-with-hyphens"),
        pytest.param(given(bootMACAddress="5254.00ab.cdef"), id="mac-in-groups-of-four"),
        pytest.param(bmc(f"idrac-virtualmedia://192.0.2.9{SYSTEM}"), id="dell"),
        pytest.param(bmc("ilo5-virtualmedia+https://[fd00::9]:8443"), id="hpe-ipv6"),
        pytest.param(bmc("redfish-uefihttp://bmc"), id="http-boot-without-a-network"),
        pytest.param(bmc("redfish://bmc", "Managed"), id="pxe"),
        pytest.param(bmc("192.0.2.9", "Unmanaged"), id="bare-address"),
        pytest.param(bmc("ipmi://192.0.2.9", "Managed"), id="ipmi"),
        pytest.param(bmc("ilo4://192.0.2.9", "Managed", bootMode="UEFISecureBoot"), id="removed-type"),
        pytest.param(both("redfish-virtualmedia://bmc/1", "redfish-virtualmedia://bmc/2"), id="two-systems-of-a-bmc"),
        pytest.param(given(bootMode=""), id="default-boot-mode"),
        pytest.param(given(bootMode="UEFISecureBoot"), id="secure-boot"),
        pytest.param(lambda c: host(c).pop("rootDeviceHints"), id="no-hint"),
        pytest.param(given(rootDeviceHints={"deviceName": "/dev/sda", "minSizeGigabytes": 0}), id="device"),
        pytest.param(given(rootDeviceHints={"deviceName": "/dev/disk/by-path/pci-0000:01"}), id="device-by-path"),
        pytest.param(given(rootDeviceHints={"hctl": "x", "wwn": "y", "rotational": False}), id="other-hints"),
        pytest.param(given(hardwareProfile="unknown"), id="hardware-profile"),
        pytest.param(given(networkConfig={}), id="no-network-config"),
        pytest.param(given(networkConfig={"interfaces": "eth0"}), id="interfaces-are-no-list"),
        pytest.param(given(networkConfig={"interfaces": ["eth0", {"name": "eth1"}]}), id="interface-is-no-mapping"),
        pytest.param(mtu(1500), id="mtu"),
        pytest.param(mtu(1500.0), id="mtu-with-a-point"),
        pytest.param(fenced(f"redfish-virtualmedia+https://192.0.2.0{SYSTEM}"), id="fenced"),
    ],
)
def test_good_hosts_pass(change: Change) -> None:
    fine(change)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(no_hosts, f"{AT}: missing. Fix: list the servers", id="no-hosts"),
        pytest.param(
            roles(),
            f"{AT}: 0 of the 0 hosts can be masters, but controlPlane.replicas is 3. Fix: add hosts, or lower it",
            id="empty-list",
        ),
        pytest.param(
            roles("master", "master", "worker", "worker"), f"{AT}: 2 of the 4 hosts can be masters", id="masters"
        ),
        pytest.param(
            roles("master", "master", "master", "worker"),
            f"{AT}: 1 of the 4 hosts can be workers, but the sum of compute[].replicas is 2",
            id="workers",
        ),
        pytest.param(
            roles("master", "master", "worker", "worker", masters=2, arbiters=1),
            f"{AT}: 0 of the 4 hosts can be arbiters, but arbiter.replicas is 1",
            id="arbiters",
        ),
        pytest.param(
            roles("", "", "", "", "master", masters=4),
            f"{AT}: 1 of the 5 hosts can be workers",
            id="roleless-used-up",
        ),
        pytest.param(
            roles("master", "master", "master", "master", "worker"),
            f"{AT}: 1 of the 5 hosts can be workers, but the sum of compute[].replicas is 2",
            id="a-master-too-many-is-no-worker",
        ),
        pytest.param(
            given(role="Master"), f"{AT}[0].role: Master is unknown. Fix: write master, arbiter or worker", id="role"
        ),
        pytest.param(given(name=""), f"{AT}[0].name: missing. Fix: name the host", id="name-missing"),
        pytest.param(given(name="okd_master"), f"{AT}[0].name: okd_master is not a DNS name", id="name-underscore"),
        pytest.param(given(name="Okd"), f"{AT}[0].name: Okd is not a DNS name", id="name-upper-case"),
        pytest.param(
            given(name="okd-master-1"),
            f"{AT}[1].name: okd-master-1 is used by hosts[0] already. Fix: give each its own",
            id="name-twice",
        ),
        pytest.param(given(bootMACAddress=""), f"{BOOT_MAC}: missing. Fix: write the MAC", id="mac-missing"),
        pytest.param(
            given(bootMACAddress="52:54:00:11:10:1"),
            f"{BOOT_MAC}: 52:54:00:11:10:1 is not a MAC address",
            id="mac-short",
        ),
        pytest.param(given(bootMACAddress="52:54-00:11:10:15"), f"{BOOT_MAC}: 52:54-00", id="mac-of-two-separators"),
        pytest.param(
            given(bootMACAddress="525400111015"), f"{BOOT_MAC}: 525400111015 is not a MAC address", id="mac-plain"
        ),
        pytest.param(
            given(bootMACAddress="01:00:5e:00:00:12"),
            f"{BOOT_MAC}: 01:00:5e:00:00:12 is the address of a",
            id="mac-group",
        ),
        pytest.param(given(bootMACAddress="00-00-00-00-00-00"), f"{BOOT_MAC}: 00-00", id="mac-all-zero"),
        pytest.param(
            given(bootMACAddress="52-54-00-11-10-16"),
            f"{AT}[1].bootMACAddress: 52:54:00:11:10:16 is used by hosts[0] already",
            id="mac-twice-in-two-spellings",
        ),
        pytest.param(
            given(bootMACAddress="52:54:00:11:10:14"),
            f"{BOOT_MAC}: 52:54:00:11:10:14 is used by externalMACAddress already",
            id="mac-of-the-bootstrap",
        ),
        pytest.param(
            given(bmc={}), f"{AT}[0].bmc: missing. Fix: write address, username and password", id="bmc-missing"
        ),
        pytest.param(bmc_without("username"), f"{AT}[0].bmc.username: missing", id="username-missing"),
        pytest.param(bmc_without("password"), f"{AT}[0].bmc.password: missing", id="password-missing"),
        pytest.param(
            bmc_without("address"), f"{ADDRESS}: missing. Fix: write an address of type redfish", id="no-address"
        ),
        pytest.param(
            given(rootDeviceHints={}),
            f"{HINTS}: empty, and so no hint for the installer. Fix: name the disk, or remove rootDeviceHints",
            id="W17-no-hint-in-the-section",
        ),
        pytest.param(given(rootDeviceHints=None), f"{HINTS}: empty, and so no hint", id="W21-null-for-the-section"),
        pytest.param(
            given(rootDeviceHints={"wwn": "", "model": "x"}),
            f"{HINTS}.wwn: empty, and so no hint for the installer. Fix: write it, or remove wwn",
            id="W18-empty-text",
        ),
        pytest.param(given(rootDeviceHints={"deviceName": None}), f"{DEVICE}: empty, and so no hint", id="W21-null"),
        pytest.param(
            given(rootDeviceHints={"serialNumber": " "}), f"{HINTS}.serialNumber: empty, and so", id="W18-blank"
        ),
        pytest.param(
            given(rootDeviceHints={"rotational": None}),
            f"{HINTS}.rotational: empty, and so",
            id="W21-null-for-a-boolean",
        ),
        pytest.param(
            both("redfish-virtualmedia://bmc/1", "redfish-virtualmedia://bmc/1"),
            f"{AT}[1].bmc.address: redfish-virtualmedia://bmc/1 is used by hosts[0] already",
            id="address-twice",
        ),
        pytest.param(
            both("redfish-virtualmedia://bmc/1", "redfish-virtualmedia+https://BMC:443/1/"),
            f"{AT}[1].bmc.address: redfish-virtualmedia+https://BMC:443/1/ is used by hosts[0]",
            id="address-twice-in-two-spellings",
        ),
        pytest.param(
            both("redfish-virtualmedia://bmc.lab/1", "redfish-virtualmedia+http://BMC.lab./1", mode="Managed"),
            f"{AT}[1].bmc.address: redfish-virtualmedia+http://BMC.lab./1 is used by hosts[0]",
            id="C2-address-twice-by-another-transport",
        ),
        pytest.param(
            both("redfish-virtualmedia://bmc", "redfish-virtualmedia://bmc/redfish/v1/Systems/1"),
            f"{ADDRESS}: redfish-virtualmedia://bmc names no system, and hosts[1] is on the same BMC. Fix: write the",
            id="C2-the-only-system-beside-another",
        ),
        pytest.param(
            both("192.0.2.9", "redfish://192.0.2.9", mode="Managed"),
            f"{AT}[1].bmc.address: redfish://192.0.2.9 is used by hosts[0] already",
            id="C2-address-twice-once-without-a-type",
        ),
        pytest.param(
            bmc("redfish://bmc"),
            f"{ADDRESS}: redfish needs a provisioning network, and provisioningNetwork is Disabled. "
            "Fix: use redfish-virt",
            id="pxe-without-a-network",
        ),
        pytest.param(
            bmc("ipmi://192.0.2.9", bootMode="UEFISecureBoot"),
            f"{ADDRESS}: ipmi needs a provisioning network, and provisioningNetwork is Disabled. "
            "Fix: use redfish-virtualmedia",
            id="ipmi-without-a-network",
        ),
        pytest.param(
            bmc("ilo4://192.0.2.9"), f"{ADDRESS}: ilo4 is no longer supported by metal3. Fix: use", id="removed-type"
        ),
        pytest.param(bmc("foo://bmc"), f"{ADDRESS}: BMC type foo is unknown. Fix: use redfish", id="unknown-type"),
        pytest.param(bmc("foo://bmc", "Managed"), f"{ADDRESS}: BMC type foo is unknown", id="unknown-type-managed"),
        pytest.param(bmc("redfish://b+c", "Unmanaged"), f"{ADDRESS}: host 'b+c' is neither", id="bad-host-unmanaged"),
        pytest.param(
            bmc("redfish-virtualmedia://admin:rehearsal-only@bmc/1"),
            f"{ADDRESS}: credentials do not belong in the URL",
            id="credentials-in-the-address",
        ),
        pytest.param(
            given(bootMode="uefi"), f"{BOOT_MODE}: uefi is unknown. Fix: write UEFI, UEFISecureBoot or", id="mode"
        ),
        pytest.param(
            bmc("ipmi://192.0.2.9", "Managed", bootMode="UEFISecureBoot"),
            f"{BOOT_MODE}: UEFISecureBoot cannot be set over ipmi. Fix: write UEFI, or give",
            id="secure-boot-over-ipmi",
        ),
        pytest.param(
            bmc("libvirt://192.0.2.9", "Unmanaged", bootMode="UEFISecureBoot"),
            f"{BOOT_MODE}: UEFISecureBoot cannot be set over libvirt",
            id="secure-boot-over-libvirt",
        ),
        pytest.param(
            given(rootDeviceHints={"deviceName": "sda"}),
            f"{DEVICE}: sda is not a device. Fix: write its path",
            id="no-device",
        ),
        pytest.param(
            given(rootDeviceHints={"deviceName": "/dev/disk/by-id/wwn-1"}),
            f"{DEVICE}: the installer refuses /dev/disk/by-id/wwn-1. Fix: write /dev/<name> or /dev/disk/by-path",
            id="device-by-id",
        ),
        pytest.param(
            given(rootDeviceHints={"deviceName": "/dev/disk/by-path/a/b"}),
            f"{DEVICE}: the installer refuses /dev/disk/by-path/a/b",
            id="below",
        ),
        pytest.param(
            given(rootDeviceHints={"deviceName": "disk/by-path/a"}), f"{DEVICE}: disk", id="relative-by-path"
        ),
        pytest.param(
            given(rootDeviceHints={"minSizeGigabytes": -1}),
            f"{AT}[0].rootDeviceHints.minSizeGigabytes: -1 is not a size",
            id="negative-size",
        ),
        pytest.param(
            mtu("1500"), f"{AT}[0].networkConfig.interfaces[1].mtu: '1500' is not a whole number", id="quoted-mtu"
        ),
        pytest.param(mtu("jumbo"), f"{AT}[0].networkConfig.interfaces[1].mtu: 'jumbo' is no", id="mtu-in-words"),
        pytest.param(
            mtu(True), f"{AT}[0].networkConfig.interfaces[1].mtu: True is not a whole number", id="mtu-true"
        ),
        pytest.param(mtu(1500.5), f"{AT}[0].networkConfig.interfaces[1].mtu: 1500.5 is no", id="broken-mtu"),
        pytest.param(given(networkConfig="interfaces: []"), f"{AT}[0].networkConfig: a mapping", id="config-as-text"),
        pytest.param(
            fenced("idrac-virtualmedia://192.0.2.9/Systems/1"),
            f"{ADDRESS}: idrac-virtualmedia://192.0.2.9/Systems/1 is not a Redfish address, and fencing needs one",
            id="fencing-by-name-of-the-type",
        ),
    ],
)
def test_a_wrong_host_is_one_line(change: Change, line: str) -> None:
    refused(change, line)
