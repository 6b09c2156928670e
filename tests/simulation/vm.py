"""The bootstrap VM: the kit's libvirt in memory, with a guest behind the channel, and with faults."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from assets.contract import HELD, RELEASED, Word
from base.errors import HypervisorError
from cluster.values.vrrp import ApiPriorities
from testing.fakes.hypervisor import FakeHypervisor
from tests.simulation.clock import SimClock
from wires.libvirt.hypervisor import Domain, DomainSpec

URI = "qemu:///system"
CALL_S = 0.05


@dataclass
class Libvirt(FakeHypervisor):
    """libvirt of the provisioner, with one domain."""

    priorities: ApiPriorities | None = None
    boot_s: float = 30.0
    api_s: float = 60.0
    """Seconds from the start of the guest until its API may serve."""
    generation: int | None = None
    """Number of its disk; None: it has none."""
    released: bool = False
    """Whether the track file on its disk has the number of a release."""
    down_until: float = 0.0
    channel_down_until: float = 0.0
    started_at: float | None = None
    told: Callable[[str], None] = lambda _: None
    about_to_write: Callable[[str], None] = lambda _: None
    new_disk: Callable[[], int] = lambda: 0
    ends: Callable[[str], None] = lambda _: None
    """Called when the program ends the VM."""
    says: Callable[[str], str] = lambda _: ""
    """Returns the end of the guest's answer to a word."""
    own: list[str] = field(default_factory=list)
    """The domain's writes."""

    @property
    def is_running(self) -> bool:
        return self.started_at is not None

    def is_up(self) -> bool:
        """Whether the guest's system is up."""
        return self.started_at is not None and self.clock.now() >= self.started_at + self.boot_s

    def may_serve(self) -> bool:
        return self.started_at is not None and self.clock.now() >= self.started_at + self.boot_s + self.api_s

    def tick(self) -> None:
        for name in list(self.domains):
            super().find(name)

    def crash(self) -> None:
        """Its process dies."""
        for name, domain in self.domains.items():
            if domain.running:
                self.told("the bootstrap VM crashes")
                self._off_at.clear()
                self._switch(name, on=False)

    def vanish(self) -> None:
        """A person removes it, with its disk."""
        self.crash()
        self.told("a person removes the bootstrap VM")
        for name in [*self.domains]:
            del self.domains[name]
            del self.volumes[f"{name}.qcow2"]
        self.generation = None

    def find(self, name: str) -> Domain | None:
        self._call()
        return super().find(name)

    def volume_path(self, pool: str, volume: str) -> str:
        self._call()
        return f"/{pool}/{volume}"

    def volume_sha256(self, pool: str, volume: str) -> str:
        raise AssertionError("no plan of the simulation has a digest")

    def delete_volume(self, pool: str, volume: str) -> None:
        self._write(f"delete {volume}")
        if volume in self.volumes and volume.endswith(".qcow2"):
            self.ends(f"deletes {volume}")
            self.generation = None
        super().delete_volume(pool, volume)

    def define(self, domain: DomainSpec) -> None:
        self._write(f"define {domain.name}")
        super().define(domain)

    def start(self, name: str) -> None:
        self._write(f"start {name}")
        if self.domains[name].running:
            raise HypervisorError(f"domain {name} is running already", where=URI, fix="read libvirt's log")
        super().start(name)

    def shut_down(self, name: str) -> None:
        self._write(f"button {name}")
        if self.domains[name].running:
            self.ends(f"presses the button of {name}")
            super().shut_down(name)

    def power_off(self, name: str) -> None:
        self._write(f"cut {name}")
        if self.domains[name].running:
            self.ends(f"cuts the power of {name}")
            super().power_off(name)

    def undefine(self, name: str) -> None:
        self._write(f"undefine {name}")
        super().undefine(name)

    def ask(self, name: str, word: str) -> str:
        self._call()
        domain = self.domains.get(name)
        if domain is None or not domain.running or not self.is_up() or self.clock.now() < self.channel_down_until:
            self.clock.sleep(10)
            raise HypervisorError(f"channel of {name}: no answer within 10 s", where=URI, fix="look at its console")
        if word in (Word.RELEASE, Word.HOLD):
            self._write(word)
            self.released = word == Word.RELEASE
            self.told(f"the bootstrap VM is told to {word}")
        self.clock.sleep(1)
        return f"{RELEASED if self.released else HELD} {self.says(word)}"

    def connect(self) -> None:
        self._call()

    def _make(self, pool: str, volume: str, content: object) -> str:
        self._write(f"make {volume}")
        if volume.endswith(".qcow2"):
            self.generation, self.released = self.new_disk(), False
        return super()._make(pool, volume, content)  # type: ignore[arg-type]

    def _write(self, what: str) -> None:
        self.about_to_write(what)
        self._call()
        self.own.append(what)

    def _call(self) -> None:
        assert isinstance(self.clock, SimClock)
        self.clock.sleep(CALL_S)
        if self.clock.now() < self.down_until:
            raise HypervisorError("libvirt is not reachable", where=URI, fix="start libvirtd")

    def _switch(self, name: str, *, on: bool) -> None:
        before = self.domains[name]
        if before.running == on:
            return
        self.domains[name] = replace(before, running=on)
        self.started_at = self.clock.now() if on else None
        self.told(f"the bootstrap VM is {'on' if on else 'off'}")
