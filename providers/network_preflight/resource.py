"""`WirePreflight`: nobody else has the VIPs or their router ids, and the names lead to them."""

from dataclasses import asdict, dataclass

import pulumi
from pulumi.dynamic import Resource

from providers.network_preflight.engine import WireSpec
from providers.network_preflight.provider import WirePreflightProvider


@dataclass(frozen=True, kw_only=True)
class WirePreflightArgs:
    """Inputs of `WirePreflight`."""

    wanted: WireSpec
    """Each field is an input of its own; a changed one has it look again, so the phase is among them."""
    urn: str


class WirePreflight(Resource, module="baremetal", name="WirePreflight"):
    """What was found on the segment; a VIP is claimed or moved later."""

    warnings: pulumi.Output[list[str]]
    unseen: pulumi.Output[list[str]]
    """What could not be looked at, and why."""

    def __init__(self, name: str, args: WirePreflightArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        outputs = dict.fromkeys(("warnings", "unseen"))
        super().__init__(WirePreflightProvider(), name, {**asdict(args.wanted), "urn": args.urn, **outputs}, opts)
