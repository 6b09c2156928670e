"""The site's time servers: one chronyd, which answers at every address of the provisioner."""

from ipaddress import IPv4Address, IPv6Address
from pathlib import Path

from lab.paths import PID
from lab.site.network import is_listening
from lab.site.processes import Daemon

_PORT = 123
_ANY = (IPv4Address(0), IPv6Address(0))
_DEADLINE_S = 10.0
_SETTINGS = (
    "local stratum 8",  # without a time server of its own; the guests accept any stratum
    "allow",
    "cmdport 0",
    "bindcmdaddress /",  # no control socket
    f"pidfile {PID / 'chronyd.pid'}",
)

daemon = Daemon("chronyd")


def ensure_chronyd(program: Path) -> None:
    """Run the guests' chronyd on this machine's clock, which it never sets (`-x`)."""
    if daemon.pid:
        return
    daemon.start(program, "-d", "-x", "-u", "root", *_SETTINGS)
    daemon.await_ready(lambda: all(is_listening("udp", address, _PORT) for address in _ANY), _DEADLINE_S)
