"""Files of a node of platform baremetal, as the machine-config operator's keepalived has them.

Its values are those of machine-config-operator 7ff337a4 (templates/master/00-master/on-prem/files) and of
baremetal-runtimecfg 66007361; the text is this project's own. As there, an IPv6 VIP has a password and a label, which
keepalived ignores. haproxy and its health pages are this program's, with the same meaning. The check of the default
router is missing: no machine here has a CRI with routers.
"""

from dataclasses import dataclass

from assets.contract import CONF, MONITOR_PORT, ROUTER_PORT
from assets.file import Files, Reader, RenderedFile
from assets.keepalived import OKD_CHECK, host_route, placeholder
from assets.render import render_role, render_server
from cluster.plan import ClusterPlan, Intent, Role, Server
from cluster.plan.model import Vip
from cluster.values.balancer import Balancer
from cluster.values.platform import ClusterPlatform


@dataclass(frozen=True)
class Check:
    """A `vrrp_script`: a health page of this machine."""

    name: str
    page: str
    """Port and path; a page of this program's haproxy stands for what the operator's script asks."""
    weight: int | None
    """None: a failure disables the instance."""
    interval_s: int = 2
    fall: int = 3


@dataclass(frozen=True)
class Share:
    """How each node claims a VIP: all have one rank."""

    what: str
    base: int
    checks: tuple[Check, ...]


API = Share(
    "api",
    40,
    (
        Check("chk_ocp_lb", f"{MONITOR_PORT} /haproxy_monitor", 20),
        Check("chk_ocp_both", f"{MONITOR_PORT} /own_api", 5),
        Check("chk_mcs", f"{MONITOR_PORT} /own_config_server", 3),
    ),
)
INGRESS = Share(
    "ingress",
    20,
    (
        Check("chk_ingress", f"{ROUTER_PORT} /healthz", None, interval_s=1, fall=2),
        Check("chk_ingress_ready", f"{ROUTER_PORT} /healthz/ready", 10, interval_s=1, fall=2),
    ),
)
BEST = API.base + sum(check.weight or 0 for check in API.checks)
"""The priority of a healthy node for the API VIP."""
GLOBAL = """global_defs {
    enable_script_security
    script_user root
    max_auto_priority -1
    vrrp_garp_master_refresh 60
}
"""
SCRIPT = """
vrrp_script {name} {{
    script "{command}"
    interval {interval_s}
    timeout {interval_s}
    {weight}
    rise 3
    fall {fall}
}}
"""
INSTANCE = """
vrrp_instance {name} {{
    state BACKUP
    interface {interface}
    virtual_router_id {vrid}
    priority {base}
    advert_int 1
    unicast_src_ip {source}
    unicast_peer {{
        {peers}
    }}
    authentication {{
        auth_type PASS
        auth_pass {password}
    }}
    virtual_ipaddress {{
        {vip} label vip
    }}
    track_script {{
        {checks}
    }}
}}
"""


def as_of_platform_none(plan: Intent) -> Intent:
    """Return the plan by which this program brings the services that the operator brings on platform baremetal."""
    return plan.changed(balancer=Balancer.CLUSTER, platform=ClusterPlatform.NONE)


def operator_files(plan: ClusterPlan, server: Server) -> Files:
    """Return the files of a control-plane node: its keepalived lists the other nodes, but not the bootstrap."""
    own = as_of_platform_none(plan)
    files = (*render_role(own, Role.CONTROL_PLANE), *render_server(own, server))
    conf = RenderedFile(f"{CONF}/keepalived.conf", keepalived_conf(plan, server), Reader.KEEPALIVED)
    return tuple(conf if file.path == conf.path else file for file in files)


def keepalived_conf(plan: Intent, server: Server) -> str:
    """Return keepalived.conf of a node; okd-keepalived.sh fills its interfaces in.

    The operator gives the control plane the Ingress VIP too; without a router, that instance is disabled, and it is
    left out here.
    """
    shares = list[tuple[Share, Vip, tuple[Server, ...]]]()
    if server.role is Role.CONTROL_PLANE:
        shares += [(API, plan.api, plan.control_plane)]
    if server.role is plan.ingress_role:
        shares += [(INGRESS, plan.ingress, plan.servers)]
    scripts = [_script(check) for share, _, _ in shares for check in share.checks]
    instances = [_instances(plan, share, vip, server, nodes) for share, vip, nodes in shares]
    return "".join((GLOBAL, *scripts, *instances))


def _script(check: Check) -> str:
    weight = "" if check.weight is None else f"weight {check.weight}"
    command = f"{OKD_CHECK} {check.page}"
    return SCRIPT.format(
        name=check.name, command=command, weight=weight, interval_s=check.interval_s, fall=check.fall
    )


def _instances(plan: Intent, share: Share, vip: Vip, server: Server, nodes: tuple[Server, ...]) -> str:
    """Return an instance for each address of a VIP."""
    others = [node for node in nodes if node.name != server.name]
    return "".join(
        INSTANCE.format(
            name=f"{plan.name}_{share.what.upper()}_{number}",
            interface=placeholder(address),
            vrid=vip.vrid,
            base=share.base,
            source=server.address_of(address.version),
            peers="\n        ".join(str(other.address_of(address.version)) for other in others),
            password=f"{plan.name}_{share.what}_vip",
            vip=host_route(address),
            checks="\n        ".join(check.name for check in share.checks),
        )
        for number, address in enumerate(vip.addresses)
    )
