"""The site's network: an isolated namespace, two bridges, DHCP and DNS."""

import contextlib
from ipaddress import IPv4Address, IPv4Interface

from cluster.plan import Intent
from lab.inventory import REGISTRY, STATIC, Site
from lab.shell import LabError, run
from lab.site.paths import DNS, NAMESPACE, RESOLV_CONF
from lab.site.processes import Daemon, ancestors, end_process
from lab.templates import render

_DNS_DEADLINE_S = 10.0
_ROUNDS = 3

dnsmasq = Daemon("dnsmasq")


def provisioner_address(plan: Intent) -> IPv4Interface:
    """Return the provisioner's address on the machine network: the first one."""
    network = plan.machine_networks[0]
    return IPv4Interface(f"{network[1]}/{network.prefixlen}")


def ensure_network(site: Site) -> None:
    """Make the namespace, the bridges `baremetal` and `provisioning`, and the namespace's resolv.conf."""
    if not namespace_exists():
        # The remains of a namespace whose mount is gone would prevent a new one.
        with contextlib.suppress(LabError):
            run("ip", "netns", "delete", NAMESPACE)
        run("ip", "netns", "add", NAMESPACE)
    _ip("link", "set", "lo", "up")
    _ensure_bridge("baremetal", provisioner_address(site.plan))
    _ensure_bridge("provisioning", IPv4Interface(f"{site.bmc.address}/24"))
    RESOLV_CONF.parent.mkdir(parents=True, exist_ok=True)
    RESOLV_CONF.write_text(
        f"# The rehearsal's namespace: the site's DNS.\nnameserver {provisioner_address(site.plan).ip}\n"
    )


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


def ensure_dnsmasq(plan: Intent) -> None:
    """Run DHCP and DNS as the installer's documentation requires; restart them if the plan changed."""
    config, wanted = DNS / "dnsmasq.conf", _dnsmasq_conf(plan)
    unchanged = config.exists() and config.read_text() == wanted
    if dnsmasq.pid and unchanged:
        return
    dnsmasq.stop()
    config.write_text(wanted)
    run("dnsmasq", "--test", f"--conf-file={config}")
    dnsmasq.start("dnsmasq", "--keep-in-foreground", "--log-facility=-", f"--conf-file={config}")
    address = provisioner_address(plan).ip
    dnsmasq.await_ready(lambda: is_listening("udp", address, 53), _DNS_DEADLINE_S)


def is_listening(protocol: str, address: IPv4Address, port: int) -> bool:
    """Whether a socket of the namespace is bound to exactly this address and port."""
    sockets = run("ip", "netns", "exec", NAMESPACE, "ss", "-Hln", f"--{protocol}", "sport", "=", f":{port}")
    return f" {address}:{port} " in sockets


def _dnsmasq_conf(plan: Intent) -> str:
    own = provisioner_address(plan)
    reserved = [(plan.bootstrap, plan.bootstrap.mac), *((each, each.boot_mac) for each in plan.servers)]
    values = {"plan": plan, "reserved": reserved, "static": STATIC, "registry": REGISTRY, "state": DNS}
    return render("site/files/dnsmasq.conf.j2", network=own.network, address=own.ip, **values)


def _ensure_bridge(name: str, address: IPv4Interface) -> None:
    try:
        _ip("link", "show", name)
    except LabError:
        # Ports forward at once, and no querier is needed for VRRP's multicast.
        _ip("link", "add", name, "type", "bridge", "stp_state", "0", "forward_delay", "0", "mcast_snooping", "0")
    _ip("address", "replace", str(address), "dev", name)
    _ip("link", "set", name, "up")


def _ip(*words: str) -> str:
    return run("ip", "-n", NAMESPACE, *words)
