"""libvirt in memory: domains that obey their power button, or do not."""

import hashlib
from dataclasses import dataclass, field
from xml.etree import ElementTree

from providers.base.errors import HypervisorError
from testing.fakes.clock import FakeClock
from wires.libvirt.connection import OWNER, Found

BASE = "base.qcow2"


@dataclass
class FakeHypervisor:
    """Implements `wires.libvirt.connection.Hypervisor`.

    Args:
        shuts_down_s: How long a guest takes after its power button was pressed; None: it ignores it.
        presses_missed: How many presses a guest misses first.
    """

    clock: FakeClock
    shuts_down_s: float | None = 3
    presses_missed: int = 0
    domains: dict[str, Found] = field(default_factory=dict)
    xml: dict[str, str] = field(default_factory=dict)
    volumes: dict[str, bytes | None] = field(default_factory=lambda: {BASE: None})
    calls: list[str] = field(default_factory=list)
    _off_at: dict[str, float] = field(default_factory=dict)

    def find(self, name: str) -> Found | None:
        if name in self._off_at and self.clock.now() >= self._off_at[name]:
            del self._off_at[name]
            self._set(name, False)
        return self.domains.get(name)

    def volume_path(self, pool: str, volume: str) -> str:
        if volume not in self.volumes:
            raise HypervisorError(f"volume {volume} of pool {pool}: not found", where="qemu:///system")
        return f"/{pool}/{volume}"

    def volume_sha256(self, pool: str, volume: str) -> str:
        return hashlib.sha256(self.volumes[volume] or b"").hexdigest()

    def make_volume(self, pool: str, volume_xml: str, content: bytes | None) -> str:
        name = ElementTree.fromstring(volume_xml).findtext("name", "")  # noqa: S314
        self.calls.append(f"make {name}")
        self.xml[name], self.volumes[name] = volume_xml, content
        return f"/{pool}/{name}"

    def delete_volume(self, pool: str, volume: str) -> None:
        if volume in self.volumes:
            self.calls.append(f"delete {volume}")
            del self.volumes[volume]

    def define(self, domain_xml: str) -> None:
        root = ElementTree.fromstring(domain_xml)  # noqa: S314
        name = root.findtext("name", "")
        mark = root.find(f"metadata/{{{OWNER}}}vm")
        assert mark is not None
        self.calls.append(f"define {name}")
        self.xml[name] = domain_xml
        self.domains[name] = Found(mark.get("owner", ""), mark.get("build", ""), running=False)

    def start(self, name: str) -> None:
        self.calls.append(f"start {name}")
        self._set(name, True)

    def shut_down(self, name: str) -> None:
        self.calls.append(f"button {name}")
        if self.presses_missed:
            self.presses_missed -= 1
        elif self.shuts_down_s is not None:
            self._off_at.setdefault(name, self.clock.now() + self.shuts_down_s)

    def power_off(self, name: str) -> None:
        self.calls.append(f"plug {name}")
        self._set(name, False)

    def undefine(self, name: str) -> None:
        assert not self.domains[name].running, "libvirt would keep it as a transient domain"
        self.calls.append(f"undefine {name}")
        del self.domains[name]

    def ask(self, name: str, word: str) -> str:
        raise NotImplementedError

    def _set(self, name: str, running: bool) -> None:
        was = self.domains[name]
        assert was.running != running, f"libvirt refuses: {name} is so already"
        self.domains[name] = Found(was.owner, was.build, running)
