"""Made-up addresses and images, with which files can be rendered before the inputs name the real ones."""

from collections.abc import Iterator
from typing import TypeVar

from base.errors import ConfigError, Fault
from cluster.options import Images
from cluster.plan import Intent
from cluster.plan.model import BootstrapHost, PlannedHost, Server
from cluster.plan.refusals.missing import MEDIA, Missing, missing, option_of
from cluster.values.address import Address, Network

M = TypeVar("M", Server, BootstrapHost)
RELEASE = f"registry.example.com/sample/release@sha256:{'0' * 64}"


def with_samples(intent: Intent) -> tuple[Intent, dict[Missing, str]]:
    """Return the intent with samples for all missing values. The same input gives the same samples.

    Returns:
        The intent, which names the samples, too; and the samples.

    Raises:
        ConfigError: A machine network has too few free addresses.
    """
    networks: dict[int, Network] = {network.version: network for network in intent.api.networks}
    free = {version: free_addresses(intent, network) for version, network in networks.items()}
    made = dict[Missing, str]()
    new = dict[str, list[Address]]()
    for value in missing(intent):
        if value.version is None:
            made[value] = RELEASE
            continue
        address = next(free[value.version], None)
        if address is None:
            what = f"{networks[value.version]} has no free address for a sample"
            raise ConfigError(Fault(value.where, what, "name the address"))
        made[value] = str(address)
        new.setdefault(value.where, []).append(address)
    families = list(networks)
    complete = intent.changed(
        hosts=tuple(_host(host, new, families) for host in intent.hosts),
        bootstrap=_with(intent.bootstrap, new, families),
        images=Images(release=RELEASE) if RELEASE in made.values() else intent.images,
        media=intent.media.changed(address=new[MEDIA][0]) if MEDIA in new else intent.media,
        named_addresses=intent.named_addresses.union(*new.values()),
    )
    return complete, made


def _host(host: PlannedHost, new: dict[str, list[Address]], families: list[int]) -> PlannedHost:
    return _with(host, new, families) if isinstance(host, Server) else host


def _with(machine: M, new: dict[str, list[Address]], families: list[int]) -> M:
    """Return the machine with its new addresses, in the order of `families`: the primary family first."""
    addresses = (*machine.addresses, *new.get(option_of(machine), ()))
    ordered = sorted(addresses, key=lambda value: value.version != families[0])
    return machine.changed(addresses=tuple(ordered))


def free_addresses(intent: Intent, network: Network) -> Iterator[Address]:
    """Yield the addresses of a network that neither the install-config nor the options name, lowest first."""
    return (address for address in network.hosts() if address not in intent.named_addresses)
