"""A stand-in for Pulumi's engine and everything below the resources of servers.

Real: the specs of a plan, the providers with `check`, `diff`, create, update and delete, the rules, the engines that
drive BMCs. Stand-ins: the engine, the BMCs (`testing.fakes.bmc`), the media server, the API of the cluster.

The engine's traits, from pulumi/pulumi pkg/resource/deploy (step_generator.go, step_executor.go): what others depend
on runs first; a failure ends what depends on it and all deletions; an output of a resource that changes is unknown in
a preview; deletions come last; a protected resource is not deleted.
"""

import asyncio
import json
import uuid
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, Self
from unittest import mock

import pulumi

from assets.render import render
from base.errors import BmcTransientError, OkdBaremetalError
from base.spec import Spec
from cluster.plan import ClusterPlan, Role
from cluster.plan.model import Server
from cluster.values.phase import Phase
from providers.bmc_host.model import BmcHostSpec
from providers.bmc_host.provider import BmcHostProvider
from providers.etcd.health import DEGRADED
from providers.host_provisioning.installation.adapters import Target
from providers.host_provisioning.installation.engine import Installation
from providers.host_provisioning.model import HostProvisioningSpec
from providers.host_provisioning.provider import HostProvisioningProvider
from providers.machines.model import MachinesSpec
from providers.machines.provider import MachinesProvider
from providers.pulumi.dynamic import Props, Provider, inputs_of
from review.preview import UNKNOWN as PRINTED_UNKNOWN
from testing import plans
from testing.certificate_requests import node
from testing.fakes.bmc import FakeBmc
from testing.fakes.clock import FakeClock
from testing.fakes.etcd import numbered, told_of_members
from testing.fakes.mark import FakeMark
from testing.fakes.media import FakeMedia
from testing.own_run import forget_run
from testing.preview_steps import preview, step_of
from wires.api.resources import ETCD, ETCD_MEMBERS, NODE_LIST
from wires.bmc.access import BmcAccess
from wires.bmc.client import Identity, Power
from wires.bmc.steps import run_steps

Key = tuple[str, str, str]
"""Kind, parent and name: what a URN is made of."""
UNKNOWN = pulumi.output.UNKNOWN
PROVIDERS: dict[str, type[Provider[Any, Any]]] = {
    "Machines": MachinesProvider,
    "BmcHost": BmcHostProvider,
    "HostProvisioning": HostProvisioningProvider,
}


def identity_of(serial: str) -> Identity:
    """Return the identity of a machine."""
    return Identity(str(uuid.uuid5(uuid.NAMESPACE_DNS, serial)), serial)


class DeadBmc:
    """A BMC that does not answer."""

    url = "https://dead"

    def __getattr__(self, name: str) -> Any:
        raise BmcTransientError("connection refused", where=self.url, undone=True)

    def close(self) -> None:
        """Do nothing."""


@dataclass
class Site:
    """The machines, the addresses of their BMCs, and the API of the cluster."""

    clock: FakeClock = field(default_factory=FakeClock)
    media: FakeMedia = field(default_factory=lambda: FakeMedia(makes=0))
    machines: dict[str, FakeBmc] = field(default_factory=dict)
    """By serial."""
    behind: dict[str, str] = field(default_factory=dict)
    """By address of a BMC, the serial of its machine; one that is missing does not answer."""
    members: set[str] = field(default_factory=set)
    """Addresses of etcd's members."""
    silent: set[str] = field(default_factory=set)
    """The members that do not answer."""
    returned: set[str] = field(default_factory=set)
    """The members that were none when their servers came up."""
    nodes: dict[str, str] = field(default_factory=dict)
    """By node, the serial of its machine."""
    ready: set[str] = field(default_factory=set)
    """The nodes whose kubelets report."""
    unanswered: tuple[str, ...] = ()
    """What the paths begin with that the API does not answer."""
    marks: dict[str, FakeMark] = field(default_factory=lambda: defaultdict(FakeMark))
    """What the provisioner remembers, by address of the BMC."""
    asked: list[str] = field(default_factory=list)
    """The hosts about which the API was asked."""

    def add(self, serial: str, address: str) -> FakeBmc:
        """Add a machine behind a BMC's address."""
        bmc = FakeBmc(self.clock, machine=identity_of(serial), url=f"https://{serial}", read_by_bmc=self.media.fetch)
        self.machines[serial], self.behind[address] = bmc, serial
        return bmc

    def bmc_at(self, access: BmcAccess, *_: object, **__: object) -> FakeBmc | DeadBmc:
        """Return the BMC at an address."""
        serial = self.behind.get(access.address)
        return self.machines[serial] if serial else DeadBmc()

    def missing(self, target: Target) -> str | None:
        """Return what an installed host lacks to be up."""
        if not any(bmc.is_up() for bmc in self.machines.values() if _is(bmc, target.uuid)):
            return "no answer"
        if self.members and target.address not in self.members:
            self.members.add(target.address)  # as the etcd operator does
            self.returned.add(target.address)
        return None

    def is_node(self, host: str, machine: Identity) -> bool:
        """Return whether a host's node is this machine."""
        return machine.serial == self.nodes.get(host)

    def delete(self, _: str, path: str) -> None:
        """Delete a node."""
        self.nodes.pop(path.rpartition("/")[2], None)

    def reached(self, _: object = None) -> tuple[Any, list[str]]:
        """Return a client of etcd, and the addresses of its members."""
        return SimpleNamespace(members=self.listed, revision=self.revision, remove=self.remove), sorted(self.members)

    def revision(self, address: str) -> int:
        """Answer for a member of etcd."""
        if address in self.silent or address not in self.members:
            raise ConnectionError("UNAVAILABLE: refused")
        return 1

    def listed(self, address: str) -> dict[int, str]:
        """Return the members of etcd, as one of them knows them."""
        self.revision(address)
        return numbered(sorted(self.members))

    def remove(self, address: str, member: int) -> None:
        """Remove a member of etcd."""
        gone = self.listed(address)[member]
        self.members.discard(gone)
        self.silent.discard(gone)

    def get(self, _: str, path: str, model: Any) -> Any:
        """Answer for the API of the cluster: an etcd whose other members all answer."""
        if self.unanswered and path.startswith(self.unanswered):
            raise ConnectionRefusedError("refused")
        if path.startswith(NODE_LIST):
            host = path.rpartition("/")[2]
            self.asked.append(host)
            return model.model_validate(self._node(host)) if host in self.nodes else None
        degraded = {"status": {"conditions": [{"type": DEGRADED, "status": "False"}]}}
        if path == ETCD_MEMBERS and not self.members:
            return None
        members = told_of_members(numbered(sorted(self.members)))
        answer = {ETCD_MEMBERS: members, ETCD: degraded}.get(path)  # there is no Machine
        return model.model_validate(answer) if answer else None

    def _node(self, host: str) -> dict[str, Any]:
        return node(host, ready=str(host in self.ready), uuid=identity_of(self.nodes[host]).uuid)

    def writes(self) -> dict[str, list[str]]:
        """Return what was written to each machine's BMC, by serial."""
        return {serial: list(bmc.writes) for serial, bmc in self.machines.items() if bmc.writes}

    def settle(self) -> None:
        """Let every machine end what it does, and forget the requests so far."""
        self.clock.sleep(3600)
        for bmc in self.machines.values():
            bmc.power()
            bmc.writes.clear()

    def installed(self) -> dict[str, int]:
        """Return how often each machine was installed, by serial."""
        return {serial: bmc.installs for serial, bmc in self.machines.items() if bmc.installs}

    def is_on(self, serial: str) -> bool:
        """Return whether a machine runs."""
        return self.machines[serial].power() is Power.ON


def _is(bmc: FakeBmc, name: str) -> bool:
    return bmc.machine.answers_to(name)


def _install_all(installations: Mapping[str, Installation], *, clock: FakeClock) -> dict[str, OkdBaremetalError]:
    failed = dict[str, OkdBaremetalError]()
    for host, installation in installations.items():
        try:
            run_steps(installation.run(), clock)
        except OkdBaremetalError as error:
            failed[host] = error
    return failed


@contextmanager
def replaced_below(site: Site) -> Iterator[None]:
    """Put the stand-ins of a site in the place of what the providers use."""
    provision = "providers.host_provisioning.provision"
    composition = "providers.host_provisioning.composition"
    places = {
        "wires.redfish.sushy_bmc.SushyBmc": site.bmc_at,
        "base.lock.held": lambda *_, **__: nullcontext(),
        **{
            f"{module}.SYSTEM_CLOCK": site.clock
            for module in ("providers.machines.provider", "providers.bmc_host.provider", provision, composition)
        },
        f"{provision}.read_kubeconfig": lambda _: object(),
        f"{provision}.IsoMedia": lambda *_: nullcontext(site.media),
        f"{provision}.install_all": _install_all,
        f"{composition}.image_server_of": lambda _: nullcontext(),
        f"{provision}.joining_of": lambda *_, **__: SimpleNamespace(
            approved={}, is_node=site.is_node, forget=lambda _: None
        ),
        f"{composition}.KubeApi.by": lambda *_: site,
        "providers.etcd.access.EtcdAccess.reach": site.reached,
        f"{composition}.connect_problem": lambda *_, **__: "no machine has an address",
        f"{composition}.MarkFile.of": lambda address, _: site.marks[address],
        f"{composition}.missing_of": lambda *_: site.missing,
        # None of these graphs has the `ClusterPower` that names the cluster to ask.
        "providers.bmc_host.provider.running_clusters": frozenset,
    }
    patches = [mock.patch(place, new) for place, new in places.items()]
    try:
        for patch in patches:
            patch.start()
        yield
    finally:
        mock.patch.stopall()
        forget_run()


@dataclass(frozen=True)
class _Declared:
    key: Key
    provider: Provider[Any, Any]
    spec: Spec
    inputs: str
    """The inputs that are known before anything runs, JSON, so that no step changes what the next one gets."""
    needs: tuple[Key, ...]
    protect: bool

    def __deepcopy__(self, _: object) -> Self:
        """Share it: it is frozen."""
        return self


class Stack:
    """A stack with the servers of a cluster."""

    def __init__(self, site: Site) -> None:
        self.site = site
        self.state: dict[Key, Props] = {}
        self.protected: set[Key] = set()
        self._planned: tuple[ClusterPlan, tuple[_Declared, ...]] | None = None

    def preview(self, plan: ClusterPlan) -> list[str]:
        """Return what a preview refuses."""
        refused, news = list[str](), dict[Key, Props]()
        with replaced_below(self.site):
            for declared in self._declared(plan):
                props = news[declared.key] = self._props(declared, news, known=False)
                refused += self._refused(declared, props)
        gone = self.state.keys() - news.keys()
        return refused + [f"{key[2]}: protected" for key in sorted(gone & self.protected)]

    def printed(self, plan: ClusterPlan) -> str:
        """Return what `pulumi preview --json` prints of the resources that change."""
        steps, news = list[dict[str, Any]](), dict[Key, Props]()
        for declared in self._declared(plan):
            kind, parent, name = declared.key
            new = news[declared.key] = self._props(declared, news, known=False)
            old = self.state.get(declared.key)
            if old is None or _differ(old, new):
                operation = "create" if old is None else "update"
                shown = json.loads(json.dumps(new, default=lambda _: PRINTED_UNKNOWN))
                steps.append(step_of(operation, kind, name, old, shown, inside=parent))
        for kind, parent, name in sorted(self.state.keys() - news.keys()):
            steps.append(step_of("delete", kind, name, self.state[kind, parent, name], None, inside=parent))
        return preview(*steps)

    def up(self, plan: ClusterPlan) -> list[str]:
        """Update without a preview, and return the errors."""
        errors, failed, declared_keys = list[str](), set[Key](), set[Key]()
        with replaced_below(self.site):
            for declared in self._declared(plan):
                declared_keys.add(declared.key)
                if failed & {*declared.needs}:
                    failed.add(declared.key)
                    continue
                props = self._props(declared, self.state, known=True)
                try:
                    self._apply(declared, props)
                except OkdBaremetalError as error:
                    errors.append(str(error))
                    failed.add(declared.key)
            for key in [] if errors else sorted(self.state.keys() - declared_keys):
                errors += self._delete(key)
        return errors

    def _refused(self, declared: _Declared, props: Props) -> list[str]:
        old = self.state.get(declared.key, {})
        failures = declared.provider.check(old, props).failures or []
        refused = [failure.reason for failure in failures]
        with suppress(KeyError):
            try:
                declared.provider.diff("id", self.state[declared.key], props)
            except OkdBaremetalError as error:
                refused.append(str(error))
        return refused

    def _apply(self, declared: _Declared, props: Props) -> None:
        key, provider = declared.key, declared.provider
        for refusal in self._refused(declared, props):
            raise OkdBaremetalError(refusal)
        old = self.state.get(key)
        if old is None:
            self.state[key] = dict(provider.create(props).outs or {})
        elif _differ(old, props):
            self.state[key] = dict(provider.update("id", old, props).outs or {})
        self.protected = self.protected | {key} if declared.protect else self.protected - {key}

    def _delete(self, key: Key) -> list[str]:
        if key in self.protected:
            return [f"{key[2]}: protected"]
        try:
            PROVIDERS[key[0]]().delete("id", self.state[key])
        except OkdBaremetalError as error:
            return [str(error)]
        del self.state[key]
        return []

    def _declared(self, plan: ClusterPlan) -> tuple[_Declared, ...]:
        """Return the resources of a plan: `up` those of the preview before it, as a plan is frozen."""
        if self._planned is None or self._planned[0] is not plan:
            self._planned = plan, asyncio.run(_declared(plan))
        return self._planned[1]

    def _props(self, declared: _Declared, states: Mapping[Key, Props], *, known: bool) -> Props:
        """Return the inputs of a resource: those of a `HostProvisioning` with what the servers' outputs provide."""
        props: Props = json.loads(declared.inputs)
        if not isinstance(declared.spec, HostProvisioningSpec):
            return props

        def machine(host: str) -> Props:
            key = ("BmcHost", "servers", host)
            state = self.state.get(key)
            is_known = known or (state is not None and all(state.get(n) == v for n, v in states[key].items()))
            return {name: state[name] if state and is_known else UNKNOWN for name in ("uuid", "serial")}

        return {**props, "identities": {host: machine(host) for host in declared.spec.hosts}}


def _differ(old: Props, new: Props) -> bool:
    return any(old.get(name) != value for name, value in new.items() if name not in ("ours", "keyfiles"))


async def _declared(plan: ClusterPlan) -> tuple[_Declared, ...]:
    """Return the resources of servers in the order in which they run; see components/cluster.py."""
    machines: Key = ("Machines", "cluster", "machines")
    made = [await _declare(machines, MachinesProvider(), MachinesSpec.of(plan))]
    for host in plan.hosts:
        key: Key = ("BmcHost", "servers" if isinstance(host, Server) else "spares", host.name)
        bmc_host = BmcHostSpec.of(plan, host)
        made.append(await _declare(key, BmcHostProvider(), bmc_host, machines, protect=bmc_host.protected))
    rendered, before = render(plan), [declared.key for declared in made[1:]]
    for role in Role:
        if plan.of(role) and (role.holds_etcd or plan.options.phase is Phase.PRODUCTION):
            key = ("HostProvisioning", "cluster", role.value)
            spec = HostProvisioningSpec.of(plan, role, rendered, plans.STACK)
            made.append(await _declare(key, HostProvisioningProvider(), spec, *before))
            before.append(key)
    return tuple(made)


async def _declare(
    key: Key, provider: Provider[Any, Any], spec: Spec, *needs: Key, protect: bool = False
) -> _Declared:
    """Return a resource; the Output of a secret input needs a loop."""
    inputs = {
        name: await value.future() if isinstance(value, pulumi.Output) else value
        for name, value in inputs_of(spec).items()
    }
    return _Declared(key, provider, spec, json.dumps(inputs), needs, protect)
