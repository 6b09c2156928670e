"""The install-config from which the payload is generated: the same cluster, of the platform that the stack names.

A payload of platform none brings no VIP, balancer, DNS or Ironic of its own: this program supplies them. Two settings
stay, by openshift/installer 006d45739349. One is the number of compute replicas: with none, the control plane would
be schedulable, and would run the routers (pkg/asset/manifests/scheduler.go). Platform none makes no machines anyway.
The other is the fencing credentials of a control plane of two, which both platforms need
(pkg/types/validation/installconfig.go).

That of platform baremetal is as written, without the secrets of hosts: `create ignition-configs` asks for no login of
a BMC (pkg/types/baremetal/validation, validateHostsWithoutBMC).
"""

from typing import Any

from base.yaml_text import yaml_of
from cluster.install_config.schema import ClusterNetwork, Networking
from cluster.install_config.section import OLD, Section
from cluster.values.platform import ClusterPlatform


def payload_config(
    written: dict[str, Any], networking: Networking, platform: ClusterPlatform = ClusterPlatform.NONE
) -> str:
    """Return the YAML text of the payload's install-config, which holds the pull secret.

    Args:
        written: The mapping of an install-config without faults, without nulls.
        networking: The networking of the same install-config, in today's spellings.
        platform: That of the cluster.
    """
    today = {**written, "networking": _today(networking)}
    return yaml_of(_baremetal(today) if platform is ClusterPlatform.BAREMETAL else _none(today))


def _none(written: dict[str, Any]) -> dict[str, Any]:
    changed = {**written, "platform": {"none": {}}}
    for name in ("controlPlane", "arbiter"):
        if name in written:
            changed[name] = _pool(written[name])
    if "compute" in written:
        changed["compute"] = [_compute(pool, written.get("controlPlane", {})) for pool in written["compute"]]
    if "additionalEnabledCapabilities" in written.get("capabilities", {}):
        changed["capabilities"] = _capabilities(written["capabilities"])
    return changed


def _baremetal(written: dict[str, Any]) -> dict[str, Any]:
    bare = written["platform"]["baremetal"]
    hosts = [_without_secrets(host) for host in bare.get("hosts", ())]
    return {**written, "platform": {"baremetal": {**bare, "hosts": hosts}}}


def _without_secrets(host: dict[str, Any]) -> dict[str, Any]:
    """Return a host without login and `networkConfig`. Secure Boot is checked by the kind of its BMC's address."""
    kept = {key: value for key, value in host.items() if key not in ("bmc", "networkConfig")}
    return kept | {"bmc": {key: value for key, value in host.get("bmc", {}).items() if key == "address"}}


def _today(networking: Networking) -> dict[str, Any]:
    old: dict[str, Any] = {**_old(Networking), "cluster_network": {"__all__": _old(ClusterNetwork)}}
    return networking.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=old)


def _old(section: type[Section]) -> dict[str, bool]:
    return {name: True for name, field in section.model_fields.items() if field.json_schema_extra == OLD}


def _pool(pool: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in pool.items() if key != "platform"}


def _compute(pool: dict[str, Any], control_plane: dict[str, Any]) -> dict[str, Any]:
    """Return a compute pool with the control plane's architecture, as platform none wants. The servers may differ."""
    settings = _pool(pool)
    settings.pop("architecture", None)
    return settings | {key: value for key, value in control_plane.items() if key == "architecture"}


def _capabilities(capabilities: dict[str, Any]) -> dict[str, Any]:
    """Return the capabilities without `baremetal`, which only platform baremetal needs."""
    names = capabilities["additionalEnabledCapabilities"]
    return {**capabilities, "additionalEnabledCapabilities": [name for name in names if name != "baremetal"]}
