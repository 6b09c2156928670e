"""Machines in network namespaces, on one bridge, with the rendered files: real keepalived, haproxy, nft and CoreDNS.

Two parts are stand-ins: `stand_in_api.py` answers for the API server and the config server, and the virtio channel is
a pseudo-terminal.
"""

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from assets.contract import CONF, UNITS
from assets.file import RenderedFile
from assets.services import HAPROXY, KEEPALIVED, Service
from cluster.plan import Intent, Server
from cluster.plan.model import BootstrapHost
from cluster.values.address import IPV6, Address, Network
from testing.fakes.virtio_port import PORT, virtio_port
from testing.namespaces import ISOLATED, MORTAL, SBIN, ip, until_it_forwards

BRIDGE = "baremetal"
DEADLINE_S = 120
LO_FREE_S = 40
"""Limit for the VIP to leave the bootstrap's lo after the release; its script removes it 15 s after the move."""
POLL_S = 0.1  # one poll of four machines starts four processes
API = Path(__file__).with_name("stand_in_api.py")
RESOURCES = "resources"
"""Folder beside those of the machines, with the files that all their APIs serve."""
INSIDE = """set -euo pipefail
mount --bind /etc/alternatives "$1/etc/alternatives"; mount -o remount,bind,ro "$1/etc/alternatives"
mount --rbind "$1/etc" /etc
mount --bind "$1/run" /run; mount --bind "$1/bin" /usr/local/bin
mount --bind "$1/lib" /var/lib
mount -t proc proc /proc; ip link set lo up; hostname "$2"
echo there; exec sleep infinity"""


@dataclass
class Machine:
    """A machine on the bridge."""

    name: str
    folder: Path
    process: subprocess.Popen[bytes]
    pid: int
    """Process id of its first process, in this namespace."""
    addresses: tuple[Address, ...]
    running: ExitStack = field(default_factory=ExitStack)
    """Ends the programs that were started on it."""

    def start(self, name: str, *command: str | Path) -> subprocess.Popen[bytes]:
        """Start a program in the background, with its output in `<name>.log`."""
        with (self.folder / f"{name}.log").open("wb") as log:
            process = subprocess.Popen(
                [*self._enter(), *map(str, command)], stdout=log, stderr=log, env={"PATH": SBIN}
            )
        self.running.callback(process.wait)
        self.running.callback(process.kill)  # it stops itself if a process that it started was frozen
        return process

    def run(self, *command: str | Path) -> str:
        """Run a command that must succeed, and return its output."""
        words = [*self._enter(), *map(str, command)]
        run = subprocess.run(words, capture_output=True, text=True, check=False, env={"PATH": SBIN})
        assert run.returncode == 0, f"{self.name}: {' '.join(map(str, command))}: {run.stderr}"
        return run.stdout

    def log(self, name: str) -> str:
        """Return the output of a program so far."""
        return (self.folder / f"{name}.log").read_text(errors="replace")

    def start_service(self, service: Service, *command: str | Path) -> subprocess.Popen[bytes]:
        """Start a program as its container runs it."""
        return self.start(service.name, *confined(service), service.image, *command)

    def start_keepalived(self, vips: Sequence[Address]) -> subprocess.Popen[bytes]:
        """Start keepalived as its unit does."""
        self.run("/usr/local/bin/okd-keepalived.sh", "5", *map(str, vips))
        return self.start_service(KEEPALIVED, "-n", "-l", "-P", "-f", "/run/okd-baremetal/keepalived.conf")

    def stop_keepalived(self, keepalived: subprocess.Popen[bytes]) -> None:
        """Stop keepalived as its unit does, once it has written its process id, and wait for its end."""
        until("keepalived runs", (self.folder / "run/keepalived.pid").exists)
        self.run("bash", "-c", "kill $(</run/keepalived.pid)")
        keepalived.wait()

    def kill(self, pattern: str) -> None:
        """Kill all processes that match, at once: otherwise keepalived's child would clean up after its parent."""
        for name in ("STOP", "KILL"):
            self.signal(name, pattern)

    def signal(self, name: str, pattern: str) -> None:
        """Send a signal to all processes whose command line matches."""
        self.run("kill", f"-{name}", *self.run("pgrep", "-f", pattern).split())

    @property
    def mac(self) -> str:
        """MAC of its card on the machine network."""
        return self.run("ip", "-o", "link", "show", "eth0").split("link/ether ")[1].split()[0]

    def port(self, card: str = "eth0") -> str:
        """Return the name of the bridge's port that one of its cards is connected to."""
        return f"{card}-{self.pid}"

    def freeze(self, pattern: str) -> None:
        """Freeze all processes that match: the kernel still accepts connections, but nothing is answered."""
        self.signal("STOP", pattern)

    def start_haproxy(self, folder: str = CONF) -> None:
        """Start haproxy as its unit does, but for fewer clients and with less grace.

        A unit may open more files than a test. Here the first checks end at once: they start within 2 s.
        """
        config = self.folder / folder[1:] / "haproxy.cfg"
        for rendered, here in (("maxconn 4", "maxconn "), ("proc.started) lt 12", "proc.started) lt 4")):
            assert rendered in config.read_text()
            config.write_text(config.read_text().replace(rendered, here))
        self.start_service(HAPROXY, "-W", "-db", "-f", f"{folder}/haproxy.cfg")
        self.run("nft", "-f", f"{folder}/haproxy.nft")

    def start_api(self, certificate: str, answer_ms: int = 0) -> None:
        """Start the stand-in for the API server and the config server."""
        self.start("api", sys.executable, API, certificate, str(answer_ms), self.folder.parent / RESOURCES)

    def holds(self, vip: Address) -> bool:
        """Whether it answers a VIP; it does not if it has the VIP only on lo."""
        listed = self.run("ip", "-o", "address", "show", "to", str(vip)).splitlines()
        return any(line.split()[1] != "lo" for line in listed)

    def has_on_lo(self, vip: Address) -> bool:
        """Whether it has a VIP on lo, which serves connections that still arrive."""
        return bool(self.run("ip", "-o", "address", "show", "dev", "lo", "to", str(vip)))

    def late_packets(self) -> int:
        """Count packets for addresses that it does not have, such as those on their way to a VIP that moved."""
        names, counts = (line.split() for line in self.run("grep", "^Ip:", "/proc/net/snmp").splitlines())
        return int(dict(zip(names, counts, strict=True))["InAddrErrors"])

    def priorities(self) -> list[int]:
        """Return the priorities that its keepalived has had, in order."""
        changes = re.findall(r"effective priority from \d+ to (\d+)", self.log("keepalived"))
        return [int(priority) for priority in changes]

    def die(self) -> None:
        """End the machine at once, as a power failure does."""
        with suppress(subprocess.CalledProcessError):  # it has ended before
            # Its kernel answers for its addresses until the namespace is gone, some seconds after its processes.
            ip(f"link delete {self.port('eth0')}")
        self.process.kill()
        self.process.wait()
        self.running.close()

    def _enter(self) -> list[str]:
        return ["nsenter", "-t", str(self.pid), "--net", "--mount", "--pid", "--uts"]


def confined(service: Service) -> tuple[str, ...]:
    """Return the words that start a program with the capabilities of its container, and no other."""
    kept = ",".join(("-all", *(f"+{name.lower()}" for name in service.capabilities)))
    return ("setpriv", f"--bounding-set={kept}", "--inh-caps=-all")


@contextmanager
def bridge(networks: Sequence[Network], name: str = BRIDGE) -> Iterator[None]:
    """Make a bridge, and give the test the provisioner's addresses: the first one of each network."""
    ip(f"link add {name} type bridge")
    ip(f"link set {name} up")
    for network in networks:
        dad = " nodad" if network.version == IPV6 else ""
        ip(f"address add {next(network.hosts())}/{network.prefixlen} dev {name}{dad}")
    yield


@contextmanager
def machine(
    folder: Path, plan: Intent, which: Server | BootstrapHost, files: Sequence[RenderedFile]
) -> Iterator[Machine]:
    """Make a machine on the bridge of this network, with its files; no program runs on it yet."""
    folder = folder / which.name
    _lay_out(folder, files)
    # Each machine dies with the thread that made it, so that a killed test run leaves none behind.
    isolated = [*MORTAL, "unshare", *ISOLATED]
    command = [*isolated, "bash", "-c", INSIDE, "bash", str(folder), which.name]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env={"PATH": SBIN}) as process:
        assert process.stdout
        assert process.stdout.readline() == b"there\n"
        pid = int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text())
        new = Machine(which.name, folder, process, pid, which.addresses)
        try:
            plug_in(new, "eth0", BRIDGE, plan.machine_networks, new.addresses)
            yield new
        finally:
            new.die()


def _lay_out(folder: Path, files: Sequence[RenderedFile]) -> None:
    for name in ("etc/okd-baremetal", "etc/alternatives", "run/okd-baremetal", "bin", "lib/okd-baremetal"):
        (folder / name).mkdir(parents=True)
    shutil.copy("/etc/passwd", folder / "etc")  # keepalived needs the user root
    (folder / "lib/okd-baremetal/release").write_text("0\n")
    for file in files:
        if not file.path.startswith(UNITS):
            own = "bin" if file.path.startswith("/usr/local/bin/") else str(Path(file.path).parent)[1:]
            path = folder / own / file.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text)
            path.chmod(file.mode)


def plug_in(target: Machine, card: str, into: str, networks: Sequence[Network], addresses: Sequence[Address]) -> None:
    """Give a machine a card in a bridge, with its addresses in these networks."""
    port = target.port(card)
    ip(f"link add {port} type veth peer name {card} netns {target.pid}")
    ip(f"link set {port} master {into} up")
    target.run("ip", "link", "set", card, "up")
    for address in addresses:
        network = next(network for network in networks if address in network)
        dad = ["nodad"] if address.version == IPV6 else []
        target.run("ip", "address", "add", f"{address}/{network.prefixlen}", "dev", card, *dad)
    until_it_forwards(into, port)


@contextmanager
def vip_channel(bootstrap: Machine) -> Iterator[Callable[[str], str]]:
    """Run the guest's end of the channel; yield a function that sends a word and returns the answer."""
    with virtio_port() as port:
        script = bootstrap.folder / "bin/okd-vip-channel.sh"
        script.write_text(script.read_text().replace(PORT, port.name))
        bootstrap.start("channel", "bash", "/usr/local/bin/okd-vip-channel.sh")
        yield port.send


def until(what: str, is_true: Callable[[], bool], deadline_s: float = DEADLINE_S) -> float:
    """Poll until `is_true`; return the seconds."""
    started = time.monotonic()
    while not is_true():
        assert time.monotonic() - started < deadline_s, f"not within {deadline_s:.0f} s: {what}"
        time.sleep(POLL_S)
    return time.monotonic() - started
