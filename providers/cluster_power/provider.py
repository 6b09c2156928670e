"""Pulumi's calls for `ClusterPower`."""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from functools import partial

from assets.contract import KUBELET_PORT
from base.clock import SYSTEM_CLOCK, utc_now
from base.errors import ConfigError, Fault, PayloadError
from base.progress import Progress
from payload.kubeconfig import Kubeconfig, needed, read_kubeconfig
from providers.cluster_power import rules
from providers.cluster_power.engine import ClusterPowerEngine
from providers.cluster_power.model import ClusterPowerOuts, ClusterPowerSpec
from providers.etcd.snapshot import EtcdSnapshots
from providers.node_joining import joining_of
from providers.pulumi import plugin
from providers.pulumi.dynamic import Provider
from providers.pulumi.workers import by_host
from providers.registered import RunningCluster, note_running
from wires.api.kubernetes import KubeApi
from wires.bmc.client import BmcClient
from wires.bmc_clients import client_of, exclusive
from wires.certificates import Life
from wires.segment.neighbours import macs_at
from wires.segment.vip_holder import vip_holder
from wires.shown_certificate import shown_certificate

OPTION = "power"


class ClusterPowerProvider(Provider[ClusterPowerSpec, ClusterPowerOuts]):
    """Update puts the cluster to sleep, or wakes it; read looks for a half sleep; the rest does nothing."""

    outputs_are_inputs = True

    def _faults(self, old: ClusterPowerSpec | None, new: ClusterPowerSpec) -> Iterator[Fault]:
        yield from rules.faults(old, new)

    def _plan(self, old: ClusterPowerSpec, outs: ClusterPowerOuts, new: ClusterPowerSpec) -> None:
        for line in rules.notes(old, outs, new):
            plugin.notes(new.urn)(line)
        note_running(_cluster(new))

    def _create(self, spec: ClusterPowerSpec) -> tuple[str, ClusterPowerOuts]:
        note_running(_cluster(spec))
        return spec.api_name, ClusterPowerOuts()

    def _update(self, old: ClusterPowerSpec, outs: ClusterPowerOuts, new: ClusterPowerSpec) -> ClusterPowerOuts:
        if faults := [*rules.faults(old, new)]:
            raise ConfigError(*faults)
        if rules.goes_off(old, new):
            return _sleep(new)
        return _wake(old, new) if rules.wakes(old, outs, new) else outs

    def _read(self, spec: ClusterPowerSpec, outs: ClusterPowerOuts) -> ClusterPowerOuts:
        warn = plugin.warnings(spec.urn)
        try:
            engine = _engine(spec, needed(spec.stack, read_kubeconfig(spec.stack), OPTION))
        except PayloadError:
            return outs  # no OKD: it never sleeps
        if spec.is_off:
            running = engine.running()
            plugin.row(spec.urn)(Progress("state", f"asleep since {outs.asleep_since}"))
            if running:
                warn(f"on, although `power` is off: {', '.join(running)}; to wake the cluster, set `power` to on")
            return outs
        found = engine.unfinished()
        if found is None:  # as half of a sleep leaves it: what an earlier refresh has found still counts
            found = outs.unfinished
        for line in found:
            warn(f"{line}: `pulumi up` wakes the cluster")
        return outs.changed(unfinished=found)


def _cluster(spec: ClusterPowerSpec) -> RunningCluster:
    """Return the cluster, for `BmcHost`: only in production is there one, and only there this resource."""
    return RunningCluster(spec.stack, spec.api_name, spec.api_vip)


def _sleep(spec: ClusterPowerSpec) -> ClusterPowerOuts:
    kubeconfig = needed(spec.stack, read_kubeconfig(spec.stack), OPTION)
    _tell_expiry(spec)
    row = plugin.row(spec.urn)

    def save() -> None:
        if spec.snapshots:
            EtcdSnapshots.of(spec.stack, spec.api_name, spec.api_vip, spec.snapshots, row).take()

    _engine(spec, kubeconfig).sleep(save)
    row(Progress("asleep", f"{len(spec.hosts)} servers are off"))
    return ClusterPowerOuts(asleep_since=utc_now())


def _wake(old: ClusterPowerSpec, new: ClusterPowerSpec) -> ClusterPowerOuts:
    kubeconfig = needed(new.stack, read_kubeconfig(new.stack), OPTION)
    engine = _engine(new, kubeconfig)
    joining = joining_of(new, kubeconfig, engine.machines)
    engine.wake(new.waking(old).hosts.keys(), joining, _holder)
    plugin.row(new.urn)(Progress("awake", f"{len(new.hosts)} servers"))
    return ClusterPowerOuts(approved=joining.approved)


def _engine(spec: ClusterPowerSpec, kubeconfig: Kubeconfig) -> ClusterPowerEngine:
    return ClusterPowerEngine(
        spec,
        partial(_bmc, spec),
        by_host,
        KubeApi.by(kubeconfig, spec.api_name),
        SYSTEM_CLOCK,
        plugin.row(spec.urn),
        plugin.warnings(spec.urn),
    )


def _bmc(spec: ClusterPowerSpec, name: str) -> AbstractContextManager[BmcClient]:
    access = spec.hosts[name].bmc
    return exclusive(client_of(access.changed(ca=access.ca or spec.ca), spec.passwords[name]))


def _holder(vip: str, nodes: Mapping[str, str]) -> str | None:
    return vip_holder([macs_at(vip)], nodes, macs_at)


def _tell_expiry(spec: ClusterPowerSpec) -> None:
    """Say when the first certificate of a kubelet expires, as its handshake shows it to everybody."""
    found = by_host(spec.hosts, partial(_life_of_kubelet, spec))
    lives = {name: life for name, life in found.items() if life}
    if lives:
        first = min(lives, key=lambda name: lives[name].ends)
        what = f"the certificate of the kubelet of {first} expires first, on {lives[first].ends:%Y-%m-%d}"
        plugin.notes(spec.urn)(f"{what}: after that day, waking approves new ones")


def _life_of_kubelet(spec: ClusterPowerSpec, name: str) -> Life | None:
    try:
        shown = shown_certificate(spec.hosts[name].address, KUBELET_PORT)
    except OSError:
        return None
    return shown.life if shown else None
