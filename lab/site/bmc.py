"""The BMCs of all servers: at their addresses haproxy with TLS, or IPMI; behind them one sushy-emulator."""

import contextlib
import hashlib
import json
import re
import ssl
import sys
from collections import Counter, defaultdict
from collections.abc import Container, Iterable
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

import bcrypt

from base.files import write_private
from cluster.values.address import Address, netloc
from lab import firmware
from lab.inventory import Bmc, Site
from lab.paths import BMC, BMC_POOL_NAME, LIBVIRT_URI, NAMESPACE
from lab.shell import LabError, run
from lab.site.drives import drives, storages
from lab.site.network import is_listening
from lab.site.processes import Daemon, wait_until
from lab.site.systems import LAB_USERNAME, PORT
from lab.templates import render
from lab.twin import PASSWORD, USERNAME
from testing.certificates import Authority

CA = BMC / "ca.crt"
NEW_USERNAME, NEW_PASSWORD = "root", "of-another-bmc"
"""The login of each BMC that is in the place of another one."""

_DEADLINE_S = 30.0  # 0.5 s on two idle cores (2026-11)
_BCRYPT_COST = 5  # low, since each request pays it: sushy-tools 2.2.0 has no sessions
_ESCAPE = re.compile(r"\x1b\[[0-9;]*m")  # werkzeug colours what it logs
_REQUEST = re.compile(r'"(?P<method>[A-Z]+) (?P<path>/\S*) HTTP/')
_SYSTEM = re.compile(r"/redfish/v1/(?:Systems|Managers|Chassis)/([^/?]+)")
_READ_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})

daemon = Daemon("sushy-emulator")
front = Daemon("bmc")
over_ipmi = Daemon("ipmi")

CONFIGS = {daemon: BMC / "sushy-emulator.conf", front: BMC / "bmc.cfg", over_ipmi: BMC / "ipmi.json"}
"""The file of each; a daemon that a site does not need has none."""


@dataclass(frozen=True)
class Listener:
    """One address and port, with the BMCs there: a chassis may have one for several servers."""

    address: Address
    port: int
    tls: bool
    servers: tuple[tuple[str, Bmc], ...]

    @property
    def is_replaced(self) -> bool:
        """Whether its BMC is in the place of another one."""
        return any(bmc.is_replaced for _, bmc in self.servers)

    @property
    def certificate(self) -> Path:
        """The file with its certificate and key."""
        return BMC / (f"{self.address}.pem" if self.is_replaced else "server.pem")

    @property
    def socket(self) -> str:
        """Address and port in haproxy's notation."""
        return netloc(str(self.address), self.port)


def ensure_bmcs(site: Site, *, restart: bool) -> None:
    """Run emulator and fronts; `restart` after libvirtd, as the emulator never reconnects (sushy-tools 2.2.0)."""
    texts = {daemon: _config(site), front: _front_config(site), over_ipmi: _ipmi_config(site)}
    wanted = {each: text for each, text in texts.items() if text}
    if not restart and all(each.pid and _is_configured(each, text) for each, text in wanted.items()):
        return
    for each in reversed(wanted):
        each.stop()
    _ensure_certificates(site)
    _write_credentials()
    for each, text in wanted.items():
        write_private(CONFIGS[each], text)
    # Not below the pool: libvirt would treat the folders of downloads there as volumes.
    downloads = BMC / "tmp"
    downloads.mkdir(exist_ok=True)
    program = (sys.executable, "-m", "lab.site.emulator")
    daemon.start(*program, "--config", CONFIGS[daemon], env={"TMPDIR": str(downloads), "PYTHONUNBUFFERED": "1"})
    daemon.await_ready(lambda: is_listening("tcp", IPv4Address("127.0.0.1"), PORT), _DEADLINE_S)
    if front in wanted:
        _start_front(site)
    if over_ipmi in wanted:
        over_ipmi.start(sys.executable, "-m", "lab.site.ipmi", CONFIGS[over_ipmi])
        _await(over_ipmi, "udp", (bmc for bmc in site.bmcs.values() if bmc.ipmi))
    wait_until(lambda: _show_servers(site), "all servers at their BMCs", _DEADLINE_S)


def change(site: Site, *, password: str = PASSWORD, dead: Container[str] = ()) -> None:
    """Give all BMCs a password, and have those of the servers `dead` not answer; IPMI stays as it is."""
    _write_credentials(password)
    front.stop()
    write_private(CONFIGS[front], _front_config(site, password, dead))
    _start_front(site, dead)


def fingerprint(site: Site, name: str) -> str:
    """Return the SHA-256 of the certificate that a server's BMC shows, as its own pages do."""
    (own,) = (it for it in listeners(site) if name in dict(it.servers))
    pem, _, _ = own.certificate.read_text().partition("-----BEGIN PRIVATE KEY")
    return hashlib.sha256(ssl.PEM_cert_to_DER_cert(pem)).hexdigest()


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


def listeners(site: Site, dead: Container[str] = ()) -> list[Listener]:
    """Return the addresses and ports of the Redfish BMCs that are not `dead`, in the order of the servers."""
    by_endpoint = defaultdict[tuple[Address, int, bool], list[tuple[str, Bmc]]](list)
    for server, bmc in site.bmcs.items():
        if not bmc.ipmi and server not in dead:
            by_endpoint[bmc.address, bmc.port, bmc.tls].append((server, bmc))
    return [Listener(*endpoint, tuple(servers)) for endpoint, servers in by_endpoint.items()]


def _is_configured(each: Daemon, text: str) -> bool:
    return CONFIGS[each].exists() and CONFIGS[each].read_text() == text


def _start_front(site: Site, dead: Container[str] = ()) -> None:
    front.start("haproxy", "-db", "-f", CONFIGS[front])
    _await(front, "tcp", (bmc for listener in listeners(site, dead) for _, bmc in listener.servers))


def _await(each: Daemon, protocol: str, bmcs: Iterable[Bmc]) -> None:
    sockets = [(protocol, bmc.address, bmc.port) for bmc in bmcs]
    each.await_ready(lambda: all(is_listening(*socket) for socket in sockets), _DEADLINE_S)


def _config(site: Site) -> str:
    values: dict[str, object] = {"bmc": BMC, "port": PORT, "libvirt_uri": LIBVIRT_URI, "pool": BMC_POOL_NAME}
    values |= {"storages": storages(site), "drives": (known := drives(site)), "volumes": dict.fromkeys(known, ())}
    return render("site/files/sushy-emulator.conf.j2", site=site, firmware=firmware, **values)


def _front_config(site: Site, password: str = PASSWORD, dead: Container[str] = ()) -> str:
    """Return the config of haproxy, which refuses one without a listener; empty if all servers are behind IPMI."""
    if not (redfish := listeners(site, dead)):
        return ""
    values = {"listeners": redfish, "uuids": site.uuids, "port": PORT}
    values |= {"new_username": NEW_USERNAME, "new_password": NEW_PASSWORD}
    return render("site/files/bmc.cfg.j2", username=USERNAME, password=password, **values)


def _ipmi_config(site: Site) -> str:
    """Return address, port, UUID and name of each server behind IPMI; empty if there is none."""
    servers = [
        {"address": str(bmc.address), "port": bmc.port, "uuid": site.uuids[name], "name": name}
        for name, bmc in site.bmcs.items()
        if bmc.ipmi
    ]
    return json.dumps(servers, indent=2) if servers else ""


def _ensure_certificates(site: Site) -> None:
    for own in listeners(site):
        if own.is_replaced and not own.certificate.exists():
            made = Authority.create(f"{own.address}, by itself").issue([str(own.address)], [own.address])
            write_private(own.certificate, made.certificate + made.key)
    if CA.exists():
        return
    authority = Authority.create("lab-bmc-ca")
    bmcs = site.bmcs.values()
    server = authority.issue(sorted({bmc.name for bmc in bmcs}), sorted({bmc.address for bmc in bmcs}, key=str))
    write_private(BMC / "server.pem", server.certificate + server.key)
    CA.write_text(authority.pem)  # last: its presence means that server.pem exists


def _write_credentials(password: str = PASSWORD) -> None:
    logins = {USERNAME: password, LAB_USERNAME: PASSWORD, NEW_USERNAME: NEW_PASSWORD}
    digests = {
        name: bcrypt.hashpw(word.encode(), bcrypt.gensalt(_BCRYPT_COST)).decode() for name, word in logins.items()
    }
    write_private(BMC / "htpasswd", "".join(f"{name}:{digest}\n" for name, digest in digests.items()))


def _show_servers(site: Site) -> bool:
    """Whether each server's system answers at its first BMC, if it still has that, and that speaks Redfish."""
    first = {name for name, bmc in site.bmcs.items() if not bmc.is_replaced}
    hosts = [host for host in site.plan.hosts if host.name in first and not host.bmc.url.speaks_ipmi]
    if not hosts:
        return True
    systems = {f"{host.bmc.url.base}/redfish/v1/Systems/{site.uuids[host.name]}" for host in hosts}
    # By standard input: every user can read a password among the arguments.
    urls = "".join(f'url = "{url}"\noutput = "/dev/null"\n' for url in sorted(systems))
    config = f'user = "{USERNAME}:{PASSWORD}"\ncacert = "{CA}"\n{urls}'
    try:
        run("ip", "netns", "exec", NAMESPACE, "curl", "-sS", "--fail", "--max-time", "5", "-K", "-", stdin=config)
    except LabError:
        return False
    return True
