import uuid
from contextlib import nullcontext
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.inventory import STACKS, Bmc, fitting, load_site
from lab.shell import LabError
from testing.clusters import as_stack

Document = dict[str, Any]


def copy_of(stack: str, folder: Path) -> Path:
    (folder / stack).mkdir()
    for name in (f"{stack}/install-config.yaml", f"Pulumi.{stack}.yaml"):
        (folder / name).write_text((STACKS / name).read_text())
    return folder


def changed(path: Path) -> Document:
    """Return the document of a file; write it back with `path.write_text(yaml.safe_dump(...))`."""
    document: Document = yaml.safe_load(path.read_text())
    return document


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
    assert [str(address) for address in site.provisioners] == ["192.168.111.1/24"]
    assert site.statics == frozenset()
    assert site.config.ssh_key.startswith("ssh-ed25519 AAAA")


def test_a_servers_uuid_follows_from_its_name() -> None:
    assert load_site().uuids == {
        name: str(uuid.uuid5(uuid.NAMESPACE_DNS, f"{name}.okd.lab.test"))
        for name in ("okd-master-0", "okd-master-1", "okd-master-2", "okd-worker-0", "okd-worker-1")
    }


def test_each_bmc_listens_where_the_install_config_says() -> None:
    bmcs = load_site("example").bmcs
    assert bmcs["master-0"] == Bmc("198.51.100.21", ip_address("198.51.100.21"), 443, tls=True, system="1")
    assert bmcs["worker-0"].system == "System.Embedded.1"
    assert bmcs["worker-0"].pattern == r"System\.Embedded\.1"


def test_a_bmc_that_is_named_gets_an_address_of_the_lab(tmp_path: Path) -> None:
    path = copy_of("example", tmp_path) / "example" / "install-config.yaml"
    document = changed(path)
    for index, name in enumerate(("bmc-a.example.com", "bmc-b.example.com", "bmc-a.example.com:8000")):
        bmc = document["platform"]["baremetal"]["hosts"][index]["bmc"]
        bmc["address"] = f"redfish-virtualmedia+http://{name}/redfish/v1/Systems/{index}"
    path.write_text(yaml.safe_dump(document))
    bmcs = load_site("example", tmp_path).bmcs
    endpoints = [(str(bmc.address), bmc.port, bmc.tls) for bmc in list(bmcs.values())[:3]]
    assert endpoints == [("172.22.1.1", 80, False), ("172.22.1.2", 80, False), ("172.22.1.1", 8000, False)]


def test_a_media_address_on_the_machine_network_is_the_provisioners(tmp_path: Path) -> None:
    path = copy_of("example", tmp_path) / "Pulumi.example.yaml"
    document = changed(path)
    document["config"]["okd-baremetal:media"]["address"] = "192.0.2.77"
    path.write_text(yaml.safe_dump(document))
    assert [str(address) for address in load_site("example", tmp_path).provisioners] == ["192.0.2.77/24"]


@pytest.mark.parametrize(
    ("kind", "own"), [("dual-stack", ["192.168.111.1/24", "fd2e::99/64"]), ("ipv6", ["fd2e::99/64"])]
)
def test_the_provisioner_has_an_address_of_each_family_the_primary_first(
    tmp_path: Path, kind: str, own: list[str]
) -> None:
    path = as_stack(kind, tmp_path) / f"Pulumi.{kind}.yaml"
    document = changed(path)
    document["config"]["okd-baremetal:media"]["address"] = "fd2e::99"
    path.write_text(yaml.safe_dump(document))
    assert [str(address) for address in load_site(kind, tmp_path).provisioners] == own


@pytest.mark.parametrize("moved", [True, False], ids=["compute-in-the-second", "nobody-in-the-second"])
def test_the_provisioner_has_an_address_in_each_network_with_a_machine(tmp_path: Path, moved: bool) -> None:
    path = copy_of("rehearsal", tmp_path) / "rehearsal" / "install-config.yaml"
    document = changed(path)
    document["networking"]["machineNetwork"].append({"cidr": "10.99.0.0/24"})
    if moved:
        document["platform"]["baremetal"]["ingressVIPs"] = ["10.99.0.4"]
        options = tmp_path / "Pulumi.rehearsal.yaml"
        settings = changed(options)
        names = [host["name"] for host in document["platform"]["baremetal"]["hosts"] if host["role"] == "worker"]
        addresses = {name: [f"10.99.0.{last}"] for last, name in enumerate(names, 24)}
        settings["config"]["okd-baremetal:node_addresses"].update(addresses)
        options.write_text(yaml.safe_dump(settings))
    path.write_text(yaml.safe_dump(document))
    own = ["192.168.111.1/24", *(["10.99.0.1/24"] if moved else [])]
    assert [str(address) for address in load_site("rehearsal", tmp_path).provisioners] == own


@pytest.mark.parametrize(("kind", "address"), [("dual-stack", "172.22.1.1"), ("ipv6", "fd00:172:22:1::1")])
def test_a_named_bmc_has_no_ipv4_only_where_no_machine_has(tmp_path: Path, kind: str, address: str) -> None:
    path = as_stack(kind, tmp_path) / kind / "install-config.yaml"
    document = changed(path)
    document["platform"]["baremetal"]["hosts"][0]["bmc"]["address"] = "redfish-virtualmedia://bmc-a.lab.test"
    path.write_text(yaml.safe_dump(document))
    assert str(load_site(kind, tmp_path).bmcs["okd-master-0"].address) == address


def test_the_provisioner_has_the_gateways_and_dns_servers_that_are_named(tmp_path: Path) -> None:
    path = copy_of("compact", tmp_path) / "compact" / "install-config.yaml"
    path.write_text(path.read_text().replace("server: [10.20.0.53]", "server: [192.0.2.53, 10.20.0.2]"))
    named = ("10.20.0.1", "10.20.0.53", "192.0.2.53")
    assert load_site("compact", tmp_path).services == tuple(map(ip_address, named))


def test_the_provisioner_has_the_addresses_of_the_time_servers() -> None:
    services = ("10.30.0.1", "10.30.0.123", "10.30.0.53", "fd30:0:0:1::53")
    assert load_site("dual-stack").services == tuple(map(ip_address, services))


@pytest.mark.parametrize(
    ("stack", "media", "own"),
    [
        pytest.param("managed", "10.50.0.2", [], id="managed"),
        pytest.param("managed", "172.22.0.1", ["172.22.0.1/24"], id="managed-with-media-there"),
        pytest.param("unmanaged", "10.52.0.2", ["10.52.0.2/24"], id="unmanaged"),
        pytest.param("unmanaged", "10.51.0.2", ["10.52.0.1/24"], id="unmanaged-with-media-elsewhere"),
        pytest.param("compact", "10.20.0.2", [], id="disabled"),
    ],
)
def test_the_provisioner_is_on_a_provisioning_network_that_needs_it(
    tmp_path: Path, stack: str, media: str, own: list[str]
) -> None:
    path = copy_of(stack, tmp_path) / f"Pulumi.{stack}.yaml"
    document = changed(path)
    document["config"]["okd-baremetal:media"]["address"] = media
    path.write_text(yaml.safe_dump(document))
    assert [str(address) for address in load_site(stack, tmp_path).on_provisioning] == own


def test_both_networks_on_one_bridge_are_refused(tmp_path: Path) -> None:
    path = copy_of("unmanaged", tmp_path) / "unmanaged" / "install-config.yaml"
    path.write_text(path.read_text().replace("br-site", "br-unmanaged"))
    what = r"platform\.baremetal\.provisioningBridge: br-unmanaged is externalBridge too: .* Fix: name another one$"
    with pytest.raises(LabError, match=what):
        load_site("unmanaged", tmp_path)


def test_only_a_stack_with_a_balancer_of_the_site_has_one() -> None:
    assert [load_site(stack).has_balancer for stack in ("balancer", "compact")] == [True, False]


def test_machines_with_a_static_address_are_listed() -> None:
    assert load_site("compact").statics == {"compact-bootstrap", "edge-c"}


def test_a_spare_has_a_bmc_and_a_server() -> None:
    site = load_site("compact")
    assert [host.name for host in site.plan.spares] == ["edge-d"]
    assert "edge-d" in site.uuids
    assert site.bmcs["edge-d"].name == "edge-d-bmc.lab.test"
    assert site.names[-1] == "edge-d"


def test_a_site_that_fits_is_unchanged() -> None:
    site = load_site()
    assert fitting(site, 5 * 1100 + 400) is site
    compact = load_site("compact")
    assert fitting(compact, 3 * 1100 + 400) is compact


def test_less_memory_gives_less_compute_and_more_spares() -> None:
    site = fitting(load_site(), 5 * 1100 + 399)
    assert [server.name for server in site.plan.servers][3:] == ["okd-worker-0"]
    assert [host.name for host in site.plan.spares] == ["okd-worker-1"]
    assert site.twin.differences[-1] == "compute.replicas: the twin has 1, this machine has memory for no more"


@pytest.mark.parametrize(("stack", "least"), [("rehearsal", 4), ("compact", 3)])
def test_a_control_plane_is_never_smaller(stack: str, least: int) -> None:
    why = f"{least} servers at least, of 1100 MiB each; this machine has {least * 1100 - 1} MiB for them. Fix"
    with pytest.raises(LabError, match=why):
        fitting(load_site(stack), least * 1100 + 399)


def test_an_unreadable_stack_file_is_one_line(tmp_path: Path) -> None:
    stacks = copy_of("rehearsal", tmp_path)
    (stacks / "Pulumi.rehearsal.yaml").write_text("config: [")
    why = r"^\S+/Pulumi\.rehearsal\.yaml: not valid YAML at line 2, column 1\."
    with pytest.raises(LabError, match=why) as caught:
        load_site("rehearsal", stacks)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        pytest.param("type: ethernet", "type: infiniband", r"edge-c\.networkConfig: infiniband: the lab's", id="nic"),
        pytest.param("baseDomain: lab.test", "", r"install-config\.yaml: baseDomain: missing", id="refused-file"),
        pytest.param("baseDomain: lab.test", "- x", r"install-config\.yaml: not valid YAML at line", id="no-yaml"),
    ],
)
def test_a_stack_that_the_lab_does_not_support_is_one_line(tmp_path: Path, old: str, new: str, why: str) -> None:
    stacks = copy_of("compact", tmp_path)
    path = stacks / "compact" / "install-config.yaml"
    path.write_text(path.read_text().replace(old, new, 1))
    with pytest.raises(LabError, match=why):
        load_site("compact", stacks)


def test_missing_install_config_is_named(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.rehearsal.yaml").write_text((STACKS / "Pulumi.rehearsal.yaml").read_text())
    with pytest.raises(LabError, match=r"install-config\.yaml: cannot be read: No such file or directory"):
        load_site("rehearsal", tmp_path)


def test_only_a_stack_of_platform_baremetal_is_one() -> None:
    assert [load_site(stack).is_baremetal for stack in ("platform", "compact")] == [True, False]


def test_the_api_is_real_where_the_handoff_waits_for_okds_report() -> None:
    stacks = ("platform", "single", "fenced", "compact", "arbiter", "balancer")
    assert [load_site(stack).api_is_real for stack in stacks] == [True, True, True, False, False, False]


def test_a_control_plane_of_one_behind_a_balancer_is_refused(tmp_path: Path) -> None:
    path = copy_of("single", tmp_path) / "single" / "install-config.yaml"
    document = changed(path)
    document["platform"]["baremetal"]["loadBalancer"] = {"type": "UserManaged"}
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(
        LabError, match=r"loadBalancer\.type: UserManaged with a control plane of one: the lab has no"
    ):
        load_site("single", tmp_path)


def test_platform_baremetal_behind_a_balancer_is_refused(tmp_path: Path) -> None:
    path = as_stack("balancer", tmp_path) / "Pulumi.balancer.yaml"
    document = changed(path)
    document["config"]["okd-baremetal:platform"] = "baremetal"
    path.write_text(yaml.safe_dump(document))
    with pytest.raises(LabError, match=r"loadBalancer\.type: UserManaged on platform baremetal: the lab has no such"):
        load_site("balancer", tmp_path)


@pytest.mark.parametrize(
    ("stack", "refused"), [("ipv6", True), ("balancer", False)], ids=["by-the-sites-router", "by-the-cluster"]
)
def test_a_network_in_which_no_machine_makes_itself_an_address_is_refused(
    stack: str, refused: bool, tmp_path: Path
) -> None:
    path = copy_of(stack, tmp_path) / stack / "install-config.yaml"
    document = changed(path)
    cidr = document["platform"]["baremetal"]["provisioningNetworkCIDR"].replace("/64", "/96")
    document["platform"]["baremetal"]["provisioningNetworkCIDR"] = cidr
    path.write_text(yaml.safe_dump(document))
    words = rf"provisioningNetworkCIDR: {cidr}: the lab's live system gets its address there from a router, in a /64"
    with pytest.raises(LabError, match=words) if refused else nullcontext():
        load_site(stack, tmp_path)
