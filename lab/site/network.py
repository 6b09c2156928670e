"""The site's network: an isolated namespace, two bridges, DHCP and DNS."""

import contextlib
from collections.abc import Sequence
from ipaddress import ip_address, ip_interface

from cluster.values.address import IPV6, Address, Interface, parse_address
from lab.inventory import Site
from lab.paths import DNS, NAMESPACE, RESOLV_CONF
from lab.shell import LabError, run
from lab.site.processes import Daemon, ancestors, end_process
from lab.templates import render
from lab.twin import REGISTRY

BMC_BRIDGE = "bmc"
_LINK_LOCAL = ip_interface("fe80::1/64")
"""Of each bridge: what the machines know as their router, and may name as such."""
_DNS_DEADLINE_S = 10.0
_ROUNDS = 3

dnsmasq = Daemon("dnsmasq")


def ensure_network(site: Site) -> None:
    """Make the namespace, its bridges with the provisioner's addresses, and the namespace's resolv.conf."""
    if not namespace_exists():
        # The remains of a namespace whose mount is gone would prevent a new one.
        with contextlib.suppress(LabError):
            run("ip", "netns", "delete", NAMESPACE)
        run("ip", "netns", "add", NAMESPACE)
    _ip("link", "set", "lo", "up")
    _ensure_bridge(site.plan.bootstrap.bridge, [*site.provisioners, *map(ip_interface, site.services)])
    media = ip_address(site.twin.options["media"]["address"])
    bmcs = {media, *(bmc.address for bmc in site.bmcs.values())} - {each.ip for each in site.provisioners}
    _ensure_bridge(BMC_BRIDGE, [ip_interface(address) for address in sorted(bmcs, key=str)])
    RESOLV_CONF.parent.mkdir(parents=True, exist_ok=True)
    servers = "".join(f"nameserver {each.ip}\n" for each in site.provisioners)
    RESOLV_CONF.write_text(f"# The rehearsal's namespace: the site's DNS.\n{servers}")


def namespace_exists() -> bool:
    """Whether the namespace exists and is usable."""
    try:
        _ip("link", "show", "lo")
    except LabError:
        return False
    return True


def remove_network() -> None:
    """End every process in the namespace (servers, and processes started with `exec`), then remove it."""
    if not namespace_exists():
        return
    mine = ancestors()
    for _ in range(_ROUNDS):  # a process may start another one while it ends
        found = {int(pid) for pid in run("ip", "netns", "pids", NAMESPACE).split()} - mine
        for pid in found:
            end_process(pid)
    run("ip", "netns", "delete", NAMESPACE)
    RESOLV_CONF.unlink(missing_ok=True)
    with contextlib.suppress(OSError):
        RESOLV_CONF.parent.rmdir()


def ensure_dnsmasq(site: Site) -> None:
    """Run DHCP and DNS as the installer's documentation requires; restart them if the plan changed."""
    config, wanted = DNS / "dnsmasq.conf", _dnsmasq_conf(site)
    unchanged = config.exists() and config.read_text() == wanted
    if dnsmasq.pid and unchanged:
        return
    dnsmasq.stop()
    config.write_text(wanted)
    run("dnsmasq", "--test", f"--conf-file={config}")
    dnsmasq.start("dnsmasq", "--keep-in-foreground", "--log-facility=-", f"--conf-file={config}")
    own = [each.ip for each in site.provisioners]
    dnsmasq.await_ready(lambda: all(is_listening("udp", each, 53) for each in own), _DNS_DEADLINE_S)


def socket_of(address: Address, port: int) -> str:
    """Return `address:port` as configs and tools write it, IPv6 in brackets."""
    return f"[{address}]:{port}" if address.version == IPV6 else f"{address}:{port}"


def is_listening(protocol: str, address: Address, port: int) -> bool:
    """Whether a socket of the namespace is bound to exactly this address and port."""
    sockets = run("ip", "netns", "exec", NAMESPACE, "ss", "-Hln", f"--{protocol}", "sport", "=", f":{port}")
    return f" {socket_of(address, port)} " in sockets


def _dnsmasq_conf(site: Site) -> str:
    plan = site.plan
    machines = [(plan.bootstrap, plan.bootstrap.mac), *((each, each.boot_mac) for each in plan.servers)]
    bmcs = sorted({(bmc.name, bmc.address) for bmc in site.bmcs.values() if parse_address(bmc.name) is None})
    values = {"site": site, "plan": plan, "machines": machines, "bmcs": bmcs, "registry": REGISTRY, "state": DNS}
    return render("site/files/dnsmasq.conf.j2", **values)


def _ensure_bridge(name: str, addresses: Sequence[Interface]) -> None:
    """Make a bridge with these addresses and a link-local one, usable at once, since it has no other machine yet."""
    try:
        _ip("link", "show", name)
    except LabError:
        # Ports forward at once, and no querier is needed for VRRP's multicast.
        _ip("link", "add", name, "type", "bridge", "stp_state", "0", "forward_delay", "0", "mcast_snooping", "0")
        # The kernel would add one only when the first machine is there, and then test it for a second.
        _ip("link", "set", "dev", name, "addrgenmode", "none")
    for address in (_LINK_LOCAL, *(each for each in addresses if each.ip != _LINK_LOCAL.ip)):
        _ip("address", "replace", str(address), "dev", name, *(["nodad"] if address.version == IPV6 else []))
    _ip("link", "set", name, "up")


def _ip(*words: str) -> str:
    return run("ip", "-n", NAMESPACE, *words)
