"""A foreign machine on the segment, with its own real keepalived."""

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from testing.namespaces import SBIN, neighbour

MAC = "02:00:00:00:00:99"


@dataclass(frozen=True)
class Router:
    """A virtual router of its keepalived."""

    router_id: int
    vip: str
    """With its prefix length."""
    version: int = 2
    interval_s: float = 1
    peers: Sequence[str] = ()
    """Addresses for unicast; empty for multicast."""

    def config(self) -> str:
        """keepalived.conf."""
        peers = f"unicast_peer {{\n{' '.join(self.peers)}\n}}" if self.peers else ""
        return f"""vrrp_instance stranger {{
            state MASTER
            interface eth0
            version {self.version}
            virtual_router_id {self.router_id}
            priority 150
            advert_int {self.interval_s}
            {peers}
            virtual_ipaddress {{
                {self.vip}
            }}
        }}
        """


@contextmanager
def stranger(bridge: str, address: str, router: Router, folder: Path, mac: str = MAC) -> Iterator[None]:
    """Put the machine on the segment and start its keepalived, which sends its first advert some seconds later."""
    config, log = folder / "stranger.conf", folder / "stranger.log"
    config.write_text(router.config())
    with neighbour(bridge, "stranger", mac, address) as inside, log.open("wb") as output:
        files = [word for flag in ("p", "r", "c") for word in (f"-{flag}", str(folder / f"stranger-{flag}.pid"))]
        command = [*inside, "keepalived", "-n", "-l", "-P", "-f", str(config), *files]
        with subprocess.Popen(command, stdout=output, stderr=output, env={"PATH": SBIN}) as keepalived:
            try:
                yield
            finally:
                keepalived.terminate()
