"""The file of a stack, `Pulumi.<stack>.yaml`, read without Pulumi."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from base.errors import ConfigError, Fault
from base.yaml_text import parse_yaml
from cluster.files import read_yaml

PREFIX = "okd-baremetal:"
"""The start of each key of a stack file: the project's name."""
LOGINS, PULL_SECRET, NOTIFY_URL = "bmc_credentials", "pull_secret", "notify_url"


def read_stack_file(path: Path) -> dict[str, Any]:
    """Read the options of a `Pulumi.<stack>.yaml` that are not encrypted.

    Args:
        path: Path of the file.

    Returns:
        Values by name, without the project's prefix. Encrypted values are left out, at any depth.

    Raises:
        ConfigError: The file cannot be read, or is not a stack's file.
    """
    readable: dict[str, Any] = _readable(read_options(path))
    return readable


def read_options(path: Path, parse: Callable[[str], Any] = parse_yaml) -> dict[str, Any]:
    """Read the options of a stack's file. An encrypted value is `{"secure": <ciphertext>}`, as in the file.

    Raises:
        ConfigError: The file cannot be read, or is not a stack's file.
    """
    loaded = read_yaml(path, parse)
    config = loaded.get("config") or {} if isinstance(loaded, dict) else None
    if not isinstance(config, dict):
        raise ConfigError(Fault(str(path), "not a stack's file", "write a mapping `config:` with the options in it"))
    return {str(key).removeprefix(PREFIX): value for key, value in config.items() if str(key).startswith(PREFIX)}


def is_encrypted(value: Any) -> bool:
    """Return whether a value of a stack's file is encrypted."""
    return isinstance(value, dict) and value.keys() == {"secure"}


def _readable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _readable(member) for key, member in value.items() if not is_encrypted(member)}
    return (
        [_readable(element) for element in value if not is_encrypted(element)] if isinstance(value, list) else value
    )
