"""RPC shell of `BootstrapVm`."""

from dataclasses import fields
from datetime import UTC, datetime

from assets.ignition import compose
from payload.checks import read_bootstrap
from providers.base.clock import SYSTEM_CLOCK
from providers.base.dynamic import Props, Provider
from providers.base.lock import held
from providers.base.progress import row
from providers.bootstrap_vm.engine import BootstrapVmEngine, Segment, Sources, VmSpec
from wires.api.api import API_PORT
from wires.api.https import connect_problem
from wires.libvirt.connection import connected
from wires.segment.neighbours import macs_on


class BootstrapVmProvider(Provider):
    """Builds, adopts and removes the VM; an Ignition change rebuilds it while no control plane answers."""

    replace_on = ("name", "libvirt_uri", "pool")
    outputs_are_inputs = True

    def _create(self, props: Props) -> tuple[str, Props]:
        self._ensure(props)
        return props["name"], {}

    def _update(self, id_: str, olds: Props, news: Props) -> Props:
        self._ensure(news)
        return {}

    def _read(self, id_: str, props: Props) -> Props | None:
        with connected(props["libvirt_uri"]) as hypervisor:
            found = hypervisor.find(props["name"])
        return {"running": found.running} if found else None

    def _delete(self, id_: str, props: Props) -> None:
        with held(f"domain {props['name']}"), connected(props["libvirt_uri"]) as hypervisor:
            engine = BootstrapVmEngine(hypervisor, SYSTEM_CLOCK, row(props["urn"]))
            engine.remove(_spec(props), _segment(props), deadline_s=props["deadline_s"])

    def _ensure(self, props: Props) -> None:
        def ignition() -> bytes:
            return compose(read_bootstrap(props["stack"], props["payload_sha256"], datetime.now(UTC)), props["ours"])

        with held(f"domain {props['name']}"), connected(props["libvirt_uri"]) as hypervisor:
            engine = BootstrapVmEngine(hypervisor, SYSTEM_CLOCK, row(props["urn"]))
            sources = Sources(ignition, props["base_sha256"])
            engine.ensure(_spec(props), sources, _segment(props), deadline_s=props["deadline_s"])


def _segment(props: Props) -> Segment:
    return Segment(
        vip=props["vip"],
        vip_macs=lambda: macs_on(props["bridge"], props["vip"]),
        answering_node=lambda: _answering(props["nodes"]),
    )


def _answering(nodes: list[str]) -> str | None:
    return next((node for node in nodes if connect_problem(node, API_PORT) is None), None)


def _spec(props: Props) -> VmSpec:
    # A state of before lacks the fields that came later.
    given: Props = {field.name: props[field.name] for field in fields(VmSpec) if field.name in props}
    numbers = {name: int(value) for name, value in given.items() if isinstance(value, float)}
    return VmSpec(**given | numbers)
