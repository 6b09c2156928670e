"""Reads the stack, plans, declares one cluster."""

from pathlib import Path
from typing import Any

import pulumi

from assets.errors import AssetError
from assets.limits import check_renderable
from assets.priorities import check_release_policy
from cluster.errors import ConfigError
from cluster.options import Options
from cluster.plan import ClusterPlan, load_plan
from components.cluster import Cluster, ClusterArgs


def stack_options() -> dict[str, Any]:
    """The stack's config, by the names that `Options` declares."""
    config = pulumi.Config()
    plain = {"phase": config.get("phase"), "bmc_ca": config.get("bmc_ca")}
    booleans = {name: config.get_bool(name) for name in ("destroyable", "import_production")}
    objects = {name: config.get_object(name) for name in Options.model_fields.keys() - plain.keys() - booleans.keys()}
    return {name: value for name, value in {**plain, **booleans, **objects}.items() if value is not None}


def plan() -> ClusterPlan:
    """The plan, or one line per problem and nothing touched."""
    try:
        wanted = load_plan(Path("stacks", pulumi.get_stack(), "install-config.yaml"), stack_options())
        check_renderable(wanted)
        check_release_policy(wanted)
        return wanted
    except (AssetError, ConfigError) as error:
        raise pulumi.RunError(str(error)) from None


cluster_plan = plan()
cluster = Cluster(cluster_plan.name, ClusterArgs(cluster_plan))
for key, value in cluster.outputs.items():
    pulumi.export(key, value)
