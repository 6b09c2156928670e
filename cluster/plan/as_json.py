"""The plan as JSON, for other programs."""

from dataclasses import asdict
from typing import Any

from cluster.plan.model import ApiVip, IngressVip, Intent, PlannedHost
from cluster.values.balancer import Balancer
from cluster.values.disk_hints import as_compared, in_words


def plan_json(plan: Intent) -> dict[str, Any]:
    """Return the plan as plain values for `json.dumps`, without secrets. Values that are not known yet are null."""
    return {
        "cluster": {"name": plan.name, "base_domain": plan.base_domain, "domain": plan.domain},
        "platform": plan.platform.value,
        "balancer": plan.balancer.value,
        **_vips(plan),
        "hosts": [_host(host) for host in plan.hosts],
        "spares": [host.name for host in plan.spares],
        "provisioning": plan.provisioning.model_dump(mode="json", exclude_none=True),
        "dns_records": {name: _texts(addresses) for name, addresses in plan.dns_records.items()},
        "bootstrap": {
            **plan.bootstrap.model_dump(include={"name", "mac", "bridge"}),
            "addresses": _texts(plan.bootstrap.addresses) or None,
        },
    }


def _vips(plan: Intent) -> dict[str, Any]:
    if plan.balancer is Balancer.SITE:
        return {"api": {"vips": _texts(plan.api.addresses)}, "ingress": {"vips": _texts(plan.ingress.addresses)}}
    return {"api": {**_vip(plan.api), "policy": plan.api.policy}, "ingress": _vip(plan.ingress)}


def _vip(vip: ApiVip | IngressVip) -> dict[str, Any]:
    return {
        "vips": _texts(vip.addresses),
        "vrid": vip.vrid,
        "transport": vip.transport,
        "priorities": asdict(vip.priorities),
    }


def _host(host: PlannedHost) -> dict[str, Any]:
    url = host.bmc.url
    return {
        "name": host.name,
        "role": host.role and host.role.pool,
        "boot_mac": host.boot_mac,
        "addresses": _texts(host.addresses) or None,
        "disk": in_words(as_compared(host.root_device_hints.given)),
        "bmc": {
            "driver": url.driver,
            "scheme": url.scheme,
            "host": url.host,
            "port": url.port,
            "system_id": url.system_id,
            "virtual_media": url.virtual_media,
            "needs_provisioning_network": url.needs_provisioning_network,
            "verify_tls": host.bmc.verify_tls,
        },
    }


def _texts(addresses: tuple[object, ...]) -> list[str]:
    return [str(address) for address in addresses]
