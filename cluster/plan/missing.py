"""What must be known before the machines' files can be made, and is named nowhere."""

from collections.abc import Iterator
from dataclasses import dataclass

from cluster.plan.model import BootstrapHost, Intent, Server


@dataclass(frozen=True)
class Missing:
    """An address of one machine, or the container image of one service."""

    option: str
    """The option that would name it."""
    what: str
    mend: str
    """What to do."""
    version: int | None = None
    """4 or 6, of an address; None: an image."""


def missing(intent: Intent) -> list[Missing]:
    """All of it: an address per machine and family of the API VIP; an image per service that podman runs."""
    found = [each for server in intent.servers for each in _addresses(intent, server)]
    return [*found, *_addresses(intent, intent.bootstrap), *_images(intent)]


def option_of(machine: Server | BootstrapHost) -> str:
    """The option that names a machine's addresses."""
    return "bootstrap.address" if isinstance(machine, BootstrapHost) else f"node_addresses.{machine.name}"


def _addresses(intent: Intent, machine: Server | BootstrapHost) -> Iterator[Missing]:
    mac = machine.mac if isinstance(machine, BootstrapHost) else machine.boot_mac
    named = {address.version for address in machine.addresses}
    for vip in intent.api.addresses:
        if vip.version not in named:
            mend = f"name the one that DHCP reserves for {mac}"
            yield Missing(option_of(machine), f"no IPv{vip.version} address", mend, vip.version)


def _images(intent: Intent) -> Iterator[Missing]:
    if intent.runtime == "podman":
        for service, image in intent.images:
            if not image:
                yield Missing(f"images.{service}", "no container image", "name one, or write `runtime: host`")
