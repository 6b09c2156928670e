"""The BMCs of all servers: haproxy at their addresses, with TLS, before one sushy-emulator with a password."""

import contextlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address

import bcrypt

from base.files import write_private
from cluster.values.address import Address, netloc
from lab import firmware
from lab.inventory import Bmc, Site
from lab.paths import BMC, BMC_POOL_NAME, LIBVIRT_URI, NAMESPACE
from lab.shell import LabError, run
from lab.site.network import is_listening
from lab.site.processes import Daemon, wait_until
from lab.templates import render
from lab.twin import PASSWORD, USERNAME
from testing.certificates import Authority

CA = BMC / "ca.crt"

_DEADLINE_S = 30.0  # 0.5 s on two idle cores (2026-11)
_BCRYPT_COST = 5  # low, since each request pays it: sushy-tools 2.2.0 has no sessions
_ASKED = re.compile(r" from (\S+)$")
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")  # werkzeug colours what it logs
_REQUEST = re.compile(r'"(?P<method>[A-Z]+) (?P<path>/\S*) HTTP/')
_SYSTEM = re.compile(r"/redfish/v1/(?:Systems|Managers|Chassis)/([^/?]+)")
_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

_PORT = 8000  # of the emulator, on the loopback of the namespace

EMULATOR = f"http://127.0.0.1:{_PORT}"
"""The URL behind all BMCs, inside the site."""

daemon = Daemon("sushy-emulator")
front = Daemon("bmc")


@dataclass(frozen=True)
class Listener:
    """One address and port, with the BMCs there: a chassis may have one for several servers."""

    address: Address
    port: int
    tls: bool
    servers: tuple[tuple[str, Bmc], ...]

    @property
    def socket(self) -> str:
        """Address and port in haproxy's notation."""
        return netloc(str(self.address), self.port)


def ensure_bmcs(site: Site, *, restart: bool) -> None:
    """Run emulator and haproxy; `restart` after libvirtd, as the emulator never reconnects (sushy-tools 2.2.0)."""
    config, front_config = BMC / "sushy-emulator.conf", BMC / "bmc.cfg"
    wanted = {config: _config(site), front_config: _front_config(site)}
    unchanged = all(path.exists() and path.read_text() == text for path, text in wanted.items())
    if daemon.pid and front.pid and unchanged and not restart:
        return
    front.stop()
    daemon.stop()
    _ensure_certificates(site)
    _write_credentials()
    for path, text in wanted.items():
        write_private(path, text)
    # Not below the pool: libvirt would treat the folders of downloads there as volumes.
    downloads = BMC / "tmp"
    downloads.mkdir(exist_ok=True)
    program = (sys.executable, "-m", "lab.site.emulator")
    daemon.start(*program, "--config", config, env={"TMPDIR": str(downloads), "PYTHONUNBUFFERED": "1"})
    daemon.await_ready(lambda: is_listening("tcp", IPv4Address("127.0.0.1"), _PORT), _DEADLINE_S)
    front.start("haproxy", "-db", "-f", front_config)
    bmcs = site.bmcs.values()
    front.await_ready(lambda: all(is_listening("tcp", bmc.address, bmc.port) for bmc in bmcs), _DEADLINE_S)
    wait_until(lambda: _show_servers(site), f"all {len(site.uuids)} servers at their BMCs", _DEADLINE_S)


def writes() -> Counter[str]:
    """Count the changing requests since `up`, by the system's UUID; requests to the service itself count under "".

    Media belong to a manager, whose id is its system's.
    """
    with contextlib.suppress(FileNotFoundError), daemon.log.open(errors="replace") as log:
        return count_writes(log)
    return Counter()


def count_writes(lines: Iterable[str]) -> Counter[str]:
    """Count the changing requests of an access log, by the system or manager in their path."""
    counts = Counter[str]()
    for line in lines:
        request = _REQUEST.search(_ESCAPE.sub("", line))
        if request and request["method"] not in _READ_METHODS:
            system = _SYSTEM.match(request["path"])
            counts[system[1] if system else ""] += 1
    return counts


def foreign_requests(site: Site) -> Counter[str]:
    """Count the requests to a BMC since `up` that are not the provisioner's, by the address of who asked."""
    with front.log.open(errors="replace") as log:
        return count_foreign_requests(log, site)


def count_foreign_requests(lines: Iterable[str], site: Site) -> Counter[str]:
    """Count the requests in the log of the BMCs that are not from an address of the provisioner."""
    asked = Counter(match[1] for line in lines if (match := _ASKED.search(line.rstrip())))
    return Counter({address: times for address, times in asked.items() if address not in _own_addresses(site)})


def _own_addresses(site: Site) -> frozenset[str]:
    """Return the provisioner's addresses: it has those of the BMCs, and asks each from that address."""
    interfaces = (*site.provisioners, *site.on_provisioning)
    own = [*(interface.ip for interface in interfaces), *site.services, *(bmc.address for bmc in site.bmcs.values())]
    return frozenset(("127.0.0.1", "::1", site.twin.options["media"]["address"], *map(str, own)))


def listeners(site: Site) -> list[Listener]:
    """Return the addresses and ports of the BMCs, in the order of the servers."""
    by_endpoint = defaultdict[tuple[Address, int, bool], list[tuple[str, Bmc]]](list)
    for server, bmc in site.bmcs.items():
        by_endpoint[bmc.address, bmc.port, bmc.tls].append((server, bmc))
    return [Listener(*endpoint, tuple(servers)) for endpoint, servers in by_endpoint.items()]


def _config(site: Site) -> str:
    values = {"bmc": BMC, "port": _PORT, "libvirt_uri": LIBVIRT_URI, "pool": BMC_POOL_NAME}
    return render("site/files/sushy-emulator.conf.j2", site=site, firmware=firmware, **values)


def _front_config(site: Site) -> str:
    values = {"listeners": listeners(site), "uuids": site.uuids, "port": _PORT, "certificate": BMC / "server.pem"}
    return render("site/files/bmc.cfg.j2", username=USERNAME, password=PASSWORD, **values)


def _ensure_certificates(site: Site) -> None:
    if CA.exists():
        return
    authority = Authority.create("lab-bmc-ca")
    bmcs = site.bmcs.values()
    server = authority.issue(sorted({bmc.name for bmc in bmcs}), sorted({bmc.address for bmc in bmcs}, key=str))
    write_private(BMC / "server.pem", server.certificate + server.key)
    CA.write_text(authority.pem)  # last: its presence means that server.pem exists


def _write_credentials() -> None:
    digest = bcrypt.hashpw(PASSWORD.encode(), bcrypt.gensalt(_BCRYPT_COST)).decode()
    write_private(BMC / "htpasswd", f"{USERNAME}:{digest}\n")


def _show_servers(site: Site) -> bool:
    """Whether each server's system answers at the address of its BMC."""
    systems = {f"{server.bmc.url.base}/redfish/v1/Systems/{site.uuids[server.name]}" for server in site.plan.hosts}
    # By standard input: every user can read a password among the arguments.
    urls = "".join(f'url = "{url}"\noutput = "/dev/null"\n' for url in sorted(systems))
    config = f'user = "{USERNAME}:{PASSWORD}"\ncacert = "{CA}"\n{urls}'
    try:
        run("ip", "netns", "exec", NAMESPACE, "curl", "-sS", "--fail", "--max-time", "5", "-K", "-", stdin=config)
    except LabError:
        return False
    return True
