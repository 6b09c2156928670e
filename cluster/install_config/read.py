"""Read the text of an install-config, and check it."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import SecretStr, ValidationError

from base.errors import ConfigError, Fault
from base.shapes import Location, below, dotted, meant, shape_faults
from base.yaml_text import parse_yaml, parse_yaml_as_written
from cluster.install_config.defaults import with_defaults
from cluster.install_config.empty_hints import empty_hints
from cluster.install_config.old_spellings import REMOVED, modernize
from cluster.install_config.platform import Host
from cluster.install_config.rules import RULES
from cluster.install_config.rules.access import NO_PULL_SECRET
from cluster.install_config.rules.hosts import LOGIN
from cluster.install_config.schema import InstallConfig, with_baremetal
from cluster.install_config.unquoted import misread_scalars


class Credentials(NamedTuple):
    """A BMC's login from the stack's secrets."""

    username: str
    password: SecretStr


@dataclass(frozen=True)
class Reading:
    """The content of a file, and its faults."""

    config: InstallConfig
    """In today's spellings, with all defaults. Complete only if `faults` is empty."""
    faults: tuple[Fault, ...]
    notices: tuple[Fault, ...]
    """One for each old spelling that still works."""
    muted: frozenset[str]
    """The paths at and below which the file says too little for any further verdict."""


def read(text: str, credentials: Mapping[str, Credentials] | None = None) -> Reading:
    """Read and check one file.

    Args:
        text: The file's content.
        credentials: BMC credentials by host name, which replace those in the file.

    Raises:
        ConfigError: The text is not a YAML mapping.
    """
    raw = mapping(text)
    written = parse_yaml_as_written(text)
    unclear = [*misread_scalars(InstallConfig, raw, _without_nulls(written)), *empty_hints(written)]
    shape, muted = _checked_shape(raw)
    muted |= {fault.where for fault in unclear}
    config, faults, notices = modernize(_with_credentials(_validated(raw), credentials or {}))
    config = with_defaults(config)
    if config.platform.baremetal is None:
        muted.add("platform.baremetal")
    if muted & {"networking", "networking.machineNetwork"}:
        muted |= {
            "platform.baremetal.apiVIPs",
            "platform.baremetal.ingressVIPs",
        }  # else the rules would check them against a default network
    faults += [fault for rule in RULES for fault in rule(config)]
    relevant = [fault for fault in faults if not any(below(fault.where, path) for path in muted)]
    return Reading(config, tuple(dict.fromkeys([*unclear, *shape, *relevant])), tuple(notices), frozenset(muted))


def may_be_a_secret(fault: Fault) -> bool:
    """Return whether a fault is that of a value which a stack may have as a secret: a login, or the pull secret."""
    return bool(LOGIN.fullmatch(fault.where)) or fault == NO_PULL_SECRET


def _checked_shape(raw: dict[str, Any]) -> tuple[list[Fault], set[str]]:
    """Remove the values that violate the schema from `raw`, so that the rules can check the rest.

    Returns:
        The faults, and the paths at which faults of the rules do not count.
    """
    faults: list[Fault] = []
    muted: set[str] = set()
    while True:
        try:
            _validated(raw)
            return faults, muted
        except ValidationError as error:
            faults += [REMOVED.get(fault.where, fault) for fault in shape_faults(error, InstallConfig)]
            for detail in error.errors(include_input=False, include_url=False):
                muted |= {
                    _take_out(raw, detail["loc"], detail["type"]),
                    _misspelt(raw, detail["loc"], detail["type"]),
                }


def _validated(raw: dict[str, Any]) -> InstallConfig:
    """Validate with the file's spelling of keys; `populate_by_name` is only for code."""
    return InstallConfig.model_validate(raw, by_alias=True, by_name=False)


def _take_out(raw: dict[str, Any], location: Location, kind: str) -> str:
    """Remove one value, and return its path. Empty a section or a list element, to keep its presence and index."""
    section = _section_of(raw, location)
    if isinstance(section, dict) and kind != "model_type":
        del section[location[-1]]
    else:
        section[location[-1]] = "" if kind == "string_type" else {}
    return dotted(location)


def _misspelt(raw: dict[str, Any], location: Location, kind: str) -> str:
    """Return the path of the key that an unknown key was probably meant to be; it must not count as missing."""
    near = meant(InstallConfig, location) if kind == "extra_forbidden" else None
    return dotted(near if near and near[-1] not in _section_of(raw, near) else location)


def _section_of(raw: Any, location: Location) -> Any:
    """Return the section or list that has a value."""
    for part in location[:-1]:
        raw = raw[part]
    return raw


def mapping(text: str) -> dict[str, Any]:
    """Return the content of a file, without nulls.

    Raises:
        ConfigError: The text is not a YAML mapping.
    """
    loaded = _without_nulls(parse_yaml(text))
    if not isinstance(loaded, dict):
        raise ConfigError(
            Fault("", "not a YAML mapping", "write an install-config, which starts with apiVersion: v1")
        )
    return loaded


def _without_nulls(value: Any) -> Any:
    """Drop nulls, as Go does."""
    if isinstance(value, dict):
        return {key: _without_nulls(member) for key, member in value.items() if member is not None}
    return [_without_nulls(element) for element in value] if isinstance(value, list) else value


def _with_credentials(config: InstallConfig, credentials: Mapping[str, Credentials]) -> InstallConfig:
    if not config.baremetal.hosts or not credentials:
        return config
    hosts = tuple(_login(host, credentials.get(host.name)) for host in config.baremetal.hosts)
    return with_baremetal(config, hosts=hosts)


def _login(host: Host, login: Credentials | None) -> Host:
    if login is None:
        return host
    return host.changed(bmc=host.bmc.changed(**login._asdict()))
