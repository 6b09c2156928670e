"""What `plan` says that the kept inventory contradicts."""

import math
from datetime import UTC, datetime
from typing import Any

import pytest

from cluster.install_config.platform import RootDeviceHints
from cluster.inventory.model import GIB, Card, Cpu, DiscoveredServer, Disk, Inventory
from cluster.inventory.proof import HINTS, MIB_OF_GB, contradictions
from cluster.plan.model import Intent
from cluster.values.role import Role
from testing import plans

DATED = datetime(2026, 11, 27, tzinfo=UTC)
ONE = Disk(name="nvme0", size_bytes=894 * GIB, serial="S5G1", media="SSD", model="MZQL2")
TWO = ONE.changed(name="nvme1", serial="S5G2")


def planned(**hints: Any) -> Intent:
    """Return the rehearsal's plan, whose first server has these hints."""
    intent = plans.intent()
    first = next(host for host in intent.hosts if host.name == "okd-master-0")
    changed = first.changed(root_device_hints=RootDeviceHints.model_validate(hints, by_alias=True, by_name=True))
    return intent.changed(hosts=tuple(changed if host is first else host for host in intent.hosts))


def found(intent: Intent, **more: Any) -> list[str]:
    """Return what an inventory contradicts of the first server, which has two disks unless `more` says otherwise."""
    host = intent.servers[0]
    url = host.bmc.url
    told: dict[str, Any] = {"cards": (Card(name="n", mac=host.boot_mac),), "disks": (ONE, TWO), **more}
    server = DiscoveredServer(bmc=f"{url.base}{url.system_id}", **told)
    return [str(it) for it in contradictions(intent, Inventory(dated=DATED, servers=(server,)))]


def test_two_disks_that_fit_are_named() -> None:
    (line,) = found(planned(minSizeGigabytes=400, rotational=False))
    assert (
        "minSizeGigabytes: 400, rotational: false match nvme0 (S5G1, 894 GiB) and nvme1 (S5G2, 894 GiB): 2 disks"
        in line
    )
    assert "the live system would take the first" in line


@pytest.mark.parametrize(
    "hints", [{"serialNumber": "s5g1 "}, {"deviceName": "/dev/sda"}, {"model": "mzql", "serialNumber": "S5G2"}]
)
def test_one_disk_or_what_no_bmc_tells_is_no_contradiction(hints: dict[str, Any]) -> None:
    assert found(planned(**hints)) == []


LUN = ONE.changed(wwn="0x600508b1001c4d2e0000000000000a1f")


@pytest.mark.parametrize(
    "hints",
    [
        {"serialNumber": "Samsung_MZQL2_S5G1"},
        {"serialNumber": "3600508b1001c4d2e0000000000000a1f"},
        {"wwn": "0x600508b1001c4d2e"},
        {"wwn": LUN.wwn},
    ],
)
def test_the_names_that_udev_makes_of_a_disk_are_no_contradiction(hints: dict[str, Any]) -> None:
    other = TWO.changed(wwn="0x500a0751e0000001")
    assert found(planned(**hints), disks=(LUN, other)) == []


def test_hints_that_no_disk_has_are_named() -> None:
    (line,) = found(planned(serialNumber="S9"))
    assert "serialNumber: s9 match none of its disks: nvme0 (S5G1, 894 GiB), nvme1" in line


def test_a_boot_mac_that_no_card_has_is_named() -> None:
    (line,) = found(planned(serialNumber="S5G1"), cards=(Card(name="n", mac="52:54:00:00:00:99"),))
    assert "is of no card that its BMC tells" in line


def test_a_card_of_a_network_config_that_no_server_has_is_named() -> None:
    entry = {"name": "storage", "type": "ethernet", "identifier": "mac-address", "mac-address": "52:54:00:AA:00:01"}
    intent = planned(serialNumber="S5G1")
    first = intent.hosts[0].changed(network_config={"interfaces": [{"name": "eno1"}, entry]})
    wanted = intent.changed(hosts=(first, *intent.hosts[1:]))
    (line,) = found(wanted)
    what = "networkConfig.interfaces[1].mac-address 52:54:00:aa:00:01 is of no card that its BMC tells"
    assert f"{first.name}: by the inventory of 2026-11-27: {what}" in line
    cards = tuple(Card(name=mac, mac=mac) for mac in (first.boot_mac, "52:54:00:aa:00:01"))
    assert found(wanted, cards=cards) == []


def test_cpus_that_differ_between_servers_of_virtual_machines_are_named() -> None:
    intent = plans.intent()
    models = ["Xeon Gold 6338", "EPYC 7543", "EPYC 7543", "Xeon Gold 6338", "EPYC 7543"]
    servers = [
        DiscoveredServer(bmc=f"{host.bmc.url.base}{host.bmc.url.system_id}", cpu=Cpu(model=model))
        for host, model in zip(intent.servers, models, strict=True)
    ]
    (line,) = map(str, contradictions(intent, Inventory(dated=DATED, servers=tuple(servers))))
    assert "compute: by the inventory of 2026-11-27: CPUs differ: Xeon Gold 6338 in okd-worker-0" in line
    assert "EPYC 7543 in okd-worker-1:" in line
    assert [*contradictions(intent, Inventory(dated=DATED, servers=tuple(servers[:4])))] == []


@pytest.mark.parametrize(
    ("more", "what"),
    [
        ({"memory_mib": 8 * 1024}, "9 GB of memory, and a server of its role wants 16"),
        ({"cpu": Cpu(threads=2)}, "2 CPU threads, and a server of its role wants 4"),
    ],
)
def test_a_server_too_small_for_its_role_is_named(more: dict[str, Any], what: str) -> None:
    (line,) = found(planned(serialNumber="S5G1"), **more)
    assert what in line


@pytest.mark.parametrize(
    ("role", "threads", "memory_gb"), [(Role.CONTROL_PLANE, 4, 16), (Role.ARBITER, 2, 8), (Role.COMPUTE, 2, 8)]
)
def test_each_role_has_a_least_size(role: Role, threads: int, memory_gb: int) -> None:
    """An arbiter's is half of the control plane's, whose copy of etcd it has."""
    intent = planned(serialNumber="S5G1")
    of_role = intent.changed(hosts=(intent.hosts[0].changed(role=role), intent.of(Role.COMPUTE)[0]))
    least = math.ceil(memory_gb * MIB_OF_GB)
    assert found(of_role, cpu=Cpu(threads=threads), memory_mib=least) == []
    memory, cpus = found(of_role, cpu=Cpu(threads=threads - 1), memory_mib=least - 1024)
    assert f"and a server of its role wants {memory_gb}. Fix: take another server for it" in memory
    assert f"{threads - 1} CPU threads, and a server of its role wants {threads}" in cpus


def test_a_cluster_of_one_server_wants_more_of_it() -> None:
    intent = planned(serialNumber="S5G1")
    alone = intent.changed(hosts=intent.hosts[:1])
    assert found(intent, cpu=Cpu(threads=4)) == []
    (line,) = found(alone, cpu=Cpu(threads=4))
    assert "4 CPU threads, and a server of its role wants 8" in line


def test_what_is_unknown_contradicts_nothing() -> None:
    assert found(planned(serialNumber="S5G1"), cards=(), disks=()) == []
    assert found(planned(rotational=True), disks=(ONE.changed(media=""),)) == []


def test_each_hint_that_a_bmc_tells_is_one_of_the_installers() -> None:
    names = {field.alias or name for name, field in RootDeviceHints.model_fields.items()}
    assert {name for name in HINTS if name not in names} == set()
