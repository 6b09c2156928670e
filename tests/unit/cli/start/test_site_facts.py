"""What this machine tells a new stack of its site. No test needs a network: each has its own, or none."""

import platform
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from base.errors import HypervisorError
from cli.start.site_facts import LocalSite
from cluster.values.architecture import Architecture
from testing.namespaces import in_own_network, ip, needs_root

NODE = """<node>
  <pool type='dir'><name>images</name><target><path>/images</path></target>
    <volume><name>base.qcow2</name><capacity>1</capacity><target><format type='qcow2'/></target></volume>
    <volume><name>raw.img</name><capacity>1</capacity><target><format type='raw'/></target></volume>
    <volume><name>overlay.qcow2</name><capacity>1</capacity><target><format type='qcow2'/></target>
      <backingStore><path>/images/base.qcow2</path></backingStore></volume>
  </pool>
</node>"""


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """A host of libvirt's test driver with one pool."""
    (tmp_path / "node.xml").write_text(NODE)
    return f"test://{tmp_path}/node.xml"


def test_a_base_volume_is_a_qcow2_that_is_no_overlay(uri: str) -> None:
    assert LocalSite().base_volumes(uri, "images") == ["base.qcow2"]


def test_a_pool_that_is_not_there_is_said(uri: str) -> None:
    with pytest.raises(HypervisorError, match=r"no active pool default\. Fix: virsh pool-define-as default dir"):
        LocalSite().base_volumes(uri, "default")


@needs_root
def test_the_address_towards_a_host_is_that_of_its_route() -> None:
    def work() -> list[str]:
        for name, address in (("eth0", "192.0.2.1/24"), ("eth1", "198.51.100.1/24"), ("eth2", "fd00:c::1/64")):
            ip(f"link add {name} type veth peer name p{name}")
            ip(f"link set p{name} up")
            ip(f"address add {address} dev {name}{' nodad' if ':' in address else ''}")
            ip(f"link set {name} up")
        ip("route add 203.0.113.0/24 via 198.51.100.9")
        return [LocalSite().source_to(host) for host in hosts]

    hosts = ("192.0.2.7", "203.0.113.7", "fd00:c::7", "10.0.0.1", "nowhere.invalid")
    assert in_own_network(work) == [
        "192.0.2.1",
        "198.51.100.1",
        "fd00:c::1",
        "by no route",
        "by no address: nowhere.invalid does not resolve",
    ]


def test_the_resolver_of_the_system_is_asked() -> None:
    assert IPv4Address("127.0.0.1") in LocalSite().addresses("localhost")


@needs_root
def test_a_name_that_nobody_knows_has_no_address() -> None:
    assert in_own_network(lambda: LocalSite().addresses("nowhere.invalid")) == []


@pytest.mark.parametrize(
    ("machine", "architecture"),
    [("x86_64", Architecture.AMD64), ("aarch64", Architecture.ARM64), ("riscv64", None)],
)
def test_this_machines_architecture_is_that_of_its_kernel(
    monkeypatch: pytest.MonkeyPatch, machine: str, architecture: Architecture | None
) -> None:
    monkeypatch.setattr(platform, "machine", lambda: machine)
    assert LocalSite().architecture() is architecture
