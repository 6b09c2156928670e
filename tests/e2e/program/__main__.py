"""Hosts and their installation, as the file named by SITE says."""

import json
import os
from pathlib import Path
from typing import Any

import pulumi

from providers.bmc_host.resource import BmcHost, BmcHostArgs
from providers.host_provisioning.resource import HostProvisioning, HostProvisioningArgs


def urn(kind: str, name: str) -> str:
    """URN of a resource without a parent, so that its progress is shown in its own row."""
    return f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::pulumi-python:dynamic/baremetal:{kind}::{name}"


site = json.loads(Path(os.environ["SITE"]).read_text())
hosts: dict[str, dict[str, Any]] = site["hosts"]
servers = {
    name: BmcHost(
        name,
        BmcHostArgs(
            host=name,
            bmc_url=host["bmc_url"],
            username=host["username"],
            password=pulumi.Output.secret(host["password"]),
            **{"ca": site["ca"], **host["trust"]},
            consent=host["consent"],
            deadline_s=site["bmc_deadline_s"],
            urn=urn("BmcHost", name),
        ),
    )
    for name, host in hosts.items()
}
for role, said in site["roles"].items():
    mine = {name: host for name, host in hosts.items() if host["role"] == role}
    HostProvisioning(
        role,
        HostProvisioningArgs(
            role=role,
            hosts={
                name: {
                    "bmc_url": host["bmc_url"],
                    "username": host["username"],
                    **host["trust"],
                    "address": host["address"],
                    "root_device": "/dev/vda",
                    "uuid": servers[name].uuid,
                    "serial": servers[name].serial,
                }
                for name, host in mine.items()
            },
            passwords={name: pulumi.Output.secret(host["password"]) for name, host in mine.items()},
            ca=site["ca"],
            media_address="127.0.0.1",
            media_port=site["media_port"],
            base_iso_sha256=site["base_iso_sha256"],
            ignition_sha256=dict.fromkeys(mine, said["ignition_sha256"]),
            ours={name: pulumi.Output.secret(said["ours"]) for name in mine},
            keyfiles=pulumi.Output.secret({name: said["keyfiles"] for name in mine}),
            payload_sha256=site["payload_sha256"],
            reinstall=site["reinstall"],
            stack="test",
            api_name="api.okd.lab.test",
            deadline_s=site.get("host_deadline_s", 60),
            rows={name: urn("BmcHost", name) for name in mine},
            urn=urn("HostProvisioning", role),
        ),
        # A host is installed after everybody has consented.
        pulumi.ResourceOptions(depends_on=list(servers.values())),
    )
