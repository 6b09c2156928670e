"""The site of all histories: the rehearsal's cluster with three masters and one worker, and what is wanted of it.

One that grows has two spares of the control plane in its file from the beginning.
"""

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from assets.render import Rendered, render
from boot_media.keyfiles import keyfiles_of
from cluster.plan import ClusterPlan, load_plan
from cluster.values.vrrp import Policy
from testing import clusters, plans
from testing.fakes.hypervisor import BASE
from testing.install_configs import bare
from tests.simulation.history import MASTERS, WORKERS
from wires.bmc.client import Identity

SPARES = {name: [f"192.168.111.{last}"] for last, name in enumerate(clusters.SPARES, 26)}
"""Of a control plane of three, with their addresses."""
COMPUTE = plans.HOSTS[MASTERS:]
SECONDS = {"bmc_s": 300, "bootstrap_s": 900, "host_s": 1500, "ingress_s": 900, "shutdown_s": 300}
HANDOFF = {"stable_s": 30, "soak_s": 30, "deadline_s": 900, "shutdown_s": 60}


def uuid(index: int) -> str:
    return f"c0ffee00-0000-4000-8000-{index:012}"


@dataclass(frozen=True)
class Wanted:
    """What the operator wants of a run: the options that histories change."""

    phase: str = "bootstrap"
    consents: tuple[tuple[str, str], ...] = ()
    """By host, where they are not the first ones."""
    reinstall: tuple[tuple[str, str], ...] = ()
    memory_mib: int = 320
    host_s: int = SECONDS["host_s"]
    destroyable: bool = False
    power: str = "on"
    workers: int = WORKERS
    masters: int = MASTERS
    planned: int = MASTERS
    """Hosts of the control plane in the file: those beyond `masters` are spares."""
    snapshots: str = ""
    ways: tuple[tuple[str, int], ...] = ()
    """By host whose BMC has got another address or login: the number of both."""

    @property
    def of_files(self) -> "Wanted":
        """What of it the machines' files depend on."""
        return Wanted(self.phase, workers=self.workers, masters=self.masters, planned=self.planned)

    @property
    def hosts(self) -> tuple[str, ...]:
        """Those of the file."""
        return (*plans.HOSTS[: MASTERS + self.workers], *clusters.SPARES[: self.planned - MASTERS])

    @property
    def servers(self) -> tuple[str, ...]:
        """Those that are no spares."""
        spares = [name for name in self.hosts if name not in COMPUTE][self.masters :]
        return tuple(name for name in self.hosts if name not in spares)


def way(bmc: Mapping[str, Any], number: int) -> dict[str, Any]:
    """Return a host's `bmc` with another login, and another address if the number is odd; 0: as at first."""
    address = bmc["address"].replace("172.22.0.", f"172.22.{number % 2 * number}.")
    return {**bmc, "address": address, "username": f"admin-{number}"}


@dataclass(frozen=True, eq=False)
class Site:
    """The names and addresses of a cluster."""

    policy: Policy
    plan: ClusterPlan
    masters: tuple[str, ...]
    """With the spares."""
    compute: tuple[str, ...]
    hosts: tuple[str, ...]
    """All, in the order of the file."""
    ingress: tuple[str, ...]
    machines: Mapping[str, Identity] = field(repr=False)

    @property
    def vm(self) -> str:
        return self.plan.bootstrap.name

    @property
    def base_volume(self) -> str:
        return BASE

    @cached_property
    def api_vip(self) -> str:
        return str(self.plan.api.address)

    @cached_property
    def ingress_vip(self) -> str:
        return str(self.plan.ingress.address)

    @cached_property
    def addresses(self) -> dict[str, str]:
        return {"bootstrap": str(self.plan.bootstrap.address)} | {
            host.name: str(host.address) for host in self.plan.hosts
        }

    @cached_property
    def macs(self) -> dict[str, str]:
        return {"bootstrap": self.plan.bootstrap.mac} | {
            name: f"52:54:00:11:10:{15 + index}" for index, name in enumerate(self.hosts)
        }

    @cached_property
    def names(self) -> dict[str, str]:
        """By address."""
        return {address: name for name, address in self.addresses.items()}


@cache
def site(policy: Policy, wanted: Wanted) -> Site:
    """Return the site of all servers that a history has at any time."""
    plan = plan_of(policy, wanted)
    masters = tuple(server.name for server in (*plan.control_plane, *plan.spares))
    compute = tuple(server.name for server in plan.compute)
    hosts = tuple(host.name for host in plan.hosts)
    machines = {name: Identity(uuid(index), f"SERIAL-{name}", "R650", "Sim") for index, name in enumerate(hosts)}
    return Site(policy, plan, masters, compute, hosts, compute or masters, machines)


@cache
def plan_of(policy: Policy, wanted: Wanted) -> ClusterPlan:
    """Return the plan of the program for these options."""
    servers = wanted.servers
    options: dict[str, Any] = plans.options(
        phase=wanted.phase,
        consent={name: dict(wanted.consents).get(name, f"SERIAL-{name}") for name in servers},
        reinstall={name: who for name, who in wanted.reinstall if name in servers},
        deadlines={**SECONDS, "host_s": wanted.host_s},
        handoff=HANDOFF,
        destroyable=wanted.destroyable,
        power=wanted.power,
        vrrp={"policy": policy},
        snapshots=wanted.snapshots,
    )
    options["node_addresses"] = {name: {**options["node_addresses"], **SPARES}[name] for name in wanted.hosts}
    options["bootstrap"] |= {"memory_mib": wanted.memory_mib, "base_volume": BASE}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "install-config.yaml")
        path.write_text(plans.written(_install_config(wanted)))
        return load_plan(path, options, keyfiles_of)


def _install_config(wanted: Wanted) -> dict[str, Any]:
    config = plans.install_config()
    clusters.spares(config)
    bare(config)["hosts"] = [host for host in bare(config)["hosts"] if host["name"] in wanted.hosts]
    for host in bare(config)["hosts"]:
        host["bmc"] = way(host["bmc"], dict(wanted.ways).get(host["name"], 0))
    config["compute"][0]["replicas"] = wanted.workers
    config["controlPlane"]["replicas"] = wanted.masters
    return config


def rendered(policy: Policy, wanted: Wanted) -> Rendered:
    return _rendered(policy, wanted.of_files)


@cache
def _rendered(policy: Policy, wanted: Wanted) -> Rendered:
    return render(plan_of(policy, wanted))
