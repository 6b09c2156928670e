"""The facts that libvirt reports of its host, by its own test driver."""

from pathlib import Path

import pytest

from providers.base.errors import HypervisorError
from wires.libvirt.facts import host_facts

MIB = 1024**2
NODE = """<node>
  <pool type='dir'><name>images</name><target><path>/images</path></target>
    <capacity>1073741824</capacity><available>1073741824</available>
    <volume><name>base.qcow2</name><capacity unit='MiB'>64</capacity><allocation unit='MiB'>3</allocation>
      <target><format type='qcow2'/></target></volume>
    <volume><name>other</name><capacity unit='MiB'>8</capacity></volume>
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
