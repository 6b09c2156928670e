"""The site's load balancer, where a stack asks for one: one haproxy on the provisioner's network."""

import csv
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_interface

from assets.contract import API_PORT, CONFIG_PORT, ROUTER_PORT
from cluster.plan.model import Machine
from cluster.values.address import Address, netloc
from lab.inventory import Site
from lab.paths import BALANCER
from lab.shell import run
from lab.site.network import ensure_addresses, is_listening
from lab.site.processes import Daemon
from lab.templates import render

CONFIG, STATS = BALANCER / "balancer.cfg", BALANCER / "stats"
API, CONFIG_SERVER, INGRESS = "api", "config-server", ("https", "http")
"""The names of its services in its log and statistics."""

_HTTPS = "check-ssl verify none"
_ROUTER = f"port {ROUTER_PORT}"
_DEADLINE_S = 10.0

daemon = Daemon("balancer")


@dataclass(frozen=True)
class Service:
    """One port of the balancer, and the machines that it leads to."""

    name: str
    port: int
    addresses: tuple[Address, ...]
    machines: tuple[Machine, ...]
    page: str
    """The page that a machine must answer to receive connections."""
    check: str
    """The parameters of the check for that page."""


@dataclass(frozen=True)
class Backend:
    """A machine behind one service, as the balancer sees it."""

    service: str
    machine: str
    is_up: bool


def ensure_balancer(site: Site) -> None:
    """Give the provisioner the balancer's addresses, and run haproxy there; safe to repeat.

    Call it after dnsmasq starts, so that dnsmasq does not serve at these addresses: a site's balancer answers no DNS.
    """
    if not site.has_balancer:
        return
    plan, wanted = site.plan, _config(services(site))
    addresses = dict.fromkeys((*plan.api.addresses, *plan.ingress.addresses))
    ensure_addresses(plan.bootstrap.bridge, [ip_interface(address) for address in addresses])
    if daemon.pid and CONFIG.exists() and CONFIG.read_text() == wanted:
        return
    daemon.stop()
    CONFIG.parent.mkdir(exist_ok=True)
    CONFIG.write_text(wanted)
    run("haproxy", "-c", "-q", "-f", CONFIG)
    daemon.start("haproxy", "-db", "-f", CONFIG)
    daemon.await_ready(
        lambda: all(
            is_listening("tcp", address, service.port) for service in services(site) for address in service.addresses
        ),
        _DEADLINE_S,
    )


def services(site: Site) -> tuple[Service, ...]:
    """Return the services of a site's balancer: the bootstrap is first behind the API, and never behind Ingress."""
    plan = site.plan
    api, ingress = plan.api.addresses, plan.ingress.addresses
    control_plane, routers = (plan.bootstrap, *plan.control_plane), plan.of(plan.ingress_role)
    return (
        Service(API, API_PORT, api, control_plane, "/readyz", _HTTPS),
        Service(CONFIG_SERVER, CONFIG_PORT, api, control_plane, "/healthz", _HTTPS),
        *(
            Service(name, port, ingress, routers, "/healthz/ready", _ROUTER)
            for name, port in zip(INGRESS, (443, 80), strict=True)
        ),
    )


def backends() -> list[Backend]:
    """Return the machines behind haproxy, from its statistics."""
    with socket.socket(socket.AF_UNIX) as stats:
        stats.connect(str(STATS))
        stats.sendall(b"show stat\n")
        with stats.makefile() as answer:
            return parse(answer.read())


def parse(text: str) -> list[Backend]:
    """Return the machines of haproxy's `show stat`."""
    rows = csv.DictReader(text.removeprefix("# ").splitlines())
    servers = [row for row in rows if row["svname"] not in ("FRONTEND", "BACKEND")]
    return [Backend(row["pxname"], row["svname"], row["status"].startswith("UP")) for row in servers]


def _config(services: Sequence[Service]) -> str:
    return render("site/files/balancer.cfg.j2", services=services, stats=STATS, netloc=netloc)
