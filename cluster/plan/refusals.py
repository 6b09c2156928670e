"""Settings of a valid install-config that this release cannot install, and options that are missing.

The command line and the program use the same functions.
"""

from collections.abc import Container, Iterator
from dataclasses import dataclass
from urllib.parse import urlsplit

from base.errors import Fault
from base.shapes import below
from cluster.install_config import InstallConfig, Reading
from cluster.install_config.platform import BARE, DISABLED, UNMANAGED, Bmc
from cluster.options import Images, MachineOptions, MediaOption, Options
from cluster.plan.address_table.conflicts import conflicts_within
from cluster.plan.fencing import refused_fencing, refused_reinstalls
from cluster.plan.host_names import refused_names
from cluster.plan.intent import NO_OPTIONS, pools, roles
from cluster.plan.interfaces import refused_interfaces
from cluster.plan.model import BootstrapHost, Intent, Server
from cluster.plan.network_boot import boots_over_ipv6, refused_provisioning, unbootable
from cluster.plan.node_addresses import asks_dhcp, has_static, unused
from cluster.stack_file import LOGINS, NOTIFY_URL, PULL_SECRET
from cluster.values import pull_secret, web_hook
from cluster.values.address import in_any, networks, parse_address
from cluster.values.architecture import Architecture
from cluster.values.bmc_url import BmcUrlError, parse_bmc_url
from cluster.values.consent import missing_consent
from cluster.values.phase import Phase

MEDIA = "media.address"
OWN_MACHINE = (
    "name each host's own machine, which `okd-baremetal bmc consent <stack>` reads; if that reads one machine for "
    "both, correct the bmc.address of one of them"
)


@dataclass(frozen=True)
class Missing(Fault):
    """An address, or the services' images; `where` is the option that would name it."""

    version: int | None = None
    """4 or 6 for an address. None: the images are missing."""


def beyond_this_release(reading: Reading, options: MachineOptions = NO_OPTIONS) -> list[Fault]:
    """Return each setting of a file that this release cannot install, except where the installer refuses the file.

    With a stack's options, also their addresses that conflict.
    """
    refused = {fault.where for fault in reading.faults}

    def is_known(where: str) -> bool:
        return where not in refused and not any(below(where, path) for path in reading.muted)

    faults = [*unsupported(reading.config), *conflicts_within(reading.config, options)]
    return [fault for fault in faults if is_known(fault.where)]


def unsupported(config: InstallConfig) -> Iterator[Fault]:
    """Yield each setting of an install-config for which no files can be rendered, with the setting that works."""
    yield from _networks(config)
    yield from _pools(config)
    yield from _hosts(config)
    yield from refused_fencing(config)
    yield from refused_names(config)
    yield from refused_interfaces(config)


def missing(intent: Intent) -> list[Missing]:
    """Return all missing values that files need.

    An address per machine and family of the API VIP; that of the media server, which machines lead boots to; images.
    """
    of_servers = [value for server in intent.servers for value in _addresses(intent, server)]
    return [*of_servers, *_addresses(intent, intent.bootstrap), *_media(intent), *_images(intent)]


def incomplete(intent: Intent, options: Options) -> Iterator[Fault]:
    """Yield the options that `up` needs and that are missing or contradictory."""
    yield from (value for value in missing(intent) if value.where != MEDIA)  # see _no_boot_server
    yield from _consents(intent, options)
    yield from _only_for_redfish(intent, options)
    yield from _machines_named_twice(options)
    yield from refused_reinstalls(intent, options)
    yield from _sleepless(intent, options)
    yield from _base_of_the_bootstrap(options)
    yield from _unreachable_by_plugin(intent, options)
    yield from no_base_iso(intent, options.media)
    yield from _no_boot_server(intent, options.media)
    yield from _payload_of_arbiters(intent, options)
    yield from _quorum(intent, options)


def no_base_iso(intent: Intent, media: MediaOption) -> Iterator[Fault]:
    """Yield the option of each architecture that servers are of, and that has no base ISO."""
    for architecture in sorted({*intent.architectures.values()} - media.base_isos.keys()):
        fix = f"name the SHA-256 of CoreOS' live ISO of {architecture}"
        yield Fault(f"{architecture.option}.sha256", f"missing, and servers are of {architecture}", fix)


def _no_boot_server(intent: Intent, media: MediaOption) -> Iterator[Fault]:
    """Yield the option that leaves the hosts that boot from the network without this program's server."""
    hosts = [server.name for server in intent.servers if server.fetches_installer]
    if hosts and media.url:
        what = f"a web server, but only this program serves hosts that boot from the network: {', '.join(hosts)}"
        yield Fault("media.url", what, "name media.address instead")
    there, address = intent.provisioning, intent.media.address
    alone = there.mode == UNMANAGED and intent.booted_from_network  # elsewhere, a proxy has both families
    if alone and there.cidr and address and address.version != there.cidr.version:
        what = f"{address}, but hosts boot over provisioningNetworkCIDR {there.cidr}"
        yield Fault(MEDIA, what, f"name an address of IPv{there.cidr.version} of this machine")


def secrets_over_http(intent: Intent) -> Iterator[Fault]:
    """Yield the hosts whose `networkConfig` holds a secret that would go over plain HTTP, and none of them may.

    The BMC of another host fetches it over TLS; one that cannot do so refuses the ISO when the host is installed.
    """
    for index, host in enumerate(intent.hosts):
        in_the_clear = host.fetches_installer or intent.media.url.startswith("http:")
        if not (host.role and host.holds_secret and in_the_clear) or intent.media.may_go_in_the_clear(host.name):
            continue
        what, fix = "media.url would send it over plain HTTP", "have media.url begin with https"
        if host.fetches_installer:
            what = "a host that boots from the network would get it over plain HTTP"
            fix = f"set bmc.address to {host.bmc.url.instead}"
        fix += f", remove the secret, or set media.plain_http.{host.name} to true, which sends it in the clear"
        yield Fault(f"{BARE}.hosts[{index}].networkConfig", f"holds a secret, and {what}", fix)


def plain_secrets(options: Options, plain: Container[str]) -> Iterator[Fault]:
    """Yield a fault for each of the options in `plain`, which are not encrypted, that has a secret."""
    texts = (PULL_SECRET, options.pull_secret, pull_secret.SET), (NOTIFY_URL, options.notify_url, web_hook.SET)
    for name, secret, command in texts:
        if name in plain and secret:
            what = "it is in plain text, as it would be in each commit of the stack's file"
            yield Fault(name, what, f"set it with `{command}`")
    if LOGINS in plain and options.bmc_credentials:
        fix = f"set each password with `pulumi config set --secret --path '{LOGINS}.<host>.password'`"
        yield Fault(LOGINS, "they are in plain text, as they would be in the state", fix)


def option_of(machine: Server | BootstrapHost) -> str:
    """Return the option that names a machine's addresses."""
    return "bootstrap.address" if isinstance(machine, BootstrapHost) else f"node_addresses.{machine.name}"


def _networks(config: InstallConfig) -> Iterator[Fault]:
    yield from _vip_families(config)
    yield from _bgp(config)
    yield from _bootstrap_gateway(config)
    if config.baremetal.provisioning_network != DISABLED:
        yield from refused_provisioning(config)


def _bgp(config: InstallConfig) -> Iterator[Fault]:
    peers = {
        f"{BARE}.hosts[{index}].bgpPeers": host.bgp_peers for index, host in enumerate(config.baremetal.hosts or ())
    }
    for where, value in {f"{BARE}.bgpVIPConfig": config.baremetal.bgp_vip_config, **peers}.items():
        if value:
            what = "VIPs by BGP: not supported, this program announces them by VRRP"
            yield Fault(where, what, "remove it, or have a load balancer of the site announce them: UserManaged")


def _bootstrap_gateway(config: InstallConfig) -> Iterator[Fault]:
    """Yield the bootstrap VM's static gateway if it is outside the network that the VM has its address in."""
    bare = config.baremetal
    address, gateway = (
        parse_address(text) for text in (bare.bootstrap_external_static_ip, bare.bootstrap_external_static_gateway)
    )
    machines = networks([entry.cidr for entry in config.networking.machine_network])
    own = [network for network in machines if address and in_any(address, [network])]
    if gateway and own and not in_any(gateway, own):
        what = f"{gateway} is outside {own[0]}, the network of bootstrapExternalStaticIP {address}"
        fix = "write the router of that network, or its whole prefix in machineNetwork"
        yield Fault(f"{BARE}.bootstrapExternalStaticGateway", what, fix)


def _vip_families(config: InstallConfig) -> Iterator[Fault]:
    """Yield the addresses of the site's balancer of whose family no machine has an address."""
    families = {network.version for network in networks([entry.cidr for entry in config.networking.machine_network])}
    vips = {"apiVIPs": config.baremetal.api_vips, "ingressVIPs": config.baremetal.ingress_vips}
    for key, texts in vips.items():
        for index, text in enumerate(texts):
            address = parse_address(text)
            if address and address.version not in families:
                what = f"{text}: no machine network is of IPv{address.version}"
                yield Fault(f"{BARE}.{key}[{index}]", what, "remove it, or add such a network to machineNetwork")


def _pools(config: InstallConfig) -> Iterator[Fault]:
    for path, pool in config.pools.items():
        if pool.architecture not in tuple(Architecture):
            fix = f"write {' or '.join(Architecture)}"
            yield Fault(f"{path}.architecture", f"{pool.architecture}: not supported yet", fix)


def _hosts(config: InstallConfig) -> Iterator[Fault]:
    architectures = {role: pool.architecture for role, pool in pools(config).items()}
    over_ipv6 = boots_over_ipv6(config)
    for index, (host, role) in enumerate(zip(config.baremetal.hosts or (), roles(config), strict=True)):
        try:
            url = parse_bmc_url(host.bmc.address)
        except BmcUrlError as error:
            yield error.fault.within(f"{BARE}.hosts[{index}].bmc.address")
        else:
            if role and (what := unbootable(host, url, architectures[role], over_ipv6=over_ipv6)):
                yield Fault(f"{BARE}.hosts[{index}].bmc.address", what, f"use {url.instead}")
            if url.speaks_ipmi:
                yield from _too_long(host.bmc, f"{BARE}.hosts[{index}].bmc")
        if role and host.boot_mode == "legacy" and architectures[role] == Architecture.ARM64:
            what = "legacy: servers of arm64 have only UEFI firmware"
            yield Fault(f"{BARE}.hosts[{index}].bootMode", what, "write UEFI")


def _too_long(bmc: Bmc, where: str) -> Iterator[Fault]:
    """Yield the parts of a login that IPMI 2.0 has no room for (sections 13.20 and 22.30)."""
    for key, text, most in (("username", bmc.username, 16), ("password", bmc.password.get_secret_value(), 20)):
        if len(text.encode()) > most:
            fix = "set a shorter one in the BMC, and write it here"
            yield Fault(f"{where}.{key}", f"longer than {most} bytes, the most that IPMI has", fix)


def _addresses(intent: Intent, machine: Server | BootstrapHost) -> Iterator[Missing]:
    mac = machine.mac if isinstance(machine, BootstrapHost) else machine.boot_mac
    known = isinstance(machine, BootstrapHost) or intent.provisioning.mode == DISABLED
    card = mac if known else "its card on the machine network"
    named = {address.version for address in machine.addresses}
    for vip in intent.api.addresses:
        if vip.version not in named:
            what, fix = f"no IPv{vip.version} address", f"name the address that DHCP reserves for {card}"
            if isinstance(machine, Server):
                what, fix = _of_network_config(intent, machine, vip.version, what, fix)
            yield Missing(option_of(machine), what, fix, vip.version)


def _of_network_config(intent: Intent, server: Server, version: int, what: str, fix: str) -> tuple[str, str]:
    """Return what a server's `networkConfig` says of its missing address, and the fix that helps."""
    listed, by_dhcp = unused(intent, server, version), asks_dhcp(intent, server, version)
    if not listed and by_dhcp:
        return what, fix
    reason = f"in its networkConfig, {listed or 'no interface has one, or asks DHCP for it'}"
    there = "have one of machineNetwork there"
    return f"{what}: {reason}", f"{there}, or {fix}" if by_dhcp else there


def never_addressed(intent: Intent) -> Iterator[Fault]:
    """Yield each `networkConfig` by which a server gets no address on the machine network, not even by DHCP."""
    for index, host in enumerate(intent.hosts):
        for value in _addresses(intent, host) if isinstance(host, Server) else ():
            version = value.version or 0
            if not asks_dhcp(intent, host, version) and not has_static(intent, host, version):
                yield Fault(f"{BARE}.hosts[{index}].networkConfig", value.what, value.fix)


def _media(intent: Intent) -> Iterator[Missing]:
    if intent.serves_boots and intent.media.address is None:
        what = "missing, and this program serves the files of network boot there"
        yield Missing(MEDIA, what, "name the address of this machine", intent.api.address.version)


def _images(intent: Intent) -> Iterator[Missing]:
    if intent.runtime != "podman" or intent.images.release or not intent.runs_services:
        return
    fix = "name the release image by its digest, or write `runtime: host`"
    if intent.images == Images():
        what = "missing, and so are images.keepalived, images.haproxy and images.coredns"
        yield Missing("images.release", what, fix)
    elif intent.serves_boots:
        what = "missing, and no other option names an image of dnsmasq, which network boot needs"
        yield Missing("images.release", what, f"{fix}, and remove the other images")


def _consents(intent: Intent, options: Options) -> Iterator[Fault]:
    for server in intent.servers:
        if not options.consent.get(server.name, "").strip():
            yield missing_consent(server.name, server.bmc.address)
    names = [host.name for host in intent.hosts]
    by_host = ("consent", "wipe_disks", "bmc_credentials", "bmc_trust", "reinstall")
    named = {option: getattr(options, option) for option in by_host}
    for option, lines in {**named, "media.plain_http": options.media.plain_http}.items():
        for name in lines:
            if name not in names:
                yield Fault(f"{option}.{name}", "no such host", "remove it, or write the name of a host")


def _only_for_redfish(intent: Intent, options: Options) -> Iterator[Fault]:
    """Yield the options of hosts whose BMC speaks IPMI that say how to reach a Redfish service.

    Releases without IPMI read an address without a type as one of Redfish, so such options may belong to it.
    """
    fix = "remove it, or write redfish:// in bmc.address, if that BMC speaks Redfish"
    for name in (host.name for host in intent.hosts if host.bmc.url.speaks_ipmi):
        if name in options.bmc_trust:
            yield Fault(f"bmc_trust.{name}", "its BMC speaks IPMI, which has no certificates", fix)
        if name in options.bmc_credentials and options.bmc_credentials[name].session:
            what = "its BMC speaks IPMI, which has no sessions of Redfish"
            yield Fault(f"bmc_credentials.{name}.session", what, fix)


def _machines_named_twice(options: Options) -> Iterator[Fault]:
    """Yield the lines that allow the disk of a machine to be wiped for a second host."""
    first = dict[str, tuple[str, str]]()
    for option, lines in (("consent", options.consent), ("reinstall", options.reinstall)):
        for host, machine in lines.items():
            where, owner = first.setdefault(machine.strip().lower(), (f"{option}.{host}", host))
            if machine.strip() and owner != host:
                what = f"{machine} is named by {where} already, and a machine is one host"
                yield Fault(f"{option}.{host}", what, OWN_MACHINE)


def _sleepless(intent: Intent, options: Options) -> Iterator[Fault]:
    """Yield why the cluster cannot sleep, if it is to."""
    if options.is_asleep and options.phase is Phase.BOOTSTRAP:
        yield Fault("power", "off in phase bootstrap, in which the cluster is installed", "write on, or remove it")
    if options.is_asleep and intent.is_fenced:
        what = "off, and its two servers fence each other: a fence agent switches on what it finds off"
        yield Fault("power", what, "write on, or remove it")


def _base_of_the_bootstrap(options: Options) -> Iterator[Fault]:
    """Check that the base volume is either named, or made from an image."""
    vm, provisioner = options.bootstrap, options.provisioner
    if not provisioner.manage:
        if not vm.base_volume:
            fix = "name a qcow2 volume of the pool, or have one made with provisioner.manage: true"
            yield Fault("bootstrap.base_volume", "missing", fix)
        return
    if provisioner.base_image is None:
        fix = "name source and sha256 of the bootstrap's image"
        yield Fault("provisioner.base_image", "missing with provisioner.manage: true", fix)
    if vm.base_volume:
        what = f"{vm.base_volume} is not used: provisioner.manage: true makes a volume from base_image"
        yield Fault("bootstrap.base_volume", what, "remove it")
    if vm.base_sha256:
        what = "not used: with provisioner.manage: true, provisioner.base_image.sha256 has it"
        yield Fault("bootstrap.base_sha256", what, "remove it")


def _unreachable_by_plugin(intent: Intent, options: Options) -> Iterator[Fault]:
    """Yield what pulumi-libvirt cannot use in a URI over SSH; libvirt itself can (tried with its plugin 0.5.4)."""
    try:
        uri = urlsplit(intent.libvirt_uri)
    except ValueError:
        return  # libvirt itself refuses it
    if not (options.provisioner.manage and uri.scheme.endswith("+ssh")):
        return
    by_hand = "make pool and volume by hand (false)"
    wants = {
        "no user": (not uri.username, "write qemu+ssh://<user>@<host>/system there"),
        "a port": (":" in uri.netloc.rpartition("@")[2].rpartition("]")[2], f"have sshd listen on 22, or {by_hand}"),
        "an IPv6 address": ("[" in uri.netloc, f"write a name that resolves to it, or {by_hand}"),
    }
    for what, (is_there, fix) in wants.items():
        if is_there:
            seen = f"true, but {BARE}.libvirtURI has {what}, with which pulumi-libvirt cannot connect"
            yield Fault("provisioner.manage", seen, fix)


def _payload_of_arbiters(intent: Intent, options: Options) -> Iterator[Fault]:
    if intent.arbiters and not options.payload.arbiter:
        what = "missing: an arbiter boots from a file of its own"
        yield Fault("payload.arbiter", what, "generate the payload again: `okd-baremetal payload`")


def _quorum(intent: Intent, options: Options) -> Iterator[Fault]:
    """Check that min_ready is a majority, because etcd needs one when the bootstrap VM's member is gone."""
    wanted, members = options.handoff.min_ready, len(intent.control_plane)
    least = members // 2 + 1
    if wanted is not None and not least <= wanted <= members:
        what = f"{wanted}: a majority of the {members} control-plane hosts is wanted"
        yield Fault("handoff.min_ready", what, f"write {least} to {members}")
