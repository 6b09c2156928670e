"""Pulumi's calls for `BootstrapVm`."""

from collections.abc import Iterator
from datetime import UTC, datetime

from assets.contract import API_PORT, KUBELET_PORT
from assets.ignition import compose
from base.clock import SYSTEM_CLOCK
from base.errors import Fault
from base.lock import held
from payload.checks import read_bootstrap
from providers.bootstrap_vm.engine import BootstrapVmEngine, NetworkProbes, base_taken_away
from providers.bootstrap_vm.model import BootstrapVmOuts, BootstrapVmSpec
from providers.mark_file import marks, marks_folder
from providers.pulumi.dynamic import Provider
from providers.pulumi.plugin import row
from providers.pulumi.workers import by_host
from providers.registered import note_vm
from wires.api.https import PROBE_S, connect_problem
from wires.libvirt.connection import connected
from wires.segment.neighbours import all_macs_on


class BootstrapVmProvider(Provider[BootstrapVmSpec, BootstrapVmOuts]):
    """Builds, adopts and removes the VM; rebuilds it for a changed Ignition config while no control plane runs."""

    outputs_are_inputs = True

    def _faults(self, old: BootstrapVmSpec | None, new: BootstrapVmSpec) -> Iterator[Fault]:
        if old:
            yield from base_taken_away(old, new)

    def _plan(self, old: BootstrapVmSpec, outs: BootstrapVmOuts, new: BootstrapVmSpec) -> None:
        """Tell `HostProvisioning`, which then refuses it for a control plane that is recorded as installed."""
        note_vm(old.nodes, is_new=new.is_another(old))

    def _create(self, spec: BootstrapVmSpec) -> tuple[str, BootstrapVmOuts]:
        _ensure(spec)
        return spec.name, BootstrapVmOuts()

    def _update(self, old: BootstrapVmSpec, outs: BootstrapVmOuts, new: BootstrapVmSpec) -> BootstrapVmOuts:
        _ensure(new)
        return BootstrapVmOuts()

    def _read(self, spec: BootstrapVmSpec, outs: BootstrapVmOuts) -> BootstrapVmOuts:
        with connected(spec.libvirt_uri) as hypervisor:
            domain = hypervisor.find(spec.name)
        # One that is gone may have left its volumes, of which one is secret: the resource stays, to remove them.
        return BootstrapVmOuts(running=domain is not None and domain.running)

    def _delete(self, spec: BootstrapVmSpec, outs: BootstrapVmOuts) -> None:
        with held(f"domain {spec.name}"), connected(spec.libvirt_uri) as hypervisor:
            engine = BootstrapVmEngine(hypervisor, SYSTEM_CLOCK, row(spec.urn))
            engine.remove(spec, _network(spec))


def _ensure(spec: BootstrapVmSpec) -> None:
    def ignition() -> bytes:
        payload = read_bootstrap(spec.stack, spec.payload_sha256, datetime.now(UTC))
        return compose(payload, spec.own_ignition.get_secret_value())

    with held(f"domain {spec.name}"), connected(spec.libvirt_uri) as hypervisor:
        engine = BootstrapVmEngine(hypervisor, SYSTEM_CLOCK, row(spec.urn))
        engine.ensure(spec, ignition, _network(spec))


def _network(spec: BootstrapVmSpec) -> NetworkProbes:
    return NetworkProbes(
        answering_node=lambda: _listening(spec.nodes, API_PORT),
        running_node=lambda: _listening(spec.nodes, KUBELET_PORT),
        installed_node=lambda: _installed(spec.nodes),
        marks=str(marks_folder()),
        macs_of=lambda address: all_macs_on(spec.bridge, address),
    )


def _listening(nodes: tuple[str, ...], port: int) -> str | None:
    # Linux sends a lost SYN again after a second.
    problems = by_host(nodes, lambda node: connect_problem(node, port, timeout_s=PROBE_S))
    return next((node for node, problem in problems.items() if problem is None), None)


def _installed(nodes: tuple[str, ...]) -> str | None:
    addresses = {mark.address for mark in marks()}
    return next((node for node in nodes if node in addresses), None)
