"""From the two inputs to a plan, or to everything that is wrong with them."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cluster.files import read_text
from cluster.install_config import Credentials, InstallConfig, read
from cluster.install_config.rules.hosts import LOGIN
from cluster.options import Login, Options, Placement
from cluster.plan.intent import intent_of
from cluster.plan.model import ClusterPlan, Intent, Keyfile
from cluster.plan.placing import CONFIG, place
from cluster.plan.refusals import BARE, incomplete, not_installable, unsupported
from providers.base.errors import ConfigError, Fault, OkdBaremetalError
from providers.base.shapes import dotted, shape_faults

KeyfilesOf = Callable[[Mapping[str, Any]], tuple[Keyfile, ...]]
"""Makes NetworkManager's keyfiles of a `networkConfig`; raises an `OkdBaremetalError` that says why it cannot."""


def load_intent(
    path: Path, options: Mapping[str, Any] | None = None, *, keyfiles_of: KeyfilesOf | None = None
) -> Intent:
    """Read and judge an install-config, and place its machines where a stack's options say so.

    Args:
        path: The installer's install-config.yaml.
        options: The stack's config, keys without the project's prefix. Missing options are no fault here: they may be
            encrypted. For that reason BMC credentials may be missing in the install-config as well, then.
        keyfiles_of: None: the servers' keyfiles are left out.

    Raises:
        ConfigError: Every fault found, one line each.
    """
    placement, found = _placement(options or {})
    config, refused = _judged(path, {} if options is None else None)
    if config is None or found:
        raise ConfigError([*refused, *found])
    intent, found = place(intent_of(config), placement, str(path))
    intent, refused = _with_keyfiles(intent, str(path), keyfiles_of)
    if found or refused:
        raise ConfigError([*found, *refused])
    return intent


def load_plan(path: Path, options: Mapping[str, Any], keyfiles_of: KeyfilesOf) -> ClusterPlan:
    """Read, judge and join the two inputs.

    Args:
        path: The installer's install-config.yaml.
        options: The stack's config, keys without the project's prefix.
        keyfiles_of: Makes the servers' keyfiles.

    Raises:
        ConfigError: Every fault found, one line each; nothing was touched.
    """
    wanted, found = _options(options)
    config, refused = _judged(path, None if wanted is None else wanted.bmc_credentials)
    if config is None or wanted is None:
        raise ConfigError([*refused, *found])
    intent, found = place(intent_of(config), wanted, str(path))
    intent, refused = _with_keyfiles(intent, str(path), keyfiles_of)
    found += [fault.within(CONFIG) for fault in incomplete(intent, wanted)]
    found += [*refused, *(fault.within(str(path)) for fault in not_installable(intent))]
    if found:
        raise ConfigError(found)
    return ClusterPlan(**dict(intent), options=wanted)


def _judged(path: Path, logins: Mapping[str, Login] | None) -> tuple[InstallConfig | None, list[Fault]]:
    """The config, or its faults. Without `logins` nobody knows whether credentials are missing."""
    credentials = {name: Credentials(login.username, login.password) for name, login in (logins or {}).items()}
    try:
        reading = read(read_text(path), credentials)
    except ConfigError as error:
        return None, [fault.within(str(path)) for fault in error.faults]

    def counted(faults: Iterable[Fault]) -> list[Fault]:
        known = logins is not None
        return [fault.within(str(path)) for fault in faults if known or not LOGIN.fullmatch(fault.where)]

    found = counted(reading.faults) or counted(unsupported(reading.config))
    return None if found else reading.config, found


def _options(options: Mapping[str, Any]) -> tuple[Options | None, list[Fault]]:
    try:
        return Options.model_validate(options), []
    except ValidationError as error:
        return None, [fault.within(CONFIG) for fault in shape_faults(error, Options)]


def _placement(options: Mapping[str, Any]) -> tuple[Placement, list[Fault]]:
    try:
        return Options.model_validate(options), []
    except ValidationError as error:
        absent = {dotted(each["loc"]) for each in error.errors() if each["type"] == "missing"}
        found = [fault.within(CONFIG) for fault in shape_faults(error, Options) if fault.where not in absent]
    return Placement() if found else Placement.model_validate(options), found


def _with_keyfiles(intent: Intent, file: str, keyfiles_of: KeyfilesOf | None) -> tuple[Intent, list[Fault]]:
    """The intent, each host with the keyfiles of its `networkConfig`, and why one cannot be had."""
    hosts, found = [], list[Fault]()
    for index, host in enumerate(intent.hosts):
        if keyfiles_of and host.network_config is not None:
            try:
                host = host.model_copy(update={"keyfiles": keyfiles_of(host.network_config)})  # noqa: PLW2901
            except OkdBaremetalError as error:
                found.append(error.fault.within(f"{file}: {BARE}.hosts[{index}].networkConfig"))
        hosts.append(host)
    return intent.model_copy(update={"hosts": tuple(hosts)}), found
