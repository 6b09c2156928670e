"""What an inventory contradicts of a plan: disks that hints name, cards, and sizes."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

from base.errors import Fault
from cluster.inventory.model import GIB, HDD, DiscoveredServer, Disk, Inventory
from cluster.plan.model import Intent, Server
from cluster.values.disk_hints import Hints, as_compared, in_words
from cluster.values.role import Role

LEAST: Mapping[Role, tuple[int, int]] = {Role.CONTROL_PLANE: (4, 16), Role.ARBITER: (2, 8), Role.COMPUTE: (2, 8)}
"""Threads and GB of memory of each role.

Sources: openshift-docs 001ad1fec, modules/installation-minimum-resource-requirements.adoc; of an arbiter,
assisted-service 063b25795.
"""
LEAST_ALONE = (8, 16)
"""The same of a cluster's only server (openshift-docs, install-sno-requirements-for-installing-on-a-single-node)."""
MIB_OF_GB = 10**9 / 2**20
AGAIN = "correct it; or, if the servers have changed since, write what `discover --json` prints into inventory.json"
HALF_WWN = len("0x") + 16
"""Characters of udev's ID_WWN, which has the first half of a long WWN (systemd, scsi_id)."""


def _has_serial(disk: Disk, wanted: str) -> bool | None:
    """Return whether udev may call a disk so: its serial number, alone or behind its model, or its WWN's digits."""
    names = disk.serial.lower(), disk.wwn.lower().removeprefix("0x")
    return any(name and wanted.endswith(name) for name in names) if disk.serial else None


def _has_wwn(disk: Disk, wanted: str) -> bool | None:
    wwn = disk.wwn.lower()
    return wanted in (wwn, wwn[:HALF_WWN]) if wwn else None


HINTS: Mapping[str, Callable[[Disk, str], bool | None]] = {
    "serialNumber": _has_serial,
    "wwn": _has_wwn,
    "model": lambda disk, wanted: wanted in disk.model.lower() if disk.model else None,
    "minSizeGigabytes": lambda disk, wanted: (
        None if disk.size_bytes is None else disk.size_bytes // GIB >= int(wanted)
    ),
    "rotational": lambda disk, wanted: (disk.media == HDD) is (wanted == "true") if disk.media else None,
}
"""Whether a disk has what a hint wants, by ironic's rules (`boot_media/disk.py`). None: the BMC does not tell.

No BMC tells what the other hints name: names of devices, HCTL, vendors, parts of WWNs.
"""


def contradictions(intent: Intent, inventory: Inventory) -> Iterator[Fault]:
    """Yield what servers of a plan want, and the inventory has otherwise, each with the inventory's date."""
    for fault in _contradictions(intent, inventory):
        yield replace(fault, what=f"by the inventory of {inventory.dated:%Y-%m-%d}: {fault.what}")


def _contradictions(intent: Intent, inventory: Inventory) -> Iterator[Fault]:
    owners = {card.mac: server for server in inventory.servers for card in server.cards if card.mac}
    known = [(host, server) for host in intent.servers if (server := _server_of(host, inventory))]
    for host, server in known:
        for what, mac in _macs(host):
            yield from _of_mac(host, server, f"{what} {mac}", owners.get(mac))
        yield from _of_disks(host, server)
        yield from _of_size(server, host.name, *(LEAST[host.role] if len(intent.servers) > 1 else LEAST_ALONE))
    yield from _of_pool(intent.ingress_role, known)


def _macs(host: Server) -> Iterator[tuple[str, str]]:
    """Yield the MACs by which a host wants cards of its own: what each is for, and the MAC."""
    yield "boot MAC", host.boot_mac
    for interface in host.network.up:
        if interface.by_mac and interface.mac and interface.mac != host.boot_mac:
            yield f"networkConfig.{interface.path}.mac-address", interface.mac


def _of_mac(host: Server, server: DiscoveredServer, what: str, owner: DiscoveredServer | None) -> Iterator[Fault]:
    if owner is not None and owner is not server:
        what = f"{what} is of a card of the server behind {owner.bmc}, not of {server.bmc}"
        yield Fault(host.name, what, AGAIN)
    elif owner is None and server.cards and all(card.mac for card in server.cards):
        yield Fault(host.name, f"{what} is of no card that its BMC tells", AGAIN)


def _of_pool(role: Role, known: Sequence[tuple[Server, DiscoveredServer]]) -> Iterator[Fault]:
    """Yield the CPUs of the servers for virtual machines, if they differ.

    Source: openshift-docs, virt/install/preparing-cluster-for-virt: all nodes of a pool have one type of CPU.
    """
    names = dict[str, list[str]]()
    for host, server in known:
        if host.role is role and server.cpu.model:
            names.setdefault(server.cpu.model, []).append(host.name)
    if len(names) > 1:
        kinds = "; ".join(f"{model} in {', '.join(hosts)}" for model, hosts in names.items())
        what = f"CPUs differ: {kinds}: between them, OpenShift Virtualization may move no virtual machine live"
        yield Fault(role, what, "if it is to, take servers with one type of CPU")


def _server_of(host: Server, inventory: Inventory) -> DiscoveredServer | None:
    """Return the server behind a host's BMC; None if it was not read, or the address names none of several."""
    url = host.bmc.url
    if url.system_id:
        return next((it for it in inventory.servers if it.bmc == f"{url.base}{url.system_id}"), None)
    behind = [it for it in inventory.servers if it.bmc.startswith(f"{url.base}/")]
    return behind[0] if len(behind) == 1 else None


def _of_disks(host: Server, server: DiscoveredServer) -> Iterator[Fault]:
    hints = as_compared(host.root_device_hints.given)
    if not hints or not server.disks:
        return
    fits = [_fits(disk, hints) for disk in server.disks]
    sure = [disk for disk, fit in zip(server.disks, fits, strict=True) if fit]
    if len(sure) > 1:
        named = " and ".join(map(str, sure))
        what = f"{in_words(hints)} match {named}: {len(sure)} disks; the live system would take the first"
        yield Fault(host.name, what, "name one disk by its serialNumber")
    elif all(fit is False for fit in fits):
        named = ", ".join(map(str, server.disks))
        yield Fault(host.name, f"{in_words(hints)} match none of its disks: {named}", AGAIN)


def _fits(disk: Disk, hints: Hints) -> bool | None:
    """Return whether a disk has what all hints want. None: the BMC does not tell all of it."""
    each = [HINTS[name](disk, wanted) if name in HINTS else None for name, wanted in hints.items()]
    return False if False in each else None if None in each else True


def _of_size(server: DiscoveredServer, where: str, threads: int, memory_gb: int) -> Iterator[Fault]:
    seen_gb = None if server.memory_mib is None else server.memory_mib / MIB_OF_GB
    fix = "take another server for it"
    if seen_gb is not None and seen_gb < memory_gb:
        yield Fault(where, f"{seen_gb:.0f} GB of memory, and a server of its role wants {memory_gb}", fix)
    if server.cpu.threads is not None and server.cpu.threads < threads:
        yield Fault(where, f"{server.cpu.threads} CPU threads, and a server of its role wants {threads}", fix)
