"""The site of all histories: the rehearsal's cluster with three masters and one worker, and what is wanted of it."""

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
from testing import plans
from testing.fakes.hypervisor import BASE
from testing.install_configs import bare
from wires.bmc.client import Identity

MASTERS = 3
"""Of the rehearsal's; of its two workers, a history begins with one, if it is not about their number."""
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
    workers: int = 1


@dataclass(frozen=True, eq=False)
class Site:
    """The names and addresses of a cluster."""

    policy: Policy
    plan: ClusterPlan
    masters: tuple[str, ...]
    hosts: tuple[str, ...]
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
def site(policy: Policy, workers: int = Wanted.workers) -> Site:
    plan = plan_of(policy, Wanted(workers=workers))
    masters = tuple(server.name for server in plan.control_plane)
    compute = tuple(server.name for server in plan.compute)
    hosts = (*masters, *compute)
    machines = {name: Identity(uuid(index), f"SERIAL-{name}", "R650", "Sim") for index, name in enumerate(hosts)}
    return Site(policy, plan, masters, hosts, compute or masters, machines)


@cache
def plan_of(policy: Policy, wanted: Wanted) -> ClusterPlan:
    """Return the plan of the program for these options."""
    names = plans.HOSTS[: MASTERS + wanted.workers]
    options: dict[str, Any] = plans.options(
        phase=wanted.phase,
        consent={name: dict(wanted.consents).get(name, f"SERIAL-{name}") for name in names},
        reinstall={name: who for name, who in wanted.reinstall if name in names},
        deadlines={**SECONDS, "host_s": wanted.host_s},
        handoff=HANDOFF,
        destroyable=wanted.destroyable,
        power=wanted.power,
        vrrp={"policy": policy},
    )
    options["node_addresses"] = {name: options["node_addresses"][name] for name in names}
    options["bootstrap"] |= {"memory_mib": wanted.memory_mib, "base_volume": BASE}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "install-config.yaml")
        path.write_text(plans.written(_install_config(wanted.workers)))
        return load_plan(path, options, keyfiles_of)


def _install_config(workers: int) -> dict[str, Any]:
    config = plans.install_config()
    del bare(config)["hosts"][MASTERS + workers :]
    config["compute"][0]["replicas"] = workers
    return config


@cache
def rendered(policy: Policy, phase: str, workers: int) -> Rendered:
    return render(plan_of(policy, Wanted(phase, workers=workers)))
