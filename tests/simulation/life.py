"""What happens to a cluster: the program runs, and is killed; machines and wires fail; people do what they do."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from base.errors import ConfigError
from base.spec import Spec
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec
from testing.own_run import forget_run
from tests.simulation.clock import Killed
from tests.simulation.history import Act, Happening, History
from tests.simulation.operator import Operator
from tests.simulation.program import API, program
from tests.simulation.promises import Breach
from tests.simulation.servers import SITE_IMAGE, Strike
from tests.simulation.site import SECONDS, Wanted, site, uuid
from tests.simulation.stack import Report, Stack
from tests.simulation.world import Asked, World
from wires.bmc.client import BootOverride, Identity, Power

MOST_S = {
    "machines": 330,
    "host": 8 * SECONDS["bmc_s"],
    "spare": 8 * SECONDS["bmc_s"],
    "power": 12 * SECONDS["bmc_s"] + 4 * SECONDS["shutdown_s"] + 3 * SECONDS["host_s"] * 2,
    "network": 60,
    "bootstrap": 300,
    "api": 900 + 900 + 900 + 5 * 30 + 300,
    "control-plane": 3000 + 120,
    "compute": 3000 + 120 + 3000 + 300,
    "ingress": 960,
}
"""Seconds within which each resource has to end, by the deadlines that it is given."""


class Life:
    """One history, as it is lived."""

    def __init__(self, history: History, *, story: bool = False) -> None:
        self.history = history
        self.wanted = Wanted(
            workers=history.workers,
            masters=history.masters,
            planned=history.planned,
            snapshots="/snapshots" if history.saves else "",
        )
        all_servers = site(history.policy, replace(self.wanted, workers=history.most_workers))
        self.world = World(history.seed, all_servers, story=story)
        self.stack = Stack(self._bounded)
        self.operator = Operator(self.world)
        self.goal = history.goal
        """The phase that it is to reach. One that cannot go back is in production, whatever was drawn."""
        self.operation = ""
        self.is_half_destroyed = self.ignores_protect = False
        self.runs = 0
        self._set_traits()
        self.found = dict[str, tuple[BootOverride, ...]]()
        """How each server was before and after it was taken over: a person may have switched it on meanwhile."""

    def _set_traits(self) -> None:
        for server, traits in zip(self.world.servers.values(), self.history.traits, strict=True):
            for name, value in traits:
                if name != "found":
                    setattr(server, name, value)
                if name == "found" and "on" in value:
                    server.state = Power.ON
                if name == "found" and "image" in value:
                    server.image = SITE_IMAGE

    @property
    def breaches(self) -> list[Breach]:
        """The promises that were broken so far."""
        return self.world.watch.breaches

    # What is done.
    def do(self, act: Act) -> None:
        """Do what the operator does next."""
        self.world.tell(f"OPERATOR: {act}")
        match act.what:
            case "wait":
                self.world.clock.pass_time(act.seconds)
            case "happen":
                self.happen(act.happenings[0])
            case "set":
                self._set(*act.option)
            case _:
                self.run(act)

    def _host(self, index: int) -> str:
        """Return a host by the number in a history, which may name more than there are."""
        return self.world.site.hosts[index % len(self.world.site.hosts)]

    def _set(self, name: str, index: int, value: int) -> None:
        host = self._host(index)
        machine = self.world.servers[host].machine
        match name:
            case "reinstall":
                who = machine.serial if value % 2 else machine.uuid
                self.want(reinstall=_with(self.wanted.reinstall, host, who))
            case "consent":
                who = machine.uuid if value % 2 else machine.serial
                self.want(consents=_with(self.wanted.consents, host, who))
            case "bmc":
                self.want(ways=(*{**dict(self.wanted.ways), host: value}.items(),))
                self.world.servers[host].way = value
            case "memory_mib":
                self.want(memory_mib=320 + value)
            case "host_s":
                self.want(host_s=1000 * value)

    def want(self, **options: Any) -> None:
        """Have the operator change options of `Wanted`."""
        self.wanted = replace(self.wanted, **options)

    def run(self, act: Act) -> Report | None:
        """Run the program. None: it was killed."""
        world = self.world
        world.run, world.writes, self.runs = world.run + 1, 0, self.runs + 1
        world.began_at = world.clock.now()
        world.clock.is_dead, world.kill_at_write = False, act.kill_at_write
        world.clock.kill_at = float("inf") if act.kill_at_s is None else world.clock.now() + act.kill_at_s
        for struck in act.strikes:
            server = world.servers[self._host(struck.host)]
            server.strikes.append(Strike(struck.kind, world.run, struck.skip, struck.times))
            world.disturb()
        for happening in act.happenings:
            world.clock.after(happening.at_s, partial(self.happen, happening))
        self.operation = act.what
        if act.what == "up":
            self.want(phase=act.phase)
        world.asked = self._asked(act)
        world.warnings.clear()
        try:
            report = self._operate(act)
        except Killed:
            world.tell("KILL -9")
            report = None
        world.clock.is_dead, world.clock.kill_at, world.kill_at_write = False, float("inf"), None
        world.locks.clear()
        world.serve(None)
        forget_run()
        if report:
            self._judge_errors(report)
            world.tell(
                f"{act.what} {'succeeds' if report.is_ok else 'fails'}: {', '.join(report.changes) or 'no changes'}"
            )
        return report

    def _asked(self, act: Act) -> Asked:
        """Return what the operator has asked for, by the inputs of the last successful update and of this one."""
        consents = {name: f"SERIAL-{name}" for name in self.world.site.hosts} | dict(self.wanted.consents)
        before = dict[str, str]()
        for kept in self.stack.kept.values():
            before |= kept.spec.reinstall if isinstance(kept.spec, HostProvisioningSpec) else {}
        again = {host for host, who in self.wanted.reinstall if before.get(host) != who}
        sleeps = act.what == "up" and self.wanted.power == "off"
        is_installed = bool(self.recorded() & {*self.world.site.masters})
        saves = bool(self.wanted.snapshots) and self.wanted.phase == "production" and is_installed
        recorded, is_destroy = frozenset(self.recorded()), act.what == "destroy"
        return Asked(
            consents,
            frozenset(again),
            recorded,
            is_destroy,
            sleeps,
            self.removed,
            self.spares,
            saves,
        )

    def recorded(self) -> set[str]:
        outs = [kept.outs for kept in self.stack.kept.values() if isinstance(kept.outs, HostProvisioningOuts)]
        return {host for each in outs for host in each.installed}

    @property
    def removed(self) -> frozenset[str]:
        return frozenset(self.world.site.compute[self.wanted.workers :])

    @property
    def spares(self) -> frozenset[str]:
        return frozenset(self.world.site.masters[self.wanted.masters :])

    def _operate(self, act: Act) -> Report:
        if act.what == "refresh":
            return self.stack.refresh()
        if act.what == "up --target":
            (target,) = (it for it in program(self.world.site, self.wanted) if it.name == act.target)
            return self.stack.up_target(target)
        if act.what == "destroy":
            return self._operate_destroy(ignore_protect=act.ignore_protect)
        try:
            return self.stack.up(program(self.world.site, self.wanted), go_on=act.go_on)
        except ConfigError as error:  # of the whole file, before any resource is planned
            return Report(errors={"program": error})

    def _operate_destroy(self, *, ignore_protect: bool) -> Report:
        if not ignore_protect and any(kept.protect for kept in self.stack.kept.values()):
            return self.stack.destroy()  # which is refused
        self.world.serves, self.is_half_destroyed, self.ignores_protect = False, True, ignore_protect
        try:
            report = self.stack.destroy(ignore_protect=ignore_protect)
        finally:
            self._let_go()
        self.is_half_destroyed = not report.is_ok
        return report

    def _let_go(self) -> None:
        """After a destruction, also one that fails or is killed, what is on disks without a record is nobody's."""
        for host, server in self.world.servers.items():
            if server.system and host not in self.recorded():
                server.system.is_nobodys = True

    def _bounded(self, name: str, spec: Spec, call: Callable[[], Any]) -> Any:
        world, began = self.world, self.world.clock.now()
        kind, _, host = name.partition("/")
        before = world.servers[host].override if host else None
        try:
            outs = call()
        finally:
            spent = world.clock.now() - began
            most = MOST_S[kind]
            if spent > most:
                world.breach("deadline", f"{name}: {spent:.0f} s, at most {most} s")
        if (
            before and kind == "host" and name not in self.stack.kept
        ):  # nothing but its power and its media was written
            self.found[host] = (before, world.servers[host].override)
        if name == API and self.operation == "up":
            self._proven()
        return outs

    def _proven(self) -> None:
        world = self.world
        world.serves = True
        if world.clock.now() < world.disturbed_until:
            return
        if len(world.api.holders) != 1 and (world.api.crowd_s > 5 or world.api.silence_s > 5):
            world.breach("proof", f"held by {' and '.join(world.api.holders) or 'nobody'}")

    def _judge_errors(self, report: Report) -> None:
        for name, error in report.crashes.items():
            self.world.breach("error", f"{name}: {type(error).__name__}: {error}"[:400])
        for name, failed in report.errors.items():
            self.world.tell(f"ERROR of {name}: {failed}")
            for fault in failed.faults:
                if "Fix: " not in str(fault):
                    self.world.breach("error", f"{name}: no fix: {fault}"[:400])

    # What happens.
    def happen(self, it: Happening) -> None:
        """Have something happen to the world."""
        world = self.world
        host = self._host(it.host)
        if world.is_calm or (host in self.removed and f"host/{host}" not in self.stack.kept):
            return  # what has left, or has not come, is nobody's
        server, node, now = world.servers[host], world.cluster.nodes[host], world.clock.now()
        world.tell(f"it happens: {it.what} ({host}, {it.for_s:.0f} s)")
        world.disturb(it.for_s + 300)
        until = now + it.for_s
        happen: dict[str, Callable[[], object]] = {
            "press": lambda: self._press(host),
            "reboot": server.reboot,
            "bmc_restart": lambda: server.restart_bmc(it.for_s),
            "media_vanish": lambda: setattr(server, "image", None),
            "vm_crash": world.libvirt.crash,
            "vm_vanish": self._vanish,
            "libvirt_down": lambda: setattr(world.libvirt, "down_until", until),
            "channel_down": lambda: setattr(world.libvirt, "channel_down_until", until),
            "blind": lambda: setattr(world, "blind_until", until),
            "stranger": lambda: setattr(world, "stranger_until", until),
            "deaf": lambda: setattr(world.api, "deaf_until", until),
            "api_flap": lambda: setattr(node, "flaps_until", until),
            "budget_holds": lambda: setattr(world.cluster, "held_until", until),
            "full": lambda: setattr(world, "full_until", until),
            "config_down": lambda: setattr(world.cluster, "config_down_until", until),
            "replace": lambda: self._replace(host),
            "cache_lost": world.lose_cache,
            "majority_dies": self._majority_dies,
        }
        happen[it.what]()

    def _vanish(self) -> None:
        """A person removes the VM; never one that a cluster cannot do without, after which nobody could help."""
        etcd = self.world.cluster.etcd
        systems = [server.system for server in self.world.servers.values() if server.system]
        if etcd is None or etcd.is_removed or all(system.generation is None for system in systems):
            self.world.libvirt.vanish()

    def _replace(self, host: str) -> None:
        cluster = self.world.cluster
        etcd = cluster.etcd_of(host)
        if etcd and host in etcd.members and not cluster.has_quorum(etcd, without=host):
            return  # nor does a person take away what a cluster cannot do without
        self._put_another(host)

    def _press(self, host: str) -> None:
        """A person presses the power button, but not while etcd has two members, of which neither may be lost."""
        etcd = self.world.cluster.etcd
        if etcd is None or not etcd.is_removed or len(etcd.members) != 2 or host not in etcd.members:
            self.world.servers[host].press()

    def _majority_dies(self) -> None:
        for host in self.world.site.masters[:2]:
            self._put_another(host)

    def _put_another(self, host: str) -> None:
        server, index = self.world.servers[host], self.world.site.hosts.index(host)
        number = server.replaced + 1
        server.replace(Identity(uuid(100 * number + index), f"NEW-{number}-{host}", "R650", "Sim"))

    def calm(self) -> None:
        """From now on nothing fails."""
        world, now = self.world, self.world.clock.now()
        world.is_calm = True
        world.tell("from now on nothing fails")
        world.libvirt.down_until = world.libvirt.channel_down_until = now
        world.blind_until = world.stranger_until = world.api.deaf_until = world.cluster.config_down_until = now
        world.cluster.held_until = world.full_until = now
        for node in world.cluster.nodes.values():
            node.flaps_until = now
        for server in world.servers.values():
            server.down_until, server.strikes = now, []
        world.clock.pass_time(120)


def _with(pairs: tuple[tuple[str, str], ...], key: str, value: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({**dict(pairs), key: value}.items()))
