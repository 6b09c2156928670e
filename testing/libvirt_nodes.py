"""Hosts of libvirt's own test driver, with a domain that this program made; each connection finds it as written."""

from pathlib import Path
from xml.etree import ElementTree

from wires.libvirt import xml
from wires.libvirt.hypervisor import DomainSpec


def uri_with(folder: Path, name: str, owner: str) -> str:
    """Return the URI of a host that has a running domain of a stack.

    Args:
        folder: For the host's file.
        name: Of the domain.
        owner: `<project>/<stack>` that made it.
    """
    spec = DomainSpec(name, owner, "b" * 64, 64, 1, emulated=True, disk="/d", ignition="/i", cards=())
    domain = ElementTree.fromstring(xml.domain(spec, "x86_64"))  # noqa: S314  (our own)
    made = ElementTree.Element("domain", type="test")
    for tag in ("name", "metadata", "memory"):
        found = domain.find(tag)
        assert found is not None
        made.append(found)
    ElementTree.SubElement(ElementTree.SubElement(made, "os"), "type").text = "hvm"
    node = ElementTree.Element("node")
    node.append(made)
    path = folder / "node.xml"
    path.write_bytes(ElementTree.tostring(node))
    return f"test://{path}"
