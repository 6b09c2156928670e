"""The rules, one family per module. A rule is a function that returns the faults of a config."""

from collections.abc import Callable, Iterable

from base.errors import Fault
from cluster.install_config.rules import access, features, hosts, names, networks, pki, pools, provisioning, vips
from cluster.install_config.schema import InstallConfig

RULES: tuple[Callable[[InstallConfig], Iterable[Fault]], ...] = (
    *names.RULES,
    *networks.RULES,
    *pools.RULES,
    *vips.RULES,
    *provisioning.RULES,
    *hosts.RULES,
    *access.RULES,
    *pki.RULES,
    *features.RULES,
)
