"""Gives the machines their addresses: those that the options name, else those of the install-config."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeVar

from base.errors import Fault
from cluster.options import MachineOptions, MediaSource
from cluster.plan.model import BootstrapHost, Intent, PlannedHost
from cluster.plan.node_addresses import asks_dhcp, on_machine_network
from cluster.values.address import Address, Network, in_any
from cluster.values.balancer import Balancer
from cluster.values.platform import ClusterPlatform

CONFIG = "config"
"""`where` of the faults of the stack's options."""
M = TypeVar("M", PlannedHost, BootstrapHost)


class _AddressClaim(NamedTuple):
    """One address of one machine, and the setting that names it."""

    machine: str
    source: str
    """`config`, or the path of the install-config."""
    path: str
    address: Address


def assign_addresses(intent: Intent, options: MachineOptions, file: str) -> tuple[Intent, list[Fault]]:
    """Return the intent with the options of `MachineOptions` applied.

    Args:
        intent: The intent with the addresses that the install-config itself names.
        options: The options.
        file: The install-config's path, for the faults.

    Returns:
        The intent, and the faults of the options.
    """
    vrids = _vrids(intent, options)
    own = intent.balancer is not Balancer.SITE
    claimed = [vrid for vip, vrid in vrids.items() if own or vip == "provisioning"]
    faults = [fault.within(CONFIG) for fault in _contradictions(intent, options)]
    if shared := [vrid for vrid, count in Counter(claimed).items() if count > 1]:
        what = f"{_listed(shared)} is the VRID of several VIPs"
        faults.append(Fault(f"{CONFIG}: vrids", what, "give each VIP another VRID"))
    claims = list(_claims(intent, options, file))
    faults += [*_outside_machine_networks(intent, claims), *_unreachable_vips(intent, claims, file)]
    primary, vrrp = intent.api.address.version, options.vrrp
    named = options.node_addresses
    return intent.changed(
        hosts=tuple(_with_addresses(host, named.get(host.name, ()), primary) for host in intent.hosts),
        bootstrap=_with_addresses(intent.bootstrap, options.bootstrap.address, primary),
        api=intent.api.changed(vrid=vrids["api"], transport=vrrp.api, policy=vrrp.policy),
        ingress=intent.ingress.changed(vrid=vrids["ingress"], transport=vrrp.ingress),
        provisioning=intent.provisioning.changed(vrid=vrids.get("provisioning")),
        platform=options.platform,
        balancer=_balancer(intent, options),
        runtime=options.runtime,
        images=options.images,
        media=MediaSource(**options.media.model_dump(include=set(MediaSource.model_fields), exclude_unset=True)),
    ), faults


def _balancer(intent: Intent, options: MachineOptions) -> Balancer:
    own = intent.balancer is Balancer.CLUSTER
    return Balancer.OPERATOR if own and options.platform is ClusterPlatform.BAREMETAL else intent.balancer


def _vrids(intent: Intent, options: MachineOptions) -> dict[str, int]:
    """Return the VRID of each VIP: that of an option, else that which follows from the cluster's name."""
    derived = {
        "api": intent.api.vrid,
        "ingress": intent.ingress.vrid,
        "provisioning": intent.provisioning.vrid,
    }
    return {name: getattr(options.vrids, name) or vrid for name, vrid in derived.items() if vrid}


def _with_addresses(machine: M, named: tuple[Address, ...], primary: int) -> M:
    """Return the machine with the addresses that its option names, and its own of other families, primary first."""
    addresses = sorted([*named, *_not_named(machine, named)], key=lambda address: address.version != primary)
    return machine.changed(addresses=tuple(addresses))


def _not_named(machine: PlannedHost | BootstrapHost, named: tuple[Address, ...]) -> list[Address]:
    """Return the machine's own addresses of the families of which its option names none."""
    families = {address.version for address in named}
    return [address for address in machine.addresses if address.version not in families]


def _contradictions(intent: Intent, options: MachineOptions) -> Iterator[Fault]:
    """Yield the options that contradict the install-config about the same machine."""
    known = {host.name: host for host in intent.hosts}
    for name, addresses in options.node_addresses.items():
        path = f"node_addresses.{name}"
        if name not in known:
            yield Fault(path, "no such host", "remove it, or write the name of a host")
        elif other := _impossible(intent, known[name], addresses):
            own = [static.address for interface in known[name].network.up for static in interface.addresses]
            what = f"{_listed(other)}, but the host's networkConfig sets {_listed(own) or 'none, and asks no DHCP'}"
            yield Fault(path, what, "keep one of the two" if own else "remove it, and correct the networkConfig")
    static = intent.bootstrap.static
    for address in options.bootstrap.address:
        if static and address.version == static.address.version and address != static.address:
            what = f"{address}, but bootstrapExternalStaticIP is {static.address}"
            yield Fault("bootstrap.address", what, "keep one of the two")


def _impossible(intent: Intent, host: PlannedHost, addresses: tuple[Address, ...]) -> list[Address]:
    """Return the addresses that neither the host's networkConfig sets nor DHCP may give it."""
    static = {static.address for interface in on_machine_network(intent, host) for static in interface.addresses}
    return [each for each in addresses if each not in static and not asks_dhcp(intent, host, each.version)]


def _claims(intent: Intent, options: MachineOptions, file: str) -> Iterator[_AddressClaim]:
    for index, host in enumerate(intent.hosts):
        named = options.node_addresses.get(host.name, ())
        for number, address in enumerate(named):
            yield _AddressClaim(host.name, CONFIG, f"node_addresses.{host.name}[{number}]", address)
        for address in _not_named(host, named):
            yield _AddressClaim(host.name, file, f"platform.baremetal.hosts[{index}].networkConfig", address)
    bootstrap, named = intent.bootstrap, options.bootstrap.address
    for address in named:
        yield _AddressClaim(bootstrap.name, CONFIG, "bootstrap.address", address)
    for address in _not_named(bootstrap, named):
        yield _AddressClaim(bootstrap.name, file, "platform.baremetal.bootstrapExternalStaticIP", address)


def _outside_machine_networks(intent: Intent, claims: list[_AddressClaim]) -> Iterator[Fault]:
    networks = list(intent.machine_networks)
    for _, source, path, address in claims:
        if not in_any(address, networks):
            what = f"{address} is outside machineNetwork {_listed(networks)}"
            yield Fault(f"{source}: {path}", what, "write an address of that network")


def _unreachable_vips(intent: Intent, claims: list[_AddressClaim], file: str) -> Iterator[Fault]:
    """Yield the machines that are outside the network of a VIP that they claim, and the VIPs without any machine.

    A machine holds a VIP on its interface with an address in the VIP's network.
    """
    families = [address.version for address in intent.api.addresses]
    for name, vip in (("API", intent.api), ("Ingress", intent.ingress)):
        machines = [server.name for server in intent.servers if vip in intent.vips_of(server.role)]
        if machines and vip is intent.api:
            machines.append(intent.bootstrap.name)
        for number, (address, network) in enumerate(zip(vip.addresses, vip.networks, strict=True)):
            where = f"{file}: platform.baremetal.{name.lower()}VIPs[{number}]"
            if machines and network.version not in families:
                what = f"{address}: the machines have no IPv{network.version} address, because apiVIPs has none"
                yield Fault(where, what, f"add an API VIP of IPv{network.version}, or remove it")
            own = [claim for claim in claims if claim.machine in machines]
            outside = [
                claim for claim in _first_addresses(intent, own, network.version) if claim.address not in network
            ]
            if outside and len(outside) == len(machines):
                what = f"{address}: no machine is on this VIP's network {network}"
                yield Fault(where, what, "choose it from the network of the machines, or move them to that network")
            else:
                yield from (_outside(claim, name, network) for claim in outside)


def _outside(claim: _AddressClaim, name: str, network: Network) -> Fault:
    what = f"{claim.address} is outside {network}, the network of the {name} VIP, which this machine claims"
    return Fault(f"{claim.source}: {claim.path}", what, "write an address of that network")


def _first_addresses(intent: Intent, claims: list[_AddressClaim], version: int) -> list[_AddressClaim]:
    """Return the first address of a family of each machine: that by which keepalived claims a VIP.

    An address outside of every machine network has a line already.
    """
    family = [network for network in intent.machine_networks if network.version == version]
    first = dict[str, _AddressClaim]()
    for claim in claims:
        if in_any(claim.address, family):
            first.setdefault(claim.machine, claim)
    return list(first.values())


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values))
