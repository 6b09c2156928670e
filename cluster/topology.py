"""The values of an install-config with which a cluster is installed once and for all: its networks, and `fips`."""

import json
from collections.abc import Mapping
from typing import Any


def topology_of(config: Mapping[str, Any]) -> dict[str, str]:
    """Return these values by path, as JSON.

    Args:
        config: An install-config with its defaults; keys as in the file.
    """
    networking = config.get("networking") or {}
    values = {
        "networking.machineNetwork": [entry.get("cidr") for entry in networking.get("machineNetwork") or []],
        "networking.clusterNetwork": [
            {key: entry.get(key) for key in ("cidr", "hostPrefix")}
            for entry in networking.get("clusterNetwork") or []
        ],
        "networking.serviceNetwork": [*(networking.get("serviceNetwork") or [])],
        "fips": bool(config.get("fips")),
    }
    return {path: json.dumps(value) for path, value in values.items()}
