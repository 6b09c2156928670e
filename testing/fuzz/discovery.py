"""Inventories that mutated BMCs and mutated files give, through all that reads, compares and shows them."""

import json
from contextlib import closing
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory

from pydantic import SecretStr

from base.errors import BmcError, ConfigError
from cli.discover.page import html
from cli.discover.table import lines_of
from cluster.install_config import read
from cluster.inventory.drift import changes
from cluster.inventory.file import read_inventory
from cluster.inventory.hosts import proposed
from cluster.inventory.model import GIB, Card, Cpu, DiscoveredServer, Disk, Gap, Inventory
from cluster.inventory.proof import contradictions
from testing import plans
from testing.fuzz import redfish
from testing.fuzz.engine import Surface
from testing.fuzz.mutations import mutated_bytes, mutated_document
from wires.redfish.inventory.discovery import BmcDiscovery

DATED = datetime(2026, 11, 27, tzinfo=UTC)


@cache
def inventory() -> Inventory:
    """Return an inventory of the rehearsal's servers."""
    disks = tuple(
        Disk(name=f"d{index}", size_bytes=(index + 1) * 200 * GIB, serial=f"S{index}") for index in range(3)
    )
    servers = tuple(
        DiscoveredServer(
            bmc=f"{host.bmc.url.base}{host.bmc.url.system_id}",
            cpu=Cpu(count=2, model="Xeon Gold 6338", threads=64),
            memory_mib=1 << 18,
            cards=(Card(name="NIC.1", mac=host.boot_mac, link="up"),),
            disks=disks,
            ways=("redfish-virtualmedia",),
            gaps=(Gap(what="clock", why="the BMC does not tell"),),
        )
        for host in plans.intent().servers
    )
    return Inventory(dated=DATED, servers=servers)


def _make(random: Random) -> bytes:
    if random.random() < 0.4:
        return redfish.make(random)
    document = json.loads(inventory().model_dump_json())
    for _ in range(random.randint(1, 3)):
        document = mutated_document(random, document)
    text = json.dumps(document).encode()
    return text if random.random() < 0.8 else mutated_bytes(random, text)


def _run(case: bytes) -> str:
    return _of_bmc(case) if case.startswith(b'{"vendor":') else _of_file(case)


def _of_bmc(case: bytes) -> str:
    access, random = redfish.served(case)
    with closing(BmcDiscovery(access, SecretStr(redfish.PASSWORD), redfish.LIMITS)) as bmc:
        try:
            read = bmc.server() if random.random() < 0.7 else bmc.cards_and_disks()
        except BmcError as error:
            return str(error)
    return _shown(Inventory(dated=DATED, servers=(read,)))


def _of_file(case: bytes) -> str:
    with TemporaryDirectory() as folder:
        file = Path(folder, "inventory.json")
        file.write_bytes(case)
        try:
            return _shown(read_inventory(file))
        except ConfigError as error:
            return str(error)


def _shown(found: Inventory) -> str:
    """Return all that commands say of an inventory."""
    config = plans.install_config()
    del config["platform"]["baremetal"]["hosts"]
    try:
        wanted = proposed(read(plans.written(config)).config, found, "a file")
        proposal = f"{[host.entry for host in wanted.hosts]} {wanted.rules}"
    except ConfigError as error:
        proposal = str(error)
    drift = [line for server in found.servers for line in changes(inventory().servers[0], server)]
    said = [*map(str, contradictions(plans.intent(), found)), *drift, *lines_of(found)]
    return "\n".join([proposal, *said, html(found), found.model_dump_json()])


SURFACE = Surface(_make, _run)
