"""The hosts that NetBox names, and what it says otherwise than the BMCs."""

from collections.abc import Iterator, Mapping, Sequence
from urllib.parse import urlsplit

from base.errors import ConfigError, Fault
from cluster.install_config import InstallConfig
from cluster.inventory.choice import DISK_RULE
from cluster.inventory.devices import CARD_RULE, Device
from cluster.inventory.hosts import Proposal, ProposedHost, faults_of, of_server, told_by
from cluster.inventory.model import Card, DiscoveredServer, Inventory
from cluster.plan.intent import replicas
from cluster.values.address import Address, parse_address, url_host
from cluster.values.role import Role

WHERE = "NetBox"
WITHOUT_BMCS = "No disk is named: NetBox has none. Without rootDeviceHints, it is /dev/sda."
WORDS = ", ".join(role.pool for role in Role)
Matches = Mapping[int, DiscoveredServer]
"""The server of each device whose BMC was read, by the device's index."""


def proposed_by_netbox(
    config: InstallConfig, devices: Sequence[Device], inventory: Inventory | None, where: str
) -> Proposal:
    """Return the hosts that a list of devices is to be: names, roles and cards are NetBox's, the rest is the BMCs'.

    Args:
        config: Its replicas are those of the list.
        devices: In the order of NetBox.
        inventory: What their BMCs told. None: they were not read.
        where: The file of the inventory.

    Raises:
        ConfigError: There are more devices or fewer, or one lacks what its entry needs.
    """
    chosen = _with_roles(devices, replicas(config))
    found = matches(devices, inventory) if inventory else {}
    faults = list[Fault]()
    for _, number in chosen:
        faults += _faults(devices[number], found.get(number), where if inventory else "")
    if faults:
        raise ConfigError(*faults)
    hosts = [
        _with_bmc(devices[number], role, found[number]) if number in found else _without_bmc(devices[number], role)
        for role, number in chosen
    ]
    rules = [
        f"Names, roles and cards are NetBox's. Roles: a device's role or tag that is {WORDS}, then NetBox's order.",
        f"bootMACAddress: {CARD_RULE}.",
    ]
    rules += [told_by(inventory), f"rootDeviceHints: {DISK_RULE}."] if inventory else [WITHOUT_BMCS]
    return Proposal(hosts, rules)


def _with_roles(devices: Sequence[Device], wanted: Mapping[Role, int]) -> list[tuple[Role, int]]:
    """Return each role with the index of its device: those that NetBox says, then the others in their order."""
    count = sum(wanted.values())
    if len(devices) != count:
        what = f"{len(devices)} devices have what the address filters by, and the replicas want {count}"
        fix = (
            "correct the filters (NetBox ignores one that it does not know), or controlPlane.replicas and "
            "compute.replicas"
        )
        raise ConfigError(Fault(WHERE, what, fix))
    told = {role: [n for n, device in enumerate(devices) if device.roles == {role}] for role in Role}
    faults = [
        Fault(f"{WHERE}: {device.title}", f"is {' and '.join(sorted(device.roles))}", "leave it one of them")
        for device in devices
        if len(device.roles) > 1
    ]
    faults += [
        Fault(WHERE, f"{len(of)} devices are {role}, and the replicas want {wanted[role]}", "correct one of them")
        for role, of in told.items()
        if len(of) > wanted[role]
    ]
    if faults:
        raise ConfigError(*faults)
    rest = iter([number for number, device in enumerate(devices) if not device.roles])
    return [
        (role, number)
        for role in Role
        for number in [*told[role], *(next(rest) for _ in range(wanted[role] - len(told[role])))]
    ]


def _with_bmc(device: Device, role: Role, server: DiscoveredServer) -> ProposedHost:
    return of_server(device.name, role, server, _card(device, server))


def _card(device: Device, server: DiscoveredServer) -> Card | None:
    """Return the card of a server that NetBox boots from; None if it is not there, or not known."""
    chosen = device.boot_card()[0]
    return next((card for card in server.cards if chosen and card.mac == chosen.mac), None)


def _without_bmc(device: Device, role: Role) -> ProposedHost:
    card = device.boot_card()[0]
    return ProposedHost(
        name=device.name,
        role=role,
        bmc=f"redfish-virtualmedia://{url_host(device.bmc)}",
        boot_mac=card.mac if card else "",
        hints={},
        about=f"{device.manufacturer} {device.model}, serial {device.serial or 'unknown'}",
        server=None,
    )


def _faults(device: Device, server: DiscoveredServer | None, file: str) -> Iterator[Fault]:
    """Yield what the entry of a device lacks.

    Args:
        device: The device.
        server: The one that its BMC told. None: it was not read.
        file: That of the inventory; empty if there is none.
    """
    at = f"{WHERE}: {device.title}"
    if not device.name:
        yield Fault(at, "no name", "give it the name of its host")
    if server:
        yield from faults_of(server, file, has_card=bool(_card(device, server)))
    elif file:
        named = f"the BMC address {device.bmc or 'that it lacks'}, the serial {device.serial or 'that it lacks'}"
        yield Fault(at, f"no server in {file} has {named} or one of its MACs", "discover its BMC, or correct NetBox")
    else:
        if not device.bmc:
            yield Fault(at, "no out-of-band IP", "give it that of its BMC, or discover the BMC and name --discover")
        if why := device.boot_card()[1]:
            yield Fault(at, f"boot MAC: {why}", "assign its primary IP to its card on the machine network")


def matches(devices: Sequence[Device], inventory: Inventory) -> Matches:
    """Return which server each device is: by its serial, else its BMC's address, else a MAC; each server once."""
    found = dict[int, DiscoveredServer]()
    for is_same in (_has_serial, _has_bmc, _has_mac):
        for number, device in enumerate(devices):
            if number not in found:
                left = [it for it in inventory.servers if it not in found.values() and is_same(device, it)]
                if len(left) == 1:
                    found[number] = left[0]
    return found


def _has_serial(device: Device, server: DiscoveredServer) -> bool:
    wanted = device.serial.casefold()
    return bool(wanted) and wanted in (server.serial.casefold(), server.tag.casefold())


def _has_bmc(device: Device, server: DiscoveredServer) -> bool:
    wanted = parse_address(device.bmc)
    return wanted is not None and wanted == _address(server)


def _has_mac(device: Device, server: DiscoveredServer) -> bool:
    return not {it.mac for it in device.cards}.isdisjoint(it.mac for it in server.cards)


def _address(server: DiscoveredServer) -> Address | None:
    """Return the address of its BMC; None if that is a name."""
    try:
        return parse_address(urlsplit(server.bmc).hostname or "")
    except ValueError:  # as of `https://[`, in a file that a person wrote
        return None


def differences(devices: Sequence[Device], inventory: Inventory) -> Iterator[str]:
    """Yield what NetBox and the BMCs say otherwise of each other's servers, by name. A gap of a BMC is none."""
    found = matches(devices, inventory)
    for number, device in enumerate(devices):
        if number in found:
            yield from (f"{device.title}: {line}" for line in _of_one(device, found[number]))
        else:
            yield f"{device.title}: no BMC that was read is its own"
    for server in inventory.servers:
        if server not in found.values():
            yield f"{server.bmc}: serial {server.tag or server.serial or 'unreported'}: not among NetBox's devices"


def _of_one(device: Device, server: DiscoveredServer) -> Iterator[str]:
    serial = server.tag or server.serial
    if serial and not _has_serial(device, server):
        yield f"serial: NetBox has {device.serial or 'none'}, the BMC {serial}"
    if (address := _address(server)) and not _has_bmc(device, server):
        yield f"BMC address: NetBox has {device.bmc or 'none'}, it was read at {address}"
    cards = {card.mac: card.name for card in server.cards if card.mac and not card.to_bmc}
    ports = {it.mac: it.name for it in device.cards}
    if cards:
        yield from (f"MAC {mac}: {name} in NetBox, on no card" for mac, name in ports.items() if mac not in cards)
    yield from (f"MAC {mac}: of the card {name}, not in NetBox" for mac, name in cards.items() if mac not in ports)
