"""The site's own DHCP server on an Unmanaged provisioning network, and a foreign one that must not be there."""

import contextlib
from collections.abc import Iterator

from assets.boot_server import boot_script
from assets.contract import TFTP
from assets.render import TEMPLATES as FILES
from cluster.install_config.platform import UNMANAGED
from cluster.plan import Role
from lab.inventory import Site
from lab.nics import provisioning_bridge
from lab.paths import DNS, FOREIGN, LOG, NAMESPACE
from lab.shell import LabError, run
from lab.site.network import ensure_serves, is_listening, remove_namespace
from lab.site.processes import Daemon, wait_until
from lab.templates import render

FOREIGN_MAC = "02:00:00:5e:5e:01"
"""MAC of `foreign_dhcp`."""
_DEBIANS_IPXE = "/usr/lib/ipxe"
_TFTP_PORT = 69
_DEADLINE_S = 5.0

daemon = Daemon("provisioning-dnsmasq")
CONFIG = DNS / f"{daemon.name}.conf"


def ensure_provisioning(site: Site) -> None:
    """Run the services of an Unmanaged site's provisioning network: DHCP, and iPXE by TFTP."""
    if site.plan.provisioning.mode == UNMANAGED:
        addresses = [own.ip for own in site.on_provisioning]
        ensure_serves(
            daemon,
            _dnsmasq_conf(site),
            lambda: all(is_listening("udp", address, _TFTP_PORT) for address in addresses),
        )


@contextlib.contextmanager
def foreign_dhcp(site: Site) -> Iterator[str]:
    """Run a machine on the provisioning network that answers all DHCP requests, which a Managed network forbids.

    Yields:
        The machine's MAC.

    Raises:
        LabError: The site has no provisioning network.
    """
    bridge, network = provisioning_bridge(site.plan), site.plan.provisioning.cidr
    if bridge is None or network is None:
        raise LabError(f"{site.twin.stack} has no provisioning network. Fix: name a stack that has one")
    remove_namespace(FOREIGN)
    run("ip", "netns", "add", FOREIGN)
    try:
        peer = ("type", "veth", "peer", "name", "foreign-dhcp", "netns", NAMESPACE)
        run("ip", "-n", FOREIGN, "link", "add", "eth0", "address", FOREIGN_MAC, *peer)
        run("ip", "-n", FOREIGN, "address", "add", f"{network[-2]}/{network.prefixlen}", "dev", "eth0")
        run("ip", "-n", FOREIGN, "link", "set", "eth0", "up")
        run("ip", "-n", NAMESPACE, "link", "set", "foreign-dhcp", "master", bridge, "up")
        port = ("bridge", "-n", NAMESPACE, "link", "show", "dev", "foreign-dhcp")
        wait_until(lambda: "state forwarding" in run(*port), f"a port of {bridge} that forwards", _DEADLINE_S)
        serves = (f"--dhcp-range={network[1]},{network[-3]}", "--leasefile-ro", "--dhcp-authoritative")
        quiet = ("--port=0", "--no-ping", "--pid-file=", f"--log-facility={LOG / 'foreign-dhcp.log'}")
        # dnsmasq is ready when its first process ends; its daemon ends with the namespace.
        run("ip", "netns", "exec", FOREIGN, "dnsmasq", "--conf-file=/dev/null", "--user=root", *serves, *quiet)
        yield FOREIGN_MAC
    finally:
        with contextlib.suppress(LabError):  # the kernel would remove it some moments after the namespace
            run("ip", "-n", FOREIGN, "link", "delete", "eth0")
        remove_namespace(FOREIGN)


def _dnsmasq_conf(site: Site) -> str:
    plan, script = site.plan, boot_script(site.plan, Role.COMPUTE)
    template = FILES.get_template(f"common/boot-files{'-ipv6' if plan.boots_over_ipv6 else ''}.conf.j2")
    own = site.on_provisioning[0].ip
    files = template.render(script=script, address=own).replace(TFTP, _DEBIANS_IPXE)
    values = {"plan": plan, "network": plan.provisioning.cidr, "files": files, "state": DNS}
    return render("site/files/provisioning.conf.j2", **values)
