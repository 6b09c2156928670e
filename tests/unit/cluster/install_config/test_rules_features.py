from collections.abc import Callable
from typing import Any

import pytest

from cluster.install_config import InstallConfig
from cluster.install_config.rules.features import enabled_capabilities
from cluster.install_config.schema import Capabilities
from testing.install_configs import Change, bare, fine, refused

ADDITIONAL = "capabilities.additionalEnabledCapabilities"
BASELINE = "capabilities.baselineCapabilitySet"
TECH, DEV, CUSTOM = "TechPreviewNoUpgrade", "DevPreviewNoUpgrade", "CustomNoUpgrade"


def put(**values: Any) -> Callable[[dict[str, Any]], None]:
    return lambda config: config.update(values)


def capable(baseline: str | None, *additional: str) -> Change:
    said = {"additionalEnabledCapabilities": list(additional)}
    return put(capabilities=said if baseline is None else {"baselineCapabilitySet": baseline, **said})


def gated(change: Change, feature_set: str, *gates: str) -> Change:
    def both(config: dict[str, Any]) -> None:
        change(config)
        config.update(featureSet=feature_set, featureGates=list(gates))

    return both


def external_dns(config: dict[str, Any]) -> None:
    bare(config).update(dnsRecordsType="External", loadBalancer={"type": "UserManaged"})


def fenced(config: dict[str, Any]) -> None:
    config["controlPlane"]["fencing"] = {"credentials": []}


PKI = put(pki={"signerCertificates": {"key": {"algorithm": "RSA", "rsa": {"keySize": 4096}}}})
STREAM = put(osImageStream="rhel-10")


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(capable("vCurrent"), id="capabilities-current"),
        pytest.param(capable("v4.18"), id="capabilities-latest-by-number"),
        pytest.param(capable("v4.16"), id="capabilities-first-with-ingress"),
        pytest.param(capable("v4.15", "Ingress"), id="capabilities-ingress-added"),
        pytest.param(capable("v4.14", "Ingress", "OperatorLifecycleManager"), id="capabilities-olm-added"),
        pytest.param(capable("None", "baremetal", "MachineAPI", "Ingress"), id="capabilities-the-fewest"),
        pytest.param(
            capable("None", "baremetal", "MachineAPI", "Ingress", "marketplace", "OperatorLifecycleManager"),
            id="capabilities-marketplace-with-olm",
        ),
        pytest.param(put(featureSet=""), id="feature-set-empty"),
        pytest.param(put(featureSet="OKD"), id="feature-set-okd"),
        pytest.param(put(featureSet=CUSTOM), id="feature-set-custom-without-gates"),
        pytest.param(
            put(featureSet=CUSTOM, featureGates=["A=true", "B=F", "C=1", "D=False"]), id="gates-in-each-spelling"
        ),
        pytest.param(gated(external_dns, TECH), id="external-dns-in-tech-preview"),
        pytest.param(gated(external_dns, CUSTOM, "OnPremDNSRecords=t"), id="external-dns-by-its-gate"),
        pytest.param(gated(STREAM, DEV), id="os-stream-in-dev-preview"),
        pytest.param(gated(put(osImageStream="rhel-9"), CUSTOM, "OSStreams=true"), id="os-stream-by-its-gate"),
        pytest.param(fenced, id="fencing-by-default"),
        pytest.param(gated(fenced, "OKD"), id="fencing-in-okd"),
        pytest.param(gated(fenced, CUSTOM, "DualReplica=true"), id="fencing-by-its-gate"),
        pytest.param(gated(PKI, TECH), id="pki-in-tech-preview"),
        pytest.param(gated(PKI, DEV), id="pki-in-dev-preview"),
        pytest.param(gated(PKI, CUSTOM, "ConfigurablePKI=true"), id="pki-by-its-gate"),
        pytest.param(STREAM, id="os-stream-by-default"),
        pytest.param(gated(put(osImageStream="centos-10"), "OKD"), id="os-stream-of-okd"),
        pytest.param(put(publish="External"), id="publish-external"),
        pytest.param(put(credentialsMode=""), id="credentials-mode-empty"),
        pytest.param(put(cpuPartitioningMode="AllNodes"), id="cpu-partitioning-all-nodes"),
        pytest.param(put(cpuPartitioningMode="None"), id="cpu-partitioning-none"),
    ],
)
def test_a_valid_setting_is_accepted(change: Change) -> None:
    fine(change)


@pytest.mark.parametrize(
    ("change", "starts"),
    [
        pytest.param(capable(None, "Console"), (f"{BASELINE}: missing. Fix: write vCurrent",), id="baseline-missing"),
        pytest.param(put(capabilities={}), (f"{BASELINE}: missing",), id="capabilities-empty"),
        pytest.param(
            capable("v4.19"), (f"{BASELINE}: v4.19 is unknown. Fix: write vCurrent",), id="baseline-too-new"
        ),
        pytest.param(capable("none"), (f"{BASELINE}: none is unknown",), id="baseline-in-lower-case"),
        pytest.param(
            capable("vCurrent", "Console", "Ingres"),
            (f"{ADDITIONAL}[1]: Ingres is unknown",),
            id="capability-misspelled",
        ),
        pytest.param(capable("v4.15"), (f"{ADDITIONAL}: Ingress is not enabled",), id="no-ingress"),
        pytest.param(
            capable("v4.14", "Ingress"),
            (f"{ADDITIONAL}: OperatorLifecycleManager is not enabled, but marketplace needs it",),
            id="marketplace-alone",
        ),
        pytest.param(
            capable("None", "Ingress", "MachineAPI"), (f"{ADDITIONAL}: baremetal is not enabled",), id="no-baremetal"
        ),
        pytest.param(
            capable("None", "Ingress", "baremetal"),
            (f"{ADDITIONAL}: MachineAPI is not enabled",),
            id="no-machine-api",
        ),
        pytest.param(
            capable("v4.11"),
            (f"{ADDITIONAL}: Ingress is not enabled", f"{ADDITIONAL}: OperatorLifecycleManager is not enabled"),
            id="baseline-too-old",
        ),
        pytest.param(
            put(featureSet="Default"), ("featureSet: Default is unknown. Fix: write one of OKD",), id="feature-set"
        ),
        pytest.param(
            gated(external_dns, "TechPreview"),
            ("featureSet: TechPreview is unknown",),
            id="feature-set-hides-its-gates",
        ),
        pytest.param(
            put(featureGates=["A=true"]),
            ("featureGates: only featureSet CustomNoUpgrade",),
            id="gates-without-custom",
        ),
        pytest.param(
            put(featureSet=CUSTOM, featureGates=["A=true", "B"]),
            ("featureGates[1]: B is not a feature gate",),
            id="gate-bare",
        ),
        pytest.param(
            put(featureSet=CUSTOM, featureGates=["A=yes"]),
            ("featureGates[0]: A=yes is not a feature gate",),
            id="gate-yes",
        ),
        pytest.param(
            put(featureSet=CUSTOM, featureGates=["A=true=false"]), ("featureGates[0]: A=true=false",), id="gate-twice"
        ),
        pytest.param(
            external_dns,
            (
                "platform.baremetal.dnsRecordsType: needs the feature gate OnPremDNSRecords. "
                "Fix: write featureSet Tech",
            ),
            id="external-dns-without-gate",
        ),
        pytest.param(
            gated(external_dns, CUSTOM, "OnPremDNSRecords=false"),
            ("platform.baremetal.dnsRecordsType: needs the feature gate",),
            id="external-dns-gate-off",
        ),
        pytest.param(
            gated(STREAM, CUSTOM), ("osImageStream: needs the feature gate OSStreams",), id="os-stream-without-gate"
        ),
        pytest.param(gated(STREAM, "OKD"), ("osImageStream: rhel-10 does not exist in OKD",), id="os-stream-on-okd"),
        pytest.param(
            gated(put(osImageStream="rhel-11"), TECH),
            ("osImageStream: rhel-11 is unknown. Fix: write one of centos-10, rhel-9, rhel-10",),
            id="os-stream-unknown",
        ),
        pytest.param(
            gated(fenced, CUSTOM),
            ("controlPlane.fencing: needs the feature gate DualReplica",),
            id="fencing-in-custom",
        ),
        pytest.param(PKI, ("pki: needs the feature gate ConfigurablePKI. Fix: write featureSet Tech",), id="pki"),
        pytest.param(gated(PKI, "OKD"), ("pki: needs the feature gate",), id="pki-in-okd"),
        pytest.param(
            put(publish="Internal"),
            ("publish: Internal is not supported on baremetal. Fix: write External",),
            id="internal",
        ),
        pytest.param(put(publish="Private"), ("publish: Private is unknown",), id="publish-unknown"),
        pytest.param(
            put(operatorPublishingStrategy={"ingress": "External"}),
            ("operatorPublishingStrategy: needs publish: Mixed, which baremetal does not support",),
            id="publishing-strategy",
        ),
        pytest.param(
            put(publish="Mixed", operatorPublishingStrategy={"ingress": "Internal"}),
            ("publish: Mixed is not supported on baremetal",),
            id="mixed",
        ),
        pytest.param(
            put(credentialsMode="Manual"),
            ("credentialsMode: Manual cannot be set on baremetal",),
            id="credentials-mode",
        ),
        pytest.param(
            put(cpuPartitioningMode="Some"),
            ("cpuPartitioningMode: Some is unknown. Fix: write None",),
            id="cpu-partitioning",
        ),
    ],
)
def test_an_invalid_setting_is_refused(change: Change, starts: tuple[str, ...]) -> None:
    refused(change, *starts)


@pytest.mark.parametrize(
    ("capabilities", "count"),
    [
        pytest.param(None, 17, id="no-capabilities"),
        pytest.param(Capabilities(baseline_capability_set="None"), 0, id="none"),
        pytest.param(Capabilities(baseline_capability_set="v4.12"), 8, id="by-number"),
        pytest.param(
            Capabilities(baseline_capability_set="v4.11", additional_enabled_capabilities=("baremetal", "Build")),
            5,
            id="one-of-two-is-new",
        ),
    ],
)
def test_counts_enabled_capabilities(capabilities: Capabilities | None, count: int) -> None:
    assert len(enabled_capabilities(InstallConfig(capabilities=capabilities))) == count
