"""Render every file that a machine reads from the plan. Templates make no choice."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assets import contract, keepalived
from assets.boot_server import boot_script
from assets.contract import BIN, CONF, CONNECTIONS, NETWORK_MANAGER, TMPFILES, UNITS
from assets.file import Files, Folders, Reader, RenderedFile
from assets.keepalived import Keepalived, host_route
from assets.keyfiles import (
    ANY_CARD_PRIORITY,
    DNS_PRIORITY,
    PROVISIONING_PRIORITY,
    SECTIONS,
    asking_the_vip_first,
    by_dhcp,
    known_by_its_mac,
    on_provisioning_network,
)
from assets.services import (
    COREDNS,
    DNSMASQ,
    HAPROXY,
    KEEPALIVED,
    PROXY,
    boot_clients_of,
    command,
    pull_secret,
    release,
    services,
)
from assets.templates import templates_in
from cluster.install_config.platform import DISABLED
from cluster.plan import Intent, Role, Server
from cluster.plan.model import RESERVED
from cluster.values.address import IPV4, IPV6, Address, netloc
from cluster.values.balancer import Balancer
from cluster.values.platform import ClusterPlatform
from cluster.values.role import BOOTSTRAP, MachineRole
from cluster.values.vrrp import GIVES_UP
from payload.of_servers import UNITS as UNITS_OF_SERVERS

FOLDER = Path(__file__).parent

TEMPLATES = templates_in(FOLDER)
TEMPLATES.globals["contract"] = contract


@dataclass(frozen=True)
class Rendered:
    """Every file of every machine of a cluster."""

    bootstrap: Files
    roles: Mapping[Role, Files]
    """The files that all servers of a role share."""
    servers: Mapping[str, Files]
    """The files that only one server reads, by its name."""
    keepalived: Mapping[str, Keepalived]
    """What the keepalived.conf of a server claims, by its name; none that is the operator's."""

    @property
    def folders(self) -> Folders:
        """All files, by folder."""
        roles = {role.value: files for role, files in self.roles.items() if files}
        return {BOOTSTRAP: self.bootstrap, **roles, **{f"hosts/{name}": own for name, own in self.servers.items()}}

    @property
    def paths(self) -> frozenset[str]:
        """The paths of all files that are written; a masked unit is the payload's own."""
        return frozenset(file.path for files in self.folders.values() for file in files if not file.is_mask)

    def of(self, server: Server) -> Files:
        """Return all files of one server."""
        return (*self.roles[server.role], *self.servers[server.name])


def render(plan: Intent) -> Rendered:
    """Render all files. Every machine must have an address, see `cluster.plan.refusals.missing`."""
    return Rendered(
        bootstrap=render_bootstrap(plan),
        roles={role: render_role(plan, role) for role in Role},
        servers={server.name: render_server(plan, server) for server in plan.servers},
        keepalived={server.name: conf for server in plan.servers if (conf := keepalived.on_server(plan, server))},
    )


def render_bootstrap(plan: Intent) -> Files:
    """Render the files of the bootstrap VM.

    keepalived and the channel where it holds the API VIP; DNS, unless the payload brings it.
    """
    is_baremetal = plan.platform is ClusterPlatform.BAREMETAL
    return (
        *(() if plan.balancer is Balancer.SITE else _vip_of_bootstrap(plan)),
        *_images(plan, BOOTSTRAP),
        *(_in_place_of_the_payload(plan) if is_baremetal else (*_dns(plan, BOOTSTRAP), _dhclient(plan))),
        *_chrony(plan),
        *_external(plan),
        *_boots_by_bootstrap(plan),
    )


def render_role(plan: Intent, role: Role) -> Files:
    """Render the files that all servers of a role share; none if the role has no server."""
    if not plan.of(role):
        return ()
    if plan.platform is ClusterPlatform.BAREMETAL:
        return _chrony(plan)
    return (
        *(_vips_of_role(plan, role) if plan.vips_of(role) else ()),
        *_images(plan, role),
        *_dns(plan, role),
        *_chrony(plan),
        _node_ip(plan),
        *_boot_services(plan, role),
    )


def render_server(plan: Intent, server: Server) -> Files:
    """Render the files of one server: its name, its keyfiles, and what has its own address or rank in it."""
    named = (_hostname(server), *_network(plan, server), *_dnsmasq(plan, server.role, server.provisioning_address))
    conf = keepalived.on_server(plan, server)
    return (keepalived_conf(conf), *named) if conf and conf.machine else named


def _vip_of_bootstrap(plan: Intent) -> Files:
    vips = [host_route(address) for address in plan.api.addresses]
    hears, release = plan.balancer is Balancer.CLUSTER, plan.api.priorities.release
    let_go = release if hears else GIVES_UP
    channel = {"vips": vips, "hears_the_nodes": hears, "release": release, "let_go": let_go}
    return (
        keepalived_conf(keepalived.on_bootstrap(plan)),
        _script("bootstrap/okd-own-api.sh.j2"),
        _script("bootstrap/okd-vip-channel.sh.j2", **channel),
        _unit("bootstrap/okd-vip-channel.service.j2"),
        _tmpfiles("bootstrap/okd-vip-channel.conf.j2"),
        *_keepalived_service(plan, BOOTSTRAP, plan.api.addresses),
    )


def _in_place_of_the_payload(plan: Intent) -> Files:
    """Render what keeps a payload of platform baremetal from servers, and from the API VIP."""
    masks = tuple(RenderedFile(f"{UNITS}/{name}", "", Reader.SYSTEMD) for name in UNITS_OF_SERVERS)
    if plan.balancer is Balancer.SITE:
        return masks  # its payload brings no keepalived
    # Elsewhere, the script comes with CoreDNS.
    return (*masks, _tmpfiles("bootstrap/okd-no-keepalived.conf"), _script("common/okd-get-vip-subnet-cidr.sh"))


def _vips_of_role(plan: Intent, role: Role) -> Files:
    vips, conf = plan.vips_of(role), keepalived.on_server(plan, plan.of(role)[0])
    return (
        *((keepalived_conf(conf),) if conf and not conf.machine else ()),
        _script("common/okd-check.sh"),
        *(_default_router(plan) if plan.ingress in vips else ()),
        *_keepalived_service(plan, role, tuple(address for vip in vips for address in vip.addresses)),
        *(_balancer(plan) if plan.api in vips else ()),
    )


def keepalived_conf(conf: Keepalived) -> RenderedFile:
    """Render keepalived.conf of one machine, without its interfaces."""
    return _file(f"{CONF}/keepalived.conf", "common/keepalived.conf.j2", Reader.KEEPALIVED, conf=conf)


def _images(plan: Intent, role: MachineRole) -> Files:
    """Render what asks the release for the services' images; nothing if the stack names them."""
    if not (image := release(plan)):
        return ()
    if not (run := services(plan, role)):
        return ()
    images = {service.image: service for service in run}.values()  # two services share that of haproxy
    unit = {"release": image, "pull_secret": pull_secret(role), "role": role}
    return (
        _script("common/okd-images.sh.j2", images=[*images]),
        _unit("common/okd-images.service.j2", services=run, **unit),
    )


def _boots_by_bootstrap(plan: Intent) -> Files:
    """Render what the bootstrap VM needs to serve the network boot of others; nothing if it serves none."""
    own = plan.provisioning
    if not boot_clients_of(plan, BOOTSTRAP):
        return ()
    return (
        _on_provisioning_network(plan, own.mac, own.bootstrap_ip),
        *_boot_services(plan, BOOTSTRAP),
        *_dnsmasq(plan, BOOTSTRAP, own.bootstrap_ip),
    )


def _boot_services(plan: Intent, role: MachineRole) -> Files:
    """Render the services of network boot; nothing for a role whose machines serve none."""
    if not boot_clients_of(plan, role):
        return ()
    media = netloc(str(plan.media.address), plan.media.port)
    proxy = {"media": media, "both_families": plan.boots_over_ipv6}
    unit = {"role": role, "release": release(plan)}
    run = {service: command(plan, service, role) for service in (DNSMASQ, PROXY)}
    return (
        _file(f"{CONF}/provisioning.cfg", "common/provisioning.cfg.j2", Reader.HAPROXY, **proxy),
        _unit("common/okd-provisioning-proxy.service.j2", command=run[PROXY], **unit),
        _unit("common/okd-provisioning-dnsmasq.service.j2", command=run[DNSMASQ], **unit),
    )


def _dnsmasq(plan: Intent, role: MachineRole, address: Address | None) -> Files:
    """Render dnsmasq.conf of a machine that serves network boot, with its own address there."""
    clients, own = boot_clients_of(plan, role), plan.provisioning
    if not clients:
        return ()
    values = {
        "address": address,
        "network": own.cidr,
        "clients": [(client.boot_mac, _reserved(client), client.name) for client in clients],
        "gateway": own.gateway,
        "script": boot_script(plan, clients[0].role),
    }
    return (_file(f"{CONF}/dnsmasq.conf", "common/dnsmasq.conf.j2", Reader.DNSMASQ, **values),)


def _reserved(client: Server) -> str:
    """Return what DHCP reserves for a server, as dnsmasq reads it."""
    address = client.provisioning_address
    return f"[{address}/{RESERVED[IPV6]}]" if address and address.version == IPV6 else str(address)


def _keepalived_service(plan: Intent, role: MachineRole, vips: tuple[Address, ...]) -> Files:
    unit = {"vips": vips, "role": role, "release": release(plan)}
    start = command(plan, KEEPALIVED, role)
    return (
        _script("common/okd-keepalived.sh.j2"),
        _unit("common/okd-keepalived.service.j2", command=start, **unit),
        _dispatcher("common/okd-keepalived.j2", vips=vips),
    )


def _default_router(plan: Intent) -> Files:
    # The container of keepalived has the machine's files below /host.
    crictl = "crictl" if plan.runtime == "host" else "chroot /host crictl"
    return (_script("common/okd-default-router.sh.j2", crictl=crictl),)


def _balancer(plan: Intent) -> Files:
    unit = {"command": command(plan, HAPROXY, Role.CONTROL_PLANE), "release": release(plan)}
    vips = [{"protocol": "ip" if vip.version == IPV4 else "ip6", "address": vip} for vip in plan.api.addresses]
    servers = plan.claimants(Role.CONTROL_PLANE)
    return (
        _file(f"{CONF}/haproxy.cfg", "control_plane/haproxy.cfg.j2", Reader.HAPROXY, servers=servers),
        _file(f"{CONF}/haproxy.nft", "control_plane/haproxy.nft.j2", Reader.NFT, vips=vips),
        _unit("control_plane/okd-haproxy.service.j2", **unit),
    )


def _dns(plan: Intent, role: MachineRole) -> Files:
    """Render CoreDNS, and the files that make it the machine's own resolver."""
    records = {IPV4: "A", IPV6: "AAAA"}
    own_balancer = plan.balancer is Balancer.CLUSTER
    values = {
        "domain": plan.domain,
        "api_vips": plan.api.addresses,
        "ingress_vips": [{"record": records.pop(vip.version), "address": vip} for vip in plan.ingress.addresses],
        "other_records": list(records.values()),
        "servers": plan.servers,
    }
    unit = {
        "command": command(plan, COREDNS, role),
        "domain": plan.domain,
        "networks": [*dict.fromkeys((*plan.api.networks, *plan.machine_networks))],
        "role": role,
        "release": release(plan),
    }
    return (
        _file(f"{CONF}/Corefile", "common/Corefile.j2", Reader.COREDNS, **values),
        _script("common/okd-coredns.sh.j2", vips=plan.api.addresses if own_balancer else ()),
        _script("common/okd-get-vip-subnet-cidr.sh"),
        _script("common/okd-resolver.sh.j2"),
        _unit("common/okd-coredns.service.j2", **unit),
        _tmpfiles("common/okd-resolver-link.conf"),
        _file(f"{NETWORK_MANAGER}/conf.d/okd-resolver.conf", "common/okd-resolver.conf", Reader.NETWORK_MANAGER),
        _dispatcher("common/okd-resolver.j2"),
    )


def _chrony(plan: Intent) -> Files:
    """Render the time servers; nothing if the install-config names none."""
    if not plan.ntp_servers:
        return ()
    return (_file("/etc/chrony.conf", "common/chrony.conf.j2", Reader.CHRONYD, servers=plan.ntp_servers),)


def _dhclient(plan: Intent) -> RenderedFile:
    options = {IPV4: "domain-name-servers", IPV6: "dhcp6.name-servers"}
    servers = [{"option": options[address.version], "address": address} for address in plan.bootstrap.addresses]
    return _file("/etc/dhcp/dhclient.conf", "bootstrap/dhclient.conf.j2", Reader.DHCLIENT, servers=servers)


def _hostname(server: Server) -> RenderedFile:
    """Render the host's name: a static host gets none from DHCP, and a VIP must not change it by a reverse lookup."""
    return _file("/etc/hostname", "common/hostname.j2", Reader.HOSTNAMED, server=server)


def _node_ip(plan: Intent) -> RenderedFile:
    path = "/etc/default/nodeip-configuration"
    return _file(path, "common/nodeip-configuration.j2", Reader.NODEIP, network=plan.api.networks[0])


def _network(plan: Intent, server: Server) -> Files:
    """Render the server's keyfiles.

    Those of its `networkConfig`; the one of the provisioning network; and one for DHCP on the machine network, unless
    they ask the VIP first. The site's balancer answers no DNS: then the one for DHCP is for servers without
    `networkConfig`, and names none.
    """
    own_balancer = plan.balancer is Balancer.CLUSTER
    keyfiles = asking_the_vip_first(plan, server) if own_balancer else server.keyfiles
    own = tuple(
        RenderedFile(f"{CONNECTIONS}/{keyfile.name}", keyfile.text, Reader.KEYFILE, keyfile.secret)
        for keyfile in map(known_by_its_mac, keyfiles)
    )
    disabled = plan.provisioning.mode == DISABLED
    there = () if disabled else (_on_provisioning_network(plan, server.boot_mac, server.provisioning_address),)
    if keyfiles != server.keyfiles or (own and not own_balancer):
        return (*own, *there)
    sections = by_dhcp()
    for vip in plan.api.addresses if own_balancer else ():
        sections[SECTIONS[vip.version]] |= {"dns": f"{vip};", "dns-priority": str(DNS_PRIORITY)}
    name = "okd-machine-network.nmconnection"
    values = {"mac": server.boot_mac if disabled else None, "priority": ANY_CARD_PRIORITY, "sections": sections}
    return (
        *own,
        *there,
        _file(f"{CONNECTIONS}/{name}", f"common/{name}.j2", Reader.KEYFILE, own_balancer=own_balancer, **values),
    )


def _on_provisioning_network(plan: Intent, mac: str | None, address: Address | None) -> RenderedFile:
    name = "okd-provisioning.nmconnection"
    values = {"mac": mac, "priority": PROVISIONING_PRIORITY, "sections": on_provisioning_network(plan, address)}
    return _file(f"{CONNECTIONS}/{name}", f"common/{name}.j2", Reader.KEYFILE, **values)


def _external(plan: Intent) -> Files:
    """Render the bootstrap VM's keyfile; nothing where CoreOS asks DHCP for an IPv4 address.

    CoreOS does so only where there is no other keyfile.
    """
    static, sections = plan.bootstrap.static, by_dhcp()
    only_card = not boot_clients_of(plan, BOOTSTRAP)
    if only_card and static is None and all(address.version == IPV4 for address in plan.bootstrap.addresses):
        return ()
    if static:
        address = f"{static.address}/{static.prefix},{static.gateway}"
        manual = {"method": "manual", "address1": address, "dns": f"{static.dns};"}
        sections[SECTIONS[static.address.version]] = manual
    name = "okd-external.nmconnection"
    values = {"mac": plan.bootstrap.mac, "sections": sections, "static": static}
    return (_file(f"{CONNECTIONS}/{name}", f"bootstrap/{name}.j2", Reader.KEYFILE, **values),)


def _script(template: str, **values: object) -> RenderedFile:
    return _file(f"{BIN}/{_name(template)}", template, Reader.BASH, **values)


def _unit(template: str, **values: object) -> RenderedFile:
    return _file(f"{UNITS}/{_name(template)}", template, Reader.SYSTEMD, **values)


def _dispatcher(template: str, **values: object) -> RenderedFile:
    """Render a script that NetworkManager calls when a connection changes."""
    return _file(f"{NETWORK_MANAGER}/dispatcher.d/{_name(template)}", template, Reader.BASH, **values)


def _tmpfiles(template: str, **values: object) -> RenderedFile:
    """Render a list of files that systemd-tmpfiles creates at boot, before any service."""
    return _file(f"{TMPFILES}/{_name(template)}", template, Reader.TMPFILES, **values)


def _name(template: str) -> str:
    return Path(template).name.removesuffix(".j2")


def _file(path: str, template: str, reader: Reader, **values: object) -> RenderedFile:
    """Render a file. Only `*.j2` is a template: in other scripts, `${#` would begin a Jinja comment."""
    if template.endswith(".j2"):
        return RenderedFile(path, TEMPLATES.get_template(template).render(values), reader)
    return RenderedFile(path, (FOLDER / template).read_text(), reader)
