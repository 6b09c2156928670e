"""libvirt in memory, with domains that may ignore their power button."""

import hashlib
from dataclasses import dataclass, field, replace

from base.errors import HypervisorError
from testing.fakes.clock import FakeClock
from wires.libvirt.hypervisor import Domain, DomainSpec

BASE = "base.qcow2"


@dataclass(frozen=True)
class Overlay:
    """A requested thin disk."""

    base: str
    """Path of the volume below it."""
    size_gib: int


@dataclass
class FakeHypervisor:
    """Implements `wires.libvirt.hypervisor.Hypervisor`.

    Args:
        clock: The test's clock.
        shuts_down_s: Seconds that a guest takes to shut down after its power button; None if it ignores the button.
        presses_missed: Number of presses that a guest misses at first.
    """

    clock: FakeClock
    shuts_down_s: float | None = 3
    presses_missed: int = 0
    domains: dict[str, Domain] = field(default_factory=dict)
    defined: dict[str, DomainSpec] = field(default_factory=dict)
    """The last definition of each domain."""
    volumes: dict[str, bytes | Overlay] = field(default_factory=lambda: {BASE: b""})
    calls: list[str] = field(default_factory=list)
    _off_at: dict[str, float] = field(default_factory=dict)

    def find(self, name: str) -> Domain | None:
        if name in self._off_at and self.clock.now() >= self._off_at[name]:
            del self._off_at[name]
            self._switch(name, on=False)
        return self.domains.get(name)

    def volume_path(self, pool: str, volume: str) -> str:
        if volume not in self.volumes:
            raise HypervisorError(f"volume {volume} of pool {pool}: not found", where="qemu:///system")
        return f"/{pool}/{volume}"

    def volume_sha256(self, pool: str, volume: str) -> str:
        content = self.volumes[volume]
        assert isinstance(content, bytes), "no test gives an overlay a digest"
        return hashlib.sha256(content).hexdigest()

    def make_overlay(self, pool: str, volume: str, *, base: str, size_gib: int) -> str:
        return self._make(pool, volume, Overlay(base, size_gib))

    def make_private(self, pool: str, volume: str, content: bytes) -> str:
        return self._make(pool, volume, content)

    def delete_volume(self, pool: str, volume: str) -> None:
        if volume in self.volumes:
            self.calls.append(f"delete {volume}")
            del self.volumes[volume]

    def define(self, domain: DomainSpec) -> None:
        self.calls.append(f"define {domain.name}")
        self.defined[domain.name] = domain
        self.domains[domain.name] = Domain(domain.owner, domain.build, running=False)

    def start(self, name: str) -> None:
        self.calls.append(f"start {name}")
        self._switch(name, on=True)

    def shut_down(self, name: str) -> None:
        self.calls.append(f"button {name}")
        if self.presses_missed:
            self.presses_missed -= 1
        elif self.shuts_down_s is not None:
            self._off_at.setdefault(name, self.clock.now() + self.shuts_down_s)

    def power_off(self, name: str) -> None:
        self.calls.append(f"cut power of {name}")
        self._switch(name, on=False)

    def undefine(self, name: str) -> None:
        assert not self.domains[name].running, "libvirt would keep it as a transient domain"
        self.calls.append(f"undefine {name}")
        del self.domains[name]

    def ask(self, name: str, word: str) -> str:
        raise NotImplementedError

    def _make(self, pool: str, volume: str, content: bytes | Overlay) -> str:
        self.calls.append(f"make {volume}")
        self.volumes[volume] = content
        return f"/{pool}/{volume}"

    def _switch(self, name: str, *, on: bool) -> None:
        before = self.domains[name]
        assert before.running != on, f"libvirt refuses: {name} is {'on' if on else 'off'} already"
        self.domains[name] = replace(before, running=on)
