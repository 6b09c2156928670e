"""The handoff behind a balancer of the site: a real haproxy that leads to the bootstrap first, then to the nodes."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from base.errors import HandoffUnsafeError
from providers.network_preflight.engine import check_network
from providers.network_preflight.model import NetworkPreflightSpec
from providers.network_preflight.probe import LocalNetworkProbe
from testing.namespaces import in_own_network, needs_root
from testing.scene.balancer import BalancedCluster, balanced_cluster
from testing.scene.fault import NODES, Measured

pytestmark = needs_root
EVERYBODY = ("okd-bootstrap", *NODES)
ENDED = "okd-bootstrap no longer serves: does the balancer still lead to it?"

Work = Callable[[BalancedCluster], None]


@pytest.fixture
def behind_a_balancer(tmp_path: Path, certificate: str) -> Callable[[Work], None]:
    """Run a scene with a cluster and its balancer, in a network of its own."""

    def run(work: Work) -> None:
        def inside() -> None:
            with balanced_cluster(tmp_path, certificate) as scene:
                work(scene)

        in_own_network(inside)

    return run


@contextmanager
def ready(scene: BalancedCluster, *backends: str, **options: str) -> Iterator[None]:
    """Have bootstrap and nodes serve behind the balancer."""
    with scene.leading_to(*backends, **options):
        scene.cluster.bootstrap.start_api(scene.cluster.certificate)
        scene.start_api(NODES)
        yield


def end_the_api_of_the_bootstrap(scene: BalancedCluster) -> None:
    scene.cluster.bootstrap.kill("stand_in_api.py")


def refused(scene: BalancedCluster, state: str, *words: str) -> None:
    """Assert that the VM is kept, by an error of this state with these words."""
    scene.handoff.time_is_up_at = (f"{state}: ", *words)
    with pytest.raises(HandoffUnsafeError, match=f"at {state}: ") as caught:
        scene.handoff.move()
    error = str(caught.value)
    assert [word for word in (*words, f"the site's balancer {scene.address}: ") if word not in error] == [], error
    assert error.count("VIP and VM are untouched") == 1
    assert not scene.handoff.stopped


def test_the_vm_goes_when_the_balancer_has_left_it(
    behind_a_balancer: Callable[[Work], None], measured: Measured
) -> None:
    def work(scene: BalancedCluster) -> None:
        handoff = scene.handoff
        preflight = NetworkPreflightSpec.of(scene.cluster.plan)
        probe = LocalNetworkProbe(lambda _: None)
        nobody = preflight.api.changed(vips=("10.20.0.101",))
        faults = check_network(preflight.changed(api=nobody), probe).faults
        assert [fault.where for fault in faults] == ["API VIP 10.20.0.101"] * 2
        with scene.leading_to(*EVERYBODY):
            assert check_network(preflight, probe).faults == [], "a balancer without backends that run"
            scene.cluster.bootstrap.start_api(scene.cluster.certificate)
            assert handoff.prove_bootstrap() == "okd-bootstrap"
            scene.start_api(NODES)
            handoff.when["await: okd-bootstrap"] = partial(end_the_api_of_the_bootstrap, scene)
            outs = handoff.move()
            assert handoff.states == ["gate", "await", "soak", "let go", "done"]
            assert handoff.stopped
            assert outs.holder == "control plane"
            assert "control plane" in [entry["holder"] for entry in outs.holders]
            assert handoff.prove_control_plane() == "control plane"
        measured(f"behind a balancer: gap {outs.gap_ms} ms, {outs.probes_failed} of {outs.probes_sent} failed")

    behind_a_balancer(work)


def test_a_bootstrap_that_serves_on_is_not_ended(behind_a_balancer: Callable[[Work], None]) -> None:
    def work(scene: BalancedCluster) -> None:
        with ready(scene, *EVERYBODY):
            refused(scene, "await", "okd-bootstrap (192.168.111.20) still accepts connections on 6443 and 22623")

    behind_a_balancer(work)


def test_a_balancer_that_leads_only_to_the_bootstrap_keeps_it(behind_a_balancer: Callable[[Work], None]) -> None:
    def work(scene: BalancedCluster) -> None:
        with ready(scene, "okd-bootstrap"):
            scene.handoff.when["await: okd-bootstrap"] = partial(end_the_api_of_the_bootstrap, scene)
            refused(scene, "await", "the API is not ready through 10.20.0.100", ENDED)

    behind_a_balancer(work)


def test_a_balancer_without_health_checks_keeps_the_vm(behind_a_balancer: Callable[[Work], None]) -> None:
    def work(scene: BalancedCluster) -> None:
        with ready(scene, *EVERYBODY, check=""):
            scene.handoff.when["await: okd-bootstrap"] = partial(end_the_api_of_the_bootstrap, scene)
            # Every fourth connection fails: a state that is left after one good answer passes, the soak does not.
            scene.handoff.soak_s = 10
            refused(scene, "soak", "through 10.20.0.100", ENDED)

    behind_a_balancer(work)


def test_a_balancer_that_misses_the_bootstrap_cannot_install(
    behind_a_balancer: Callable[[Work], None],
) -> None:
    def work(scene: BalancedCluster) -> None:
        with scene.leading_to(*NODES):
            scene.cluster.bootstrap.start_api(scene.cluster.certificate)
            scene.handoff.time_is_up_at = ("prove: ", "itself is ready")
            with pytest.raises(HandoffUnsafeError, match=r"okd-bootstrap \(192\.168\.111\.20\) itself is ready"):
                scene.handoff.prove_bootstrap()

    behind_a_balancer(work)
