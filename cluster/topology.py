"""The values of an install-config that are those of the cluster as a whole."""

import json
from collections.abc import Mapping
from typing import Any


def topology_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return these values by path, as JSON.

    Args:
        config: An install-config with its defaults; keys as in the file.
    """
    pools = {name: config.get(name) or {} for name in ("controlPlane", "arbiter")}
    pools["compute"] = next(iter(config.get("compute") or []), {})
    networking = config.get("networking") or {}
    values = {
        **{f"{name}.replicas": pool.get("replicas", 0) for name, pool in pools.items()},
        # Compute has the control plane's in a payload of platform none, whatever the servers have.
        "controlPlane.architecture": pools["controlPlane"].get("architecture", ""),
        "networking.machineNetwork": [entry.get("cidr") for entry in networking.get("machineNetwork") or []],
        "networking.clusterNetwork": [
            {key: entry.get(key) for key in ("cidr", "hostPrefix")}
            for entry in networking.get("clusterNetwork") or []
        ],
        "networking.serviceNetwork": [*(networking.get("serviceNetwork") or [])],
        "fips": bool(config.get("fips")),
    }
    return {path: json.dumps(value) for path, value in values.items()}
