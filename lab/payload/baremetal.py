"""What a payload of platform baremetal has beside another one: owners of the servers, and the operator's services.

The owners are stand-ins, one for each unit and quadlet of a real payload, which ask all BMCs. The operator's haproxy
and CoreDNS are this program's own of platform none, under other names; its keepalived is that of `testing.scene`.
systemd runs them in place of kubelet.
"""

import re
from dataclasses import replace

from assets.contract import CONF, UNITS
from assets.file import Files, Reader, RenderedFile
from assets.ignition import File, Unit
from assets.render import render_bootstrap, render_role
from cluster.plan import Intent, Role
from cluster.values.address import netloc
from lab.inventory import Site
from lab.payload.ignition import file, script, text, unit
from lab.payload.profile import MachineParts, Profile
from lab.payload.tls import CONTROLLERS
from lab.twin import REGISTRY
from payload.of_servers import unit_of
from testing.baremetal_payload import OLDER_UNITS, QUADLETS
from testing.baremetal_payload import UNITS as PRESENT_UNITS
from testing.scene.operators_node import as_of_platform_none, keepalived_conf

KEEPALIVED = "keepalived"
"""The static pod that must not run on the bootstrap."""
OWN_UNITS = (*PRESENT_UNITS, *OLDER_UNITS)
OWNERS = (*OWN_UNITS, *map(unit_of, QUADLETS))
"""The units that own servers, of all releases at once."""
STATIC_PODS = ("coredns", KEEPALIVED)
_MANIFESTS = "/opt/openshift/mco-bootstrap/manifests"
_CONFS = "/etc/lab/keepalived"
_OF_DNS = ("Corefile", "coredns", "resolver", "get-vip-subnet-cidr")
_NAME = re.compile(r"okd([-_])(?=baremetal|coredns|resolver|keepalived|haproxy|check|default-router|get-vip)")
_PATH = re.compile(r"(?<=/)okd([-_])(?=baremetal)")
"""Names of this program. In files that name hosts, only those in a path: a host may be called `okd-haproxy-1`."""


def with_platform_baremetal(site: Site, profile: Profile) -> Profile:
    """Return a profile with what platform baremetal adds to each machine."""
    operators = as_of_platform_none(site.plan).changed(runtime="host")
    return replace(
        profile,
        bootstrap=profile.bootstrap + _bootstrap(site, operators),
        control_plane=profile.control_plane + _node(site.plan, operators, Role.CONTROL_PLANE),
        compute=profile.compute + _node(site.plan, operators, Role.COMPUTE),
    )


def _bootstrap(site: Site, operators: Intent) -> MachineParts:
    """Return the owners, and the operator's static pods: each starts a unit of its name."""
    urls = [f"http{'s' * bmc.tls}://{netloc(str(bmc.address), bmc.port)}" for bmc in site.bmcs.values()]
    files = (
        file("/usr/local/bin/lab-owner.sh", text("lab-owner.sh.j2", urls=urls), 0o755),
        file("/usr/local/bin/lab-masks.sh", text("lab-masks.sh.j2", units=OWNERS), 0o755),
        file("/etc/systemd/system-generators/lab-quadlets", text("lab-quadlets.sh"), 0o755),
        script("lab-static-pods.sh"),
        *(file(f"/etc/containers/systemd/{name}", _quadlet(name), 0o600) for name in QUADLETS),
        *(file(f"{_MANIFESTS}/{pod}.yaml", text("static-pod.yaml.j2", name=pod), 0o644) for pod in STATIC_PODS),
    )
    units = (
        *(Unit(name, _owner(name, starts_by_itself=True)) for name in OWN_UNITS),
        Unit(f"lab-{KEEPALIVED}.service", _owner(KEEPALIVED, starts_by_itself=False), enabled=False),
        Unit("lab-masks.service", text("lab-masks.service.j2", units=OWNERS)),
        unit("lab-static-pods.service"),
    )
    dns = tuple(
        rendered for rendered in render_bootstrap(operators) if any(word in rendered.path for word in _OF_DNS)
    )
    return MachineParts(files, units) + _as_the_operators(dns, enabled=False)


def _quadlet(name: str) -> str:
    return text("lab-quadlet.j2", name=unit_of(name), kind=name.rpartition(".")[2], registry=REGISTRY)


def _owner(name: str, *, starts_by_itself: bool) -> str:
    return text("lab-owner.service.j2", name=name, starts_by_itself=starts_by_itself)


def _node(plan: Intent, operators: Intent, role: Role) -> MachineParts:
    """Return the operator's services of a role. keepalived starts when its monitor has configured it."""
    conf = f"{CONF}/keepalived.conf"
    services = tuple(
        rendered for rendered in render_role(operators, role) if "okd-" in rendered.path and rendered.path != conf
    )
    monitor = {"domain": plan.domain, "confs": _CONFS, "conf": _renamed(conf), "client": CONTROLLERS}
    files = (
        *(
            file(f"{_CONFS}/{server.address}.conf", _renamed(keepalived_conf(plan, server)), 0o644)
            for server in plan.of(role)
        ),
        file("/usr/local/bin/lab-keepalived-monitor.sh", text("lab-keepalived-monitor.sh.j2", **monitor), 0o755),
        script("lab-own-files.sh"),
    )
    units = (unit("lab-keepalived-monitor.service"), unit("lab-own-files.service"))
    return MachineParts(files, units) + _as_the_operators(services, enabled=True)


def _as_the_operators(services: Files, *, enabled: bool) -> MachineParts:
    """Return files of this program under other names, so that none of them is taken for its own."""
    units = [rendered for rendered in services if rendered.path.startswith(f"{UNITS}/")]
    return MachineParts(
        tuple(_file(rendered) for rendered in services if rendered not in units),
        tuple(Unit(_renamed(rendered.name), _renamed(rendered.text), enabled) for rendered in units),
    )


def _file(rendered: RenderedFile) -> File:
    names = _PATH if rendered.reader in (Reader.COREDNS, Reader.HAPROXY) else _NAME
    return file(_renamed(rendered.path), _renamed(rendered.text, names), rendered.mode)


def _renamed(words: str, names: re.Pattern[str] = _NAME) -> str:
    return names.sub(r"lab\1", words)
