"""Read the text of an install-config, and check it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import SecretStr, ValidationError

from base.errors import ConfigError, Fault, Stricter
from base.shapes import Location, below, dotted, meant, shape_faults
from base.yaml_text import parse_yaml, parse_yaml_as_written
from cluster.install_config.decoding import respell, undecodable
from cluster.install_config.defaults import with_defaults
from cluster.install_config.empty_hints import empty_hints
from cluster.install_config.old_spellings import REMOVED, modernize
from cluster.install_config.platform import Host
from cluster.install_config.releases import NEWEST, Release, notices, of_no_release, too_new
from cluster.install_config.rules import RULES, by_release
from cluster.install_config.rules.access import NO_PULL_SECRET
from cluster.install_config.rules.hosts import LOGIN
from cluster.install_config.schema import InstallConfig, with_baremetal
from cluster.install_config.unquoted import misread_scalars


class Credentials(NamedTuple):
    """A BMC's login from the stack's secrets; what is empty is that of the install-config."""

    username: str
    password: SecretStr


@dataclass(frozen=True)
class Reading:
    """The content of a file, and its faults."""

    config: InstallConfig
    """In today's spellings, with all defaults. Complete only if `faults` is empty."""
    faults: tuple[Fault, ...]
    """Those of openshift-install, and the `Stricter` ones of this program."""
    notices: tuple[Fault, ...]
    """One for each old spelling that still works, and each key that only some releases know."""
    muted: frozenset[str]
    """The paths at and below which the file says too little for any further verdict."""
    rules: Mapping[Fault, str]
    """The rule that found each fault, as `networks.disjoint`: tools/verdicts prints them."""


def read(text: str, credentials: Mapping[str, Credentials] | None = None, release: Release | None = None) -> Reading:
    """Read and check one file.

    Args:
        text: The file's content.
        credentials: BMC credentials by host name, which replace those in the file.
        release: The release of openshift-install whose verdict counts; None: the newest.

    Raises:
        ConfigError: The text is not a YAML mapping.
    """
    content, written = parse_yaml(text), parse_yaml_as_written(text)
    found = _Found([("decoding.respell", fault) for fault in respell(content)])
    respell(written)
    raw = _mapping(content)
    found.add("unquoted.misread_scalars", misread_scalars(InstallConfig, raw, _without_nulls(written)))
    empty = found.add("empty_hints.empty_hints", empty_hints(written))
    undecoded = found.add("decoding.undecodable", undecodable(content))
    unknown = found.add("releases.too_new", too_new(raw, release or NEWEST))
    of_releases = notices(raw, release)
    shape, muted = _checked_shape(raw)
    found.add("read.shape", shape)
    muted |= {fault.where for fault in (*empty, *undecoded, *unknown)}
    config, faults, old = modernize(_with_credentials(_validated(raw), credentials or {}))
    config = with_defaults(config)
    if config.platform.baremetal is None:
        muted.add("platform.baremetal")
    if muted & {"networking", "networking.machineNetwork", "networking.machineCIDR"}:
        # else the rules would check them against a default network
        muted |= {"platform.baremetal.apiVIPs", "platform.baremetal.ingressVIPs"}
    found.add("old_spellings.modernize", faults, muted)
    for rule in RULES:
        found.add(_name(rule), rule(config), muted)
    for by in by_release.RULES:
        found.add(_name(by), by(config, release or NEWEST), muted)
    return Reading(
        config, tuple(found.rules), (*old, *of_releases, *of_no_release(config)), frozenset(muted), found.rules
    )


class _Found:
    """Faults in the order in which they were found, each with its rule."""

    def __init__(self, first: list[tuple[str, Fault]]) -> None:
        self.rules = {fault: rule for rule, fault in first}

    def add(self, rule: str, faults: Iterable[Fault], muted: Iterable[str] = ()) -> list[Fault]:
        """Add the faults of a rule that are not at or below a muted path, and return them."""
        added = [fault for fault in faults if not any(below(fault.where, path) for path in muted)]
        for fault in added:
            self.rules.setdefault(fault, rule)
        return added


def _name(rule: Callable[..., object]) -> str:
    """Return `networks.disjoint` for a rule of that module."""
    return f"{rule.__module__.rpartition('.')[2]}.{rule.__name__.removeprefix('_')}"


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
            locations = [
                detail["loc"] for detail in error.errors(include_input=False) if detail["type"] == "int_type"
            ]
            whole = {dotted(at) for at in locations if _is_whole(_section_of(raw, at)[at[-1]])}
            shape = (REMOVED.get(fault.where, fault) for fault in shape_faults(error, InstallConfig))
            faults += [Stricter(**vars(fault)) if fault.where in whole else fault for fault in shape]
            for detail in error.errors(include_input=False, include_url=False):
                muted |= {
                    _take_out(raw, detail["loc"], detail["type"]),
                    _misspelt(raw, detail["loc"], detail["type"]),
                }


def _is_whole(value: Any) -> bool:
    """Return whether a value is `3.0`, which the installer reads as 3."""
    return isinstance(value, float) and value.is_integer()


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
    return _mapping(parse_yaml(text))


def _mapping(content: Any) -> dict[str, Any]:
    loaded = _without_nulls(content)
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
    return host.changed(bmc=host.bmc.changed(**{key: value for key, value in login._asdict().items() if value}))
