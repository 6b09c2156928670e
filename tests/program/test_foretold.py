"""A preview finds nothing that `okd-baremetal plan --stack` has not found before, without Pulumi."""

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pulumi
import pytest

from base.yaml_text import yaml_of
from providers.pulumi.dynamic import Provider
from testing import clusters, plans
from testing.checkout import ROOT
from testing.command_line import run as command
from testing.install_configs import Change, bare, host
from testing.plan_files import addresses, as_it_is
from tests.program.graph import PROVIDERS, run

FILE = "stacks/rehearsal/install-config.yaml"
LOGIN = {"username": "root", "password": "hunter2"}
CIPHERTEXT = {"secure": "v1:ciphertext"}
PLAIN = plans.options()


def stack(folder: Path, change: Change, options: Mapping[str, Any]) -> None:
    """Write a changed copy of the rehearsal's stack."""
    config = plans.install_config()
    change(config)
    (folder / FILE).parent.mkdir(parents=True, exist_ok=True)
    (folder / FILE).write_text(plans.written(config))
    given = {f"{plans.PROJECT}:{name}": value for name, value in options.items()}
    (folder / "stacks" / "Pulumi.rehearsal.yaml").write_text(yaml_of({"config": given}))


def planned(folder: Path) -> list[str]:
    """Return what `plan --stack` refuses."""
    done = command("plan", FILE, "--stack", "rehearsal", folder=folder)
    assert done.returncode == (2 if done.stderr else 0)
    assert bool(done.stdout) is not bool(done.stderr)
    return done.stderr.splitlines()


def previewed(**options: Any) -> list[str]:
    """Return what a preview refuses: the program, or the `check` of one of its resources."""
    try:
        return run(**options).refused
    except pulumi.RunError as error:
        return str(error).splitlines()


def two_networks_of_one_name(config: dict[str, Any]) -> None:
    """Give a host a profile of the name of this program's own."""
    profile = {"name": "eno1", "type": "ethernet", "state": "up", "profile-name": "okd-machine-network"}
    host(config)["networkConfig"] = {"interfaces": [profile]}


BROKEN: dict[str, tuple[Change, dict[str, Any]]] = {
    "no-consent": (as_it_is, {"consent": {}}),
    "a-blank-consent": (as_it_is, {"consent": {**plans.CONSENT, "okd-master-0": " "}}),
    "consent-to-nobody": (as_it_is, {"consent": {**plans.CONSENT, "x": "y"}}),
    "no-addresses": (as_it_is, {"node_addresses": {}, "bootstrap": {"base_volume": "x.qcow2"}}),
    "a-wrong-address": (as_it_is, {"node_addresses": addresses(okd_master_0=["x"], okd_master_1=[])}),
    "an-address-elsewhere": (as_it_is, {"node_addresses": addresses(okd_master_0=["10.9.9.9"])}),
    "no-payload-no-media": (as_it_is, {"payload": {}, "media": {}, "consent": {}}),
    "payload-of-two": (as_it_is, {"payload": {"bootstrap": "b0" * 32, "master": "x"}, "images": {}}),
    "no-base-volume": (as_it_is, {"bootstrap": {"address": "192.168.111.20"}}),
    "managed-without-an-image": (as_it_is, {"provisioner": {"manage": True}}),
    "a-wrong-phase": (as_it_is, {"phase": "done", "handoff": {"min_ready": 1}, "consent": {}}),
    "a-boolean-that-is-none": (as_it_is, {"destroyable": "maybe", "consent": {}}),
    "an-object-that-is-none": (as_it_is, {"consent": "hello", "vrids": {"api": 0}}),
    "an-unknown-option": (as_it_is, {"bootstrap": {"adress": "192.168.111.20"}, "images": {"haproxy": "x"}}),
    "the-same-vrids": (as_it_is, {"vrids": {"api": 9, "ingress": 9}}),
    "a-login-in-the-clear": (as_it_is, {"bmc_credentials": {"okd-master-0": LOGIN}, "consent": {}}),
    "a-pull-secret-in-the-clear": (
        lambda c: c.pop("pullSecret"),
        {"pull_secret": '{"auths": {"a.test": {"auth": "eDp5"}}}', "consent": {}},
    ),
    "a-pull-secret-that-is-none": (as_it_is, {"pull_secret": "eDp5"}),
    "a-web-hook-that-is-none": (as_it_is, {"notify_url": "chat.test/hunter2"}),
    "no-pull-secret-at-all": (lambda c: c.pop("pullSecret"), {}),
    "half-a-login": (as_it_is, {"bmc_credentials": {"okd-master-0": {"username": "root"}}}),
    "no-login-at-all": (lambda c: host(c)["bmc"].pop("password"), {}),
    "an-invalid-file": (lambda c: (c.pop("baseDomain"), bare(c).update(apiVIPs=["10.0.0.5"])), {"consent": "x"}),
    "no-yaml-mapping": (lambda c: c.clear(), {}),
    "a-provisioning-network-behind-a-balancer": (
        lambda c: bare(c).update(provisioningNetwork="Managed", loadBalancer={"type": "UserManaged"}),
        {"payload": {}},
    ),
    "a-web-server-and-network-boot": (
        lambda c: (
            bare(c).update(provisioningNetwork="Unmanaged"),
            host(c)["bmc"].update(address="redfish://192.0.2.1"),
        ),
        {"media": {"url": "https://web.example.com/isos", "base_iso": plans.BASE_ISO}},
    ),
    "ipv6": (clusters.ipv6, {}),
    "a-network-that-no-file-can-be-made-of": (
        lambda c: host(c).update(networkConfig={"interfaces": [{"name": "sriov:eno1:0"}]}),
        {"consent": {}},
    ),
    "a-network-that-nmstate-refuses": (
        lambda c: host(c).update(networkConfig={"interfaces": [{"type": "ethernet"}]}),
        {},
    ),
    "two-networks-of-one-name": (two_networks_of_one_name, {}),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_preview_finds_nothing_that_plan_has_not_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change, options = BROKEN[name]
    stack(tmp_path, change, plans.options(**options))
    monkeypatch.chdir(tmp_path)
    preview = previewed(secret=(), **options)
    assert preview
    assert set(preview) <= set(planned(tmp_path))


def test_all_missing_options_come_in_one_run(tmp_path: Path) -> None:
    stack(tmp_path, as_it_is, {})
    assert [line.split(": ")[1] for line in planned(tmp_path)] == [
        "media",
        "payload",
        *(f"node_addresses.{name}" for name in plans.HOSTS),
        "bootstrap.address",
        "images.release",
        *(f"consent.{name}" for name in plans.HOSTS),
        "bootstrap.base_volume",
    ]


def test_a_wrong_option_hides_no_missing_one(tmp_path: Path) -> None:
    options = plans.options(node_addresses=addresses(okd_master_0=["x"], okd_master_1=[]), payload={"master": 1})
    stack(tmp_path, as_it_is, options)
    assert [line.partition(": ")[2].partition(": ")[0] for line in planned(tmp_path)] == [
        "node_addresses.okd-master-0[0]",
        "payload.bootstrap",
        "payload.master",
        "payload.worker",
        "node_addresses.okd-master-1",
    ]


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"bmc_credentials": CIPHERTEXT}, id="all-logins"),
        pytest.param({"bmc_credentials": {"okd-master-0": CIPHERTEXT}}, id="a-login"),
        pytest.param({"bmc_credentials": {"okd-master-0": {**LOGIN, "password": CIPHERTEXT}}}, id="a-password"),
        pytest.param({"consent": CIPHERTEXT}, id="consents"),
        pytest.param({"consent": {**plans.CONSENT, "okd-master-1": CIPHERTEXT}}, id="a-consent"),
        pytest.param({"node_addresses": addresses(okd_master_1=CIPHERTEXT)}, id="addresses"),
        pytest.param({"node_addresses": addresses(okd_master_1=[CIPHERTEXT])}, id="an-address"),
        pytest.param({"payload": CIPHERTEXT, "media": CIPHERTEXT}, id="what-has-no-default"),
        pytest.param({"media": {**PLAIN["media"], "address": CIPHERTEXT}}, id="the-media-address"),
        pytest.param({"bmc_ca": CIPHERTEXT, "destroyable": CIPHERTEXT, "handoff": CIPHERTEXT}, id="others"),
    ],
)
def test_an_encrypted_option_counts_as_present_and_right(tmp_path: Path, changes: dict[str, Any]) -> None:
    def without_a_login(config: dict[str, Any]) -> None:
        if "bmc_credentials" in changes:
            del host(config)["bmc"]["password"]

    stack(tmp_path, without_a_login, plans.options(**changes))
    assert planned(tmp_path) == []


def test_an_encrypted_password_hides_no_missing_login(tmp_path: Path) -> None:
    def without_logins(config: dict[str, Any]) -> None:
        for index in (0, 1):
            del host(config, index)["bmc"]["password"]

    logins = {"okd-master-0": {**LOGIN, "password": CIPHERTEXT}}
    stack(tmp_path, without_logins, plans.options(bmc_credentials=logins))
    (line,) = planned(tmp_path)
    assert line.startswith(f"{FILE}: platform.baremetal.hosts[1].bmc.password: missing")


def test_the_payload_is_judged_if_it_is_there_beside_all_else(tmp_path: Path) -> None:
    stack(tmp_path, as_it_is, plans.options(consent={}))
    before = planned(tmp_path)
    assert len(before) == len(plans.HOSTS)
    payload = tmp_path / "stacks" / "rehearsal" / "payload"
    payload.mkdir()
    (payload / "master.ign").write_text("{}")
    faults = planned(tmp_path)
    assert faults[: len(before)] == before
    starts = [
        "stacks/rehearsal/payload/bootstrap.ign: cannot be read",
        "stacks/rehearsal/payload/master.ign: sha256 is ",
        "stacks/rehearsal/payload/worker.ign: cannot be read",
    ]
    for line, start in zip(faults[len(before) :], starts, strict=True):
        assert line.startswith(start)


def test_plan_without_a_stack_needs_no_option_and_no_nmstate(tmp_path: Path) -> None:
    stack(tmp_path, BROKEN["a-network-that-nmstate-refuses"][0], {})
    assert command("plan", FILE, folder=tmp_path).returncode == 0


def calls(function: ast.FunctionDef) -> set[str]:
    """Return the functions that a function calls."""
    names = (each.func for each in ast.walk(function) if isinstance(each, ast.Call))
    return {ast.unparse(each) for each in names}


def test_the_program_judges_by_one_function_that_plan_calls_too() -> None:
    """A new source of refusals in the program fails here: have `plan --stack` judge it as well, then list it."""
    program = ast.parse((ROOT / "__main__.py").read_text())
    functions = {each.name: each for each in program.body if isinstance(each, ast.FunctionDef)}
    assert functions.keys() == {"stack_options", "declared"}
    assert calls(functions["declared"]) == {
        "Path",
        "pulumi.get_stack",
        "pulumi.get_project",
        "is_config_secret",
        "stack_options",
        "load_plan",
        "Cluster",
        "ClusterArgs",
        "pulumi.RunError",
        "str",
    }
    raised = [ast.unparse(each) for each in ast.walk(program) if isinstance(each, ast.Raise)]
    assert raised == ["raise pulumi.RunError(str(error)) from None"]
    for path in (ROOT / "components").glob("*.py"):
        assert not [each for each in ast.walk(ast.parse(path.read_text())) if isinstance(each, ast.Raise)], path


def test_resources_refuse_inputs_only_by_the_state_or_what_plan_refuses() -> None:
    """`BmcHost`: blank consents, see above; the others: records of the state, which a plan does not have.

    `BootstrapVm` and `VipHandoff` only note what `HostProvisioning` refuses.
    """
    by_inputs = {name for name, each in PROVIDERS.items() if each._faults is not Provider._faults}  # type: ignore[attr-defined]
    assert by_inputs == {
        *("BmcHost", "BootstrapVm", "ClusterPower", "ClusterUpgrade", "HostProvisioning", "Machines"),
        *("NetworkPreflight", "OkdInstalled", "ProvisionerPreflight", "VipHandoff"),
    }
    by_records = {name for name, each in PROVIDERS.items() if each._plan is not Provider._plan}  # type: ignore[attr-defined]
    assert by_records == {"BootstrapVm", "ClusterPower", "HostProvisioning", "Machines", "VipHandoff"}
