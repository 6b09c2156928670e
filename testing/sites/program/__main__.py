"""The servers of one stack: the control plane in phase bootstrap, compute in production, as in the real graph."""

import json
import os
from pathlib import Path
from typing import Any

import pulumi
import yaml
from pydantic import SecretStr

from cluster.plan import Role
from providers.bmc_host.model import BmcHostSpec
from providers.bmc_host.resource import BmcHost
from providers.host_provisioning.model import HostProvisioningSpec, HostSpec
from providers.host_provisioning.resource import HostProvisioning
from testing.urns import urn
from wires.bmc.access import BmcAccess
from wires.bmc.identity import MachineId

STACK = pulumi.get_stack()
ROLES = {Role.CONTROL_PLANE: "master", Role.COMPUTE: "worker"}

site = json.loads(Path(os.environ["SITE"]).read_text())
consent = pulumi.Config().require_object("consent")
config = yaml.safe_load(Path("stacks", STACK, "install-config.yaml").read_text())
hosts: dict[str, dict[str, Any]] = {host["name"]: host for host in config["platform"]["baremetal"]["hosts"]}


def access(host: dict[str, Any], ca: str) -> BmcAccess:
    """Return the access to a host's BMC."""
    return BmcAccess(address=host["bmc"]["address"], username=site["username"], ca=ca)


servers = {
    name: BmcHost(
        name,
        BmcHostSpec(
            host=name,
            bmc=access(host, site["ca"]),
            password=site["password"],
            consent=consent[name],
            urn=urn("BmcHost", name),
        ),
    )
    for name, host in hosts.items()
}
waits: list[pulumi.Resource] = list(servers.values())
for role in ROLES if pulumi.Config().get("phase") == "production" else [Role.CONTROL_PLANE]:
    members = {name: host for name, host in hosts.items() if host["role"] == ROLES[role]}
    # Compute is installed once the control plane is.
    provisioning = HostProvisioning(
        role.value,
        HostProvisioningSpec(
            role=role,
            hosts={
                name: HostSpec(
                    bmc=access(host, ca=""), address=site["nodes"][name], root_device={"deviceName": "/dev/vda"}
                )
                for name, host in members.items()
            },
            identities={name: MachineId(uuid=consent[name]) for name in members},
            passwords=dict.fromkeys(members, site["password"]),
            ca=site["ca"],
            media_address="127.0.0.1",
            media_port=0,
            base_iso_sha256=site["base_iso_sha256"],
            ignition_sha256=dict.fromkeys(members, "made for the fake fleet"),
            own_ignition=dict.fromkeys(members, SecretStr('{"ignition":{"version":"3.2.0"}}')),
            payload_sha256=pulumi.Config().require_object("payload")[ROLES[role]],
            stack=STACK,
            api_name=site["api_name"],
            rows={name: urn("BmcHost", name) for name in members},
            urn=urn("HostProvisioning", role.value),
        ),
        pulumi.ResourceOptions(depends_on=waits),
    )
    waits = [provisioning]
