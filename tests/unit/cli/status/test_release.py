"""What the row of OKD's release says, while the cluster-version operator of a stand-in upgrades, or does not."""

from datetime import UTC, datetime

import pytest

from cli.status.answers import Level
from cli.status.cluster import Cluster
from cli.status.release import release_rows, releases
from cluster.options import Release
from testing import plans
from testing.fakes.clock import FakeClock
from testing.fakes.okd_release import LOAD_S, PART_S, PARTS, PASS_S, FakeOkd, image_of
from wires.api.resources import R

NEXT = {"version": "4.21.3", "image": image_of("4.21.3")}


def row(okd: FakeOkd, *, names: bool = True) -> tuple[Level, str]:
    """Return the row of a stack that names the next release, or none."""
    plan = plans.plan(phase="production", **({"upgrade": Release(**NEXT).model_dump()} if names else {}))
    (seen,) = release_rows(Cluster("prod", plan, datetime.now(UTC)), okd)
    assert (seen.kind, seen.name) == ("release", "of OKD")
    return seen.level, seen.says


@pytest.fixture
def okd() -> FakeOkd:
    return FakeOkd(FakeClock())


def test_a_cluster_at_the_release_of_its_stack_is_well(okd: FakeOkd) -> None:
    assert row(okd, names=False) == (Level.GOOD, "4.21.2")
    waits = "4.21.2; the stack names 4.21.3, to which `pulumi up` upgrades"
    assert row(okd) == (Level.WARNING, waits)


@pytest.mark.parametrize("names", [True, False], ids=["by-the-stack", "by-a-person"])
def test_an_upgrade_is_a_warning_with_its_progress_until_it_has_ended(okd: FakeOkd, *, names: bool) -> None:
    okd.tell(**NEXT)
    assert row(okd, names=names) == (Level.WARNING, "on the way to 4.21.3: OKD has not begun yet")
    okd.clock.sleep(LOAD_S + 10 * PART_S)
    level, says = row(okd, names=names)
    assert (level, says.startswith("on the way to 4.21.3: Working towards 4.21.3: ")) == (Level.WARNING, True), says
    okd.clock.sleep(PARTS * PART_S)
    assert row(okd, names=names) == (Level.GOOD, "4.21.3")


def test_an_upgrade_that_does_not_get_on_is_wrong(okd: FakeOkd) -> None:
    okd.refuses = "no signature"
    okd.tell(**NEXT)
    okd.clock.sleep(LOAD_S + PASS_S)
    level, says = row(okd)
    assert level is Level.WRONG
    assert says.startswith("the upgrade to 4.21.3 does not get on: ReleaseAccepted is False: ")


def test_a_failure_without_an_upgrade_is_none_of_an_upgrade(okd: FakeOkd) -> None:
    okd.degraded["ingress"] = okd.clock.now()
    okd.clock.sleep(PASS_S)
    assert row(okd) == (Level.WRONG, "4.21.2, but Failing is True: Cluster operator ingress is degraded")


def test_a_failure_beside_a_version_without_image_is_none_of_an_upgrade(okd: FakeOkd) -> None:
    """The version that runs, as a person's manifest may have it; and one that OKD does not know."""
    okd.tell(version="4.21.2")
    okd.degraded["ingress"] = okd.clock.now()
    okd.clock.sleep(LOAD_S + PASS_S)
    assert row(okd) == (Level.WRONG, "4.21.2, but Failing is True: Cluster operator ingress is degraded")
    okd.degraded.clear()
    okd.tell(version="4.21.77")
    assert row(okd) == (Level.WARNING, "on the way to 4.21.77: OKD has not begun yet")
    okd.clock.sleep(LOAD_S + PASS_S)
    assert row(okd)[1].startswith("4.21.2, but Invalid is True: The cluster version is invalid: spec.desiredUpdate.v")


class NoOkd:
    """An API without OKD's kinds."""

    def get(self, _address: str, _path: str, _model: type[R]) -> R | None:
        return None


def test_a_cluster_that_is_not_okds_has_no_such_row() -> None:
    cluster = Cluster("prod", plans.plan(phase="production"), datetime.now(UTC))
    assert [*release_rows(cluster, NoOkd())] == []
    assert [question.kind for question in releases(cluster)] == ["release"]
    assert [*releases(Cluster("prod", plans.plan(phase="bootstrap"), datetime.now(UTC)))] == []
