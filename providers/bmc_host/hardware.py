"""What a refresh says of a server's cards and disks: what the kept inventory has otherwise."""

from contextlib import closing
from dataclasses import replace

from base.errors import BmcError, ConfigError
from base.log import stack_of
from cluster.inventory.drift import changes
from cluster.inventory.file import inventory_file, read_inventory
from providers.bmc_host.model import BmcHostSpec


def changed_since_inventory(spec: BmcHostSpec) -> str:
    """Return what has changed, or was not read, in one line. Empty: nothing, or there is no inventory of it."""
    file = inventory_file(stack_of(spec.urn))
    if spec.bmc.url.speaks_ipmi or not file.exists():
        return ""
    try:
        inventory = read_inventory(file)
    except ConfigError as error:
        return f"not compared with its inventory: {error.fault}"
    kept = inventory.server_at(spec.bmc.url)
    if kept is None:
        return ""
    from wires.redfish.inventory.discovery import DISCOVERY_LIMITS, BmcDiscovery  # noqa: PLC0415  (imports sushy)

    limits = replace(DISCOVERY_LIMITS, whole_s=spec.deadline_s)
    try:
        with closing(BmcDiscovery(spec.bmc, spec.password, limits)) as bmc:
            found = [*changes(kept, bmc.cards_and_disks())]
    except BmcError as error:
        return f"not compared with its inventory: {error.fault.what}"
    return f"since the inventory of {inventory.dated:%Y-%m-%d}: {'; '.join(found)}" if found else ""
