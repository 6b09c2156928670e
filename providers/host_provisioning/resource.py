"""Face of `HostProvisioning`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pulumi
from pulumi.dynamic import Resource

from providers.host_provisioning.provider import HostProvisioningProvider


@dataclass(frozen=True, kw_only=True)
class HostProvisioningArgs:
    """Inputs of `HostProvisioning`."""

    role: pulumi.Input[str]
    """`control-plane` or `compute`."""
    hosts: pulumi.Input[Mapping[str, Mapping[str, Any]]]
    """By name: `bmc_url, username, verify, address, root_device, uuid, serial`; and `ca, fingerprint, session` where
    they are said of this host alone."""
    passwords: pulumi.Input[Mapping[str, pulumi.Input[str]]]
    """Of the BMCs, by host; secret."""
    ca: pulumi.Input[str] = ""
    """PEM of the CA that signed the BMCs' certificates; empty: the system's CAs."""
    media_address: pulumi.Input[str] = ""
    """Address of this machine that the BMCs reach; boot ISOs are served there while hosts are installed."""
    media_port: pulumi.Input[int] = 8080
    media_url: pulumi.Input[str] = ""
    """In place of these: of the folder of a web server that has the boot ISOs."""
    base_iso_sha256: pulumi.Input[str]
    base_iso_url: pulumi.Input[str] = ""
    """Where to get the base ISO when the cache does not have it."""
    ignition_sha256: pulumi.Input[Mapping[str, str]]
    """Digest of each host's composed Ignition: what a preview shows of it."""
    ours: pulumi.Input[Mapping[str, pulumi.Input[str]]]
    """Our part of each host's Ignition, as JSON text; secret."""
    keyfiles: pulumi.Input[Mapping[str, Mapping[str, str]]] = field(default_factory=dict)
    """NetworkManager's keyfiles by host and file name, for the boot ISO; they stand in `ours` as well. Secret."""
    payload_sha256: pulumi.Input[str]
    """Digest of the role's file in `stacks/<stack>/payload/`: master.ign or worker.ign."""
    reinstall: pulumi.Input[Mapping[str, str]] = field(default_factory=dict)
    """By host, serial or UUID: a line that is new since the last successful `up` has that host installed anew."""
    unicast: pulumi.Input[bool] = False
    """True: the hosts list each other as VRRP peers for good, so none can be added once some are there."""
    stack: pulumi.Input[str]
    api_name: pulumi.Input[str]
    """DNS name of the API, for TLS probes by address."""
    deadline_s: pulumi.Input[float] = 3600
    """Time for each host, in seconds."""
    rows: pulumi.Input[Mapping[str, pulumi.Input[str]]] = field(default_factory=dict)
    """URN by host, in whose row its progress is shown; where none is given, in this resource's."""
    urn: pulumi.Input[str] = ""
    """URN of this resource."""


class HostProvisioning(Resource, module="baremetal", name="HostProvisioning"):
    """The installation of one role's hosts. Installed once: a changed input applies to hosts installed later."""

    installed: pulumi.Output[dict[str, dict[str, str]]]
    """By host: `uuid`, `iso_sha256` (empty: found installed, adopted) and `at`, in UTC."""
    steps: pulumi.Output[dict[str, dict[str, Any]]]
    """By host: seconds spent in each step."""
    requests: pulumi.Output[dict[str, int]]
    """By host: requests sent to its BMC."""

    def __init__(self, name: str, args: HostProvisioningArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        props = {**vars(args), "installed": None, "steps": None, "requests": None}
        super().__init__(HostProvisioningProvider(), name, props, opts)
