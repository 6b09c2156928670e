"""Whether a server that runs is a node of the cluster, which its stack, restored from a copy, does not know."""

from pathlib import Path

import pytest

from base.errors import Fault
from payload.kubeconfig import PUT_THERE
from providers.bmc_host.node import KEEP, node_fault
from providers.registered import RunningCluster
from testing.certificate_requests import FakeCluster, node
from testing.fakes.clock import FakeClock
from testing.kubeconfigs import write_kubeconfig
from wires.api.kubernetes import KubeApi
from wires.api.resources import CredentialError, FailingError
from wires.bmc.client import Identity

CLUSTER = RunningCluster("prod", "api.okd.lab.test", "192.0.2.5")
UUID, PLACEHOLDER = "c0ffee00-0000-4000-8000-000000000001", "03000200-0400-0500-0006-000700080009"


@pytest.fixture
def cluster(payload: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCluster:
    """The cluster that the kubeconfig of stack `prod` leads to."""
    write_kubeconfig(payload)
    made = FakeCluster(nodes=[node("w0", uuid=UUID.upper()), node("w1", uuid=PLACEHOLDER)])
    monkeypatch.setattr(KubeApi, "by", lambda *_: made)
    return made


def asked(uuid: str = UUID, host: str = "w0") -> Fault | None:
    return node_fault(host, Identity(uuid, "SN-1"), CLUSTER, FakeClock(), lambda _: None)


def test_a_server_that_is_a_node_stays_on(cluster: FakeCluster) -> None:
    what = "it runs as node w0, which the state does not know; nothing was changed"
    assert asked() == Fault("w0", what, KEEP)


def test_a_node_of_another_name_is_not_to_be_imported(cluster: FakeCluster) -> None:
    """`HostProvisioning` would wait for node w7."""
    fault = asked(host="w7")
    assert fault
    assert fault.fix == (
        "name it w0 in the install-config; or, if it is to be w7, drain node w0, have it leave etcd if it is of "
        "the control plane (docs/how-to/replace-a-control-plane-server.md#by-hand), `oc delete node w0`, and switch "
        "it off; then run `pulumi up` again"
    )


@pytest.mark.parametrize(
    ("uuid", "host"),
    [("c0ffee00-0000-4000-8000-000000000002", "w0"), (PLACEHOLDER, "w7"), ("", "w7")],
    ids=["another-uuid", "placeholder-without-node", "no-uuid-without-node"],
)
def test_another_machine_may_be_switched_off(uuid: str, host: str, cluster: FakeCluster) -> None:
    assert asked(uuid, host) is None


@pytest.mark.parametrize(("uuid", "host"), [(PLACEHOLDER, "w1"), ("", "w0"), (UUID.replace("c0", "d1"), "w1")])
def test_a_server_stays_on_whose_node_does_not_tell_its_machine(uuid: str, host: str, cluster: FakeCluster) -> None:
    of_node = {"w0": UUID.upper(), "w1": PLACEHOLDER}[host]
    machine = f"this machine is a system, UUID {uuid or 'unreported'}, serial SN-1"
    assert asked(uuid, host) == Fault(
        host,
        f"it runs, and may be a node: node {host} exists, with UUID {of_node}, and {machine}; nothing was changed",
        f"{KEEP}; or, if it is none, switch it off; then run `pulumi up` again",
    )


@pytest.mark.parametrize(
    ("silence", "fix"),
    [
        (CredentialError("status 401"), "first get an auth/kubeconfig that is allowed to do this"),
        (ConnectionRefusedError("refused"), "have the API answer first"),
        (FailingError("status 500"), "have the API answer first"),
    ],
)
def test_a_server_of_which_nobody_says_that_it_is_none_stays_on(
    silence: OSError, fix: str, cluster: FakeCluster
) -> None:
    cluster.down = silence
    why = f"the API cannot be asked through 192.0.2.5: {silence}"
    fix = f"{fix}; or, if it is none, switch it off; then run `pulumi up` again"
    assert asked() == Fault("w0", f"it runs, and may be a node: {why}; nothing was changed", fix)


def test_a_provisioner_without_kubeconfig_switches_no_running_server_off(cluster: FakeCluster, payload: Path) -> None:
    (payload / "auth" / "kubeconfig").unlink()
    missing = "the API cannot be asked without stacks/prod/payload/auth/kubeconfig"
    assert asked() == Fault(
        "w0",
        f"it runs, and may be a node: {missing}; nothing was changed",
        f"{PUT_THERE}; or, if it is none, switch it off; then run `pulumi up` again",
    )
