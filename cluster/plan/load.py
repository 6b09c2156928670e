"""From the two inputs to a plan, or to everything that is wrong with them."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from cluster.errors import ConfigError
from cluster.files import read_text
from cluster.install_config import Credentials, InstallConfig, read
from cluster.install_config.rules.hosts import LOGIN
from cluster.options import Login, Options, Placement
from cluster.plan.intent import intent_of
from cluster.plan.missing import missing
from cluster.plan.model import ClusterPlan, Intent, Role
from cluster.plan.placing import place
from cluster.plan.unsupported import unsupported
from cluster.problems import Problem, dotted, shape_problems


def load_intent(path: Path, options: Mapping[str, Any] | None = None) -> Intent:
    """Read and judge an install-config, and place its machines where a stack's options say so.

    Args:
        path: The installer's install-config.yaml.
        options: The stack's config, keys without the project's prefix. Options that are missing are no problem here:
            they may be encrypted. So the BMCs' credentials may be missing in the install-config as well, then.

    Raises:
        ConfigError: Every problem found, one line each.
    """
    placement, found = _placement(options or {})
    config, refused = _judged(path, {} if options is None else None)
    if config is None or found:
        raise ConfigError([*refused, *found])
    intent, found = place(intent_of(config), placement, str(path))
    if found:
        raise ConfigError(found)
    return intent


def load_plan(path: Path, options: Mapping[str, Any]) -> ClusterPlan:
    """Read, judge and join the two inputs.

    Args:
        path: The installer's install-config.yaml.
        options: The stack's config, keys without the project's prefix.

    Raises:
        ConfigError: Every problem found, one line each; nothing was touched.
    """
    wanted, found = _options(options)
    config, refused = _judged(path, None if wanted is None else wanted.bmc_credentials)
    if config is None or wanted is None:
        raise ConfigError([*refused, *found])
    intent, found = place(intent_of(config), wanted, str(path))
    further = (
        *_incomplete(intent, wanted),
        *_wiped_again(intent, wanted),
        *_base_of_the_bootstrap(wanted),
        *_quorum(intent, wanted),
    )
    found += [f"config: {problem}" for problem in further]
    if found:
        raise ConfigError(found)
    return ClusterPlan(**dict(intent), options=wanted)


def _judged(path: Path, logins: Mapping[str, Login] | None) -> tuple[InstallConfig | None, list[str]]:
    """The config, or its lines. Without `logins` nobody knows whether credentials are missing."""
    credentials = {name: Credentials(login.username, login.password) for name, login in (logins or {}).items()}
    try:
        reading = read(read_text(path), credentials)
    except ConfigError as error:
        return None, [f"{path}: {problem}" for problem in error.problems]

    def heard(problems: Iterable[Problem]) -> list[str]:
        known = logins is not None
        return [f"{path}: {each}" for each in problems if known or not LOGIN.fullmatch(each.path)]

    found = heard(reading.problems) or heard(unsupported(reading.config))
    return None if found else reading.config, found


def _options(options: Mapping[str, Any]) -> tuple[Options | None, list[str]]:
    try:
        return Options.model_validate(options), []
    except ValidationError as error:
        return None, [f"config: {problem}" for problem in shape_problems(error, Options)]


def _placement(options: Mapping[str, Any]) -> tuple[Placement, list[str]]:
    try:
        return Options.model_validate(options), []
    except ValidationError as error:
        absent = {dotted(each["loc"]) for each in error.errors() if each["type"] == "missing"}
        found = [problem for problem in shape_problems(error, Options) if problem.path not in absent]
    return Placement() if found else Placement.model_validate(options), [f"config: {problem}" for problem in found]


def _incomplete(intent: Intent, options: Options) -> Iterator[Problem]:
    """What must be known of every machine, and is not."""
    for each in missing(intent):
        yield Problem(each.option, f"{each.what}; {each.mend}")
    for server in intent.servers:
        if not options.consent.get(server.name):
            text = "missing; name the serial or system UUID of the one machine whose disk may be wiped"
            yield Problem(f"consent.{server.name}", text)
    names = [host.name for host in intent.hosts]
    for option in ("consent", "bmc_credentials", "bmc_trust", "reinstall"):
        for name in getattr(options, option):
            if name not in names:
                yield Problem(f"{option}.{name}", "no such host")


def _wiped_again(intent: Intent, options: Options) -> Iterator[Problem]:
    """Which hosts `reinstall` may not name."""
    for host in intent.hosts:
        if host.name not in options.reinstall:
            continue
        if not options.consent.get(host.name):
            yield Problem(f"reinstall.{host.name}", f"not without consent.{host.name}, which allows to wipe its disk")
        elif options.phase == "production" and host.role is Role.CONTROL_PLANE:
            text = "it holds the API and a copy of etcd in production; take it out"
            yield Problem(f"reinstall.{host.name}", text)


def _base_of_the_bootstrap(options: Options) -> Iterator[Problem]:
    """The base volume is either named, or made of an image."""
    vm, provisioner = options.bootstrap, options.provisioner
    if not provisioner.manage:
        if not vm.base_volume:
            text = "missing; name a qcow2 volume of the pool, or have one made with provisioner.manage: true"
            yield Problem("bootstrap.base_volume", text)
        return
    if provisioner.base_image is None:
        text = "missing; with provisioner.manage: true, name source and sha256 of the bootstrap's image"
        yield Problem("provisioner.base_image", text)
    if vm.base_volume:
        text = f"{vm.base_volume} is not used: provisioner.manage: true makes a volume of base_image; take it out"
        yield Problem("bootstrap.base_volume", text)
    if vm.base_sha256:
        text = "not used: with provisioner.manage: true, provisioner.base_image.sha256 says it; take it out"
        yield Problem("bootstrap.base_sha256", text)


def _quorum(intent: Intent, options: Options) -> Iterator[Problem]:
    """When the bootstrap's etcd member is gone, a majority of the others must be there."""
    wanted, members = options.handoff.min_ready, len(intent.control_plane)
    least = members // 2 + 1
    if wanted is not None and not least <= wanted <= members:
        text = f"{wanted}: a majority of the {members} control-plane hosts is wanted; write {least} to {members}"
        yield Problem("handoff.min_ready", text)
