from collections.abc import Callable
from typing import Any

import pytest

from testing.install_configs import Change, bare, fine, lines, refused

CREDENTIALS = "controlPlane.fencing.credentials"


def pool(key: str, **values: Any) -> Callable[[dict[str, Any]], None]:
    """Change a pool: `controlPlane`, `arbiter` (added if missing) or the first of `compute`."""

    def change(config: dict[str, Any]) -> None:
        config.setdefault(key, {"name": "arbiter", "replicas": 1})
        (config[key][0] if key == "compute" else config[key]).update(values)

    return change


def together(*changes: Change) -> Change:
    def change(config: dict[str, Any]) -> None:
        for each in changes:
            each(config)

    return change


def credential(index: int, **values: Any) -> dict[str, Any]:
    return {
        "hostName": f"okd-master-{index}",
        "username": "admin",
        "password": "fence-only",
        "address": f"redfish+https://172.22.0.{index + 1}:8443/redfish/v1/Systems/1",
        **values,
    }


def fenced(*credentials: dict[str, Any]) -> Change:
    return pool("controlPlane", replicas=2, fencing={"credentials": list(credentials)})


def address(text: str) -> Change:
    return fenced(credential(0), credential(1, address=text))


def with_arbiter(**values: Any) -> Change:
    """Make the third master the arbiter."""

    def change(config: dict[str, Any]) -> None:
        config["controlPlane"]["replicas"] = 2
        config["arbiter"] = {"name": "arbiter", "replicas": 1, **values}
        bare(config)["hosts"][2]["role"] = "arbiter"

    return change


MAC = "52:54:00:11:10:16"
ETCD = {"type": "etcd", "etcd": {"platformDiskID": "etcd"}}


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: c["controlPlane"].pop("name"), id="control-plane-without-name"),
        pytest.param(pool("compute", replicas=0), id="no-compute"),
        pytest.param(pool("compute", hyperthreading="Disabled"), id="hyperthreading-off"),
        pytest.param(pool("compute", architecture="arm64"), id="arm-compute-beside-amd"),
        pytest.param(
            together(pool("controlPlane", architecture="s390x"), pool("compute", architecture="s390x")),
            id="one-architecture",
        ),
        pytest.param(pool("compute", platform={}), id="settings-empty"),
        pytest.param(pool("controlPlane", platform={"baremetal": {}}), id="settings-of-baremetal-empty"),
        pytest.param(lambda c: bare(c).update(defaultMachinePlatform={}), id="default-settings-empty"),
        pytest.param(with_arbiter(), id="arbiter"),
        pytest.param(lambda c: (with_arbiter()(c), c["arbiter"].pop("name")), id="arbiter-without-name"),
        pytest.param(fenced(credential(0), credential(1)), id="fencing"),
        pytest.param(
            fenced(credential(0, certificateVerification="Disabled"), credential(1)),
            id="fencing-without-verification",
        ),
        pytest.param(
            fenced(credential(0, hostName="", macAddress=MAC), credential(1, macAddress="52:54:00:11:10:17")),
            id="fencing-by-macs",
        ),
        pytest.param(pool("controlPlane", fencing={}), id="fencing-empty"),
        pytest.param(address("idrac-redfish://172.22.0.9/v1"), id="fencing-port-of-a-vendor"),
        pytest.param(address("any://172.22.0.9:8443/redfish"), id="fencing-port-given"),
        pytest.param(pool("controlPlane", replicas=1), id="single-node"),
    ],
)
def test_a_valid_setting_is_accepted(change: Change) -> None:
    fine(change)


@pytest.mark.parametrize(
    ("change", "starts"),
    [
        pytest.param(
            lambda c: c["platform"].update(none={}),
            ("platform: baremetal and none are given. Fix: keep",),
            id="two-platforms",
        ),
        pytest.param(
            pool("controlPlane", name="control"), ("controlPlane.name: control is unknown",), id="master-name"
        ),
        pytest.param(
            pool("controlPlane", replicas=0),
            ("controlPlane.replicas: 0 is too few. Fix: write 1 or more",),
            id="no-master",
        ),
        pytest.param(
            pool("controlPlane", replicas=-1), ("controlPlane.replicas: -1 is too few",), id="negative-masters"
        ),
        pytest.param(
            pool("compute", replicas=-1), ("compute[0].replicas: -1 is too few. Fix: write 0",), id="negative-compute"
        ),
        pytest.param(
            lambda c: c["compute"].append({"name": "edge"}),
            ("compute[1].name: edge is unknown. Fix: write worker",),
            id="edge",
        ),
        pytest.param(pool("compute", name="edge"), ("compute[0].name: edge is unknown",), id="edge-alone"),
        pytest.param(
            lambda c: c.update(compute=[{"replicas": 2}]), ("compute[0].name: missing",), id="no-name-alone"
        ),
        pytest.param(
            lambda c: c["compute"].append({"replicas": 0}),
            ("compute[1].name: missing. Fix: write worker",),
            id="no-name",
        ),
        pytest.param(
            lambda c: c["compute"].append({"name": "worker", "replicas": 0}),
            ("compute[1].name: compute[0] has the name worker already",),
            id="two-worker-pools",
        ),
        pytest.param(
            pool("compute", hyperthreading="enabled"),
            ("compute[0].hyperthreading: enabled is unknown. Fix: write one of Enabled",),
            id="hyperthreading",
        ),
        pytest.param(
            pool("controlPlane", architecture="x86_64"),
            ("controlPlane.architecture: x86_64 is unknown. Fix: write one of amd64",),
            id="architecture",
        ),
        pytest.param(
            pool("compute", architecture="ppc64le"),
            ("compute[0].architecture: ppc64le cannot be mixed with the control plane's amd64",),
            id="foreign-compute",
        ),
        pytest.param(
            pool("controlPlane", architecture="arm64"),
            ("compute[0].architecture: amd64 cannot be mixed with the control plane's arm64. Fix: write arm64",),
            id="amd-compute-beside-arm",
        ),
        pytest.param(
            pool("compute", platform={"aws": {"type": "m5.xlarge"}}),
            ("compute[0].platform.aws: cannot be given when the cluster is on baremetal",),
            id="settings-of-a-cloud",
        ),
        pytest.param(
            pool("compute", platform={"metal": {}}), ("compute[0].platform.metal: unknown key",), id="settings"
        ),
        pytest.param(
            pool("controlPlane", platform={"baremetal": {"rootVolume": 1}}),
            ("controlPlane.platform.baremetal.rootVolume: unknown key",),
            id="settings-of-baremetal",
        ),
        pytest.param(
            pool("controlPlane", platform={"baremetal": "yes"}),
            ("controlPlane.platform.baremetal: a mapping is wanted",),
            id="settings-as-text",
        ),
        pytest.param(
            lambda c: bare(c).update(defaultMachinePlatform={"cpus": 4}),
            ("platform.baremetal.defaultMachinePlatform.cpus: unknown key",),
            id="default-settings",
        ),
        pytest.param(
            with_arbiter(name="tie-breaker"),
            ("arbiter.name: tie-breaker is unknown. Fix: write arbiter",),
            id="arbiter-name",
        ),
        pytest.param(with_arbiter(replicas=0), ("arbiter.replicas: 0 is too few. Fix: write 1",), id="no-arbiter"),
        pytest.param(
            lambda c: (with_arbiter()(c), c["arbiter"].pop("replicas")),
            ("arbiter.replicas: 0 is too few",),
            id="arbiter-replicas-missing",
        ),
        pytest.param(
            lambda c: (with_arbiter()(c), c["controlPlane"].update(replicas=1)),
            ("controlPlane.replicas: 1 is too few beside an arbiter. Fix: write 2",),
            id="one-master-and-arbiter",
        ),
        pytest.param(
            pool("compute", fencing={"credentials": []}),
            ("compute[0].fencing: only the control plane",),
            id="fenced-compute",
        ),
        pytest.param(
            pool("controlPlane", management="ClusterAPI"),
            ("controlPlane.management: ClusterAPI manages machines of AWS only",),
            id="cluster-api-masters",
        ),
        pytest.param(
            pool("compute", management="ClusterAPI"), ("compute[0].management: ClusterAPI",), id="cluster-api-workers"
        ),
        pytest.param(
            pool("controlPlane", replicas=2), (f"{CREDENTIALS}: 0 given, but a control plane of 2",), id="not-fenced"
        ),
        pytest.param(fenced(credential(0)), (f"{CREDENTIALS}: 1 given, but a control plane of 2",), id="half-fenced"),
        pytest.param(
            together(fenced(credential(0), credential(1)), pool("controlPlane", replicas=3)),
            (f"{CREDENTIALS}: 2 given, but only a control plane of 2 hosts is fenced",),
            id="three-fenced",
        ),
        pytest.param(
            fenced(credential(0, username="", password=""), credential(1, hostName="", address="")),
            (
                f"{CREDENTIALS}[0].username: missing",
                f"{CREDENTIALS}[0].password: missing",
                f"{CREDENTIALS}[1].hostName: missing. "
                "Fix: write it, or macAddress: fencing identifies a host by one of both",
                f"{CREDENTIALS}[1].address: missing",
            ),
            id="credentials-missing",
        ),
        pytest.param(
            pool("controlPlane", diskSetup=[ETCD]),
            ("controlPlane.diskSetup: no openshift-install supports it on baremetal. Fix: remove it",),
            id="disksetup-etcd",
        ),
        pytest.param(
            pool("compute", diskSetup=[{"type": "user-defined"}]),
            ("compute[0].diskSetup: no openshift-install supports it",),
            id="disksetup-user-defined",
        ),
        pytest.param(
            lambda c: c.update(bootstrapInPlace={"installationDisk": "/dev/sda"}),
            ("bootstrapInPlace: a node on platform baremetal cannot be its own bootstrap. Fix: remove it",),
            id="bootstrap-in-place",
        ),
        pytest.param(
            fenced(credential(0), credential(1, hostName="okd-master-0")),
            (f"{CREDENTIALS}[1].hostName: credentials[0] has the same",),
            id="one-host-fenced-twice",
        ),
        pytest.param(
            fenced(credential(0, macAddress=MAC), credential(1, macAddress="5254.0011.1016")),
            (f"{CREDENTIALS}[1].macAddress: credentials[0] has the same",),
            id="one-mac",
        ),
        pytest.param(
            fenced(credential(0), credential(1, macAddress="52:54:00:11:10")),
            (f"{CREDENTIALS}[1].macAddress: 52:54:00:11:10 is not a MAC address",),
            id="fencing-mac",
        ),
        pytest.param(
            address(credential(0)["address"]),
            (f"{CREDENTIALS}[1].address: credentials[0] has the same",),
            id="one-bmc",
        ),
        pytest.param(
            fenced(credential(0), credential(1, certificateVerification="disabled")),
            (f"{CREDENTIALS}[1].certificateVerification: disabled is unknown",),
            id="verification",
        ),
        pytest.param(
            address("ipmi://172.22.0.9:623"),
            (f"{CREDENTIALS}[1].address: names no Redfish BMC",),
            id="fencing-by-ipmi",
        ),
        pytest.param(address("172.22.0.9/redfish"), (f"{CREDENTIALS}[1].address: names no port",), id="fencing-port"),
        pytest.param(
            address("redfish+https://172.22.0.9:none/redfish"),
            (f"{CREDENTIALS}[1].address: is not a URL",),
            id="fencing-url",
        ),
    ],
)
def test_an_invalid_setting_is_refused(change: Change, starts: tuple[str, ...]) -> None:
    refused(change, *starts)


@pytest.mark.parametrize(
    ("platform", "start"),
    [
        pytest.param(
            {},
            "platform: none is given, but this program installs only platform baremetal. Fix: describe",
            id="no-platform",
        ),
        pytest.param(
            {"vsphere": {}},
            "platform: vsphere is given, but this program installs only platform",
            id="another-platform",
        ),
    ],
)
def test_another_platform_is_refused(platform: dict[str, Any], start: str) -> None:
    assert any(line.startswith(start) for line in lines(lambda config: config.update(platform=platform)))


def test_messages_do_not_show_the_logins_of_fencing() -> None:
    wrong = {"address": "ipmi://admin:fence-only@172.22.0.9:623", "certificateVerification": "no"}
    faults = lines(fenced(credential(0, **wrong), credential(1, **wrong)))
    assert len(faults) == 5
    assert not any("fence-only" in line for line in faults)
