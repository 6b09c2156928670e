"""ClusterUpgrade as a resource: who asks, what a preview refuses, what a refresh tells, what `destroy` leaves."""

from pathlib import Path
from typing import Any

import pytest

from base.errors import PayloadError, SnapshotError
from cluster.options import Release
from payload.kubeconfig import Kubeconfig
from providers.asleep import STACK
from providers.cluster_upgrade.model import ClusterUpgradeSpec
from providers.cluster_upgrade.provider import ClusterUpgradeProvider
from testing import plans
from testing.fakes.clock import FakeClock
from testing.fakes.okd_release import LOAD_S, FakeOkd, image_of
from testing.kubeconfigs import write_kubeconfig
from wires.api.kubernetes import KubeApi

PROPS: dict[str, Any] = {
    "stack": "prod",
    "api_name": "api.okd.lab.test",
    "api_vip": "192.0.2.5",
    "version": "4.21.3",
    "image": image_of("4.21.3"),
    "snapshots": "",
    "deadline_s": 14400.0,
    "urn": "urn::upgrade",
}


def test_it_asks_and_is_asked_for_what_the_stack_has() -> None:
    plan = plans.plan(phase="production", snapshots="/srv/etcd", deadlines={"upgrade_s": 7200})
    release = Release(version="4.21.3", image=image_of("4.21.3"))
    assert ClusterUpgradeSpec.of(plan, "prod", release) == ClusterUpgradeSpec(
        stack="prod",
        api_name=f"api.{plan.domain}",
        api_vip=str(plan.api.address),
        version="4.21.3",
        image=image_of("4.21.3"),
        snapshots="/srv/etcd",
        deadline_s=7200,
    )


@pytest.fixture
def okd(payload: Path, monkeypatch: pytest.MonkeyPatch) -> FakeOkd:
    """An OKD behind the VIP, asked with the payload's kubeconfig; time passes by the engine's own waits."""
    write_kubeconfig(payload)
    clock = FakeClock()
    made = FakeOkd(clock)

    def by(kubeconfig: Kubeconfig, server_name: str) -> FakeOkd:
        assert server_name == "api.okd.lab.test"
        return made

    monkeypatch.setattr(KubeApi, "by", by)
    monkeypatch.setattr("providers.cluster_upgrade.provider.SYSTEM_CLOCK", clock)
    return made


def running(outs: dict[str, Any] | None) -> object:
    assert outs is not None
    return outs["running"]


def test_create_upgrades_and_a_second_one_finds_it_done(okd: FakeOkd) -> None:
    for _ in range(2):
        assert running(ClusterUpgradeProvider().create(PROPS).outs) == "4.21.3"
    assert len(okd.writes) == 1


def test_an_update_names_a_newer_release(okd: FakeOkd) -> None:
    ClusterUpgradeProvider().create(PROPS)
    newer = {**PROPS, "version": "4.21.4", "image": image_of("4.21.4")}
    assert running(ClusterUpgradeProvider().update("x", PROPS, newer).outs) == "4.21.4"


def test_a_preview_refuses_an_older_release_than_that_of_the_state() -> None:
    older = {**PROPS, "version": "4.21.2-okd-scos.9", "image": image_of("old")}
    (failure,) = ClusterUpgradeProvider().check(PROPS, older).failures
    assert failure.reason == (
        "upgrade.version: 4.21.2-okd-scos.9 is older than 4.21.3, and no cluster goes back. "
        "Fix: write 4.21.3 again, or a newer one"
    )
    assert ClusterUpgradeProvider().check({}, older).failures == []


def test_a_preview_refuses_a_newer_version_by_the_image_of_the_former_one() -> None:
    newer = {**PROPS, "version": "4.21.4", "image": f"mirror.site.test/okd@{image_of('4.21.3').partition('@')[2]}"}
    (failure,) = ClusterUpgradeProvider().check(PROPS, newer).failures
    assert failure.reason == (
        "upgrade.image: it is that of 4.21.3, wanted that of 4.21.4. "
        "Fix: write the digest of 4.21.4, as `oc adm release info` prints it"
    )
    assert ClusterUpgradeProvider().check(PROPS, {**newer, "version": "4.21.3"}).failures == []


def test_a_snapshot_that_is_wanted_is_taken_first(okd: FakeOkd, tmp_path: Path) -> None:
    """The stand-in has no etcd, so there is none, and nothing is begun."""
    with pytest.raises(SnapshotError, match="etcd: not saved: in namespace openshift-etcd, ConfigMap etcd-endpoints"):
        ClusterUpgradeProvider().create({**PROPS, "snapshots": str(tmp_path)})
    assert okd.writes == []


def test_a_refresh_tells_a_release_that_others_have_chosen(okd: FakeOkd, capsys: pytest.CaptureFixture[str]) -> None:
    assert running(ClusterUpgradeProvider().read("x", PROPS).outs) == "4.21.2"
    assert capsys.readouterr().err == "upgrade: OKD is at 4.21.2, and the stack names 4.21.3\n"
    okd.tell(version="4.21.9", image=image_of("4.21.9"))
    okd.clock.sleep(LOAD_S)
    assert running(ClusterUpgradeProvider().read("x", PROPS).outs) == "4.21.9"
    assert capsys.readouterr().err == "upgrade: OKD is at 4.21.9, and the stack names 4.21.3\n"
    okd.down = frozenset(range(100))
    assert running(ClusterUpgradeProvider().read("x", {**PROPS, "running": "4.21.9"}).outs) == "4.21.9"
    assert "upgrade: the version was not read: OKD: OKD cannot be asked through 192.0.2.5" in capsys.readouterr().err


def test_delete_asks_nobody(okd: FakeOkd) -> None:
    ClusterUpgradeProvider().delete("x", PROPS)
    assert okd.requests == 0


def test_it_cannot_ask_without_the_kubeconfig(payload: Path) -> None:
    with pytest.raises(PayloadError, match="auth/kubeconfig: missing, but `upgrade` asks OKD with it"):
        ClusterUpgradeProvider().create(PROPS)


def test_no_upgrade_begins_while_the_cluster_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    assert ClusterUpgradeProvider().check({}, PROPS).failures == []
    monkeypatch.setattr(STACK, "sleeps", True)
    (failure,) = ClusterUpgradeProvider().check({}, PROPS).failures
    assert failure.reason.startswith(
        "upgrade: set for the first time with `power` off, so nothing can answer it. Fix"
    )
    assert ClusterUpgradeProvider().check(PROPS, PROPS).failures == []
