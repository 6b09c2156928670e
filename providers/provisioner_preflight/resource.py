"""`ProvisionerPreflight`: the provisioner has what `up` needs."""

from dataclasses import dataclass

import pulumi
from pulumi.dynamic import Resource

from providers.provisioner_preflight.model import Spec
from providers.provisioner_preflight.provider import PreflightProvider


@dataclass(frozen=True, kw_only=True)
class ProvisionerPreflightArgs:
    """Inputs of `ProvisionerPreflight`."""

    wanted: Spec
    """Each field is an input of its own; a changed one has it look again, so the phase is among them."""
    urn: str


class ProvisionerPreflight(Resource, module="baremetal", name="ProvisionerPreflight"):
    """What was found of the provisioner; everything that works on it comes later."""

    libvirt_version: pulumi.Output[str | None]
    """None where the phase needs no libvirt."""
    kvm: pulumi.Output[bool | None]
    """Whether the bootstrap VM's host has KVM."""
    warnings: pulumi.Output[list[str]]
    unseen: pulumi.Output[list[str]]
    """What could not be looked at, and why."""

    def __init__(self, name: str, args: ProvisionerPreflightArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        outputs = dict.fromkeys(("libvirt_version", "kvm", "warnings", "unseen"))
        super().__init__(PreflightProvider(), name, {**vars(args.wanted), "urn": args.urn, **outputs}, opts)
