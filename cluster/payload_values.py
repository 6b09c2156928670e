"""The values of an install-config that its payload must have, in a form in which two of them can be compared."""

import hashlib
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from cluster.values.address import parse_cidr

if TYPE_CHECKING:
    from cluster.install_config import InstallConfig

PULL_SECRET = "pullSecret"  # noqa: S105  (a path)
LEFT_OUT: dict[str, Any] = {
    **dict.fromkeys(("api_version", "kind"), True),  # openshift-install converts an old file
    "platform": True,  # another check has the payload's
    "pull_secret": True,  # as a digest
    "metadata": {"creation_timestamp"},  # openshift-install writes it in UTC
    # The logins may be secrets of the stack.
    "control_plane": {"platform": True, "fencing": {"credentials": {"__all__": {"username", "password"}}}},
    "arbiter": {"platform"},
    # A payload of platform none has the control plane's architecture, whatever the servers of compute have.
    "compute": {"__all__": {"platform", "architecture"}},
    "networking": {"machine_cidr": True, "service_cidr": True, "cluster_networks": True, "type": True,
                   "cluster_network": {"__all__": {"host_subnet_length"}}},
}  # fmt: skip
"""The fields that `payload_config` changes or that set nothing. Values of old spellings are in the new ones."""


def payload_values(config: "InstallConfig") -> dict[str, str]:
    """Return the values that are set, by path, as JSON. Of the pull secret, it is a digest.

    Args:
        config: With all defaults: that of a stack, or the one in a payload.
    """
    written = config.model_dump(mode="json", by_alias=True, exclude=LEFT_OUT, exclude_defaults=True)
    capabilities = written.get("capabilities", {})
    if names := capabilities.get("additionalEnabledCapabilities"):
        capabilities["additionalEnabledCapabilities"] = [name for name in names if name != "baremetal"]
    values = {path: json.dumps(value) for path, value in _leaves("", written)}
    return values | pull_secret_value(config.pull_secret.get_secret_value())


def pull_secret_value(text: str) -> dict[str, str]:
    """Return the pull secret's part of `payload_values`; empty if the text is none, as for an encrypted one."""
    try:
        same = json.dumps(json.loads(text), sort_keys=True)
    except (ValueError, RecursionError):
        return {}
    return {PULL_SECRET: hashlib.sha256(same.encode()).hexdigest()}


def _leaves(path: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield each value below a path; empty ones count as not set, as in Go."""
    match value:
        case dict():
            for key, member in value.items():
                yield from _leaves(f"{path}.{key}" if path else key, member)
        case [dict(), *_]:
            for index, member in enumerate(value):
                yield from _leaves(f"{path}[{index}]", member)
        case [str(), *_]:
            yield path, [_canonical(member) for member in value]
        case str() if value:
            yield path, _canonical(value)
        case bool() | int() if value or path.endswith(".replicas"):
            yield path, value


def _canonical(text: str) -> str:
    """Return a network as openshift-install writes it: IPv6 in short form and lower case."""
    cidr = parse_cidr(text)
    return str(cidr) if cidr else text
