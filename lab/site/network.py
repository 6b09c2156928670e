"""The site's network: an isolated namespace, two bridges, DHCP and DNS."""

import contextlib
from collections.abc import Sequence
from ipaddress import ip_interface

from cluster.values.address import Address
from lab.inventory import Site
from lab.paths import DNS, NAMESPACE, RESOLV_CONF
from lab.shell import LabError, run
from lab.site.processes import Daemon, ancestors, end_process
from lab.templates import render
from lab.twin import REGISTRY

BMC_BRIDGE = "bmc"
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
    _ensure_bridge(site.plan.bootstrap.bridge, [str(site.provisioner), *map(str, site.services)])
    media = site.twin.options["media"]["address"]
    bmcs = {str(bmc.address) for bmc in site.bmcs.values()}
    _ensure_bridge(BMC_BRIDGE, sorted({media, *bmcs} - {str(site.provisioner.ip)}))
    RESOLV_CONF.parent.mkdir(parents=True, exist_ok=True)
    RESOLV_CONF.write_text(f"# The rehearsal's namespace: the site's DNS.\nnameserver {site.provisioner.ip}\n")


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
    dnsmasq.await_ready(lambda: is_listening("udp", site.provisioner.ip, 53), _DNS_DEADLINE_S)


def is_listening(protocol: str, address: Address, port: int) -> bool:
    """Whether a socket of the namespace is bound to exactly this address and port."""
    sockets = run("ip", "netns", "exec", NAMESPACE, "ss", "-Hln", f"--{protocol}", "sport", "=", f":{port}")
    return f" {address}:{port} " in sockets


def _dnsmasq_conf(site: Site) -> str:
    plan = site.plan
    machines = [(plan.bootstrap, plan.bootstrap.mac), *((each, each.boot_mac) for each in plan.servers)]
    bmcs = sorted({(bmc.name, bmc.address) for bmc in site.bmcs.values() if bmc.name != str(bmc.address)})
    values = {"site": site, "plan": plan, "machines": machines, "bmcs": bmcs, "registry": REGISTRY, "state": DNS}
    return render("site/files/dnsmasq.conf.j2", **values)


def _ensure_bridge(name: str, addresses: Sequence[str]) -> None:
    """Make a bridge with these addresses; one without a prefix length is alone in its network."""
    try:
        _ip("link", "show", name)
    except LabError:
        # Ports forward at once, and no querier is needed for VRRP's multicast.
        _ip("link", "add", name, "type", "bridge", "stp_state", "0", "forward_delay", "0", "mcast_snooping", "0")
    for address in addresses:
        _ip("address", "replace", str(ip_interface(address)), "dev", name)
    _ip("link", "set", name, "up")


def _ip(*words: str) -> str:
    return run("ip", "-n", NAMESPACE, *words)
