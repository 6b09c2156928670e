"""A program that installs one role: the hosts of the fleet in the file named by SITE."""

import json
import os
from pathlib import Path
from typing import Any

import pulumi
from pydantic import SecretStr

from cluster.plan import Role
from providers.bmc_host.model import BmcHostSpec
from providers.bmc_host.resource import BmcHost
from providers.host_provisioning.model import HostProvisioningSpec, HostSpec
from providers.host_provisioning.resource import HostProvisioning
from testing.urns import urn
from wires.bmc.access import BmcAccess
from wires.bmc.identity import MachineId

DISK = {"deviceName": "/dev/vda"}


site = json.loads(Path(os.environ["SITE"]).read_text())
hosts: dict[str, dict[str, Any]] = site["hosts"]


def access(host: dict[str, Any], ca: str) -> BmcAccess:
    """Return the access to a host's BMC."""
    return BmcAccess(address=host["bmc_url"], username=site["username"], ca=ca)


servers = {
    name: BmcHost(
        name,
        BmcHostSpec(
            host=name,
            bmc=access(host, site["ca"]),
            password=site["password"],
            consent=host["uuid"],
            urn=urn("BmcHost", name),
        ),
    )
    for name, host in hosts.items()
    if site["with_servers"]
}
HostProvisioning(
    "control-plane",
    HostProvisioningSpec(
        role=Role.CONTROL_PLANE,
        hosts={
            name: HostSpec(bmc=access(host, ca=""), address=host["address"], root_device=DISK)
            for name, host in hosts.items()
        },
        identities={name: MachineId(uuid=host["uuid"]) for name, host in hosts.items()},
        passwords=dict.fromkeys(hosts, site["password"]),
        ca=site["ca"],
        media_address="127.0.0.1",
        media_port=0,
        base_iso_sha256=site["base_iso_sha256"],
        ignition_sha256=dict.fromkeys(hosts, "made for the measurement"),
        own_ignition=dict.fromkeys(hosts, SecretStr('{"ignition":{"version":"3.2.0"}}')),
        payload_sha256=site["payload_sha256"],
        stack=pulumi.get_stack(),
        api_name=site["api_name"],
        rows={name: urn("BmcHost", name) for name in servers},
        urn=urn("HostProvisioning", "control-plane"),
    ),
    pulumi.ResourceOptions(depends_on=list(servers.values())),
)
