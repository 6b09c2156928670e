"""The install-config that the payload is generated from: the same cluster, with platform none.

Such a payload brings no VIP, balancer, DNS or Ironic of its own: this program supplies them. Two things stay, by
openshift/installer 006d45739349. Without compute replicas the control plane would be schedulable, and the routers run
there (pkg/asset/manifests/scheduler.go); platform none makes no machines whatever the number. And a control plane of
two needs its fencing credentials on either platform (pkg/types/validation/installconfig.go).
"""

from typing import Any

import yaml

from cluster.install_config.schema import ClusterNetwork, Networking
from cluster.install_config.section import OLD, Section


def payload_config(written: dict[str, Any], networking: Networking) -> str:
    """The YAML text of it; it holds the pull secret.

    Args:
        written: A good file's mapping, without nulls.
        networking: The same file's, in today's spellings.
    """
    changed = {**written, "platform": {"none": {}}, "networking": _today(networking)}
    for name in ("controlPlane", "arbiter"):
        if name in written:
            changed[name] = _pool(written[name])
    if "compute" in written:
        changed["compute"] = [_compute(pool, written.get("controlPlane", {})) for pool in written["compute"]]
    if "additionalEnabledCapabilities" in written.get("capabilities", {}):
        changed["capabilities"] = _capabilities(written["capabilities"])
    return yaml.safe_dump(changed, sort_keys=False, allow_unicode=True, width=float("inf"))


def _today(networking: Networking) -> dict[str, Any]:
    old: dict[str, Any] = {**_old(Networking), "cluster_network": {"__all__": _old(ClusterNetwork)}}
    return networking.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=old)


def _old(section: type[Section]) -> dict[str, bool]:
    return {name: True for name, field in section.model_fields.items() if field.json_schema_extra == OLD}


def _pool(pool: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in pool.items() if key != "platform"}


def _compute(pool: dict[str, Any], control_plane: dict[str, Any]) -> dict[str, Any]:
    """Platform none wants the control plane's architecture here; the servers may still have another."""
    kept = _pool(pool)
    kept.pop("architecture", None)
    return kept | {key: value for key, value in control_plane.items() if key == "architecture"}


def _capabilities(capabilities: dict[str, Any]) -> dict[str, Any]:
    """Only platform baremetal needs the capability of that name."""
    names = capabilities["additionalEnabledCapabilities"]
    return {**capabilities, "additionalEnabledCapabilities": [name for name in names if name != "baremetal"]}
