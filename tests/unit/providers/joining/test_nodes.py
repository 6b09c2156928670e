"""When a host is a ready node, and whether a machine is one."""

import pytest

from base.errors import ProvisioningError
from testing.certificate_requests import node
from tests.unit.providers.joining.rig import VIP, machine, rig
from wires.api.resources import CredentialError, FailingError
from wires.certificates import CertificateTimeError

PLACEHOLDER = "03000200-0400-0500-0006-000700080009"


@pytest.mark.parametrize("ready", ["False", "Unknown"])
def test_a_node_is_ready_only_if_its_kubelet_says_so(ready: str) -> None:
    """The API sets Unknown once a kubelet stops posting its status."""
    made = rig(nodes=(node("w0", ready=ready, message="Kubelet stopped posting node status."),))
    assert made.missing() == "node w0 is not ready: Kubelet stopped posting node status."


def test_a_node_is_the_machine_whose_system_uuid_it_reports() -> None:
    uuid = "C0FFEE00-0000-4000-8000-000000000001"
    made = rig(nodes=(node("w0", uuid=uuid),))
    assert made.joining.is_node("w0", machine(uuid))
    assert made.joining.is_node("w0", machine("00eeffc0-0000-0040-8000-000000000001")), "IPMI has it in another order"
    assert not made.joining.is_node("w0", machine("c0ffee00-0000-4000-8000-000000000002"))
    assert not made.joining.is_node("w2", machine(uuid))


@pytest.mark.parametrize(
    ("of_node", "own", "words"),
    [
        pytest.param(PLACEHOLDER, PLACEHOLDER, f"UUID {PLACEHOLDER}", id="many-boards-report-it"),
        pytest.param("c0ffee00-0000-4000-8000-000000000001", "", "UUID unreported", id="the-bmc-reports-none"),
        pytest.param("", "c0ffee00-0000-4000-8000-000000000001", "UUID c0ffee00", id="the-kubelet-reports-none"),
    ],
)
def test_a_machine_may_be_a_node_that_cannot_be_compared_with_it(of_node: str, own: str, words: str) -> None:
    """Its mark lost, it would be wiped: by IPMI, a board without a GUID has only its serial number."""
    made = rig(nodes=(node("w0", uuid=of_node),))
    with pytest.raises(ProvisioningError) as caught:
        made.joining.is_node("w0", machine(own))
    assert str(caught.value).startswith(
        f"w0: it may be a node, so it was not wiped: node w0 exists, with UUID {of_node or 'unreported'}, and this "
        f"machine is a system, {words}"
    )
    assert str(caught.value).endswith(
        ", serial SN-1. Fix: if that node is this machine, empty its virtual CD drive and switch it on; if it is "
        "another one, or is to be wiped, `oc delete node w0`; then run `pulumi up` again"
    )
    assert not made.joining.is_node("w1", machine(own)), "which has no node: a first installation"
    made.joining.nodes.replaced = ("w0",)
    assert not made.joining.is_node("w0", machine(own)), "the node of the machine that this one replaces"


def test_nobody_is_a_node_of_an_api_that_does_not_answer() -> None:
    made = rig(nodes=(node("w0", uuid="c0ffee00-0000-4000-8000-000000000001"),))
    made.cluster.down = ConnectionRefusedError("refused")
    assert not made.joining.is_node("w0", machine("c0ffee00-0000-4000-8000-000000000001"))


@pytest.mark.parametrize(
    ("answer", "fix"),
    [
        (CredentialError("status 401"), "first get an auth/kubeconfig that is allowed to do this"),
        (CertificateTimeError("expired"), "first correct the clock of this machine, or renew the API's certificate"),
    ],
)
def test_a_machine_may_be_a_node_of_an_api_that_does_not_say(answer: OSError, fix: str) -> None:
    """Its cache lost, it would be wiped; what an earlier poll has read still counts."""
    uuid = "c0ffee00-0000-4000-8000-000000000001"
    made = rig(nodes=(node("w0", uuid=uuid),))
    assert made.joining.is_node("w0", machine(uuid))
    made.cluster.down = answer
    made.clock.sleep(2)
    assert made.joining.is_node("w0", machine(uuid))
    with pytest.raises(ProvisioningError) as caught:
        made.joining.is_node("w1", machine(uuid))
    assert str(caught.value) == (
        f"w1: it may be a node, so it was not wiped: the API cannot be asked through {VIP}: "
        f"{answer}. Fix: {fix}, then run `pulumi up` again"
    )


@pytest.mark.parametrize(
    ("silence", "in_production"),
    [
        (ConnectionRefusedError("refused"), True),
        (TimeoutError("late"), True),
        (FailingError("status 500"), True),
        (FailingError("status 500: etcdserver: request timed out"), False),
    ],
)
def test_a_machine_may_be_a_node_of_a_cluster_that_does_not_answer(silence: OSError, in_production: bool) -> None:
    """In production there is an API, though not after a power cut, or without etcd; one that fails is there."""
    uuid = "c0ffee00-0000-4000-8000-000000000001"
    made = rig(nodes=(node("w1", uuid="c0ffee00-0000-4000-8000-000000000009"),), in_production=in_production)
    made.cluster.down = silence
    assert made.joining.is_node("w0", machine(uuid)) is None
    made.clock.sleep(59)
    assert made.joining.is_node("w0", machine(uuid)) is None, "as when the VIP moves"
    made.cluster.down = None
    made.clock.sleep(2)
    assert made.joining.is_node("w0", machine(uuid)) is False, "a first installation"
    made.cluster.down = silence
    made.clock.sleep(2)
    assert made.joining.is_node("w0", machine(uuid)) is None, "the wait begins anew"
    made.clock.sleep(60)
    with pytest.raises(ProvisioningError) as caught:
        made.joining.is_node("w0", machine(uuid))
    assert str(caught.value) == (
        f"w0: it may be a node, so it was not wiped: the API cannot be asked through {VIP}: "
        f"{silence}. Fix: have the API answer first, then run `pulumi up` again; if the "
        "API will never answer, restore or destroy the cluster (docs/how-to/restore-a-control-plane.md)"
    )


def test_the_minute_of_a_failing_api_begins_when_there_is_one() -> None:
    """In a first installation, a server whose BMC is slow asks the API only when that starts, and fails."""
    made, later = rig(), machine("c0ffee00-0000-4000-8000-000000000001")
    made.cluster.down = ConnectionRefusedError("refused")
    assert made.joining.is_node("w1", machine("c0ffee00-0000-4000-8000-000000000009")) is False
    made.clock.sleep(300)
    made.cluster.down = FailingError("status 503: apiserver not ready")
    assert made.joining.is_node("w0", later) is None
    made.clock.sleep(2)
    made.cluster.down = None
    assert made.joining.is_node("w0", later) is False
