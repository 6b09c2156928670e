"""Values without which no files can be rendered: addresses of machines, and the services' images."""

from collections.abc import Iterator
from dataclasses import dataclass

from base.errors import Fault
from cluster.install_config.platform import BARE, DISABLED
from cluster.options import Images
from cluster.plan.model import BootstrapHost, Intent, Server
from cluster.plan.node_addresses import asks_dhcp, has_static, unused

MEDIA = "media.address"


@dataclass(frozen=True)
class Missing(Fault):
    """An address, or the services' images; `where` is the option that would name it."""

    version: int | None = None
    """4 or 6 for an address. None: the images are missing."""


def missing(intent: Intent) -> list[Missing]:
    """Return all missing values that files need.

    An address per machine and family of the API VIP; that of the media server, which machines lead boots to; images.
    """
    of_servers = [value for server in intent.servers for value in _addresses(intent, server)]
    return [*of_servers, *_addresses(intent, intent.bootstrap), *_media(intent), *_images(intent)]


def never_addressed(intent: Intent) -> Iterator[Fault]:
    """Yield each `networkConfig` by which a server gets no address on the machine network, not even by DHCP."""
    for index, host in enumerate(intent.hosts):
        for value in _addresses(intent, host) if isinstance(host, Server) else ():
            version = value.version or 0
            if not asks_dhcp(intent, host, version) and not has_static(intent, host, version):
                yield Fault(f"{BARE}.hosts[{index}].networkConfig", value.what, value.fix)


def option_of(machine: Server | BootstrapHost) -> str:
    """Return the option that names a machine's addresses."""
    return "bootstrap.address" if isinstance(machine, BootstrapHost) else f"node_addresses.{machine.name}"


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
