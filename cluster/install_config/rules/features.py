"""Rules for capabilities, feature sets, feature gates, and settings that only clouds have."""

import operator
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from base.errors import Fault
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

CUSTOM = "CustomNoUpgrade"
OKD = "OKD"
PREVIEWS = ("TechPreviewNoUpgrade", "DevPreviewNoUpgrade")
FEATURE_SETS = ("", OKD, *PREVIEWS, CUSTOM)
TRUE = ("1", "t", "T", "TRUE", "true", "True")
FALSE = ("0", "f", "F", "FALSE", "false", "False")
OKD_STREAM = "centos-10"
OS_IMAGE_STREAMS = (OKD_STREAM, "rhel-9", "rhel-10")
PUBLISH = "External"
CPU_PARTITIONING = ("None", "AllNodes")


class _Gated(NamedTuple):
    """A field that is set, and the feature gate that it needs."""

    path: str
    gate: str
    feature_sets: tuple[str, ...]
    """The feature sets that enable the gate. CustomNoUpgrade enables only the gates that `featureGates` names."""


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


def _feature_set(config: InstallConfig) -> Iterator[Fault]:
    if config.feature_set not in FEATURE_SETS:
        names = ", ".join(filter(None, FEATURE_SETS))
        yield Fault("featureSet", f"{config.feature_set} is unknown", f"write one of {names}, or remove it")


def _feature_gates(config: InstallConfig) -> Iterator[Fault]:
    if config.feature_gates and config.feature_set != CUSTOM:
        fix = f"write featureSet: {CUSTOM} or remove them"
        yield Fault("featureGates", f"only featureSet {CUSTOM} takes gates", fix)
    for index, gate in enumerate(config.feature_gates):
        _, *values = gate.split("=")
        if len(values) != 1 or values[0] not in (*TRUE, *FALSE):
            fix = "write its name, an equals sign, and true or false"
            yield Fault(f"featureGates[{index}]", f"{gate} is not a feature gate", fix)


def _gates_on(config: InstallConfig) -> Iterator[Fault]:
    if any((*_feature_set(config), *_feature_gates(config))):
        return  # the enabled gates are unknown
    switched_on = {name for name, _, value in (gate.partition("=") for gate in config.feature_gates) if value in TRUE}
    for field in _gated(config):
        on = field.gate in switched_on if config.feature_set == CUSTOM else config.feature_set in field.feature_sets
        if not on:
            sets = " or ".join(name for name in field.feature_sets if name in PREVIEWS)
            fix = f"write featureSet {sets}, or {CUSTOM} with the gate in featureGates, or remove it"
            yield Fault(field.path, f"needs the feature gate {field.gate}", fix)


def _gated(config: InstallConfig) -> Iterator[_Gated]:
    pools = [("controlPlane", config.control_plane)]
    pools += [(f"compute[{index}]", pool) for index, pool in enumerate(config.compute)]
    if config.baremetal.dns_records_type == "External":
        yield _Gated("platform.baremetal.dnsRecordsType", "OnPremDNSRecords", PREVIEWS)
    if config.os_image_stream in OS_IMAGE_STREAMS[1:] and config.feature_set != OKD:
        yield _Gated("osImageStream", "OSStreams", ("", *PREVIEWS))
    if config.control_plane.fencing is not None:
        yield _Gated("controlPlane.fencing", "DualReplica", ("", OKD, *PREVIEWS))
    if config.pki is not None:
        yield _Gated("pki", "ConfigurablePKI", PREVIEWS)
    for path, pool in pools:
        if pool.disk_setup:
            yield _Gated(f"{path}.diskSetup", "MultiDiskSetup", PREVIEWS)


def _os_image_stream(config: InstallConfig) -> Iterator[Fault]:
    stream = config.os_image_stream
    if stream and stream not in OS_IMAGE_STREAMS:
        fix = f"write one of {', '.join(OS_IMAGE_STREAMS)}, or remove it"
        yield Fault("osImageStream", f"{stream} is unknown", fix)
    elif stream and stream != OKD_STREAM and config.feature_set == OKD:
        yield Fault("osImageStream", f"{stream} does not exist in OKD", f"write {OKD_STREAM}, or remove it")


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
        yield Fault("cpuPartitioningMode", f"{mode} is unknown", f"write {' or '.join(CPU_PARTITIONING)}")


RULES = (
    _capability_names,
    _needed_capabilities,
    _feature_set,
    _feature_gates,
    _gates_on,
    _os_image_stream,
    _cloud_settings,
    _cpu_partitioning,
)
