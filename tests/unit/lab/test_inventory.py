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


def test_site_is_what_the_rehearsals_stack_says() -> None:
    site = load_site()
    assert site.domain == "okd.lab.test"
    assert [machine.name for machine in site.machines] == [
        "okd-bootstrap",
        *(f"okd-master-{number}" for number in range(3)),
        *(f"okd-worker-{number}" for number in range(2)),
    ]
    assert [str(machine.address) for machine in site.machines] == [
        f"192.168.111.{number}" for number in range(20, 26)
    ]
    assert [machine.name for machine in site.control_plane] == ["okd-master-0", "okd-master-1", "okd-master-2"]
    assert (str(site.bmc.address), site.bmc.port, site.bmc.username) == ("172.22.0.1", 8443, "admin")
    assert site.ssh_key.startswith("ssh-ed25519 AAAA")


def test_servers_uuid_is_that_of_its_name() -> None:
    site = load_site()
    for server in site.servers:
        assert server.uuid == str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{server.name}.{site.domain}"))


def test_server_without_an_address_is_one_clear_line(tmp_path: Path) -> None:
    stacks = copy_of_the_stack(tmp_path)
    config = yaml.safe_load((stacks / "Pulumi.rehearsal.yaml").read_text())
    del config["config"]["okd-baremetal:node_addresses"]["okd-worker-1"]
    (stacks / "Pulumi.rehearsal.yaml").write_text(yaml.safe_dump(config))
    with pytest.raises(LabError, match=r"Pulumi\.rehearsal\.yaml: no address for 'okd-worker-1'"):
        load_site(stacks)


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
            r"Pulumi\.rehearsal\.yaml: okd-master-0: the lab wants a role, and a system in bmc.address",
            id="no-system",
        ),
        pytest.param("role: worker", "role: ''", "okd-worker-0: the lab wants a role", id="no-role"),
        pytest.param("baseDomain: lab.test", "", r"install-config\.yaml: baseDomain: missing", id="refused-file"),
        pytest.param("baseDomain: lab.test", "- x", r"install-config\.yaml: no YAML at line", id="no-yaml"),
    ],
)
def test_what_the_lab_cannot_stand_in_for_is_one_clear_line(tmp_path: Path, old: str, new: str, why: str) -> None:
    stacks = copy_of_the_stack(tmp_path)
    path = stacks / "rehearsal" / "install-config.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(LabError, match=why):
        load_site(stacks)


def test_missing_install_config_is_named(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"install-config\.yaml: cannot be read \(No such file or directory\)"):
        load_site(tmp_path)
