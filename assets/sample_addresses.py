"""Addresses that nothing names: which they are, and made-up ones for a look at the files."""

from collections.abc import Iterator

from assets.errors import AssetError
from cluster.addresses import Address, Network, parse_address
from cluster.plan import Intent

Missing = tuple[str, int]
"""The option that would name an address, and its IP version."""


def missing_addresses(intent: Intent) -> list[Missing]:
    """What must be known of every machine before its peers' files can be rendered, and is not."""
    families: list[int] = [vip.version for vip in intent.api.addresses]
    found = [
        (_option(server.name), version)
        for server in intent.servers
        for version in families
        if version not in {address.version for address in server.addresses}
    ]
    return found if intent.bootstrap.address else [*found, ("bootstrap.address", families[0])]


def with_samples(intent: Intent) -> tuple[Intent, dict[Missing, Address]]:
    """The intent with every missing address made up, the same for the same input.

    Returns:
        The intent, and what was made up.

    Raises:
        AssetError: A machine network has too few addresses left.
    """
    homes: dict[int, Network] = {network.version: network for network in intent.api.networks}
    free = {version: _free(intent, network) for version, network in homes.items()}
    made = dict[Missing, Address]()
    for option, version in missing_addresses(intent):
        address = next(free[version], None)
        if address is None:
            raise AssetError(f"{option}: {homes[version]} has no address left for a sample; name it")
        made[option, version] = address
    hosts = []
    for host in intent.hosts:
        samples = [made[_option(host.name), version] for version in homes if (_option(host.name), version) in made]
        # The primary family, which is the first of the homes, stays first.
        addresses = sorted((*host.addresses, *samples), key=lambda each: list(homes).index(each.version))
        hosts.append(host.model_copy(update={"addresses": tuple(addresses)}))
    own = intent.bootstrap.address or made["bootstrap.address", intent.api.address.version]
    bootstrap = intent.bootstrap.model_copy(update={"address": own})
    return intent.model_copy(update={"hosts": tuple(hosts), "bootstrap": bootstrap}), made


def _option(host: str) -> str:
    return f"node_addresses.{host}"


def _free(intent: Intent, network: Network) -> Iterator[Address]:
    """Addresses of a network that nothing in the install-config or the options has, the lowest first."""
    taken = {*intent.api.addresses, *intent.ingress.addresses, intent.bootstrap.address}
    for host in intent.hosts:
        taken |= {*host.addresses, parse_address(host.bmc.url.host)}
    return (address for address in network.hosts() if address not in taken)
