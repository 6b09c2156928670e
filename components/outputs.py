"""What a stack's outputs say about each server."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any

import pulumi

from cluster.plan import ClusterPlan, Role, Server
from cluster.values.disk_hints import as_compared, in_words
from providers.bmc_host.resource import BmcHost
from providers.host_provisioning.resource import HostProvisioning

About = dict[str, pulumi.Input[Any]]


def hosts(
    plan: ClusterPlan, bmcs: Mapping[str, BmcHost], installed: Iterable[tuple[Role, HostProvisioning]]
) -> dict[str, About]:
    """Return what is known of each server, by its name.

    Args:
        plan: Its servers are those that the outputs tell about.
        bmcs: By server.
        installed: The roles that this phase installs.

    Returns:
        `role`, `addresses`, `mac`, `hints` and `uuid`; of a server that is installed also `disk`, `iso_sha256`, `at`
        (in UTC), and `seconds` by step.
    """
    by_name = {server.name: _known(server, bmcs[server.name]) for server in plan.servers}
    for role, installation in installed:
        for server in plan.of(role):
            by_name[server.name] |= _of_installation(server.name, installation)
    return by_name


def _known(server: Server, bmc: BmcHost) -> About:
    addresses = [str(address) for address in server.addresses]
    hints = in_words(as_compared(server.root_device_hints.given))
    return {
        "role": server.role.value,
        "addresses": addresses,
        "mac": server.boot_mac,
        "hints": hints,
        "uuid": bmc.uuid,
    }


def _of_installation(name: str, installation: HostProvisioning) -> About:
    record = installation.installed.apply(partial(_member, name))
    return {
        "disk": installation.disks.apply(partial(_member, name)),
        "iso_sha256": record.apply(partial(_member, "iso_sha256")),
        "at": record.apply(partial(_member, "at")),
        "seconds": installation.steps.apply(partial(_member, name)),
    }


def _member(name: str, output: Mapping[str, Any] | None) -> Any:
    """Return a member of an output, or None: the state of an older release may have none."""
    return (output or {}).get(name)
