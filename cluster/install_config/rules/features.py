"""Rules for capabilities, and settings that only clouds have."""

import operator
from collections.abc import Iterator
from itertools import accumulate

from base.errors import Fault, Stricter
from cluster.install_config.schema import Capabilities, InstallConfig

CURRENT = "vCurrent"
_ADDED: dict[str, tuple[str, ...]] = {
    "None": (),
    "v4.11": ("baremetal", "marketplace", "openshift-samples", "MachineAPI"),
    "v4.12": ("Console", "Insights", "Storage", "CSISnapshot"),
    "v4.13": ("NodeTuning",),
    "v4.14": ("Build", "DeploymentConfig", "ImageRegistry"),
    "v4.15": ("OperatorLifecycleManager", "CloudCredential"),
    "v4.16": ("Ingress", "CloudControllerManager"),
    "v4.17": (),
    "v4.18": ("OperatorLifecycleManagerV1",),
    CURRENT: (),
}
CAPABILITY_SETS: dict[str, frozenset[str]] = dict(
    zip(_ADDED, accumulate(map(frozenset, _ADDED.values()), operator.or_), strict=True)
)
"""openshift/api config/v1, types_cluster_version.go: each set includes those before it."""
NEEDED = {
    "baremetal": "platform baremetal does not work without it",
    "MachineAPI": "it makes the compute machines",
    "Ingress": "no cluster works without it",
}
MARKETPLACE = "marketplace"
LIFECYCLE_MANAGER = "OperatorLifecycleManager"

PUBLISH = "External"
CPU_PARTITIONING = ("None", "AllNodes")


def enabled_capabilities(config: InstallConfig) -> frozenset[str]:
    """Return the enabled optional parts of the cluster. An unknown baseline set counts as the current one."""
    section = config.capabilities or Capabilities()
    baseline = CAPABILITY_SETS.get(section.baseline_capability_set, CAPABILITY_SETS[CURRENT])
    return baseline | set(section.additional_enabled_capabilities)


def _capability_names(config: InstallConfig) -> Iterator[Fault]:
    if config.capabilities is None:
        return
    baseline = config.capabilities.baseline_capability_set
    if baseline not in CAPABILITY_SETS:
        what = f"{baseline} is unknown" if baseline else "missing"
        fix = f"write {CURRENT}, or one of {', '.join(name for name in CAPABILITY_SETS if name != CURRENT)}"
        yield Fault("capabilities.baselineCapabilitySet", what, fix)
    known = CAPABILITY_SETS[CURRENT]
    fix = f"write one of {', '.join(sorted(known, key=str.lower))}"
    for index, name in enumerate(config.capabilities.additional_enabled_capabilities):
        if name not in known:
            path = f"capabilities.additionalEnabledCapabilities[{index}]"
            yield Fault(path, f"{name or 'an empty name'} is unknown", fix)


def _needed_capabilities(config: InstallConfig) -> Iterator[Fault]:
    enabled = enabled_capabilities(config)
    needed = {**NEEDED, LIFECYCLE_MANAGER: f"{MARKETPLACE} needs it"} if MARKETPLACE in enabled else NEEDED
    for name, why in needed.items():
        if name not in enabled:
            what = f"{name} is not enabled, but {why}"
            yield Fault("capabilities.additionalEnabledCapabilities", what, f"add {name}")


def _cloud_settings(config: InstallConfig) -> Iterator[Fault]:
    if config.publish in ("Internal", "Mixed"):
        yield Fault("publish", f"{config.publish} is not supported on baremetal", f"write {PUBLISH}")
    elif config.publish != PUBLISH:
        yield Fault("publish", f"{config.publish} is unknown", f"write {PUBLISH}")
    if config.operator_publishing_strategy is not None and config.publish != "Mixed":
        what = "needs publish: Mixed, which baremetal does not support"
        yield Fault("operatorPublishingStrategy", what, "remove it")
    if config.credentials_mode:
        yield Fault("credentialsMode", f"{config.credentials_mode} cannot be set on baremetal", "remove it")


def _cpu_partitioning(config: InstallConfig) -> Iterator[Fault]:
    mode = config.cpu_partitioning_mode
    if mode not in CPU_PARTITIONING:
        yield Stricter("cpuPartitioningMode", f"{mode} is unknown", f"write {' or '.join(CPU_PARTITIONING)}")


RULES = (
    _capability_names,
    _needed_capabilities,
    _cloud_settings,
    _cpu_partitioning,
)
