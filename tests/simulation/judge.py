"""Judges a life: nothing fails any more, and an operator brings the cluster to its goal, and to its end."""

from collections.abc import Iterator
from dataclasses import replace

from providers.bmc_host.model import BmcHostSpec
from providers.bootstrap_vm.model import BootstrapVmSpec
from providers.machines.model import MachinesSpec
from tests.simulation.history import Act, Happening, History, Resizing, Sleep
from tests.simulation.life import Life
from tests.simulation.program import API, VM, program
from tests.simulation.stack import Report
from tests.simulation.wires import wired
from wires.bmc.client import BootOverride, Power

RUNS = 4
"""Runs within which the goal has to be reached once nothing fails any more, for each phase on the way."""
SETTLES_S = 400.0
DEAD_S = 60.0
"""Time from the death of a server to the run in which another one is to join."""
GROWS = 6
"""How often one more server is asked for: those that do not list it are installed again first, one in each."""


def lived(history: History, *, story: bool = False) -> Life:
    """Live a history to its end, and return it, judged: `breaches` has the promises that it broke."""
    life = Life(history, story=story)
    with wired(life.world):
        for act in history.acts:
            life.do(act)
        life.calm()
        Judge(life).judge()
    return life


class Judge:
    """Judges one life, in which nothing fails any more."""

    def __init__(self, life: Life) -> None:
        self.life, self.world = life, life.world

    def judge(self) -> None:
        """Bring the cluster to its goal, and further, and record what promises that breaks."""
        life, history = self.life, self.life.history
        if not self._converge():
            return
        self.world.clock.pass_time(SETTLES_S)
        self._judge_end()
        self._judge_idle()
        if life.goal == "production" and not all(map(self._judge_resizing, history.resizings)):
            return
        if history.sleep and life.goal == "production":
            self._judge_sleep(history.sleep)
        if history.ends_destroyed:
            self._judge_destroy()

    def _converge(self) -> bool:
        """Bring the cluster to its goal, doing what the errors say; return whether that is reached."""
        if self.life.is_half_destroyed:  # whoever began that ends it
            self._destroy(ignore_protect=self.life.ignores_protect)  # by the same command
        kept = self.life.stack.kept.get(API)
        phase = getattr(kept.spec, "phase", "bootstrap") if kept else "bootstrap"
        etcd = self.world.cluster.etcd
        is_lost = kept is not None and etcd is not None and etcd.is_removed and not self.world.libvirt.domains
        is_over = phase == "production" or is_lost
        goal = "production" if is_over else self.life.history.goal
        for step in ("bootstrap", "production") if goal == "production" and not is_over else (goal,):
            if not self._reach(str(step)):
                return False
        self.life.goal = goal
        return True

    def _begin_again(self) -> bool:
        """Destroy a cluster whose etcd is lost by what people did, as an error says; then begin again."""
        self.world.tell("OPERATOR: etcd has lost its majority for good; destroys the cluster, and begins again")
        self.life.want(destroyable=True, reinstall=())
        if self.life.operator.gives_up:  # docs/how-to/restore-a-control-plane.md
            self.life.want(consents=self._consents_of_record())
        report = self.life.run(Act("up", self.life.wanted.phase))
        ignore_protect = self.life.operator.gives_up and not (report and report.is_ok)
        return self._destroy(ignore_protect=ignore_protect) and self._reach("bootstrap")

    def _consents_of_record(self) -> tuple[tuple[str, str], ...]:
        spec = self.life.stack.kept["machines"].spec
        assert isinstance(spec, MachinesSpec)
        return tuple(sorted((name, host.consent) for name, host in spec.hosts.items()))

    def _reach(self, phase: str) -> bool:
        report: Report | None = None
        for _attempt in range(RUNS):
            self._follow(self.life.run(Act("refresh")))
            report = self.life.run(Act("up", phase))
            self.world.clock.pass_time(30)
            if report and report.is_ok:
                return True
            self._follow(report)
            if phase == "production" and self.life.operator.goes_back and not self.world.libvirt.is_running:
                self.life.operator.goes_back = False
                self.life.run(Act("refresh"))
                self.life.run(Act("up", "bootstrap"))
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
                    del self.life.stack.kept[name]
                elif server and "run `pulumi up --target" in str(error) and self._has_moved(name):
                    self.life.want(destroyable=True)
                    self.life.run(Act("up --target", target=name))
            if (vm := self.life.stack.kept.get(VM)) and isinstance(vm.spec, BootstrapVmSpec):
                self.life.operator.built_mib = vm.spec.memory_mib
            self.life.wanted = self.life.operator.follow(report, self.life.wanted, self.life.recorded())

    def _has_moved(self, name: str) -> bool:
        """Whether the operator wants another address or login of a BMC than the state has."""
        stack, wanted = self.life.stack, {it.name: it for it in program(self.world.site, self.life.wanted)}
        kept = stack.kept[name].spec
        new = wanted[name].spec(stack.outs()) if name in wanted else kept
        return isinstance(kept, BmcHostSpec) and isinstance(new, BmcHostSpec) and new.bmc != kept.bmc

    def _judge_end(self) -> None:
        world, wrong = self.world, list[str]()
        etcd, holders = world.cluster.etcd, world.api.holders
        is_production = self.life.goal == "production"
        left = self.life.removed & self.life.found.keys()
        wrong += [f"{host} is on" for host in left if world.servers[host].state is not Power.OFF]
        wrong += [f"node {host} is left" for host in self.life.removed & world.cluster.objects.keys()]
        kept = [it for it in world.site.hosts if it not in self.life.removed | self.life.spares]
        for host in kept if is_production else world.site.masters[: self.life.wanted.masters]:
            wrong += self._wrong_with(host)
        if len(holders) != 1 or (is_production and holders[0] not in world.site.masters):
            wrong.append(f"the API VIP is held by {' and '.join(holders) or 'nobody'}")
        if is_production and (world.libvirt.domains or world.libvirt.volumes.keys() != {world.site.base_volume}):
            wrong.append("the bootstrap VM is left")
        if is_production and {*world.site.masters} - self.life.spares != {*(etcd.members if etcd else ())}:
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
        if host not in self.life.recorded():
            yield f"{host} has no record"
        if host in world.site.masters and not world.cluster.is_ready(world.cluster.nodes[host]):
            yield f"the API of {host} is not ready"

    def _judge_idle(self) -> None:
        report = self.life.run(Act("up", self.life.goal))
        if report is None or not report.is_ok or report.changes or self.world.writes:
            errors = "; ".join(map(str, report.errors.values())) if report else ""
            done = ", ".join(report.changes) if report else ""
            self.world.breach("idle", f"{self.world.writes} writes, {done}; {errors}"[:400])

    def _judge_sleep(self, sleep: Sleep) -> None:
        """Put the cluster to sleep, and wake it: the next run goes on where one was killed."""
        world = self.world
        world.serves, disks = False, {name: (it.disk, it.system) for name, it in world.servers.items()}
        self.life.want(power="off")
        report = self.life.run(Act("up", self.life.goal, kill_at_write=sleep.kill_off))
        if report is None and sleep.turns_back:
            world.clock.pass_time(SETTLES_S)
            if not any(map(world.cluster.api_serves, world.cluster.etcds)):
                self._repeated(None)  # as the document has it: without an API, it sleeps first
            self.life.want(power="on")
            self.life.run(Act("refresh"))
        else:
            if not self._repeated(report):
                return
            self._judge_asleep(sleep)
            if sleep.stays and self.life.history.ends_destroyed:
                return
            self.life.want(power="on")
            report = self.life.run(Act("up", self.life.goal, kill_at_write=sleep.kill_on))
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
        world, before = self.world, self.life.wanted
        self.life.wanted = replace(before, masters=resizing.masters, workers=resizing.workers)
        world.is_calm = False
        world.cluster.wants_three |= resizing.is_asked
        if resizing.dead is not None:
            self.life.happen(Happening("press", 0, resizing.dead))
            world.clock.pass_time(DEAD_S)
        for act in resizing.acts:
            world.tell(f"OPERATOR: servers: {', '.join(self.life.wanted.servers)}; {act}")
            self._follow(self.life.run(act))
        if resizing.turns_back:
            world.tell(f"OPERATOR: turns back to {before.workers} servers of compute")
            self.life.want(workers=before.workers)
        self.life.calm()
        for _ in range(GROWS):
            if not self._reach("production"):
                return False
            world.clock.pass_time(SETTLES_S)
            self._judge_end()
            self._judge_idle()
            if self.life.wanted.masters in (resizing.masters, 1):
                return True  # an error may have said that one stays one
            self.life.want(masters=self.life.wanted.masters + 1)
        world.breach("converges", f"to {resizing.masters} servers of the control plane: {self.life.wanted.masters}")
        return False

    def _judge_asleep(self, sleep: Sleep) -> None:
        world = self.world
        on = [name for name, server in world.servers.items() if server.state is not Power.OFF]
        if on := [name for name in on if name not in self.life.spares]:
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
            report = self.life.run(Act("up", self.life.goal))
        errors = "; ".join(map(str, report.errors.values())) if report else "killed"
        self.world.breach("converges", f"power {self.life.wanted.power}: {errors[:600]}")
        return False

    def _judge_destroy(self) -> None:
        self.life.want(destroyable=True)
        self.life.run(Act("up", self.life.goal))
        if not self._destroy():
            return
        self.world.clock.pass_time(100)
        if self.world.libvirt.domains or self.world.libvirt.volumes.keys() != {self.world.site.base_volume}:
            self.world.breach("gone", f"{[*self.world.libvirt.domains]}, {[*self.world.libvirt.volumes]}")
        for host, found in self.life.found.items():
            wrong = [self._not_as_found(host, each) for each in found]
            if all(wrong):
                self.world.breach("found", f"{host}: {'; '.join(wrong[0])}")

    def _destroy(self, *, ignore_protect: bool = False) -> bool:
        """Destroy the cluster, doing what the errors say; return whether that succeeds."""
        errors = list[str]()
        for _ in range(RUNS):
            report = self.life.run(Act("destroy", ignore_protect=ignore_protect))
            if report and report.is_ok:
                return True
            errors = [str(error) for error in report.errors.values()] if report else []
            self._follow(report)
            if report and report.protected:  # docs/how-to/recover.md: set `destroyable` first
                self.life.want(destroyable=True)
                self._follow(self.life.run(Act("up", self.life.wanted.phase)))
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
