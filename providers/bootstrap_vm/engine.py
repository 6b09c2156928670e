"""Decisions about the bootstrap VM: what may be adopted, built, rebuilt and removed."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.sax.saxutils import quoteattr

from providers.base.clock import Clock
from providers.base.errors import HypervisorError
from providers.base.progress import Report
from wires.libvirt.connection import CHANNEL, OWNER, Found, Hypervisor
from wires.libvirt.shutdown import stop

FW_CFG = "opt/com.coreos/config"  # where Ignition's qemu platform reads its config


@dataclass(frozen=True, kw_only=True)
class VmSpec:
    """The VM as it shall be."""

    name: str
    owner: str
    pool: str
    base_volume: str
    bridge: str
    mac: str
    memory_mib: int
    vcpus: int
    emulated: bool
    ignition_sha256: str
    disk_gib: int = field(default=32, repr=False)
    """Virtual size of the overlay, thin."""
    network: str = field(default="", repr=False)
    """libvirt network; empty: the bridge directly."""

    @property
    def build(self) -> str:
        """Digest of everything that a running VM cannot take over."""
        # The last two fields came later: they count where they are not what was before, or its VMs were not adopted.
        later = (self.disk_gib, self.network)
        text = repr(self) if later == (VmSpec.disk_gib, VmSpec.network) else repr((self, later))
        return hashlib.sha256(text.encode()).hexdigest()


@dataclass(frozen=True)
class Segment:
    """What the VM's network shows."""

    vip: str
    vip_macs: Callable[[], frozenset[str]]
    answering_node: Callable[[], str | None]
    """Address of a control-plane node whose API port answers."""


@dataclass(frozen=True)
class Sources:
    """What a VM is built from, beside its specification."""

    ignition: Callable[[], bytes]
    """Gives the composed config."""
    base_sha256: str
    """Digest of the base volume; empty: it is not compared."""


@dataclass(frozen=True)
class BootstrapVmEngine:
    """Steps for one VM."""

    hypervisor: Hypervisor
    clock: Clock
    report: Report

    def ensure(self, spec: VmSpec, sources: Sources, segment: Segment, *, deadline_s: float) -> None:
        """Have the VM running as specified: adopt it, build it, or build it again.

        Args:
            spec: The VM.
            sources: Looked at only when a VM is built.
            segment: Looked at before anything is built.
            deadline_s: For the graceful end of a VM that is built again.

        Raises:
            HypervisorError: Somebody else's domain, somebody else's VIP, another base image, or a control plane that
                would lose its bootstrap. Nothing was touched.
        """
        found = self._own(spec)
        if found and found.build == spec.build:
            if not found.running:
                self._refuse_foreign_vip(spec, segment)
                self.hypervisor.start(spec.name)
            self.report("running" if found.running else "started again")
            return
        self._refuse_foreign_vip(spec, segment)
        if found and (node := segment.answering_node()):
            what = f"its configuration has changed, and {node} of the control plane answers already"
            raise HypervisorError(what, where=spec.name, fix="Revert the change, or `pulumi destroy` first")
        # What can be missing is looked for before the VM that is there is ended.
        base, config = self._base(spec, sources.base_sha256), sources.ignition()
        if found:
            stop(self.hypervisor, spec.name, deadline_s=deadline_s, clock=self.clock, report=self.report)
            self.hypervisor.undefine(spec.name)
        self._build(spec, base, config)

    def remove(self, spec: VmSpec, segment: Segment, *, deadline_s: float) -> None:
        """End the VM and its volumes; what is not there is a success.

        Raises:
            HypervisorError: It is somebody else's, or a control plane would lose its VIP: the handoff would have
                moved that, and ended the VM.
        """
        found = self._own(spec)
        # `--continue-on-error` deletes what is declared no more, also where the handoff was skipped (Pulumi 3.259).
        if found and found.running and spec.mac in segment.vip_macs() and (node := segment.answering_node()):
            what = f"it holds the API VIP, and {node} of the control plane answers already"
            fix = "Run `pulumi up` without --continue-on-error, or `pulumi destroy`"
            raise HypervisorError(what, where=spec.name, fix=fix)
        if found:
            stop(self.hypervisor, spec.name, deadline_s=deadline_s, clock=self.clock, report=self.report)
            self.hypervisor.undefine(spec.name)
        for volume in (f"{spec.name}.qcow2", f"{spec.name}.ign"):
            self.hypervisor.delete_volume(spec.pool, volume)
        self.report("removed, with its volumes")

    def _own(self, spec: VmSpec) -> Found | None:
        found = self.hypervisor.find(spec.name)
        if found and found.owner != spec.owner:
            what = f"a domain of this name belongs to {found.owner or 'somebody else'}, wanted {spec.owner}"
            raise HypervisorError(
                what, where=spec.name, fix=f"Remove it: virsh undefine {spec.name}; or rename the cluster"
            )
        return found

    def _base(self, spec: VmSpec, sha256: str) -> str:
        """Path of the base volume. It may be new in this run, or on another host: nobody has read it before."""
        path = self.hypervisor.volume_path(spec.pool, spec.base_volume)
        if sha256:
            self.report("comparing the base volume's digest")
            seen = self.hypervisor.volume_sha256(spec.pool, spec.base_volume)
            if seen != sha256:
                where, fix = f"base volume {spec.base_volume} of pool {spec.pool}", "Mend the image, or its digest"
                raise HypervisorError(f"sha256 is {seen}, wanted {sha256}", where=where, fix=fix)
        return path

    def _refuse_foreign_vip(self, spec: VmSpec, segment: Segment) -> None:
        if others := segment.vip_macs() - {spec.mac}:
            what = f"already answered by {', '.join(sorted(others))}, wanted nobody or the bootstrap VM {spec.mac}"
            fix = "A cluster that is in production cannot go back to a bootstrap; else free the address"
            raise HypervisorError(what, where=f"API VIP {segment.vip}", fix=fix)

    def _build(self, spec: VmSpec, base: str, ignition: bytes) -> None:
        self.report("making its volumes")
        disk = self.hypervisor.make_volume(spec.pool, _disk_xml(spec, base), None)
        config = self.hypervisor.make_volume(spec.pool, _ignition_xml(spec, len(ignition)), ignition)
        self.hypervisor.define(_domain_xml(spec, disk, config))
        self.hypervisor.start(spec.name)
        self.report("started")


def _disk_xml(spec: VmSpec, base: str) -> str:
    return (
        f"<volume><name>{spec.name}.qcow2</name><capacity unit='GiB'>{spec.disk_gib}</capacity>"
        f"<target><format type='qcow2'/></target>"
        f"<backingStore><path>{base}</path><format type='qcow2'/></backingStore></volume>"
    )


def _ignition_xml(spec: VmSpec, size: int) -> str:
    return (
        f"<volume><name>{spec.name}.ign</name><capacity>{size}</capacity>"
        f"<target><format type='raw'/><permissions><mode>0600</mode></permissions></target></volume>"
    )


def _domain_xml(spec: VmSpec, disk: str, config: str) -> str:
    # Emulated guests get a small translation cache: six of them fit into 2.4 GB at equal speed (measured 2026-11).
    tcg = "<tcg><tb-cache unit='MiB'>128</tb-cache></tcg>" if spec.emulated else ""
    link, at = ("network", spec.network) if spec.network else ("bridge", spec.bridge)
    cpu = "<cpu mode='custom'><model>qemu64</model></cpu>" if spec.emulated else "<cpu mode='host-passthrough'/>"
    return f"""<domain type='{"qemu" if spec.emulated else "kvm"}'>
  <name>{spec.name}</name>
  <metadata><okd:vm xmlns:okd='{OWNER}' owner={quoteattr(spec.owner)} build='{spec.build}'/></metadata>
  <memory unit='MiB'>{spec.memory_mib}</memory>
  <vcpu>{spec.vcpus}</vcpu>
  <sysinfo type='fwcfg'><entry name='{FW_CFG}' file={quoteattr(config)}/></sysinfo>
  <os><type arch='x86_64'>hvm</type><boot dev='hd'/></os>
  <features><acpi/><apic/>{tcg}</features>
  {cpu}
  <clock offset='utc'/>
  <on_poweroff>destroy</on_poweroff><on_reboot>restart</on_reboot><on_crash>destroy</on_crash>
  <devices>
    <disk type='file' device='disk'>
      <driver name='qemu' type='qcow2'/><source file={quoteattr(disk)}/><target dev='vda' bus='virtio'/>
    </disk>
    <interface type='{link}'>
      <mac address='{spec.mac}'/><source {link}='{at}'/><model type='virtio'/>
    </interface>
    <channel type='unix'><target type='virtio' name='{CHANNEL}'/></channel>
    <serial type='pty'><log file='/var/log/libvirt/qemu/{spec.name}-serial0.log'/></serial>
    <rng model='virtio'><backend model='random'>/dev/urandom</backend></rng>
    <memballoon model='none'/>
  </devices>
</domain>"""
