"""Inputs that end a run before anything is declared, that a `check` refuses, or that raise a warning."""

from functools import cache
from pathlib import Path
from typing import Any

import pulumi
import pytest
import yaml

from testing import clusters, plans
from testing.checkout import ROOT
from testing.install_configs import Change, bare
from tests.program.graph import Graph, run

HANDOFF, INSTALL_MASTERS = "okd-api", "okd-control-plane"
FILE = "stacks/rehearsal/install-config.yaml"


@pytest.fixture(autouse=True)
def _in_the_project(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def go_to(folder: Path, monkeypatch: pytest.MonkeyPatch, change: Change) -> None:
    """Work in a folder that holds only a changed install-config of the rehearsal."""
    config = plans.install_config()
    change(config)
    path = folder / FILE
    path.parent.mkdir(parents=True)
    path.write_text(yaml.safe_dump(config))
    monkeypatch.chdir(folder)


@cache
def installed(phase: str) -> Graph:
    """Return the graph of a cluster in a phase, whose state may have been lost."""
    return run(phase=phase, import_production=True)


def test_an_unverified_bmc_certificate_is_warned_of_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    go_to(tmp_path, monkeypatch, lambda c: bare(c)["hosts"][0]["bmc"].update(disableCertificateVerification=True))
    graph = run()
    assert graph.resources["okd-okd-master-0"].inputs["bmc"]["verify"] is False
    (warning,) = [record.message for record in caplog.records if "any certificate" in record.message]
    assert warning == (
        "any certificate is accepted from its BMC (disableCertificateVerification). "
        "Fix: pin it with the stack option bmc_trust.okd-master-0"
    )
    caplog.clear()
    trusted = run(bmc_trust={"okd-master-0": {"sha256": "ab" * 32}})
    assert trusted.resources["okd-okd-master-0"].inputs["bmc"]["verify"] is True
    assert not [record for record in caplog.records if "any certificate" in record.message]


def test_reinstall_refuses_the_serial_of_another_machine() -> None:
    (refused,) = run(reinstall={"okd-master-0": "serial-of-okd-okd-master-1"}).refused
    assert refused.startswith(
        f"{INSTALL_MASTERS}: reinstall: reinstall.okd-master-0 names serial-of-okd-okd-master-1, the host is"
    )


def test_a_return_to_bootstrap_is_refused_by_a_check() -> None:
    (refused,) = run(installed("production")).refused
    assert refused == (
        f"{HANDOFF}: phase: a cluster in production cannot go back to bootstrap. Fix: set it to production again"
    )


def test_production_on_an_empty_stack_is_refused_by_a_check() -> None:
    (refused,) = run(phase="production").refused
    assert refused == (
        f"{HANDOFF}: phase: the stack is empty, has a cluster of another metadata.name, or has lost a part of its "
        "state. Fix: start an empty stack with phase bootstrap; write a changed name as it was; "
        "set import_production if the cluster runs, and its state was lost (docs/how-to/recover.md)"
    )


@pytest.mark.parametrize("before", ["bootstrap", "production"])
@pytest.mark.parametrize(
    ("change", "lines"),
    [
        pytest.param(
            lambda c: bare(c).update(apiVIPs=["192.168.111.6"]),
            ["okd-network: platform.baremetal.apiVIPs: 192.168.111.6, but the cluster was installed with 192.168"],
            id="D2-VIP-api",
        ),
        pytest.param(
            lambda c: c.update(baseDomain="other.test"),
            ["okd-api: <metadata.name>.<baseDomain>: okd.other.test, but the cluster was installed with okd.lab"],
            id="D2-VIP-domain",
        ),
        pytest.param(
            lambda c: bare(c).update(loadBalancer={"type": "UserManaged"}),
            ["okd-api: platform.baremetal.loadBalancer.type: UserManaged, but the cluster was installed with "],
            id="balancer",
        ),
        pytest.param(
            lambda c: c["networking"].update(serviceNetwork=["172.31.0.0/16"]),
            ['okd-preflight: networking.serviceNetwork: ["172.31.0.0/16"], but the cluster was installed with '],
            id="services",
        ),
        pytest.param(lambda c: bare(c).update(additionalNTPServers=["192.168.111.9"]), [], id="time-servers"),
    ],
)
def test_production_keeps_what_the_nodes_have(
    before: str, change: Change, lines: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    previous = installed(before)
    go_to(tmp_path, monkeypatch, change)
    refused = run(previous, phase="production").refused
    assert [line[: len(start)] for line, start in zip(refused, lines, strict=True)] == lines


@pytest.mark.parametrize("before", ["bootstrap", "production"])
def test_production_keeps_its_ingress_vip(before: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    previous = installed(before)
    go_to(tmp_path, monkeypatch, lambda c: bare(c).update(ingressVIPs=["192.168.111.7"]))
    (refused,) = run(previous, phase="production").refused
    assert refused == (
        "okd-network: platform.baremetal.ingressVIPs: 192.168.111.7, but the cluster was installed with "
        "192.168.111.4: every node has it, and `up` writes to no installed node. Fix: write 192.168.111.4 again"
    )


def test_production_keeps_its_vrids() -> None:
    previous = installed("production")
    assert run(previous, phase="production").refused == []
    (refused,) = run(previous, phase="production", vrids={"api": 77}).refused
    assert refused.startswith(
        "okd-network: vrids.api: 77, but the cluster was installed with 67: installed nodes would"
    )


def test_bootstrap_may_change_what_no_node_has_yet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    previous = run()
    go_to(tmp_path, monkeypatch, lambda c: bare(c).update(apiVIPs=["192.168.111.6"]))
    assert run(previous).refused == []


def test_a_lost_state_can_be_imported() -> None:
    assert installed("production").refused == []


@pytest.mark.parametrize(
    ("changes", "line"),
    [
        pytest.param(
            {"consent": {name: "x" for name in plans.HOSTS[1:]}},
            "config: consent.okd-master-0: missing",
            id="consent",
        ),
        pytest.param({"phase": "done"}, "config: phase: Input should be", id="phase"),
        pytest.param(
            {"network_preflight": {"vip": "no"}},
            "config: network_preflight.vip: Input should be 'error' or 'warn'",
            id="severity",
        ),
        pytest.param({"node_addresses": {}}, "config: node_addresses.okd-master-0: no IPv4 address", id="addresses"),
        pytest.param(
            {"bmc_credentials": {"okd-master-0": {"username": "root", "password": "hunter2"}}, "secret": ()},
            "config: bmc_credentials: they are in plain text, as they would be in the state. Fix: set each password "
            "with `pulumi config set --secret --path 'bmc_credentials.<host>.password'`",
            id="password-in-the-clear",
        ),
        pytest.param(
            {"pull_secret": '{"auths": {"a.test": {"auth": "hunter2"}}}', "secret": ()},
            "config: pull_secret: it is in plain text, as it would be in each commit of the stack's file. Fix: set "
            "it with `pulumi config set --secret pull_secret <FILE`",
            id="pull-secret-in-the-clear",
        ),
        pytest.param(
            {"notify_url": "https://chat.test/hunter2", "secret": ()},
            "config: notify_url: it is in plain text, as it would be in each commit of the stack's file. Fix: set "
            "it with `pulumi config set --secret notify_url <FILE`",
            id="web-hook-in-the-clear",
        ),
    ],
)
def test_a_wrong_option_ends_the_run_before_anything_is_declared(changes: dict[str, Any], line: str) -> None:
    with pytest.raises(pulumi.RunError) as caught:
        run(**changes)
    assert str(caught.value).startswith(line)
    assert caught.value.__cause__ is None


@pytest.mark.parametrize(
    ("change", "lines"),
    [
        pytest.param(
            lambda c: (c.pop("sshKey"), c.pop("baseDomain"), bare(c).update(apiVIPs=["10.0.0.5"])),
            [
                f"{FILE}: baseDomain: missing",
                f"{FILE}: platform.baremetal.apiVIPs[0]: 10.0.0.5 is in no machine network",
            ],
            id="wrong",
        ),
        pytest.param(
            lambda c: [pool.update(architecture="s390x") for pool in (c["controlPlane"], *c["compute"])],
            [f"{FILE}: {pool}.architecture: s390x: not supported yet" for pool in ("controlPlane", "compute[0]")],
            id="good-and-unsupported",
        ),
        pytest.param(
            clusters.dual_stack,
            [
                *(f"config: node_addresses.{name}: no IPv6 address" for name in plans.HOSTS),
                "config: bootstrap.address: no IPv6 address",
            ],
            id="good-without-the-options-it-needs",
        ),
        pytest.param(
            lambda c: bare(c)["hosts"][0].update(networkConfig={"interfaces": [{"name": "sriov:eno1:0"}]}),
            [f"{FILE}: platform.baremetal.hosts[0].networkConfig: interfaces[0].name: sriov:<card>:<number> can be"],
            id="a-network-that-no-file-can-be-made-of",
        ),
    ],
)
def test_a_wrong_install_config_ends_the_run_before_anything_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Change, lines: list[str]
) -> None:
    go_to(tmp_path, monkeypatch, change)
    with pytest.raises(pulumi.RunError) as caught:
        run()
    faults = str(caught.value).splitlines()
    assert len(faults) == len(lines), faults
    for fault, line in zip(faults, lines, strict=True):
        assert fault.startswith(line), fault
    assert caught.value.__cause__ is None
