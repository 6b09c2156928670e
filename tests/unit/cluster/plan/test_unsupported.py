"""Settings that the installer accepts and this release refuses: a plan reports them, `check` does not."""

from typing import Any

import pytest

from testing import clusters, plans
from testing.install_configs import Change, arm64, bare, fine, host
from testing.plan_files import Files

BARE = "platform.baremetal"
FENCES = [
    {"hostName": f"okd-master-{index}", "username": "admin", "password": "x", "address": f"redfish+https://192.0.2.{index}"}
    for index in (1, 2)
]  # fmt: skip


def address(url: str, *, mode: str = "Disabled") -> Change:
    def change(config: dict[str, Any]) -> None:
        bare(config).update(provisioningNetwork=mode)
        host(config)["bmc"].update(address=url)

    return change


def arm64_by_bios(config: dict[str, Any]) -> None:
    arm64(config)
    for each in bare(config)["hosts"]:
        each.update(bootMode="legacy")


def a_spare_of_arm64_by_bios(config: dict[str, Any]) -> None:
    arm64(config)
    config["compute"][0].update(replicas=1)
    host(config, 4).update(bootMode="legacy")


def two_masters(config: dict[str, Any]) -> None:
    config["controlPlane"].update(replicas=2, fencing={"credentials": FENCES})
    config["featureSet"] = "TechPreviewNoUpgrade"
    bare(config)["hosts"].pop(0)


def an_arbiter(config: dict[str, Any]) -> None:
    config.update(arbiter={"name": "arbiter", "replicas": 1}, featureSet="TechPreviewNoUpgrade")
    config["controlPlane"].update(replicas=2)
    host(config).update(role="arbiter")


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        pytest.param(
            lambda c: bare(c).update(provisioningNetwork="Managed"),
            [f"{BARE}.provisioningNetwork: Managed: hosts boot from virtual media only. Fix: write Disabled"],
            id="managed",
        ),
        pytest.param(
            lambda c: bare(c).pop("provisioningNetwork"),
            [f"{BARE}.provisioningNetwork: Managed: hosts boot from virtual media only. Fix: write Disabled"],
            id="managed-by-default",
        ),
        pytest.param(
            lambda c: bare(c).update(provisioningNetwork="Unmanaged"),
            [f"{BARE}.provisioningNetwork: Unmanaged: hosts boot from virtual media only. Fix: write Disabled"],
            id="unmanaged",
        ),
        pytest.param(
            address("redfish://192.0.2.1/redfish/v1/Systems/1", mode="Managed"),
            [
                f"{BARE}.provisioningNetwork: Managed: hosts boot from virtual media only. Fix: write Disabled",
                f"{BARE}.hosts[0].bmc.address: redfish boots from the network. Fix: use redfish-virtualmedia",
            ],
            id="pxe",
        ),
        pytest.param(
            address("idrac-redfish+http://192.0.2.1/redfish/v1/Systems/1", mode="Managed"),
            [
                f"{BARE}.provisioningNetwork: Managed: hosts boot from virtual media only. Fix: write Disabled",
                f"{BARE}.hosts[0].bmc.address: idrac-redfish boots from the network. Fix: use idrac-virtualmedia",
            ],
            id="pxe-of-dell",
        ),
        pytest.param(
            address("redfish-uefihttp://192.0.2.1/redfish/v1/Systems/1"),
            [f"{BARE}.hosts[0].bmc.address: redfish-uefihttp boots from the network. Fix: use redfish-virtualmedia"],
            id="uefihttp",
        ),
        pytest.param(
            address("ipmi://192.0.2.1", mode="Managed"),
            [
                f"{BARE}.provisioningNetwork: Managed: hosts boot from virtual media only. Fix: write Disabled",
                f"{BARE}.hosts[0].bmc.address: ipmi (the type if none is named) needs a provisioning network. "
                "Fix: "
                "use redfish-virtualmedia, idrac-virtualmedia for Dell, or ilo5-virtualmedia for HPE",
            ],
            id="ipmi",
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
                f"{BARE}.hosts[{index}].bootMode: legacy: servers of arm64 have no firmware but UEFI. Fix: write UEFI"
                for index in (3, 4)
            ],
            id="arm64-without-uefi",
        ),
        pytest.param(
            two_masters,
            [
                "controlPlane.fencing: two hosts have no majority of etcd without Pacemaker, and this program knows "
                "none but etcd's own. Fix: remove it, and have one host or three"
            ],
            id="fencing",
        ),
        pytest.param(
            an_arbiter,
            [
                "arbiter: its hosts boot from an arbiter.ign, and this program installs two roles, control plane and "
                "compute. Fix: remove it, and have three control-plane hosts",
                f"{BARE}.hosts[0].role: arbiter: this program does not install one. Fix: write master or worker",
            ],
            id="arbiter",
        ),
        pytest.param(
            lambda c: c.update(bootstrapInPlace={"installationDisk": "/dev/vda"}),
            [
                "bootstrapInPlace: its node would be its own bootstrap, and this program starts a bootstrap VM. "
                "Fix: remove it"
            ],
            id="in-place",
        ),
    ],
)
def test_an_unsupported_setting_is_refused_with_a_supported_one(
    files: Files, change: Change, lines: list[str]
) -> None:
    fine(change)
    found = files.refused_intent(change)
    assert len(found) == len(lines), found
    for seen, line in zip(found, lines, strict=True):
        assert seen.startswith(f"FILE: {line}"), seen
    assert files.refused_plan(change) == found


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: host(c).update(rootDeviceHints={"wwn": "0x5000"}), id="root-device-hint"),
        pytest.param(lambda c: host(c).pop("rootDeviceHints"), id="no-root-device-hint"),
        pytest.param(lambda c: host(c).update(networkConfig={"interfaces": []}), id="network-config"),
        pytest.param(lambda c: bare(c).update(loadBalancer={"type": "OpenShiftManagedDefault"}), id="balancer"),
        pytest.param(lambda c: c["compute"][0].update(replicas=1), id="more-compute-than-wanted"),
        pytest.param(lambda c: c["controlPlane"].update(replicas=1), id="more-masters-than-wanted"),
        pytest.param(clusters.balancer, id="balancer-of-the-site"),
        pytest.param(a_spare_of_arm64_by_bios, id="spare-of-arm64-without-uefi"),
        pytest.param(
            lambda c: (c["compute"][0].update(replicas=0), [each.pop("role") for each in bare(c)["hosts"]]),
            id="no-compute",
        ),
    ],
)
def test_settings_that_are_judged_later_are_planned(files: Files, change: Change) -> None:
    fine(change)
    assert files.intent(change, plans.options()).control_plane
