"""An upgrade with the real engine and the whole program, of an OKD that is a stand-in behind a real TLS server."""

from pathlib import Path

import pytest

from testing import plans
from testing.certificates import authority
from testing.fakes.kube_api import kube_api
from testing.fakes.okd_api import OkdApi
from testing.fakes.okd_release import API_NAME, image_of
from testing.kubeconfigs import write_kubeconfig
from testing.namespaces import in_own_network, ip, needs_root
from testing.previews import Project, settled
from testing.project import eventually
from wires.api.resources import VERSION

AT_ONCE = ("--yes", "--skip-preview")
NEW = "4.21.3"
VIP = str(plans.plan().api.address)
QUICKLY = {"POLL_S = 10.0": "POLL_S = 0.05", "STEADY_S = 30.0": "STEADY_S = 0.2", "STUCK_S = 600.0": "STUCK_S = 0.5"}
"""The waits between two requests, each of which is half a minute of the cluster."""


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A stack in production whose payload has the kubeconfig of the stand-in."""
    project = settled(tmp_path / "site", "hunter2", phase="production", import_production=True)
    write_kubeconfig(project.program / "stacks" / plans.STACK / "payload")
    for old, new in QUICKLY.items():
        project.replace("providers/cluster_upgrade/engine.py", old, new)
    project.set(upgrade={"version": NEW, "image": image_of(NEW)})
    return project


@needs_root
def test_an_upgrade_is_previewed_told_once_killed_held_and_ended(project: Project, certificate: str) -> None:
    cluster = OkdApi()

    def killed_half_way() -> None:
        cluster.stand_half_way()
        with project.start("up", *AT_ONCE) as killed:
            eventually(lambda: f"Working towards {NEW}: " in project.log())
            killed.kill()
        project.end()
        project.pulumi("cancel", "--yes")

    def inside() -> None:
        ip(f"address add {VIP}/32 dev lo")
        with kube_api(certificate, authority("test-ca").pem, cluster, (VIP, 6443)):
            assert project.preview().others == {"create ClusterUpgrade okd-upgrade": set()}
            assert cluster.okd.requests == 0
            killed_half_way()
            cluster.go_on()
            cluster.okd.degraded["ingress"] = cluster.clock.now()
            held = project.pulumi("up", *AT_ONCE, fails=True)
            assert f"OKD: the upgrade to {NEW} has not got on for 0.5 s: Failing is True: Cluster operator " in held
            assert "Fix: solve that; OKD goes on trying by itself: see `oc get clusterversion`" in held
            cluster.okd.degraded.clear()
            assert "+ 1 created" in project.pulumi("up", *AT_ONCE)
            project.pulumi("up", *AT_ONCE, "--expect-no-changes")

    in_own_network(inside)
    assert cluster.okd.running == NEW
    assert cluster.okd.writes == [f"API {API_NAME}: change {VERSION.partition('v1/')[2]} to {NEW} {image_of(NEW)}"]
