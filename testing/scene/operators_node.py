"""Files of a control-plane node of platform baremetal, as the machine-config operator's keepalived has them.

Its values are those of machine-config-operator d89efd5c2 (templates/master/00-master/on-prem/files) and of
baremetal-runtimecfg 48239572; the text is this project's own. haproxy and its health pages are this program's, with
the same meaning.
"""

from assets.contract import CONF, MONITOR_PORT
from assets.file import Files, Reader, RenderedFile
from assets.keepalived import OKD_CHECK, host_route, placeholder
from assets.render import render_role, render_server
from cluster.plan import ClusterPlan, Role, Server
from cluster.values.address import IPV4
from cluster.values.balancer import Balancer
from cluster.values.platform import ClusterPlatform

BASE = 40
CHECKS = {
    "chk_ocp_lb": (20, "/haproxy_monitor"),
    "chk_ocp_both": (5, "/own_api"),
    "chk_mcs": (3, "/own_config_server"),
}
"""Weight of each check, and the page of this program's haproxy that stands for it."""
BEST = BASE + sum(weight for weight, _ in CHECKS.values())
SCRIPT = """
vrrp_script {name} {{
    script "{check} {port} {page}"
    interval 2
    timeout 2
    weight {weight}
    rise 3
    fall 3
}}
"""
CONFIG = """global_defs {{
    enable_script_security
    script_user root
    max_auto_priority -1
    vrrp_garp_master_refresh 60
}}
{scripts}
vrrp_instance {name}_API_0 {{
    state BACKUP
    interface {interface}
    virtual_router_id {router_id}
    priority {base}
    advert_int 1
    unicast_src_ip {source}
    unicast_peer {{
        {peers}
    }}
    {authentication}
    virtual_ipaddress {{
        {vip}
    }}
    track_script {{
        {checks}
    }}
}}
"""
PASSWORD = "authentication {{ auth_type PASS\n auth_pass {}_api_vip\n }}"


def operator_files(plan: ClusterPlan, server: Server) -> Files:
    """Return the files of a node: its keepalived lists the other nodes, not the bootstrap, and all have one rank."""
    own = plan.changed(balancer=Balancer.CLUSTER, platform=ClusterPlatform.NONE)
    files = (*render_role(own, Role.CONTROL_PLANE), *render_server(own, server))
    conf = RenderedFile(f"{CONF}/keepalived.conf", keepalived_conf(plan, server), Reader.KEEPALIVED)
    return tuple(conf if file.path == conf.path else file for file in files)


def keepalived_conf(plan: ClusterPlan, server: Server) -> str:
    """Return keepalived.conf of a node."""
    vip = plan.api.address
    others = [other for other in plan.control_plane if other.name != server.name]
    scripts = [
        SCRIPT.format(name=name, check=OKD_CHECK, port=MONITOR_PORT, page=page, weight=weight)
        for name, (weight, page) in CHECKS.items()
    ]
    return CONFIG.format(
        scripts="".join(scripts),
        name=plan.name,
        interface=placeholder(vip),
        router_id=plan.api.router_id,
        base=BASE,
        source=server.address_of(vip.version),
        peers="\n        ".join(str(other.address_of(vip.version)) for other in others),
        authentication=PASSWORD.format(plan.name) if vip.version == IPV4 else "",
        vip=f"{host_route(vip)} label vip" if vip.version == IPV4 else host_route(vip),
        checks="\n        ".join(CHECKS),
    )
