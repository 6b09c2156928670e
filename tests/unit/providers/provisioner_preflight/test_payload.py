"""The preflight of the payload, before any machine gets it."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from base.errors import PayloadError
from base.spec import secret_inputs
from boot_media.keyfiles import keyfiles_of
from cluster.plan import load_plan
from payload.kubeconfig import INSIDE, Kubeconfig
from providers.provisioner_preflight.model import ProvisionerPreflightSpec
from testing import payloads, plans
from testing.certificates import authority
from testing.fakes.provisioner import result_of
from testing.kubeconfigs import kubeconfig


def test_the_remaining_files_are_checked_if_one_is_missing() -> None:
    contents = payloads.payload()
    del contents["master"]
    missing, useless = result_of(contents=contents, time=payloads.NOW + timedelta(days=1)).faults
    assert str(missing) == f"master: sha256 is another one, wanted {'f1' * 32}. Fix: put it there"
    assert useless.where == "stacks/prod/payload/bootstrap.ign"
    assert useless.what.startswith("useless since 2026-11-21 14:03 UTC")
    assert useless.fix.startswith("if that is wrong, correct the clock of this host; if not, generate the payload")


def test_a_payload_of_another_cluster_is_a_finding_for_each_file() -> None:
    faults = result_of({"domain": "other.example.com"}).faults
    assert [fault.where for fault in faults] == [
        f"stacks/prod/payload/{name}.ign" for name in ("bootstrap", "master", "worker")
    ]


def test_production_reads_only_the_pointers() -> None:
    pointers = payloads.payload(lambda files: files.pop("bootstrap"))
    later = payloads.NOW + timedelta(days=300)
    assert result_of({"phase": "production"}, contents=pointers, time=later).lines() == []
    assert len(result_of({"phase": "production"}, contents={}).faults) == 2


ANOTHER = "made from another install-config"
RELEASE = plans.options()["images"]["release"]
OTHER_RELEASE = f"registry.lab.test/other@sha256:{'6f' * 32}"
OTHER_SECRET = '{"auths": {"other.example.com": {"auth": "c2VjcmV0Om90aGVy"}}}'


@pytest.mark.parametrize(
    ("options", "what"),
    [
        pytest.param({}, [], id="the-stacks-own"),
        pytest.param({"pull_secret": OTHER_SECRET}, [f"{ANOTHER}: another pullSecret"], id="login"),
        pytest.param(
            {"images": {"release": OTHER_RELEASE}},
            [f"it installs the release {RELEASE}, but images.release is {OTHER_RELEASE}"],
            id="release",
        ),
        pytest.param({"images": {"keepalived": "a", "haproxy": "b", "coredns": "c"}}, [], id="no-release"),
    ],
)  # fmt: skip
def test_the_payload_is_compared_with_what_the_stack_would_make(options: dict[str, Any], what: list[str]) -> None:
    spec = ProvisionerPreflightSpec.of(plans.plan(**options), "prod", [])
    faults = result_of({"payload_values": spec.payload_values, "release": spec.release}).faults
    assert [fault.what for fault in faults] == what


def test_an_edited_install_config_is_found_by_its_field(tmp_path: Path) -> None:
    config = plans.install_config()
    config["proxy"] = {"httpProxy": "http://user:hunter22@192.0.2.9:3128"}
    (tmp_path / "edited.yaml").write_text(plans.written(config))
    plan = load_plan(tmp_path / "edited.yaml", plans.options(), keyfiles_of)
    spec = ProvisionerPreflightSpec.of(plan, "prod", [])
    (fault,) = result_of({"payload_values": spec.payload_values}).faults
    assert fault.what == "made from another install-config: another proxy.httpProxy"
    assert "hunter22" not in repr(spec)


def test_in_production_an_edit_of_the_install_config_is_no_fault() -> None:
    spec = ProvisionerPreflightSpec.of(plans.plan(phase="production", pull_secret=OTHER_SECRET), "prod", [])
    pointers = payloads.payload(lambda files: files.pop("bootstrap"))
    props = {"phase": "production", "payload_values": spec.payload_values}
    assert result_of(props, contents=pointers).lines() == []
    assert "payload_values" in secret_inputs(ProvisionerPreflightSpec), "a proxy may have a login"


class TestKubeconfig:
    """The kubeconfig must trust the CAs of the payload's API, which are also in bootstrap.ign."""

    def good(self, host: str = f"api.{payloads.DOMAIN}", ca: str = "test-ca") -> Kubeconfig:
        return Kubeconfig(host, authority(ca).pem, b"not used")

    def contents(self, inside: str | None = None) -> dict[str, bytes]:
        own = yaml.safe_dump(kubeconfig(authority("test-ca"))) if inside is None else inside
        return payloads.payload(lambda files: payloads.put(files, INSIDE, own))

    def test_a_kubeconfig_of_the_same_run_is_good(self) -> None:
        assert result_of(contents=self.contents(), beside=self.good()).lines() == []

    def test_a_kubeconfig_may_hold_further_cas(self) -> None:
        several = replace(self.good(), ca_pem=authority("other-ca").pem + authority("test-ca").pem)
        assert result_of(contents=self.contents(), beside=several).lines() == []

    @pytest.mark.parametrize("phase", ["bootstrap", "production"])
    def test_a_payload_without_cas_of_its_own_needs_no_kubeconfig(self, phase: str) -> None:
        assert result_of({"phase": phase}).lines() == []

    @pytest.mark.parametrize(
        ("beside", "what"),
        [
            pytest.param(None, "missing, but only this file has the CAs of this payload's API", id="missing"),
            pytest.param(
                "api.old.lab.test",
                "of another cluster: it names api.old.lab.test, the plan names api.okd",
                id="named",
            ),
            pytest.param("", "of another cluster: it names no host", id="nameless"),
        ],
    )
    def test_a_wrong_or_missing_kubeconfig_is_a_fault(self, beside: str | None, what: str) -> None:
        kubeconfig = None if beside is None else self.good(host=beside)
        (fault,) = result_of(contents=self.contents(), beside=kubeconfig).faults
        assert fault.where == "stacks/prod/payload/auth/kubeconfig"
        assert fault.what.startswith(what)
        assert fault.fix == "put auth/kubeconfig of the same run of openshift-install there"

    def test_a_kubeconfig_of_an_earlier_run_is_a_fault(self) -> None:
        (fault,) = result_of(contents=self.contents(), beside=self.good(ca="other-ca")).faults
        assert "of another run than bootstrap.ign: they have no CA in common" in fault.what

    def test_a_kubeconfig_without_a_ca_cannot_verify_the_bootstraps_api(self) -> None:
        (fault,) = result_of(contents=self.contents(), beside=replace(self.good(), has_own_ca=False)).faults
        assert fault.what.startswith("it has no `certificate-authority-data`, but the bootstrap's API")

    def test_in_production_the_kubeconfig_is_not_compared_with_the_bootstrap(self) -> None:
        contents = self.contents()
        del contents["bootstrap"]
        assert result_of({"phase": "production"}, contents=contents, beside=self.good(ca="other-ca")).lines() == []
        assert result_of({"phase": "production"}, contents=contents).lines() == []

    @pytest.mark.parametrize("phase", ["bootstrap", "production"])
    def test_whoever_waits_for_okd_needs_a_kubeconfig(self, phase: str) -> None:
        (fault,) = result_of({"phase": phase, "asks_okd": True}).faults
        assert fault.where == "stacks/prod/payload/auth/kubeconfig"
        assert fault.what == "missing, but `wait: install` asks OKD with it"
        assert result_of({"phase": phase, "asks_okd": True}, beside=self.good()).lines() == []

    def test_an_unusable_kubeconfig_is_a_fault(self) -> None:
        (fault,) = result_of(
            beside=PayloadError("broken", where="auth/kubeconfig", fix="put another one there")
        ).faults
        assert str(fault) == "auth/kubeconfig: broken. Fix: put another one there"

    @pytest.mark.parametrize("inside", ["", "a: b: c", "clusters: []", "hunter2"])
    def test_a_broken_kubeconfig_in_the_bootstrap_is_a_fault_without_its_text(self, inside: str) -> None:
        (fault,) = result_of(contents=self.contents(inside), beside=self.good()).faults
        assert str(fault) == (
            "bootstrap.ign: /opt/openshift/auth/kubeconfig in it is not a kubeconfig. "
            "Fix: take the file that openshift-install wrote"
        )

    def test_a_broken_payload_is_one_fault(self) -> None:
        contents = self.contents() | {"bootstrap": b"{"}
        (fault,) = result_of(contents=contents, beside=self.good()).faults
        assert (fault.where, fault.what[:22]) == ("stacks/prod/payload/bootstrap.ign", "not an Ignition config")
