import uuid
from pathlib import Path

import pytest
import yaml

from lab.inventory import STACKS, load_site
from lab.shell import LabError


def copy_of_the_stack(folder: Path) -> Path:
    (folder / "rehearsal").mkdir()
    for name in ("rehearsal/install-config.yaml", "Pulumi.rehearsal.yaml"):
        (folder / name).write_text((STACKS / name).read_text())
    return folder


def test_the_site_is_read_from_the_rehearsals_stack() -> None:
    site = load_site()
    assert site.plan.domain == "okd.lab.test"
    assert site.names == (
        "okd-bootstrap",
        *(f"okd-master-{number}" for number in range(3)),
        *(f"okd-worker-{number}" for number in range(2)),
    )
    assert [str(machine.address) for machine in (site.plan.bootstrap, *site.plan.servers)] == [
        f"192.168.111.{number}" for number in range(20, 26)
    ]
    control_plane = [server.name for server in site.plan.control_plane]
    assert control_plane == ["okd-master-0", "okd-master-1", "okd-master-2"]
    assert (str(site.bmc.address), site.bmc.port, site.bmc.username) == ("172.22.0.1", 8443, "admin")
    assert site.bmc.password.get_secret_value() == "rehearsal-only"
    assert site.config.ssh_key.startswith("ssh-ed25519 AAAA")


def test_a_servers_uuid_follows_from_its_name() -> None:
    assert load_site().uuids == {
        name: str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.okd.lab.test"))
        for name in ("okd-master-0", "okd-master-1", "okd-master-2", "okd-worker-0", "okd-worker-1")
    }


def test_the_login_of_the_bmc_is_in_no_repr() -> None:
    assert "rehearsal-only" not in repr(load_site())


def test_a_server_without_an_address_is_one_line(tmp_path: Path) -> None:
    stacks = copy_of_the_stack(tmp_path)
    config = yaml.safe_load((stacks / "Pulumi.rehearsal.yaml").read_text())
    del config["config"]["okd-baremetal:node_addresses"]["okd-worker-1"]
    (stacks / "Pulumi.rehearsal.yaml").write_text(yaml.safe_dump(config))
    with pytest.raises(LabError) as caught:
        load_site(stacks)
    assert str(caught.value) == (
        f"{stacks}/Pulumi.rehearsal.yaml: node_addresses.okd-worker-1: no IPv4 address. "
        "Fix: name the one that DHCP reserves for 52:54:00:11:10:19"
    )


def test_an_unreadable_stack_file_is_one_line(tmp_path: Path) -> None:
    stacks = copy_of_the_stack(tmp_path)
    (stacks / "Pulumi.rehearsal.yaml").write_text("config: [")
    with pytest.raises(LabError, match=r"^\S+/Pulumi\.rehearsal\.yaml: not valid YAML at line 1") as caught:
        load_site(stacks)
    assert "\n" not in str(caught.value)


def test_servers_behind_different_bmcs_are_refused(tmp_path: Path) -> None:
    stacks = copy_of_the_stack(tmp_path)
    path = stacks / "rehearsal" / "install-config.yaml"
    path.write_text(path.read_text().replace("172.22.0.1:8443", "172.22.0.9:8443", 1))
    with pytest.raises(LabError, match="the lab has one BMC"):
        load_site(stacks)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        pytest.param(
            "/redfish/v1/Systems/6058de92-e7e4-55e9-914d-943d53924e75",
            "",
            r"install-config\.yaml: okd-master-0: no system in bmc\.address\. Fix: end it with /redfish",
            id="no-system",
        ),
        pytest.param(
            "172.22.0.1:8443",
            "bmc.lab.test:8443",
            r"install-config\.yaml: okd-master-0: no IPv4 address in bmc\.address",
            id="bmc-by-name",
        ),
        pytest.param(
            "deviceName: /dev/vda",
            "model: big",
            r"install-config\.yaml: platform\.baremetal\.hosts\[0\]\.rootDeviceHints: model: only deviceName",
            id="not-installed-yet",
        ),
        pytest.param("baseDomain: lab.test", "", r"install-config\.yaml: baseDomain: missing", id="refused-file"),
        pytest.param("baseDomain: lab.test", "- x", r"install-config\.yaml: not valid YAML at line", id="no-yaml"),
    ],
)
def test_a_stack_that_the_lab_does_not_support_is_one_line(tmp_path: Path, old: str, new: str, why: str) -> None:
    stacks = copy_of_the_stack(tmp_path)
    path = stacks / "rehearsal" / "install-config.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(LabError, match=why):
        load_site(stacks)


def test_a_spare_host_and_one_without_a_login_are_refused(tmp_path: Path) -> None:
    stacks = copy_of_the_stack(tmp_path)
    path = stacks / "rehearsal" / "install-config.yaml"
    config = yaml.safe_load(path.read_text())
    hosts = config["platform"]["baremetal"]["hosts"]
    del hosts[0]["bmc"]["password"]
    del hosts[4]["role"]
    config["compute"][0]["replicas"] = 1
    path.write_text(yaml.safe_dump(config))
    with pytest.raises(LabError) as caught:
        load_site(stacks)
    assert f"{path}: okd-master-0: no BMC login in this file. Fix: write bmc.username" in str(caught.value)
    assert f"{path}: okd-worker-1: no role; the lab needs one for each host. Fix: write one" in str(caught.value)


def test_missing_install_config_is_named(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.rehearsal.yaml").write_text((STACKS / "Pulumi.rehearsal.yaml").read_text())
    with pytest.raises(LabError, match=r"install-config\.yaml: cannot be read: No such file or directory"):
        load_site(tmp_path)
