"""A cluster in production that can sleep: its servers' BMCs, its API, and who holds its VIPs."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from base.progress import Progress
from providers.cluster_power.engine import ClusterPowerEngine
from providers.cluster_power.model import ClusterPowerSpec
from providers.joining.approvals import Joining
from providers.joining.nodes import SeenNodes
from testing import clusters
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.sleeping_cluster import SleepingCluster
from wires.bmc.client import BmcClient, Identity, Power

T = TypeVar("T")
Holder = Callable[[str, Mapping[str, str]], str | None]
DAY_S = 86_400.0
MASTERS, WORKERS = ("okd-master-0", "okd-master-1", "okd-master-2"), ("okd-worker-0", "okd-worker-1")


class KilledError(Exception):
    """A run is killed."""


@dataclass
class Rig:
    """A cluster in production, with a BMC for each server."""

    name: str = "rehearsal"
    only: tuple[str, ...] = ()
    """The hosts that it has; empty: all of that plan."""
    clock: FakeClock = field(default_factory=FakeClock)
    bmcs: dict[str, FakeBmc] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    """What was written, in order: by a BMC, or to a node."""
    warnings: list[str] = field(default_factory=list)
    progress: list[Progress] = field(default_factory=list)
    saved: list[float] = field(default_factory=list)
    kill_at: int | None = None
    holders: dict[str, str | None] = field(default_factory=dict)
    """Who holds a VIP, in place of the first that may."""

    def __post_init__(self) -> None:
        plan = clusters.plan(self.name, phase="production")
        whole = ClusterPowerSpec.of(plan, "prod")
        hosts = {name: host for name, host in whole.hosts.items() if name in (self.only or whole.hosts)}
        self.spec = whole.changed(hosts=hosts)
        self.cluster = SleepingCluster(self.clock, on_change=self._changed)
        for number, (name, host) in enumerate(self.spec.hosts.items()):
            machine = Identity(f"c0ffee00-0000-4000-8000-{number:012}", host.consent)
            bmc = FakeBmc(self.clock, machine=machine, url=f"https://{name}").run_from_disk()
            bmc.lost = partial(self._written_to, name)
            self.bmcs[name] = bmc
            self.cluster.add(name, host.address, bmc, has_etcd=host.role.holds_etcd)

    def _changed(self, path: str, _: dict[str, Any]) -> None:
        self._written(path.removeprefix("/api/v1/"))

    def _written_to(self, name: str, what: str) -> None:
        self._written(f"{name} {what}")

    def _written(self, what: str) -> None:
        self.writes.append(what)
        if self.kill_at is not None and len(self.writes) >= self.kill_at:
            raise KilledError

    @contextmanager
    def _bmc(self, name: str) -> Iterator[BmcClient]:
        yield self.bmcs[name]

    @staticmethod
    def _each(hosts: Iterable[str], call: Callable[[str], T]) -> dict[str, T]:
        return {host: call(host) for host in hosts}

    def engine(self) -> ClusterPowerEngine:
        report, warn = self.progress.append, self.warnings.append
        return ClusterPowerEngine(self.spec, self._bmc, self._each, self.cluster, self.clock, report, warn)

    def sleep(self) -> None:
        self.engine().sleep(lambda: self.saved.append(self.clock.now()))

    def wake(
        self, hosts: Iterable[str] | None = None, *, approves: bool = True, holder: Holder | None = None
    ) -> Joining:
        engine = self.engine()
        joining = Joining(
            api=self.cluster,
            nodes=SeenNodes(self.cluster, self.spec.api_vip, self.clock, woken=engine.machines),
            hosts={name: host.addresses for name, host in self.spec.hosts.items()},
            approves=approves,
            kubelet=self.cluster.kubelet_problem,
            log=lambda _: None,
            warn=self.warnings.append,
            now=lambda: "2027-02-05T00:00:00+00:00",
        )
        engine.wake(list(hosts or self.spec.hosts), joining, holder or self.holder)
        return joining

    def holder(self, vip: str, nodes: Mapping[str, str]) -> str | None:
        return self.holders.get(vip, next(iter(nodes)))

    @property
    def on(self) -> list[str]:
        return [name for name, bmc in self.bmcs.items() if bmc.power() is Power.ON]

    def at_bmcs(self, what: str) -> list[str]:
        """Hosts to whose BMC something was written, in order."""
        return [line.partition(" ")[0] for line in self.writes if line.endswith(f" {what}")]
