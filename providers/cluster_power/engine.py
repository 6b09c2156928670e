"""Puts a cluster to sleep, and wakes it: etcd's servers go off last, and come on first.

Every step reads before it writes, and what was done shows at the BMCs and at the nodes, so the run after a killed one
goes on. The order is upstream's (openshift-docs, graceful-cluster-shutdown and -restart); see ADR 78.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol, TypeVar

from base.clock import Clock, Wait
from base.errors import BmcError, BmcIdentityError, BusyError, OkdBaremetalError, PowerError, SegmentError, words_of
from base.progress import Progress, Report, Say, with_time_left
from base.shown import few
from providers.cluster_power.model import ClusterPowerSpec
from providers.consent import consent_fault
from providers.etcd.health import member_problem
from providers.joining.approvals import Joining
from providers.joining.nodes import CORDONED, Nodes
from providers.patience import patiently
from wires.api.resources import NODE_LIST, KubernetesWriter, answer_first, unasked
from wires.bmc.client import BmcClient, Identity, Power
from wires.bmc.steps import Steps, run_steps

T = TypeVar("T")
POLL_S = 2.0
CORDON: dict[str, Any] = {"metadata": {"annotations": {CORDONED: "true"}}, "spec": {"unschedulable": True}}
UNCORDON: dict[str, Any] = {"metadata": {"annotations": {CORDONED: None}}, "spec": {"unschedulable": None}}
"""Merged into a node; what a person has cordoned has no annotation, and stays cordoned."""
GO_ON = "then run `pulumi up` again, which goes on from here"
STUCK = f"see its console; if its system hangs, switch it off by its BMC, {GO_ON}"
ANSWER = "since nodes are cordoned by it; then run `pulumi up` again"
AGAIN = f"do what each line says, {GO_ON}"
DEAD = (
    "see its console; a server that gets a new consent or a line in `reinstall` is not waited for, but installed; "
    f"{GO_ON}"
)
SILENT = (
    "see the consoles of the servers with a copy of etcd, unless the line says itself why the API does not answer; "
    f"{GO_ON}"
)


class Each(Protocol):
    """Calls a function with each host, side by side, and returns the results."""

    def __call__(self, hosts: Iterable[str], call: Callable[[str], T], /) -> dict[str, T]:
        """Return the results by host."""
        ...


@dataclass
class ClusterPowerEngine:
    """The servers of one cluster."""

    spec: ClusterPowerSpec
    bmc_of: Callable[[str], AbstractContextManager[BmcClient]]
    """Returns a host's BMC, which no other run uses meanwhile."""
    each: Each
    api: KubernetesWriter
    clock: Clock
    report: Report
    warn: Say
    machines: dict[str, Identity] = field(default_factory=dict)
    """What the BMCs show, by host."""
    _awake: set[str] = field(default_factory=set)

    # To sleep.
    def sleep(self, save: Callable[[], object]) -> None:
        """Cordon all nodes, then shut the servers down: those with a copy of etcd once all others are off.

        Args:
            save: Saves etcd, if the stack names a store.

        Raises:
            PowerError: A server is not the machine of its consent, or did not go off; or the API does not answer.
            SnapshotError: etcd was not saved; nothing was begun.
        """
        groups = self.spec.groups
        powers = self._powers(self.spec.hosts)
        running = [[host for host in group if powers[host] is not Power.OFF] for group in groups]
        if not any(running):
            return
        self._prepare(save, may_be_silent=len(running[1]) * 2 <= len(groups[1]))
        for group in filter(None, running):
            self.report(Progress("shutting down", ", ".join(few(group))))
            within = partial(Steps.shutdown, within_s=self.spec.shutdown_s)
            self._drive(group, within, self.spec.shutdown_s, "did not go off", STUCK)

    def _prepare(self, save: Callable[[], object], *, may_be_silent: bool) -> None:
        """Save etcd, and cordon the nodes. An earlier run has done so if etcd's majority is off already."""
        try:
            listed = self._nodes() if may_be_silent else patiently(self._nodes, self.clock, self.report)
        except OSError as error:
            if may_be_silent:
                return
            raise self._silent(error) from None
        if others := [each.metadata.name for each in listed.items if each.metadata.name not in self.spec.hosts]:
            self.warn(f"not of this stack, and left on without an API: {', '.join(few(others))}")
        save()
        try:
            for node in listed.items:
                if node.metadata.name in self.spec.hosts and not node.spec.unschedulable:
                    patiently(partial(self._patch, node.metadata.name, CORDON), self.clock, self.report)
        except OSError as error:
            raise self._silent(error) from None

    def _silent(self, error: OSError) -> PowerError:
        what = f"no server was switched off: {unasked(self.spec.api_vip, error)}"
        return PowerError(what, where="power", fix=f"{answer_first(error)}, {ANSWER}")

    # Awake.
    def wake(
        self, hosts: Collection[str], joining: Joining, holder: Callable[[str, Mapping[str, str]], str | None]
    ) -> None:
        """Switch the servers on, approve what their kubelets request, uncordon their nodes, and prove the cluster.

        Args:
            hosts: The servers that slept.
            joining: Of all servers; it knows their machines by `machines`.
            holder: Returns the one machine that holds a VIP, of those that may. None: none, or several.

        Raises:
            PowerError: A server is not the machine of its consent, or its node was not ready in time.
        """
        compute, with_etcd = ([host for host in group if host in hosts] for group in self.spec.groups)
        for group in filter(None, (with_etcd, compute)):
            self._powers(group)
            self.report(Progress("switching on", ", ".join(few(group))))
            self._drive(group, lambda steps: steps.power(Power.ON), self.spec.bmc_s, "did not go on", AGAIN)
            late = self._until(partial(self._missing, group, joining), "waking")
            self._refuse_late(late, SILENT if joining.nodes.silence else DEAD)
        is_whole = {*with_etcd} == {*self.spec.groups[1]}
        late = self._until(partial(self._unproven, holder, with_etcd=is_whole), "proving")
        self._refuse_late(late, "see what the line says")

    def _until(self, check: Callable[[], str | None], step: str) -> str | None:
        wait = Wait(self.clock, self.spec.host_s, poll_s=POLL_S)
        return wait.until(check, with_time_left(self.report, step))

    def _refuse_late(self, late: str | None, fix: str) -> None:
        if late:
            raise PowerError(f"{late}, after {self.spec.host_s:g} s", where="power", fix=fix)

    def _missing(self, group: Sequence[str], joining: Joining) -> str | None:
        problems = [self._missing_of(host, joining) for host in group if host not in self._awake]
        return next(filter(None, problems), None)

    def _missing_of(self, host: str, joining: Joining) -> str | None:
        if problem := joining.missing(host, self.spec.hosts[host].address):
            return problem
        node = joining.nodes.of(host)
        try:
            if node and CORDONED in node.metadata.annotations:
                self._patch(host, UNCORDON)
        except OSError as error:
            return f"node {host} cannot be uncordoned: {words_of(error)}"
        self._awake.add(host)
        return None

    def _unproven(self, holder: Callable[[str, Mapping[str, str]], str | None], *, with_etcd: bool) -> str | None:
        try:
            if with_etcd and (problem := member_problem(self.api, self.spec.api_vip)):
                return problem
            for vip, nodes in self.spec.vips.items():
                if holder(vip, nodes) is None:
                    return f"VIP {vip} is not held by exactly one of {', '.join(nodes)}"
        except SegmentError as error:
            self.warn(f"who holds the VIPs was not proven: {error}")
        except OSError as error:
            return unasked(self.spec.api_vip, error)
        return None

    # What both need.
    def unfinished(self) -> list[str] | None:
        """Return the marked nodes of a cluster that is to run. None: without an API, nothing tells of them."""
        try:
            listed = self._nodes()
        except OSError:
            return None
        marked = (each.metadata.name for each in listed.items if CORDONED in each.metadata.annotations)
        return [f"node {name} was cordoned to sleep" for name in marked if name in self.spec.hosts]

    def running(self) -> list[str]:
        """Return the servers that are on, as far as their BMCs tell."""
        powers = self.each(self.spec.hosts, self._power_or_none)
        return [host for host, power in powers.items() if power is Power.ON]

    def _power_or_none(self, host: str) -> Power | None:
        try:
            with self.bmc_of(host) as bmc:
                return bmc.power()
        except OkdBaremetalError:
            return None

    def _powers(self, hosts: Collection[str]) -> dict[str, Power]:
        """Return the power of each server, once all are the machines of their consents."""
        seen = self.each(hosts, partial(self._attempt, self._identified))
        self._refuse(seen, "cannot be identified", AGAIN)
        found = {host: it for host, it in seen.items() if not isinstance(it, OkdBaremetalError)}
        self.machines |= {host: machine for host, (machine, _) in found.items()}
        return {host: power for host, (_, power) in found.items()}

    def _identified(self, host: str, bmc: BmcClient) -> tuple[Identity, Power]:
        consent = self.spec.hosts[host].consent
        steps = Steps(bmc, self.clock, self.clock.now() + self.spec.bmc_s)
        machine = run_steps(steps.identity(consent), self.clock)
        if fault := consent_fault(host, consent, machine):
            raise BmcIdentityError(fault.what, fix=fault.fix)
        return machine, run_steps(steps.current_power(), self.clock)

    def _drive(
        self, hosts: Sequence[str], step: Callable[[Steps], Any], within_s: float, what: str, fix: str
    ) -> None:
        def drive(_: str, bmc: BmcClient) -> None:
            run_steps(step(Steps(bmc, self.clock, self.clock.now() + within_s)), self.clock)

        self._refuse(self.each(hosts, partial(self._attempt, drive)), what, fix)

    def _attempt(self, call: Callable[[str, BmcClient], T], host: str) -> T | OkdBaremetalError:
        try:
            with self.bmc_of(host) as bmc:
                return call(host, bmc)
        except (BmcError, BusyError) as error:
            return error

    def _refuse(self, results: Mapping[str, object], what: str, fix: str) -> None:
        failed = {host: error for host, error in results.items() if isinstance(error, OkdBaremetalError)}
        if failed:
            lines = [f"{host}: {error}" for host, error in failed.items()]
            count = f"{len(failed)} of {len(self.spec.hosts)} servers {what}:"
            raise PowerError(count, where="power", fix=fix, details=lines)

    def _nodes(self) -> Nodes:
        return self.api.get(self.spec.api_vip, NODE_LIST, Nodes) or Nodes()

    def _patch(self, node: str, change: dict[str, Any]) -> None:
        self.api.patch(self.spec.api_vip, f"{NODE_LIST}/{node}", change)
