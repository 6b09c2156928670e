"""Builds the plan from its two inputs, or reports all their faults."""

from collections.abc import Callable, Container, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from base.errors import ConfigError, Fault, OkdBaremetalError
from base.shapes import dotted, shape_faults
from cluster.files import read_text
from cluster.install_config import Credentials, InstallConfig, may_be_a_secret, read
from cluster.install_config.platform import BARE
from cluster.install_config.rules.access import NO_PULL_SECRET
from cluster.known_options import KnownOptions, known_options
from cluster.options import BmcOptions, Login, MachineOptions, Options
from cluster.plan.address_table.conflicts import conflicts_within
from cluster.plan.address_table.rows import rows_of
from cluster.plan.addresses import CONFIG, assign_addresses
from cluster.plan.fences import fences_of
from cluster.plan.intent import intent_of
from cluster.plan.model import BmcPlan, ClusterPlan, Intent, Keyfile
from cluster.plan.refusals.fencing import untrusted_authorities
from cluster.plan.refusals.host_networks import network_faults
from cluster.plan.refusals.missing import never_addressed
from cluster.plan.refusals.options import incomplete, plain_secrets, secrets_over_http
from cluster.plan.refusals.platform import platform_faults
from cluster.plan.refusals.unsupported import unsupported
from cluster.values.address import Address

KeyfilesOf = Callable[[Mapping[str, Any]], tuple[Keyfile, ...]]
"""Makes NetworkManager's keyfiles from a `networkConfig`, or raises an `OkdBaremetalError` with the reason."""


def load_intent(
    path: Path, options: Mapping[str, Any] | None = None, *, keyfiles_of: KeyfilesOf | None = None
) -> Intent:
    """Read and check an install-config, and give its machines the addresses of a stack's options.

    Args:
        path: The installer's install-config.yaml.
        options: The stack's config, keys without the project's prefix. Options may be missing, because they may be
            encrypted. For the same reason, the install-config may then lack its secrets. None: no stack.
        keyfiles_of: Makes the servers' keyfiles. None: leave them out.

    Raises:
        ConfigError: There are faults; it has them all, one line each.
    """
    machine_options, faults = _machine_options(options or {})
    config, refused = _checked_config(path, {}, _none if options is None else may_be_a_secret)
    if config is None or faults:
        raise ConfigError(*refused, *faults)
    intent, faults = _joined(config, machine_options, str(path))
    intent, refused = _with_keyfiles(intent, str(path), keyfiles_of)
    if faults or refused:
        raise ConfigError(*faults, *refused)
    return intent


def load_bmcs(path: Path, options: Mapping[str, Any]) -> BmcPlan:
    """Read and check an install-config, and join it with the options that its BMCs need.

    Args:
        path: The installer's install-config.yaml.
        options: The stack's config, keys without the project's prefix, none encrypted. Empty: no stack.

    Raises:
        ConfigError: There are faults; it has them all, one line each.
    """
    wanted, faults = _bmc_options(options)
    excused = may_be_a_secret if wanted is None else _no_pull_secret
    config, refused = _checked_config(path, {} if wanted is None else wanted.bmc_credentials, excused)
    if config is None or wanted is None:
        raise ConfigError(*refused, *faults)
    return BmcPlan(**dict(intent_of(config)), options=wanted, fences=fences_of(config))


def network_refusals(config: InstallConfig, options: MachineOptions, keyfiles_of: KeyfilesOf | None) -> list[Fault]:
    """Return what a preview refuses in the networks of an install-config, beside addresses that conflict.

    Args:
        config: One that openshift-install accepts, except for missing secrets, and that has nothing `unsupported`.
        options: The addresses of its stack; those that are missing are no fault here.
        keyfiles_of: Makes the servers' keyfiles. None: leave them out.
    """
    file = "install-config"
    intent, faults = assign_addresses(intent_of(config), options, file)
    intent, refused = _with_keyfiles(intent, file, keyfiles_of)
    outside = [replace(fault, where=fault.where.removeprefix(f"{file}: ")) for fault in (*faults, *refused)]
    return [*outside, *never_addressed(intent), *network_faults(intent)]


class CheckedInputs(NamedTuple):
    """The two inputs of a plan, and all their faults."""

    intent: Intent | None
    """None if the install-config itself is refused."""
    known: KnownOptions
    faults: list[Fault]
    """All that a preview refuses."""


def check_inputs(
    path: Path, options: Mapping[str, Any], keyfiles_of: KeyfilesOf | None, *, plain: Container[str] = ()
) -> CheckedInputs:
    """Read, check and join the two inputs.

    Args:
        path: The installer's install-config.yaml.
        options: The stack's config, keys without the project's prefix. An encrypted value, as `{"secure": …}`, counts
            as present.
        keyfiles_of: Makes the servers' keyfiles. None: leave them out.
        plain: The names of the options that are not encrypted, if only a secret may hold them.
    """
    known = known_options(options)
    config, refused = _checked_config(path, known.options.bmc_credentials, partial(has_secret, known))
    faults = [*refused, *(fault.within(CONFIG) for fault in (*plain_secrets(known.options, plain), *known.faults))]
    if config is None:
        config, _ = _checked_config(path, {}, may_be_a_secret)  # a missing secret hides no other fault
    if config is None:
        return CheckedInputs(None, known, faults)
    intent, misplaced = _joined(config, known.options, str(path))
    intent, refused = _with_keyfiles(intent, str(path), keyfiles_of)
    of_options = (*incomplete(intent, known.options), *untrusted_authorities(config, known.options))
    lacking = [*misplaced, *(fault.within(CONFIG) for fault in of_options)]
    faults += [fault for fault in lacking if known.counts(fault.where.removeprefix(f"{CONFIG}: "))]
    faults += refused
    return CheckedInputs(intent, known, faults)


def load_plan(
    path: Path, options: Mapping[str, Any], keyfiles_of: KeyfilesOf, *, plain: Container[str] = ()
) -> ClusterPlan:
    """Return the plan of the two inputs; see `check_inputs`.

    Raises:
        ConfigError: There are faults; it has them all, one line each. Nothing was touched.
    """
    intent, known, faults = check_inputs(path, options, keyfiles_of, plain=plain)
    if intent is None or faults:
        raise ConfigError(*faults)
    return ClusterPlan(**dict(intent), options=known.options)


def credentials_of(logins: Mapping[str, Login]) -> dict[str, Credentials]:
    """Return the logins of a stack as those of an install-config."""
    return {name: Credentials(login.username, login.password) for name, login in logins.items()}


def has_secret(known: KnownOptions, fault: Fault) -> bool:
    """Return whether a stack has the secret that an install-config lacks by a fault."""
    return known.pull_secret if fault == NO_PULL_SECRET else not known.logins and may_be_a_secret(fault)


def _none(_: Fault) -> bool:
    return False


def _no_pull_secret(fault: Fault) -> bool:
    return fault == NO_PULL_SECRET


def _checked_config(
    path: Path, logins: Mapping[str, Login], excused: Callable[[Fault], bool]
) -> tuple[InstallConfig | None, list[Fault]]:
    """Return the config, or its faults without those that are excused."""
    try:
        reading = read(read_text(path), credentials_of(logins))
    except ConfigError as error:
        return None, [fault.within(str(path)) for fault in error.faults]

    faults = [fault for fault in reading.faults if not excused(fault)] or [*unsupported(reading.config)]
    return None if faults else reading.config, [fault.within(str(path)) for fault in faults]


def _joined(config: InstallConfig, options: MachineOptions, file: str) -> tuple[Intent, list[Fault]]:
    """Return the intent of a config with the addresses of the options, and the faults of all addresses."""
    intent, faults = assign_addresses(intent_of(config), options, file)
    faults += (fault.within(file) for fault in network_faults(intent))
    faults += platform_faults(intent, options, file, CONFIG)
    named = frozenset(row.value for row in rows_of(config, options) if isinstance(row.value, Address))
    return intent.changed(named_addresses=named), [*faults, *conflicts_within(config, options, file)]


def _bmc_options(options: Mapping[str, Any]) -> tuple[BmcOptions | None, list[Fault]]:
    try:
        return BmcOptions.model_validate(options), []
    except ValidationError as error:
        return None, [fault.within(CONFIG) for fault in shape_faults(error, Options)]


def _machine_options(options: Mapping[str, Any]) -> tuple[MachineOptions, list[Fault]]:
    try:
        return Options.model_validate(options), []
    except ValidationError as error:
        absent = {dotted(detail["loc"]) for detail in error.errors() if detail["type"] == "missing"}
        faults = [fault.within(CONFIG) for fault in shape_faults(error, Options) if fault.where not in absent]
    return MachineOptions() if faults else MachineOptions.model_validate(options), faults


def _with_keyfiles(intent: Intent, file: str, keyfiles_of: KeyfilesOf | None) -> tuple[Intent, list[Fault]]:
    """Return the intent with the keyfiles of each host's `networkConfig`, and the faults of `networkConfig`."""
    if keyfiles_of is None:
        return intent, []
    hosts, faults = [], list[Fault]()
    for index, host in enumerate(intent.hosts):
        keyfiles: tuple[Keyfile, ...] = ()
        try:
            keyfiles = () if host.network_config is None else keyfiles_of(host.network_config)
        except OkdBaremetalError as error:
            faults.append(error.fault.within(f"{file}: {BARE}.hosts[{index}].networkConfig"))
        hosts.append(host.changed(keyfiles=keyfiles))
    intent = intent.changed(hosts=tuple(hosts))
    return intent, faults + [fault.within(file) for fault in secrets_over_http(intent)]
