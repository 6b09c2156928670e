"""Plan in, files out: every file of ours that a machine reads. Pure; no choice is made in a template."""

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from cluster.plan import Intent, Role, Server

CONF = "/etc/okd-baremetal"
BIN = "/usr/local/bin"
UNITS = "/etc/systemd/system"

ENVIRONMENT = Environment(
    loader=FileSystemLoader(Path(__file__).parent),
    undefined=StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    autoescape=False,  # noqa: S701  (configuration files, no HTML)
)


class Reader(StrEnum):
    """The program that reads a file, and can judge it before a machine does."""

    KEEPALIVED = "keepalived"
    HAPROXY = "haproxy"
    COREDNS = "coredns"
    NFT = "nft"
    SYSTEMD = "systemd"
    BASH = "bash"


@dataclass(frozen=True)
class RenderedFile:
    """One file as a machine will see it."""

    path: str
    mode: int
    text: str
    reader: Reader

    @property
    def name(self) -> str:
        """Last part of the path."""
        return self.path.rsplit("/", 1)[-1]


def render_bootstrap(plan: Intent) -> tuple[RenderedFile, ...]:
    """Files of the bootstrap VM: holder of the API VIP, DNS, and the channel on which it lets go."""
    keepalived = {
        "name": plan.bootstrap.name,
        "cluster": plan.name,
        "router_id": plan.api.router_id,
        "priorities": plan.api.priorities,
        "peers": [server.address for server in plan.control_plane],
        "vip": plan.api.address,
    }
    return (
        _file(f"{CONF}/keepalived.conf", "bootstrap/keepalived.conf.j2", Reader.KEEPALIVED, **keepalived),
        _file(f"{BIN}/okd-own-api.sh", "bootstrap/okd-own-api.sh", Reader.BASH),
        _file(f"{BIN}/okd-vip-channel.sh", "bootstrap/okd-vip-channel.sh.j2", Reader.BASH, **keepalived),
        _file(f"{UNITS}/okd-vip-channel.service", "bootstrap/okd-vip-channel.service", Reader.SYSTEMD),
        *_keepalived_service(plan.api.address),
        *_coredns(plan),
    )


def render_role(plan: Intent, role: Role) -> tuple[RenderedFile, ...]:
    """Files that all servers of a role share."""
    if role is Role.COMPUTE:
        values = {
            "cluster": plan.name,
            "router_id": plan.ingress.router_id,
            "priorities": plan.ingress.priorities,
            "vip": plan.ingress.address,
        }
        return (
            _file(f"{CONF}/keepalived.conf", "compute/keepalived.conf.j2", Reader.KEEPALIVED, **values),
            _file(f"{BIN}/okd-check.sh", "common/okd-check.sh", Reader.BASH),
            *_keepalived_service(plan.ingress.address),
        )
    return (
        _file(f"{BIN}/okd-check.sh", "common/okd-check.sh", Reader.BASH),
        *_keepalived_service(plan.api.address),
        _file(f"{CONF}/haproxy.cfg", "control_plane/haproxy.cfg.j2", Reader.HAPROXY, servers=plan.control_plane),
        _file(f"{CONF}/haproxy.nft", "control_plane/haproxy.nft.j2", Reader.NFT, vip=plan.api.address),
        _file(f"{UNITS}/okd-haproxy.service", "control_plane/okd-haproxy.service", Reader.SYSTEMD),
        *_coredns(plan),
    )


def render_server(plan: Intent, server: Server) -> tuple[RenderedFile, ...]:
    """Files of one server alone: on the control plane, keepalived with its peers and its rank."""
    if server.role is Role.COMPUTE:
        return ()
    others = [other.address for other in plan.control_plane if other is not server]
    rank = plan.control_plane.index(server)
    values = {
        "server": server,
        "cluster": plan.name,
        "router_id": plan.api.router_id,
        "priorities": plan.api.priorities,
        # Distinct ranks: equals would fight for some milliseconds at the take-over (keepalived 2.2.7, 2026-11).
        "priority": plan.api.priorities.control_plane - rank,
        "rank": rank,
        "peers": [plan.bootstrap.address, *others],
        "vip": plan.api.address,
    }
    return (_file(f"{CONF}/keepalived.conf", "control_plane/keepalived.conf.j2", Reader.KEEPALIVED, **values),)


def _keepalived_service(vip: object) -> tuple[RenderedFile, ...]:
    return (
        _file(f"{BIN}/okd-keepalived.sh", "common/okd-keepalived.sh", Reader.BASH),
        _file(f"{UNITS}/okd-keepalived.service", "common/okd-keepalived.service.j2", Reader.SYSTEMD, vip=vip),
    )


def _coredns(plan: Intent) -> tuple[RenderedFile, ...]:
    values = {
        "domain": plan.domain,
        "api_vip": plan.api.address,
        "ingress_vip": plan.ingress.address,
        "servers": plan.servers,
    }
    return (
        _file(f"{CONF}/Corefile", "common/Corefile.j2", Reader.COREDNS, **values),
        _file(f"{BIN}/okd-coredns.sh", "common/okd-coredns.sh", Reader.BASH),
        _file(f"{UNITS}/okd-coredns.service", "common/okd-coredns.service", Reader.SYSTEMD),
    )


def _file(path: str, template: str, reader: Reader, **values: object) -> RenderedFile:
    text = ENVIRONMENT.get_template(template).render(values)
    return RenderedFile(path, 0o755 if path.startswith(BIN) else 0o644, text, reader)
