"""The facts that libvirt reports of its host, by its own test driver."""

from pathlib import Path
from unittest.mock import Mock

import libvirt
import pytest

from base.errors import HypervisorError
from wires.libvirt.facts import host_facts

MIB = 1024**2
NODE = """<node>
  <pool type='dir'><name>images</name><target><path>/images</path></target>
    <capacity>1073741824</capacity><available>1073741824</available>
    <volume><name>base.qcow2</name><capacity unit='MiB'>64</capacity><allocation unit='MiB'>3</allocation>
      <target><format type='qcow2'/></target></volume>
    <volume><name>other</name><capacity unit='MiB'>8</capacity></volume>
    <volume><name>overlay.qcow2</name><capacity unit='MiB'>64</capacity><target><format type='qcow2'/></target>
      <backingStore><path>/images/base.qcow2</path><format type='qcow2'/></backingStore></volume>
  </pool>
</node>"""


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """A host of the test driver with one pool; it ends with the last connection."""
    path = tmp_path / "node.xml"
    path.write_text(NODE)
    return f"test://{path}"


def test_a_pool_is_reported_with_the_volumes_that_were_asked_for(uri: str) -> None:
    facts = host_facts(uri, "images", {"base.qcow2", "gone.qcow2"})
    assert facts.version >= (9, 0, 0)
    assert facts.pool is not None
    assert (facts.pool.active, facts.pool.path) == (True, "/images")
    assert 0 < facts.pool.free < 100 * 1024**3 - 3 * MIB + 1
    ((name, volume),) = facts.pool.volumes.items()
    assert (name, volume.path, volume.format) == ("base.qcow2", "/images/base.qcow2", "qcow2")
    assert (volume.capacity, volume.allocation) == (64 * MIB, 3 * MIB)


def test_without_names_all_volumes_are_reported_and_overlays_marked(uri: str) -> None:
    pool = host_facts(uri, "images", None).pool
    assert pool is not None
    assert {name: each.backed for name, each in pool.volumes.items()} == {
        "base.qcow2": False,
        "other": False,
        "overlay.qcow2": True,
    }


def test_a_volume_that_was_copied_there_a_moment_ago_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """libvirt lists a pool when it is asked to, and not when a file comes."""
    host = Mock()
    host.getLibVersion.return_value = 9_000_000
    host.getInfo.return_value = ["x86_64"]
    pool = host.storagePoolLookupByName.return_value
    pool.XMLDesc.return_value = "<pool/>"
    pool.info.return_value = [2, 100, 0, 100]
    pool.listVolumes.side_effect = lambda: ["base.qcow2"] if pool.refresh.called else []
    volume = pool.storageVolLookupByName.return_value
    volume.XMLDesc.return_value, volume.info.return_value = "<volume/>", [0, 64, 3]
    monkeypatch.setattr(libvirt, "open", lambda _: host)
    facts = host_facts("qemu:///system", "default", {"base.qcow2"})
    assert facts.pool is not None
    assert list(facts.pool.volumes) == ["base.qcow2"]


@pytest.mark.parametrize("pool", ["none", None], ids=["missing", "not-asked-for"])
def test_a_missing_or_unrequested_pool_is_reported_as_none(uri: str, pool: str | None) -> None:
    assert host_facts(uri, pool, set()).pool is None


def test_the_test_driver_has_a_pool_and_no_kvm() -> None:
    facts = host_facts("test:///default", "default-pool", set())
    assert facts.pool is not None
    assert facts.pool.active
    assert not facts.kvm


def test_an_unreachable_libvirt_is_one_error(tmp_path: Path) -> None:
    with pytest.raises(HypervisorError, match="libvirt is not reachable: Failed to connect socket"):
        host_facts(f"qemu+unix:///system?socket={tmp_path}/none", "default", set())


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
def test_kvm_is_asked_for_of_the_hosts_own_architecture(monkeypatch: pytest.MonkeyPatch, machine: str) -> None:
    host = Mock()
    host.getLibVersion.return_value, host.getInfo.return_value = 9_000_000, [machine]
    monkeypatch.setattr(libvirt, "open", lambda _: host)
    assert host_facts("qemu:///system", None, ()).kvm
    host.getDomainCapabilities.assert_called_once_with(None, machine, None, "kvm")
