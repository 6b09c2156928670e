"""The disks of the servers as their BMCs tell them, in the form of sushy-emulator's settings."""

from typing import Any

from cluster.inventory.model import GIB
from lab.disks import Disk
from lab.inventory import Site

STORAGE = "1"
"""Id of a server's only Storage."""


def storages(site: Site) -> dict[str, list[dict[str, Any]]]:
    """Return the storage of each server, by the system's UUID."""
    return {
        site.uuids[host.name]: [
            {
                "Id": STORAGE,
                "Name": "Storage",
                "StorageControllers": [],
                "Drives": [_name(disk) for disk in site.disks(host)],
            }
        ]
        for host in site.plan.hosts
    }


def drives(site: Site) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """Return the drives of each server as Redfish has them, by the system's UUID and the Id of its storage."""
    return {(site.uuids[host.name], STORAGE): [_drive(disk) for disk in site.disks(host)] for host in site.plan.hosts}


def _name(disk: Disk) -> str:
    return f"{disk.bus}-{disk.target}"


def _drive(disk: Disk) -> dict[str, Any]:
    wwn = {"DurableNameFormat": "NAA", "DurableName": disk.wwn}
    return {
        "Id": _name(disk),
        "Name": _name(disk),
        "Model": disk.model,
        "SerialNumber": disk.serial,
        "CapacityBytes": disk.gib * GIB,
        "Protocol": "SAS",
        "MediaType": "HDD" if disk.rotational else "SSD",
        "RotationSpeedRPM": 7200 if disk.rotational else 0,
        "Identifiers": [wwn] if disk.wwn else [],
    }
