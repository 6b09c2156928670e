"""A payload is made from the whole install-config of its stack, with its pull secret, and of its release.

The payloads are those of the stand-in for openshift-install; the stack's values are those of its plan.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from base.errors import PayloadError
from cluster.install_config import read
from cluster.install_config.read import mapping
from cluster.payload_values import PULL_SECRET, payload_values, pull_secret_value
from payload.origin_checks import CONFIG_MANIFEST, PULL_SECRET_FILE, check_install_config, check_release
from payload.payload_config import payload_config
from payload.reading import IgnitionFile
from testing import plans
from testing.fakes import openshift_install
from testing.install_configs import Change
from testing.payloads import Files, config_of, origin, put
from testing.support import install_config_of
from testing.support_examples import EXAMPLES

OF_A_PAYLOAD = [
    label for label, values in EXAMPLES.items() if not all(path.startswith("platform.") for path in values)
]
WHERE = Path("stacks/prod/payload/bootstrap.ign")
OTHER_SECRET = '{"auths": {"other.example.com": {"auth": "c2VjcmV0Om90aGVy"}}}'


def bootstrap(contents: dict[str, str]) -> IgnitionFile:
    """Return bootstrap.ign with no other files than these."""
    files: Files = {"bootstrap": {"ignition": {"version": "3.2.0"}, "storage": {"files": []}}}
    for path, text in contents.items():
        put(files, path, text)
    return IgnitionFile.model_validate_json(json.dumps(files["bootstrap"]))


def made_from(change: Change = lambda config: None, **named: Any) -> IgnitionFile:
    """Return bootstrap.ign of the rehearsal's install-config after a change."""
    return bootstrap(origin(config_of(change), **named))


def difference(payload: IgnitionFile, wanted: dict[str, str] | None = None) -> str:
    """Return what differs of the rehearsal's stack; empty if nothing does."""
    try:
        check_install_config(WHERE, payload, plans.intent().payload_values if wanted is None else wanted)
    except PayloadError as error:
        return error.fault.what.removeprefix("made from another install-config: ")
    return ""


def test_a_payload_of_the_same_install_config_is_good() -> None:
    assert difference(made_from()) == ""


@pytest.mark.parametrize(
    ("path", "value", "seen"),
    [
        pytest.param("sshKey", f"{plans.install_config()['sshKey']}-2", "another sshKey", id="sshKey"),
        pytest.param("featureSet", "OKD", 'featureSet "OKD", not none', id="features"),
        pytest.param("cpuPartitioningMode", "AllNodes", 'cpuPartitioningMode "AllNodes", not "None"', id="cpus"),
        pytest.param("publish", "External", "", id="a-default-that-is-written"),
        pytest.param("additionalTrustBundlePolicy", "Always", 'additionalTrustBundlePolicy "Always", not', id="ca"),
        pytest.param(
            "proxy", {"httpProxy": "http://u:hunter22@10.9.0.1:3128", "noProxy": "a.test"},
            'another proxy.httpProxy; proxy.noProxy "a.test", not none', id="proxy",
        ),
        pytest.param(
            "imageDigestSources", [{"source": "r.test/a", "mirrors": ["m.test/a"]}],
            'imageDigestSources[0].mirrors ["m.test/a"], not none; imageDigestSources[0].source "r.test/a", not none',
            id="mirrors",
        ),
        pytest.param(
            "capabilities", {"baselineCapabilitySet": "v4.18"},
            'capabilities.baselineCapabilitySet "v4.18", not none', id="capabilities",
        ),
    ],
)  # fmt: skip
def test_a_changed_field_is_named_without_secrets(path: str, value: object, seen: str) -> None:
    said = difference(made_from(lambda config: config.update({path: value})))
    assert said.startswith(seen)
    assert "hunter22" not in said


def test_each_value_of_pools_and_networks_counts() -> None:
    def change(config: dict[str, Any]) -> None:
        config["controlPlane"]["hyperthreading"] = "Disabled"
        config["compute"][0]["replicas"] = 1
        config["networking"]["ovnKubernetesConfig"] = {"ipv4": {"internalJoinSubnet": "100.70.0.0/16"}}

    assert difference(made_from(change)) == (
        "compute[0].replicas 1, not 2; "
        'controlPlane.hyperthreading "Disabled", not "Enabled"; '
        'networking.ovnKubernetesConfig.ipv4.internalJoinSubnet "100.70.0.0/16", not none'
    )


@pytest.mark.parametrize("label", OF_A_PAYLOAD)
def test_a_payload_of_each_field_fits_its_stack_and_no_other(label: str) -> None:
    text = install_config_of(label)
    config = read(text).config
    values = payload_values(config)
    assert difference(bootstrap(origin(config)), values) == ""
    base = payload_values(config_of())
    assert bool(difference(bootstrap(origin(config)), base)) is (values != base)


@pytest.mark.parametrize("label", OF_A_PAYLOAD)
def test_the_payloads_config_sets_the_values_of_the_stack(label: str) -> None:
    text = install_config_of(label)
    config = read(text).config
    made = payload_config(mapping(text), config.networking)
    assert payload_values(read(made).config) == payload_values(config)


def test_the_form_of_a_value_makes_no_difference() -> None:
    config = config_of(
        lambda c: c["networking"].update(machineNetwork=[{"cidr": "192.168.111.0/24"}, {"cidr": "FD11:0::/64"}])
    )
    of_payload = config_of(
        lambda c: c["networking"].update(machineNetwork=[{"cidr": "192.168.111.0/24"}, {"cidr": "fd11::/64"}])
    )
    assert difference(bootstrap(origin(of_payload)), payload_values(config)) == ""


def test_another_pull_secret_is_named_and_not_shown() -> None:
    said = difference(made_from(lambda config: config.update(pullSecret=OTHER_SECRET)))
    assert said == "another pullSecret"


def test_a_pull_secret_in_another_layout_is_the_same() -> None:
    contents = origin(config_of())
    contents[PULL_SECRET_FILE] = json.dumps(json.loads(contents[PULL_SECRET_FILE]), indent=2)
    assert difference(bootstrap(contents)) == ""


def test_an_unknown_pull_secret_is_not_compared() -> None:
    known = plans.intent().payload_values
    assert pull_secret_value("0" * 63 + "x") == {}
    without_secret = {path: value for path, value in known.items() if path != PULL_SECRET}
    assert difference(made_from(lambda config: config.update(pullSecret=OTHER_SECRET)), without_secret) == ""


def test_no_value_is_a_secret_in_the_clear() -> None:
    assert "auth" not in json.dumps({**plans.intent().payload_values})
    assert "hunter" not in repr(plans.intent())


def test_the_stream_that_the_release_fills_in_is_no_difference() -> None:
    """Of openshift-install since 4.22, whose default depends on its build."""
    filled = made_from(lambda config: config.update(osImageStream="centos-10"))
    assert difference(filled) == ""
    asked = payload_values(config_of(lambda config: config.update(osImageStream="rhel-10")))
    assert difference(filled, asked) == 'osImageStream "centos-10", not "rhel-10"'


def test_a_payload_without_its_install_config_is_refused() -> None:
    contents = origin(config_of())
    del contents[CONFIG_MANIFEST]
    with pytest.raises(PayloadError, match=f"no {CONFIG_MANIFEST} in it"):
        check_install_config(WHERE, bootstrap(contents), plans.intent().payload_values)


RELEASE = plans.options()["images"]["release"]


@pytest.mark.parametrize("wanted", [RELEASE, "", "mirror.lab.test/okd@" + RELEASE.partition("@")[2]])
def test_a_payload_of_the_stacks_release_is_good(wanted: str) -> None:
    check_release(WHERE, made_from(), wanted)


def test_a_payload_of_another_release_is_refused() -> None:
    other = openshift_install.RELEASE
    with pytest.raises(PayloadError) as caught:
        check_release(WHERE, made_from(release=other), RELEASE)
    assert caught.value.fault.what == f"it installs the release {other}, but images.release is {RELEASE}"
    assert f"`pulumi config set --path images.release {other}`" in caught.value.fault.fix


def test_a_release_by_its_tag_cannot_be_compared() -> None:
    check_release(WHERE, made_from(release="registry.ci.test/ocp/release:4.22"), RELEASE)
