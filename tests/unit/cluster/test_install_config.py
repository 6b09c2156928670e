"""Problems of an install-config: one line each, with the field's path, never with a value that may be secret."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from cluster.errors import ConfigError
from cluster.plan import load_plan
from tests import plans

Change = Callable[[dict[str, Any]], object]


def bare(config: dict[str, Any]) -> dict[str, Any]:
    section: dict[str, Any] = config["platform"]["baremetal"]
    return section


def host(config: dict[str, Any], index: int = 0) -> dict[str, Any]:
    each: dict[str, Any] = bare(config)["hosts"][index]
    return each


def problems_of(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "install-config.yaml"
    path.write_text(text)
    with pytest.raises(ConfigError) as caught:
        load_plan(path, plans.options())
    assert str(caught.value) == "\n".join(caught.value.problems)
    return caught.value.problems


def after(tmp_path: Path, change: Change) -> list[str]:
    config = plans.install_config()
    change(config)
    return problems_of(tmp_path, yaml.safe_dump(config))


@pytest.mark.parametrize(
    ("change", "line"),
    [
        pytest.param(lambda c: c.pop("baseDomain"), "baseDomain: Field required", id="missing"),
        pytest.param(
            lambda c: c.update(baseDomian="x"), "baseDomian: unknown key; did you mean baseDomain?", id="misspelt"
        ),
        pytest.param(
            lambda c: host(c, 2).update(rootDeviceHint={}),
            "platform.baremetal.hosts.2.rootDeviceHint: unknown key; did you mean rootDeviceHints?",
            id="misspelt-deep",
        ),
        pytest.param(lambda c: c.update(zzz=1), "zzz: unknown key", id="unknown-near-nothing"),
        pytest.param(
            lambda c: host(c).update(bootMACAddress="52:54:00"),
            "platform.baremetal.hosts.0.bootMACAddress: String should match",
            id="mac",
        ),
        pytest.param(
            lambda c: host(c)["bmc"].update(address="ipmi://192.0.2.1"),
            "platform.baremetal.hosts.0.bmc.address: driver 'ipmi' cannot boot from virtual media",
            id="bmc-driver",
        ),
        pytest.param(
            lambda c: host(c)["bmc"].update(password=""),
            "platform.baremetal.hosts.0.bmc.password: ",
            id="empty-password",
        ),
        pytest.param(
            lambda c: host(c).update(rootDeviceHints={"deviceName": "vda"}),
            "platform.baremetal.hosts.0.rootDeviceHints.deviceName: String should match",
            id="device",
        ),
        pytest.param(
            lambda c: c["metadata"].update(name="Okd"), "metadata.name: String should match", id="cluster-name"
        ),
        pytest.param(
            lambda c: bare(c).update(provisioningNetwork="Managed"),
            "platform.baremetal.provisioningNetwork: Input should be 'Disabled'",
            id="provisioning-network",
        ),
        pytest.param(
            lambda c: c["controlPlane"].update(replicas=5),
            "platform.baremetal.hosts: 3 with role master, replicas wants 5",
            id="replicas-master",
        ),
        pytest.param(
            lambda c: c["compute"][0].update(replicas=0),
            "platform.baremetal.hosts: 2 with role worker, replicas wants 0",
            id="replicas-worker",
        ),
        pytest.param(
            lambda c: host(c, 1).update(name="okd-master-0"),
            "platform.baremetal.hosts: name okd-master-0 stands twice",
            id="name-twice",
        ),
        pytest.param(
            lambda c: (
                host(c, 0).update(bootMACAddress="AA:AA:AA:AA:AA:AA"),
                host(c, 1).update(bootMACAddress="aa:aa:aa:aa:aa:aa"),
            ),
            "platform.baremetal.hosts: bootMACAddress aa:aa:aa:aa:aa:aa stands twice",
            id="mac-twice-in-another-case",
        ),
        pytest.param(
            lambda c: host(c, 1)["bmc"].update(address=host(c, 0)["bmc"]["address"]),
            "platform.baremetal.hosts: bmc.address ",
            id="bmc-twice",
        ),
        pytest.param(
            lambda c: bare(c).update(apiVIPs=["192.168.112.5"]),
            "platform.baremetal.apiVIPs: 192.168.112.5 is no host address of machineNetwork 192.168.111.0/24",
            id="vip-outside",
        ),
        pytest.param(
            lambda c: bare(c).update(ingressVIPs=["192.168.111.255"]),
            "platform.baremetal.ingressVIPs: 192.168.111.255 is no host address",
            id="vip-is-broadcast",
        ),
        pytest.param(
            lambda c: bare(c).update(ingressVIPs=["192.168.111.5"]),
            "platform.baremetal.ingressVIPs: 192.168.111.5 is the API VIP already",
            id="vips-equal",
        ),
        pytest.param(
            lambda c: bare(c).update(apiVIPs=["192.168.111.5", "192.168.111.6"]),
            "platform.baremetal.apiVIPs: ",
            id="two-api-vips",
        ),
    ],
)
def test_a_problem_is_one_line_with_the_path_of_its_field(tmp_path: Path, change: Change, line: str) -> None:
    (problem,) = after(tmp_path, change)
    assert problem.startswith(f"install-config: {line}")
    assert "\n" not in problem


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    path = tmp_path / "install-config.yaml"
    config = plans.install_config()
    del config["metadata"], config["sshKey"], config["pullSecret"]
    path.write_text(yaml.safe_dump(config))
    with pytest.raises(ConfigError) as caught:
        load_plan(path, plans.options(phase="half", payload={}))
    fields = [problem.split(": ")[:2] for problem in caught.value.problems]
    assert fields == [
        ["install-config", "metadata"],
        ["install-config", "pullSecret"],
        ["config", "phase"],
        ["config", "payload.bootstrap"],
        ["config", "payload.master"],
        ["config", "payload.worker"],
    ]


SECRET = "hunter2"


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: host(c)["bmc"].update(password=[SECRET]), id="password-is-a-list"),
        pytest.param(lambda c: host(c)["bmc"].update(passwrod=SECRET), id="password-misspelt"),
        pytest.param(lambda c: c.update(pullSecret={"auths": SECRET}), id="pull-secret-is-a-mapping"),
        pytest.param(
            lambda c: host(c)["bmc"].update(address=f"redfish-virtualmedia://root:{SECRET}@192.0.2.1"),
            id="password-in-the-url",
        ),
    ],
)
def test_a_secret_is_never_printed(tmp_path: Path, change: Change) -> None:
    assert SECRET not in "\n".join(after(tmp_path, change))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(f'pullSecret: "{SECRET}\nmetadata: {{', id="quote-left-open"),
        pytest.param(f"password: *{SECRET}", id="looks-like-an-alias"),
        pytest.param(f"password: !{SECRET}", id="looks-like-a-tag"),
        pytest.param(f"password: @{SECRET}", id="reserved-character"),
        pytest.param(f"password: {SECRET}: more", id="two-colons"),
    ],
)
def test_a_file_that_is_no_yaml_is_one_line_without_its_text(tmp_path: Path, text: str) -> None:
    (problem,) = problems_of(tmp_path, text)
    assert problem.startswith(f"{tmp_path / 'install-config.yaml'}: no YAML")
    assert "line 1" in problem or "line 2" in problem
    assert SECRET not in problem
    assert "\n" not in problem


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"install-config\.yaml: no such file"):
        load_plan(tmp_path / "install-config.yaml", plans.options())


def test_an_empty_file_is_a_problem(tmp_path: Path) -> None:
    (problem,) = problems_of(tmp_path, "")
    assert problem.startswith("install-config: ")
