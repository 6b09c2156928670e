"""Hosts and their installation, as the file named by SITE describes them."""

import json
import os
from pathlib import Path
from typing import Any

import pulumi

from providers.bmc_host.model import BmcHostSpec
from providers.bmc_host.resource import BmcHost
from providers.host_provisioning.model import HostProvisioningSpec, HostSpec
from providers.host_provisioning.resource import HostProvisioning
from providers.machines.model import ListedHost, MachinesSpec
from providers.machines.resource import Machines
from testing.urns import urn
from wires.bmc.access import BmcAccess

DISK = {"deviceName": "/dev/vda"}


def access(host: dict[str, Any], ca: str) -> BmcAccess:
    """Return the access to a host's BMC."""
    return BmcAccess(**{"address": host["bmc_url"], "username": host["username"], "ca": ca, **host["trust"]})


site = json.loads(Path(os.environ["SITE"]).read_text())
hosts: dict[str, dict[str, Any]] = site["hosts"]
machines = Machines(
    "machines",
    MachinesSpec(
        hosts={
            name: ListedHost(
                bmc=access(host, ca=""),
                role=None if name in site["spares"] else host["role"],
                consent="" if name in site["spares"] else host["consent"],
                address=host["address"],
            )
            for name, host in hosts.items()
        },
        passwords={name: host["password"] for name, host in hosts.items()},
        ca=site["ca"],
        reinstall=site["reinstall"],
        deadline_s=site["bmc_deadline_s"],
        urn=urn("Machines", "machines"),
    ),
)
servers = {
    name: BmcHost(
        name,
        BmcHostSpec(
            host=name,
            bmc=access(host, site["ca"]),
            password=host["password"],
            consent=host["consent"],
            deadline_s=site["bmc_deadline_s"],
            urn=urn("BmcHost", name),
        ),
        pulumi.ResourceOptions(depends_on=[machines]),
    )
    for name, host in hosts.items()
    if name not in site["spares"]
}
if site["spares"]:
    # As in components/servers.py, the type of the parent makes a spare another resource than the server.
    spares = pulumi.ComponentResource("test:index:Spares", "spares")
    child = pulumi.ResourceOptions(parent=spares, depends_on=[machines])
    for name in site["spares"]:
        bmc = access(hosts[name], site["ca"])
        BmcHost(
            name, BmcHostSpec(host=name, bmc=bmc, password=hosts[name]["password"], consent="", spare=True), child
        )
rollouts: list[pulumi.Resource] = []
for role, wanted in site["roles"].items():
    members = {name: host for name, host in hosts.items() if host["role"] == role and name in servers}
    rollout = HostProvisioning(
        role,
        HostProvisioningSpec(
            role=role,
            hosts={
                name: HostSpec(bmc=access(host, ca=""), address=host["address"], root_device=DISK)
                for name, host in members.items()
            },
            passwords={name: host["password"] for name, host in members.items()},
            ca=site["ca"],
            media_address=site["media_address"],
            media_port=site["media_port"],
            over_tls=site["over_tls"],
            base_iso_sha256=site["base_iso_sha256"],
            ignition_sha256=dict.fromkeys(members, wanted["ignition_sha256"]),
            own_ignition=dict.fromkeys(members, wanted["ours"]),
            keyfiles=dict.fromkeys(members, wanted["keyfiles"]),
            payload_sha256=site["payload_sha256"],
            reinstall=site["reinstall"],
            stack="test",
            api_name="api.okd.lab.test",
            deadline_s=site["host_deadline_s"],
            rows={name: urn("BmcHost", name) for name in members},
            urn=urn("HostProvisioning", role),
        ),
        # A host is installed once the consent of every host is checked, and compute after the control plane.
        pulumi.ResourceOptions(depends_on=[*servers.values(), *rollouts]),
        identities={name: {"uuid": servers[name].uuid, "serial": servers[name].serial} for name in members},
    )
    rollouts.append(rollout)
