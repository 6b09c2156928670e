"""Lives a history: runs the program, strikes, kills; then an operator brings the cluster to its goal; and judges."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any

from base.errors import ConfigError
from base.spec import Spec
from providers import registered
from providers.bmc_host.model import BmcHostSpec
from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.host_provisioning.model import HostProvisioningOuts, HostProvisioningSpec
from providers.machines.model import MachinesSpec
from tests.simulation.clock import Killed
from tests.simulation.history import Act, Happening, History, Resizing, Sleep
from tests.simulation.operator import Operator
from tests.simulation.program import API, VM, program
from tests.simulation.promises import Breach
from tests.simulation.servers import SITE_IMAGE, Strike
from tests.simulation.site import SECONDS, Wanted, site, uuid
from tests.simulation.stack import Report, Stack
from tests.simulation.wires import wired
from tests.simulation.world import Asked, World
from wires.bmc.client import BootOverride, Identity, Power

RUNS = 4
"""Runs within which the goal has to be reached once nothing fails any more, for each phase on the way."""
SETTLES_S = 400.0
DEAD_S = 60.0
"""Time from the death of a server to the run in which another one is to join."""
GROWS = 6
"""How often one more server is asked for: those that do not list it are installed again first, one in each."""
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

    def live(self) -> list[Breach]:
        """Live it, and return the promises that were broken."""
        with wired(self.world):
            for act in self.history.acts:
                self._do(act)
            self._calm()
            if self._converge():
                self.world.clock.pass_time(SETTLES_S)
                self._judge_end()
                self._judge_idle()
                if self.goal == "production" and not all(map(self._judge_resizing, self.history.resizings)):
                    return self.world.watch.breaches
                if self.history.sleep and self.goal == "production":
                    self._judge_sleep(self.history.sleep)
                if self.history.ends_destroyed:
                    self._judge_destroy()
        return self.world.watch.breaches

    # What is done.
    def _do(self, act: Act) -> None:
        self.world.tell(f"OPERATOR: {act}")
        match act.what:
            case "wait":
                self.world.clock.pass_time(act.seconds)
            case "happen":
                self.happen(act.happenings[0])
            case "set":
                self._set(*act.option)
            case _:
                self._run(act)

    def _host(self, index: int) -> str:
        """Return a host by the number in a history, which may name more than there are."""
        return self.world.site.hosts[index % len(self.world.site.hosts)]

    def _set(self, name: str, index: int, value: int) -> None:
        host = self._host(index)
        machine = self.world.servers[host].machine
        match name:
            case "reinstall":
                who = machine.serial if value % 2 else machine.uuid
                self.wanted = replace(self.wanted, reinstall=_with(self.wanted.reinstall, host, who))
            case "consent":
                who = machine.uuid if value % 2 else machine.serial
                self.wanted = replace(self.wanted, consents=_with(self.wanted.consents, host, who))
            case "bmc":
                self.wanted = replace(self.wanted, ways=(*{**dict(self.wanted.ways), host: value}.items(),))
                self.world.servers[host].way = value
            case "memory_mib":
                self.wanted = replace(self.wanted, memory_mib=320 + value)
            case "host_s":
                self.wanted = replace(self.wanted, host_s=1000 * value)

    def _run(self, act: Act) -> Report | None:
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
            self.wanted = replace(self.wanted, phase=act.phase)
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
        registered.register({})  # each run has a process of its own
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
        is_installed = bool(self._recorded() & {*self.world.site.masters})
        saves = bool(self.wanted.snapshots) and self.wanted.phase == "production" and is_installed
        recorded, is_destroy = frozenset(self._recorded()), act.what == "destroy"
        return Asked(
            consents,
            frozenset(again),
            recorded,
            is_destroy,
            sleeps,
            self._removed,
            self._spares,
            saves,
        )

    @property
    def _removed(self) -> frozenset[str]:
        return frozenset(self.world.site.compute[self.wanted.workers :])

    @property
    def _spares(self) -> frozenset[str]:
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
            if server.system and host not in self._recorded():
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

    # What happens.
    def happen(self, it: Happening) -> None:
        """Have something happen to the world."""
        world = self.world
        host = self._host(it.host)
        if world.is_calm or (host in self._removed and f"host/{host}" not in self.stack.kept):
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

    def _calm(self) -> None:
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

    # The end.
    def _converge(self) -> bool:
        """Bring the cluster to its goal, doing what the errors say; return whether that is reached."""
        if self.is_half_destroyed:  # whoever began that ends it
            self._destroy(ignore_protect=self.ignores_protect)  # by the same command
        kept = self.stack.kept.get(API)
        phase = getattr(kept.spec, "phase", "bootstrap") if kept else "bootstrap"
        etcd = self.world.cluster.etcd
        is_lost = kept is not None and etcd is not None and etcd.is_removed and not self.world.libvirt.domains
        is_over = phase == "production" or is_lost
        goal = "production" if is_over else self.history.goal
        for step in ("bootstrap", "production") if goal == "production" and not is_over else (goal,):
            if not self._reach(str(step)):
                return False
        self.goal = goal
        return True

    def _begin_again(self) -> bool:
        """Destroy a cluster whose etcd is lost by what people did, as an error says; then begin again."""
        self.world.tell("OPERATOR: etcd has lost its majority for good; destroys the cluster, and begins again")
        self.wanted = replace(self.wanted, destroyable=True, reinstall=())
        if self.operator.gives_up:  # docs/how-to/restore-a-control-plane.md
            self.wanted = replace(self.wanted, consents=self._consents_of_record())
        report = self._run(Act("up", self.wanted.phase))
        ignore_protect = self.operator.gives_up and not (report and report.is_ok)
        return self._destroy(ignore_protect=ignore_protect) and self._reach("bootstrap")

    def _consents_of_record(self) -> tuple[tuple[str, str], ...]:
        spec = self.stack.kept["machines"].spec
        assert isinstance(spec, MachinesSpec)
        return tuple(sorted((name, host.consent) for name, host in spec.hosts.items()))

    def _reach(self, phase: str) -> bool:
        report: Report | None = None
        for _attempt in range(RUNS):
            self._follow(self._run(Act("refresh")))
            report = self._run(Act("up", phase))
            self.world.clock.pass_time(30)
            if report and report.is_ok:
                return True
            self._follow(report)
            if phase == "production" and self.operator.goes_back and not self.world.libvirt.is_running:
                self.operator.goes_back = False
                self._run(Act("refresh"))
                self._run(Act("up", "bootstrap"))
                self.world.clock.pass_time(SETTLES_S)
        assert report
        if self.world.cluster.is_lost:
            return self._begin_again() and (phase == "bootstrap" or self._reach(phase))
        errors = "; ".join(f"{name}: {error}" for name, error in report.errors.items())
        self.world.breach("converges", f"to phase {phase}: {errors[:600]}")
        return False

    def _follow(self, report: Report | None) -> None:
        if report:
            for name, error in report.errors.items():
                server = self.world.servers.get(name.removeprefix("host/"))
                is_gone = server and server.machine.serial != f"SERIAL-{server.name}"
                if is_gone and "if its machine is gone for good" in str(error):
                    del self.stack.kept[name]
                elif server and "run `pulumi up --target" in str(error) and self._has_moved(name):
                    self.wanted = replace(self.wanted, destroyable=True)
                    self._run(Act("up --target", target=name))
            if (vm := self.stack.kept.get(VM)) and isinstance(vm.spec, BootstrapVmSpec):
                self.operator.built_mib = vm.spec.memory_mib
            self.wanted = self.operator.follow(report, self.wanted, self._recorded())

    def _has_moved(self, name: str) -> bool:
        """Whether the operator wants another address or login of a BMC than the state has."""
        kept, wanted = self.stack.kept[name].spec, {it.name: it for it in program(self.world.site, self.wanted)}
        new = wanted[name].spec(self.stack.outs()) if name in wanted else kept
        return isinstance(kept, BmcHostSpec) and isinstance(new, BmcHostSpec) and new.bmc != kept.bmc

    def _recorded(self) -> set[str]:
        outs = [kept.outs for kept in self.stack.kept.values() if isinstance(kept.outs, HostProvisioningOuts)]
        return {host for each in outs for host in each.installed}

    def _judge_errors(self, report: Report) -> None:
        for name, error in report.crashes.items():
            self.world.breach("error", f"{name}: {type(error).__name__}: {error}"[:400])
        for name, failed in report.errors.items():
            self.world.tell(f"ERROR of {name}: {failed}")
            for fault in failed.faults:
                if "Fix: " not in str(fault):
                    self.world.breach("error", f"{name}: no fix: {fault}"[:400])

    def _judge_end(self) -> None:
        world, wrong = self.world, list[str]()
        etcd, holders = world.cluster.etcd, world.api.holders
        is_production = self.goal == "production"
        left = self._removed & self.found.keys()
        wrong += [f"{host} is on" for host in left if world.servers[host].state is not Power.OFF]
        wrong += [f"node {host} is left" for host in self._removed & world.cluster.objects.keys()]
        kept = [it for it in world.site.hosts if it not in self._removed | self._spares]
        for host in kept if is_production else world.site.masters[: self.wanted.masters]:
            wrong += self._wrong_with(host)
        if len(holders) != 1 or (is_production and holders[0] not in world.site.masters):
            wrong.append(f"the API VIP is held by {' and '.join(holders) or 'nobody'}")
        if is_production and (world.libvirt.domains or world.libvirt.volumes.keys() != {world.site.base_volume}):
            wrong.append("the bootstrap VM is left")
        if is_production and {*world.site.masters} - self._spares != {*(etcd.members if etcd else ())}:
            wrong.append("etcd has other members than the control plane")
        if not is_production and not world.libvirt.is_running:
            wrong.append("the bootstrap VM is off")
        if wrong:
            world.breach("end", "; ".join(wrong))

    def _wrong_with(self, host: str) -> Iterator[str]:
        world, etcd = self.world, self.world.cluster.etcd
        server, system = world.servers[host], world.servers[host].runs()
        if system is None or etcd is None or system.generation != etcd.number:
            yield f"{host} does not run this cluster"
        if server.image:
            yield f"{host} has {server.image} in its drive"
        if host not in self._recorded():
            yield f"{host} has no record"
        if host in world.site.masters and not world.cluster.is_ready(world.cluster.nodes[host]):
            yield f"the API of {host} is not ready"

    def _judge_idle(self) -> None:
        report = self._run(Act("up", self.goal))
        if report is None or not report.is_ok or report.changes or self.world.writes:
            errors = "; ".join(map(str, report.errors.values())) if report else ""
            done = ", ".join(report.changes) if report else ""
            self.world.breach("idle", f"{self.world.writes} writes, {done}; {errors}"[:400])

    def _judge_sleep(self, sleep: Sleep) -> None:
        """Put the cluster to sleep, and wake it: the next run goes on where one was killed."""
        world = self.world
        world.serves, disks = False, {name: (it.disk, it.system) for name, it in world.servers.items()}
        self.wanted = replace(self.wanted, power="off")
        report = self._run(Act("up", self.goal, kill_at_write=sleep.kill_off))
        if report is None and sleep.turns_back:
            world.clock.pass_time(SETTLES_S)
            if not any(map(world.cluster.api_serves, world.cluster.etcds)):
                self._repeated(None)  # as the document has it: without an API, it sleeps first
            self.wanted = replace(self.wanted, power="on")
            self._run(Act("refresh"))
        else:
            if not self._repeated(report):
                return
            self._judge_asleep(sleep)
            if sleep.stays and self.history.ends_destroyed:
                return
            self.wanted = replace(self.wanted, power="on")
            report = self._run(Act("up", self.goal, kill_at_write=sleep.kill_on))
        if not self._repeated(report):
            return
        world.clock.pass_time(SETTLES_S)
        self._judge_end()
        self._judge_idle()
        nodes = [world.cluster.nodes[host] for host in world.cluster.objects]
        marks = {it.host: it.is_cordoned or it.marks["metadata"]["annotations"] for it in nodes}
        changed = [name for name, it in world.servers.items() if (it.disk, it.system) != disks[name]]
        if changed or any(marks.values()):
            world.breach("wake", f"other disks {changed}, marks {marks}")

    def _judge_resizing(self, resizing: Resizing) -> bool:
        """Have servers come or go; return whether that succeeds."""
        world, before = self.world, self.wanted
        self.wanted = replace(before, masters=resizing.masters, workers=resizing.workers)
        world.is_calm = False
        world.cluster.wants_three |= resizing.is_asked
        if resizing.dead is not None:
            self.happen(Happening("press", 0, resizing.dead))
            world.clock.pass_time(DEAD_S)
        for act in resizing.acts:
            world.tell(f"OPERATOR: servers: {', '.join(self.wanted.servers)}; {act}")
            self._follow(self._run(act))
        if resizing.turns_back:
            world.tell(f"OPERATOR: turns back to {before.workers} servers of compute")
            self.wanted = replace(self.wanted, workers=before.workers)
        self._calm()
        for _ in range(GROWS):
            if not self._reach("production"):
                return False
            world.clock.pass_time(SETTLES_S)
            self._judge_end()
            self._judge_idle()
            if self.wanted.masters in (resizing.masters, 1):
                return True  # an error may have said that one stays one
            self.wanted = replace(self.wanted, masters=self.wanted.masters + 1)
        world.breach("converges", f"to {resizing.masters} servers of the control plane: {self.wanted.masters}")
        return False

    def _judge_asleep(self, sleep: Sleep) -> None:
        world = self.world
        on = [name for name, server in world.servers.items() if server.state is not Power.OFF]
        if on := [name for name in on if name not in self._spares]:
            world.breach("end", f"the cluster sleeps, and {on[0]} is on")
        self._judge_idle()
        world.clock.pass_time(300)
        world.cluster.expired += sleep.expires

    def _repeated(self, report: Report | None) -> bool:
        """Run `up` until it succeeds, as often as a person would."""
        for _ in range(RUNS):
            if report and report.is_ok:
                return True
            self.world.clock.pass_time(60)
            report = self._run(Act("up", self.goal))
        errors = "; ".join(map(str, report.errors.values())) if report else "killed"
        self.world.breach("converges", f"power {self.wanted.power}: {errors[:600]}")
        return False

    def _judge_destroy(self) -> None:
        self.wanted = replace(self.wanted, destroyable=True)
        self._run(Act("up", self.goal))
        if not self._destroy():
            return
        self.world.clock.pass_time(100)
        if self.world.libvirt.domains or self.world.libvirt.volumes.keys() != {self.world.site.base_volume}:
            self.world.breach("gone", f"{[*self.world.libvirt.domains]}, {[*self.world.libvirt.volumes]}")
        for host, found in self.found.items():
            wrong = [self._not_as_found(host, each) for each in found]
            if all(wrong):
                self.world.breach("found", f"{host}: {'; '.join(wrong[0])}")

    def _destroy(self, *, ignore_protect: bool = False) -> bool:
        """Destroy the cluster, doing what the errors say; return whether that succeeds."""
        errors = list[str]()
        for _ in range(RUNS):
            report = self._run(Act("destroy", ignore_protect=ignore_protect))
            if report and report.is_ok:
                return True
            errors = [str(error) for error in report.errors.values()] if report else []
            self._follow(report)
            if report and report.protected:  # docs/how-to/recover.md: set `destroyable` first
                self.wanted = replace(self.wanted, destroyable=True)
                self._follow(self._run(Act("up", self.wanted.phase)))
        self.world.breach("converges", f"destroy: {'; '.join(errors)}"[:400])
        return False

    def _not_as_found(self, host: str, found: BootOverride) -> list[str]:
        server = self.world.servers[host]
        if server.machine.serial != f"SERIAL-{host}":
            return []
        wrong = [] if server.state is Power.OFF else ["it is on"]
        if server.image:
            wrong.append(f"{server.image} is in its drive")
        now = server.override
        both_none = all(it.enabled == "Disabled" or it.target == "None" for it in (now, found))
        if not both_none and (now.target, now.enabled) != (found.target, found.enabled):
            wrong.append(f"boot override {now.target} {now.enabled}, found {found.target} {found.enabled}")
        if now.mode != found.mode and not server.waits:
            wrong.append(f"boot mode {now.mode}, found {found.mode}")
        return wrong


def _with(pairs: tuple[tuple[str, str], ...], key: str, value: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted({**dict(pairs), key: value}.items()))
