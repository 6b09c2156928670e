"""What a plan wants of the provisioner."""

from cluster.plan import ClusterPlan
from providers.preflight.engine import Spec


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
        media_address=str(options.media.address),
        media_port=options.media.port,
        base_iso_sha256=options.media.base_iso.sha256,
        base_iso_url=options.media.base_iso.url,
    )
