"""A foreign machine on the segment, with its own real keepalived or dnsmasq."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testing.namespaces import MORTAL, SBIN, neighbour
from testing.scene.machine import until

MAC = "02:00:00:00:00:99"


@dataclass(frozen=True)
class Router:
    """A virtual router of its keepalived."""

    vrid: int
    vip: str
    """With its prefix length."""
    version: int = 2
    interval_s: float = 1
    peers: Sequence[str] = ()
    """Addresses for unicast; empty for multicast."""
    source: str = ""
    """The address that it sends from, with unicast; empty for one of its own."""

    def config(self) -> str:
        """Return its keepalived.conf."""
        source = f"unicast_src_ip {self.source}" if self.source else ""
        # The highest TTL: IPv6 adverts have that of the kernel otherwise.
        lines = [source, "unicast_ttl 255", "unicast_peer {", *self.peers, "}"] if self.peers else []
        peers = "\n".join(lines)
        return f"""vrrp_instance foreign {{
            state MASTER
            interface eth0
            version {self.version}
            virtual_router_id {self.vrid}
            priority 150
            advert_int {self.interval_s}
            {peers}
            virtual_ipaddress {{
                {self.vip}
            }}
        }}
        """


@contextmanager
def foreign_router(
    bridge: str, addresses: Sequence[str], router: Router, folder: Path, *, mac: str = MAC, via: str = ""
) -> Iterator[None]:
    """Put the machine on the segment and start its keepalived, which sends its first advert some seconds later.

    Args:
        bridge: The segment.
        addresses: Its own, with their prefix lengths.
        router: What its keepalived claims.
        folder: For its files.
        mac: Its MAC.
        via: Address of its default router, if it has one.
    """
    config, log = folder / "foreign.conf", folder / "foreign.log"
    config.write_text(router.config())
    with neighbour(bridge, "foreign", mac, *addresses) as inside, log.open("wb") as output:
        if via:
            subprocess.run([*inside, "ip", "route", "add", "default", "via", via], check=True, env={"PATH": SBIN})
        files = [word for flag in ("p", "r", "c") for word in (f"-{flag}", str(folder / f"foreign-{flag}.pid"))]
        command = [*inside, "keepalived", "-n", "-l", "-P", "-f", str(config), *files]
        with subprocess.Popen(command, stdout=output, stderr=output, env={"PATH": SBIN}) as keepalived:
            try:
                yield
            finally:
                keepalived.terminate()


@contextmanager
def dhcp_server(bridge: str, folder: Path, *options: str) -> Iterator[Path]:
    """Put the machine on the segment, at 172.22.0.9, with a dnsmasq that listens; yield its log."""
    with (
        neighbour(bridge, "foreign", MAC, "172.22.0.9/24") as inside,
        listening_dnsmasq(inside, "eth0", folder, *options) as log,
    ):
        yield log


@contextmanager
def listening_dnsmasq(inside: Sequence[str], interface: str, folder: Path, *options: str) -> Iterator[Path]:
    """Start a dnsmasq without DNS on a machine, by its command prefix, and wait until it listens; yield its log."""
    log = folder / "dnsmasq.log"
    files = (f"--log-facility={log}", f"--dhcp-leasefile={folder}/leases", "--conf-file=/dev/null", "--pid-file=")
    settings = ("--keep-in-foreground", "--user=root", "--port=0", f"--interface={interface}", "--bind-interfaces")
    command = [*MORTAL, *inside, "dnsmasq", *files, *settings, *options]
    with subprocess.Popen(command, env={"PATH": SBIN}) as dnsmasq:
        try:
            until("dnsmasq listens", lambda: log.exists() and "sockets bound" in log.read_text())
            yield log
        finally:
            dnsmasq.terminate()
