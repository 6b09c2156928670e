"""The Pulumi program: read the stack, plan the cluster, declare its resources."""

import gc
import os

if __name__ == "__main__":
    gc.disable()  # what is imported stays: each search for garbage would walk through all of it and find nothing

from pathlib import Path
from typing import Any

import pulumi
from pulumi.runtime.config import is_config_secret

from base.errors import OkdBaremetalError, one_line
from boot_media.keyfiles import keyfiles_of
from cluster.known_options import SECRETS
from cluster.options import TEXTS, Options
from cluster.plan import load_plan
from components.cluster import Cluster, ClusterArgs

if __name__ == "__main__":
    gc.freeze()
    gc.enable()

DEBUG_GRPC = "PULUMI_DEBUG_GRPC"


def stack_options() -> dict[str, Any]:
    """Return the stack's config by the names that `Options` declares; options that are not set are left out."""
    config = pulumi.Config()

    def value_of(name: str) -> Any:
        try:
            return config.get(name) if name in TEXTS else config.get_object(name)
        except pulumi.ConfigTypeError:
            return config.get(name)  # for `Options` to refuse, together with all other faults

    return {name: value for name in Options.model_fields if (value := value_of(name)) is not None}


def declared() -> Cluster:
    """Declare the cluster.

    Raises:
        pulumi.RunError: The input has faults, one per line; nothing was touched.
    """
    file = Path("stacks", pulumi.get_stack(), "install-config.yaml")
    plain = [name for name in SECRETS if not is_config_secret(f"{pulumi.get_project()}:{name}")]
    try:
        # All that is refused here, `okd-baremetal plan --stack` refuses as well.
        plan = load_plan(file, stack_options(), keyfiles_of, plain=plain)
        return Cluster(plan.name, ClusterArgs(plan))
    except OkdBaremetalError as error:
        raise pulumi.RunError(str(error)) from None


if file := os.environ.get(DEBUG_GRPC):
    pulumi.log.warn(f"{DEBUG_GRPC} is set: Pulumi writes passwords and keyfiles in the clear into {one_line(file)}")

for key, value in declared().outputs.items():
    pulumi.export(key, value)
