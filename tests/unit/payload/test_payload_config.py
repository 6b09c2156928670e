"""The install-config of the payload: the same cluster, of platform none or baremetal."""

from collections.abc import Callable
from typing import Any, get_args, get_origin

import pytest
import yaml
from pydantic import BaseModel, SecretStr

from base.yaml_text import parse_yaml
from cluster.install_config import InstallConfig, read
from cluster.install_config.read import mapping
from cluster.install_config.schema import Networking
from cluster.install_config.section import OLD
from cluster.values.platform import ClusterPlatform
from payload.payload_config import payload_config
from testing import clusters, plans

Change = Callable[[dict[str, Any]], object]


def made(change: Change = lambda _: None, platform: ClusterPlatform = ClusterPlatform.NONE) -> dict[str, Any]:
    """Return the config written for the rehearsal's file after a valid change."""
    config = plans.install_config()
    change(config)
    text = yaml.safe_dump(config)
    reading = read(text)
    assert reading.faults == ()
    written: dict[str, Any] = yaml.safe_load(payload_config(mapping(text), reading.config.networking, platform))
    return written


def test_only_the_platform_differs() -> None:
    assert made() == plans.install_config() | {"platform": {"none": {}}}


def test_no_login_of_a_bmc_is_left() -> None:
    assert "rehearsal-only" not in yaml.safe_dump(made())


def test_platform_baremetal_is_as_written_but_for_secrets_of_hosts() -> None:
    """openshift-install gives a host without a login no `bmc` and no Secret, so none reaches the payload."""
    text = yaml.safe_dump(made(clusters.static, ClusterPlatform.BAREMETAL))
    assert "rehearsal-only" not in text
    assert clusters.SWITCH_PASSWORD not in text
    wanted = plans.install_config()
    clusters.static(wanted)
    for host in wanted["platform"]["baremetal"]["hosts"]:
        host["bmc"] = {"address": host["bmc"]["address"]}
        del host["networkConfig"]
    assert yaml.safe_load(text) == wanted


def test_a_payload_of_baremetal_keeps_its_capability() -> None:
    def change(config: dict[str, Any]) -> None:
        names = ["baremetal", "Ingress", "MachineAPI"]
        config["capabilities"] = {"baselineCapabilitySet": "None", "additionalEnabledCapabilities": names}

    assert made(change, ClusterPlatform.BAREMETAL)["capabilities"]["additionalEnabledCapabilities"][0] == "baremetal"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        pytest.param("proxy", {"httpProxy": "http://10.0.0.1:3128", "noProxy": "example.com"}, id="proxy"),
        pytest.param("imageDigestSources", [{"source": "r.test/a", "mirrors": ["m.test/a"]}], id="mirrors"),
        pytest.param("imageContentSources", [{"source": "r.test/a", "mirrors": ["m.test/a"]}], id="old-mirrors"),
        pytest.param("additionalTrustBundlePolicy", "Always", id="trust-bundle-policy"),
        pytest.param("featureSet", "TechPreviewNoUpgrade", id="feature-set"),
        pytest.param("publish", "External", id="publish"),
        pytest.param("cpuPartitioningMode", "AllNodes", id="cpu-partitioning"),
        pytest.param("compute", [{"name": "worker", "replicas": 0}], id="no-compute"),
        pytest.param("compute", [{"name": "worker", "replicas": 1, "hyperthreading": "Disabled"}], id="compute"),
        pytest.param("metadata", {"name": "okd", "labels": {"born": "2026-01-01"}}, id="a-date-stays-text"),
    ],
)
def test_other_keys_of_a_file_are_kept(key: str, value: Any) -> None:
    assert made(lambda config: config.update({key: value}))[key] == value


def test_networking_uses_the_current_spellings() -> None:
    old = {
        "type": "OVNKubernetes",
        "machineCIDR": "192.168.111.0/24",
        "serviceCIDR": "172.30.0.0/16",
        "clusterNetworks": [{"cidr": "10.128.0.0/14", "hostSubnetLength": 9}],
    }
    assert made(lambda config: config.update(networking=old))["networking"] == plans.install_config()["networking"]


def test_machine_pools_lose_their_platform() -> None:
    def change(config: dict[str, Any]) -> None:
        config["controlPlane"]["platform"] = {"baremetal": {}}
        config["compute"][0]["platform"] = {"baremetal": {}}

    written = made(change)
    assert "platform" not in written["controlPlane"]
    assert "platform" not in written["compute"][0]


def test_compute_gets_the_architecture_of_the_control_plane() -> None:
    def change(config: dict[str, Any]) -> None:
        config["controlPlane"]["architecture"] = "amd64"
        config["compute"][0]["architecture"] = "arm64"

    assert made(change)["compute"][0]["architecture"] == "amd64"


def test_compute_has_an_architecture_only_if_the_control_plane_has_one() -> None:
    def change(config: dict[str, Any]) -> None:
        config["controlPlane"].pop("architecture", None)
        config["compute"][0]["architecture"] = "arm64"

    assert "architecture" not in made(change)["compute"][0]


def test_the_capability_baremetal_is_removed() -> None:
    names = ["baremetal", "MachineAPI", "Ingress", "CloudCredential"]
    capabilities = {"baselineCapabilitySet": "None", "additionalEnabledCapabilities": names}
    written = made(lambda config: config.update(capabilities=capabilities))["capabilities"]
    assert written == {"baselineCapabilitySet": "None", "additionalEnabledCapabilities": names[1:]}


def test_a_control_plane_of_two_keeps_its_fencing() -> None:
    address = "redfish+https://10.0.0.{}/redfish/v1/Systems/1"
    logins = [
        {"hostName": f"m{number}", "username": "a", "password": "b", "address": address.format(number)}
        for number in (1, 2)
    ]

    def change(config: dict[str, Any]) -> None:
        config["featureSet"] = "TechPreviewNoUpgrade"
        config["controlPlane"] |= {"replicas": 2, "fencing": {"credentials": logins}}
        del config["platform"]["baremetal"]["hosts"][2]

    assert made(change)["controlPlane"]["fencing"] == {"credentials": logins}


def test_the_pull_secret_is_on_one_line() -> None:
    secret = '{"auths": {"a.registry.test": {"auth": "' + "x" * 400 + '"}, "b.registry.test": {"auth": "y"}}}'
    text = yaml.safe_dump(plans.install_config() | {"pullSecret": secret})
    assert secret in payload_config(mapping(text), read(text).config.networking)


TEXTS = (
    *("7e3", "y", "N", "0o17", "0x1f", "0b1", "017", "1_000", "1.", "-.5", ".inf", ".nan", "1e400", "true", "off"),
    *("null", "~", "<<", "=", "12:30", "2020-01-01", "+5", "18446744073709551615"),
    *("- a", "a: b", "a #b", "#a", " a", "a ", "?", "-", "|", ">", "{}", "[]", "%a", "@a", "`a", "!a", "&a", "*a"),
    *("'", '"', "\\", "a\nb\n", "a\n\n b", "\ta", "\u00e9", "\u2028a", "x\u2029", "\x85a", "\ufeffa"),
    *("\U0001f600", "\x7f"),
)  # fmt: skip
"""Texts that a YAML reader may take for something else."""


def filled(annotation: Any, text: str) -> Any:
    """Return a value of a type of the schema with this text in all its fields of text; None if it has none."""
    if annotation in (str, SecretStr):
        return text
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        members = {
            field.alias or name: filled(field.annotation, text)
            for name, field in annotation.model_fields.items()
            if field.json_schema_extra != OLD
        }
        return {name: value for name, value in members.items() if value is not None} or None
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is tuple:
        value = filled(parts[0], text)
        return None if value is None else [value]
    if origin is dict:
        return {text: text}
    values = (filled(part, text) for part in parts)
    return next((value for value in values if value is not None), None)


@pytest.mark.parametrize("text", TEXTS, ids=ascii)
def test_each_text_is_the_same_text_for_go(text: str) -> None:
    """name-7e3, name-y, name-0o17, over all fields; read back by Go's rules (`base/yaml_scalars.py`)."""
    config = filled(InstallConfig, text)
    networking = Networking.model_validate(config["networking"], by_alias=True)
    written = parse_yaml(payload_config(config, networking))
    for pool in (config["controlPlane"], config["arbiter"], *config["compute"]):
        del pool["platform"]
    config["compute"][0]["architecture"] = config["controlPlane"]["architecture"]
    assert written == config | {"platform": {"none": {}}}
    assert {"sshKey", "metadata", "proxy", "pullSecret", "additionalTrustBundle", "osImageStream"} <= written.keys()
