"""What a plan wants of the provisioner and of its network."""

from collections.abc import Iterable

from cluster.plan import ClusterPlan
from cluster.plan.model import Machine, Vip
from providers.network_preflight.engine import Claim, WireSpec
from providers.provisioner_preflight.model import Spec


def wanted_of(plan: ClusterPlan, stack: str) -> Spec:
    """What `up` would stumble over when it is missing."""
    options, image = plan.options, plan.options.provisioner.base_image
    bridges = {"externalBridge": plan.bootstrap.bridge, "provisioningBridge": plan.provisioning.bridge}
    return Spec(
        phase=options.phase,
        stack=stack,
        payload=options.payload.model_dump(),
        domain=plan.domain,
        libvirt_uri=plan.libvirt_uri,
        bridges={key: name for key, name in bridges.items() if name},
        vm=plan.bootstrap.name,
        emulated=options.bootstrap.emulated,
        pool=options.bootstrap.pool,
        base_volume=options.bootstrap.base_volume,
        base_sha256=options.bootstrap.base_sha256,
        disk_gib=options.bootstrap.disk_gib,
        manage=options.provisioner.manage,
        image_source=image.source if image else "",
        image_sha256=image.sha256 if image else "",
        media_address=str(options.media.address or ""),
        media_port=options.media.port,
        base_iso_sha256=options.media.base_iso.sha256,
        base_iso_url=options.media.base_iso.url,
    )


def wire_wanted_of(plan: ClusterPlan) -> WireSpec:
    """What would be in the way of a VIP."""
    first: list[Machine] = [plan.bootstrap, *plan.control_plane]
    return WireSpec(
        phase=plan.options.phase,
        domain=plan.domain,
        api=_claim("api", "API VIP", plan.api, first, [plan.bootstrap.mac]),
        ingress=_claim("ingress", "Ingress VIP", plan.ingress, plan.of(plan.ingress_role), []),
        severity=plan.options.wire.model_dump(),
    )


def _claim(option: str, what: str, vip: Vip, holders: Iterable[Machine], macs: list[str]) -> Claim:
    return Claim(
        what=what,
        option=option,
        vips=[str(address) for address in vip.addresses],
        router_id=vip.router_id,
        holders={each.name: [str(address) for address in each.addresses] for each in holders},
        macs=macs,
    )
