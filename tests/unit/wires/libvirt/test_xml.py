"""The XML of domains and volumes: parsed, validated by libvirt's schema, and read by libvirt itself."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import libvirt
import pytest

from wires.libvirt import xml
from wires.libvirt.hypervisor import Card, DomainSpec

SPEC = DomainSpec(
    name="okd-bootstrap",
    owner="okd-baremetal/lab",
    build="b" * 64,
    memory_mib=2048,
    vcpus=4,
    emulated=False,
    disk="/pool/okd-bootstrap.qcow2",
    ignition="/pool/okd-bootstrap.ign",
    cards=(Card("52:54:00:00:00:10", "baremetal"),),
)
EMULATED = replace(SPEC, emulated=True)
ON_A_NETWORK = replace(SPEC, cards=(Card("52:54:00:00:00:10", "baremetal", "uplink"),))
TWO_CARDS = replace(SPEC, cards=(*SPEC.cards, Card("52:54:00:00:00:11", "provisioning")))
ODD = 'it\'s "odd" & <so>'
"""The characters that have a meaning in XML."""
ODD_SPEC = replace(
    SPEC,
    name=ODD,
    owner=f"{ODD}/lab",
    disk=f"/{ODD}/{ODD}.qcow2",
    ignition=f"/{ODD}/{ODD}.ign",
    cards=(Card("52:54:00:00:00:10", ODD),),
)

KVM_BEFORE = """<domain type='kvm'>
  <name>okd-bootstrap</name>
  <metadata><okd:vm xmlns:okd='urn:okd-baremetal:owner' owner="okd-baremetal/lab" build='{build}'/></metadata>
  <memory unit='MiB'>2048</memory>
  <vcpu>4</vcpu>
  <sysinfo type='fwcfg'><entry name='opt/com.coreos/config' file="/pool/okd-bootstrap.ign"/></sysinfo>
  <os><type arch='x86_64'>hvm</type><boot dev='hd'/></os>
  <features><acpi/><apic/></features>
  <cpu mode='host-passthrough'/>
  <clock offset='utc'/>
  <on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2'/><source file="/pool/okd-bootstrap.qcow2"/><target dev='vda' bus='virtio'/>
    </disk>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:10'/><source bridge='baremetal'/><model type='virtio'/>
    </interface>
    <channel type='unix'><target type='virtio' name='org.okd-baremetal.vip'/></channel>
    <serial type='pty'><log file='/var/log/libvirt/qemu/okd-bootstrap-serial0.log'/></serial>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
    <memballoon model='none'/>
  </devices>
</domain>""".replace("{build}", "b" * 64)
"""The XML of this program from the time when it was composed as text (6922554)."""
EMULATED_BEFORE = (
    KVM_BEFORE.replace("type='kvm'", "type='qemu'")
    .replace("<apic/>", "<apic/><tcg><tb-cache unit='MiB'>256</tb-cache></tcg>")
    .replace(
        "<cpu mode='host-passthrough'/>",
        "<cpu mode='custom'><model>qemu64</model><feature policy='require' name='rdrand'/></cpu>",
    )
)
NETWORK_BEFORE = KVM_BEFORE.replace("<interface type='bridge'>", "<interface type='network'>").replace(
    "<source bridge='baremetal'/>", "<source network='uplink'/>"
)
TWO = KVM_BEFORE.replace(
    "</interface>",
    """</interface>
    <interface type='bridge'>
      <mac address='52:54:00:00:00:11'/><source bridge='provisioning'/><model type='virtio'/>
    </interface>""",
)
OVERLAY_BEFORE = (
    "<volume><name>okd-bootstrap.qcow2</name><capacity unit='GiB'>32</capacity>"
    "<target><format type='qcow2'/></target>"
    "<backingStore><path>/pool/base.qcow2</path><format type='qcow2'/></backingStore></volume>"
)
PRIVATE_BEFORE = (
    "<volume><name>okd-bootstrap.ign</name><capacity>1234</capacity>"
    "<target><format type='raw'/><permissions><mode>0600</mode></permissions></target></volume>"
)
ARM64 = KVM_BEFORE.replace(
    "<os><type arch='x86_64'>", "<os firmware='efi'><type arch='aarch64' machine='virt'>"
).replace("<acpi/><apic/>", "<acpi/>")
OVERLAY = xml.overlay("okd-bootstrap.qcow2", base="/pool/base.qcow2", size_gib=32)
PRIVATE = xml.private("okd-bootstrap.ign", 1234)


def domain(spec: DomainSpec, host: str = "x86_64") -> str:
    return xml.domain(spec, host)


def parsed(text: str) -> Element:
    return ElementTree.fromstring(text)  # noqa: S314


def content(element: Element) -> Any:
    """An element as its reader has it, whatever its quotes, line breaks and prefixes of namespaces."""
    return element.tag, element.attrib, (element.text or "").strip(), [content(child) for child in element]


@pytest.fixture
def host(tmp_path: Path) -> Iterator[libvirt.virConnect]:
    """A host of libvirt's own test driver: it has libvirt's parsers, and its objects end with the test."""
    libvirt.registerErrorHandler(lambda _context, _error: None, None)
    node = tmp_path / "node.xml"
    node.write_text("<node><pool type='dir'><name>images</name><target><path>/images</path></target></pool></node>")
    connection = libvirt.open(f"test://{node}")
    yield connection
    connection.close()


@pytest.mark.parametrize(
    ("now", "before"),
    [
        pytest.param(domain(SPEC), KVM_BEFORE, id="kvm"),
        pytest.param(domain(EMULATED), EMULATED_BEFORE, id="emulated"),
        pytest.param(domain(ON_A_NETWORK), NETWORK_BEFORE, id="network"),
        pytest.param(OVERLAY, OVERLAY_BEFORE, id="overlay"),
        pytest.param(PRIVATE, PRIVATE_BEFORE, id="private"),
    ],
)
def test_the_xml_has_the_same_content_as_the_earlier_text(now: str, before: str) -> None:
    assert content(parsed(now)) == content(parsed(before))


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        pytest.param(SPEC, ARM64, id="kvm"),
        pytest.param(
            EMULATED,
            ARM64.replace("type='kvm'", "type='qemu'")
            .replace("<acpi/>", "<acpi/><tcg><tb-cache unit='MiB'>256</tb-cache></tcg>")
            .replace("<cpu mode='host-passthrough'/>", "<cpu mode='custom'><model>cortex-a57</model></cpu>"),
            id="emulated",
        ),
    ],
)
def test_on_a_host_of_arm64_it_is_a_machine_of_arm64_with_uefi(
    spec: DomainSpec, wanted: str, host: libvirt.virConnect
) -> None:
    made = domain(spec, "aarch64")
    assert content(parsed(made)) == content(parsed(wanted))
    assert host.defineXMLFlags(made, libvirt.VIR_DOMAIN_DEFINE_VALIDATE).name() == spec.name


def test_the_cards_are_in_the_order_of_the_spec() -> None:
    assert content(parsed(domain(TWO_CARDS))) == content(parsed(TWO))


def attribute(root: Element, path: str, name: str) -> str | None:
    (element,) = root.findall(path)
    return element.get(name)


def test_special_characters_of_a_domain_survive() -> None:
    root = parsed(domain(ODD_SPEC))
    assert root.findtext("name") == ODD
    assert attribute(root, "metadata/{urn:okd-baremetal:owner}vm", "owner") == f"{ODD}/lab"
    assert attribute(root, "sysinfo/entry", "file") == f"/{ODD}/{ODD}.ign"
    assert attribute(root, "devices/disk/source", "file") == f"/{ODD}/{ODD}.qcow2"
    assert attribute(root, "devices/interface/source", "bridge") == ODD
    assert attribute(root, "devices/serial/log", "file") == f"/var/log/libvirt/qemu/{ODD}-serial0.log"
    network = parsed(domain(replace(ODD_SPEC, cards=(Card("52:54:00:00:00:10", "", ODD),))))
    assert attribute(network, "devices/interface/source", "network") == ODD


def test_special_characters_of_a_volume_survive() -> None:
    overlay = parsed(xml.overlay(ODD, base=f"/{ODD}", size_gib=7))
    assert (overlay.findtext("name"), overlay.findtext("backingStore/path")) == (ODD, f"/{ODD}")
    assert parsed(xml.private(ODD, 7)).findtext("name") == ODD


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(SPEC, id="kvm"),
        pytest.param(EMULATED, id="emulated"),
        pytest.param(ON_A_NETWORK, id="network"),
        pytest.param(TWO_CARDS, id="two-cards"),
        # libvirt's schema takes only letters, digits and a few signs in a bridge's name, and any sign elsewhere.
        pytest.param(replace(ODD_SPEC, cards=(Card("52:54:00:00:00:10", "br-0.1_a"),)), id="odd"),
    ],
)
def test_a_domain_is_valid_by_libvirts_schema(spec: DomainSpec, host: libvirt.virConnect) -> None:
    defined = host.defineXMLFlags(domain(spec), libvirt.VIR_DOMAIN_DEFINE_VALIDATE)
    assert defined.name() == spec.name


def test_libvirts_schema_refuses_a_wrong_domain(host: libvirt.virConnect) -> None:
    broken = domain(SPEC).replace("<memory ", "<memories/><memory ")
    with pytest.raises(libvirt.libvirtError, match="extra content: memories"):
        host.defineXMLFlags(broken, libvirt.VIR_DOMAIN_DEFINE_VALIDATE)


def test_libvirt_understands_a_domain(host: libvirt.virConnect) -> None:
    root = parsed(host.defineXML(domain(replace(ODD_SPEC, emulated=True))).XMLDesc())
    assert (root.get("type"), root.findtext("name"), root.findtext("vcpu")) == ("qemu", ODD, "4")
    assert (root.findtext("memory"), attribute(root, "memory", "unit")) == ("2097152", "KiB")
    assert attribute(root, "sysinfo[@type='fwcfg']/entry[@name='opt/com.coreos/config']", "file") == (
        f"/{ODD}/{ODD}.ign"
    )
    assert attribute(root, "devices/disk/source", "file") == f"/{ODD}/{ODD}.qcow2"
    assert attribute(root, "devices/interface/source", "bridge") == ODD
    assert attribute(root, "devices/interface/mac", "address") == "52:54:00:00:00:10"
    assert attribute(root, "devices/channel/target", "name") == "org.okd-baremetal.vip"
    assert attribute(root, "metadata/{urn:okd-baremetal:owner}vm", "build") == "b" * 64
    assert (root.findtext("features/tcg/tb-cache"), attribute(root, "features/tcg/tb-cache", "unit")) == (
        "262144",
        "KiB",
    )


def test_libvirt_understands_volumes(host: libvirt.virConnect) -> None:
    pool = host.storagePoolLookupByName("images")
    overlay = parsed(pool.createXML(xml.overlay(ODD, base=f"/{ODD}", size_gib=7)).XMLDesc())
    assert (overlay.findtext("name"), overlay.findtext("capacity")) == (ODD, str(7 * 1024**3))
    assert (overlay.findtext("backingStore/path"), attribute(overlay, "backingStore/format", "type")) == (
        f"/{ODD}",
        "qcow2",
    )
    private = parsed(pool.createXML(xml.private("okd-bootstrap.ign", 1234)).XMLDesc())
    assert (private.findtext("capacity"), private.findtext("target/permissions/mode")) == ("1234", "0600")
    assert attribute(private, "target/format", "type") == "raw"
