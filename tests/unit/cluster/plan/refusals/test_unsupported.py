"""Settings that the installer accepts and this release refuses: a plan reports them, `check` does not."""

from typing import Any

import pytest

from testing import clusters, plans
from testing.install_configs import Change, arm64, bare, fine, host
from testing.plan_files import Files

BARE = "platform.baremetal"
HTTP = "redfish-uefihttp"


def provisioning(mode: str, **values: Any) -> Change:
    return lambda config: bare(config).update(provisioningNetwork=mode, **values)


def over_ipv6(mode: str = "Managed", **values: Any) -> Change:
    return provisioning(mode, provisioningNetworkCIDR="fd35::/64", **values)


def booting_over_ipv6(mode: str, boot: str) -> Change:
    """Boot the first host over a network of IPv6."""

    def change(config: dict[str, Any]) -> None:
        address("redfish://192.0.2.1", mode=mode, bootMode=boot)(config)
        over_ipv6(mode)(config)

    return change


def address(url: str, *, mode: str = "Disabled", at: int = 0, **values: Any) -> Change:
    """Give a host a BMC's address, and other values."""

    def change(config: dict[str, Any]) -> None:
        provisioning(mode)(config)
        host(config, at).update(values)
        host(config, at)["bmc"].update(address=url)

    return change


def long_login(url: str) -> Change:
    """Give a host a BMC's address, and a login of one byte more than IPMI has room for."""

    def change(config: dict[str, Any]) -> None:
        address(url, mode="Managed")(config)
        host(config)["bmc"].update(username="u" * 15 + "ü", password="p" * 21)

    return change


def arm64_over_the_network(config: dict[str, Any]) -> None:
    """Let compute be of arm64, and boot the first server of each role from the network."""
    arm64(config)
    for index in (0, 3):
        address(f"redfish://192.0.2.{index}", mode="Managed", at=index)(config)


def arm64_by_http(config: dict[str, Any]) -> None:
    arm64(config)
    address(f"{HTTP}://192.0.2.1", at=3)(config)


def a_spare_by_http(config: dict[str, Any]) -> None:
    config["compute"][0].update(replicas=1)
    address(f"{HTTP}://192.0.2.1", at=4, bootMode="legacy")(config)


def arm64_by_bios(config: dict[str, Any]) -> None:
    arm64(config)
    for each in bare(config)["hosts"]:
        each.update(bootMode="legacy")


def a_spare_of_arm64_by_bios(config: dict[str, Any]) -> None:
    arm64(config)
    config["compute"][0].update(replicas=1)
    host(config, 4).update(bootMode="legacy")


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        pytest.param(
            provisioning("Managed", provisioningDHCPRange="172.22.0.10,172.22.0.13"),
            [
                f"{BARE}.provisioningDHCPRange: 172.22.0.10,172.22.0.13 has addresses for 4 of 5 hosts. "
                "Fix: write a longer one: each host has its own address there"
            ],
            id="a-range-shorter-than-the-hosts",
        ),
        pytest.param(
            over_ipv6(provisioningDHCPRange="fd35::9,fd35::36"),
            [
                f"{BARE}.provisioningDHCPRange: fd35::9,fd35::36 has addresses for 4 of 5 hosts. "
                "Fix: write a longer one: each host has eight of its own there, aligned to eight"
            ],
            id="a-range-of-ipv6-shorter-than-the-hosts",
        ),
        pytest.param(
            over_ipv6(provisioningNetworkGateway="fd35::4"),
            [
                f"{BARE}.provisioningNetworkGateway: fd35::4: DHCPv6 names no router. "
                "Fix: remove it: a router there announces itself"
            ],
            id="a-router-by-dhcpv6",
        ),
        *(
            pytest.param(
                booting_over_ipv6(mode, boot),
                [
                    f"{BARE}.hosts[0].bmc.address: bootMode {boot}: over a provisioning network of IPv6, only UEFI "
                    "boots, by iPXE. Fix: use redfish-virtualmedia"
                ],
                id=f"{mode.lower()}-by-ipv6-and-{boot}",
            )
            for mode in ("Managed", "Unmanaged")
            for boot in ("legacy", "UEFISecureBoot")
        ),
        pytest.param(
            address(f"{HTTP}://192.0.2.1/redfish/v1/Systems/1", bootMode="legacy"),
            [
                f"{BARE}.hosts[0].bmc.address: bootMode legacy: only UEFI firmware boots by HTTP. "
                "Fix: use redfish-virtualmedia"
            ],
            id="http-by-legacy",
        ),
        pytest.param(
            arm64_by_http,
            [
                f"{BARE}.hosts[3].bmc.address: servers of arm64 boot from virtual media only. "
                "Fix: use redfish-virtualmedia"
            ],
            id="arm64-by-http",
        ),
        *(
            pytest.param(
                address(f"{kind}://192.0.2.1", mode="Managed"),
                [
                    f"{BARE}.hosts[0].bmc.address: {kind} is no longer supported by metal3. Fix: use "
                    "redfish-virtualmedia, idrac-virtualmedia for Dell, or ilo5-virtualmedia for HPE"
                ],
                id=kind,
            )
            for kind in ("ilo5", "irmc")
        ),
        pytest.param(
            long_login("192.0.2.1"),
            [
                f"{BARE}.hosts[0].bmc.username: longer than 16 bytes, the most that IPMI has. "
                "Fix: set a shorter one in the BMC, and write it here",
                f"{BARE}.hosts[0].bmc.password: longer than 20 bytes, the most that IPMI has. "
                "Fix: set a shorter one in the BMC, and write it here",
            ],
            id="login-too-long-for-ipmi",
        ),
        pytest.param(
            arm64_over_the_network,
            [
                f"{BARE}.hosts[3].bmc.address: servers of arm64 boot from virtual media only. "
                "Fix: use redfish-virtualmedia"
            ],
            id="arm64-over-the-network",
        ),
        pytest.param(
            lambda c: bare(c).update(
                loadBalancer={"type": "UserManaged"},
                apiVIPs=["192.0.2.5", "2001:db8::5"],
                ingressVIPs=["2001:db8::5"],
            ),
            [
                f"{BARE}.{key}: 2001:db8::5: no machine network is of IPv6. Fix: "
                "remove it, or add such a network to machineNetwork"
                for key in ("apiVIPs[1]", "ingressVIPs[0]")
            ],
            id="a-family-that-no-machine-has",
        ),
        pytest.param(
            lambda c: (c["controlPlane"].update(architecture="s390x"), c["compute"][0].update(architecture="s390x")),
            [
                "controlPlane.architecture: s390x: not supported yet. Fix: write amd64 or arm64",
                "compute[0].architecture: s390x: not supported yet. Fix: write amd64 or arm64",
            ],
            id="another-architecture",
        ),
        pytest.param(
            arm64_by_bios,
            [
                f"{BARE}.hosts[{index}].bootMode: legacy: servers of arm64 have only UEFI firmware. Fix: write UEFI"
                for index in (3, 4)
            ],
            id="arm64-without-uefi",
        ),
    ],
)
def test_an_unsupported_setting_is_refused_with_a_supported_one(
    files: Files, change: Change, lines: list[str]
) -> None:
    fine(change)
    faults = files.refused_intent(change)
    assert len(faults) == len(lines), faults
    for fault, line in zip(faults, lines, strict=True):
        assert fault.startswith(f"FILE: {line}"), fault
    assert files.refused_plan(change) == faults


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: host(c).update(rootDeviceHints={"wwn": "0x5000"}), id="root-device-hint"),
        pytest.param(lambda c: host(c).pop("rootDeviceHints"), id="no-root-device-hint"),
        pytest.param(lambda c: host(c).update(networkConfig={"interfaces": []}), id="network-config"),
        pytest.param(lambda c: bare(c).update(loadBalancer={"type": "OpenShiftManagedDefault"}), id="balancer"),
        pytest.param(lambda c: c["compute"][0].update(replicas=1), id="more-compute-than-wanted"),
        pytest.param(
            lambda c: (host(c, 3).update(role="master"), c["compute"][0].update(replicas=1)),
            id="more-masters-than-wanted",
        ),
        pytest.param(clusters.balancer, id="balancer-of-the-site"),
        pytest.param(a_spare_of_arm64_by_bios, id="spare-of-arm64-without-uefi"),
        pytest.param(provisioning("Managed"), id="managed"),
        pytest.param(lambda c: bare(c).pop("provisioningNetwork"), id="managed-by-default"),
        pytest.param(provisioning("Unmanaged"), id="unmanaged"),
        *(
            pytest.param(
                provisioning(mode, loadBalancer={"type": "UserManaged"}), id=f"{mode.lower()}-behind-a-balancer"
            )
            for mode in ("Managed", "Unmanaged")
        ),
        pytest.param(
            provisioning("Managed", provisioningDHCPRange="172.22.0.10,172.22.0.14"), id="an-address-for-each-host"
        ),
        *(
            pytest.param(address(f"{kind}192.0.2.1", mode=mode), id=f"{mode.lower()}-by-{kind or 'no-type'}")
            for mode in ("Managed", "Unmanaged")
            for kind in ("redfish://", "redfish+http://", "idrac-redfish://", "ilo5-redfish://", "")
        ),
        *(
            pytest.param(address(f"{HTTP}://192.0.2.1", mode=mode, bootMode=boot), id=f"{mode}-http-by-{boot}")
            for mode in ("Disabled", "Managed", "Unmanaged")
            for boot in ("UEFI", "UEFISecureBoot")
        ),
        *(
            pytest.param(
                address(f"{kind}://192.0.2.1", mode=mode, bootMode="UEFISecureBoot"), id=f"{mode}-{kind}-secure-boot"
            )
            for mode in ("Managed", "Unmanaged")
            for kind in ("redfish", "idrac-redfish", "ilo5-redfish")
        ),
        *(pytest.param(booting_over_ipv6(mode, "UEFI"), id=f"{mode}-ipv6") for mode in ("Managed", "Unmanaged")),
        pytest.param(over_ipv6(provisioningDHCPRange="fd35::9,fd35::37"), id="eight-addresses-for-each-host"),
        pytest.param(a_spare_by_http, id="spare-http-by-legacy"),
        pytest.param(
            lambda c: (c["compute"][0].update(replicas=0), [each.pop("role") for each in bare(c)["hosts"]]),
            id="no-compute",
        ),
    ],
)
def test_settings_that_are_judged_later_are_planned(files: Files, change: Change) -> None:
    fine(change)
    assert files.intent(change, plans.options()).control_plane
