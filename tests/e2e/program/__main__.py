"""Hosts and their installation, as the file named by SITE says."""

import json
import os
from pathlib import Path

import pulumi

from providers.bmc_host.resource import BmcHost, BmcHostArgs
from providers.provisioning.resource import HostProvisioning, HostProvisioningArgs


def urn(kind: str, name: str) -> str:
    """URN of a resource without a parent, so that its progress is shown in its own row."""
    return f"urn:pulumi:{pulumi.get_stack()}::{pulumi.get_project()}::pulumi-python:dynamic/baremetal:{kind}::{name}"


site = json.loads(Path(os.environ["SITE"]).read_text())
password = pulumi.Output.secret(site["password"])
servers = {
    name: BmcHost(
        name,
        BmcHostArgs(
            host=name,
            bmc_url=host["bmc_url"],
            username=host["username"],
            password=password,
            ca=site["ca"],
            consent=host["consent"],
            deadline_s=site["bmc_deadline_s"],
            urn=urn("BmcHost", name),
        ),
    )
    for name, host in site["hosts"].items()
}
if site["provision"]:
    rollout = HostProvisioning(
        "control-plane",
        HostProvisioningArgs(
            role="control-plane",
            hosts={
                name: {
                    "bmc_url": host["bmc_url"],
                    "username": host["username"],
                    "verify": True,
                    "address": host["address"],
                    "root_device": "/dev/vda",
                    "uuid": host["uuid"],
                }
                for name, host in site["hosts"].items()
            },
            passwords=dict.fromkeys(site["hosts"], password),
            ca=site["ca"],
            media_address="127.0.0.1",
            media_port=site["media_port"],
            base_iso_sha256=site["base_iso_sha256"],
            ignition_sha256=dict.fromkeys(site["hosts"], site["ignition_sha256"]),
            ours={name: pulumi.Output.secret(site["ours"]) for name in site["hosts"]},
            keyfiles=pulumi.Output.secret({name: site["keyfiles"] for name in site["hosts"]}),
            payload_sha256=site["payload_sha256"],
            stack="test",
            api_name="api.okd.lab.test",
            deadline_s=60,
            rows={name: urn("BmcHost", name) for name in site["hosts"]},
            urn=urn("HostProvisioning", "control-plane"),
        ),
        # A host is installed after everybody has consented.
        pulumi.ResourceOptions(depends_on=list(servers.values())),
    )
    pulumi.export("installed", rollout.installed)
