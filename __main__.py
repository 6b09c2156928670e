"""The Pulumi program: read the stack, plan the cluster, declare its resources."""

from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime.config import is_config_secret

from boot_media.keyfiles import keyfiles_of
from cluster.options import Options
from cluster.plan import ClusterPlan, load_plan
from components.cluster import Cluster, ClusterArgs
from providers.base.errors import ConfigError, Fault

LOGINS = "bmc_credentials"


def stack_options() -> dict[str, Any]:
    """Return the stack's config by the names that `Options` declares; options that are not set are left out."""
    config = pulumi.Config()
    plain = {name: config.get(name) for name in ("phase", "runtime", "bmc_ca", "wait")}
    booleans = {name: config.get_bool(name) for name in ("approve_certificates", "destroyable", "import_production")}
    objects = {name: config.get_object(name) for name in Options.model_fields.keys() - plain.keys() - booleans.keys()}
    if objects[LOGINS] and not is_config_secret(f"{config.name}:{LOGINS}"):
        fix = f"set each password with `pulumi config set --secret --path '{LOGINS}.<host>.password'`"
        raise ConfigError([Fault(f"config: {LOGINS}", "in plain text, and would be so in the state as well", fix)])
    return {name: value for name, value in {**plain, **booleans, **objects}.items() if value is not None}


def plan() -> ClusterPlan:
    """Return the plan.

    Raises:
        pulumi.RunError: The input has faults, one per line; nothing was touched.
    """
    try:
        return load_plan(Path("stacks", pulumi.get_stack(), "install-config.yaml"), stack_options(), keyfiles_of)
    except ConfigError as error:
        raise pulumi.RunError(str(error)) from None


cluster_plan = plan()
cluster = Cluster(cluster_plan.name, ClusterArgs(cluster_plan))
for key, value in cluster.outputs.items():
    pulumi.export(key, value)
