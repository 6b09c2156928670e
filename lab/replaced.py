"""A site in which a part of a server was replaced: what is another one then, and what stays."""

import uuid
from dataclasses import replace

from cluster.plan.sample_values import free_addresses
from lab.inventory import Site
from lab.twin import BMC_NETWORKS

_MAC_BITS = 24
"""Of a MAC behind its vendor's prefix, which the next board of a vendor has too."""


def with_another_board(site: Site, name: str) -> Site:
    """Return the site with another board in a server: another UUID, other MACs; the same disks, and the same BMC."""
    former = uuid.UUID(site.uuids[name])
    number = uuid.uuid5(former, "the next board")
    own = (number.int % (1 << _MAC_BITS)).to_bytes(_MAC_BITS // 8)
    hosts = tuple(
        host.changed(boot_mac=f"{host.boot_mac[:8]}:{own.hex(':')}") if host.name == name else host
        for host in site.plan.hosts
    )
    return replace(site, plan=site.plan.changed(hosts=hosts), uuids={**site.uuids, name: str(number)})


def with_another_bmc(site: Site, name: str) -> Site:
    """Return the site with another BMC of a server: another address, login and certificate; the same machine."""
    former = site.bmcs[name]
    address = next(free_addresses(site.plan, BMC_NETWORKS[former.address.version]))
    bmc = replace(former, name=str(address), address=address, tls=True, is_replaced=True)
    plan = site.plan.changed(named_addresses=site.plan.named_addresses | {address})
    return replace(site, plan=plan, bmcs={**site.bmcs, name: bmc})
