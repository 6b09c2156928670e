"""One role of the fleet that the file named by SITE describes."""

import json
import os
from pathlib import Path

import pulumi

from providers.bmc_host.resource import BmcHost, BmcHostArgs
from providers.host_provisioning.resource import HostProvisioning, HostProvisioningArgs


def urn(kind: str, name: str) -> str:
    """URN of a resource without a parent."""
    return f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::pulumi-python:dynamic/baremetal:{kind}::{name}"


site = json.loads(Path(os.environ["SITE"]).read_text())
hosts = site["hosts"]
password = pulumi.Output.secret(site["password"])
servers = [
    BmcHost(
        name,
        BmcHostArgs(
            host=name,
            bmc_url=host["bmc_url"],
            username=site["username"],
            password=password,
            ca=site["ca"],
            consent=host["uuid"],
            urn=urn("BmcHost", name),
        ),
    )
    for name, host in hosts.items()
    if site["with_servers"]
]
HostProvisioning(
    "control-plane",
    HostProvisioningArgs(
        role="control-plane",
        hosts={
            name: host | {"username": site["username"], "root_device": "/dev/vda"} for name, host in hosts.items()
        },
        passwords=dict.fromkeys(hosts, password),
        ca=site["ca"],
        media_address="127.0.0.1",
        media_port=0,
        base_iso_sha256=site["base_iso_sha256"],
        ignition_sha256=dict.fromkeys(hosts, "made for the measurement"),
        ours=dict.fromkeys(hosts, pulumi.Output.secret('{"ignition":{"version":"3.2.0"}}')),
        payload_sha256=site["payload_sha256"],
        stack=pulumi.get_stack(),
        api_name=site["api_name"],
        rows={name: urn("BmcHost", name) for name in hosts if site["with_servers"]},
        urn=urn("HostProvisioning", "control-plane"),
    ),
    pulumi.ResourceOptions(depends_on=servers),
)
