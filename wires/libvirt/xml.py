"""The XML of a domain and its volumes for libvirt. A library builds it, and escapes every value."""

from collections.abc import Mapping
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

from assets.contract import CHANNEL
from wires.libvirt.hypervisor import DomainSpec

OWNER = "urn:okd-baremetal:owner"
FW_CFG = "opt/com.coreos/config"  # where Ignition's qemu platform reads its config
AARCH64 = "aarch64"  # libvirt's word for a host of arm64
# QEMU's translation cache. With 128 MiB, QEMU emptied it 16 times in three minutes of a bootstrap with Kubernetes. To
# translate all again took an eighth of its processor time. With 512 MiB, five guests fill 5.2 GB (2026-11).
EMULATION_CACHE_MIB = 256

ElementTree.register_namespace("okd", OWNER)


def overlay(name: str, *, base: str, size_gib: int) -> str:
    """Return the XML of a thin qcow2 volume over the volume at path `base`."""
    root = _element("volume", {"name": name})
    SubElement(root, "capacity", unit="GiB").text = str(size_gib)
    SubElement(SubElement(root, "target"), "format", type="qcow2")
    backing = SubElement(root, "backingStore")
    SubElement(backing, "path").text = base
    SubElement(backing, "format", type="qcow2")
    return _text(root)


def private(name: str, size: int) -> str:
    """Return the XML of a volume of `size` bytes that only its owner may read."""
    root = _element("volume", {"name": name, "capacity": str(size)})
    target = SubElement(root, "target")
    SubElement(target, "format", type="raw")
    SubElement(SubElement(target, "permissions"), "mode").text = "0600"
    return _text(root)


def domain(spec: DomainSpec, host: str) -> str:
    """Return the XML of the bootstrap VM: a disk, NICs, the handoff's channel, Ignition in fw_cfg, a console log.

    Args:
        spec: The VM.
        host: The architecture of its host, in libvirt's words. The VM has the same.
    """
    root = _element("domain", {"name": spec.name}, type="qemu" if spec.emulated else "kvm")
    SubElement(SubElement(root, "metadata"), f"{{{OWNER}}}vm", owner=spec.owner, build=spec.build)
    SubElement(root, "memory", unit="MiB").text = str(spec.memory_mib)
    SubElement(root, "vcpu").text = str(spec.vcpus)
    SubElement(SubElement(root, "sysinfo", type="fwcfg"), "entry", name=FW_CFG, file=spec.ignition)
    if host == AARCH64:  # it has no BIOS, and QEMU no default machine for it
        system = SubElement(root, "os", firmware="efi")
        SubElement(system, "type", arch=AARCH64, machine="virt").text = "hvm"
    else:
        system = SubElement(root, "os")
        SubElement(system, "type", arch="x86_64").text = "hvm"
    SubElement(system, "boot", dev="hd")
    _add_cpu(root, host, emulated=spec.emulated)
    SubElement(root, "clock", offset="utc")
    for event, action in (("poweroff", "destroy"), ("reboot", "restart"), ("crash", "destroy")):
        SubElement(root, f"on_{event}").text = action
    _add_devices(SubElement(root, "devices"), spec)
    return _text(root)


def _add_cpu(root: Element, host: str, *, emulated: bool) -> None:
    features = SubElement(root, "features")
    SubElement(features, "acpi")
    if host != AARCH64:
        SubElement(features, "apic")
    if emulated:
        SubElement(SubElement(features, "tcg"), "tb-cache", unit="MiB").text = str(EMULATION_CACHE_MIB)
        cpu = SubElement(root, "cpu", mode="custom")
        SubElement(cpu, "model").text = "cortex-a57" if host == AARCH64 else "qemu64"
        if host != AARCH64:  # else its kernel makes entropy of its own: a second of each boot
            SubElement(cpu, "feature", policy="require", name="rdrand")
    else:
        SubElement(root, "cpu", mode="host-passthrough")


def _add_devices(devices: Element, spec: DomainSpec) -> None:
    disk = SubElement(devices, "disk", type="file", device="disk")
    SubElement(disk, "driver", name="qemu", type="qcow2")
    SubElement(disk, "source", file=spec.disk)
    SubElement(disk, "target", dev="vda", bus="virtio")
    for card in spec.cards:
        link, at = ("network", card.network) if card.network else ("bridge", card.bridge)
        interface = SubElement(devices, "interface", type=link)
        SubElement(interface, "mac", address=card.mac)
        SubElement(interface, "source", {link: at})
        SubElement(interface, "model", type="virtio")
    SubElement(SubElement(devices, "channel", type="unix"), "target", type="virtio", name=CHANNEL)
    console = SubElement(devices, "serial", type="pty")
    SubElement(console, "log", file=f"/var/log/libvirt/qemu/{spec.name}-serial0.log")
    entropy = SubElement(devices, "rng", model="virtio")
    SubElement(entropy, "backend", model="random").text = "/dev/urandom"
    SubElement(devices, "memballoon", model="none")


def _element(tag: str, children: Mapping[str, str], **attributes: str) -> Element:
    root = Element(tag, attributes)
    for name, text in children.items():
        SubElement(root, name).text = text
    return root


def _text(root: Element) -> str:
    return ElementTree.tostring(root, encoding="unicode")
