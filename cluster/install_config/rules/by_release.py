"""Rules that differ between the releases of openshift-install: feature sets, their gates, and streams."""

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from base.errors import Fault
from cluster.install_config.releases import EVERYWHERE, OKD, PREVIEWS, Release, sets_with
from cluster.install_config.schema import InstallConfig

CUSTOM = "CustomNoUpgrade"
FEATURE_SETS = (*EVERYWHERE, CUSTOM)
TRUE = ("1", "t", "T", "TRUE", "true", "True")
FALSE = ("0", "f", "F", "FALSE", "false", "False")
OKD_STREAM = "centos-10"
OS_IMAGE_STREAMS = (OKD_STREAM, "rhel-9", "rhel-10")
ASKS_NO_GATE_OF_ARBITERS = Release(4, 22)


class _Gated(NamedTuple):
    """A field that is set, and the feature gate that it needs."""

    path: str
    gate: str


def _feature_set(config: InstallConfig, _: Release) -> Iterator[Fault]:
    if config.feature_set not in FEATURE_SETS:
        names = ", ".join(filter(None, FEATURE_SETS))
        yield Fault("featureSet", f"{config.feature_set} is unknown", f"write one of {names}, or remove it")


def _feature_gates(config: InstallConfig, _release: Release) -> Iterator[Fault]:
    if config.feature_gates and config.feature_set != CUSTOM:
        fix = f"write featureSet: {CUSTOM} or remove them"
        yield Fault("featureGates", f"only featureSet {CUSTOM} takes gates", fix)
    for index, gate in enumerate(config.feature_gates):
        _name, *values = gate.split("=")
        if len(values) != 1 or values[0] not in (*TRUE, *FALSE):
            fix = "write its name, an equals sign, and true or false"
            yield Fault(f"featureGates[{index}]", f"{gate} is not a feature gate", fix)


def _gates_on(config: InstallConfig, release: Release) -> Iterator[Fault]:
    if any((*_feature_set(config, release), *_feature_gates(config, release))):
        return  # the enabled gates are unknown
    switched_on = {name for name, _, value in (gate.partition("=") for gate in config.feature_gates) if value in TRUE}
    for field in _gated(config, release):
        sets = sets_with(field.gate, release)
        on = field.gate in switched_on if config.feature_set == CUSTOM else config.feature_set in sets
        if sets and not on:
            previews = " or ".join(name for name in sets if name in PREVIEWS)
            fix = f"write featureSet {previews}, or {CUSTOM} with the gate in featureGates, or remove it"
            yield Fault(field.path, f"needs the feature gate {field.gate}", fix)


def _gated(config: InstallConfig, release: Release) -> Iterator[_Gated]:
    bare = config.baremetal
    if bare.dns_records_type == "External":
        yield _Gated("platform.baremetal.dnsRecordsType", "OnPremDNSRecords")
    if bare.bgp_vip_config is not None:
        yield _Gated("platform.baremetal.bgpVIPConfig", "BGPBasedVIPManagement")
    for index, host in enumerate(bare.hosts or ()):
        if host.bgp_peers:
            yield _Gated(f"platform.baremetal.hosts[{index}].bgpPeers", "BGPBasedVIPManagement")
    if config.os_image_stream in OS_IMAGE_STREAMS[1:] and config.feature_set != OKD:
        yield _Gated("osImageStream", "OSStreams")
    if config.control_plane.fencing is not None:
        yield _Gated("controlPlane.fencing", "DualReplica")
    if config.arbiter is not None and release < ASKS_NO_GATE_OF_ARBITERS:
        yield _Gated("arbiter", "HighlyAvailableArbiter")
    if config.pki is not None:
        yield _Gated("pki", "ConfigurablePKI")


def _os_image_stream(config: InstallConfig, _: Release) -> Iterator[Fault]:
    stream = config.os_image_stream
    if stream and stream not in OS_IMAGE_STREAMS:
        fix = f"write one of {', '.join(OS_IMAGE_STREAMS)}, or remove it"
        yield Fault("osImageStream", f"{stream} is unknown", fix)
    elif stream and stream != OKD_STREAM and config.feature_set == OKD:
        yield Fault("osImageStream", f"{stream} does not exist in OKD", f"write {OKD_STREAM}, or remove it")


RULES: tuple[Callable[[InstallConfig, Release], Iterable[Fault]], ...] = (
    _feature_set,
    _feature_gates,
    _gates_on,
    _os_image_stream,
)
