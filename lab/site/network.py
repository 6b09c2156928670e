"""The site's network: an isolated namespace, its bridges, and DHCP, router and DNS of the machines."""

import contextlib
import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from ipaddress import ip_address, ip_interface

from cluster.values.address import IPV4, IPV6, Address, Interface, netloc, parse_address
from lab.inventory import Site
from lab.nics import TRUNK, machine_mac, provisioning_bridge, vlan_of
from lab.paths import DNS, FOREIGN, NAMESPACE, RESOLV_CONF
from lab.shell import LabError, run
from lab.site.processes import Daemon, ancestors, end_process
from lab.site.vlan import tag
from lab.templates import render
from lab.twin import REGISTRY

BMC_BRIDGE = "bmc"
_LINK_LOCAL = ip_interface("fe80::1/64")
"""The provisioner's address on the machine network, where it is the machines' router; a config may name it. On a
provisioning network of IPv6, it advertises from there that it is none."""
_DNS_DEADLINE_S = 10.0
_ROUNDS = 3

dnsmasq = Daemon("dnsmasq")


def ensure_network(site: Site) -> None:
    """Make the namespace, its bridges with the provisioner's addresses, and the namespace's resolv.conf."""
    if not namespace_exists():
        # What remains of a namespace whose mount is gone would prevent a new one.
        with contextlib.suppress(LabError):
            run("ip", "netns", "delete", NAMESPACE)
        run("ip", "netns", "add", NAMESPACE)
    _ip("link", "set", "lo", "up")
    machines = site.plan.bootstrap.bridge
    services = [ip_interface(address) for address in site.services if address != _LINK_LOCAL.ip]
    _ensure_bridge(machines, [_LINK_LOCAL, *site.provisioners, *services])
    if sum(own.version == IPV4 for own in site.provisioners) > 1:
        # Machines of two networks reach each other through their router, as those of two VLANs do.
        _write("/proc/sys/net/ipv4/ip_forward", "1")
    if any(own.version == IPV6 for own in site.provisioners):
        # Machines drop a router that does not set the router flag in its neighbour advertisements (RFC 4861, 7.2.5).
        _write(f"/proc/sys/net/ipv6/conf/{machines}/forwarding", "1")
    vlans = (vlan_of(host, site.plan) for host in site.plan.hosts)
    _ensure_trunk(machines, sorted({vlan for vlan in vlans if vlan is not None}))
    if provisioning := provisioning_bridge(site.plan):
        # Where the site's own server advertises a network of IPv6, it needs an address to do so from.
        router = [_LINK_LOCAL] if any(own.version == IPV6 for own in site.on_provisioning) else []
        _ensure_bridge(provisioning, [*router, *site.on_provisioning])
        _ensure_uplink(provisioning)
    media = ip_address(site.twin.options["media"]["address"])
    bmcs = {media, *(bmc.address for bmc in site.bmcs.values())} - {
        own.ip for own in (*site.provisioners, *site.on_provisioning)
    }
    _ensure_bridge(BMC_BRIDGE, [ip_interface(address) for address in sorted(bmcs, key=str)])
    RESOLV_CONF.parent.mkdir(parents=True, exist_ok=True)
    servers = "".join(f"nameserver {own.ip}\n" for own in site.provisioners)
    RESOLV_CONF.write_text(f"# The rehearsal's namespace: the site's DNS.\n{servers}")


def namespace_exists(name: str = NAMESPACE) -> bool:
    """Whether the namespace exists and is usable."""
    return _exists("lo", name)


def remove_network() -> None:
    """End every process in the site (servers, and processes started with `exec`), then remove its namespaces."""
    remove_namespace(FOREIGN)
    remove_namespace(NAMESPACE)
    RESOLV_CONF.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        RESOLV_CONF.parent.rmdir()


def remove_namespace(name: str) -> None:
    """End every process in a namespace, then remove it; safe to repeat."""
    if not namespace_exists(name):
        return
    own = ancestors()
    for _ in range(_ROUNDS):  # a process may start another one while it ends
        pids = {int(pid) for pid in run("ip", "netns", "pids", name).split()} - own
        for pid in pids:
            end_process(pid)
    run("ip", "netns", "delete", name)


def ensure_dnsmasq(site: Site) -> None:
    """Run DHCP and DNS as the installer's documentation requires; restart them if the plan changed."""
    addresses = [own.ip for own in site.provisioners]
    ensure_serves(
        dnsmasq, _dnsmasq_conf(site), lambda: all(is_listening("udp", address, 53) for address in addresses)
    )


def forget_leases() -> None:
    """Stop dnsmasq, and have it forget who has which address: it keeps the lease of a MAC that is gone.

    It gives nobody else an address that is leased, whatever is reserved ("not using configured address", dnsmasq
    2.90, src/rfc2131.c).
    """
    dnsmasq.stop()
    (DNS / "leases").unlink(missing_ok=True)


def ensure_serves(daemon: Daemon, wanted: str, is_ready: Callable[[], bool]) -> None:
    """Run a dnsmasq with this config; restart it if the config changed."""
    config = DNS / f"{daemon.name}.conf"
    unchanged = config.exists() and config.read_text() == wanted
    if daemon.pid and unchanged:
        return
    daemon.stop()
    config.write_text(wanted)
    run("dnsmasq", "--test", f"--conf-file={config}")
    daemon.start("dnsmasq", "--keep-in-foreground", "--log-facility=-", f"--conf-file={config}")
    daemon.await_ready(is_ready, _DNS_DEADLINE_S)


def ensure_addresses(interface: str, addresses: Sequence[Interface]) -> None:
    """Give an interface these addresses, usable at once."""
    for address in addresses:
        _ip("address", "replace", str(address), "dev", interface, *(["nodad"] if address.version == IPV6 else []))


def is_listening(protocol: str, address: Address, port: int) -> bool:
    """Whether a socket of the namespace is bound to exactly this address and port."""
    sockets = run("ip", "netns", "exec", NAMESPACE, "ss", "-Hln", f"--{protocol}", "sport", "=", f":{port}")
    return f" {netloc(str(address), port)} " in sockets


def _dnsmasq_conf(site: Site) -> str:
    plan = site.plan
    machines = [
        (plan.bootstrap, plan.bootstrap.mac),
        *((host, machine_mac(host, plan)) for host in plan.hosts if host.role or host.addresses),
    ]
    bmcs = sorted({(bmc.name, bmc.address) for bmc in site.bmcs.values() if parse_address(bmc.name) is None})
    values = {"site": site, "plan": plan, "machines": machines, "bmcs": bmcs, "registry": REGISTRY, "state": DNS}
    time_servers = [name for name in plan.ntp_servers if parse_address(name) is None]
    return render("site/files/dnsmasq.conf.j2", time_servers=time_servers, **values)


def _ensure_trunk(machines: str, vlans: Sequence[int]) -> None:
    """Make the trunk bridge: only its frames with one of these tags reach the machines' bridge, without the tag."""
    if not vlans:
        return
    _ensure_bridge(TRUNK, [])
    _ip("link", "set", "dev", TRUNK, "arp", "off")  # else it would answer, untagged, for the provisioner
    for vlan in vlans:
        port, peer = f"{TRUNK}.{vlan}", f"to-{TRUNK}.{vlan}"
        if not _exists(port):
            _ip("link", "add", port, "type", "veth", "peer", "name", peer)
        tag(port, vlan, partial(run, "tc", "-n", NAMESPACE))
        for end, bridge in ((port, machines), (peer, TRUNK)):
            _ip("link", "set", "dev", end, "addrgenmode", "none")
            _ip("link", "set", "dev", end, "master", bridge, "up")


def _ensure_bridge(name: str, addresses: Sequence[Interface]) -> None:
    """Make a bridge with these addresses, usable at once: no other machine can have them yet."""
    if not _exists(name):
        # A bridge without a MAC of its own takes that of a port, and another one when that server is switched off.
        mac = f"02:00:{hashlib.sha256(name.encode()).digest()[:4].hex(':')}"
        # Ports forward at once, and no querier is needed for VRRP's multicast.
        options = ("type", "bridge", "stp_state", "0", "forward_delay", "0", "mcast_snooping", "0")
        _ip("link", "add", "name", name, "address", mac, *options)
        # The kernel would add a link-local address only with the first port, and then test it for a second.
        _ip("link", "set", "dev", name, "addrgenmode", "none")
    ensure_addresses(name, addresses)
    _ip("link", "set", name, "up")


def _ensure_uplink(bridge: str) -> None:
    """Give a bridge a port that is up, as a site's bridge has: without one, it forwards nothing."""
    port, peer = f"{bridge[:8]}-port", f"{bridge[:8]}-site"
    if not _exists(port):
        _ip("link", "add", port, "type", "veth", "peer", "name", peer)
    for end in (port, peer):
        _ip("link", "set", "dev", end, "addrgenmode", "none")
        _ip("link", "set", "dev", end, "up")
    _ip("link", "set", "dev", port, "master", bridge)


def _write(path: str, text: str) -> None:
    run("ip", "netns", "exec", NAMESPACE, "tee", path, stdin=text)


def _exists(interface: str, namespace: str = NAMESPACE) -> bool:
    try:
        run("ip", "-n", namespace, "link", "show", interface)
    except LabError:
        return False
    return True


def _ip(*words: str) -> str:
    return run("ip", "-n", NAMESPACE, *words)
