"""Decides when the bootstrap VM may be adopted, built, rebuilt or removed."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from base.clock import Clock
from base.errors import Fault, HypervisorError, SegmentError, word
from base.progress import Progress, Report
from base.shown import few
from cluster.values.balancer import Balancer
from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.registered import NEW_VM_FIX
from wires.libvirt.hypervisor import Card, Domain, DomainSpec, Hypervisor
from wires.libvirt.shutdown import end

FREE_FIX = (
    "free the address, which a server of a destroyed cluster may have; but leave it to a cluster in production, "
    "which cannot go back to phase bootstrap"
)
KEPT_FIX = (
    "run `pulumi up` without --continue-on-error; if its name, pool or libvirtURI was changed, revert that first"
)
GONE_FIX = "if that is a node of this cluster, go on to phase production; else free its address"
OFF_FIX = (
    "have it run, and go on to phase production once its API answers; if that never does, begin again with "
    "`pulumi destroy`"
)


def base_taken_away(old: BootstrapVmSpec, new: BootstrapVmSpec) -> Iterator[Fault]:
    """Yield the changes by which pulumi-libvirt would delete the VM's base volume before the VM ends.

    A pool has its name and folder for life: with another one, the old pool and its volumes are deleted first.
    """
    why = "the VM's disk is an overlay of the base volume there, which would be deleted under it"
    if old.pool_path is not None and new.pool_path is None and new.pool == old.pool:
        yield Fault("provisioner.manage", f"false, but {why}", "write true again, until phase production ends the VM")
    if old.pool_path is None or new.pool_path is None:
        return
    if new.pool_path != old.pool_path:
        yield Fault("provisioner.pool_path", f"{new.pool_path}, was {old.pool_path}: {why}", f"write {old.pool_path}")
    if new.pool != old.pool:
        yield Fault("bootstrap.pool", f"{new.pool}, was {old.pool}: {why}", f"write {old.pool}")
    if new.libvirt_uri != old.libvirt_uri:  # which may hold a password
        yield Fault("platform.baremetal.libvirtURI", f"changed: {why}", "write the former one")


@dataclass(frozen=True)
class NetworkProbes:
    """Probes of the VM's network."""

    answering_node: Callable[[], str | None]
    """Returns the address of a control-plane node whose API port answers, or None."""
    running_node: Callable[[], str | None]
    """Returns that of one whose kubelet listens, or None: it may be in etcd long before its API answers."""
    installed_node: Callable[[], str | None]
    """Returns that of one that has come up before, or None: it may be off now, or boot."""
    marks: str
    """The folder of the marks by which that is known."""
    macs_of: Callable[[str], frozenset[str]]
    """Returns the MACs that answer an address."""


@dataclass(frozen=True)
class BootstrapVmEngine:
    """Steps for one VM."""

    hypervisor: Hypervisor
    clock: Clock
    report: Report

    def ensure(self, vm: BootstrapVmSpec, ignition: Callable[[], bytes], network: NetworkProbes) -> None:
        """Have the VM running as specified: adopt, build or rebuild it.

        Args:
            vm: The VM.
            ignition: Returns the composed Ignition config; called only to build the VM.
            network: Probed before anything is built.

        Raises:
            HypervisorError: The domain has another owner, or runs elsewhere, another machine answers the VIP, the
                base image differs, or a control plane would lose its bootstrap. Nothing was touched.
        """
        domain = self._own(vm)
        if domain and domain.build == vm.build and domain.running:
            self.report(Progress("running"))
            return
        macs = network.macs_of(vm.vip)
        if not _runs(domain):
            self._refuse_twin(vm, macs, network)
        if domain and domain.build == vm.build:
            self._refuse_foreign_vip(vm, network, macs, has_run=True)
            self.hypervisor.start(vm.name)
            self.report(Progress("started again"))
            return
        if domain:
            self._refuse_change(vm, network)
        self._refuse_foreign_vip(vm, network, macs, is_changed=domain is not None)
        if not domain:
            self._refuse_new(vm, network)
        # Fetch what may be missing before ending the existing VM.
        base, config = self._base(vm), ignition()
        if domain:
            self._end(vm)
        self._build(vm, base, config)

    def remove(self, vm: BootstrapVmSpec, network: NetworkProbes) -> None:
        """Remove the VM and its volumes; if they are missing already, that is a success.

        Raises:
            HypervisorError: The domain has another owner, or runs elsewhere; or a control plane runs, and neither the
                handoff nor the deletion of `VipHandoff` has ended the VM.
        """
        domain = self._own(vm)
        if not _runs(domain):
            with suppress(SegmentError):  # of a machine that is not on its network, and can ask nobody there
                self._refuse_twin(vm, network.macs_of(vm.vip), network)
        # With `--continue-on-error`, Pulumi deletes the VM even if the handoff was skipped (docs/adr/0074).
        if domain and (seen := _seen_of_control_plane(network)):
            fix = f"{KEPT_FIX}; or, if this cluster is given up, {_end_by_hand(vm)}, and repeat the command"
            raise HypervisorError(f"no handoff has ended it, and {seen}", where=vm.name, fix=fix)
        if domain:
            self._end(vm)
        for volume in vm.volumes:
            self.hypervisor.delete_volume(vm.pool, volume)
        self.report(Progress("removed, with its volumes"))

    def _refuse_change(self, vm: BootstrapVmSpec, network: NetworkProbes) -> None:
        """Refuse to build the VM anew for a control plane that is in its cluster, though it may be off now."""
        if seen := _seen_of_control_plane(network):
            raise HypervisorError(f"its configuration has changed, and {seen}", where=vm.name, fix=NEW_VM_FIX)

    def _refuse_new(self, vm: BootstrapVmSpec, network: NetworkProbes) -> None:
        """Refuse to build a VM in place of one that is gone, with which a control plane has come up, if off now.

        A new disk is another cluster. A server that has only begun to join has lost its etcd with the VM.
        """
        if node := network.answering_node():
            raise HypervisorError(f"it is gone, and {node} answers already", where=vm.name, fix=GONE_FIX)
        if was := network.installed_node():
            lost = f"or, if no server of that cluster is left, remove from {network.marks} the marks with {was}"
            raise HypervisorError(f"it is gone, and {_has_run(was)}", where=vm.name, fix=f"{OFF_FIX}; {lost}")

    def _end(self, vm: BootstrapVmSpec) -> None:
        end(self.hypervisor, vm.name, deadline_s=vm.deadline_s, clock=self.clock, report=self.report)

    def _own(self, vm: BootstrapVmSpec) -> Domain | None:
        domain = self.hypervisor.find(vm.name)
        if domain and domain.owner != vm.owner:
            what = f"a domain of this name belongs to {domain.owner or 'somebody else'}, wanted {vm.owner}"
            fix = f"give one of the two clusters another metadata.name; if that one is no more, {_end_by_hand(vm)}"
            raise HypervisorError(what, where=vm.name, fix=fix)
        return domain

    def _refuse_twin(self, vm: BootstrapVmSpec, macs: frozenset[str], network: NetworkProbes) -> None:
        """Refuse to act while the VM, which does not run here, runs under another libvirt.

        As where two provisioners share the stack's state. A second VM would have the same MAC and addresses; and
        the first one would keep them once this libvirt has forgotten it. It has its own also if a node has the VIP.

        Args:
            vm: The VM.
            macs: Those that answer the VIP.
            network: Asked for the VM's own address.
        """
        if vm.mac in macs or (vm.address and vm.mac in network.macs_of(vm.address)):
            answered = vm.vip if vm.mac in macs else vm.address
            what = f"it does not run here, and its MAC {vm.mac} answers {answered}: it runs on another machine"
            started = "run this on the provisioner that has started it"
            fix = f"{started}; if that one is given up, end the VM there: {_end_by_hand(vm)}"
            raise HypervisorError(what, where=vm.name, fix=fix)

    def _base(self, vm: BootstrapVmSpec) -> str:
        """Return the path of the base volume, its digest compared.

        The preflight may not have read it: it may be on another host, or made by this run.
        """
        path = self.hypervisor.volume_path(vm.pool, vm.base_volume)
        if vm.base_sha256:
            self.report(Progress("comparing the base volume's digest"))
            digest = self.hypervisor.volume_sha256(vm.pool, vm.base_volume)
            if digest != vm.base_sha256:
                where = f"base volume {vm.base_volume} of pool {vm.pool}"
                fix = "correct bootstrap.base_sha256, or name another volume in bootstrap.base_volume"
                if vm.pool_path is not None:
                    fix = f"`pulumi up --replace {word(f'**::{vm.base_volume}')}`, which uploads it again"
                raise HypervisorError(f"sha256 is {digest}, wanted {vm.base_sha256}", where=where, fix=fix)
        return path

    def _refuse_foreign_vip(
        self,
        vm: BootstrapVmSpec,
        network: NetworkProbes,
        macs: frozenset[str],
        *,
        has_run: bool = False,
        is_changed: bool = False,
    ) -> None:
        others = macs - {vm.mac}
        if others and has_run and vm.balancer is Balancer.CLUSTER:
            # Until its API is ready, the VM takes the VIP from no node that serves (docs/adr/0069).
            others = others.difference(*map(network.macs_of, vm.nodes))
        if others:
            names = ", ".join(_named(mac, vm, network) for mac in few(others))
            what = f"already answered by {names}, wanted only the bootstrap VM {vm.mac}"
            fix = FREE_FIX
            if is_changed:
                fix = f"if a node of this cluster has it, revert the change of the VM's configuration; else {fix}"
            if has_run and (node := network.answering_node()):
                fix = f"if {node}, which answers, is of this cluster: go on to phase production, which needs no VM"
            raise HypervisorError(what, where=f"{vm.claim} {vm.vip}", fix=fix)

    def _build(self, vm: BootstrapVmSpec, base: str, config: bytes) -> None:
        self.report(Progress("making its volumes"))
        disk = self.hypervisor.make_overlay(vm.pool, vm.disk_volume, base=base, size_gib=vm.disk_gib)
        ignition = self.hypervisor.make_private(vm.pool, vm.ignition_volume, config)
        self.hypervisor.define(
            DomainSpec(
                name=vm.name,
                owner=vm.owner,
                build=vm.build,
                memory_mib=vm.memory_mib,
                vcpus=vm.vcpus,
                emulated=vm.emulated,
                disk=disk,
                ignition=ignition,
                cards=_cards(vm),
            )
        )
        self.hypervisor.start(vm.name)
        self.report(Progress("started"))


def _runs(domain: Domain | None) -> bool:
    return domain is not None and domain.running


def _seen_of_control_plane(network: NetworkProbes) -> str | None:
    """Return in words that a server of the control plane is in the VM's cluster. None: none was ever seen in it."""
    if runs := network.answering_node() or network.running_node():
        return f"{runs} of the control plane runs already"
    was = network.installed_node()
    return _has_run(was) if was else None


def _has_run(node: str) -> str:
    return f"{node} of the control plane has run with it already, though it does not answer now"


def _end_by_hand(vm: BootstrapVmSpec) -> str:
    return f"`virsh destroy {word(vm.name)}; virsh undefine {word(vm.name)}`"


def _named(mac: str, vm: BootstrapVmSpec, network: NetworkProbes) -> str:
    """Return a MAC with the address of the control plane that it has, for messages."""
    node = next((node for node in vm.nodes if mac in network.macs_of(node)), None)
    return f"{mac} ({node})" if node else mac


def _cards(vm: BootstrapVmSpec) -> tuple[Card, ...]:
    first, second = Card(vm.mac, vm.bridge, vm.network), vm.provisioning
    return (first, Card(second.mac, second.bridge, second.network)) if second else (first,)
