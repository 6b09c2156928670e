"""The schemas for editors: good files pass, and slips of the pen are refused."""

from collections.abc import Callable
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from cluster.json_schema import schemas
from cluster.stack_file import read_stack_file
from testing import plans
from testing.checkout import ROOT

Change = Callable[[dict[str, Any]], object]
SCHEMAS = schemas()
EXAMPLE = ROOT / "stacks"


def faults(name: str, instance: object) -> list[str]:
    """Return the dotted paths that a schema refuses."""
    return [error.json_path for error in Draft202012Validator(SCHEMAS[name]).iter_errors(instance)]


@pytest.mark.parametrize("name", ["install_config", "options"])
def test_each_schema_is_valid_and_has_a_title(name: str) -> None:
    Draft202012Validator.check_schema(SCHEMAS[name])
    assert SCHEMAS[name]["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert SCHEMAS[name]["title"]
    assert SCHEMAS[name]["description"]
    assert SCHEMAS[name]["additionalProperties"] is False


@pytest.mark.parametrize("stack", ["example", "rehearsal"])
def test_the_install_configs_of_the_stacks_are_valid(stack: str) -> None:
    config = yaml.safe_load((EXAMPLE / stack / "install-config.yaml").read_text())
    assert faults("install_config", config) == []


def test_the_options_of_the_example_are_valid() -> None:
    assert faults("options", read_stack_file(EXAMPLE / "Pulumi.example.yaml")) == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        pytest.param(lambda c: c.update(baseDomian="a.test"), "$", id="unknown-key"),
        pytest.param(
            lambda c: c["networking"].update(machineCidr="10.0.0.0/8"), "$.networking", id="unknown-key-below"
        ),
        pytest.param(lambda c: c["controlPlane"].update(replicas="3"), "$.controlPlane.replicas", id="quoted-number"),
        pytest.param(lambda c: c.update(compute={}), "$.compute", id="no-list"),
        pytest.param(lambda c: c.update(featureSet="okd"), "$.featureSet", id="unknown-word"),
        pytest.param(
            lambda c: c.update(capabilities={"additionalEnabledCapabilities": ["Baremetal"]}),
            "$.capabilities.additionalEnabledCapabilities[0]",
            id="unknown-word-in-a-list",
        ),
    ],
)
def test_the_schema_of_install_config_refuses_slips(change: Change, where: str) -> None:
    config = plans.install_config()
    change(config)
    assert faults("install_config", config) == [where]


def test_the_schema_offers_the_words_that_the_rules_accept() -> None:
    sections = SCHEMAS["install_config"]["$defs"]
    assert sections["Host"]["properties"]["role"]["enum"] == ["master", "arbiter", "worker", None]
    assert sections["BareMetal"]["properties"]["provisioningNetwork"]["enum"][:3] == [
        "Managed",
        "Unmanaged",
        "Disabled",
    ]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda c: c.update(sshKey=None), id="text"),
        pytest.param(lambda c: c.update(fips=None), id="boolean"),
        pytest.param(lambda c: c.update(featureSet=None), id="word"),
        pytest.param(lambda c: c.update(imageDigestSources=None), id="list"),
        pytest.param(lambda c: c.update(proxy=None), id="section"),
        pytest.param(lambda c: c["controlPlane"].update(platform=None), id="free-mapping"),
    ],
)
def test_null_equals_a_missing_key(change: Change) -> None:
    config = plans.install_config()
    change(config)
    assert faults("install_config", config) == []


def test_only_old_spellings_are_marked_as_deprecated() -> None:
    sections = {"": SCHEMAS["install_config"], **SCHEMAS["install_config"]["$defs"]}
    marked = {
        key for section in sections.values() for key, field in section["properties"].items() if "deprecated" in field
    }
    assert {"machineCIDR", "apiVIP", "imageContentSources", "hostSubnetLength"} <= marked
    assert not {"machineNetwork", "apiVIPs", "imageDigestSources", "hostPrefix"} & marked


@pytest.mark.parametrize(
    "logins",
    [
        pytest.param({"m0": {"username": "a", "password": "b"}}, id="plain"),
        pytest.param({"m0": {"username": "a", "password": {"secure": "v1:x"}}}, id="password-encrypted"),
        pytest.param({"secure": "v1:x"}, id="all-encrypted"),
    ],
)
def test_secrets_of_a_stack_may_be_encrypted(logins: dict[str, Any]) -> None:
    assert faults("options", plans.options(bmc_credentials=logins)) == []


@pytest.mark.parametrize(
    ("options", "where"),
    [
        pytest.param({"phse": "production"}, "$", id="unknown-option"),
        pytest.param({"phase": "done"}, "$.phase", id="unknown-word"),
        pytest.param({"vrids": {"api": 0}}, "$.vrids.api", id="out-of-range"),
        pytest.param({"bmc_credentials": {"m0": {"user": "a"}}}, "$.bmc_credentials", id="no-such-word"),
    ],
)
def test_the_schema_of_the_options_refuses_slips(options: dict[str, Any], where: str) -> None:
    assert faults("options", plans.options(**options)) == [where]
